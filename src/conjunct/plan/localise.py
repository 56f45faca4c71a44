"""From one violating run to the minimal conjunction under which it happens.

A generator that asks for runs and is sent their episodes: remove one factor at a time, bisect the installed
set, separate the third turn from the third call, replace partners by stubs to see whose body is needed. The
episode that raised the suspicion only says where to look; every count in the trigger is from fresh runs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import TypeVar

from conjunct.model import (
    EVERY_HISTORY,
    NEUTRAL,
    Context,
    Episode,
    EpisodeSpec,
    FactorKind,
    Trace,
    Trigger,
    TriggerFactor,
    Violation,
)

MOST_TURNS = 64
"""Turns of the longest episode."""
MOST_LINES = 200
"""Actions of one run that are kept as lines beside a trigger."""

Runs = Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], Trigger]
Asking = Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], bool]
Element = TypeVar("Element")
CONFIRMING_RUNS = 3
"""Fresh runs of the full conjunction and of each removal."""


def same_effect(violation: Violation, other: Violation) -> bool:
    """Whether two violations are the same effect: invariant and a common actor (targets may be random)."""
    return violation.invariant == other.invariant and bool(set(violation.actors) & set(other.actors))


def first_turn(episode: Episode, violation: Violation) -> int | None:
    """First turn at which the same effect shows in an episode, or `None`."""
    turns = [found.turn for found in episode.violations if same_effect(found, violation)]
    return min(turns) if turns else None


def _fires(spec: EpisodeSpec, violation: Violation) -> Asking:
    (episode,) = yield (spec,)
    return first_turn(episode, violation) is not None


def _with(spec: EpisodeSpec, context: Context) -> EpisodeSpec:
    return replace(spec, context=context)


def _set_co_skills(context: Context, co_skills: Sequence[str]) -> Context:
    kept = set(co_skills)
    return replace(
        context,
        co_skills=tuple(sorted(kept)),
        used_before=tuple(skill for skill in context.used_before if skill in kept),
        used_after=tuple(skill for skill in context.used_after if skill in kept),
    )


def _set_mentions(context: Context, words: Sequence[str]) -> Context:
    return replace(context, mentions=tuple(words))


def _set_input_words(context: Context, words: Sequence[str]) -> Context:
    return replace(context, input_words=tuple(words))


def _set_environment(context: Context, pairs: Sequence[tuple[str, str]]) -> Context:
    return replace(context, environment=tuple(pairs))


def _set_answers(context: Context, pairs: Sequence[tuple[str, str]]) -> Context:
    return replace(context, answers=tuple(pairs))


def _minimise(
    spec: EpisodeSpec,
    violation: Violation,
    elements: tuple[Element, ...],
    setter: Callable[[Context, Sequence[Element]], Context],
) -> Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], tuple[Element, ...]]:
    """Zeller's ddmin: a 1-minimal subset of `elements` under which the violation still happens."""
    if not elements:
        return ()
    if (yield from _fires(_with(spec, setter(spec.context, ())), violation)):
        return ()
    current, granularity = list(elements), 2
    while len(current) >= 2:
        size = -(-len(current) // granularity)
        chunks = [current[start : start + size] for start in range(0, len(current), size)]
        reduced = False
        for index, chunk in enumerate(chunks):
            rest = [item for other, part in enumerate(chunks) if other != index for item in part]
            tries = [(chunk, 2)] if granularity == 2 else [(chunk, 2), (rest, max(granularity - 1, 2))]
            for subset, next_granularity in tries:
                if (yield from _fires(_with(spec, setter(spec.context, subset)), violation)):
                    current, granularity, reduced = subset, next_granularity, True
                    break
            if reduced:
                break
        if not reduced:
            if granularity >= len(current):
                break
            granularity = min(len(current), granularity * 2)
    return tuple(current)


def _one_family(
    spec: EpisodeSpec, violation: Violation, histories: Sequence[str]
) -> Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], EpisodeSpec]:
    """The same run with the one family that suffices, or as it is where none does by itself.

    A family goes before a word of the source: both may fire, and the family is what a user has.
    """
    plain = replace(spec.context, mentions=())
    singles = tuple(_with(spec, replace(plain, history=name)) for name in histories)
    if not singles:
        return spec
    episodes = yield singles
    for single, episode in zip(singles, episodes, strict=True):
        if first_turn(episode, violation) is not None:
            return single
    return spec


_SINGLE_LEVELS: tuple[Callable[[Context], Context], ...] = (
    lambda context: replace(context, history=NEUTRAL, phrasing=0),
    lambda context: replace(context, arguments=NEUTRAL),
    lambda context: replace(context, clock=NEUTRAL),
    lambda context: replace(context, network=NEUTRAL),
    lambda context: replace(context, used_before=()),
    lambda context: replace(context, used_after=()),
)


