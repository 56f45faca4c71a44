"""Was that hit worth following? A pool that fired is run again until a likelihood ratio decides.

The likelihood ratio compares "a trigger of the assumed rate is in this pool" with "this oracle cries wolf at its
known rate" (Wald 1945). It spends episodes, it proves nothing: confirmation uses fresh runs only.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np

from conjunct.plan.pools import Flags, PoolRuns, Reals, Whole

Attention = Callable[[Reals], Reals]
"""Installed skills to the agent's relative attention in (0, 1]: measured, see `conjunct.delta.null`."""

LEAST_BASE = 1e-6
"""A byte-exact oracle is taken to be wrong once in a million episodes, so that ratios stay finite."""


@dataclass(frozen=True, slots=True)
class Noise:
    """What A/A runs and oracle checks tell about the evidence: one entry an invariant (or judge)."""

    base: Reals
    """Rate at which the invariant fires without cause, per episode."""
    sensitivity: Reals
    """Rate at which a true violation is recognised."""
    attention: Attention

    def firing(self, sizes: Reals, rate: float | Reals) -> Reals:
        """(run, invariant): firing rate where a trigger of `rate` at full attention is present."""
        base = np.maximum(self.base, LEAST_BASE)
        effect = np.asarray(rate * self.attention(sizes), dtype=np.float64)[:, None] * self.sensitivity
        return np.asarray(base + (1.0 - base) * effect, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class RetestRule:
    """When a hit is given up, and when it is followed; log-likelihood ratios in nats."""

    rate: float = 0.5
    """Assumed rate of a trigger at full attention."""
    follow: float = 10.0
    patience: float = 0.5
    """How far the ratio may fall below that of one hit before the pool is given up."""
    most: int = 12
    """Retests of one pool at most."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A pool worth taking apart: a row of the screening runs, and the invariant that fired in it."""

    row: int
    invariant: int
    ratio: float
    """Log-likelihood ratio, screening run included."""


def retest(
    runs: PoolRuns, outcomes: Flags, noise: Noise, rule: RetestRule
) -> Generator[PoolRuns, Flags, tuple[list[Suspect], Whole]]:
    """Repeat the pools that fired. Returns the suspects, best first, and how often each row was run in all."""
    with_trigger = noise.firing(runs.sizes(), rule.rate)
    base = np.maximum(noise.base, LEAST_BASE)
    hit, miss = np.log(with_trigger / base), np.log((1.0 - with_trigger) / (1.0 - base))
    ratio = np.where(outcomes, hit, miss)
    drop = hit - rule.patience
    alive = outcomes & (hit > 0)
    followed = alive & (ratio >= rule.follow)
    times = np.ones(len(runs), dtype=np.int64)
    for _ in range(rule.most):
        open_ = alive & ~followed
        rows = np.flatnonzero(open_.any(axis=1))
        if not rows.size:
            break
        again = yield runs.take(rows)
        times[rows] += 1
        ratio[rows] += np.where(again, hit[rows], miss[rows])
        alive &= ratio >= drop
        followed |= alive & (ratio >= rule.follow)
    order = sorted(zip(*np.nonzero(followed), strict=True), key=lambda at: -ratio[at])
    return [Suspect(int(row), int(j), float(ratio[row, j])) for row, j in order], times
