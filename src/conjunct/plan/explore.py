"""The read-set tree of one candidate: run, see what was touched, vary exactly that, and so on.

A generator that yields tuples of specs and is sent their episodes, so that it knows nothing of processes,
stores or time: `run` drives it. Contexts that differ only in what no run touched are never run.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from conjunct.model import NEUTRAL, Context, Episode, EpisodeSpec, FactorKind, Probe, Severity, Violation
from conjunct.plan.arrays import covering_rows
from conjunct.plan.branches import Branches
from conjunct.plan.carriers import EVERYTHING, Question, questions
from conjunct.plan.horizon import AGENT, SESSION, counted_with, far_horizon
from conjunct.plan.levels import answers
from conjunct.plan.localise import localise, same_effect
from conjunct.plan.scope import ALL_PHRASINGS, COVERAGE, Exploration, Plan, Scope, order
from conjunct.plan.suppressors import with_suppressors

_Value = TypeVar("_Value")
_Passed = Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], _Value]
_Level = tuple[Any, ...]
"""A level of one factor: the values of the fields of a context that make it."""

__all__ = ["ALL_PHRASINGS", "COVERAGE", "Exploration", "Plan", "Scope", "explore", "order"]

MOST_MIXED = 12
"""Rows of the covering array over the touched factors that are run beyond what the tree ran."""
MOST_LISTED = 64
"""The same where the folder was listed: each row of the presence array meets each level of the others."""
MOST_TOPICS = 40
"""Words of the source that the task inputs speak of in one run."""
DRAWS = 4
"""Further runs of the neutral context where the source compares a random number."""


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
    yield from tree.grow(tree.topics())
    yield from tree.grow(tree.longer())
    # These combine what was varied already: a leaf each.
    yield from tree.grow(tree.mixed(), leaves=True)
    yield from tree.grow(tree.draws(), leaves=True)
    tree.tell()


class _Tree:
    """The nodes run so far, and the frontier."""

    def __init__(self, scope: Scope, found: Exploration) -> None:
        self.scope = scope
        self.found = found
        self.seen: set[str] = set()
        self.branches = Branches(scope)
        self.counters: dict[Context, frozenset[str]] = {}
        """What each context's run could have counted with, in the order of the runs."""
        self.far = 0
        """Turns after which the largest count is passed; 0 without one."""
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

    # ---- growing

    def grow(self, frontier: list[EpisodeSpec], *, leaves: bool = False) -> Plan:
        """Run a frontier and, unless its runs are `leaves`, what they could have told apart, and so on."""
        budget = self.scope.most_episodes
        frontier = [spec for spec in frontier if spec.key() not in self.seen]
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
                if leaves:
                    continue
                self._count(episode)
                fired = any(self._is_suspicious(violation) for violation in episode.violations)
                asked |= self._unseen_questions(episode)
                next_frontier += [
                    self.respec(episode.spec.probe, child)
                    for child in self.branches.of(episode, asked, fired=fired)
                ]
            for spec, violation in suspicions:
                yield from self._localise(spec, violation)
            unique = {spec.key(): spec for spec in next_frontier}
            frontier = [spec for key, spec in unique.items() if key not in self.seen]

    def _localise(self, spec: EpisodeSpec, violation: Violation) -> Plan:
        scope = self.scope
        trigger = yield from self._recording(localise(spec, violation, histories=scope.histories))
        minimal = trigger.replay.context
        runs = [e for e in self.found.episodes if e.spec.context == minimal and e.spec.probe == spec.probe]
        asked = frozenset(q for e in runs for q in questions(e.trace, scope.table, own=self._own(minimal)))
        trigger = yield from self._recording(
            with_suppressors(
                trigger,
                asked,
                neighbours=scope.neighbours,
                histories=scope.histories,
                ids_by_folder=scope.table.ids_by_folder,
            )
        )
        self.found.triggers.append(trigger)

    def _recording(self, runs: _Passed[_Value]) -> _Passed[_Value]:
        """Pass a localisation's requests through, keeping its episodes out of the tree but in the record."""
        try:
            specs = next(runs)
            while True:
                episodes = yield specs
                self.found.episodes.extend(episodes)
                specs = runs.send(episodes)
        except StopIteration as end:
            value: _Value = end.value
            return value

    def _own(self, context: Context) -> frozenset[str]:
        return frozenset({self.scope.candidate, *context.used_before, *context.used_after})

    def _acted(self, episode: Episode) -> bool:
        return any(command.skill == self.scope.candidate for command in episode.trace.commands)

    def _unseen_questions(self, episode: Episode) -> frozenset[Question]:
        """What a trace cannot show but the source names: reads of the clock and of variables."""
        if not self._acted(episode):
            return frozenset()
        names = {*self.scope.variables, *(name for name, values in self.scope.clues.variables if values)}
        unseen = {Question(FactorKind.ENVIRONMENT, name) for name in names}
        if self.scope.reads_clock:
            unseen.add(Question(FactorKind.CLOCK))
        return frozenset(unseen)

    def _is_suspicious(self, violation: Violation) -> bool:
        return self.scope.candidate in violation.actors and violation.severity is not Severity.NOTE

    def _suspicions(self, episodes: Iterable[Episode]) -> list[tuple[EpisodeSpec, Violation]]:
        """New violations of the candidate, each kind of effect once, simplest context first."""
        known = [trigger.violation for trigger in self.found.triggers]
        fresh: list[tuple[EpisodeSpec, Violation]] = []
        for episode in sorted(episodes, key=_simplicity):
            for violation in episode.violations:
                if not self._is_suspicious(violation):
                    continue
                if any(
                    same_effect(violation, other) and violation.resource == other.resource for other in known
                ):
                    continue
                known.append(violation)
                fresh.append((episode.spec, violation))
        return fresh

    # ---- what the tree cannot see by itself

    def topics(self) -> list[EpisodeSpec]:
        """Task inputs that speak of the words of the source: what a command reads there is no factor."""
        names = {name.casefold() for name in self.scope.table.ids_by_folder}
        words = [word for word in self.scope.clues.words if word.casefold() not in names][:MOST_TOPICS]
        if not words or not any(self._acted(episode) for episode in self.found.episodes):
            return []
        return [self.spec(self.primary, replace(self.neutral(), input_words=tuple(words)))]

    def _count(self, episode: Episode) -> None:
        context = episode.spec.context
        if context.arguments != NEUTRAL or episode.spec.variant:
            return
        found = counted_with(episode.trace, self.scope.table, candidate=self.scope.candidate)
        self.counters[context] = self.counters.get(context, frozenset()) | found
        far = far_horizon(self.scope.clues, episode.trace, horizon=self.scope.horizon)
        self.far = max(self.far, far)

    def longer(self) -> list[EpisodeSpec]:
        """Episodes driven to the horizon: screens that count, and where counting starts."""
        if not self.far:
            return []
        screens = set(self._screens())
        counted: frozenset[str] = frozenset()
        chosen: list[Context] = []
        for context, with_what in self.counters.items():
            paths = with_what - {SESSION, AGENT}
            if with_what and (context in screens or paths - counted):
                chosen.append(context)
            counted |= paths
        found = []
        for context in chosen:
            driven = replace(context, horizon=self.far)
            self.branches.parents.setdefault(driven, context)
            found.append(self.spec(self.primary, driven))
        return found

    def _screens(self) -> list[Context]:
        """The neutral context, all histories, all neighbours, and both."""
        base = self.neutral()
        whole = tuple(sorted(self.scope.neighbours))
        both = [base, replace(base, co_skills=whole)]
        return [*both, *(self.branches.every(context) for context in both)]

    def mixed(self) -> list[EpisodeSpec]:
        """Every pair of levels of two touched factors in some run, histories and neighbours by their screens.

        Factors are those that the neutral run asked for: what comes up only behind a level of another was
        varied there. Rows that the tree has run already are part of the array.
        """
        asked = frozenset(
            q for context, one in self.branches.asked.items() if context.arguments == NEUTRAL for q in one
        )
        factors = self._touched_levels(asked)
        done = [
            row
            for context in self.branches.asked
            if (row := _row(context, factors)) and _context(self.neutral(), row) == context
        ]
        rows = covering_rows(factors, done=done)
        most = MOST_LISTED if self.branches.rows else MOST_MIXED
        if len(rows) > most:
            self.found.assumptions.append(
                f"{len(rows) - most} combinations of levels of two touched factors "
                f"({', '.join(factors)}) were not run together"
            )
        return [self.spec(self.primary, _context(self.neutral(), row)) for row in rows[:most]]

    def _touched_levels(self, asked: frozenset[Question]) -> dict[str, list[_Level]]:
        scope, base = self.scope, self.neutral()
        near = self.branches.asked.get(base, frozenset())
        kinds = {question.factor for question in near}
        found: dict[str, list[_Level]] = {}
        if FactorKind.HISTORY in kinds:
            screen = self.branches.every(base)
            found["history"] = [(base.history, 0, ()), (screen.history, screen.phrasing, screen.mentions)]
        present = {q.detail for q in asked if q.factor is FactorKind.CO_SKILLS}
        ids = {scope.table.ids_by_folder.get(detail) for detail in present}
        named = {skill for skill in ids if skill in scope.neighbours}
        whole = scope.neighbours if EVERYTHING in present else tuple(filter(None, named))
        if whole:
            rows = [tuple(sorted(row)) for row in self.branches.rows]
            found["co_skills"] = [((),), (tuple(sorted(whole)),), *((row,) for row in rows)]
        if FactorKind.CLOCK in kinds:
            found["clock"] = [(level,) for level in (NEUTRAL, *self.branches.clocks())]
        if FactorKind.NETWORK in kinds:
            found["network"] = [(level,) for level in scope.networks]
        if FactorKind.ENVIRONMENT in kinds:
            found["environment"] = [((),), *((pairs,) for pairs in self.branches.environments(near))]
        missing = answers(q.detail for q in near if q.factor is FactorKind.HOST)
        if missing:
            found["answers"] = [((),), (missing,)]
        return found

    def draws(self) -> list[EpisodeSpec]:
        """The neutral context again with other randomness, where the source compares a random number."""
        if not self.scope.clues.draws or not any(self._acted(episode) for episode in self.found.episodes):
            return []
        spec = self.spec(self.primary, self.neutral())
        return [replace(spec, variant=f"randomness:{number}") for number in range(DRAWS)]

    def tell(self) -> None:
        """State what rests on an assumption."""
        scope, asked = self.scope, [q for one in self.branches.asked.values() for q in one]
        if Question(FactorKind.CO_SKILLS) in asked and len(scope.neighbours) > 1:
            self.found.assumptions.append(
                "assumed (non-monotone): the skills folder was listed; every presence and absence of two "
                "neighbours was run, conditions on more of them only in sets that were sampled"
            )
        if self.branches.truncated:
            self.found.assumptions.append(
                "not every combination of the neighbours that were looked up was run"
            )
        beyond = [count for count in scope.clues.counts if count > max(self.far, scope.horizon)]
        if beyond and self.far and any(self.counters.values()):
            self.found.assumptions.append(
                f"the source compares something with {max(beyond)}, episodes end after {self.far} turns"
            )
        unknown = {
            q.detail
            for q in asked
            if q.factor is FactorKind.CO_SKILLS
            and q.detail != EVERYTHING
            and q.detail not in scope.table.ids_by_folder
        }
        if unknown:
            names = ", ".join(sorted(unknown)[:5])
            self.found.assumptions.append(f"skills that are not in the registry were looked for: {names}")


def _simplicity(episode: Episode) -> tuple[int, int, int]:
    context = episode.spec.context
    return order(context), len(context.co_skills), len(context.mentions)


_FIELDS: dict[str, tuple[str, ...]] = {
    "history": ("history", "phrasing", "mentions"),
    "co_skills": ("co_skills",),
    "clock": ("clock",),
    "network": ("network",),
    "environment": ("environment",),
    "answers": ("answers",),
}


def _row(context: Context, factors: dict[str, list[_Level]]) -> dict[str, _Level]:
    """A context as a row of the array, or nothing where one of its levels is none of the factor's."""
    row = {name: tuple(getattr(context, field) for field in _FIELDS[name]) for name in factors}
    return row if all(row[name] in levels for name, levels in factors.items()) else {}


def _context(base: Context, row: dict[str, _Level]) -> Context:
    values = {
        field: value for name, level in row.items() for field, value in zip(_FIELDS[name], level, strict=True)
    }
    return replace(base, **values)
