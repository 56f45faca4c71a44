"""Noisy bisection finds the minimal firing conjunction, and exactly it without noise."""

from __future__ import annotations

from collections.abc import Callable, Generator
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.plan.bisect import BisectRule, Conjunction, reduce_pool
from conjunct.plan.pools import NO_HISTORY, Flags, PoolRuns, Reals, one_run
from conjunct.plan.retest import Noise, RetestRule, retest

Guard = Callable[[frozenset[int], frozenset[int], int, int, int], bool]
"""(used, installed, history, horizon, first use) to whether the trigger's condition holds."""


def full_attention(sizes: Reals) -> Reals:
    return np.ones_like(sizes)


def falling_attention(sizes: Reals) -> Reals:
    return np.asarray(1.0 / (1.0 + sizes / 60.0))


def noise_of(base: float, attention: Callable[[Reals], Reals] = full_attention) -> Noise:
    return Noise(np.array([base]), np.ones(1), attention)


def answer(
    work: Generator[PoolRuns, Flags, Conjunction | None],
    guard: Guard,
    *,
    rate: float,
    noise: Noise,
    generator: np.random.Generator,
) -> tuple[Conjunction | None, int]:
    """Drive a plan against a guard; the conjunction and the runs it took."""
    spent = 0
    try:
        runs = next(work)
        while True:
            spent += len(runs)
            chance = rate * noise.attention(runs.sizes())
            holds = [
                guard(
                    frozenset(np.flatnonzero(runs.used[row]).tolist()),
                    frozenset(np.flatnonzero(runs.installed[row]).tolist()),
                    int(runs.history[row]),
                    int(runs.horizon[row]),
                    int(runs.first_use[row]),
                )
                for row in range(len(runs))
            ]
            fired = np.array(holds) & (generator.random(len(runs)) < chance)
            fired |= generator.random(len(runs)) < noise.base[0]
            runs = work.send(fired[:, None])
    except StopIteration as end:
        return end.value, spent


def minimal_by_enumeration(
    guard: Guard, skills: range, used: list[int], history: int, horizon: int
) -> set[tuple[frozenset[int], frozenset[int], int, int]]:
    """Every (used, present, history, turn) that fires and does not without any element."""
    firing = set()
    for family in {NO_HISTORY, history}:
        for turn in range(1, horizon + 1):
            for count in range(len(used) + 1):
                for acting in combinations(used, count):
                    others = [s for s in skills if s not in acting]
                    for size in range(len(others) + 1):
                        for present in combinations(others, size):
                            if guard(frozenset(acting), frozenset(acting + present), family, turn, 1):
                                firing.add((frozenset(acting), frozenset(present), family, turn))

    def below(one: tuple, other: tuple) -> bool:  # type: ignore[type-arg]
        return (
            one != other
            and one[0] <= other[0]
            and (one[0] | one[1]) <= (other[0] | other[1])
            and one[2] in (NO_HISTORY, other[2])
            and one[3] <= other[3]
        )

    return {item for item in firing if not any(below(other, item) for other in firing)}


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_without_noise_it_is_what_exhaustive_enumeration_finds(data: st.DataObject) -> None:
    skills, horizon, history = range(6), 3, 1
    used = [0, 1]
    clauses = data.draw(
        st.lists(
            st.tuples(
                st.sampled_from(used),
                st.frozensets(st.integers(0, 5), max_size=2),
                st.booleans(),
                st.integers(1, horizon),
            ),
            min_size=1,
            max_size=2,
        )
    )

    def guard(acting: frozenset[int], installed: frozenset[int], family: int, turns: int, first: int) -> bool:
        return any(
            actor in acting and partners <= installed and (family == history or not needs) and turns >= turn
            for actor, partners, needs, turn in clauses
        )

    pool = one_run(6, installed=[2, 3, 4, 5], used=used, history=history, horizon=horizon)
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    noise = noise_of(0.0)
    found, _ = answer(
        reduce_pool(pool, 0, 0, noise, generator, doubt=1e-9),
        guard,
        rate=1.0,
        noise=noise,
        generator=generator,
    )
    assert found is not None and not found.by_call
    place = (frozenset(found.used), frozenset(found.present), found.history, found.turn)
    assert place in minimal_by_enumeration(guard, skills, used, history, horizon)


