"""Pooled search with findings: pools, retests, bisection, fresh confirmation, e-BH over all candidates.

For agents that are not deterministic. It asks for runs and is sent outcomes; it knows nothing of worlds, and
can be stopped after any batch: what it says then is valid, only weaker.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace

import numpy as np

from conjunct.delta.confirm import Confirmation, ConfirmRule, combined_e_value, confirm
from conjunct.delta.evidence import MARGIN, e_bh
from conjunct.delta.unseen import smallest_rate_shown
from conjunct.plan.bisect import BisectRule, Conjunction, look_at, reduce_pool
from conjunct.plan.pools import Flags, PoolRuns, PoolScope, Screen, one_run, together
from conjunct.plan.retest import LEAST_BASE, Noise, OwnEffects, RetestRule, Suspect, retest
from conjunct.plan.tally import Cell, Tally, TallyRule

Search = Generator[PoolRuns, Flags, None]
PRIOR_ODDS = 9.0
"""Nats by which "no trigger here" leads before a pool is run; only steers how a suspect is taken apart."""


@dataclass(frozen=True, slots=True)
class Hint:
    """A place to look first: names or topics in the source. It only moves runs forward."""

    candidate: int
    partners: tuple[int, ...] = ()
    histories: tuple[int, ...] = ()
    """Families; empty means all."""


@dataclass(frozen=True, slots=True)
class PooledRules:
    """How the search spends; every default was set on other seeds than those of the published tables."""

    chunk: int = 768
    """Pools drawn at once."""
    level: float = 0.05
    """False-discovery rate of the findings."""
    margin: float = MARGIN
    hint_runs: int = 8
    """Runs of each hinted place."""
    retest: RetestRule = field(default_factory=RetestRule)
    tally: TallyRule = field(default_factory=TallyRule)
    bisect: BisectRule = field(default_factory=BisectRule)
    confirm: ConfirmRule = field(default_factory=ConfirmRule)


@dataclass(frozen=True, slots=True)
class Finding:
    """A confirmed conjunction of one candidate."""

    candidate: int
    conjunction: Conjunction
    e: float
    rounds: int
    bodies: tuple[int, ...]
    """Skills whose body is needed; the verdict is on these."""
    shape: float
    e_shape: float
    found_at: int
    """Episodes made when it was confirmed."""


@dataclass(frozen=True, slots=True)
class Blindness:
    """What a clean result leaves open: rates of second-order triggers that could have been missed."""

    typical: float
    """Smallest rate at full attention that a trigger on a triple drawn evenly shows but for `miss`."""
    worst: float
    """The same for the triple that 99 % of all were looked at more than; 1.0 where it was not looked at."""
    looked_at: float
    """Share of the triples (candidate, neighbour, history) looked at once or more."""
    miss: float


@dataclass(slots=True)
class PooledSearch:
    """State of one search. Drive `run()`; read the findings at any time, also after closing it early."""

    scope: PoolScope
    noise: Noise
    seed: int
    budget: int
    """Episodes at most, everything included."""
    hints: tuple[Hint, ...] = ()
    rules: PooledRules = field(default_factory=PooledRules)
    spent: int = 0
    spent_on: dict[str, int] = field(default_factory=dict)
    """Of these, by purpose: screening, retesting, reducing, confirming."""
    attempts: dict[int, list[Confirmation]] = field(default_factory=dict)
    unresolved: list[tuple[int, ...]] = field(default_factory=list)
    """Used skills of pools that fired again on retest but were not reduced to a conjunction."""
    _found_at: dict[int, int] = field(default_factory=dict)
    _screen: Screen = field(init=False)
    _generator: np.random.Generator = field(init=False)
    _own: OwnEffects = field(init=False)
    _tally: Tally = field(init=False)
    _purpose: str = "screening"

    def __post_init__(self) -> None:
        self._generator = np.random.default_rng(self.seed)
        self._screen = Screen(self.scope, self._generator)
        noisy = np.asarray(self.noise.base > self.rules.retest.noisy)
        self._tally = Tally(self.scope, noisy, self.rules.tally)
        self._own = OwnEffects(len(self.scope.candidates), len(self.noise.base))

    def run(self) -> Search:
        """Ask for runs until the budget is spent or every candidate is decided."""
        work = self._work()
        try:
            runs = next(work)
            while self.spent + len(runs) <= self.budget:
                self.spent += len(runs)
                self.spent_on[self._purpose] = self.spent_on.get(self._purpose, 0) + len(runs)
                outcomes = yield runs
                if outcomes.shape != (len(runs), len(self.noise.base)):
                    raise ValueError(
                        f"outcomes have shape {outcomes.shape}, expected {len(runs)} runs × "
                        f"{len(self.noise.base)} invariants"
                    )
                runs = work.send(outcomes)
        except StopIteration:
            return
        finally:
            work.close()

    @property
    def screening(self) -> bool:
        """Whether what is asked for now is a new lot of pools: a good moment to stop."""
        return self._purpose == "screening"

    def findings(self) -> tuple[Finding, ...]:
        """Candidates that e-BH rejects now, over all candidates, most evidence first."""
        e_values = {str(candidate): self.e_value(candidate) for candidate in self.scope.candidates}
        kept = e_bh(e_values, level=self.rules.level)
        return tuple(self._finding(int(name)) for name in kept)

    def e_value(self, candidate: int) -> float:
        """Evidence against "no conjunction of this candidate passes the margin"; 1 where none was tried."""
        return combined_e_value([attempt.e for attempt in self.attempts.get(candidate, ())])

    def blindness(self, *, miss: float = 0.05) -> Blindness:
        """What the pools made so far leave open, order two (skill, skill, history), full horizon.

        Each clean exposure misses a trigger of rate d with 1 - d·attention·sensitivity at most, so exposures
        that add up to λ miss it with exp(-λ·d) at most. Pools that fired are no clean exposures. With noisy
        oracles it is the chance that a tally stays unremarkable. Rates under the margin are never findings.
        """
        kept = [row for row, c in enumerate(self.scope.candidates) if c not in self._screen.dropped]
        if not kept:
            return Blindness(0.0, 0.0, 1.0, miss)
        clean = self._screen.clean[kept]
        # A skill is no neighbour of itself.
        own = np.array(self.scope.candidates)[kept][:, None] == np.array(self.scope.beside)[None, :]
        looks = clean[~own]
        if self._tally.noisy.any():
            size = float(max(size for size, _ in self.scope.sizes))
            typical, worst = (
                self._tally.smallest_rate(self.noise, size, miss=miss, share=share) for share in (0.5, 0.99)
            )
        else:
            power = float(np.min(self.noise.sensitivity))
            typical = smallest_rate_shown(looks * power, miss=miss)
            worst = smallest_rate_shown([float(np.quantile(looks, 0.01)) * power], miss=miss)
        return Blindness(typical, worst, float(np.mean(looks > 0)), miss)

    def smallest_rate(self, candidate: int, *, miss: float = 0.05) -> float:
        """`Blindness.typical` for the triples of one candidate: what its coverage statement tells."""
        row = self.scope.candidates.index(candidate)
        others = np.array(self.scope.beside) != candidate
        if self._tally.noisy.any():
            return self.blindness(miss=miss).typical
        looks = self._screen.clean[row][others] * float(np.min(self.noise.sensitivity))
        return smallest_rate_shown(looks, miss=miss)

    @property
    def undecided(self) -> tuple[int, ...]:
        """Candidates that nothing was confirmed of."""
        return tuple(c for c in self.scope.candidates if c not in self._screen.dropped)

    def looked_at(self, candidate: int) -> tuple[int, int]:
        """Triples (candidate, neighbour, history) looked at cleanly once or more, and all of them."""
        row = self.scope.candidates.index(candidate)
        looks = self._screen.clean[row][np.array(self.scope.beside) != candidate]
        return int((looks > 0).sum()), int(looks.size)

    def _finding(self, candidate: int) -> Finding:
        best = max(self.attempts[candidate], key=lambda attempt: attempt.e)
        return Finding(
            candidate=candidate,
            conjunction=best.conjunction,
            e=self.e_value(candidate),
            rounds=best.rounds,
            bodies=best.bodies,
            shape=best.shape,
            e_shape=best.e_shape,
            found_at=self._found_at.get(candidate, self.spent),
        )

    def _work(self) -> Search:
        if self.hints:
            yield from self._look(self._hinted())
        while not self._screen.exhausted:
            yield from self._look(self._screen.draw(max(1, min(self.rules.chunk, self.budget - self.spent))))

    def _hinted(self) -> PoolRuns:
        parts = []
        for hint in self.hints:
            for family in hint.histories or range(self.scope.histories):
                parts.append(
                    one_run(
                        self.scope.skills,
                        installed=hint.partners,
                        used=(hint.candidate,),
                        history=family,
                        horizon=self.scope.horizon,
                        times=self.rules.hint_runs,
                    )
                )
        return together(parts)

    def _look(self, runs: PoolRuns) -> Search:
        """Screen, retest, reduce, confirm: one chunk of pools."""
        self._purpose = "screening"
        outcomes = yield runs
        noise = self._learn(runs, outcomes)
        self._purpose = "retesting"
        suspects = yield from retest(runs, outcomes, noise, self.rules.retest)
        clean = np.ones(len(runs), dtype=np.bool_)
        clean[[suspect.row for suspect in suspects]] = False
        kept = runs.take(clean)
        self._screen.count_clean(kept, noise.attention(kept.sizes()))
        for suspect in suspects:
            pool = (runs.installed[suspect.row], runs.used[suspect.row], int(runs.history[suspect.row]))
            if not self._explained(*pool, suspect.invariant):
                yield from self._follow(runs, suspect, noise)
        for cell in self._tally.add(runs, outcomes, noise):
            pair = one_run(
                self.scope.skills,
                installed=[cell.partner],
                used=[cell.candidate],
                history=cell.history,
                horizon=self.scope.horizon,
            )
            if not self._explained(pair.installed[0], pair.used[0], cell.history, cell.invariant):
                yield from self._look_at(cell, noise)

    def _learn(self, runs: PoolRuns, outcomes: Flags) -> Noise:
        """The noise, with what the candidates do by themselves as far as the screening runs tell."""
        if self.noise.base.max() <= LEAST_BASE:
            return self.noise
        candidates = np.array(self.scope.candidates)
        self._own.learn(runs, outcomes, self.noise.base, candidates)
        alone = np.zeros((self.scope.skills, len(self.noise.base)))
        alone[candidates] = self._own.estimate()
        return replace(self.noise, alone=alone)

    def _explained(self, installed: Flags, used: Flags, history: int, invariant: int) -> bool:
        return any(
            attempt.conjunction.invariant == invariant
            and attempt.conjunction.lies_in(installed, used, history)
            for candidate in self._found_at
            for attempt in self.attempts[candidate]
        )

    def _look_at(self, cell: Cell, noise: Noise) -> Search:
        self._purpose = "reducing"
        found = yield from look_at(
            self.scope.skills,
            cell.candidate,
            cell.partner,
            cell.history,
            self.scope.horizon,
            cell.invariant,
            noise,
            doubt=0.9,
            rule=self.rules.bisect,
        )
        self._tally.settle(cell)
        if found is not None:
            yield from self._confirm(found)

    def _follow(self, runs: PoolRuns, suspect: Suspect, noise: Noise) -> Search:
        self._purpose = "reducing"
        doubt = float(1.0 / (1.0 + np.exp(min(suspect.ratio - PRIOR_ODDS, 30.0))))
        for _ in range(1 if doubt > 0.01 else 2):
            found = yield from reduce_pool(
                runs,
                suspect.row,
                suspect.invariant,
                noise,
                self._generator,
                doubt=doubt,
                rule=self.rules.bisect,
            )
            if found is not None:
                break
        if found is None:
            self.unresolved.append(tuple(np.flatnonzero(runs.used[suspect.row]).tolist()))
            return
        yield from self._confirm(found)

    def _confirm(self, found: Conjunction) -> Search:
        candidate = found.used[0]
        if candidate not in self.scope.candidates:
            return
        attempt = Confirmation(found, margin=self.rules.margin)
        before = [earlier.e for earlier in self.attempts.get(candidate, ())]
        self.attempts.setdefault(candidate, []).append(attempt)
        needed = len(self.scope.candidates) / self.rules.level
        self._purpose = "confirming"
        if (
            yield from confirm(
                attempt,
                self.scope.skills,
                self.rules.confirm,
                enough=lambda e: combined_e_value([*before, e]) >= needed,
            )
        ):
            self._found_at[candidate] = self.spent
            self._screen.drop(candidate)
