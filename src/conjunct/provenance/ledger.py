"""The provenance ledger: an append-only, hash-chained record of every skill that was seen and decided about.

Each entry carries the hash of the one before it, so an entry that is changed, removed from the middle or put
in later breaks the chain. A chain that is cut off at its end still holds: only a hash kept elsewhere (the
`head` of an earlier check) shows that.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from conjunct.errors import StoreError

_HEADER = b"conjunct.ledger/1\n"
_FIRST = "0" * 64
"""What the first entry names as its predecessor."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS ledger (
  number INTEGER PRIMARY KEY, recorded TEXT NOT NULL, event TEXT NOT NULL, skill TEXT NOT NULL,
  digest TEXT NOT NULL, facts TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS ledger_by_skill ON ledger (skill, number);
CREATE TRIGGER IF NOT EXISTS ledger_keeps_entries BEFORE UPDATE ON ledger
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER IF NOT EXISTS ledger_keeps_all_entries BEFORE DELETE ON ledger
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
"""
_COLUMNS = "number, recorded, event, skill, digest, facts, previous, hash"


class Event(StrEnum):
    """What an entry records."""

    SEEN = "seen"
    """A package version, with where it came from. Facts: `source`, `publisher`, `version`, and so on."""
    VERDICT = "verdict"
    """What conjunct concluded. Facts: `verdict`, `grade`, `surroundings`."""
    DECISION = "decision"
    """What a person decided. Facts: `decision`, `reason`."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One entry of the chain."""

    number: int
    """Position in the chain, from 1."""
    recorded: str
    """ISO 8601, UTC, to the second."""
    event: str
    skill: str
    digest: str
    facts: tuple[tuple[str, str], ...]
    """Sorted by name; `by` is who saw, concluded or decided."""
    previous: str
    hash: str

    def fact(self, name: str) -> str:
        """The value of a fact, or an empty string."""
        return dict(self.facts).get(name, "")


@dataclass(frozen=True, slots=True)
class Version:
    """One package version of a skill."""

    digest: str
    first_seen: str
    last_seen: str
    facts: tuple[tuple[str, str], ...]
    """Of the newest `seen` entry: source, publisher and so on."""
    verdicts: tuple[LedgerEntry, ...]
    decisions: tuple[LedgerEntry, ...]


@dataclass(frozen=True, slots=True)
class ChainCheck:
    """Whether the chain holds."""

    entries: int
    head: str
    """Hash of the last entry; keep it elsewhere to notice a chain that was cut off or written anew."""
    problems: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every entry is as it was written, and none is missing before the head."""
        return not self.problems


class Ledger:
    """The ledger in one SQLite file, which may be a run store. Several processes may append at once.

    Raises:
        StoreError: the file is no SQLite database, or cannot be read or written.
    """

    def __init__(self, path: Path, *, now: Callable[[], datetime.datetime] | None = None) -> None:
        self.path = path
        self._now = now or (lambda: datetime.datetime.now(datetime.UTC))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=60.0, isolation_level=None)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.executescript(_SCHEMA)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"{path}: cannot hold the provenance ledger ({error}); pass another file with --store"
            ) from error

    def close(self) -> None:
        """Close the file; further use raises `StoreError`."""
        self._database.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- writing

    def record_seen(
        self, skill: str, digest: str, facts: Mapping[str, str], *, by: str
    ) -> LedgerEntry | None:
        """Record a package version and its origin. Nothing is added where the newest entry says the same."""
        wanted = _facts({**facts, "by": by})
        with self._writing() as database:
            known = _newest(database, Event.SEEN, skill)
            if known is not None and known.digest == digest and _lasting(known.facts) == _lasting(wanted):
                return None
            return self._append(database, Event.SEEN, skill, digest, wanted)

    def record_verdict(self, skill: str, digest: str, verdict: str, *, by: str, **facts: str) -> LedgerEntry:
        """Record what conjunct concluded; `by` names the tool, its agent and its battery."""
        with self._writing() as database:
            given = _facts({**facts, "verdict": verdict, "by": by})
            return self._append(database, Event.VERDICT, skill, digest, given)

    def record_decision(
        self, skill: str, digest: str, decision: str, *, by: str, reason: str = ""
    ) -> LedgerEntry | None:
        """Record what a person decided about exactly this package version; once, however often it is told."""
        given = _facts({"decision": decision, "by": by, "reason": reason})
        with self._writing() as database:
            told = database.execute(
                "SELECT 1 FROM ledger WHERE skill = ? AND digest = ? AND event = ? AND facts = ?",
                (_text(skill), _text(digest), Event.DECISION, _json(given)),
            ).fetchone()
            return None if told else self._append(database, Event.DECISION, skill, digest, given)

    def _append(
        self,
        database: sqlite3.Connection,
        event: Event,
        skill: str,
        digest: str,
        facts: tuple[tuple[str, str], ...],
    ) -> LedgerEntry:
        last = database.execute("SELECT number, hash FROM ledger ORDER BY number DESC LIMIT 1").fetchone()
        number, previous = (last[0] + 1, last[1]) if last else (1, _FIRST)
        recorded = self._now().astimezone(datetime.UTC).isoformat(timespec="seconds")
        fields = (str(number), recorded, str(event), _text(skill), _text(digest), _json(facts), previous)
        entry = LedgerEntry(
            number, recorded, str(event), fields[3], fields[4], facts, previous, _hash(fields)
        )
        database.execute(
            "INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (number, *fields[1:], entry.hash)
        )
        return entry

    # ---- reading

    def entries(self, skill: str | None = None) -> Iterator[LedgerEntry]:
        """Every entry, of one skill or of all, in the order of the chain."""
        where, values = ("", ()) if skill is None else (" WHERE skill = ?", (_text(skill),))
        with self._told() as database:
            for row in database.execute(f"SELECT {_COLUMNS} FROM ledger{where} ORDER BY number", values):
                yield _entry(row)

    def skills(self) -> tuple[str, ...]:
        """The name of every skill with an entry, sorted."""
        with self._told() as database:
            rows = database.execute("SELECT DISTINCT skill FROM ledger ORDER BY skill").fetchall()
        return tuple(row[0] for row in rows)

    def versions(self, skill: str) -> tuple[Version, ...]:
        """Every package version of a skill, in the order in which they were first seen."""
        by_digest: dict[str, list[LedgerEntry]] = {}
        for entry in self.entries(skill):
            by_digest.setdefault(entry.digest, []).append(entry)
        return tuple(_version(digest, entries) for digest, entries in by_digest.items())

    def named(self, name: str) -> tuple[str, ...]:
        """Skills of that id, or of that name where several share it (`name~0f3a`)."""
        return tuple(one for one in self.skills() if one == name or one.startswith(f"{name}~"))

    def verdict_on(self, digest: str) -> LedgerEntry | None:
        """The newest verdict on a package version, whatever its skill was called."""
        with self._told() as database:
            row = database.execute(
                f"SELECT {_COLUMNS} FROM ledger WHERE digest = ? AND event = ? ORDER BY number DESC LIMIT 1",
                (_text(digest), Event.VERDICT),
            ).fetchone()
        return None if row is None else _entry(row)

    def verify(self, expect: str | None = None) -> ChainCheck:
        """Walk the chain. `expect` is the head of an earlier check, which has to be in it still."""
        problems: list[str] = []
        count, head, found = 0, _FIRST, expect is None or expect == _FIRST
        with self._told() as database:
            rows = database.execute(f"SELECT {_COLUMNS} FROM ledger ORDER BY number")
            for row in rows:
                count += 1
                problem = _broken(row, count, head)
                if problem and len(problems) < 20:
                    problems.append(problem)
                # From here on the chain is judged by what the entry claims, so one change is told once.
                count, head = (row[0] if isinstance(row[0], int) else count), str(row[7])
                found = found or head == expect
        if not found:
            problems.append(
                f"no entry has the expected hash {expect}: the ledger was cut off or written anew since"
            )
        return ChainCheck(count, head, tuple(problems))

    # ---- the database

    @contextmanager
    def _told(self) -> Iterator[sqlite3.Connection]:
        try:
            yield self._database
        except sqlite3.Error as error:
            raise StoreError(
                f"{self.path}: reading or writing the ledger failed ({error}); check space and permissions"
            ) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction that no other process can come between: the last hash is read inside of it."""
        with self._told() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")


