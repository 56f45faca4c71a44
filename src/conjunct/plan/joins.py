"""Which partners must act: a join over recorded traces.

Two skills can only influence each other through what one leaves and the other looks at. From the runs alone
each skill has a footprint; a pair is worth a run exactly where one footprint's writes meet the other's
touches (found or not), or where one listens on what the other connects to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from conjunct.model import ActionKind, Episode, TouchMode

_LEAVING = frozenset({ActionKind.WRITE, ActionKind.DELETE, ActionKind.LISTEN})
# Paths every interpreter writes for itself; a meeting there says nothing about the two skills.
_UNSHARED = ("/__pycache__/", "/.cache/pip/", "/.npm/_logs/")


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one skill left behind and what it looked at, over all its runs alone."""

    skill: str
    left: frozenset[str]
    """Paths written, created or deleted, and loopback addresses listened on."""
    looked_at: frozenset[str]


@dataclass(frozen=True, slots=True)
class Join:
    """A pair to run together: `writer` is used before `reader`."""

    writer: str
    reader: str
    paths: tuple[str, ...]


def footprint(skill: str, episodes: Iterable[Episode]) -> Footprint:
    """Collect the footprint of `skill` from episodes in which it acted."""
    left: set[str] = set()
    looked_at: set[str] = set()
    for episode in episodes:
        for action in episode.trace.actions:
            if action.kind in _LEAVING and action.completed:
                left.add(action.resource)
            elif action.kind is ActionKind.CONNECT and _is_loopback(action.resource):
                looked_at.add(action.resource)
        for touch in episode.trace.touches:
            if touch.mode is TouchMode.WRITE:
                left.add(touch.path)
            else:
                looked_at.add(touch.path)
    return Footprint(skill, _shared(left), _shared(looked_at))


def _is_loopback(resource: str) -> bool:
    return resource.startswith(("127.", "[::1]", "localhost"))


def _shared(paths: Iterable[str]) -> frozenset[str]:
    return frozenset(path for path in paths if not any(part in path for part in _UNSHARED))


def joins(
    footprints: Collection[Footprint], *, candidates: Collection[str], ignore: Collection[str] = ()
) -> tuple[Join, ...]:
    """All ordered pairs in which a candidate takes part and whose footprints meet.

    `ignore` holds paths that every episode touches whatever the skill (the agent's session log, fixtures that
    the user handed to both). A listed folder meets everything written directly below it. Linear in the sizes
    of the footprints plus the number of meetings.
    """
    skipped = set(ignore)
    readers: Mapping[str, list[str]] = defaultdict(list)
    for one in footprints:
        for path in one.looked_at - skipped:
            readers[path].append(one.skill)
    meetings: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in footprints:
        for path in one.left - skipped:
            for reader in readers.get(path, ()):
                if reader != one.skill and (reader in candidates or one.skill in candidates):
                    meetings[(one.skill, reader)].add(path)
    return tuple(
        Join(writer, reader, tuple(sorted(paths))) for (writer, reader), paths in sorted(meetings.items())
    )
