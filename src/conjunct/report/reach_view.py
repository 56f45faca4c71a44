"""`conjunct reach`: what the skills in a folder could do and what they declare, for people and as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.text import Text

from conjunct.directives import compile_registry
from conjunct.model import ReachSet
from conjunct.provenance import check_claims, neighbourhood_of
from conjunct.reach import reachable_actions
from conjunct.report.safe_text import safe_line
from conjunct.skills import read_registry

SCHEMA = "conjunct.reach/1"


def show_reach(path: Path, form: str) -> None:
    """Print the reachable-action set of every skill in `path`. Raises `IntakeError` where there is none."""
    registry = read_registry(path)
    compiled = compile_registry(registry)
    sets = {skill.id: reachable_actions(skill, compiled[skill.id]) for skill in registry.skills}
    neighbourhood = neighbourhood_of([(skill, sets[skill.id]) for skill in registry.skills])
    if form == "json":
        entries = []
        for skill in registry.skills:
            findings = check_claims(skill, sets[skill.id], neighbours=neighbourhood)
            entries.append(
                {
                    "id": skill.id,
                    "digest": skill.digest,
                    **asdict(sets[skill.id]),
                    "findings": [asdict(finding) for finding in findings],
                }
            )
        text = json.dumps({"schema": SCHEMA, "skills": entries}, indent=2, sort_keys=True, ensure_ascii=True)
        sys.stdout.write(text + "\n")
        return
    console = Console(highlight=False, emoji=False)
    for skill in registry.skills:
        _print_set(skill.id, sets[skill.id], console)


def _print_set(name: str, reach: ReachSet, console: Console) -> None:
    console.print(Text(safe_line(name), style="bold"))
    for capability in reach.capabilities:
        place = f"{capability.file}:{capability.line}"
        told = f"declares {capability.kind} {capability.resource_class} {capability.resource}  {place}"
        console.print(Text("  " + safe_line(told), style="green"), soft_wrap=True)
    for action in sorted(reach.actions, key=lambda a: (a.file, a.line)):
        told = f"{action.file}:{action.line}  {action.kind} {action.resource_class} {action.resource}"
        if action.guards:
            told += f"  only if {action.guards[-1].text}"
        if action.mention:
            told += "  (mentioned, not instructed)"
        console.print(
            Text("  " + safe_line(told, width=240), style="dim" if action.mention else ""), soft_wrap=True
        )
