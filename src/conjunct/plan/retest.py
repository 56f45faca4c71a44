"""Was that hit worth following? A pool that fired is run again until a likelihood ratio decides.

The likelihood ratio compares "a trigger of the assumed rate is in this pool" with "this oracle cries wolf at
its known rate" (Wald 1945). It spends episodes, it proves nothing: confirmation uses fresh runs only.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field

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
    alone: Reals | None = None
    """(skill, invariant): by how much a skill's own use raises the base rate, as far as it is known."""

    def base_of(self, used: Flags) -> Reals:
        """(run, invariant): rate at which each fires without a trigger, given the skills used."""
        base = np.broadcast_to(self.base, (len(used), len(self.base)))
        if self.alone is not None:
            base = base + used.astype(np.float64) @ self.alone
        return np.clip(base, LEAST_BASE, 0.95)

    def firing(self, base: Reals, sizes: Reals, rate: float) -> Reals:
        """(run, invariant): firing rate where a trigger of `rate` at full attention is present."""
        effect = rate * self.attention(sizes)[:, None] * self.sensitivity
        return np.asarray(base + (1.0 - base) * effect, dtype=np.float64)


@dataclass(slots=True)
class OwnEffects:
    """What each used skill does to each invariant by itself, learned from the screening runs of all pools.

    Ridge regression of firing on use. Nearly all pools hold no trigger, so the sum of small harmless deltas
    of the skills that are used together is told apart from a conjunction, and costs no retests.
    """

    skills: int
    invariants: int
    prior: float = 60.0
    """Runs that the assumption "no effect of its own" is worth."""
    _gram: Reals = field(init=False)
    _moments: Reals = field(init=False)

    def __post_init__(self) -> None:
        self._gram = np.zeros((self.skills, self.skills))
        self._moments = np.zeros((self.skills, self.invariants))

    def learn(self, runs: PoolRuns, outcomes: Flags, base: Reals, columns: Whole) -> None:
        """Add screening runs, never retests: those are chosen by their outcome. `columns`: the candidates."""
        used = runs.used[:, columns].astype(np.float64)
        self._gram += used.T @ used
        self._moments += used.T @ (outcomes - base)

    def estimate(self) -> Reals:
        """(candidate, invariant): raised base rate."""
        shrunk = self._gram + self.prior * np.eye(self.skills)
        return np.asarray(np.linalg.solve(shrunk, self._moments), dtype=np.float64)


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
    noisy: float = 1e-3
    """Invariants with a higher base rate than this are tallied over many pools instead of retested."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A pool worth taking apart: a row of the screening runs, and the invariant that fired in it."""

    row: int
    invariant: int
    ratio: float
    """Log-likelihood ratio, screening run included."""


def retest(
    runs: PoolRuns, outcomes: Flags, noise: Noise, rule: RetestRule
) -> Generator[PoolRuns, Flags, list[Suspect]]:
    """Repeat the pools that fired; the suspects among them, strongest first."""
    base = noise.base_of(runs.used)
    with_trigger = noise.firing(base, runs.sizes(), rule.rate)
    hit, miss = np.log(with_trigger / base), np.log((1.0 - with_trigger) / (1.0 - base))
    ratio = np.where(outcomes, hit, miss)
    drop = hit - rule.patience
    alive = outcomes & (hit > 0) & (noise.base <= rule.noisy)
    followed = alive & (ratio >= rule.follow)
    for _ in range(rule.most):
        open_ = alive & ~followed
        rows = np.flatnonzero(open_.any(axis=1))
        if not rows.size:
            break
        again = yield runs.take(rows)
        ratio[rows] += np.where(again, hit[rows], miss[rows])
        alive &= ratio >= drop
        followed |= alive & (ratio >= rule.follow)
    order = sorted(zip(*np.nonzero(followed), strict=True), key=lambda at: -ratio[at])
    return [Suspect(int(row), int(j), float(ratio[row, j])) for row, j in order]
