"""One skill as the rules about its claims see it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from conjunct.model import (
    ActionKind,
    Finding,
    Layer,
    ReachableAction,
    ReachSet,
    ResourceClass,
    Severity,
    Skill,
)
from conjunct.provenance.declared import Declared

SURE = 0.6
"""Confidence from which an action leads to more than a note."""


def severity_of(action: ReachableAction) -> Severity:
    """A review where the action is sure enough, else a note."""
    return Severity.REVIEW if action.confidence >= SURE else Severity.NOTE


PERSONAL = (
    ResourceClass.PRIVATE,
    ResourceClass.HISTORY,
    ResourceClass.AGENT_CONFIGURATION,
    ResourceClass.CONVERSATION,
)
"""Classes of what is the user's own."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One skill as the rules see it: mentions left out, lines that ran known."""

    skill: Skill
    reach: ReachSet
    declared: Declared
    actions: tuple[ReachableAction, ...]
    exercised: frozenset[tuple[str, int]]
    samples: frozenset[str] = frozenset()
    """Files of sample and evaluation folders that nothing else of the package names or runs."""

    def finding(
        self,
        code: str,
        message: str,
        action: ReachableAction,
        severity: Severity,
        question: str | None = None,
    ) -> Finding:
        """A finding at an action; a line that ran is judged by what it did, so it is a note here."""
        ran = (action.file, action.line) in self.exercised
        if ran and severity is Severity.REVIEW and code != "claims.remote-code":
            severity, question = Severity.NOTE, None
        if action.file in self.samples:
            severity, question = Severity.NOTE, None
        under = f", only if {action.guards[-1].text}" if action.guards else ""
        return Finding(
            skill=self.skill.id,
            layer=Layer.CLAIMS,
            code=code,
            message=f"{message} ({action.file}:{action.line}{under})",
            severity=severity,
            file=action.file,
            line=action.line,
            question=question if severity is Severity.REVIEW else None,
        )


def checked_of(
    skill: Skill, reach: ReachSet, declared: Declared, exercised: Collection[tuple[str, int]] | None
) -> Checked:
    """What the rules look at: everything reachable that is not merely mentioned."""
    actions = tuple(action for action in reach.actions if not action.mention)
    return Checked(skill, reach, declared, actions, frozenset(exercised or ()), _samples(skill, actions))


_SAMPLE_FOLDER = re.compile(r"(?:^|/)(?P<folder>evals?|samples?|sample[_-][\w-]+)/", re.IGNORECASE)
_BY_ITSELF = re.compile(
    r"(?:__(?:init|main)__|conftest|setup|\w*customize|index|makefile|package)\b", re.IGNORECASE
)


def _samples(skill: Skill, actions: Sequence[ReachableAction]) -> frozenset[str]:
    """Files below `evals/` or `sample_…/` whose names stand nowhere else: material."""
    found: dict[str, str] = {}
    for action in actions:
        folder = _SAMPLE_FOLDER.search(action.file)
        if (
            folder
            and action.source not in ("prose", "autorun")
            and not _BY_ITSELF.match(action.file.rsplit("/", 1)[-1])
        ):
            found[action.file] = folder["folder"]
    if not found:
        return frozenset()
    outside = [
        action.resource
        for action in actions
        if action.file not in found and action.kind in (ActionKind.EXEC, ActionKind.OPAQUE, ActionKind.READ)
    ]
    return frozenset(
        file for file, folder in found.items() if not _is_named(file, folder, skill.body, outside)
    )


def _is_named(file: str, folder: str, body: str, resources: Sequence[str]) -> bool:
    name = file.rsplit("/", 1)[-1]
    module = f"{folder}.{name.rsplit('.', 1)[0]}"
    return any(name in text or module in text for text in (body, *resources)) or any(
        f"{folder}/" in text for text in resources
    )
