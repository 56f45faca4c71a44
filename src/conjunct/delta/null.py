"""The null, measured: A/A and placebo runs, the errors of judges, and the agent's attention.

An invariant fires now and then without cause. How often is measured in pairs of runs that differ in nothing
(A/A) or in an unrelated inert skill (placebo), for each agent and cell, never assumed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conjunct.delta.intervals import exact_interval


@dataclass(frozen=True, slots=True)
class BaseRate:
    """How often one invariant fires in A/A runs."""

    rate: float
    low: float
    high: float
    """Exact 95 % interval; use the upper end where a wrong null would cost a finding's validity."""
    runs: int


def base_rates(runs: Mapping[str, Sequence[bool]]) -> dict[str, BaseRate]:
    """Base rate of each invariant from its A/A and placebo outcomes; 1 without any run."""
    rates = {}
    for invariant, outcomes in runs.items():
        hits, count = sum(outcomes), len(outcomes)
        low, high = exact_interval(hits, count)
        rates[invariant] = BaseRate(hits / count if count else 1.0, low, high, count)
    return rates


def differs_from_null(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Two-sided exact p-value (McNemar) that matched A/A arms differ: a check of the harness, not of skills.

    Small values mean that the arms are not exchangeable (leaking state, drifting agent) and that no delta of
    this run can be trusted. Raises `ValueError` for arms of different length.
    """
    if len(first) != len(second):
        raise ValueError(f"the arms have {len(first)} and {len(second)} rounds: A/A arms are matched")
    up = sum(b and not a for a, b in zip(first, second, strict=True))
    down = sum(a and not b for a, b in zip(first, second, strict=True))
    total, least = up + down, min(up, down)
    tail = math.fsum(math.comb(total, k) for k in range(least + 1)) / 2.0**total
    return min(1.0, 2.0 * tail)


def true_rate(observed: float, *, false_rate: float, sensitivity: float) -> float:
    """Rate of true violations behind what a judge reports (Rogan and Gladen 1978), cut to [0, 1].

    Raises `ValueError` for a judge that fires no more often on violations than on clean episodes.
    """
    if sensitivity <= false_rate:
        raise ValueError(
            f"a judge with sensitivity {sensitivity} and false rate {false_rate} tells nothing; leave it out"
        )
    return min(1.0, max(0.0, (observed - false_rate) / (sensitivity - false_rate)))


def attention_half(calls: Mapping[int, tuple[int, int]]) -> float:
    """The installed-set size at which half of the attention is left, from (followed, asked) by size.

    Fits 1 / (1 + size/half) times a common rate by maximum likelihood over a grid; placebo skills with a
    harmless directive are what is asked for. Raises `ValueError` with fewer than two sizes.
    """
    if len(calls) < 2:
        raise ValueError(f"attention was measured at {sorted(calls)}: at least two sizes are needed")
    halves = [2.0 ** (step / 4) for step in range(8, 57)]
    rates = [step / 40 for step in range(1, 41)]

    def likelihood(half: float, rate: float) -> float:
        total = 0.0
        for size, (followed, asked) in calls.items():
            chance = min(max(rate / (1 + size / half), 1e-9), 1 - 1e-9)
            total += followed * math.log(chance) + (asked - followed) * math.log1p(-chance)
        return total

    best: float = max(halves, key=lambda half: max(likelihood(half, rate) for rate in rates))
    return best
