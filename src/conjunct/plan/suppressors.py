"""What must be absent for an effect to happen: neighbours and histories that suppress it.

A minimal context lists what must be there. Its runs also asked for what was not there; whether that absence
is needed is found by adding it: a neighbour that was looked for, all neighbours where the folder was listed,
all histories where the history was read. Where the effect vanishes, the addition is reduced to what does it.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import replace

from conjunct.model import (
    EVERY_HISTORY,
    NEUTRAL,
    Episode,
    EpisodeSpec,
    FactorKind,
    Trigger,
    TriggerFactor,
    Violation,
)
from conjunct.plan.carriers import EVERYTHING, Question
from conjunct.plan.localise import first_turn, fresh_runs, sentence_of
from conjunct.plan.scope import ALL_PHRASINGS

MOST_NAMES = 8
"""Names looked up in the minimal context that are added one at a time."""

Runs = Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], Trigger]
_Answer = Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], bool]
_Found = Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], frozenset[str]]


def with_suppressors(
    trigger: Trigger,
    asked: Collection[Question],
    *,
    neighbours: Sequence[str],
    histories: Sequence[str],
    ids_by_folder: Mapping[str, str],
) -> Runs:
    """The trigger with the absences that it needs; `asked` is what runs of its minimal context asked.

    Costs one run for each kind of thing that was asked for and is absent, more only where one suppresses.
    """
    if not trigger.reproduced:
        return trigger
    spec, violation = trigger.replay, trigger.violation
    details = {q.detail for q in asked if q.factor is FactorKind.CO_SKILLS}
    outside = frozenset(neighbours) - set(spec.context.co_skills)
    named = sorted(outside & {ids_by_folder.get(detail, "") for detail in details})[:MOST_NAMES]
    found: list[tuple[FactorKind, str, EpisodeSpec]] = []
    if named:
        found += yield from _single(spec, violation, named)
    searched = outside if EVERYTHING in details else frozenset(named)
    searched -= {level for _, level, _ in found}
    while len(searched) > (EVERYTHING not in details) and len(found) < MOST_NAMES:
        culprits = yield from _suppressing(spec, violation, searched)
        if not culprits:
            break
        found.append((FactorKind.CO_SKILLS, " with ".join(sorted(culprits)), _beside(spec, culprits)))
        searched -= culprits
    read = any(question.factor is FactorKind.HISTORY for question in asked)
    if read and spec.context.history == NEUTRAL and histories:
        found += yield from _families(spec, violation, histories)
    factors: list[TriggerFactor] = []
    for kind, level, other in found:
        episodes = yield fresh_runs(other)
        hits = sum(first_turn(episode, violation) is not None for episode in episodes)
        if hits < trigger.hits:
            factors.append(TriggerFactor(kind, level, True, hits, len(episodes), absent=True))
    if not factors:
        return trigger
    every = (*trigger.factors, *factors)
    return replace(trigger, factors=every, sentence=sentence_of(every))


def _beside(spec: EpisodeSpec, skills: Collection[str]) -> EpisodeSpec:
    installed = tuple(sorted({*spec.context.co_skills, *skills}))
    return replace(spec, context=replace(spec.context, co_skills=installed))


def _single(
    spec: EpisodeSpec, violation: Violation, names: Sequence[str]
) -> Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], list[tuple[FactorKind, str, EpisodeSpec]]]:
    specs = tuple(_beside(spec, {name}) for name in names)
    episodes = yield specs
    return [
        (FactorKind.CO_SKILLS, name, one)
        for name, one, episode in zip(names, specs, episodes, strict=True)
        if first_turn(episode, violation) is None
    ]


def _families(
    spec: EpisodeSpec, violation: Violation, histories: Sequence[str]
) -> Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], list[tuple[FactorKind, str, EpisodeSpec]]]:
    """The histories that suppress; none where more than a few do, for then something else is needed."""
    screen = replace(spec.context, history=EVERY_HISTORY, phrasing=ALL_PHRASINGS)
    (together,) = yield (replace(spec, context=screen),)
    if first_turn(together, violation) is not None:
        return []
    specs = tuple(
        replace(spec, context=replace(spec.context, history=name, phrasing=ALL_PHRASINGS))
        for name in histories
    )
    episodes = yield specs
    silent = [
        (FactorKind.HISTORY, name, one)
        for name, one, episode in zip(histories, specs, episodes, strict=True)
        if first_turn(episode, violation) is None
    ]
    return silent if len(silent) <= MOST_NAMES else []


def _suppressing(spec: EpisodeSpec, violation: Violation, outside: frozenset[str]) -> _Found:
    """A minimal set of further neighbours with which the effect vanishes, or nothing; log2(n) runs each."""

    def silent(skills: Collection[str]) -> _Answer:
        (episode,) = yield (_beside(spec, skills),)
        return first_turn(episode, violation) is None

    if not (yield from silent(outside)):
        return frozenset()
    needed: list[str] = []
    pending = sorted(outside)
    while not (needed and (yield from silent(needed))):
        # The shortest suppressing prefix: its last element is needed, whatever follows is not.
        low, high = 0, len(pending)
        while low < high:
            middle = (low + high) // 2
            if (yield from silent({*needed, *pending[:middle]})):
                high = middle
            else:
                low = middle + 1
        if low == 0 or low > len(pending) or len(needed) == 3:
            return frozenset()
        needed.append(pending[low - 1])
        pending = pending[: low - 1]
    return frozenset(needed)