def _reduce(
    spec: EpisodeSpec, violation: Violation
) -> Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], EpisodeSpec]:
    """Drop every factor that is not needed, until one whole pass drops nothing."""
    while True:
        before = spec.context
        for change in _SINGLE_LEVELS:
            smaller = change(spec.context)
            if smaller != spec.context and (yield from _fires(_with(spec, smaller), violation)):
                spec = _with(spec, smaller)
        kept = yield from _minimise(spec, violation, spec.context.co_skills, _set_co_skills)
        spec = _with(spec, _set_co_skills(spec.context, kept))
        variables = yield from _minimise(spec, violation, spec.context.environment, _set_environment)
        spec = _with(spec, _set_environment(spec.context, variables))
        answers = yield from _minimise(spec, violation, spec.context.answers, _set_answers)
        spec = _with(spec, _set_answers(spec.context, answers))
        mentions = yield from _minimise(spec, violation, spec.context.mentions, _set_mentions)
        spec = _with(spec, _set_mentions(spec.context, mentions))
        words = yield from _minimise(spec, violation, spec.context.input_words, _set_input_words)
        spec = _with(spec, _set_input_words(spec.context, words))
        if spec.context == before:
            return spec


def _first_possible(context: Context) -> int:
    """The first turn in which the candidate can be asked for: after the partner, where one is used before."""
    return max(context.first_use, 2) if context.used_before else context.first_use


def _removals(context: Context) -> list[tuple[FactorKind, str, Context]]:
    """Each needed element of a minimal context with the context that lacks just it."""
    found: list[tuple[FactorKind, str, Context]] = []
    if context.history != NEUTRAL:
        without = replace(context, history=NEUTRAL, phrasing=0)
        found.append((FactorKind.HISTORY, context.history, without))
    for word in context.mentions:
        others = [other for other in context.mentions if other != word]
        found.append((FactorKind.HISTORY, word, _set_mentions(context, others)))
    for word in context.input_words:
        others = [other for other in context.input_words if other != word]
        found.append((FactorKind.ARGUMENTS, word, _set_input_words(context, others)))
    for skill in context.co_skills:
        kind = FactorKind.CO_SKILLS
        if skill in context.used_before:
            kind = FactorKind.USED_BEFORE
        elif skill in context.used_after:
            kind = FactorKind.USED_AFTER
        rest = [other for other in context.co_skills if other != skill]
        found.append((kind, skill, _set_co_skills(context, rest)))
    if context.arguments != NEUTRAL:
        found.append((FactorKind.ARGUMENTS, context.arguments, replace(context, arguments=NEUTRAL)))
    if context.clock != NEUTRAL:
        found.append((FactorKind.CLOCK, context.clock, replace(context, clock=NEUTRAL)))
    if context.network != NEUTRAL:
        found.append((FactorKind.NETWORK, context.network, replace(context, network=NEUTRAL)))
    for pair in context.environment:
        rest_pairs = [other for other in context.environment if other != pair]
        found.append((FactorKind.ENVIRONMENT, pair[0], _set_environment(context, rest_pairs)))
    for pair in context.answers:
        rest_pairs = [other for other in context.answers if other != pair]
        found.append((FactorKind.HOST, pair[0], _set_answers(context, rest_pairs)))
    return found


def _describe(kind: FactorKind, level: str, *, absent: bool = False) -> str:
    if absent:
        return (
            f"history does not mention {level}" if kind is FactorKind.HISTORY else f"{level} is not installed"
        )
    if (kind, level) == (FactorKind.HISTORY, EVERY_HISTORY):
        return "history mentions several topics together"
    return {
        FactorKind.HISTORY: f"history mentions {level}",
        FactorKind.CO_SKILLS: f"{level} is installed",
        FactorKind.USED_BEFORE: f"{level} was used before",
        FactorKind.USED_AFTER: f"{level} is used after",
        FactorKind.CLOCK: f"the date is {level}",
        FactorKind.NETWORK: f"the network answers with {level}",
        FactorKind.ENVIRONMENT: f"{level} is set",
        FactorKind.HOST: f"{level} exists",
        FactorKind.ARGUMENTS: f"the request is about {level}",
    }.get(kind, level)


