"""Analysis of many episode rows at once: e-values of all candidates without a loop over candidates."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from conjunct.delta.evidence import BETS, MARGIN

Rows = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


def margin_e_values(
    candidate: Rows, element: Rows, with_all: npt.ArrayLike, without: npt.ArrayLike, *, margin: float = MARGIN
) -> tuple[Rows, Reals]:
    """(candidates, e(C) of each) from one row a matched pair of episodes; agrees with `margin_e_value`.

    `candidate` and `element` number the conjunction and the element that the second arm lacks; `with_all` and
    `without` hold 0 or 1. The e-value depends on rows only through how many pairs gave 1-0, 0-0 (or 1-1) and
    0-1, so rows are counted once and bets are placed on counts. Raises `ValueError` for other outcomes or
    lengths.
    """
    whole, lacking = np.asarray(with_all, dtype=np.int64), np.asarray(without, dtype=np.int64)
    if not len(candidate) == len(element) == len(whole) == len(lacking):
        raise ValueError(
            f"columns have {len(candidate)}, {len(element)}, {len(whole)} and {len(lacking)} rows; "
            "they must have the same number"
        )
    if len(whole) and (min(whole.min(), lacking.min()) < 0 or max(whole.max(), lacking.max()) > 1):
        raise ValueError("outcomes must be 0 (clean) or 1 (violated); leave undetermined episodes out")
    if not len(whole):
        return np.empty(0, dtype=np.int64), np.empty(0)
    width = int(element.max()) + 1
    pair, index = np.unique(candidate * width + element, return_inverse=True)
    counts = np.bincount(index * 3 + (whole - lacking + 1), minlength=3 * len(pair)).reshape(-1, 3)
    bets = (np.arange(BETS) + 0.5) / BETS / (1.0 + margin)
    gains = np.log1p(np.outer(np.array([-1.0, 0.0, 1.0]) - margin, bets))
    capital = counts @ gains
    top = capital.max(axis=1)
    evidence = np.exp(capital - top[:, None]).mean(axis=1) * np.exp(np.minimum(top, 700.0))
    owners, first = np.unique(pair // width, return_index=True)
    return owners, np.minimum.reduceat(evidence, first)


def e_bh_rows(e_values: Reals, *, level: float = 0.05) -> npt.NDArray[np.bool_]:
    """Which candidates e-BH rejects; the same rule as `e_bh`, for arrays."""
    if not 0 < level < 1:
        raise ValueError(f"level is {level}, but must lie between 0 and 1")
    order = np.argsort(-e_values, kind="stable")
    enough = e_values[order] * np.arange(1, len(order) + 1) * level >= len(order)
    kept = int(np.flatnonzero(enough).max()) + 1 if enough.any() else 0
    rejected = np.zeros(len(order), dtype=np.bool_)
    rejected[order[:kept]] = True
    return rejected
