"""Where episodes and verdicts are kept: one SQLite file, written as results arrive, safe to kill."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from conjunct.errors import StoreError
from conjunct.model import Episode, EpisodeSpec
from conjunct.run.codec import Value, decode, encode

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS episodes (
  key TEXT PRIMARY KEY, candidate TEXT NOT NULL, probe TEXT NOT NULL, fingerprint TEXT NOT NULL,
  episode BLOB NOT NULL, recorded REAL NOT NULL);
CREATE INDEX IF NOT EXISTS episodes_by_candidate ON episodes (candidate);
CREATE TABLE IF NOT EXISTS commands (
  key TEXT NOT NULL, prints TEXT NOT NULL, observed BLOB NOT NULL, result BLOB NOT NULL,
  state TEXT NOT NULL, PRIMARY KEY (key, prints)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS verdicts (
  skill TEXT NOT NULL, digest TEXT NOT NULL, surroundings TEXT NOT NULL, report TEXT NOT NULL,
  recorded REAL NOT NULL, PRIMARY KEY (skill, digest, surroundings));
CREATE TABLE IF NOT EXISTS evidence (
  skill TEXT NOT NULL, digest TEXT NOT NULL, surroundings TEXT NOT NULL, evidence BLOB NOT NULL,
  recorded REAL NOT NULL, PRIMARY KEY (skill, digest, surroundings));
CREATE TABLE IF NOT EXISTS vettings (
  path TEXT NOT NULL, registry TEXT NOT NULL, vetting BLOB NOT NULL, recorded REAL NOT NULL,
  PRIMARY KEY (path, registry));
"""
_FOOTPRINTS = "CREATE TABLE IF NOT EXISTS footprints (key TEXT PRIMARY KEY, footprint BLOB NOT NULL)"
SCHEMA_VERSION = "1"
_PATIENCE = 60.0
"""Seconds to wait for another process that writes."""
DEFAULT_STORE = Path(".conjunct") / "runs.sqlite"
"""Where a store is kept, in the present folder, unless another file is named."""


