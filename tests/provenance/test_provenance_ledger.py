"""The ledger: append-only, chained, told apart by package version, safe under several writers."""

from __future__ import annotations

import datetime
import multiprocessing
import sqlite3
from pathlib import Path

import pytest

from conjunct.errors import StoreError
from conjunct.provenance.ledger import Ledger

OLD, NEW = "a" * 64, "b" * 64


def filled(path: Path) -> Ledger:
    """A skill in two versions, with verdicts and one decision."""
    times = iter(datetime.datetime(2026, 1, day, tzinfo=datetime.UTC) for day in range(1, 28))
    ledger = Ledger(path, now=lambda: next(times))
    ledger.record_seen("notes", OLD, {"source": "github.com/kim/notes", "commit": "1"}, by="conjunct 1")
    ledger.record_verdict("notes", OLD, "review", by="conjunct 1", grade="")
    ledger.record_decision("notes", OLD, "accept claims.install", by="kim", reason="known")
    ledger.record_seen("notes", NEW, {"source": "github.com/kim/notes"}, by="conjunct 1")
    ledger.record_verdict("notes", NEW, "admit", by="conjunct 2", grade="full")
    return ledger


def without_triggers(path: Path) -> sqlite3.Connection:
    """The file as somebody with write access has it."""
    database = sqlite3.connect(path)
    for name in ("ledger_keeps_entries", "ledger_keeps_all_entries"):
        database.execute(f"DROP TRIGGER {name}")
    return database


def test_versions_tell_when_what_and_by_whom(tmp_path: Path) -> None:
    old, new = filled(tmp_path / "s.sqlite").versions("notes")
    assert (old.digest, new.digest) == (OLD, NEW)
    assert old.first_seen == "2026-01-01T00:00:00+00:00"
    assert old.last_seen == "2026-01-03T00:00:00+00:00"
    assert dict(old.facts)["source"] == "github.com/kim/notes"
    assert [(one.fact("verdict"), one.fact("by")) for one in old.verdicts] == [("review", "conjunct 1")]
    assert [(one.fact("decision"), one.fact("by")) for one in old.decisions] == [
        ("accept claims.install", "kim")
    ]
    assert [one.fact("grade") for one in new.verdicts] == ["full"]
    assert new.decisions == ()


def test_an_untouched_chain_holds_and_its_head_is_found_again(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "s.sqlite")
    check = ledger.verify()
    assert check.holds
    assert check.entries == 5
    ledger.record_verdict("notes", NEW, "admit", by="conjunct 2")
    assert ledger.verify(expect=check.head).holds


def test_an_empty_ledger_holds(tmp_path: Path) -> None:
    check = Ledger(tmp_path / "s.sqlite").verify()
    assert check.holds
    assert check.entries == 0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("UPDATE ledger SET facts = replace(facts, 'review', 'admit') WHERE number = 2", "entry 2"),
        ("UPDATE ledger SET digest = 'c' WHERE number = 4", "entry 4"),
        ("UPDATE ledger SET recorded = '2020-01-01T00:00:00+00:00' WHERE number = 1", "entry 1"),
        ("UPDATE ledger SET skill = 'other' WHERE number = 5", "entry 5"),
        ("UPDATE ledger SET previous = hash WHERE number = 3", "entry 3"),
        ("DELETE FROM ledger WHERE number = 3", "missing"),
        ("DELETE FROM ledger WHERE number = 1", "missing"),
        ("UPDATE ledger SET number = number + 10 WHERE number = 5", "missing"),
    ],
)
def test_tampering_is_told_with_its_place(tmp_path: Path, change: str, told: str) -> None:
    path = tmp_path / "s.sqlite"
    filled(path).close()
    with without_triggers(path) as database:
        database.execute(change)
    check = Ledger(path).verify()
    assert not check.holds
    assert told in check.problems[0]


def test_an_entry_hashed_anew_breaks_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    filled(path).close()
    forged = Ledger(tmp_path / "other.sqlite", now=lambda: datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))
    made = forged.record_verdict("notes", OLD, "admit", by="conjunct 1")
    with without_triggers(path) as database:
        database.execute("UPDATE ledger SET hash = ? WHERE number = 2", (made.hash,))
    problems = Ledger(path).verify().problems
    assert "entry 2" in problems[0]
    assert "entry 3" in problems[1]


