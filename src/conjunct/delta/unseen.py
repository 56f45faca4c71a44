"""What a clean result leaves unseen: the smallest trigger rate that the runs made could have shown.

A context looked at cleanly with exposures that add up to λ (each weighted by the agent's attention in that
run and by the oracle's sensitivity) misses a trigger of rate d with Π(1 - d·a) ≤ exp(-λ·d). For runs that all
have full attention the product is (1 - d)^k, see `conjunct.delta.evidence.smallest_rate`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

MISS = 0.05
"""Probability with which the stated rate may have been missed."""
_FINENESS = 1024.0
"""Exposures are told apart to 1/1024 of a run: there are many contexts and few different exposures."""


def miss_probability(exposures: npt.ArrayLike, rate: float) -> float:
    """Chance that a trigger of `rate` in a context drawn evenly from these was never seen: mean exp(-λ·rate).

    1.0 without contexts. Raises `ValueError` for a rate outside [0, 1] or negative exposures.
    """
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"rate is {rate}, but must lie between 0 and 1")
    looks, share = _levels(exposures)
    return float(share @ np.exp(-rate * looks)) if share.size else 1.0


def smallest_rate_shown(exposures: npt.ArrayLike, *, miss: float = MISS) -> float:
    """The smallest rate that a trigger in a context drawn evenly would have shown with 1 - `miss`.

    The d with `miss_probability(exposures, d)` = `miss`; 1.0 where even a trigger that always fires would be
    missed more often, as it is where more than `miss` of the contexts were not looked at.
    """
    if not 0.0 < miss < 1.0:
        raise ValueError(f"miss is {miss}, but must lie between 0 and 1")
    looks, share = _levels(exposures)
    low, high = 0.0, 1.0
    if not share.size or share @ np.exp(-looks) > miss:
        return 1.0
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if share @ np.exp(-middle * looks) > miss else (low, middle)
    return high


def _levels(exposures: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Different exposures, rounded down, and the share of the contexts that has each."""
    values = np.asarray(exposures, dtype=np.float64).ravel()
    if values.size and float(values.min()) < 0.0:
        raise ValueError(f"an exposure is {float(values.min())}, but cannot be negative")
    levels, counts = np.unique(np.floor(values * _FINENESS), return_counts=True)
    return levels / _FINENESS, counts / max(values.size, 1)
