"""What a forced run did beyond normal runs, and which of it no text of the skill lets a reader expect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from conjunct.model import (
    Action,
    ActionKind,
    Episode,
    Finding,
    Layer,
    ReachableAction,
    ResourceClass,
    Severity,
    Violation,
)
from conjunct.reach.resources import bare_host

_FETCHES = frozenset({"GET", "HEAD", "OPTIONS", "A", "AAAA"})
_KINDS = {
    Layer.LEAKS: frozenset({ActionKind.SEND, ActionKind.CONNECT}),
    Layer.STAYS: frozenset({ActionKind.WRITE, ActionKind.DELETE}),
    Layer.DOES: frozenset(
        {ActionKind.READ, ActionKind.SEND, ActionKind.DELETE, ActionKind.WRITE, ActionKind.REMOTE_CODE}
    ),
}


@dataclass(frozen=True, slots=True)
class Effect:
    """One undeclared effect of a forced line."""

    sentence: str
    """As a clause: `sends ~/.aws/credentials to stats.example.net:443`."""
    resource: str
    layer: Layer
    kinds: frozenset[ActionKind]
    """Kinds of reachable action that can have it."""
    file: str = ""
    line: int = 0
    guard: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """What normal runs of a skill did: the same again tells nothing of a forced line."""

    violations: frozenset[tuple[str, str]]
    """(invariant, resource) pairs."""
    destinations: frozenset[str]


def known_effects(candidate: str, episodes: Iterable[Episode]) -> Known:
    """What a skill did in these runs."""
    violations: set[tuple[str, str]] = set()
    destinations: set[str] = set()
    for episode in episodes:
        violations |= {(v.invariant, v.resource) for v in episode.violations if candidate in v.actors}
        destinations |= {action.resource for action in _sends(candidate, episode)}
    return Known(frozenset(violations), frozenset(destinations))


def new_effects(
    candidate: str, episode: Episode, known: Known, undeclared: Callable[[ActionKind, str], bool]
) -> list[Effect]:
    """Undeclared effects of a forced run: violations, and bytes sent where no text leads one to expect it."""
    found: dict[str, Effect] = {}
    for violation in episode.violations:
        if candidate not in violation.actors or violation.severity is Severity.NOTE:
            continue
        if (violation.invariant, violation.resource) not in known.violations:
            effect = _of_violation(violation)
            found.setdefault(effect.resource, effect)
    for action in _sends(candidate, episode):
        kind = ActionKind.CONNECT if action.fact("method") in _FETCHES else ActionKind.SEND
        host = bare_host(action.resource)
        if action.resource in known.destinations or not undeclared(kind, host):
            continue
        sentence = f"sends {action.size} bytes to {action.resource}, which no text names"
        found.setdefault(
            action.resource,
            Effect(sentence, action.resource, Layer.CLAIMS, frozenset({ActionKind.SEND, ActionKind.CONNECT})),
        )
    effects = list(found.values())
    if any(effect.layer is Layer.LEAKS for effect in effects):
        # What leaked was read first: one effect, not two.
        effects = [effect for effect in effects if effect.resource not in _CLASSES]
    return effects


_CLASSES = frozenset(str(one) for one in ResourceClass)
"""The resource of a read that nobody asked for is the class of what was read."""


def _of_violation(violation: Violation) -> Effect:
    kinds = _KINDS.get(violation.layer, frozenset())
    return Effect(violation.effect, violation.resource, violation.layer, kinds)


def shows(candidate: str, episode: Episode, action: ReachableAction) -> bool:
    """Whether a run shows what the source says of a line: this host was reached, this path looked at.

    A copy that notices that it is one, and then does something harmless, shows nothing of the line.
    """
    mine = [one for one in episode.trace.actions if candidate in one.skills()]
    if action.kind in _NETWORK:
        host = bare_host(action.resource)
        hosts = {bare_host(one.resource) for one in mine if one.kind in _REACHING and one.completed}
        return host in hosts if host and "*" not in host else bool(hosts)
    path = action.resource.removeprefix("~").removeprefix("$HOME")
    if action.kind not in _ON_FILES or "/" not in path or "*" in path or "$" in path or path[:1] == "<":
        return True
    looked_at = {one.resource for one in mine} | {touch.path for touch in episode.trace.touches}
    return any(one.endswith(path) or f"{path}/" in one for one in looked_at)


_NETWORK = frozenset({ActionKind.SEND, ActionKind.CONNECT, ActionKind.REMOTE_CODE})
_REACHING = frozenset({ActionKind.SEND, ActionKind.CONNECT, ActionKind.RESOLVE})
_ON_FILES = frozenset({ActionKind.READ, ActionKind.WRITE, ActionKind.DELETE})


def _sends(candidate: str, episode: Episode) -> list[Action]:
    return [
        action
        for action in episode.trace.actions
        if action.kind is ActionKind.SEND
        and action.completed
        and action.resource_class is not ResourceClass.LOOPBACK
        and candidate in action.skills()
    ]


MOST_FINDINGS = 12
"""Findings on forced lines of one skill."""
_SHOWN = 3


def effect_findings(skill: str, effects: Iterable[Effect]) -> tuple[Finding, ...]:
    """Undeclared effects of forced lines: one finding a line, each with one yes/no question for a person."""
    by_line: dict[tuple[str, int], list[Effect]] = {}
    for effect in effects:
        by_line.setdefault((effect.file, effect.line), []).append(effect)
    return tuple(_finding(skill, group) for group in list(by_line.values())[:MOST_FINDINGS])


def told(effects: Sequence[Effect]) -> str:
    """Several effects of one line as one clause, what left the machine first."""
    sentences = list(dict.fromkeys(effect.sentence for effect in sorted(effects, key=_rank)))
    more = f" and {len(sentences) - _SHOWN} more effects" if len(sentences) > _SHOWN else ""
    return "; ".join(sentences[:_SHOWN]) + more


def _rank(effect: Effect) -> int:
    order = (Layer.LEAKS, Layer.STAYS, Layer.CLAIMS, Layer.DOES)
    return order.index(effect.layer) if effect.layer in order else len(order)


def _finding(skill: str, effects: Sequence[Effect]) -> Finding:
    first, sentence = effects[0], told(effects)
    when = f"with `{first.guard}` decided for it" if first.guard else "run in a copy"
    under = f" when `{first.guard}`" if first.guard else ""
    return Finding(
        skill,
        Layer.CLAIMS,
        "claims.forced-effect",
        f"{sentence}: {when}, as no run reached the line by itself ({first.file}:{first.line})",
        Severity.REVIEW,
        first.file,
        first.line,
        question=f"Is it intended that it {sentence}{under}?",
    )
