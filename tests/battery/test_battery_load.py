"""The battery's files and their loader."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.battery import battery_digest, load_battery
from conjunct.battery.document import parse_document
from conjunct.battery.load import mentions
from conjunct.battery.predicates import PREDICATES
from conjunct.errors import BatteryError, UsageError
from conjunct.model import MINIMUM_HORIZON, NEUTRAL, Layer
from conjunct.world.spec import Layout

BATTERY = load_battery()


# ---- what the built-in battery promises


def test_the_battery_is_as_large_as_promised() -> None:
    assert len(BATTERY.probes) >= 24
    assert len([one for one in BATTERY.histories if one.id != NEUTRAL]) >= 12
    assert {one.layer for one in BATTERY.probes} == set(Layer)
    assert {one.layer for one in BATTERY.invariants} == set(Layer)
    assert {one.kind for one in BATTERY.probes} == {"use", "invariant"}


def test_every_probe_has_six_turns_of_its_own() -> None:
    for probe in BATTERY.probes:
        assert len([turn for turn in probe.turns if not turn.partner]) >= 6, probe.id


def test_third_call_and_third_turn_come_apart() -> None:
    def third_use(probe_id: str) -> int:
        probe = next(one for one in BATTERY.probes if one.id == probe_id)
        return [number for number, turn in enumerate(probe.turns, 1) if turn.uses][2]

    assert third_use("use.every-turn") == 3
    assert third_use("use.every-other-turn") == 5


def test_every_family_has_three_phrasings_in_the_same_files() -> None:
    paths = {
        tuple(path for path, _ in phrasing.files)
        for history in BATTERY.histories
        for phrasing in history.phrasings
    }
    assert len(paths) == 1
    assert all(len(history.phrasings) >= 3 for history in BATTERY.histories)


def test_the_agents_session_file_is_a_carrier() -> None:
    layout = Layout()
    carried = {f"{layout.home}/{path}" for path, _ in BATTERY.histories[0].phrasings[0].files}
    assert layout.session_file in carried


@pytest.mark.parametrize("history", BATTERY.histories, ids=lambda one: one.id)
def test_a_guard_on_the_key_word_fires_in_every_file_of_its_family_and_in_no_neutral_one(history) -> None:
    if not history.topics:
        return
    key = history.topics[0]
    for phrasing in history.phrasings:
        assert all(mentions(text, key) for _, text in phrasing.files)
    neutral = next(one for one in BATTERY.histories if one.id == NEUTRAL)
    for phrasing in neutral.phrasings:
        for topic in history.topics:
            assert not any(mentions(text, topic) for _, text in phrasing.files), topic
            assert not any(mentions(text, topic) for _, text in phrasing.messages), topic


@pytest.mark.parametrize("history", BATTERY.histories, ids=lambda one: one.id)
def test_the_first_phrasing_mentions_every_topic_in_conversation_and_memory(history) -> None:
    first = history.phrasings[0]
    files = dict(first.files)
    said = " ".join(text for who, text in first.messages if who == "user")
    for topic in history.topics:
        assert mentions(said, topic), topic
        assert mentions(files[".claude/CLAUDE.md"], topic), topic


def test_probes_speak_of_no_history() -> None:
    topics = [history.topics[0] for history in BATTERY.histories if history.topics]
    for probe in BATTERY.probes:
        for text in [*(turn.text for turn in probe.turns), *probe.fillers]:
            assert not [topic for topic in topics if mentions(text, topic)], text


def test_every_predicate_is_used_by_a_rule() -> None:
    assert {rule.predicate for rule in BATTERY.invariants} == set(PREDICATES)


def test_neutral_levels_come_first() -> None:
    assert BATTERY.clocks[0][0] == NEUTRAL
    assert BATTERY.networks[0] == "plausible"
    assert BATTERY.arguments[0] == NEUTRAL
    assert BATTERY.environments[0] == (NEUTRAL, ())
    assert BATTERY.histories[0].id == NEUTRAL


# ---- digest


def test_the_digest_tells_content_apart() -> None:
    assert load_battery().digest == BATTERY.digest == battery_digest(BATTERY)
    probe = replace(BATTERY.probes[0], title="another")
    assert battery_digest(replace(BATTERY, probes=(probe, *BATTERY.probes[1:]))) != BATTERY.digest


def test_the_digest_ignores_the_layout_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "probes.yaml").write_text(PROBE)
    (tmp_path / "b" / "probes.yaml").write_text(
        "# a comment\n\n" + PROBE.replace("kind: use", "kind:   'use'")
    )
    assert load_battery(tmp_path / "a").digest == load_battery(tmp_path / "b").digest


# ---- a user's own folder

PROBE = """
probes:
  - id: own.probe
    layer: does
    kind: use
    authority: {inputs: ["{input}"]}
    turns:
      - {say: "Use {skill} to {task} with {input}.", uses: true}
      - {say: "Fine."}
      - {say: "Go on."}
      - {say: "Stop."}
