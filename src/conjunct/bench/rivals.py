"""The other gates on the same simulated batches: aggregate, published S, brute-force pairs with BH.

Half a million cells a skill are never laid out. The largest of many independent cells is drawn from the
product of their distribution functions, and the counts that BH sorts from multinomials: the same law.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from conjunct.bench.batches import NONE, Batch
from conjunct.delta.evidence import MARGIN
from conjunct.plan.pools import NO_HISTORY, Flags, Reals, Whole

S_CUTOFF = 0.5
BAND = 0.02
PAIR_REPEATS = 30
LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class GateResult:
    """What one gate did on one batch."""

    flagged: frozenset[int]
    episodes: int
    """With one probe an episode where evidence is noisy; all invariants at once where it is byte-exact."""
    scores: Mapping[int, float]
    """In-band skill to what the gate ranks it by; the lower, the more suspicious."""


def binomial(runs: int, chance: Reals) -> Reals:
    """(…, count): probability of 0 … `runs` hits."""
    counts = np.arange(runs + 1, dtype=np.float64)
    ways = np.cumsum(np.concatenate([[0.0], np.log(np.arange(runs, 0, -1)) - np.log(np.arange(1, runs + 1))]))
    inside: Reals = np.clip(chance, 1e-15, 1.0 - 1e-15)[..., None]
    logs: Reals = ways + counts * np.log(inside) + (runs - counts) * np.log1p(-inside)
    return np.asarray(np.exp(logs), dtype=np.float64)


def difference_below(runs: int, with_skill: Reals, without: Reals) -> Reals:
    """(…, k): probability that |hits with - hits without| is at most k, for k = 0 … `runs`."""
    one, other = binomial(runs, with_skill), binomial(runs, without)
    joint = one[..., :, None] * other[..., None, :]
    gap = np.abs(np.arange(runs + 1)[:, None] - np.arange(runs + 1)[None, :])
    below = np.stack([joint[..., gap <= k].sum(axis=-1) for k in range(runs + 1)], axis=-1)
    return np.asarray(np.minimum(below, 1.0), dtype=np.float64)


def cells_per_skill(batch: Batch) -> int:
    """Compositional cells of one skill and one probe: every neighbour under every history."""
    return (batch.skills - 1) * batch.histories


def aggregate_gate(batch: Batch, generator: np.random.Generator, *, repeats: int = 30) -> GateResult:
    """Flag |mean single-probe delta| of at least the band's width."""
    skills, base, raised = _levels(batch)
    hits = generator.binomial(repeats, raised) - generator.binomial(repeats, base)
    mean = hits.mean(axis=1) / repeats
    flagged = frozenset(int(s) for s in skills[np.abs(mean) >= BAND])
    return GateResult(flagged, len(skills) * len(base[0]) * repeats, _scores(skills, -np.abs(mean)))


def published_gate(batch: Batch, generator: np.random.Generator, *, repeats: int) -> GateResult:
    """Flag S below 0.5: largest single delta over largest compositional delta."""
    skills, base, raised = _levels(batch)
    single = np.abs(generator.binomial(repeats, raised) - generator.binomial(repeats, base)).max(axis=1)
    cells = cells_per_skill(batch)
    largest_below = np.exp(cells * np.log(difference_below(repeats, raised, base)).sum(axis=1))
    compositional = (generator.random(len(skills))[:, None] > largest_below).sum(axis=1)
    for row, chance, count, column in _strong_cells(batch, skills):
        own = generator.binomial(repeats, min(1.0, raised[row, column] + chance), count)
        gap = np.abs(own - generator.binomial(repeats, base[row, column], count)).max()
        compositional[row] = max(compositional[row], gap)
    shape = np.where(compositional > 0, single / np.maximum(compositional, 1), 1.0)
    probes = base.shape[1]
    return GateResult(
        frozenset(int(s) for s in skills[shape < S_CUTOFF]),
        len(skills) * cells * probes * repeats,
        _scores(skills, shape),
    )


def pairs_gate(batch: Batch, generator: np.random.Generator) -> GateResult:
    """Every pair under every history, test of base rate + margin, Benjamini-Hochberg."""
    skills, base, raised = _levels(batch)
    cells, probes = cells_per_skill(batch), base.shape[1]
    runs = PAIR_REPEATS
    probability = binomial(runs, raised)
    counts = generator.multinomial(cells, probability / probability.sum(axis=-1, keepdims=True))
    for row, chance, count, column in _strong_cells(batch, skills):
        for hits in generator.binomial(runs, min(1.0, raised[row, column] + chance), count):
            counts[row, column, hits] += 1
    # P(X >= hits) at the edge of the null.
    tail = np.cumsum(binomial(runs, base + MARGIN)[..., ::-1], axis=-1)[..., ::-1]
    values, weights = tail.ravel(), counts.ravel()
    order = np.argsort(values)
    passed = np.cumsum(weights[order])
    good = values[order] * weights.sum() <= LEVEL * passed
    cut = values[order][good].max() if good.any() else -1.0
    hit = ((tail <= cut) & (counts > 0)).any(axis=(1, 2))
    smallest = np.where(counts > 0, tail, 1.0).min(axis=(1, 2))
    return GateResult(
        frozenset(int(s) for s in skills[hit]),
        len(skills) * cells * probes * runs,
        _scores(skills, smallest),
    )


def _scores(skills: Whole, values: Reals) -> dict[int, float]:
    return dict(zip(skills.tolist(), values.tolist(), strict=True))


def _levels(batch: Batch) -> tuple[Whole, Reals, Reals]:
    """In-band skills, base rates and rates with each skill alone, (skill, probe)."""
    skills = np.array(batch.band)
    base = np.broadcast_to(np.array(batch.evidence.base), (len(skills), len(batch.evidence.base)))
    return skills, base, np.clip(base + batch.diffuse[skills], 0.0, 1.0)


def _strong_cells(batch: Batch, skills: Whole) -> list[tuple[int, float, int, int]]:
    """(row of the skill, raised by, number of cells, probe) of every conditional effect seen in pairs."""
    effects = batch.effects
    single_partner: Flags = (effects.partners != NONE).sum(axis=1) <= 1
    position = {int(skill): row for row, skill in enumerate(skills)}
    found = []
    for index in np.flatnonzero(single_partner).tolist():
        alone = effects.partners[index, 0] == NONE
        count = (batch.skills - 1 if alone else 1) * (
            batch.histories if effects.history[index] == NO_HISTORY else 1
        )
        column = int(effects.invariant[index])
        attention = float(batch.attention(np.array([2.0]))[0])
        chance = float(effects.rate[index]) * attention * batch.evidence.sensitivity[column]
        found.append((position[int(effects.candidate[index])], chance, count, column))
    return found
