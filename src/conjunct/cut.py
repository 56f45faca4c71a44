"""What follows where a budget ended the runs: weaker statements, and each of them still true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from conjunct.model import Context, Episode, Finding, Severity, Violation
from conjunct.plan import Exploration
from conjunct.plan.localise import same_effect
from conjunct.run.rounds import Cut

_NOTHING: Mapping[str, Cut] = {}
_TELLING = ("repeat", "twin")
"""Variants of the twin runs that tell whether bytes nobody could read follow a secret."""


@dataclass(frozen=True, slots=True)
class Left:
    """What a budget left out of the plan of one candidate."""

    budget: str = ""
    """In words."""
    minimum: int = 0
    """Conversations of the minimum plan: every probe once, in the neutral context."""
    exploring: bool = False
    """The plan ended before everything that runs touched was varied."""
    unresolved: bool = False
    """Unreadable bytes left after a secret was read, and no twin run tells whether they carry it."""
    told: tuple[str, ...] = ()


def left_out(
    found: Mapping[str, Exploration],
    contexts: Mapping[str, Cut],
    together: Mapping[str, Cut] = _NOTHING,
    twin_worlds: Mapping[str, Cut] = _NOTHING,
    forced: Mapping[str, Cut] = _NOTHING,
    audits: int = 0,
    *,
    pools: bool = False,
) -> dict[str, Left]:
    """For each candidate what was cut, by phase; what was run of it goes to the candidate's episodes.

    `audits` is the number of audits that were not made; `pools` whether pools over all candidates were cut.
    """
    unseen = sorted(name for name in contexts if name not in found or not found[name].asked)
    lefts: dict[str, Left] = {}
    for name, exploration in found.items():
        left = Left()
        for what, cut in (
            ("asked for next, in contexts that it touched:", contexts.get(name)),
            ("asked for next, with partners that act:", together.get(name)),
        ):
            if cut is not None:
                cut.plan.close()
                exploration.episodes += cut.made
                exploration.unexplored += max(cut.unmade, 1)
                left = _and(left, f"{_runs(cut.unmade)} {what} not made", exploring=True)
        if name in twin_worlds:
            telling = any(spec.variant in _TELLING for spec in twin_worlds[name].specs)
            left = _and(left, "twin worlds were not compared to their end", unresolved=telling)
        if name in forced:
            left = _and(left, "sensitive lines that no run reached were not forced to their end")
        if others := [other for other in unseen if other != name]:
            shown = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
            left = _and(left, f"what {shown} leave behind was not looked at: they may be partners")
        if pools:
            left = _and(left, "pools ended before each candidate would have shown a trigger")
        if audits:
            left = _and(left, f"{audits} audits of settled contexts in this registry were not made")
        if left.told:
            lefts[name] = left
    return lefts


def _runs(number: int) -> str:
    return f"{number:,} run" + ("" if number == 1 else "s")


def _and(left: Left, told: str, *, exploring: bool = False, unresolved: bool = False) -> Left:
    return replace(
        left,
        told=(*left.told, told),
        exploring=left.exploring or exploring,
        unresolved=left.unresolved or unresolved,
    )


def shortfall(left: Left | None, horizon: int, episodes: Sequence[Episode]) -> tuple[str, ...]:
    """Why runs that a budget ended carry no verdict; empty where the minimum plan was made."""
    if left is None:
        return ()
    neutral = {e.spec.probe for e in episodes if e.spec.context == Context(horizon=horizon)}
    told = []
    if len(neutral) < left.minimum:
        told.append(
            f"the budget of {left.budget} ended before the minimum plan: {len(neutral)} of {left.minimum} "
            f"conversations were run; raise --budget, the same command continues from here"
        )
    if left.unresolved:
        told.append(
            f"the budget of {left.budget} ended before twin worlds could tell whether bytes that left after "
            f"a secret was read carry it; raise --budget, the same command continues from here"
        )
    return tuple(told)


def unconfirmed(left: Left | None, found: Exploration) -> tuple[Finding, ...]:
    """Violations that were seen when the budget ended, and that no fresh run confirmed: each effect once."""
    if left is None or not left.exploring:
        return ()
    known: list[Violation] = [trigger.violation for trigger in found.triggers]
    told: list[Finding] = []
    for episode in found.episodes:
        for one in episode.violations:
            if found.candidate not in one.actors or one.severity is Severity.NOTE:
                continue
            if any(same_effect(one, other) for other in known):
                continue
            known.append(one)
            seen = sum(any(same_effect(v, one) for v in e.violations) for e in found.episodes)
            message = (
                f"{one.effect} (in {seen} of {len(found.episodes)} runs; the budget of {left.budget} ended "
                f"before it was confirmed and its condition found)"
            )
            told.append(
                Finding(
                    found.candidate, one.layer, one.invariant, message, Severity.REVIEW, one.file, one.line
                )
            )
    return tuple(told)
