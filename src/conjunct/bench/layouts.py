"""Labelled sets of packages as others lay them out: one folder for each skill, and a table of labels.

A table is CSV or JSON with one row for each skill: where it is, what it is, and, if there are several, its
source. Our own labels files are tables too. A row that names no skill of the folder is an error: a label that
is silently dropped would make a rate look better or worse than it is.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conjunct.bench.truth import BENIGN
from conjunct.errors import UsageError
from conjunct.skills import language_of
from conjunct.skills.package import read_regular
from conjunct.skills.scripts import HEAD_BYTES

_PLACES = ("path", "folder", "directory", "skill", "name", "id")
_LABELS = ("label", "class", "verdict", "malicious", "is_malicious")
_HARMFUL = frozenset(
    {
        "malicious",
        "adversarial",
        "unsafe",
        "attack",
        "poisoned",
        "harmful",
        "bad",
        "true",
        "yes",
        "1",
        "experiment",
    }
)
_HARMLESS = frozenset({"benign", "clean", "safe", "good", "harmless", "control", "false", "no", "0"})
MOST_ROWS = 200_000
PARTS = ("tuning", "testing")


@dataclass(frozen=True, slots=True)
class Labelled:
    """One labelled package."""

    path: Path
    name: str
    """As the table has it."""
    harmful: bool
    source: str = ""
    prose_only: bool = False
    """Whether the package holds no program in any language."""

    @property
    def part(self) -> str:
        """`tuning` or `testing`, by source: one source is never in both."""
        return PARTS[hashlib.sha256(f"part:{self.source}".encode()).digest()[0] % 2]


def read_folders(folder: Path, labels: Path) -> tuple[Labelled, ...]:
    """Every labelled package of `folder`, in the order of their paths.

    Raises:
        UsageError: the table cannot be read, has no column of places or labels, an unknown label, or a row
            whose package is not there; names file and row.
    """
    found = [_labelled(folder, labels, row, number) for number, row in _rows(labels)]
    twice = sorted(path for path, count in Counter(one.path for one in found).items() if count > 1)
    if twice:
        raise UsageError(f"{labels}: {twice[0]} is labelled twice")
    if not found:
        raise UsageError(f"{labels}: holds no row")
    return tuple(sorted(found, key=lambda one: str(one.path)))


def read_groups(folder: Path) -> tuple[Labelled, ...]:
    """Packages that lie in folders named after their label: `benign/…`, `malicious/…`, `control-group/…`.

    Raises:
        UsageError: there is no such folder, or none holds a skill.
    """
    found: list[Labelled] = []
    for group in sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else ():
        label = group.name.lower().removesuffix("-group").removesuffix("-skills")
        if label not in _HARMFUL | _HARMLESS:
            continue
        for package in _packages_below(group):
            name = str(package.relative_to(folder))
            found.append(Labelled(package, name, label in _HARMFUL, folder.name, _prose_only(package)))
    if not found:
        known = ", ".join(sorted(_HARMFUL | _HARMLESS))
        raise UsageError(
            f"{folder}: no folder named after a label holds a skill; pass --labels FILE, "
            f"or name folders by one of {known}"
        )
    return tuple(found)


def _packages_below(folder: Path) -> Iterator[Path]:
    """Outermost folders with a manifest; links are not followed."""
    for root, folders, files in os.walk(folder):
        folders.sort()
        if any(name.lower() == "skill.md" for name in files):
            folders.clear()
            yield Path(root)


def _labelled(folder: Path, labels: Path, row: Mapping[str, Any], number: int) -> Labelled:
    place = next((str(row[key]) for key in _PLACES if row.get(key)), "")
    label = next((str(row[key]).strip().lower() for key in _LABELS if row.get(key) not in (None, "")), "")
    where = f"{labels}: row {number}"
    if not place:
        raise UsageError(f"{where}: names no package; expected a column out of {', '.join(_PLACES)}")
    if label not in _HARMFUL | _HARMLESS:
        known = ", ".join(sorted(_HARMFUL | _HARMLESS))
        raise UsageError(f"{where}: label {label!r} is not known; expected one of {known}")
    path = folder / place
    if not path.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{where}: {place!r} lies outside {folder}")
    if not path.exists():
        raise UsageError(f"{where}: {path} is not there; the table must belong to this folder")
    source = str(row.get("source") or row.get("dataset") or folder.name)
    return Labelled(path, place, label in _HARMFUL, source, _prose_only(path))


def _prose_only(path: Path) -> bool:
    for root, folders, files in os.walk(path):
        folders.sort()
        for name in files:
            member = Path(root) / name
            if not member.is_symlink() and language_of(
                name, read_regular(os.fsencode(member), HEAD_BYTES) or b""
            ):
                return False
    return True


def _rows(labels: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        text = labels.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{labels}: cannot be read as text ({error}); check the path given to --labels"
        ) from error
    if labels.suffix.lower() in (".csv", ".tsv"):
        delimiter = "\t" if labels.suffix.lower() == ".tsv" else ","
        rows: list[Any] = list(csv.DictReader(text.splitlines(), delimiter=delimiter))
    else:
        rows = list(_json_rows(labels, text))
    if len(rows) > MOST_ROWS:
        raise UsageError(f"{labels}: {len(rows)} rows; at most {MOST_ROWS} are read")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise UsageError(f"{labels}: row {number}: expected an object with a place and a label")
        yield number, {str(key).strip().lower(): value for key, value in row.items() if key is not None}


def _json_rows(labels: Path, text: str) -> Iterator[object]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{labels}: is not JSON: {error}") from error
    if isinstance(data, dict):
        data = data.get("skills", data)
    if isinstance(data, list):
        yield from data
        return
    if not isinstance(data, dict):
        raise UsageError(f"{labels}: expected rows, or an object that maps packages to labels")
    for name, entry in data.items():
        label = entry.get("label") if isinstance(entry, dict) else entry
        source = entry.get("source", "") if isinstance(entry, dict) else ""
        yield {"path": name, "label": "benign" if label == BENIGN else label, "source": source}
