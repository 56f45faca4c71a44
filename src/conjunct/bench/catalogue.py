"""What `conjunct bench gates` measures, by name, and how: batch after batch, in worker processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from conjunct.bench.batches import (
    BYTE_EXACT,
    HARDER,
    JUDGES,
    REFERENCE,
    SMALL_SETS,
    THIRD_ORDER,
    WORSE_JUDGES,
)
from conjunct.bench.gates import (
    Rival,
    Searched,
    run_rivals,
    search_band,
    search_new,
    search_registry,
    summed,
    summed_rivals,
)
from conjunct.bench.results import processor_seconds, record_part
from conjunct.errors import UsageError

REFERENCE_SKILLS = 1200
FEWEST_SKILLS = 150
"""Skills of the smallest registry: 47 in the band, neighbours, and room for pools."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One row, or one group of rows, of the report."""

    one: Callable[..., Any]
    """Seed (and `budget` and `skills`) to what came out of that batch."""
    budgets: tuple[int, ...] = ()
    """Episodes at which recall is told, for 1,200 skills; the largest is spent. Empty for other gates."""
    share: float = 1.0
    """Batches made, as a share of those asked for: what costs much is measured less often."""
    scales: bool = True
    """Whether budgets grow with the registry."""


_EXACT = (5_000, 10_000, 20_000, 32_000, 51_000, 60_000)
_NOISY = (50_000, 107_000, 184_000)

MEASUREMENTS: Mapping[str, Measurement] = {
    "reference, byte-exact": Measurement(partial(search_band, mix=REFERENCE), _EXACT),
    "harder, byte-exact": Measurement(partial(search_band, mix=HARDER), _EXACT),
    "reference, judges": Measurement(partial(search_band, mix=REFERENCE, evidence=JUDGES), _NOISY[:2], 0.4),
    "harder, judges": Measurement(partial(search_band, mix=HARDER, evidence=JUDGES), _NOISY, 0.4),
    "reference, worse judges": Measurement(
        partial(search_band, mix=REFERENCE, evidence=WORSE_JUDGES), _NOISY[:2], 0.1
    ),
    "one new skill acts": Measurement(partial(search_new, acts=True), (1_000, 2_000, 4_000, 8_300)),
    "one new skill is the partner": Measurement(
        partial(search_new, acts=False), (2_000, 4_000, 8_300, 12_800), 0.5
    ),
    "reference, byte-exact, 2 used": Measurement(partial(search_band, mix=REFERENCE, used=2), _EXACT, 0.2),
    "order 3, byte-exact": Measurement(partial(search_band, mix=THIRD_ORDER), (60_000, 200_000), 0.1),
    "small sets only, byte-exact": Measurement(partial(search_band, mix=SMALL_SETS), _EXACT, 0.1),
    "whole registry, byte-exact": Measurement(search_registry, (100_000, 200_000, 400_000), 0.1),
    "other gates: reference, byte-exact": Measurement(
        partial(run_rivals, mix=REFERENCE, evidence=BYTE_EXACT)
    ),
    "other gates: harder, byte-exact": Measurement(partial(run_rivals, mix=HARDER, evidence=BYTE_EXACT)),
    "other gates: reference, judges": Measurement(partial(run_rivals, mix=REFERENCE, evidence=JUDGES)),
    "other gates: harder, judges": Measurement(partial(run_rivals, mix=HARDER, evidence=JUDGES)),
}
"""Mixes and evidence are described where they are defined, in `conjunct.bench.batches`."""


def chosen(names: Sequence[str]) -> dict[str, Measurement]:
    """The measurements with these names, all for none. Raises `UsageError` for an unknown one."""
    unknown = [name for name in names if name not in MEASUREMENTS]
    if unknown:
        raise UsageError(f"nothing to measure is called {unknown[0]!r}; there are: {'; '.join(MEASUREMENTS)}")
    return {name: one for name, one in MEASUREMENTS.items() if not names or name in names}


def measure(
    name: str, *, batches: int, seed: int = 0, skills: int = REFERENCE_SKILLS, workers: int = 1
) -> dict[str, Any]:
    """Measure one part on about `batches` batches with consecutive seeds from `seed` on.

    Raises `UsageError` for an unknown name or a registry too small for the reference band.
    """
    measurement = chosen([name])[name]
    if skills < FEWEST_SKILLS:
        raise UsageError(
            f"{skills} skills: give at least {FEWEST_SKILLS}, so that a band of 47 has neighbours"
        )
    count = max(1, round(batches * measurement.share))
    scale = skills / REFERENCE_SKILLS if measurement.scales else 1.0
    budgets = tuple(max(500, round(budget * scale)) for budget in measurement.budgets)
    run = partial(measurement.one, skills=skills)
    if budgets:
        run = partial(run, budget=budgets[-1])
    wall, processor = time.perf_counter(), processor_seconds()
    made = list(each(run, range(seed, seed + count), workers))
    spent = {
        "wall_seconds": round(time.perf_counter() - wall, 1),
        "processor_seconds": round(processor_seconds() - processor, 1),
    }
    if budgets:
        searches: list[Searched] = []
        for one in made:
            searches.extend(one if isinstance(one, tuple) else (one,))
        found = summed(searches, budgets)
    else:
        rivals: list[tuple[Rival, ...]] = made
        found = summed_rivals(rivals)
    return {
        "kind": "pools" if budgets else "gates",
        "skills": skills,
        "seeds": [seed, seed + count],
        "asked": batches,
        **spent,
    } | found


def each(run: Callable[[int], Any], seeds: Sequence[int], workers: int) -> Iterator[Any]:
    """What `run` gives for each seed, in order; in `workers` processes where there is more than one."""
    if workers <= 1 or len(seeds) == 1:
        yield from map(run, seeds)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(run, seeds)


def measure_all(
    names: Sequence[str],
    path: Path,
    *,
    batches: int,
    seed: int,
    skills: int,
    workers: int,
    told: Callable[[str], None],
) -> None:
    """Measure and record part by part, so that stopping keeps what is done."""
    for name in chosen(names):
        part = measure(name, batches=batches, seed=seed, skills=skills, workers=workers)
        stored = name if skills == REFERENCE_SKILLS else f"{name}, {skills} skills"
        record_part(path, stored, part)
        told(f"{stored}: {part['batches']} searches, {part['processor_seconds']} s of processor time")
