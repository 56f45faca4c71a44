"""`conjunct vet` in operation: killed, run twice at once, on changed skills only, and its exit statuses."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from acceptance.conftest import SMALL
from acceptance.vetting import (
    COMMAND,
    DATA,
    EXAMPLES,
    Vetted,
    conjunct,
    copy_of,
    disagreements,
    labels_of,
    vet,
)

pytestmark = [pytest.mark.world, pytest.mark.slow, pytest.mark.timeout(3600)]
LABELS = {name: label for name, label in labels_of(EXAMPLES).items() if name in SMALL}
QUICK = "meeting-notes"


def judged(report: dict[str, Any]) -> dict[str, tuple[object, ...]]:
    """Verdict and trigger of every skill."""
    return {
        entry["name"]: (entry["verdict"], entry["trigger"] and entry["trigger"]["sentence"])
        for entry in report["skills"]
    }


def recorded(store: Path) -> dict[str, float]:
    """Key of each stored episode, and when it was recorded."""
    if not store.exists():
        return {}
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=30) as database:
        try:
            return dict(database.execute("SELECT key, recorded FROM episodes").fetchall())
        except sqlite3.OperationalError:
            return {}
        finally:
            database.rollback()


def started(registry: Path, store: Path, output: Path) -> subprocess.Popen[bytes]:
    words = ["vet", registry, "--store", store, "--format", "json", "--output", output]
    command = [str(COMMAND), *map(str, words)]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def processes_with(word: str) -> list[int]:
    """Processes whose command line has `word` in it."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if word.encode() in line:
                found.append(int(entry.name))
    return found


def test_a_small_registry_gets_the_verdicts_of_the_whole(small: Vetted) -> None:
    assert disagreements(small.report, LABELS) == []
    assert small.status == 1


