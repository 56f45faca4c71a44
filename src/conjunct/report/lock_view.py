"""`conjunct lock`: write the lock of a registry, or check the registry against it."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.text import Text

from conjunct.model import Registry
from conjunct.provenance.foreign_lock import (
    ForeignAnswer,
    compare_foreign,
    foreign_locks,
    read_foreign_lock,
)
from conjunct.provenance.lock import Drift, drift, lock_path, pins_of_registry, read_lock, write_lock
from conjunct.report.safe_text import safe_line
from conjunct.report.summary import EXIT_ADMITTED, EXIT_FLAGGED
from conjunct.skills import read_registry

SCHEMA = "conjunct.lock-check/1"
_SHOWN = 20


def lock_registry(folder: Path, file: Path | None) -> None:
    """Write the lock and tell where it is."""
    path, number = write_lock(folder, file)
    skills = "skill" if number == 1 else "skills"
    Console(highlight=False, emoji=False).print(
        Text(safe_line(f"{path}: {number:,} {skills} locked")), soft_wrap=True
    )


def check_lock(folder: Path, file: Path | None, form: str) -> int:
    """Tell how the registry drifted; the exit status is 1 where it did.

    What lock files of other tools say is told beside it and never changes the status: their hashes often
    cover what was downloaded, not what was installed.
    """
    path = file or lock_path(folder)
    others = foreign_locks(folder)
    locked = None if not path.exists() and others else read_lock(path)
    with tempfile.TemporaryDirectory(prefix="conjunct-lock-") as scratch:
        registry = read_registry(folder, staging=Path(scratch))
        present = pins_of_registry(registry, folder)
        foreign = tuple(answer for other in others for answer in _answers(other, registry))
    found = drift(locked, present) if locked is not None else ()
    if form == "json":
        value = {
            "schema": SCHEMA,
            "lock": str(path) if locked is not None else None,
            "skills": len(present),
            "drift": [asdict(one) for one in found],
            "other_locks": [asdict(one) for one in foreign],
        }
        sys.stdout.write(json.dumps(value, indent=2, sort_keys=True) + "\n")
    else:
        _print(path, found, len(present), foreign, locked=locked is not None)
    return EXIT_FLAGGED if found else EXIT_ADMITTED


def _answers(path: Path, registry: Registry) -> Sequence[ForeignAnswer]:
    """Each pin against the skill whose name or folder it names; where several do, against any that fits."""
    answers = []
    for pin in read_foreign_lock(path):
        named = [
            skill
            for skill in registry.skills
            if pin.name in {skill.name, skill.path.rstrip("/").rpartition("/")[2]}
        ]
        given = [compare_foreign(pin, skill) for skill in named] or [compare_foreign(pin, None)]
        answers.append(next((one for one in given if one.matches), given[0]))
    return answers


def _print(
    path: Path, found: Sequence[Drift], skills: int, foreign: Sequence[ForeignAnswer], *, locked: bool
) -> None:
    console = Console(highlight=False, emoji=False)
    for one in found:
        told = f"{one.kind.upper():<8} {one.place}  {one.message}"
        console.print(Text(safe_line(told), style="yellow"), soft_wrap=True)
        for line in one.files[:_SHOWN]:
            console.print(Text(safe_line(f"         {line}")), soft_wrap=True)
        if len(one.files) > _SHOWN:
            console.print(f"         and {len(one.files) - _SHOWN} more")
    if not locked:
        told = f"there is no {path}; only locks of other tools are looked at"
        console.print(Text(safe_line(told)), soft_wrap=True)
    elif not found:
        console.print(Text(safe_line(f"{skills:,} skills are as {path} has them")), soft_wrap=True)
    for answer in foreign:
        if answer.matches is not True:
            console.print(Text(safe_line(f"note     {answer.message}"), style="dim"), soft_wrap=True)
    agreed = sum(answer.matches is True for answer in foreign)
    if agreed:
        console.print(Text(f"{agreed:,} skills are as locks of other tools have them", style="dim"))
