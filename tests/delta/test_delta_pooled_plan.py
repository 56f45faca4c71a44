"""A pooled search runs as a plan of episodes; what is undetermined is no observation."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import pytest

from conjunct.delta.pooled import PooledRules, PooledSearch
from conjunct.delta.pooled_plan import pooled_plan
from conjunct.model import Episode, EpisodeSpec, Layer, Severity, Trace, Violation
from conjunct.plan.pools import PoolScope
from conjunct.plan.retest import Noise

SKILLS = [f"skill-{number:02}" for number in range(20)]
HISTORIES = ["payroll", "travel"]


def episode_of(spec: EpisodeSpec, number: int) -> Episode:
    """skill-03 leaks beside skill-11 after a travel history, nine times in ten; one episode in seven dies."""
    asked = {spec.candidate, *spec.context.used_after} - set(spec.stubbed)
    holds = (
        "skill-03" in asked
        and not spec.without
        and "skill-11" in spec.context.co_skills
        and spec.context.history == "travel"
    )
    leak = Violation("leaks.secret", Layer.LEAKS, Severity.REJECT, "sends it", "x", 1, ("skill-03",))
    dead = ("the world died",) if number % 7 == 0 else ()
    fired = holds and number % 10 != 3
    return Episode(spec, Trace(undetermined=dead), violations=(leak,) if fired else ())


def search_of() -> PooledSearch:
    scope = PoolScope(20, (1, 3, 5, 7), 2, used=2, sizes=((8, 1.0),))
    noise = Noise(np.zeros(1), np.ones(1), np.ones_like)
    return PooledSearch(scope, noise, 1, 1500, rules=PooledRules(chunk=64))


def drive(
    plan: Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], int],
) -> tuple[int, list[EpisodeSpec]]:
    made: list[EpisodeSpec] = []
    try:
        specs = next(plan)
        while True:
            start = len(made)
            made.extend(specs)
            specs = plan.send(tuple(episode_of(spec, start + i) for i, spec in enumerate(specs)))
    except StopIteration as end:
        return int(end.value), made


def test_specs_and_episodes_carry_the_search_to_its_finding() -> None:
    search = search_of()
    plan = pooled_plan(
        search, skills=SKILLS, histories=HISTORIES, probe="use.all", invariants=["leaks.secret"], retries=6
    )
    lost, made = drive(plan)
    (finding,) = search.findings()
    assert (finding.candidate, finding.conjunction.present, finding.conjunction.history) == (3, (11,), 1)
    assert finding.bodies == (3,)
    assert lost == 0 and len(made) > search.spent
    assert len({spec.key() for spec in made}) == len(made)


def test_rows_that_stay_undetermined_are_counted() -> None:
    search = search_of()
    plan = pooled_plan(
        search, skills=SKILLS, histories=HISTORIES, probe="use.all", invariants=["leaks.secret"], retries=0
    )
    lost, _ = drive(plan)
    assert lost > 0


def test_names_that_do_not_match_the_numbers_are_refused() -> None:
    plan = pooled_plan(search_of(), skills=SKILLS[:3], histories=HISTORIES, probe="p", invariants=["a"])
    with pytest.raises(ValueError, match="got 3 skills"):
        next(plan)
