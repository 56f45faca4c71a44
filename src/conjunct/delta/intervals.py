"""Intervals: exact ones for rates, and one for the published S that covers with all its cells."""

from __future__ import annotations

import math
from collections.abc import Sequence

from conjunct.delta.evidence import wilson_interval


def exact_interval(hits: int, runs: int, *, miss: float = 0.05) -> tuple[float, float]:
    """Clopper-Pearson interval of a rate: covers with 1 - `miss` or more; (0, 1) for no runs.

    Raises `ValueError` where not 0 <= hits <= runs.
    """
    if not 0 <= hits <= runs:
        raise ValueError(f"{hits} hits of {runs} runs: hits must lie between 0 and the number of runs")
    if runs == 0:
        return 0.0, 1.0
    low = 0.0 if hits == 0 else _solve(lambda rate: _tail(hits, runs, rate) - miss / 2)
    high = 1.0 if hits == runs else _solve(lambda rate: miss / 2 - (1.0 - _tail(hits + 1, runs, rate)))
    return low, high


def _tail(hits: int, runs: int, rate: float) -> float:
    """P(X >= hits)."""
    if rate <= 0.0:
        return 1.0 if hits <= 0 else 0.0
    if rate >= 1.0:
        return 1.0
    logs = [
        math.lgamma(runs + 1)
        - math.lgamma(k + 1)
        - math.lgamma(runs - k + 1)
        + k * math.log(rate)
        + (runs - k) * math.log1p(-rate)
        for k in range(hits, runs + 1)
    ]
    return min(1.0, math.fsum(math.exp(term) for term in logs))


def _solve(rising: object) -> float:
    """Root in (0, 1) of an increasing function, by halving."""
    assert callable(rising)
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return (low + high) / 2


Cell = tuple[int, int, int, int]
"""Hits with, runs with, hits without, runs without the skill."""


def score_interval(
    single: Sequence[Cell], compositional: Sequence[Cell], *, miss: float = 0.05
) -> tuple[float, float]:
    """Interval of the published S from counts; covers S of the true rates with at least about 1 - `miss`.

    Wilson intervals of all rates hold together (Bonferroni), so those of all deltas, of both maxima and of
    their ratio do. With half a million cells it is very wide unless cells are repeated often: that is the
    finding, not a fault. (1, 1) where no compositional cell exists; the upper end is infinite where the
    compositional maximum may be 0.
    """
    if not compositional:
        return 1.0, 1.0
    z = _normal_quantile(1.0 - miss / (4 * (len(single) + len(compositional))))
    single_low, single_high = _largest(single, z)
    low, high = _largest(compositional, z)
    return (single_low / high if high else 1.0), (single_high / low if low else math.inf)


def _largest(cells: Sequence[Cell], z: float) -> tuple[float, float]:
    """Bounds of the largest |delta|."""
    lows, highs = [0.0], [0.0]
    for hits, runs, base_hits, base_runs in cells:
        low, high = wilson_interval(hits, runs, z=z)
        base_low, base_high = wilson_interval(base_hits, base_runs, z=z)
        least, most = low - base_high, high - base_low
        lows.append(max(least, -most, 0.0))
        highs.append(max(abs(least), abs(most)))
    return max(lows), max(highs)


def _normal_quantile(probability: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(probability)
