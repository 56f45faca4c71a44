"""Whether a skill's claims hold: what it reaches against what it declares, and against its neighbours."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from conjunct.model import ActionKind, Finding, Layer, ReachSet, ResourceClass, Severity, Skill
from conjunct.provenance.checked import Checked, checked_of
from conjunct.provenance.declared import declared_of
from conjunct.provenance.laundering import Neighbourhood, laundering_findings, neighbourhood_of
from conjunct.provenance.posture import posture_findings
from conjunct.provenance.sensitive import sensitive_findings
from conjunct.provenance.shadowing import shadowing_findings

_SENSITIVE_KINDS = (ActionKind.SEND, ActionKind.CONNECT, ActionKind.REMOTE_CODE, ActionKind.OPAQUE)
_SENSITIVE_CLASSES = (
    ResourceClass.SECRET,
    ResourceClass.AGENT_CONFIGURATION,
    ResourceClass.AGENT_MEMORY,
    ResourceClass.SCHEDULE,
    ResourceClass.SHELL_STARTUP,
    ResourceClass.OTHER_SKILL,
)
_MOST_DORMANT = 40


def check_claims(
    skill: Skill,
    reach: ReachSet,
    *,
    neighbours: Sequence[tuple[Skill, ReachSet]] | Neighbourhood = (),
    exercised: Collection[tuple[str, int]] | None = None,
) -> tuple[Finding, ...]:
    """Compare what a skill reaches with what it declares.

    `neighbours` is the rest of the registry; for many skills build `neighbourhood_of(…)` once and pass it.
    `exercised` holds (file, line) pairs that runs reached: what ran is judged by its effects, so its
    findings become notes (remote code excepted), and sensitive lines outside of it are told as not
    exercised; with `None` nothing has run yet. A finding of severity `review` carries one yes/no question.
    """
    declared = declared_of(skill, reach)
    checked = checked_of(skill, reach, declared, exercised)
    found = [
        *reach.findings,
        *sensitive_findings(checked),
        *posture_findings(checked),
    ]
    if exercised is not None:
        found.extend(_dormant(checked))
    found.extend(_over_privilege(checked))
    registry = neighbours if isinstance(neighbours, Neighbourhood) else neighbourhood_of(neighbours)
    found.extend(laundering_findings(skill, reach, registry, found))
    found.extend(shadowing_findings(skill, reach, registry))
    return tuple(dict.fromkeys(found))


def is_sensitive(kind: ActionKind, resource_class: ResourceClass) -> bool:
    """Whether an action is one whose absence from every run has to be told."""
    if kind in (ActionKind.SEND, ActionKind.CONNECT):
        return resource_class is ResourceClass.NETWORK
    return kind in _SENSITIVE_KINDS or (
        resource_class in _SENSITIVE_CLASSES
        and kind in (ActionKind.READ, ActionKind.WRITE, ActionKind.DELETE)
    )


def _dormant(checked: Checked) -> Iterator[Finding]:
    """Sensitive lines of code that no run reached, each with its guard: a level for the plan to try."""
    told: set[tuple[str, int]] = set()
    for action in checked.actions:
        place = (action.file, action.line)
        if place in checked.exercised or place in told or len(told) >= _MOST_DORMANT:
            continue
        if action.source in ("prose", "autorun") or not is_sensitive(action.kind, action.resource_class):
            continue
        told.add(place)
        guard = f"; kept shut by `{action.guards[-1].text}`" if action.guards else ""
        yield Finding(
            checked.skill.id,
            Layer.CLAIMS,
            "claims.not-exercised",
            f"no run reached {action.kind.value} {action.resource} ({action.file}:{action.line}){guard}",
            Severity.NOTE,
            action.file,
            action.line,
        )


def _over_privilege(checked: Checked) -> Iterator[Finding]:
    """Tools pre-approved, or variables required, that nothing in the package uses."""
    reached = {(action.kind, action.resource_class) for action in checked.actions}
    kinds = {action.kind for action in checked.actions}
    told: set[str] = set()
    for capability in checked.reach.capabilities:
        if not capability.quote.startswith(("allowed-tools:", "requires ")) or capability.quote in told:
            continue
        told.add(capability.quote)
        used = (capability.kind, capability.resource_class) in reached
        if capability.kind in (ActionKind.EXEC, ActionKind.CONNECT, ActionKind.SEND):
            used = capability.kind in kinds
        elif capability.resource.startswith("env:"):
            used = capability.resource[4:] in checked.reach.environment or used
        elif capability.resource_class is ResourceClass.WORKSPACE:
            used = True
        if not used:
            yield Finding(
                checked.skill.id,
                Layer.CLAIMS,
                "claims.over-privilege",
                f"declares `{capability.quote}`, which nothing in the package reaches",
                Severity.NOTE,
                capability.file,
                capability.line,
                capability.quote,
            )
