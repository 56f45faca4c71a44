"""Where noisy oracles point: hits of many pools, added up for each (skill, neighbour, history, judge).

With forty judges every third episode or so fires somewhere without cause, so running each pool again that
fired wastes most of the budget. But pools are cut anew every round: a trigger is the only thing that the
pools have in common in which one judge fires. So hits are added up for every cell they could come from, and
a cell is looked at by itself when its likelihood ratio stands out (non-adaptive group testing, decoded cell
by cell; Aldridge, Johnson and Scarlett 2019). A look needs two skills only: there attention is best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from conjunct.errors import UsageError
from conjunct.plan.pools import NO_HISTORY, Flags, PoolRuns, PoolScope, Reals
from conjunct.plan.retest import Noise

MOST_CELLS = 400_000_000
"""About 1.6 GB; a registry beyond it is searched for parts of its candidates at a time."""


@dataclass(frozen=True, slots=True)
class TallyRule:
    """When a cell is worth a look of its own; log-likelihood ratios in nats."""

    rate: float = 0.25
    """Assumed rate of a trigger at full attention."""
    follow: float = 12.0
    """A cell starts about 17 nats behind (one trigger in tens of millions); a look costs a few episodes."""
    at_once: int = 40
    """Cells looked at after one chunk of pools at most; the others keep their score."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One place to look at by itself."""

    candidate: int
    partner: int
    history: int
    invariant: int
    score: float


def poisson_mean(needed: int, miss: float) -> float:
    """The mean at which a Poisson count stays below `needed` with probability `miss`."""
    low, high = 0.0, 10.0 * needed + 50.0
    for _ in range(60):
        middle = (low + high) / 2.0
        below = sum(math.exp(k * math.log(middle) - middle - math.lgamma(k + 1)) for k in range(needed))
        low, high = (middle, high) if below > miss else (low, middle)
    return high


@dataclass(slots=True)
class Tally:
    """Running log-likelihood ratios of all cells; empty (and free) without noisy oracles."""

    scope: PoolScope
    noisy: Flags
    """Invariants that are tallied."""
    rule: TallyRule
    exposure: npt.NDArray[np.float32] = field(init=False)
    """(history, candidate, neighbour): attention-weighted runs."""
    _score: npt.NDArray[np.float32] = field(init=False)
    _column: dict[int, int] = field(init=False)
    _row: npt.NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        scope, judges = self.scope, np.flatnonzero(self.noisy).tolist()
        shape = (scope.histories, len(scope.candidates), scope.skills)
        cells = len(judges) * shape[0] * shape[1] * shape[2]
        if cells > MOST_CELLS:
            raise UsageError(
                f"{len(scope.candidates)} candidates × {scope.skills} neighbours × {scope.histories} "
                f"histories × {len(judges)} noisy invariants are {cells} cells, more than {MOST_CELLS}: "
                "search some of the candidates at a time"
            )
        self.exposure = np.zeros(shape if judges else (0, 0, 0), dtype=np.float32)
        self._score = np.zeros((len(judges), *shape) if judges else (0, 0, 0, 0), dtype=np.float32)
        self._column = {judge: position for position, judge in enumerate(judges)}
        self._row = np.full(scope.skills, -1)
        self._row[list(scope.candidates)] = np.arange(len(scope.candidates))

    def add(self, runs: PoolRuns, outcomes: Flags, noise: Noise) -> list[Cell]:
        """Add screening runs; the cells that stand out now, best first."""
        if not self._column:
            return []
        attention = noise.attention(runs.sizes())
        base = noise.base_of(runs.used)
        weight = np.log(noise.firing(base, runs.sizes(), self.rule.rate) / base)
        self._expose(runs, attention)
        best: dict[tuple[int, int, int, int], float] = {}
        for row, judge in zip(*np.nonzero(outcomes & self.noisy), strict=True):
            family = int(runs.history[row])
            acting = self._row[np.flatnonzero(runs.used[row])]
            acting = acting[acting >= 0]
            if family == NO_HISTORY or not acting.size:
                continue
            beside = np.flatnonzero(runs.installed[row])
            at = np.ix_(acting, beside)
            table = self._score[self._column[int(judge)], family]
            table[at] += weight[row, judge]
            loss = self.rule.rate * noise.sensitivity[judge] * self.exposure[family][at]
            standing = table[at] - loss
            if standing.max() >= self.rule.follow:
                for i, k in zip(*np.nonzero(standing >= self.rule.follow), strict=True):
                    candidate, partner = self.scope.candidates[acting[i]], int(beside[k])
                    if candidate != partner:
                        best[(candidate, partner, family, int(judge))] = float(standing[i, k])
        ranked = sorted(best.items(), key=lambda item: -item[1])
        return [Cell(*place, score) for place, score in ranked[: self.rule.at_once]]

    def settle(self, cell: Cell) -> None:
        """The cell was looked at and held nothing: it starts anew, well behind."""
        place = (cell.history, int(self._row[cell.candidate]), cell.partner)
        self._score[(self._column[cell.invariant], *place)] -= cell.score + self.rule.follow

    def smallest_rate(self, noise: Noise, size: float, *, miss: float, share: float) -> float:
        """The rate at full attention that the worst judge's tally misses with `miss`, for `share` of cells.

        A cell stands out after k hits, k such that k·weight covers threshold and expected loss; hits of a
        trigger are Poisson in its exposure. False hits, which only help, are left out. At most 1.
        """
        sizes = np.array([size])
        base, seen = float(noise.base[self.noisy].max()), float(noise.sensitivity[self.noisy].min())
        effect = self.rule.rate * float(noise.attention(sizes)[0]) * seen
        weight = float(np.log((base + (1.0 - base) * effect) / base))
        exposure = float(np.quantile(self.exposure, 1.0 - share))
        needed = int(np.ceil((self.rule.follow + self.rule.rate * seen * exposure) / weight))
        rate = poisson_mean(needed, miss) / max(seen * exposure, 1e-9)
        return min(1.0, rate)

    def _expose(self, runs: PoolRuns, attention: Reals) -> None:
        candidates = list(self.scope.candidates)
        used = runs.used[:, candidates].astype(np.float32) * attention[:, None].astype(np.float32)
        beside = runs.installed.astype(np.float32)
        for family in np.unique(runs.history[runs.history >= 0]).tolist():
            here = runs.history == family
            self.exposure[family] += used[here].T @ beside[here]
