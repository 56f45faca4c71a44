"""The read-set tree of one candidate: run, see what was touched, vary exactly that, and so on.

A generator that yields tuples of specs and is sent their episodes, so that it knows nothing of processes,
stores or time: `run` drives it. Contexts that differ only in what no run touched are never run.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterable, MutableSequence, Sequence
from dataclasses import dataclass, field, replace

from conjunct.model import (
    EVERY_HISTORY,
    NEUTRAL,
    Context,
    Episode,
    EpisodeSpec,
    FactorKind,
    Probe,
    Severity,
    Trigger,
    Violation,
)
from conjunct.plan.carriers import EVERYTHING, CarrierTable, Question, questions
from conjunct.plan.localise import localise, same_effect

ALL_PHRASINGS = -1
"""History level that holds all wordings of a family one after another: a guard on any of them fires."""


COVERAGE = "coverage"
"""Variant of a run in which the lines of the packages' Python files that ran are recorded."""
_CONJUNCTIVE = frozenset({FactorKind.HISTORY, FactorKind.CO_SKILLS})


@dataclass(frozen=True, slots=True)
class Scope:
    """What may vary for one candidate, and how far."""

    candidate: str
    neighbours: tuple[str, ...]
    probes: tuple[Probe, ...]
    histories: tuple[str, ...]
    clocks: tuple[str, ...]
    networks: tuple[str, ...]
    argument_sets: tuple[str, ...]
    table: CarrierTable
    horizon: int = 6
    strength: int = 3
    """Largest number of factors away from neutral in one run."""
    seed: int = 0
    fingerprint: str = ""
    variables: tuple[str, ...] = ()
    """Variables named in the candidate's source, credentials apart: present and absent are levels."""
    reads_clock: bool = False
    """The source names the time: a trace cannot show a clock read."""
    most_episodes: int = 600


@dataclass(slots=True)
class Exploration:
    """What came out for one candidate."""

    candidate: str
    episodes: MutableSequence[Episode] = field(default_factory=list)
    asked: list[tuple[EpisodeSpec, frozenset[Question]]] = field(default_factory=list)
    triggers: list[Trigger] = field(default_factory=list)
    covered: list[Episode] = field(default_factory=list)
    """The neutral run with line coverage, apart from the others: following lines is part of no context."""
    assumptions: list[str] = field(default_factory=list)
    unexplored: int = 0
    """Touched contexts that the budget left unrun."""


Plan = Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], None]


def explore(scope: Scope, found: Exploration, *, starts: Sequence[Context] = ()) -> Plan:
    """Explore one candidate from the neutral context, or from `starts` (partners that act), into `found`."""
    tree = _Tree(scope, found)
    if starts:
        yield from tree.grow([tree.spec(tree.primary, context) for context in starts])
        return
    roots = [tree.spec(probe, tree.neutral()) for probe in scope.probes]
    roots += [
        tree.spec(tree.primary, replace(tree.neutral(), arguments=arguments))
        for arguments in scope.argument_sets
        if arguments != NEUTRAL
    ]
    yield from tree.grow(roots)
    if any(
        command.skill == scope.candidate for episode in found.episodes for command in episode.trace.commands
    ):
        # Runs under other argument sets record their lines as they are.
        found.covered += yield (replace(tree.spec(tree.primary, tree.neutral()), variant=COVERAGE),)


