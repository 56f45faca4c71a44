"""Pooled search with a verdict: pools, retests, bisection, then fresh confirmation with e-BH over all candidates.

For agents that are not deterministic. It asks for runs and is sent outcomes; it knows nothing of worlds, and can
be stopped after any batch: what it says then is valid, only weaker.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

import numpy as np

from conjunct.delta.confirm import Confirmation, ConfirmRule, combined_e_value, confirm
from conjunct.delta.evidence import MARGIN, e_bh
from conjunct.plan.bisect import BisectRule, Conjunction, reduce_pool
from conjunct.plan.pools import Flags, PoolRuns, PoolScope, Reals, Screen, one_run, together
from conjunct.plan.retest import Noise, RetestRule, Suspect, retest

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
    retest: RetestRule = RetestRule()
    bisect: BisectRule = BisectRule()
    confirm: ConfirmRule = ConfirmRule()


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
    """Smallest rate at full attention that half of all triples would have shown, missed with `miss`."""
    worst: float
    """The same for 99 % of all triples; 1.0 where they were not looked at."""
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
    screened: int = 0
    """Of these, screening runs."""
    attempts: dict[int, list[Confirmation]] = field(default_factory=dict)
    unresolved: list[tuple[int, ...]] = field(default_factory=list)
    """Used skills of pools that fired again on retest but were not reduced to a conjunction."""
    _found_at: dict[int, int] = field(default_factory=dict)
    _screen: Screen = field(init=False)
    _generator: np.random.Generator = field(init=False)
    _power: float = 1.0

    def __post_init__(self) -> None:
        self._generator = np.random.default_rng(self.seed)
        self._screen = Screen(self.scope, self._generator)

    def run(self) -> Search:
        """Ask for runs until the budget is spent or every candidate is decided."""
        work = self._work()
        try:
            runs = next(work)
            while self.spent + len(runs) <= self.budget:
                self.spent += len(runs)
                outcomes = yield runs
                if outcomes.shape != (len(runs), len(self.noise.base)):
                    raise ValueError(
                        f"outcomes have shape {outcomes.shape}, expected one row for each of {len(runs)} runs "
                        f"and one column for each of {len(self.noise.base)} invariants"
                    )
                runs = work.send(outcomes)
        except StopIteration:
            return
        finally:
            work.close()

    def findings(self) -> tuple[Finding, ...]:
        """Candidates that e-BH rejects now, over all candidates, most evidence first."""
        e_values = {str(candidate): self.e_value(candidate) for candidate in self.scope.candidates}
        kept = e_bh(e_values, level=self.rules.level)
        return tuple(self._finding(int(name)) for name in kept)

    def e_value(self, candidate: int) -> float:
        """Evidence against "no conjunction of this candidate passes the margin"; 1 where none was tried."""
        return combined_e_value([attempt.e for attempt in self.attempts.get(candidate, ())])

    def blindness(self, *, miss: float = 0.05) -> Blindness:
        """What the pools made so far leave open, order two (skill, skill, history), full horizon."""
        kept = [row for row, c in enumerate(self.scope.candidates) if c not in self._screen.dropped]
        if not kept:
            return Blindness(0.0, 0.0, 1.0, miss)
        clean = self._screen.clean[kept][:, list(self.scope.beside), :]
        # A skill is no neighbour of itself.
        own = np.array(self.scope.candidates)[kept][:, None] == np.array(self.scope.beside)[None, :]
        looks = clean[~own]
        low, median = np.quantile(looks, [0.01, 0.5])
        power = float(np.max(self.noise.sensitivity)) * self._power

        def rate(exposure: float) -> float:
            return float(min(1.0, -np.log(miss) / max(exposure * power, 1e-9)))

        return Blindness(rate(float(median)), rate(float(low)), float(np.mean(looks > 0)), miss)

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
            yield from self._look(self._screen.draw(self.rules.chunk))

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
        outcomes = yield runs
        self.screened += len(runs)
        suspects, times = yield from retest(runs, outcomes, self.noise, self.rules.retest)
        dirty = {suspect.row for suspect in suspects}
        clean = np.array([row not in dirty for row in range(len(runs))], dtype=np.bool_)
        self._count(runs.take(clean), times[clean])
        seen: set[tuple[int, int]] = set()
        for suspect in suspects:
            if (suspect.row, suspect.invariant) not in seen and not self._explained(runs, suspect):
                seen.add((suspect.row, suspect.invariant))
                yield from self._follow(runs, suspect)

    def _count(self, runs: PoolRuns, times: Reals | np.ndarray) -> None:
        # A retested pool that stayed clean was one look, made more certain; it is counted once.
        del times
        self._screen.count_clean(runs, self.noise.attention(runs.sizes()))

    def _explained(self, runs: PoolRuns, suspect: Suspect) -> bool:
        return any(
            attempt.conjunction.invariant == suspect.invariant
            and attempt.conjunction.lies_in(
                runs.installed[suspect.row], runs.used[suspect.row], int(runs.history[suspect.row])
            )
            for candidate in self._found_at
            for attempt in self.attempts[candidate]
        )

    def _follow(self, runs: PoolRuns, suspect: Suspect) -> Search:
        doubt = float(1.0 / (1.0 + np.exp(min(suspect.ratio - PRIOR_ODDS, 30.0))))
        for _ in range(1 if doubt > 0.01 else 2):
            found = yield from reduce_pool(
                runs,
                suspect.row,
                suspect.invariant,
                self.noise,
                self._generator,
                doubt=doubt,
                rule=self.rules.bisect,
            )
            if found is not None:
                break
        if found is None:
            self.unresolved.append(tuple(np.flatnonzero(runs.used[suspect.row]).tolist()))
            return
        candidate = found.used[0]
        if candidate not in self.scope.candidates:
            return
        attempt = Confirmation(found, margin=self.rules.margin)
        before = [earlier.e for earlier in self.attempts.get(candidate, ())]
        self.attempts.setdefault(candidate, []).append(attempt)
        needed = len(self.scope.candidates) / self.rules.level
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
