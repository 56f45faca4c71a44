"""The lock file: which package lies where in an installed registry, and how that drifted since."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from conjunct.errors import IntakeError, UsageError
from conjunct.model import Entry, Registry, Skill
from conjunct.provenance.foreign_lock import ForeignPin, foreign_pins_of
from conjunct.provenance.origin import origin_of
from conjunct.skills import read_registry

SCHEMA = "conjunct.lock/1"
LOCK_FILE = "conjunct.lock"
_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Pin:
    """One package as it was when it was locked."""

    place: str
    """Below the registry, POSIX; `.` for the registry's own folder, `!` parts for archives."""
    name: str
    digest: str
    source: str = ""
    publisher: str = ""
    version: str = ""
    files: tuple[tuple[str, str], ...] = ()
    """(path, content): `sha256:…`, with ` x` where executable, or `link:TARGET`; sorted by path."""


class DriftKind(StrEnum):
    """How a package differs from the lock."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    MOVED = "moved"
    """The same package at another place."""


@dataclass(frozen=True, slots=True)
class Drift:
    """One difference between a registry and its lock."""

    kind: DriftKind
    place: str
    name: str
    message: str
    files: tuple[str, ...] = ()
    """What changed: `+ path`, `- path`, `~ path`."""


def lock_path(folder: Path) -> Path:
    """Where the lock of a registry lies: in it, or beside it where the folder is itself a skill.

    A file in a package would change the digest that it pins.
    """
    if any(item.name.lower() == "skill.md" for item in _listed(folder)):
        whole = folder.resolve()
        return whole.parent / f"{whole.name}.{LOCK_FILE}"
    return folder / LOCK_FILE


def _listed(folder: Path) -> Iterator[Path]:
    try:
        yield from folder.iterdir()
    except OSError as error:
        raise IntakeError(
            f"{folder}: cannot be listed ({error.strerror}); pass a folder with skills"
        ) from error


def pins_of(folder: Path) -> tuple[Pin, ...]:
    """A pin for every skill in `folder`, in the order of their places. Raises `IntakeError` for none."""
    with tempfile.TemporaryDirectory(prefix="conjunct-lock-") as scratch:
        registry = read_registry(folder, staging=Path(scratch))
        return pins_of_registry(registry, folder)


def pins_of_registry(registry: Registry, folder: Path) -> tuple[Pin, ...]:
    """A pin for every skill of a registry that was read from `folder`."""
    locked = foreign_pins_of(folder)
    pins = (_pin(skill, folder, locked.get(skill.name)) for skill in registry.skills)
    return tuple(sorted(pins, key=lambda pin: pin.place))


def _pin(skill: Skill, folder: Path, locked: ForeignPin | None) -> Pin:
    origin = origin_of(skill, locked)
    base = str(folder)
    inside = skill.path == base or skill.path.startswith(base.rstrip("/") + "/")
    place = skill.path[len(base.rstrip("/")) :].strip("/") if inside else skill.path
    return Pin(
        place=_clean(place or "."),
        name=_clean(skill.name),
        digest=skill.digest,
        source=_clean(origin.source),
        publisher=_clean(origin.publisher),
        version=_clean(origin.version),
        files=tuple(sorted((_clean(entry.path), content_of(entry)) for entry in skill.entries)),
    )


def content_of(entry: Entry) -> str:
    """What of one package member is pinned, as text."""
    if entry.kind == "link":
        return f"link:{_clean(entry.target or '')}"
    mark = {True: " x", False: "", None: " ?"}[entry.executable]
    return f"sha256:{entry.sha256}{mark}" if entry.sha256 else f"size:{entry.size}{mark}"


def to_text(pins: tuple[Pin, ...]) -> str:
    """The lock file: JSON, sorted, one line for each file, so that merges and reviews stay readable."""
    skills = {
        pin.place: {
            "name": pin.name,
            "digest": pin.digest,
            "source": pin.source,
            "publisher": pin.publisher,
            "version": pin.version,
            "files": dict(pin.files),
        }
        for pin in pins
    }
    return json.dumps({"schema": SCHEMA, "skills": skills}, indent=2, sort_keys=True) + "\n"


def write_lock(folder: Path, path: Path | None = None) -> tuple[Path, int]:
    """Pin every skill in `folder`; (file written, number of skills). Written whole or not at all.

    Raises:
        IntakeError: the folder holds no skill.
        UsageError: the file cannot be written.
    """
    pins = pins_of(folder)
    path = path or lock_path(folder)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with scratch.open("x", encoding="utf-8") as stream:  # never through a link that lies there
            stream.write(to_text(pins))
        scratch.replace(path)
    except OSError as error:
        if not isinstance(error, FileExistsError):
            scratch.unlink(missing_ok=True)
        raise UsageError(
            f"{path}: the lock cannot be written ({error.strerror}); name another with --file"
        ) from error
    return path, len(pins)


def read_lock(path: Path) -> tuple[Pin, ...]:
    """The pins of a lock file.

    Raises:
        UsageError: there is none, or it is no lock file of this version; says what is wrong with it.
    """
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: is no file; `conjunct lock DIR --file FILE` writes the lock elsewhere")
    try:
        with path.open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"{path}: there is no lock to check against ({error.strerror}); `conjunct lock DIR` writes one"
        ) from error
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{path}: is larger than {_MOST_BYTES >> 20} MiB, which no lock file is")
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: is no lock file: {error}; `conjunct lock DIR` writes it anew") from error
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise UsageError(f'{path}: is no lock file with "schema": "{SCHEMA}"')
    skills = value.get("skills")
    if not isinstance(skills, dict):
        raise UsageError(f"{path}: `skills` must be an object of places")
    return tuple(_read_pin(path, place, one) for place, one in sorted(skills.items()))


def _read_pin(path: Path, place: str, value: object) -> Pin:
    files = value.get("files", {}) if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(files, dict):
        raise UsageError(f"{path}: the entry {place!r} must be an object with name, digest and files")
    texts = {key: value.get(key, "") for key in ("name", "digest", "source", "publisher", "version")}
    for key, text in (*texts.items(), *files.items()):
        if not isinstance(text, str):
            raise UsageError(f"{path}: the entry {place!r}: {key} is {text!r}, but must be a text")
    if len(texts["digest"]) != 64:
        raise UsageError(f"{path}: the entry {place!r} has no digest of 64 digits")
    return Pin(place, **texts, files=tuple(sorted(files.items())))


def drift(locked: tuple[Pin, ...], present: tuple[Pin, ...]) -> tuple[Drift, ...]:
    """How a registry differs from its lock, by place; empty where nothing does."""
    before = {pin.place: pin for pin in locked}
    after = {pin.place: pin for pin in present}
    gone = [pin for place, pin in before.items() if place not in after]
    new = [pin for place, pin in after.items() if place not in before]
    found = [
        Drift(DriftKind.CHANGED, place, after[place].name, _changed(old, after[place]), files)
        for place, old in before.items()
        if place in after and old.digest != after[place].digest
        for files in [changed_files(dict(old.files), dict(after[place].files))]
    ]
    for pin in list(new):
        same = next((one for one in gone if one.digest == pin.digest), None)
        if same is not None:
            gone.remove(same)
            new.remove(pin)
            found.append(Drift(DriftKind.MOVED, pin.place, pin.name, f"was locked at {same.place}"))
    found += [Drift(DriftKind.ADDED, pin.place, pin.name, "is in no entry of the lock") for pin in new]
    found += [Drift(DriftKind.REMOVED, pin.place, pin.name, "is locked, but not there") for pin in gone]
    return tuple(sorted(found, key=lambda one: (one.place, one.kind)))


def _changed(old: Pin, new: Pin) -> str:
    told = [f"digest {old.digest[:12]} is now {new.digest[:12]}"]
    told += [
        f"{word} {before or 'unknown'} is now {after or 'unknown'}"
        for word, before, after in (
            ("name", old.name, new.name),
            ("source", old.source, new.source),
            ("publisher", old.publisher, new.publisher),
            ("version", old.version, new.version),
        )
        if before != after
    ]
    return "; ".join(told)


def changed_files(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[str, ...]:
    """`+ path`, `- path` and `~ path` for what differs between two packages, by path."""
    found = [(path, "-") for path in old if path not in new]
    found += [(path, "+") for path in new if path not in old]
    found += [(path, "~") for path in new if path in old and old[path] != new[path]]
    return tuple(f"{mark} {path}" for path, mark in sorted(found))


def _clean(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
