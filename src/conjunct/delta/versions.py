"""What one version of a skill does and another one does not, in the same contexts: Δ between two versions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from conjunct.model import NEUTRAL, Action, ActionKind, Context, Episode, EpisodeSpec, ResourceClass

_DIGITS = re.compile(r"\d+")
_ALWAYS_TOLD = frozenset(
    {
        ActionKind.WRITE,
        ActionKind.DELETE,
        ActionKind.CONNECT,
        ActionKind.SEND,
        ActionKind.RESOLVE,
        ActionKind.LISTEN,
        ActionKind.SIGNAL,
        ActionKind.REFUSED,
        ActionKind.INSTALL,
        ActionKind.REMOTE_CODE,
        ActionKind.OVERRIDE,
        ActionKind.CONCEAL,
        ActionKind.DELEGATE,
        ActionKind.REMEMBER,
        ActionKind.EXEC,
    }
)
_READ_TOLD = frozenset(
    {
        ResourceClass.PRIVATE,
        ResourceClass.HISTORY,
        ResourceClass.SECRET,
        ResourceClass.AGENT_CONFIGURATION,
        ResourceClass.AGENT_MEMORY,
        ResourceClass.OTHER_SKILL,
    }
)
"""Reads of anything else are how programs start; they are no effect."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing a skill does, told apart from what differs between any two runs."""

    kind: str
    """Kind of an action, or `violates`."""
    resource: str
    carries: tuple[str, ...] = ()
    completed: bool = True

    def words(self) -> str:
        """As a clause for people."""
        told = f"{self.kind} {self.resource}"
        if self.carries:
            told += f", carries {', '.join(self.carries)}"
        return told if self.completed else f"{told} (not completed)"


@dataclass(frozen=True, slots=True)
class Seen:
    """Where and when an effect showed first in one episode."""

    turn: int
    file: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """The episodes of both versions in one context: same probe, words, context and seed."""

    spec: EpisodeSpec
    old: Episode
    new: Episode


@dataclass(frozen=True, slots=True)
class EffectChange:
    """One effect that came, went, or shows in other contexts or turns than before."""

    mark: str
    """`+` new, `-` gone, `~` in both versions, elsewhere or at another time."""
    effect: Effect
    when: str
    """The simplest context in which the two versions differ, in words."""
    turn: int
    """First turn there."""
    turn_before: int | None
    """First turn of the old version in the same context, where it shows there too."""
    file: str
    line: int | None
    old_contexts: int
    new_contexts: int
    compared: int
    """Contexts in which both versions were run."""
    spec: EpisodeSpec
    """The run in which they differ."""
    only_in: str = ""
    """`old` or `new`: the version in which it shows in that context; empty where in both, in other turns."""
    reproduced: bool | None = None
    """Whether fresh runs of both versions differ in the same way; `None` where none were made."""

    @property
    def delta(self) -> float:
        """Share of the contexts with the effect in the new version minus that in the old one."""
        return (self.new_contexts - self.old_contexts) / self.compared


def effects_of(episode: Episode, skill: str, *, folder: str, called: str) -> dict[Effect, Seen]:
    """The effects that a skill had in one episode, each with its first turn.

    `folder` is the name of the skill's folder, told as `called`: a version under another name does the same.
    """
    found: dict[Effect, Seen] = {}
    places = {index: (one.file, one.line) for one in episode.violations if one.file for index in one.evidence}
    for index, action in enumerate(episode.trace.actions):
        if skill not in action.skills() or not _is_effect(action):
            continue
        effect = Effect(
            str(action.kind), _resource(action, folder, called), action.canaries, action.completed
        )
        seen = _seen(action, skill)
        if not seen.file and index in places:
            seen = Seen(action.turn, *places[index])
        if effect not in found or seen.turn < found[effect].turn:
            found[effect] = seen
    for one in episode.violations:
        if skill not in one.actors:
            continue
        effect = Effect("violates", f"{one.invariant} ({one.resource.replace(f'/{folder}/', f'/{called}/')})")
        if effect not in found or one.turn < found[effect].turn:
            found[effect] = Seen(one.turn, one.file or "", one.line)
    return found


def _is_effect(action: Action) -> bool:
    if action.kind is ActionKind.READ:
        return action.resource_class in _READ_TOLD
    return action.kind in _ALWAYS_TOLD


def _resource(action: Action, folder: str, called: str) -> str:
    resource = action.resource.replace(f"/{folder}/", f"/{called}/")
    if action.resource_class is ResourceClass.TEMPORARY:
        return "temporary files"
    if action.resource_class is ResourceClass.PROCESS:
        return _DIGITS.sub("N", resource)
    return resource


