"""Which partners must act: a join over recorded traces.

Two skills can only influence each other through what one leaves and the other looks at. From the runs alone
each skill has a footprint; a pair is worth a run exactly where one footprint's writes meet the other's
touches (found or not), or where one listens on what the other connects to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from conjunct.model import NEUTRAL, Action, ActionKind, Context, Episode, TouchMode
from conjunct.plan.explore import order

_LEAVING = frozenset({ActionKind.WRITE, ActionKind.DELETE, ActionKind.LISTEN})
# Paths every interpreter writes for itself; a meeting there says nothing about the two skills.
_UNSHARED = ("/__pycache__/", "/.cache/pip/", "/.npm/_logs/")


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one skill left behind and what it looked at, each with the simplest context in which it did."""

    skill: str
    left: Mapping[str, Context]
    """Paths written, created or deleted, and loopback addresses listened on."""
    looked_at: Mapping[str, Context]
    states: Mapping[str, str] = field(default_factory=dict)
    """How each path of `left` was left: `folder`, `deleted`, `listening`, or size and digest of a file."""
    modes: Mapping[str, frozenset[TouchMode]] = field(default_factory=dict)
    """How each path of `looked_at` was looked at, in any context."""


@dataclass(frozen=True, slots=True)
class Join:
    """A pair to run together: `writer` is used before `reader`, in a context in which both do their part."""

    writer: str
    reader: str
    paths: tuple[str, ...]
    context: Context
    """History, clock, network and arguments under which the two meet; holds no skills."""
    reader_only: bool = False
    """Seen from the reader's side only: the writer stands for others that leave the same."""


def footprint(skill: str, episodes: Iterable[Episode], *, ignore: Collection[str] = ()) -> Footprint:
    """Collect the footprint of `skill` from its own commands and own deeds of the agent for it.

    `ignore` holds paths that every episode touches whatever the skill: the agent's session log, task inputs,
    the folders that all share.
    """
    left: dict[str, Context] = {}
    looked_at: dict[str, Context] = {}
    states: dict[str, str] = {}
    modes: dict[str, set[TouchMode]] = defaultdict(set)
    skipped = frozenset(ignore)
    for episode in sorted(episodes, key=lambda episode: order(episode.spec.context)):
        context = episode.spec.context
        own_steps = {command.step for command in episode.trace.commands if command.skill == skill}
        for action in episode.trace.actions:
            if not action.completed or skill not in action.skills():
                continue
            if action.kind in _LEAVING:
                if left.setdefault(action.resource, context) is context:
                    states[action.resource] = _state(action)
            elif action.kind is ActionKind.CONNECT and _is_loopback(action.resource):
                looked_at.setdefault(action.resource, context)
                modes[action.resource].add(TouchMode.READ)
        for touch in episode.trace.touches:
            if touch.mode is not TouchMode.WRITE and touch.step in own_steps:
                looked_at.setdefault(touch.path, context)
                modes[touch.path].add(touch.mode)
    shown = _shared(looked_at, skipped)
    return Footprint(
        skill,
        _shared(left, skipped),
        shown,
        states,
        {path: frozenset(modes[path]) for path in shown},
    )


def _state(action: Action) -> str:
    """What an action left at its resource."""
    if action.kind is ActionKind.DELETE:
        return "deleted"
    if action.kind is ActionKind.LISTEN:
        return "listening"
    return "folder" if action.fact("change") == "folder" else f"{action.size} {action.sha256}"


def _is_loopback(resource: str) -> bool:
    return resource.startswith(("127.", "[::1]", "localhost"))


def _shared(paths: Mapping[str, Context], skipped: frozenset[str]) -> dict[str, Context]:
    return {
        path: context
        for path, context in paths.items()
        if path not in skipped and not any(part in path for part in _UNSHARED)
    }


def joins(footprints: Collection[Footprint], *, candidates: Collection[str]) -> tuple[Join, ...]:
    """All ordered pairs in which a candidate takes part and whose footprints meet.

    Linear in the sizes of the footprints plus the number of meetings.
    """
    by_skill = {one.skill: one for one in footprints}
    readers: Mapping[str, list[str]] = defaultdict(list)
    for one in footprints:
        for path in one.looked_at:
            readers[path].append(one.skill)
    meetings: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in footprints:
        for path in one.left:
            for reader in readers.get(path, ()):
                if reader != one.skill and (reader in candidates or one.skill in candidates):
                    meetings[(one.skill, reader)].append(path)
    return tuple(
        Join(writer, reader, tuple(sorted(paths)), meeting(by_skill[writer], by_skill[reader], paths))
        for (writer, reader), paths in sorted(meetings.items())
    )


def meeting(writer: Footprint, reader: Footprint, paths: list[str]) -> Context:
    """The simplest context in which both do their part; the reader's levels win where the two disagree."""
    path = min(paths, key=lambda p: order(writer.left[p]) + order(reader.looked_at[p]))
    one, other = writer.left[path], reader.looked_at[path]
    context = replace(other, co_skills=(), used_before=(), used_after=())
    if context.history == NEUTRAL:
        context = replace(context, history=one.history, phrasing=one.phrasing)
    return context