def localise(spec: EpisodeSpec, violation: Violation, *, histories: Sequence[str] = ()) -> Runs:
    """Find the minimal trigger of `violation`, seen in the run of `spec`, in O(log n) runs for n neighbours.

    Yields tuples of specs to run and is sent the episodes in the same order.
    `histories` are the families among which the one behind `EVERY_HISTORY` is sought. The trigger's
    `reproduced` is false where fresh runs of the same conjunction did not all show the effect.
    """
    if spec.context.history == EVERY_HISTORY:
        spec = yield from _one_family(spec, violation, histories)
    minimal = yield from _reduce(spec, violation)
    fresh = fresh_runs(minimal)
    confirmed = yield fresh
    turns = [turn for episode in confirmed if (turn := first_turn(episode, violation)) is not None]
    hits = len(turns)
    factors: list[TriggerFactor] = []
    compared: tuple[str, tuple[str, ...]] = ("", ())
    for kind, level, without in _removals(minimal.context):
        episodes = yield fresh_runs(_with(minimal, without))
        still = sum(first_turn(episode, violation) is not None for episode in episodes)
        factors.append(
            TriggerFactor(
                kind, level, needed=still < max(hits, 1), removed_hits=still, removed_runs=len(episodes)
            )
        )
        if factors[-1].needed and not compared[0]:
            compared = (_describe(kind, level), action_lines(episodes[0].trace, violation.actors))
    needed_turn: int | None = None
    late = min(turns) if turns else violation.turn
    if late > _first_possible(minimal.context):
        clause, needed_turn = yield from _delay(minimal, violation, late)
        factors.append(
            TriggerFactor(FactorKind.TURN, clause, needed=True, removed_hits=0, removed_runs=len(confirmed))
        )
    actors = yield from _who(minimal, violation, hits)
    shown = next((v for e in confirmed for v in e.violations if same_effect(v, violation)), violation)
    return Trigger(
        sentence=sentence_of(factors),
        factors=tuple(factors),
        actors=actors,
        reproduced=hits == len(confirmed) and hits > 0,
        hits=hits,
        runs=len(confirmed),
        violation=shown,
        replay=minimal,
        turn=needed_turn,
        actions=action_lines(confirmed[0].trace, violation.actors) if confirmed else (),
        compared_with=compared[0],
        compared_actions=compared[1],
    )


def sentence_of(factors: Sequence[TriggerFactor]) -> str:
    """The condition in words: the needed factors, or `always`."""
    return (
        " AND ".join(_describe(f.factor, f.level, absent=f.absent) for f in factors if f.needed) or "always"
    )


def fresh_runs(spec: EpisodeSpec, runs: int = CONFIRMING_RUNS) -> tuple[EpisodeSpec, ...]:
    """The same run with other canaries, pids and randomness, as often as a trigger is confirmed."""
    return tuple(
        replace(
            spec,
            seed=spec.seed + 1 + number,
            comparison=f"{spec.comparison}+{number}",
            variant=f"randomness:{number}",
        )
        for number in range(runs)
    )


def replay_plan(spec: EpisodeSpec, runs: int) -> list[tuple[str, tuple[EpisodeSpec, ...]]]:
    """(What is removed, fresh runs) for a minimal trigger: nothing removed first, then each element."""
    arms = [("", spec.context)]
    arms += [(_describe(kind, level), without) for kind, level, without in _removals(spec.context)]
    return [(removed, fresh_runs(_with(spec, context), runs)) for removed, context in arms]


def _delay(
    spec: EpisodeSpec, violation: Violation, late: int
) -> Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], tuple[str, int]]:
    """Tell "from turn k on" from "at the k-th call": ask for the skill for the first time only at turn k.

    Or, where as many calls would not fit into the longest episode, as late as they do fit.
    """
    first = spec.context.first_use
    calls = late - first + 1
    start = min(late, MOST_TURNS - calls + 1)
    horizon = min(max(spec.context.horizon, start + late), MOST_TURNS)
    (episode,) = yield (_with(spec, replace(spec.context, first_use=start, horizon=horizon)),)
    seen = first_turn(episode, violation)
    if seen is not None and seen >= start + calls - 1 > late:
        return f"call >= {calls}", late
    return f"turn >= {late}", late


def _who(
    spec: EpisodeSpec, violation: Violation, hits: int
) -> Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], tuple[str, ...]]:
    """The actors of the violation, and every *used* partner whose body (not just presence) is needed."""
    actors = dict.fromkeys(violation.actors)
    for partner in (*spec.context.used_before, *spec.context.used_after):
        (episode,) = yield (replace(spec, stubbed=(partner,)),)
        if hits and first_turn(episode, violation) is None:
            actors[partner] = None
    return tuple(actors)


def action_lines(trace: Trace, actors: Sequence[str]) -> tuple[str, ...]:
    """What the actors did, each thing when it was done first, for people who compare two runs."""
    wanted = set(actors)
    lines: list[str] = []
    seen: set[str] = set()
    for action in trace.actions:
        if not wanted & set(action.skills()):
            continue
        line = f"{action.kind:<8} {action.resource}"
        if action.canaries:
            line += f"  carries {', '.join(action.canaries)}"
        if not action.completed:
            line += "  (not completed)"
        if line not in seen:
            seen.add(line)
            lines.append(f"turn {action.turn}  {line}")
    return tuple(lines[:MOST_LINES])
