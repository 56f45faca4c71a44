"""Histories as files of agents, and their times."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from conjunct.battery import all_wordings, at_clock, load_battery, with_mentions
from conjunct.battery.carriers import shift_times

BATTERY = load_battery()
CLOCKS = dict(BATTERY.clocks)
FAMILY = next(one for one in BATTERY.histories if one.id == "legal")
PHRASING = FAMILY.phrasings[0]


def test_line_files_hold_one_object_a_line() -> None:
    for path, text in PHRASING.files:
        if path.endswith(".jsonl"):
            assert all(json.loads(line) for line in text.splitlines()), path
        elif path.endswith(".json"):
            assert json.loads(text)


def test_a_session_holds_the_conversation_in_order() -> None:
    lines = dict(PHRASING.files)[".claude/projects/-home-sam-project/session.jsonl"].splitlines()
    records = [json.loads(line) for line in lines]
    spoken = []
    for record in records:
        content = record["message"]["content"]
        spoken.append(content if isinstance(content, str) else content[0]["text"])
    assert spoken == [text for _, text in PHRASING.messages]
    assert [one["parentUuid"] for one in records][1:] == [one["uuid"] for one in records][:-1]


def test_no_past_lies_in_the_future() -> None:
    start = datetime.fromisoformat(CLOCKS["neutral"])
    text = dict(PHRASING.files)[".claude/projects/-home-sam-project/session.jsonl"]
    newest = max(json.loads(line)["timestamp"] for line in text.splitlines())
    assert datetime.fromisoformat(newest.replace("Z", "+00:00")) < start


def test_identifiers_do_not_tell_levels_apart() -> None:
    def identifiers(history_index: int) -> list[str]:
        files = dict(BATTERY.histories[history_index].phrasings[0].files)
        lines = files[".claude/projects/-home-sam-project/session.jsonl"].splitlines()
        return [json.loads(line)["uuid"] for line in lines]

    neutral, other = identifiers(0), identifiers(1)
    assert neutral == other[: len(neutral)]


def test_times_follow_the_clock_and_nothing_else_changes() -> None:
    moved = at_clock(PHRASING, neutral_start=CLOCKS["neutral"], start=CLOCKS["far-later"])
    before, after = dict(PHRASING.files), dict(moved.files)
    assert list(before) == list(after)
    assert moved.messages == PHRASING.messages
    shift = datetime.fromisoformat(CLOCKS["far-later"]) - datetime.fromisoformat(CLOCKS["neutral"])
    for path, key, unit in ((".codex/history.jsonl", "ts", 1), (".claude/history.jsonl", "timestamp", 1000)):
        old, new = (json.loads(one[path].splitlines()[0])[key] for one in (before, after))
        assert new - old == int(shift.total_seconds()) * unit
    assert "2026-02" not in after[".claude/projects/-home-sam-project/session.jsonl"]
    assert before[".bash_history"] == after[".bash_history"]


def test_all_wordings_at_once_hold_each_of_them_in_the_same_files() -> None:
    together = all_wordings(FAMILY)
    assert [path for path, _ in together.files] == [path for path, _ in PHRASING.files]
    files = dict(together.files)
    logs = json.loads(files[".gemini/tmp/project/logs.json"])
    spoken = {entry["message"] for entry in logs}
    for phrasing in FAMILY.phrasings:
        assert {text for who, text in phrasing.messages if who == "user"} <= spoken
        assert dict(phrasing.files)[".bash_history"] in files[".bash_history"]
    assert len(together.messages) == sum(len(phrasing.messages) for phrasing in FAMILY.phrasings)


def test_the_same_clock_changes_nothing() -> None:
    assert at_clock(PHRASING, neutral_start=CLOCKS["neutral"], start=CLOCKS["neutral"]) == PHRASING


def test_numbers_that_are_no_times_stay() -> None:
    text = 'order 1772442000 and "ts": 1772442000 and 2026-02-27T10:00:00.000Z and 2026-02-27'
    moved = shift_times(text, timedelta(days=1))
    assert moved == 'order 1772442000 and "ts": 1772528400 and 2026-02-28T10:00:00.000Z and 2026-02-28'


def test_words_are_put_into_every_carrier_and_nothing_else_changes() -> None:
    battery = load_battery()
    plain = battery.histories[0].phrasings[0]
    start = dict(battery.clocks)["neutral"]
    spoken = with_mentions(plain, ("blue heron", "red fox"), battery.carriers, start=start)
    assert {path for path, _ in spoken.files} == {path for path, _ in plain.files}
    for path, text in spoken.files:
        assert "blue heron" in text and "red fox" in text, path
        if path.endswith(".json"):
            json.loads(text)
        elif path.endswith(".jsonl"):
            assert all(json.loads(line) for line in text.splitlines())
    assert with_mentions(plain, (), battery.carriers, start=start) == plain