def test_a_killed_vet_continues_where_it_was(small: Vetted, tmp_path: Path) -> None:
    store, output = tmp_path / "runs.sqlite", tmp_path / "report.json"
    enough = len(recorded(small.store)) // 3
    assert enough > 5
    process = started(small.registry, store, output)
    try:
        while len(recorded(store)) < enough and process.poll() is None:
            time.sleep(0.1)
        assert process.poll() is None, "ended before it could be killed"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    deadline = time.monotonic() + 60
    while processes_with(str(store)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert processes_with(str(store)) == [], "workers outlive their vet"
    before = recorded(store)
    again = vet(small.registry, store)
    after = recorded(store)
    assert judged(again.report) == judged(small.report)
    assert again.status == small.status
    assert before
    assert {key: after[key] for key in before} == before, "episodes that were recorded were run again"
    assert len(after) > len(before)


def test_two_vets_at_once_share_a_store(small: Vetted, tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    outputs = [tmp_path / "one.json", tmp_path / "other.json"]
    running = [started(small.registry, store, output) for output in outputs]
    assert [process.wait() for process in running] == [small.status, small.status]
    for output in outputs:
        assert judged(json.loads(output.read_text(encoding="utf-8"))) == judged(small.report)


def test_equal_input_seed_and_store_give_equal_bytes(small: Vetted) -> None:
    def without_time(report: dict[str, Any]) -> str:
        return json.dumps({key: value for key, value in report.items() if key not in ("started", "seconds")})

    again = vet(small.registry, small.store)
    assert without_time(again.report) == without_time(small.report)


def test_a_changed_package_under_the_same_name_is_judged_afresh(tmp_path: Path) -> None:
    store, registry = tmp_path / "runs.sqlite", tmp_path / "registry"
    first = vet(copy_of(["plain-style"], registry, source=DATA / "twins"), store)
    second = vet(copy_of(["plain-style"], registry, source=DATA / "ungated"), store)
    assert judged(first.report) == {"plain-style": ("admit", None)}
    assert second.skill("plain-style")["verdict"] in ("reject", "review")
    third = vet(copy_of(["plain-style"], registry, source=DATA / "twins"), store)
    assert judged(third.report) == judged(first.report)


# ---- --changed


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=kim", "-c", "user.email=kim@example.org"]
    subprocess.run(["git", *identity, "-C", str(folder), *words], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with a registry of three prose or small skills in `skills/`."""
    folder = tmp_path / "repository"
    copy_of([QUICK, "plain-style", "json-tidy"], folder / "skills")
    git(tmp_path, "init", "-q", "-b", "main", str(folder))
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "registry")
    return folder


def test_changed_vets_what_changed_and_nothing_else(repository: Path, tmp_path: Path) -> None:
    store, skills = tmp_path / "runs.sqlite", repository / "skills"
    words = ["vet", "--registry", skills, "--changed", "HEAD", "--format", "json", "--store", store]
    nothing = conjunct(*words)
    assert (nothing.returncode, json.loads(nothing.stdout)["skills"]) == (0, [])
    with (skills / QUICK / "SKILL.md").open("a", encoding="utf-8") as stream:
        stream.write("\nKeep the minutes short.\n")
    one = json.loads(conjunct(*words).stdout)
    assert judged(one) == {QUICK: ("admit", None)}
    assert one["registry_size"] == 3
    assert one["coverage"]["episodes"] > 0
    again = conjunct(*words)
    stored = json.loads(again.stdout)
    assert again.returncode == 0
    assert stored["skills"] == one["skills"], "the stored verdict of an unchanged package is another"
    assert stored["coverage"]["episodes"] == 0
    (skills / "plain-style" / "SKILL.md").write_text(
        (DATA / "ungated" / "plain-style" / "SKILL.md").read_text(encoding="utf-8"), encoding="utf-8"
    )
    both = conjunct(*words)
    assert both.returncode == 1
    assert {entry["name"] for entry in json.loads(both.stdout)["skills"]} == {QUICK, "plain-style"}
    git(repository, "commit", "-q", "-a", "-m", "changes")
    assert json.loads(conjunct(*words).stdout)["skills"] == []


def test_changed_needs_a_revision_that_exists(repository: Path) -> None:
    done = conjunct("vet", "--registry", repository / "skills", "--changed", "no-such-ref")
    assert done.returncode == 2
    assert "no-such-ref" in done.stderr


# ---- exit statuses


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ([], 1),
        (["--fail-on", "never"], 0),
        (["--fail-on", "incomplete"], 0),
        (["--fail-on", "reject"], 1),
        (["--fail-on", "reject,review,incomplete"], 1),
    ],
)
def test_fail_on_chooses_what_fails(small: Vetted, words: list[str], status: int) -> None:
    assert vet(small.registry, small.store, *words).status == status


def test_all_admitted_is_0(tmp_path: Path) -> None:
    done = vet(copy_of([QUICK], tmp_path / "registry"), tmp_path / "runs.sqlite")
    assert (done.status, judged(done.report)) == (0, {QUICK: ("admit", None)})


@pytest.mark.parametrize(
    "words",
    [
        ["vet"],
        ["vet", "no-such-folder"],
        ["vet", str(EXAMPLES), "--fail-on", "sometimes"],
        ["vet", str(EXAMPLES), "--changed", "no-such-ref"],
        ["vet", str(EXAMPLES), "--no-such-option"],
        ["no-such-command"],
    ],
    ids=" ".join,
)
def test_wrong_use_is_2(words: list[str], tmp_path: Path) -> None:
    done = conjunct(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_only_incomplete_is_3(tmp_path: Path) -> None:
    registry = copy_of(["usage-metrics"], tmp_path / "registry", source=DATA / "twins")
    (registry / "conjunct.toml").write_text("[policy]\nmost_episodes = 1\n", encoding="utf-8")
    done = vet(registry, tmp_path / "runs.sqlite")
    assert judged(done.report) == {"usage-metrics": ("incomplete", None)}
    assert done.status == 3
    assert "budget of 1 runs" in " ".join(done.skill("usage-metrics")["coverage"]["assumptions"])


def test_touched_contexts_that_were_not_run_are_assumed(tmp_path: Path) -> None:
    registry = copy_of(["currency-format"], tmp_path / "registry", source=DATA / "twins")
    (registry / "conjunct.toml").write_text("[policy]\nmost_episodes = 1\n", encoding="utf-8")
    coverage = vet(registry, tmp_path / "runs.sqlite").skill("currency-format")["coverage"]
    assert coverage["assumed"] > 0, "the script reads what the user said, and no history was run"


def test_a_store_that_is_none_is_4(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    store.write_text("this is a letter, no database; " * 100, encoding="utf-8")
    done = conjunct("vet", copy_of([QUICK], tmp_path / "registry"), "--store", store)
    assert done.returncode == 4
    assert str(store) in done.stderr
    assert "Traceback" not in done.stderr