def test_a_chain_cut_off_at_its_end_needs_the_head_kept_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    ledger = filled(path)
    head = ledger.verify().head
    ledger.close()
    with without_triggers(path) as database:
        database.execute("DELETE FROM ledger WHERE number = 5")
    cut = Ledger(path)
    assert cut.verify().holds
    assert "cut off" in cut.verify(expect=head).problems[0]


@pytest.mark.parametrize("statement", ["UPDATE ledger SET skill = 'x'", "DELETE FROM ledger"])
def test_the_file_itself_refuses_changes(tmp_path: Path, statement: str) -> None:
    filled(tmp_path / "s.sqlite").close()
    database = sqlite3.connect(tmp_path / "s.sqlite")
    with pytest.raises(sqlite3.DatabaseError, match="append-only"):
        database.execute(statement)
    database.close()


def test_what_was_seen_is_told_once_until_it_changes(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "s.sqlite")
    facts = {"source": "github.com/kim/notes", "commit": "1", "path": "a"}
    assert ledger.record_seen("notes", OLD, facts, by="conjunct 1") is not None
    assert ledger.record_seen("notes", OLD, {**facts, "commit": "2", "path": "b"}, by="conjunct 2") is None
    moved = ledger.record_seen("notes", OLD, {**facts, "source": "github.com/eve/notes"}, by="conjunct 1")
    assert moved is not None
    assert ledger.record_seen("notes", NEW, facts, by="conjunct 1") is not None
    assert ledger.record_seen("notes", OLD, facts, by="conjunct 1") is not None, "a version that comes back"


def test_a_decision_is_told_once_for_each_package(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "s.sqlite")
    assert ledger.record_decision("notes", OLD, "accept x", by="kim", reason="known")
    assert ledger.record_decision("notes", OLD, "accept x", by="kim", reason="known") is None
    assert ledger.record_decision("notes", OLD, "accept x", by="lee", reason="known")
    assert ledger.record_decision("notes", NEW, "accept x", by="kim", reason="known")


def test_skills_that_share_a_name_are_found_by_it(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "s.sqlite")
    for name in ("notes", "notes~1f", "notes-plus"):
        ledger.record_seen(name, OLD, {}, by="x")
    assert ledger.named("notes") == ("notes", "notes~1f")
    assert ledger.named("note") == ()


def test_hostile_names_are_kept_as_text(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "s.sqlite")
    ledger.record_seen("a\udcff\0'; DROP TABLE ledger; --", OLD, {"source": "\ud800\n"}, by="x")
    assert ledger.verify().holds
    ((name,),) = [ledger.skills()]
    assert ledger.versions(name)[0].digest == OLD
    assert ledger.named("a\udcff\0'; DROP TABLE ledger; --".encode("utf-8", "backslashreplace").decode()) in (
        (),
        (name,),
    )


def append_many(path: Path, name: str, number: int) -> None:
    with Ledger(path) as ledger:
        for index in range(number):
            ledger.record_verdict(name, f"{index:064d}", "admit", by=name)


def test_two_processes_append_to_one_chain(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=append_many, args=(path, name, 60)) for name in ("one", "two")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
        assert worker.exitcode == 0
    ledger = Ledger(path)
    assert ledger.verify().holds
    assert [len(ledger.versions(name)) for name in ("one", "two")] == [60, 60]
    assert len({entry.previous for entry in ledger.entries()}) == 120


def test_a_failed_append_leaves_the_chain_as_it_was(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "s.sqlite")
    with pytest.raises(AttributeError):
        ledger.record_seen(None, OLD, {}, by="x")  # type: ignore[arg-type]
    ledger.record_verdict("notes", OLD, "admit", by="x")
    assert ledger.verify().holds


def test_the_ledger_lies_in_a_run_store(tmp_path: Path) -> None:
    from conjunct.run.store import Store

    store = Store(tmp_path / "s.sqlite")
    store.record_verdict("notes", OLD, "alone", {"verdict": "admit"})
    filled(tmp_path / "s.sqlite").close()
    store.record_verdict("notes", NEW, "alone", {"verdict": "reject"})
    assert store.report_on(NEW) == ({"verdict": "reject"}, "alone")
    assert store.report_on("c" * 64) is None
    store.close()
    assert Ledger(tmp_path / "s.sqlite").verify().entries == 5


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    path.write_text("no database, " * 400)
    with pytest.raises(StoreError, match="--store"):
        Ledger(path)