def _seen(action: Action, skill: str) -> Seen:
    links = [link for link in action.actor if link.kind == "skill" and link.name == skill and link.file]
    if not links:
        return Seen(action.turn)
    return Seen(action.turn, (links[-1].file or "").removeprefix(f"{skill}/"), links[-1].line)


def effect_changes(
    pairs: Sequence[Pair], skill: str, *, old_name: str, new_name: str
) -> tuple[EffectChange, ...]:
    """Every effect in which the versions differ, new ones first, then by how many contexts differ."""
    tables = [
        (
            effects_of(pair.old, skill, folder=old_name, called=new_name),
            effects_of(pair.new, skill, folder=new_name, called=new_name),
        )
        for pair in pairs
    ]
    told = []
    for effect in dict.fromkeys(effect for table in tables for one in table for effect in one):
        change = _change(effect, pairs, tables)
        if change is not None:
            told.append(change)
    order = {"+": 0, "-": 1, "~": 2}
    return tuple(
        sorted(told, key=lambda one: (order[one.mark], one.effect.kind != "violates", -abs(one.delta)))
    )


def _change(
    effect: Effect, pairs: Sequence[Pair], tables: Sequence[tuple[dict[Effect, Seen], dict[Effect, Seen]]]
) -> EffectChange | None:
    seen = [(pair, old.get(effect), new.get(effect)) for pair, (old, new) in zip(pairs, tables, strict=True)]
    before = sum(old is not None for _, old, _ in seen)
    after = sum(new is not None for _, _, new in seen)
    differing = [
        (pair, old, new)
        for pair, old, new in seen
        if (old is None) != (new is None) or (old is not None and new is not None and old.turn != new.turn)
    ]
    if not differing:
        return None
    pair, old, new = min(differing, key=lambda one: distance(one[0].spec.context))
    place = new or old
    assert place is not None
    return EffectChange(
        mark="+" if not before else "-" if not after else "~",
        effect=effect,
        when=context_words(pair.spec.context),
        turn=place.turn,
        turn_before=old.turn if old is not None and new is not None else None,
        file=place.file,
        line=place.line,
        old_contexts=before,
        new_contexts=after,
        compared=len(pairs),
        spec=pair.spec,
        only_in="new" if old is None else "old" if new is None else "",
    )


def differs_again(change: EffectChange, fresh: Iterable[Pair], skill: str, *, old: str, new: str) -> bool:
    """Whether every fresh pair differs in the effect as the first one did."""
    results = []
    for pair in fresh:
        before = effects_of(pair.old, skill, folder=old, called=new).get(change.effect)
        after = effects_of(pair.new, skill, folder=new, called=new).get(change.effect)
        if change.only_in:
            results.append(
                (before is None, after is None) == (change.only_in == "new", change.only_in == "old")
            )
        else:
            results.append(before is not None and after is not None and before.turn != after.turn)
    return bool(results) and all(results)


# ---- contexts


def distance(context: Context) -> int:
    """How many parts of a context are not neutral."""
    return len(_parts(context))


def _parts(context: Context) -> dict[str, object]:
    neutral = Context()
    return {
        one.name: value
        for one in fields(Context)
        if one.name not in ("horizon", "phrasing")
        and (value := getattr(context, one.name)) != getattr(neutral, one.name)
    }


def context_words(context: Context) -> str:
    """A context in words; `in every context` is for the neutral one, which nothing is added to."""
    told = []
    parts = _parts(context)
    used = {*context.used_before, *context.used_after}
    # Who is used is installed.
    beside = tuple(one for one in context.co_skills if one not in used)
    parts = {**parts, "co_skills": beside} if beside else {k: v for k, v in parts.items() if k != "co_skills"}
    for name, value in parts.items():
        text = ", ".join(_element(one) for one in value) if isinstance(value, tuple) else str(value)
        told.append(f"{_NAMES.get(name, name.replace('_', ' '))} {text}")
    return " and ".join(told) or NEUTRAL


def _element(value: object) -> str:
    return str(value[0]) if isinstance(value, tuple) and value else str(value)


_NAMES = {
    "history": "history",
    "co_skills": "neighbour",
    "used_before": "earlier use of",
    "used_after": "later use of",
    "clock": "date",
    "network": "network",
    "environment": "variable",
    "arguments": "input",
    "first_use": "first use in turn",
    "answers": "an existing",
}
