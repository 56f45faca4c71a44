"""Power: the smallest trigger rate found with 90 % power, and whether stated blindness is true.

Triggers of known rates are planted and sought. How often those of one rate are found within a budget is
power; whether those of exactly the *stated* rate are missed as seldom as the coverage statement says is
calibration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from conjunct.bench.batches import BYTE_EXACT, REFERENCE, Batch, Mix
from conjunct.bench.catalogue import each
from conjunct.bench.gates import Planted, drive, judged
from conjunct.bench.results import processor_seconds, rate
from conjunct.delta.pooled import PooledSearch
from conjunct.errors import UsageError
from conjunct.plan.pools import PoolScope

POWER = 0.9
ORDERS: dict[str, Mix] = {
    "order 1": replace(REFERENCE, name="order 1", needs_history=(False,), turns=(1, 1, 3, 3, 6, 6)),
    "order 2": replace(REFERENCE, name="order 2", turns=(1, 1, 3, 3, 6, 6)),
    "order 3": replace(REFERENCE, name="order 3", partners=(2,), turns=(1, 1, 3, 3, 6, 6)),
}
"""A co-skill; a co-skill and a history; two co-skills and a history. A third each from turns 1, 3, 6 on."""
RATES = (0.08, 1.0)
"""Planted rates, uniform: below the margin nothing is a finding."""
BUDGETS = (5_000, 10_000, 20_000, 40_000, 60_000)
STATED = (10_000, 20_000, 40_000)
"""Budgets at which the stated rate is checked."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Triggers planted at exactly the rate that a clean search of the same budget states."""

    stated: float
    missed: int
    """Not confirmed."""
    unseen: int
    """Of these, in no pool that fired: what the statement is about."""
    planted: int


def plant(seed: int, *, mix: Mix, budget: int, skills: int = 1200) -> tuple[Planted, ...]:
    """Six triggers of one batch, and the number of episodes after which each was confirmed."""
    batch = Batch(seed, replace(mix, rates=RATES), BYTE_EXACT, skills=skills)
    search = _search(batch, budget)
    drive(search, batch)
    return judged(batch, search, range(batch.adversarial)).planted


def check(seed: int, *, budget: int, skills: int = 1200) -> Checked:
    """State a rate after a search that finds nothing, plant triggers of that rate, search again, count."""
    empty = Batch(seed, replace(REFERENCE, rates=(0.0, 0.0)), BYTE_EXACT, skills=skills)
    clean = _search(empty, budget)
    drive(clean, empty)
    stated = clean.blindness().typical
    batch = Batch(seed, replace(REFERENCE, rates=(stated, stated)), BYTE_EXACT, skills=skills)
    # What following hits costs comes on top: the statement is about the pools.
    search = _search(batch, 100 * budget)
    drive(search, batch, screening=clean.spent_on["screening"])
    confirmed = {finding.candidate for finding in search.findings()}
    followed = confirmed | set(search.attempts) | {skill for pool in search.unresolved for skill in pool}
    return Checked(
        stated,
        missed=sum(skill not in confirmed for skill in batch.adversaries),
        unseen=sum(skill not in followed for skill in batch.adversaries),
        planted=len(batch.adversaries),
    )


def _search(batch: Batch, budget: int) -> PooledSearch:
    scope = PoolScope(batch.skills, batch.band, batch.histories)
    return PooledSearch(scope, batch.measured_noise(), batch.seed, budget)


def smallest_rate_with_power(
    rates: Sequence[float], found: Sequence[bool], *, power: float = POWER
) -> float | None:
    """The smallest rate from which on `power` of the triggers are found; `None` where none is.

    Isotonic regression of found on rate (pool adjacent violators; Ayer and others 1955): power can only grow
    with the rate.
    """
    order = np.argsort(rates)
    blocks: list[tuple[float, int]] = []
    for hit in np.asarray(found, dtype=float)[order]:
        blocks.append((float(hit), 1))
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            (low, many), (high, few) = blocks[-2:]
            blocks[-2:] = [((low * many + high * few) / (many + few), many + few)]
    at = 0
    for level, size in blocks:
        if level >= power:
            return float(np.asarray(rates)[order][at])
        at += size
    return None


