"""What the analysis of a million matched rows costs."""

from __future__ import annotations

import resource
import time

import numpy as np

from conjunct.delta.rows import e_bh_rows, margin_e_values

ROWS, CANDIDATES, STRONG = 1_000_000, 4_000, 100


def analysis_costs() -> dict[str, float | str]:
    """Seconds for e-values of 4,000 candidates with two elements each and for e-BH, and peak memory."""
    generator = np.random.default_rng(1)
    candidate = generator.integers(0, CANDIDATES, ROWS)
    element = generator.integers(0, 2, ROWS)
    whole = generator.random(ROWS) < np.where(candidate < STRONG, 0.8, 0.05)
    lacking = generator.random(ROWS) < 0.05
    wall, processor = time.perf_counter(), time.process_time()
    _, evidence = margin_e_values(candidate, element, whole, lacking)
    rejected = int(e_bh_rows(evidence).sum())
    return {
        "analysis: rows": float(ROWS),
        "analysis: seconds": time.perf_counter() - wall,
        "analysis: processor seconds": time.process_time() - processor,
        "analysis: candidates rejected": float(rejected),
        "analysis: peak memory of the process, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