class _Tree:
    """The nodes run so far, and the frontier."""

    def __init__(self, scope: Scope, found: Exploration) -> None:
        self.scope = scope
        self.found = found
        self.seen: set[str] = set()
        self.expanded: dict[Context, frozenset[Question]] = {}
        self.generator = random.Random(f"{scope.seed}:{scope.candidate}")
        self.primary = next(
            (p for p in scope.probes if p.kind == "use" and all(t.uses for t in p.turns)), scope.probes[0]
        )

    def neutral(self) -> Context:
        return Context(horizon=self.scope.horizon)

    def spec(self, probe: Probe, context: Context) -> EpisodeSpec:
        return self.respec(probe.id, context)

    def respec(self, probe: str, context: Context) -> EpisodeSpec:
        return EpisodeSpec(
            probe=probe,
            candidate=self.scope.candidate,
            context=context,
            seed=self.scope.seed,
            comparison=self.scope.candidate,
            fingerprint=self.scope.fingerprint,
        )

    def grow(self, frontier: list[EpisodeSpec]) -> Plan:
        budget = self.scope.most_episodes
        while frontier:
            if len(self.found.episodes) >= budget:
                self.found.unexplored += len(frontier)
                self.found.assumptions.append(
                    f"{len(frontier)} touched contexts were not run: the budget of {budget} runs was spent"
                )
                return
            episodes = yield tuple(frontier)
            self.seen.update(spec.key() for spec in frontier)
            self.found.episodes.extend(episodes)
            suspicions = self._suspicions(episodes)
            next_frontier: list[EpisodeSpec] = []
            for episode in episodes:
                asked = questions(episode.trace, self.scope.table, own=self._own(episode.spec.context))
                self.found.asked.append((episode.spec, asked))
                fresh = self._not_yet_varied(episode.spec.context, asked | self._unseen_questions(episode))
                next_frontier += [
                    self.respec(episode.spec.probe, c) for c in self.children(episode.spec.context, fresh)
                ]
            for spec, violation in suspicions:
                trigger = yield from self._recording(
                    localise(spec, violation, histories=self.scope.histories)
                )
                self.found.triggers.append(trigger)
            unique = {spec.key(): spec for spec in next_frontier}
            frontier = [spec for key, spec in unique.items() if key not in self.seen]

    def _recording(
        self, runs: Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], Trigger]
    ) -> Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], Trigger]:
        """Pass a localisation's requests through, keeping its episodes out of the tree but in the record."""
        try:
            specs = next(runs)
            while True:
                episodes = yield specs
                self.found.episodes.extend(episodes)
                specs = runs.send(episodes)
        except StopIteration as end:
            trigger: Trigger = end.value
            return trigger

    def _own(self, context: Context) -> frozenset[str]:
        return frozenset({self.scope.candidate, *context.used_before, *context.used_after})

    def _unseen_questions(self, episode: Episode) -> frozenset[Question]:
        """What a trace cannot show but the source names: reads of the clock and of variables."""
        if not any(command.skill == self.scope.candidate for command in episode.trace.commands):
            return frozenset()
        unseen = {Question(FactorKind.ENVIRONMENT, name) for name in self.scope.variables}
        if self.scope.reads_clock:
            unseen.add(Question(FactorKind.CLOCK))
        return frozenset(unseen)

    def _not_yet_varied(self, context: Context, asked: frozenset[Question]) -> frozenset[Question]:
        """Questions that no other probe or argument set has asked in this context: not varied yet."""
        known = self.expanded.get(context, frozenset())
        self.expanded[context] = known | asked
        if context.arguments != NEUTRAL:
            # What a request is about may be part of a conjunction with history and neighbours; the other
            # factors are varied under the neutral arguments only.
            elsewhere = self.expanded.get(replace(context, arguments=NEUTRAL), frozenset())
            known |= frozenset(question for question in elsewhere if question.factor not in _CONJUNCTIVE)
        return asked - known

    def _suspicions(self, episodes: Iterable[Episode]) -> list[tuple[EpisodeSpec, Violation]]:
        """New violations of the candidate, each kind of effect once, simplest context first."""
        known = [trigger.violation for trigger in self.found.triggers]
        fresh: list[tuple[EpisodeSpec, Violation]] = []
        for episode in sorted(episodes, key=lambda e: (order(e.spec.context), len(e.spec.context.co_skills))):
            for violation in episode.violations:
                if self.scope.candidate not in violation.actors or violation.severity is Severity.NOTE:
                    continue
                if any(
                    same_effect(violation, other) and violation.resource == other.resource for other in known
                ):
                    continue
                known.append(violation)
                fresh.append((episode.spec, violation))
        return fresh

    def children(self, context: Context, asked: frozenset[Question]) -> list[Context]:
        """Neighbouring contexts that the run of `context` could have told apart from it."""
        if order(context) >= self.scope.strength:
            return []
        return [
            *self._histories(context, asked),
            *self._installed_sets(context, asked),
            *self._levels(context, asked),
        ]

    def _histories(self, context: Context, asked: frozenset[Question]) -> list[Context]:
        if context.history != NEUTRAL or not any(q.factor is FactorKind.HISTORY for q in asked):
            return []
        # Every family by itself under the neutral arguments; all at once, as a screen, under the others.
        names = self.scope.histories if context.arguments == NEUTRAL else (EVERY_HISTORY,)
        return [replace(context, history=name, phrasing=ALL_PHRASINGS) for name in names]

    def _installed_sets(self, context: Context, asked: frozenset[Question]) -> list[Context]:
        details = {q.detail for q in asked if q.factor is FactorKind.CO_SKILLS}
        present = frozenset(context.co_skills)
        sets: list[frozenset[str]] = []
        named = frozenset(
            skill for detail in details if (skill := self.scope.table.ids_by_folder.get(detail)) is not None
        ) & frozenset(self.scope.neighbours)
        if named - present:
            sets.append(present | named)
            # Absence is a level too: each name alone separates AND from OR and from suppressors.
            sets += [present | {skill} for skill in sorted(named - present)[:8]] if len(named) > 1 else []
        if EVERYTHING in details:
            sets.append(present | frozenset(self.scope.neighbours))
            # A set that was itself reached by sampling is not sampled from again.
            reached_by_name = len(present) <= len(named) + len(context.used_before) + len(context.used_after)
            sets += self._samples(present) if reached_by_name else []
        return [replace(context, co_skills=tuple(sorted(chosen))) for chosen in sets if chosen != present]

    def _samples(self, present: frozenset[str]) -> list[frozenset[str]]:
        """Random subsets beside everything and nothing, for conditions that are not monotone in presence."""
        names = list(self.scope.neighbours)
        sizes = [size for size in (3, len(names) // 2) if 1 < size < len(names)]
        return [present | frozenset(self.generator.sample(names, size)) for size in sizes]

    def _levels(self, context: Context, asked: frozenset[Question]) -> list[Context]:
        found: list[Context] = []
        factors = {q.factor for q in asked}
        if context.clock == NEUTRAL and FactorKind.CLOCK in factors and order(context) < 2:
            found += [replace(context, clock=level) for level in self.scope.clocks if level != NEUTRAL]
        if context.network == NEUTRAL and FactorKind.NETWORK in factors and order(context) == 0:
            found += [replace(context, network=level) for level in self.scope.networks if level != NEUTRAL]
        variables = sorted(q.detail for q in asked if q.factor is FactorKind.ENVIRONMENT)
        if variables and not context.environment and order(context) == 0:
            found.append(replace(context, environment=tuple((name, "1") for name in variables)))
        missing = sorted(q.detail for q in asked if q.factor is FactorKind.HOST)
        if missing and not context.answers and order(context) < 2:
            found.append(replace(context, answers=tuple((path, "1\n") for path in missing[:200])))
        return found


def order(context: Context) -> int:
    """How many factors of a context are away from neutral."""
    return sum(
        (
            context.history != NEUTRAL,
            bool(context.co_skills),
            bool(context.used_before or context.used_after),
            context.clock != NEUTRAL,
            context.network != NEUTRAL,
            bool(context.environment),
            bool(context.answers),
        )
    )