def _newest(database: sqlite3.Connection, event: Event, skill: str) -> LedgerEntry | None:
    row = database.execute(
        f"SELECT {_COLUMNS} FROM ledger WHERE skill = ? AND event = ? ORDER BY number DESC LIMIT 1",
        (_text(skill), event),
    ).fetchone()
    return None if row is None else _entry(row)


def _broken(row: tuple[object, ...], number: int, head: str) -> str | None:
    """What is wrong with one row of the chain, if anything."""
    told = f"entry {row[0]} ({row[2]} of {row[3]})"
    if row[0] != number:
        return f"{told}: should be entry {number}; entries before it are missing"
    if row[6] != head:
        return f"{told}: does not follow the entry before it; one of the two was replaced or put in later"
    if row[7] != _hash(tuple(str(value) for value in row[:7])):
        return f"{told}: was changed after it was written"
    return None


def _hash(fields: tuple[str, ...]) -> str:
    """SHA-256 over every field with its length, so that no two entries give the same input."""
    digest = hashlib.sha256(_HEADER)
    for value in fields:
        data = value.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


def _text(value: str) -> str:
    """Valid Unicode without NUL: undecodable bytes of hostile names become backslash escapes."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def _facts(values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, _text(value)) for name, value in values.items() if value))


def _lasting(facts: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Facts whose change is worth an entry: an unchanged package is told once, not once for each commit."""
    return tuple(fact for fact in facts if fact[0] not in {"by", "path", "commit"})


def _json(facts: tuple[tuple[str, str], ...]) -> str:
    return json.dumps(dict(facts), sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def _entry(row: tuple[object, ...]) -> LedgerEntry:
    number, recorded, event, skill, digest, facts, previous, own = row
    try:
        value = json.loads(str(facts))
    except (ValueError, RecursionError):
        value = None  # changed by hand: `verify` tells
    pairs = ((str(k), str(v)) for k, v in value.items()) if isinstance(value, dict) else ()
    return LedgerEntry(
        int(str(number)),
        str(recorded),
        str(event),
        str(skill),
        str(digest),
        tuple(sorted(pairs)),
        str(previous),
        str(own),
    )


def _version(digest: str, entries: list[LedgerEntry]) -> Version:
    seen = [entry for entry in entries if entry.event == Event.SEEN]
    return Version(
        digest,
        entries[0].recorded,
        entries[-1].recorded,
        seen[-1].facts if seen else (),
        tuple(entry for entry in entries if entry.event == Event.VERDICT),
        tuple(entry for entry in entries if entry.event == Event.DECISION),
    )