"""


def test_a_folder_adds_and_overrides_by_id(tmp_path: Path) -> None:
    (tmp_path / "probes.yaml").write_text(
        PROBE + PROBE.replace("probes:\n", "").replace("own.probe", "use.late")
    )
    (tmp_path / "invariants.yaml").write_text(
        "invariants:\n  - {id: does.listens, layer: does, title: T, predicate: listens, severity: review}\n"
    )
    battery = load_battery(tmp_path)
    assert len(battery.probes) == len(BATTERY.probes) + 1
    late = next(one for one in battery.probes if one.id == "use.late")
    assert len([turn for turn in late.turns if not turn.partner]) == MINIMUM_HORIZON
    assert next(one for one in battery.invariants if one.id == "does.listens").severity == "review"
    assert len(battery.invariants) == len(BATTERY.invariants)
    assert battery.digest != BATTERY.digest


def test_a_new_carrier_reaches_every_level(tmp_path: Path) -> None:
    (tmp_path / "histories.yaml").write_text("carriers:\n  - {path: .fish_history, format: bash-history}\n")
    battery = load_battery(tmp_path)
    for history in battery.histories:
        assert all(".fish_history" in dict(phrasing.files) for phrasing in history.phrasings)


def test_a_users_file_may_name_a_vocabulary_of_the_battery(tmp_path: Path) -> None:
    rule = (
        "{id: own.code, layer: does, title: T, predicate: remote_code, severity: reject,"
        " parameters: {installers: $installers}}"
    )
    (tmp_path / "invariants.yaml").write_text(f"invariants:\n  - {rule}\n")
    own = next(one for one in load_battery(tmp_path).invariants if one.id == "own.code")
    assert "pypi.org" in dict(own.parameters)["installers"].split()


BAD = {
    "not YAML": ("probes.yaml", "probes: [}", 1, "not valid YAML"),
    "empty": ("probes.yaml", "", 1, "empty"),
    "a list on top": ("probes.yaml", "- a", 1, "expected a mapping"),
    "an alias": ("probes.yaml", "a: &x [1]\nb: *x", 2, "aliases"),
    "an unknown key": ("probes.yaml", "probs: []", 1, "unknown key"),
    "a repeated key": ("probes.yaml", "probes: []\nprobes: []", 2, "given twice"),
    "a deep one": ("probes.yaml", "a: " + "[" * 40 + "]" * 40, 1, "nested deeper"),
    "too few turns": ("probes.yaml", PROBE.replace('      - {say: "Stop."}\n', ""), 3, "at least 4"),
    "a use without the name": ("probes.yaml", PROBE.replace("{skill}", "it"), 8, "must name it"),
    "an unknown slot": ("probes.yaml", PROBE.replace("{task}", "{job}"), 8, "unknown slot 'job'"),
    "a name without a use": ("probes.yaml", PROBE.replace("Fine.", "{skill}."), 9, "does not use it"),
    "no authority": ("probes.yaml", PROBE.replace("    authority:", "    authorty:"), 3, "authority"),
    "an invariant probe that uses": (
        "probes.yaml",
        PROBE.replace("kind: use", "kind: invariant"),
        3,
        "never asks",
    ),
    "a bad layer": ("probes.yaml", PROBE.replace("layer: does", "layer: dose"), 3, "expected one of"),
    "a use that comes too late": (
        "probes.yaml",
        PROBE.replace('      - {say: "Use', "      - {say: a}\n" * 4 + '      - {say: "Use'),
        3,
        "never reach it",
    ),
    "an unknown predicate": (
        "invariants.yaml",
        "invariants:\n  - {id: a, layer: does, title: T, predicate: nope, severity: note}",
        2,
        "no predicate",
    ),
    "a predicate of another layer": (
        "invariants.yaml",
        "invariants:\n  - {id: a, layer: leaks, title: T, predicate: signal, severity: note}",
        2,
        "judges does",
    ),
    "a missing parameter": (
        "invariants.yaml",
        "invariants:\n  - {id: a, layer: does, title: T, predicate: boundary, severity: note}",
        2,
        "parameters missing: calls",
    ),
    "an unknown vocabulary": (
        "invariants.yaml",
        "invariants:\n  - id: a\n    layer: does\n    title: T\n    predicate: boundary\n    severity: note\n"
        "    parameters: {calls: $nope}",
        2,
        "no vocabulary",
    ),
    "a carrier out of the home": (
        "histories.yaml",
        "carriers:\n  - {path: ../x, format: memory}",
        2,
        "stay inside",
    ),
    "an unknown format": ("histories.yaml", "carriers:\n  - {path: x, format: nope}", 2, "no format"),
    "a clock without offset": (
        "factors.yaml",
        'version: "1"\nclocks:\n  - {level: x, start: "2026-01-01T00:00:00"}',
        3,
        "no offset",
    ),
    "an unknown network": ("factors.yaml", 'version: "1"\nnetworks: [wifi]', 1, "no network level"),
    "a ragged table": (
        "factors.yaml",
        'version: "1"\narguments:\n'
        "  - {level: x, stem: x, title: T, columns: [a, b], rows: [[1]], words: [w]}",
        3,
        "2 cells",
    ),
    "a phrasing without the key topic": (
        "histories.yaml",
        "histories:\n  - id: h\n    title: T\n    topics: [garden]\n    phrasings:\n"
        "      - messages: [{user: about the garden}]\n        memory: [garden]\n        commands: [ls]\n",
        2,
        "in its commands",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_with_file_line_and_reason(name: str, tmp_path: Path) -> None:
    file, text, line, reason = BAD[name]
    (tmp_path / file).write_text(text)
    with pytest.raises(BatteryError) as caught:
        load_battery(tmp_path)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / file}:{line}:"), message
    assert reason in message


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BatteryError, match="holds no battery file"):
        load_battery(tmp_path)
    with pytest.raises(BatteryError, match="not a folder"):
        load_battery(tmp_path / "missing")
    (tmp_path / "probe.yml").write_text("probes: []")
    with pytest.raises(BatteryError, match=r"probe\.yml: unknown battery file"):
        load_battery(tmp_path)


def test_a_file_that_is_no_file_or_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "probes.yaml").mkdir()
    with pytest.raises(BatteryError, match="not a regular file"):
        load_battery(tmp_path)
    (tmp_path / "probes.yaml").rmdir()
    (tmp_path / "probes.yaml").write_bytes(b"a: \xff\xfe")
    with pytest.raises(BatteryError, match="UTF-8"):
        load_battery(tmp_path)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab:-[]{},&*!|>'\"#%@`? \n\t\0é", max_size=80))
def test_any_text_is_a_document_or_a_battery_error(text: str) -> None:
    try:
        parse_document(text, "x.yaml")
    except BatteryError as error:
        assert str(error).startswith("x.yaml:")
    else:
        assert isinstance(text, str)


def test_battery_errors_are_usage_errors() -> None:
    assert issubclass(BatteryError, UsageError)
