"""`conjunct diff`: the changes of each skill, for people and as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from conjunct.delta.versions import EffectChange
from conjunct.diff import Change, SkillDiff
from conjunct.model import NEUTRAL
from conjunct.report.safe_text import safe_line
from conjunct.report.summary import EXIT_ADMITTED, EXIT_FLAGGED

SCHEMA = "conjunct.diff/1"
_STYLES = {"+": "green", "-": "red", "~": "yellow"}


def show_diff(found: Sequence[SkillDiff], old: Path, new: Path, form: str) -> int:
    """Print what changed; the exit status is 1 where anything did."""
    if form == "json":
        entries = [_entry(one) for one in found]
        value = {"schema": SCHEMA, "old": str(old), "new": str(new), "skills": entries}
        text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=True, default=str)
        sys.stdout.write(text + "\n")
    else:
        _print(found)
    return EXIT_FLAGGED if found else EXIT_ADMITTED


def _entry(one: SkillDiff) -> dict[str, Any]:
    entry: dict[str, Any] = {**asdict(one), "widens": one.widens}
    for told, change in zip(entry["behaviour"]["effects"], one.behaviour.effects, strict=True):
        told["delta"] = change.delta
        told["words"] = change.effect.words()
    return entry


def _print(found: Sequence[SkillDiff]) -> None:
    console = Console(highlight=False, emoji=False)
    if not found:
        console.print("nothing changed: the packages are the same, byte for byte")
    for one in found:
        _print_skill(one, console)


def _print_skill(one: SkillDiff, console: Console) -> None:
    if not one.old or not one.new:
        head = f"{one.new or one.old}: {'added' if one.new else 'removed'}"
    else:
        name = one.new if one.old == one.new else f"{one.old} → {one.new}"
        head = f"{name}: {one.old_digest[:12]} → {one.new_digest[:12]}"
    widens = "  can do or asks for more than before" if one.old and one.widens else ""
    console.print(Text.assemble((safe_line(head), "bold"), (widens, "bold yellow")), soft_wrap=True)
    if one.broken:
        console.print(Text(safe_line(f"  cannot be read: {one.broken}"), style="yellow"), soft_wrap=True)
    if one.files and one.old and one.new:
        console.print("  files")
        for line in one.files:
            console.print(Text(safe_line(f"    {line}"), style=_STYLES[line[0]]), soft_wrap=True)
    for title, changes in (
        ("declaration", one.declaration),
        ("origin", one.origin),
        ("reach", one.reach),
        ("findings", one.findings),
    ):
        _print_changes(title, changes, console)
    if not one.new:
        return
    behaviour = one.behaviour
    if behaviour.before and behaviour.after:
        console.print(Text(safe_line(f"  behaviour: {behaviour.before} → {behaviour.after}")), soft_wrap=True)
        for change in behaviour.changes:
            told = f"    {change.mark} {change.text}"
            console.print(Text(safe_line(told), style=_STYLES[change.mark]), soft_wrap=True)
        if not behaviour.changes:
            console.print("    no trigger came or went")
    if behaviour.compared:
        many = f"{behaviour.compared} context{'s' if behaviour.compared > 1 else ''}"
        told = f"  effects, both versions run in {many}" + ("" if behaviour.effects else ": the same")
        console.print(Text(told), soft_wrap=True)
    for effect in behaviour.effects:
        console.print(Text(safe_line(_effect(effect), width=500), style=_STYLES[effect.mark]), soft_wrap=True)
    if behaviour.missing:
        console.print(Text(safe_line(f"  behaviour {behaviour.missing}"), style="dim"), soft_wrap=True)


def _effect(one: EffectChange) -> str:
    place = f"{one.file}:{one.line}  " if one.file and one.line else f"{one.file}  " if one.file else ""
    where = "in the neutral context" if one.when == NEUTRAL else f"with {one.when}"
    turn = f"turn {one.turn}"
    if one.turn_before is not None:
        turn += f", before in turn {one.turn_before}"
    told = f"    {one.mark} {place}{one.effect.words()}; {where}, {turn}"
    told += f"; in {one.new_contexts} of {one.compared} contexts, before in {one.old_contexts}"
    told += f" (Δ {one.delta:+.2f})"
    return told if one.reproduced is not False else f"{told}; not so in fresh runs"


def _print_changes(title: str, changes: Sequence[Change], console: Console) -> None:
    if changes:
        console.print(f"  {title}")
    for change in changes:
        place = f"{change.file}:{change.line}  " if change.file and change.line else ""
        told = f"    {change.mark} {place}{change.text}"
        console.print(Text(safe_line(told, width=500), style=_STYLES[change.mark]), soft_wrap=True)
