"""Twin worlds: the same run with other secrets, and without the tracer; what differs tells what was hidden.

*Differential canary*: a run that read a secret and then sent bytes in which no canary was recognised is
repeated as it was, and with only the secrets' values changed. Bytes that follow the secrets, but stay the
same between identical runs, carry them, whatever the encoding. *Untraced*: an effect that shows only while
nobody traces, or only while somebody does, is a finding by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from dataclasses import dataclass, replace

from conjunct.model import Action, ActionKind, Episode, EpisodeSpec, ResourceClass

SECRETS = frozenset({ResourceClass.SECRET, ResourceClass.PRIVATE, ResourceClass.HISTORY})
MOST_PAIRS = 4
"""Runs of one skill that are repeated with other secrets: one for each destination comes first."""


@dataclass(frozen=True, slots=True)
class TwinFinding:
    """What twin worlds showed for one skill."""

    kind: str
    """`follows-secret`, `unreadable`, or `untraced-differs`."""
    destination: str
    secrets: tuple[str, ...]
    """What had been read, as paths; empty for `untraced-differs`."""
    turn: int
    file: str | None
    line: int | None
    spec: EpisodeSpec


Asking = Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], None]


def twins(candidate: str, episodes: Iterable[Episode], found: list[TwinFinding]) -> Asking:
    """Make the twin runs that a candidate's episodes call for; what they show goes into `found`."""
    known = list(episodes)
    for episode in _suspicious(candidate, known)[:MOST_PAIRS]:
        spec = episode.spec
        same, other = yield (replace(spec, variant="repeat"), replace(spec, variant="twin"))
        if episode.trace.undetermined or same.trace.undetermined or other.trace.undetermined:
            continue
        found += _compare(candidate, episode, same, other)
    for episode in _acting(candidate, known)[:1]:
        (bare,) = yield (replace(episode.spec, variant="untraced"),)
        if not bare.trace.undetermined:
            found += _compare_untraced(candidate, episode, bare)


def _sends(candidate: str, episode: Episode) -> list[Action]:
    return [
        action
        for action in episode.trace.actions
        if action.kind is ActionKind.SEND and action.completed and candidate in action.skills()
    ]


def _unread(candidate: str, episode: Episode) -> list[Action]:
    """Bytes that left and hold nothing known; a name asked for leaves too, whoever answers."""
    asked = [
        action
        for action in episode.trace.actions
        if action.kind is ActionKind.RESOLVE and action.completed and candidate in action.skills()
    ]
    sends = [action for action in _sends(candidate, episode) if action.size]
    return [action for action in (*sends, *asked) if not action.canaries]


def _secrets_read(candidate: str, episode: Episode) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            action.resource
            for action in episode.trace.actions
            if action.kind is ActionKind.READ
            and action.completed
            and action.resource_class in SECRETS
            and candidate in action.skills()
        )
    )


def _suspicious(candidate: str, episodes: list[Episode]) -> list[Episode]:
    """Episodes that read a secret and sent bytes nobody could read, one for each set of destinations."""
    chosen: dict[frozenset[str], Episode] = {}
    for episode in episodes:
        destinations = frozenset(action.resource for action in _unread(candidate, episode))
        if destinations and _secrets_read(candidate, episode) and not episode.spec.variant:
            chosen.setdefault(destinations, episode)
    return list(chosen.values())


def _acting(candidate: str, episodes: list[Episode]) -> list[Episode]:
    """Episodes with commands of the candidate: most effects first, of these the shortest."""
    acting = [
        episode
        for episode in episodes
        if not episode.spec.variant
        and not episode.trace.undetermined
        and any(command.skill == candidate for command in episode.trace.commands)
    ]
    return sorted(acting, key=lambda e: (-len(_effects(candidate, e)), len(e.trace.commands)))


def _bytes(actions: list[Action]) -> Counter[tuple[str, str]]:
    """What left, by place. Of a name asked for only the name counts: the rest of the question is random."""
    return Counter(
        (action.resource, "" if action.kind is ActionKind.RESOLVE else action.sha256) for action in actions
    )


def _compare(candidate: str, first: Episode, same: Episode, other: Episode) -> list[TwinFinding]:
    one, again, twin = (_bytes(_unread(candidate, episode)) for episode in (first, same, other))
    kind = "unreadable" if one != again else "follows-secret" if one != twin else ""
    if not kind:
        return []
    changed = (one - twin) if kind == "follows-secret" else (one - again)
    if not changed:
        return []
    destination = sorted(changed)[0][0]
    action = next(a for a in _unread(candidate, first) if a.resource == destination)
    link = next((link for link in reversed(action.actor) if link.kind == "skill" and link.file), None)
    return [
        TwinFinding(
            kind,
            destination,
            _secrets_read(candidate, first),
            action.turn,
            link.file if link else None,
            link.line if link else None,
            first.spec,
        )
    ]


_LASTING = frozenset({ActionKind.WRITE, ActionKind.DELETE})


def _effects(candidate: str, episode: Episode) -> frozenset[tuple[str, str]]:
    """Destinations reached and files changed: what sinkhole and file difference show without a tracer."""
    found = set()
    for action in episode.trace.actions:
        if not action.completed:
            continue
        if action.kind is ActionKind.SEND or (
            action.kind in _LASTING and action.resource_class is not ResourceClass.TEMPORARY
        ):
            found.add((str(action.kind), action.resource))
    return frozenset(found)


def _compare_untraced(candidate: str, traced: Episode, bare: Episode) -> list[TwinFinding]:
    sent = {resource for kind, resource in _effects(candidate, bare) if kind == ActionKind.SEND}
    before = {resource for kind, resource in _effects(candidate, traced) if kind == ActionKind.SEND}
    return [
        TwinFinding("untraced-differs", destination, (), 0, None, None, traced.spec)
        for destination in sorted(sent ^ before)
    ]
