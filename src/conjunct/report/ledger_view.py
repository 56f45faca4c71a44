"""`conjunct provenance`: what the ledger holds on a skill, and whether its chain holds."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.text import Text

from conjunct.errors import StoreError, UsageError
from conjunct.provenance.ledger import ChainCheck, Ledger, Version
from conjunct.report.safe_text import safe_line
from conjunct.report.summary import EXIT_ADMITTED, EXIT_FLAGGED
from conjunct.run.store import DEFAULT_STORE

SCHEMA = "conjunct.provenance/1"
_TOLD_LAST = ("by", "path")


def show_provenance(
    skill: str | None, store: Path | None, *, verify: bool, expect: str | None, form: str
) -> int:
    """Print one skill's versions, or every skill's, and check the chain where asked; the exit status.

    1 where the chain does not hold. Raises `StoreError` where there is no ledger or nothing on the skill.
    """
    path = store or DEFAULT_STORE
    if not path.exists():
        raise StoreError(f"{path}: there is no run store here; run `conjunct vet` first or pass --store")
    if expect is not None and not verify:
        raise UsageError("--expect is the hash that --verify looks for; pass both")
    with Ledger(path) as ledger:
        names = ledger.named(skill) if skill is not None else ledger.skills()
        if skill is not None and not names:
            raise StoreError(f"{path}: the ledger has nothing on {skill!r}; run `conjunct vet` on its folder")
        versions = {name: ledger.versions(name) for name in names}
        check = ledger.verify(expect) if verify else None
    if form == "json":
        _print_json(versions, check)
    else:
        _print(versions, check, whole=skill is not None)
    return EXIT_FLAGGED if check is not None and not check.holds else EXIT_ADMITTED


def _print_json(versions: dict[str, tuple[Version, ...]], check: ChainCheck | None) -> None:
    value: dict[str, object] = {
        "schema": SCHEMA,
        "skills": {name: [_plain(version) for version in found] for name, found in versions.items()},
    }
    if check is not None:
        value["chain"] = {**asdict(check), "holds": check.holds}
    sys.stdout.write(json.dumps(value, indent=2, sort_keys=True) + "\n")


def _plain(version: Version) -> dict[str, object]:
    value = asdict(version)
    value["facts"] = dict(version.facts)
    for kind, entries in (("verdicts", version.verdicts), ("decisions", version.decisions)):
        value[kind] = [
            {"number": one.number, "recorded": one.recorded, "hash": one.hash, **dict(one.facts)}
            for one in entries
        ]
    return value


def _print(versions: dict[str, tuple[Version, ...]], check: ChainCheck | None, *, whole: bool) -> None:
    console = Console(highlight=False, emoji=False)
    for name, found in versions.items():
        if whole:
            _print_skill(name, found, console)
        else:
            newest = found[-1]
            last = newest.verdicts[-1].fact("verdict") if newest.verdicts else "no verdict"
            told = f"{name}  {len(found)} version{'s' if len(found) != 1 else ''}  {last}"
            origin = f"  {_origin(newest)}  first seen {found[0].first_seen}"
            console.print(Text.assemble(safe_line(told), (safe_line(origin), "dim")), soft_wrap=True)
    if check is not None:
        for problem in check.problems:
            console.print(Text(safe_line(f"BROKEN  {problem}"), style="bold red"), soft_wrap=True)
        if check.holds:
            console.print(f"the chain of {check.entries:,} entries holds", soft_wrap=True)
        console.print(Text(f"head {check.head}", style="dim"), soft_wrap=True)


def _origin(version: Version) -> str:
    facts = dict(version.facts)
    publisher = f" by {facts['publisher']} ({facts['basis']})" if facts.get("publisher") else ""
    source = facts.get("source", "unknown source")
    return (f"the folder {facts.get('path', '')}" if source == "folder" else source) + publisher


def _print_skill(name: str, versions: Sequence[Version], console: Console) -> None:
    console.print(Text(safe_line(name), style="bold"))
    for version in versions:
        console.print(
            Text.assemble(
                f"  sha256:{version.digest}",
                (f"  first seen {version.first_seen}, last {version.last_seen}", "dim"),
            ),
            soft_wrap=True,
        )
        console.print(Text(safe_line(f"    from {_origin(version)}")), soft_wrap=True)
        for key, value in version.facts:
            if key not in {"source", "publisher", "basis", *_TOLD_LAST}:
                console.print(Text(safe_line(f"    {key}: {value}")), soft_wrap=True)
        for one in version.verdicts:
            grade = f" ({one.fact('grade')})" if one.fact("grade") else ""
            told = f"    {one.recorded}  {one.fact('verdict')}{grade}, by {one.fact('by')}"
            console.print(Text(safe_line(told)), soft_wrap=True)
        for one in version.decisions:
            why = f": {one.fact('reason')}" if one.fact("reason") else ""
            told = f"    {one.recorded}  {one.fact('decision')}, by {one.fact('by')}{why}"
            console.print(Text(safe_line(told), style="yellow"), soft_wrap=True)
