"""Baseline-anchored contrasts of a factorial experiment: what each set of elements adds by itself.

In ±1 coding an AND of k elements leaks into every lower order: of a pure conjunction with effect 1, a share
of 1/2^k sits in each main effect. Anchored at the baseline (0/1 coding, Möbius inversion over subsets) it
sits in exactly one contrast, that of all its elements (Rota 1964; in game theory the Harsanyi dividend).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from conjunct.errors import UsageError

Elements = frozenset[str]


@dataclass(frozen=True, slots=True)
class Contrast:
    """What a set of elements adds beyond all its subsets."""

    value: float
    error: float
    """Standard error, from binomial variances of the arms it uses."""


def mobius_contrasts(arms: Mapping[Elements, tuple[int, int]]) -> dict[Elements, Contrast]:
    """Contrasts of all subsets, from (hits, runs) of every arm of the full factorial.

    m(A) = Σ over B ⊆ A of (-1)^|A∖B| θ(B); θ(A) = Σ over B ⊆ A of m(B). Raises `UsageError` where an arm is
    missing or empty.
    """
    elements = sorted(frozenset().union(*arms)) if arms else []
    subsets = [frozenset(some) for size in range(len(elements) + 1) for some in combinations(elements, size)]
    absent = [sorted(subset) for subset in subsets if arms.get(subset, (0, 0))[1] < 1]
    if absent:
        raise UsageError(f"arms {absent[:4]} of the factorial have no runs; run every subset of {elements}")
    rates = {subset: arms[subset][0] / arms[subset][1] for subset in subsets}
    result = {}
    for subset in subsets:
        inside = [other for other in subsets if other <= subset]
        value = math.fsum((-1) ** (len(subset) - len(other)) * rates[other] for other in inside)
        spread = math.fsum(rates[other] * (1 - rates[other]) / arms[other][1] for other in inside)
        result[subset] = Contrast(value, math.sqrt(spread))
    return result