class Store:
    """One run store. Every method commits what it writes; several processes may have it open.

    Raises:
        StoreError: the file is not a store of this version, or cannot be written.
    """

    def __init__(self, path: Path, *, packages: Callable[[EpisodeSpec], str] = lambda _: "") -> None:
        """`packages`: digest of the packages that an episode installs; the same spec with other packages is
        another episode.
        """
        self.path = path
        self.packages = packages
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
            _write_ahead(self._database)
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.executescript(f"{_SCHEMA}{_FOOTPRINTS};")
            self._database.execute("INSERT OR IGNORE INTO meta VALUES ('schema', ?)", (SCHEMA_VERSION,))
            ((version,),) = self._database.execute("SELECT value FROM meta WHERE name = 'schema'")
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"{path}: cannot be used as a run store ({error}); pass another file with --store"
            ) from error
        if version != SCHEMA_VERSION:
            raise StoreError(
                f"{path}: is a store of version {version}, this conjunct writes version {SCHEMA_VERSION}; "
                f"pass another file with --store"
            )

    def close(self) -> None:
        """Close the file; further use raises `StoreError`."""
        self._database.close()

    @contextmanager
    def _told(self) -> Iterator[sqlite3.Connection]:
        try:
            yield self._database
        except sqlite3.Error as error:
            raise StoreError(
                f"{self.path}: reading or writing failed ({error}); check space and permissions, then retry"
            ) from error

    def key_of(self, spec: EpisodeSpec) -> str:
        """Under what an episode is kept: its spec and the packages that it installs."""
        return f"{spec.key()}:{self.packages(spec)}"

    def episode(self, spec: EpisodeSpec) -> Episode | None:
        """The recorded episode of exactly this spec, if any."""
        with self._told() as database:
            row = database.execute(
                "SELECT episode FROM episodes WHERE key = ?", (self.key_of(spec),)
            ).fetchone()
        return None if row is None else decode(row[0], Episode)

    def episodes_at(self, keys: Sequence[str]) -> dict[str, Episode]:
        """Recorded episodes by their keys (`key_of`). Raises `StoreError` where one is not there."""
        if not keys:
            return {}
        with self._told() as database:
            rows = database.execute(
                f"SELECT key, episode FROM episodes WHERE key IN ({','.join('?' * len(keys))})", keys
            ).fetchall()
        found = {str(key): decode(data, Episode) for key, data in rows}
        if len(found) < len(set(keys)):
            raise StoreError(
                f"{self.path}: episodes that were recorded are gone; another program removed them? vet again"
            )
        return found

    def record(self, episodes: Iterable[Episode]) -> None:
        """Keep episodes; recording the same spec again replaces it."""
        rows = [
            (self.key_of(e.spec), e.spec.candidate, e.spec.probe, e.spec.fingerprint, encode(e), time.time())
            for e in episodes
        ]
        with self._told() as database:
            database.execute("BEGIN IMMEDIATE")
            database.executemany("INSERT OR REPLACE INTO episodes VALUES (?, ?, ?, ?, ?, ?)", rows)
            database.execute("COMMIT")

    def record_footprints(self, footprints: Mapping[str, object]) -> None:
        """Keep what skills leave behind and look at, by a key that says of which package and which plan."""
        rows = [(key, encode(one)) for key, one in footprints.items()]
        with self._told() as database:
            database.execute("BEGIN IMMEDIATE")
            database.executemany("INSERT OR REPLACE INTO footprints VALUES (?, ?)", rows)
            database.execute("COMMIT")

    def footprint(self, key: str, kind: type[Value]) -> Value | None:
        """A footprint that was kept under that key, if any."""
        with self._told() as database:
            row = database.execute("SELECT footprint FROM footprints WHERE key = ?", (key,)).fetchone()
        return None if row is None else decode(row[0], kind)

    def commands(self, key: str) -> list[tuple[str, bytes, bytes, str]]:
        """Memo entries of one command: (prints, observed, result, state)."""
        with self._told() as database:
            return database.execute(
                "SELECT prints, observed, result, state FROM commands WHERE key = ? LIMIT 64", (key,)
            ).fetchall()

    def record_command(self, key: str, prints: str, observed: bytes, result: bytes, state: str) -> None:
        """Keep or replace one memo entry."""
        with self._told() as database:
            database.execute(
                "INSERT OR REPLACE INTO commands VALUES (?, ?, ?, ?, ?)",
                (key, prints, observed, result, state),
            )

    def verdict(self, skill: str, digest: str, surroundings: str) -> dict[str, object] | None:
        """The stored report entry of an unchanged package in unchanged surroundings, if any."""
        with self._told() as database:
            row = database.execute(
                "SELECT report FROM verdicts WHERE skill = ? AND digest = ? AND surroundings = ?",
                (skill, digest, surroundings),
            ).fetchone()
        if row is None:
            return None
        entry: dict[str, object] = json.loads(row[0])
        return entry

    def record_verdict(self, skill: str, digest: str, surroundings: str, report: dict[str, object]) -> None:
        """Keep the report entry of one skill."""
        with self._told() as database:
            database.execute(
                "INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, ?)",
                (skill, digest, surroundings, json.dumps(report, sort_keys=True), time.time()),
            )

    def report_on(self, digest: str) -> tuple[dict[str, object], str] | None:
        """(newest stored report entry of a package version, its surroundings), whatever its skill's id."""
        with self._told() as database:
            row = database.execute(
                "SELECT report, surroundings FROM verdicts WHERE digest = ? ORDER BY recorded DESC LIMIT 1",
                (digest,),
            ).fetchone()
        return None if row is None else (json.loads(row[0]), str(row[1]))

    def record_evidence(self, skill: str, digest: str, surroundings: str, evidence: bytes) -> None:
        """Keep what a verdict on one skill rests on, whatever the policy says to it."""
        with self._told() as database:
            database.execute(
                "INSERT OR REPLACE INTO evidence VALUES (?, ?, ?, ?, ?)",
                (skill, digest, surroundings, evidence, time.time()),
            )

    def evidence(self, skill: str, digest: str, surroundings: str) -> bytes | None:
        """The stored evidence on an unchanged package in unchanged surroundings, if any."""
        with self._told() as database:
            row = database.execute(
                "SELECT evidence FROM evidence WHERE skill = ? AND digest = ? AND surroundings = ?",
                (skill, digest, surroundings),
            ).fetchone()
        return None if row is None else bytes(row[0])

    def record_vetting(self, path: str, registry: str, vetting: bytes) -> None:
        """Keep what one vetting was asked; a later one of the same paths takes its place."""
        with self._told() as database:
            database.execute(
                "INSERT OR REPLACE INTO vettings VALUES (?, ?, ?, ?)", (path, registry, vetting, time.time())
            )

    def vetting(self, path: str | None = None) -> bytes | None:
        """The newest vetting, or the newest one of a path or registry, if any."""
        with self._told() as database:
            row = database.execute(
                "SELECT vetting FROM vettings WHERE ?1 IS NULL OR path = ?1 OR (path = '' AND registry = ?1) "
                "ORDER BY recorded DESC LIMIT 1",
                (path,),
            ).fetchone()
        return None if row is None else bytes(row[0])

    def remember(self, name: str, value: str) -> None:
        """Keep one fact about this store, such as which registry it was made for."""
        with self._told() as database:
            database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def remembered(self, name: str) -> str | None:
        """A fact kept by `remember`, if any."""
        with self._told() as database:
            row = database.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def latest_report(self, skill: str) -> dict[str, object] | None:
        """The newest stored report entry of a skill, whatever its digest."""
        with self._told() as database:
            row = database.execute(
                "SELECT report FROM verdicts WHERE skill = ? ORDER BY recorded DESC LIMIT 1", (skill,)
            ).fetchone()
        if row is None:
            return None
        entry: dict[str, object] = json.loads(row[0])
        return entry


def _write_ahead(database: sqlite3.Connection) -> None:
    """Switch a store to a write-ahead log: where another process opens it too, SQLite gives up at once."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            database.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return