@pytest.mark.parametrize(("base", "least"), [(0.0, 27), (0.02, 24)])
@pytest.mark.parametrize("partners", [(), (40,), (40, 77)])
def test_noisy_triggers_of_each_order_are_localised(
    base: float, least: int, partners: tuple[int, ...]
) -> None:
    def guard(acting: frozenset[int], installed: frozenset[int], family: int, turns: int, first: int) -> bool:
        return 2 in acting and installed.issuperset(partners) and family == 3 and turns >= 3

    noise = noise_of(base, falling_attention)
    right = 0
    for seed in range(30):
        generator = np.random.default_rng(seed)
        pool = one_run(120, installed=range(20, 100), used=[0, 1, 2, 3], history=3, horizon=6)
        found, _ = answer(
            reduce_pool(pool, 0, 0, noise, generator), guard, rate=0.6, noise=noise, generator=generator
        )
        right += found == Conjunction((2,), partners, 3, 3, False, 0, 6)
    assert right >= least


@pytest.mark.parametrize("by_call", [False, True])
def test_turns_and_calls_are_told_apart(by_call: bool) -> None:
    def guard(acting: frozenset[int], installed: frozenset[int], family: int, turns: int, first: int) -> bool:
        return 0 in acting and (turns - first + 1 if by_call else turns) >= 4

    noise, generator = noise_of(0.0), np.random.default_rng(4)
    pool = one_run(10, installed=range(10), used=[0], history=0, horizon=6)
    found, _ = answer(
        reduce_pool(pool, 0, 0, noise, generator), guard, rate=0.7, noise=noise, generator=generator
    )
    assert found == Conjunction((0,), (), NO_HISTORY, 4, by_call, 0, 6)


def test_a_false_alarm_is_given_up_cheaply() -> None:
    noise = noise_of(0.02)
    spent = []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        pool = one_run(120, installed=range(100), used=[0, 1, 2], history=0, horizon=6)
        found, runs = answer(
            reduce_pool(pool, 0, 0, noise, generator, doubt=0.5),
            lambda *_: False,
            rate=0.0,
            noise=noise,
            generator=generator,
        )
        assert found is None
        spent.append(runs)
    assert np.mean(spent) < 60


def test_two_used_skills_are_both_kept() -> None:
    def guard(acting: frozenset[int], installed: frozenset[int], family: int, turns: int, first: int) -> bool:
        return {1, 3} <= acting

    noise, generator = noise_of(0.0), np.random.default_rng(0)
    pool = one_run(30, installed=range(30), used=[0, 1, 2, 3], history=0, horizon=4)
    found, _ = answer(
        reduce_pool(pool, 0, 0, noise, generator), guard, rate=0.8, noise=noise, generator=generator
    )
    assert found is not None and set(found.used) == {1, 3} and found.present == ()


def test_a_limit_on_runs_ends_in_no_answer() -> None:
    noise, generator = noise_of(0.0), np.random.default_rng(0)
    pool = one_run(30, installed=range(30), used=[0, 1], history=0, horizon=4)
    found, spent = answer(
        reduce_pool(pool, 0, 0, noise, generator, rule=BisectRule(most=3)),
        lambda *_: True,
        rate=0.2,
        noise=noise,
        generator=generator,
    )
    assert found is None and spent <= 3


def test_retests_drop_what_does_not_fire_again() -> None:
    runs = one_run(5, installed=range(5), used=[0], history=0, horizon=4, times=3)
    noise = noise_of(5e-4)
    outcomes = np.array([[True], [True], [False]])
    rule = RetestRule(follow=12.0, patience=0.5)
    work = retest(runs, outcomes, noise, rule)
    asked = next(work)
    assert len(asked) == 2
    with pytest.raises(StopIteration) as end:
        work.send(np.array([[True], [False]]))
    assert [suspect.row for suspect in end.value.value] == [0]
