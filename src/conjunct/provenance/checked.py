"""One skill as the rules about its claims see it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from conjunct.model import (
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
    return Checked(skill, reach, declared, actions, frozenset(exercised or ()))
