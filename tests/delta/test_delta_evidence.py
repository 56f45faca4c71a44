"""Error rates and power of the conjunction tests, checked against simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.delta.evidence import (
    e_bh,
    e_value,
    margin_e_value,
    matched_shape,
    ratio_e_value,
    smallest_rate,
    wilson_interval,
)


def test_type_one_error_holds_under_optional_stopping() -> None:
    generator = np.random.default_rng(11)
    rejected = 0
    for _ in range(400):
        # True difference exactly at the margin: the edge of the null.
        whole = generator.random(120) < 0.38
        lacking = generator.random(120) < 0.30
        differences = whole.astype(float) - lacking - 0.08
        if any(e_value(differences[:n], lowest=-1.08) >= 20 for n in range(5, 121, 5)):
            rejected += 1
    assert rejected / 400 <= 0.05


def test_a_clear_conjunction_is_found_within_thirty_rounds() -> None:
    generator = np.random.default_rng(5)
    found = 0
    for _ in range(100):
        whole = (generator.random(30) < 0.95).astype(float)
        arms = {name: (generator.random(30) < 0.03).astype(float) for name in ("history", "partner")}
        found += margin_e_value(whole, arms) >= 20
    assert found >= 99


def test_one_element_that_is_not_needed_takes_all_evidence_away() -> None:
    whole = [1.0] * 50
    assert margin_e_value(whole, {"needed": [0.0] * 50, "not needed": [1.0] * 50}) < 1
    assert margin_e_value(whole, {"needed": [0.0] * 50}) > 1000


def test_arms_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="without 'x' has 1 rounds, the whole has 2"):
        margin_e_value([1.0, 1.0], {"x": [0.0]})


def test_e_bh_keeps_the_false_discovery_rate() -> None:
    generator = np.random.default_rng(3)
    proportions = []
    for _ in range(200):
        values = {}
        for number in range(30):
            real = number < 6
            whole = (generator.random(60) < (0.9 if real else 0.3)).astype(float)
            lacking = (generator.random(60) < (0.05 if real else 0.3)).astype(float)
            values[f"{'real' if real else 'null'}{number}"] = margin_e_value(whole, {"x": lacking})
        kept = e_bh(values, level=0.1)
        assert sum(name.startswith("real") for name in kept) >= 5
        proportions.append(sum(name.startswith("null") for name in kept) / max(len(kept), 1))
    assert np.mean(proportions) <= 0.1


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1e6), max_size=20))
def test_e_bh_rejects_a_prefix_of_the_evidence(values: dict[str, float]) -> None:
    kept = e_bh(values)
    assert len(kept) <= len(values)
    if kept:
        assert min(values[name] for name in kept) >= max(
            (value for name, value in values.items() if name not in kept), default=0
        )


def test_matched_shape_agrees_with_the_published_ratio_without_noise() -> None:
    ones, zeros = [1.0] * 10, [0.0] * 10
    assert matched_shape(ones, {"a": zeros, "b": zeros}, zeros) == 0.0
    assert matched_shape(ones, {"a": ones, "b": zeros}, zeros) == 1.0
    assert matched_shape(zeros, {"a": zeros}, zeros) == 1.0


def test_ratio_label_needs_more_than_half_the_effect_on_each_element() -> None:
    ones, zeros = [1.0] * 40, [0.0] * 40
    half = [1.0, 0.0] * 20
    assert ratio_e_value(ones, {"a": zeros}, zeros) > 1000
    assert ratio_e_value(ones, {"a": half}, zeros) < 20


@settings(max_examples=100)
@given(st.integers(0, 50), st.integers(1, 50))
def test_wilson_interval_holds_the_observed_rate(hits: int, runs: int) -> None:
    hits = min(hits, runs)
    low, high = wilson_interval(hits, runs)
    assert 0 <= low <= hits / runs + 1e-9 and hits / runs - 1e-9 <= high <= 1


def test_smallest_rate_is_the_rate_that_would_be_missed_one_time_in_twenty() -> None:
    rate = smallest_rate(58)
    assert (1 - rate) ** 58 == pytest.approx(0.05)
    assert smallest_rate(0) == 1.0