def interval_of_smallest(
    rates: Sequence[float], found: Sequence[bool], generator: np.random.Generator, *, draws: int = 200
) -> tuple[float, float]:
    """Bootstrap 90 % interval of `smallest_rate_with_power`; 1.0 stands for "no rate"."""
    rates_, found_ = np.asarray(rates), np.asarray(found)
    made = []
    for _ in range(draws):
        rows = generator.integers(0, len(rates_), len(rates_))
        smallest = smallest_rate_with_power(rates_[rows].tolist(), found_[rows].tolist())
        made.append(1.0 if smallest is None else smallest)
    low, high = np.quantile(made, (0.05, 0.95))
    return float(low), float(high)


PARTS = (*ORDERS, "calibration")


def measure_power(name: str, *, batches: int, seed: int, skills: int, workers: int) -> dict[str, Any]:
    """One part of the power results. Raises `UsageError` for an unknown name."""
    if name not in PARTS:
        raise UsageError(f"nothing to measure is called {name!r}; there are: {', '.join(PARTS)}")
    if name == "calibration":
        return calibration(batches=batches, seed=seed, skills=skills, workers=workers)
    return power_curve(name, batches=batches, seed=seed, skills=skills, workers=workers)


def power_curve(order: str, *, batches: int, seed: int, skills: int, workers: int) -> dict[str, Any]:
    """Smallest rate with 90 % power against budget, for one order, whole and by depth."""
    budgets = [max(500, round(budget * skills / 1200)) for budget in BUDGETS]
    started = processor_seconds()
    run = partial(plant, mix=ORDERS[order], budget=budgets[-1], skills=skills)
    planted = [one for batch in each(run, range(seed, seed + batches), workers) for one in batch]
    generator = np.random.default_rng([seed, 5])
    depths = {"all depths": planted} | {
        f"from turn {turn}": [one for one in planted if one.delay == f"turn {turn}"] for turn in (1, 3, 6)
    }
    curves = {
        name: [_point(mine, budget, generator) for budget in budgets] for name, mine in depths.items() if mine
    }
    return {
        "kind": "power",
        "skills": skills,
        "seeds": [seed, seed + batches],
        "planted": len(planted),
        "power": POWER,
        "rates": list(RATES),
        "curves": curves,
        "processor_seconds": round(processor_seconds() - started, 1),
    }


def _point(planted: Sequence[Planted], budget: int, generator: np.random.Generator) -> dict[str, Any]:
    rates = [one.rate for one in planted]
    found = [one.found_at is not None and one.found_at <= budget for one in planted]
    smallest = smallest_rate_with_power(rates, found)
    low, high = interval_of_smallest(rates, found, generator)
    return {
        "episodes": budget,
        "found": sum(found),
        "of": len(found),
        "smallest": None if smallest is None else round(smallest, 3),
        "interval": [round(low, 3), round(high, 3)],
    }


def calibration(*, batches: int, seed: int, skills: int, workers: int) -> dict[str, Any]:
    """Stated smallest rates against truth at several budgets."""
    started = processor_seconds()
    points = []
    for budget in (max(500, round(one * skills / 1200)) for one in STATED):
        run = partial(check, budget=budget, skills=skills)
        made: list[Checked] = list(each(run, range(seed, seed + batches), workers))
        planted = sum(one.planted for one in made)
        points.append(
            {
                "episodes": budget,
                "stated": round(sum(one.stated for one in made) / len(made), 4),
                "unseen": rate(sum(one.unseen for one in made), planted),
                "missed": rate(sum(one.missed for one in made), planted),
            }
        )
    return {
        "kind": "calibration",
        "skills": skills,
        "seeds": [seed, seed + batches],
        "promised": 0.05,
        "points": points,
        "processor_seconds": round(processor_seconds() - started, 1),
    }
