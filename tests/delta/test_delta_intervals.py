"""Intervals cover, contrasts isolate, nulls are measured, and rows give what loops give."""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.delta.contrasts import mobius_contrasts
from conjunct.delta.evidence import e_bh, margin_e_value
from conjunct.delta.intervals import exact_interval, score_interval
from conjunct.delta.null import attention_half, base_rates, differs_from_null, true_rate
from conjunct.delta.rows import e_bh_rows, margin_e_values
from conjunct.errors import UsageError


def test_exact_interval_agrees_with_published_values() -> None:
    assert exact_interval(0, 10) == pytest.approx((0.0, 0.3085), abs=1e-4)
    assert exact_interval(5, 10) == pytest.approx((0.1871, 0.8129), abs=1e-4)
    assert exact_interval(59, 60) == pytest.approx((0.9106, 0.9996), abs=1e-4)
    assert exact_interval(0, 0) == (0.0, 1.0)
    with pytest.raises(ValueError, match="between 0 and"):
        exact_interval(3, 2)


def test_exact_interval_covers_at_least_as_often_as_it_says() -> None:
    generator = np.random.default_rng(2)
    intervals = {hits: exact_interval(hits, 40) for hits in range(41)}
    for rate in (0.01, 0.1, 0.5):
        hits = generator.binomial(40, rate, 3000)
        covered = np.mean([intervals[k][0] <= rate <= intervals[k][1] for k in hits.tolist()])
        assert covered >= 0.95


def test_score_interval_covers_s_and_is_wide_with_few_repeats() -> None:
    generator = np.random.default_rng(4)
    single, compositional, base = [0.12, 0.1], [0.5, 0.1, 0.1], 0.1
    truth = 0.02 / 0.4
    covered = 0
    for _ in range(200):

        def cells(rates: list[float]) -> list[tuple[int, int, int, int]]:
            return [(generator.binomial(80, r), 80, generator.binomial(80, base), 80) for r in rates]

        low, high = score_interval(cells(single), cells(compositional))
        covered += low <= truth <= high
    assert covered / 200 >= 0.95
    few = score_interval([(0, 1, 0, 1)] * 40, [(0, 1, 0, 1)] * 1000)
    assert few[0] == 0.0 and few[1] == float("inf")
    assert score_interval([(1, 1, 0, 1)], []) == (1.0, 1.0)


@settings(max_examples=40)
@given(st.lists(st.integers(0, 20), min_size=8, max_size=8))
def test_contrasts_add_up_to_the_rates(hits: list[int]) -> None:
    subsets = [frozenset(some) for size in range(4) for some in combinations("abc", size)]
    arms = {subset: (count, 20) for subset, count in zip(subsets, hits, strict=True)}
    contrasts = mobius_contrasts(arms)
    for subset in subsets:
        total = sum(contrasts[other].value for other in subsets if other <= subset)
        assert total == pytest.approx(arms[subset][0] / 20)


def test_a_pure_conjunction_sits_in_one_contrast() -> None:
    subsets = [frozenset(some) for size in range(4) for some in combinations("abc", size)]
    contrasts = mobius_contrasts({s: (50 if s == frozenset("abc") else 0, 50) for s in subsets})
    assert [s for s, contrast in contrasts.items() if contrast.value] == [frozenset("abc")]
    with pytest.raises(UsageError, match="have no runs"):
        mobius_contrasts({frozenset("a"): (1, 2)})


def test_base_rates_are_measured_or_unknown() -> None:
    rates = base_rates({"leak": [False] * 59, "rude": [True] + [False] * 9, "new": []})
    assert rates["leak"].rate == 0.0 and rates["leak"].high == pytest.approx(0.0606, abs=1e-3)
    assert rates["rude"].low < 0.1 < rates["rude"].high
    assert (rates["new"].rate, rates["new"].low, rates["new"].high) == (1.0, 0.0, 1.0)


def test_a_drifting_harness_is_noticed_and_a_sound_one_is_not() -> None:
    assert differs_from_null([False] * 12, [True] * 12) < 0.001
    assert differs_from_null([True, False] * 10, [True, False] * 10) == 1.0
    with pytest.raises(ValueError, match="matched"):
        differs_from_null([True], [])


def test_the_errors_of_a_judge_are_taken_out() -> None:
    assert true_rate(0.05 + 0.3 * 0.85, false_rate=0.05, sensitivity=0.9) == pytest.approx(0.3)
    assert true_rate(0.01, false_rate=0.05, sensitivity=0.9) == 0.0
    with pytest.raises(ValueError, match="tells nothing"):
        true_rate(0.5, false_rate=0.5, sensitivity=0.5)


def test_attention_is_recovered_from_placebo_calls() -> None:
    generator = np.random.default_rng(1)
    calls = {size: (int(generator.binomial(4000, 0.9 / (1 + size / 100))), 4000) for size in (2, 24, 96, 300)}
    assert 75 <= attention_half(calls) <= 133
    with pytest.raises(ValueError, match="at least two sizes"):
        attention_half({4: (1, 2)})


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans(), st.booleans()), max_size=80))
def test_rows_give_the_e_values_of_the_loop(rows: list[tuple[int, int, bool, bool]]) -> None:
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    owners, values = margin_e_values(table[:, 0], table[:, 1], table[:, 2], table[:, 3])
    for owner, value in zip(owners.tolist(), values.tolist(), strict=True):
        loop = []
        for element in set(table[table[:, 0] == owner, 1].tolist()):
            here = table[(table[:, 0] == owner) & (table[:, 1] == element)]
            loop.append(margin_e_value(here[:, 2].astype(float), {"x": here[:, 3].astype(float)}))
        assert value == pytest.approx(min(loop))
    names = {str(owner): float(value) for owner, value in zip(owners, values, strict=True)}
    assert {str(o) for o in owners[e_bh_rows(values)]} == set(e_bh(names))


def test_undetermined_outcomes_are_refused() -> None:
    one = np.array([0])
    with pytest.raises(ValueError, match=r"0 .clean. or 1"):
        margin_e_values(one, one, [2], [0])
    with pytest.raises(ValueError, match="same number"):
        margin_e_values(one, one, [1, 0], [0])


def test_a_million_rows_take_seconds() -> None:
    generator = np.random.default_rng(0)
    candidate, element = generator.integers(0, 4000, 10**6), generator.integers(0, 2, 10**6)
    whole = generator.random(10**6) < np.where(candidate < 50, 0.8, 0.05)
    lacking = generator.random(10**6) < 0.05
    started = time.process_time()
    owners, values = margin_e_values(candidate, element, whole, lacking)
    rejected = owners[e_bh_rows(values)]
    assert time.process_time() - started < 25
    assert set(rejected.tolist()) == set(range(50))
