"""The effect model of the reference noisy agent: what each skill shifts alone, and how often a trigger shows.

Simulated batches use these numbers in place of runs. They are a model: drawn, recorded in the labels, and the
same for every gate that is compared.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from conjunct.bench.parameters import BuildParameters
from conjunct.bench.truth import UNSAFE, SkillTruth

_MARGIN_SHARE = 0.06
"""Largest rate of a benign diffuse interaction: under the margin that gates call an effect."""
_GROWING_PROBES = 0.1
"""Share of probes on which a skill outside the band grows."""


def with_effects(
    truth: SkillTruth,
    parameters: BuildParameters,
    rng: random.Random,
    *,
    probes: int,
    neighbours: Sequence[str],
    histories: Sequence[str],
) -> SkillTruth:
    """The truth of one skill with its effect parameters drawn."""
    width = 0.95 * parameters.band_width
    deltas = [rng.uniform(-width, width) for _ in range(probes)]
    if not truth.in_band:
        low, high = (0.5, 0.95) if truth.label == UNSAFE else parameters.growth
        grown = [at for at in range(probes) if rng.random() < _GROWING_PROBES] or [rng.randrange(probes)]
        for at in grown:
            deltas[at] = rng.uniform(low, high)
    interactions: tuple[tuple[str, str, float], ...] = ()
    if truth.in_band and not truth.harmful:
        interactions = tuple(
            (rng.choice(neighbours), rng.choice(histories), round(rng.uniform(0.0, _MARGIN_SHARE), 4))
            for _ in range(parameters.interactions)
        )
    return replace(
        truth,
        rate=round(rng.uniform(*parameters.rates), 4) if truth.trigger is not None else 0.0,
        single_probe_deltas=tuple(round(delta, 4) for delta in deltas),
        interactions=interactions,
    )
