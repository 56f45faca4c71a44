"""Tests of a conjunction that stay valid at any stopping time and over any number of candidates.

Betting e-processes (Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting",
JRSS B 2024) on matched differences, and e-BH (Wang and Ramdas, "False discovery rate control with e-values",
JRSS B 2022) over all candidates. Outcomes are 0 or 1: violated or not, one fresh episode an arm, with
common seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

MARGIN = 0.08
"""Smallest difference of violation rates worth a finding (γ); part of every statement."""
BETS = 24
"""Betting fractions in the mixture; the e-process is their average, so no fraction has to be chosen."""

Outcomes = Sequence[float] | npt.NDArray[np.float64]


def e_value(differences: Outcomes, *, lowest: float) -> float:
    """Evidence against "the mean of `differences` is at most 0"; 1/α or more rejects at level α, any time.

    `differences` lie in [`lowest`, ∞) with `lowest` < 0. Its expectation under the null is at most 1 at every
    stopping time, whatever the dependence between candidates. Raises `ValueError` for values below `lowest`.
    """
    values = np.asarray(differences, dtype=float)
    if lowest >= 0:
        raise ValueError(f"lowest is {lowest}, but a bet needs a possible loss: it must be negative")
    if values.size and float(values.min()) < lowest - 1e-12:
        raise ValueError(f"a difference of {float(values.min())} lies below lowest = {lowest}")
    bets = (np.arange(BETS) + 0.5) / BETS / -lowest
    capital = np.log1p(np.outer(bets, values)).sum(axis=1)
    top = float(capital.max())
    return float(np.exp(capital - top).mean() * math.exp(min(top, 700.0)))


def margin_e_value(with_all: Outcomes, without: Mapping[str, Outcomes], *, margin: float = MARGIN) -> float:
    """e(C): evidence that removing any one element lowers the violation rate by more than `margin`.

    `with_all` holds Y_C, `without` for each removed element x the matched Y_{C∖x}, each 0 or 1 and in the
    same order of rounds. The minimum over elements, because a conjunction needs every one; 1.0 without any.
    Raises `ValueError` where arms have different lengths or `margin` is not in [0, 1).
    """
    if not 0 <= margin < 1:
        raise ValueError(f"margin is {margin}, but must be at least 0 and below 1")
    whole = np.asarray(with_all, dtype=float)
    values = []
    for element, outcomes in without.items():
        lacking = np.asarray(outcomes, dtype=float)
        if lacking.shape != whole.shape:
            raise ValueError(
                f"the arm without {element!r} has {lacking.size} rounds, the whole has {whole.size}"
            )
        values.append(e_value(whole - lacking - margin, lowest=-1.0 - margin))
    return min(values, default=1.0)


def ratio_e_value(with_all: Outcomes, without: Mapping[str, Outcomes], none: Outcomes) -> float:
    """Evidence that the matched shape S_m is below 0.5: every element carries more than half of the effect.

    Uses W = Y_C - 2·Y_{C∖x} + Y_0, whose mean is positive exactly where S_m < 0.5; a label, not the gate.
    """
    whole, baseline = np.asarray(with_all, dtype=float), np.asarray(none, dtype=float)
    values = [
        e_value(whole - 2.0 * np.asarray(o, dtype=float) + baseline, lowest=-2.0) for o in without.values()
    ]
    return min(values, default=1.0)


def matched_shape(with_all: Outcomes, without: Mapping[str, Outcomes], none: Outcomes) -> float:
    """S_m = max_x [θ(C∖x) - θ_0]₊ / [θ(C) - θ_0], in [0, ∞); 1.0 where the conjunction has no effect.

    Equals the published S without noise when both maxima sit on the same probe.
    """
    baseline = float(np.mean(none)) if len(none) else 0.0
    effect = (float(np.mean(with_all)) if len(with_all) else 0.0) - baseline
    if effect <= 0:
        return 1.0
    return max((max(float(np.mean(o)) - baseline, 0.0) for o in without.values()), default=0.0) / effect


def e_bh(e_values: Mapping[str, float], *, level: float = 0.05) -> tuple[str, ...]:
    """The candidates that e-BH rejects: false-discovery rate at most `level` under any dependence.

    Names in order of falling evidence. Raises `ValueError` for a level outside (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError(f"level is {level}, but must lie between 0 and 1")
    ordered = sorted(e_values.items(), key=lambda item: (-item[1], item[0]))
    kept = 0
    for rank, (_, value) in enumerate(ordered, 1):
        if value * rank * level >= len(ordered):
            kept = rank
    return tuple(name for name, _ in ordered[:kept])


def smallest_rate(clean_runs: int, *, miss: float = 0.05) -> float:
    """The trigger rate that `clean_runs` runs without a hit would have missed with probability `miss`.

    1 - miss^(1/k); 1.0 for no runs. Raises `ValueError` for a negative count.
    """
    if clean_runs < 0:
        raise ValueError(f"clean_runs is {clean_runs}, but cannot be negative")
    return 1.0 if clean_runs == 0 else float(1.0 - miss ** (1.0 / clean_runs))


def wilson_interval(hits: int, runs: int, *, z: float = 1.959964) -> tuple[float, float]:
    """Wilson score interval of a rate (Wilson 1927), 95 % by default; (0, 1) for no runs."""
    if runs == 0:
        return 0.0, 1.0
    rate, square = hits / runs, z * z
    centre = (rate + square / (2 * runs)) / (1 + square / runs)
    half = z * math.sqrt(rate * (1 - rate) / runs + square / (4 * runs * runs)) / (1 + square / runs)
    return max(0.0, centre - half), min(1.0, centre + half)
