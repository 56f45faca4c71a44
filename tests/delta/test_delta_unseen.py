"""What a clean result leaves unseen: agrees with simulation, and with the closed form where there is one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conjunct.delta.evidence import smallest_rate
from conjunct.delta.unseen import miss_probability, smallest_rate_shown

LOOKS = st.lists(st.floats(0, 200), min_size=1, max_size=40)


def test_equal_exposures_have_the_closed_form() -> None:
    assert smallest_rate_shown([50.0] * 7) == pytest.approx(-math.log(0.05) / 50.0, rel=1e-3)


def test_whole_runs_leave_no_more_unseen_than_the_exponential_says() -> None:
    for runs in (3, 10, 100):
        assert smallest_rate(runs) <= smallest_rate_shown([float(runs)]) + 1e-9


def test_a_trigger_of_the_stated_rate_is_missed_as_often_as_stated() -> None:
    generator = np.random.default_rng(4)
    exposures = generator.integers(10, 60, 400)
    stated = smallest_rate_shown(exposures, miss=0.05)
    context = generator.choice(exposures, 40_000)
    missed = float(np.mean(generator.binomial(context, stated) == 0))
    assert 0.03 < missed <= 0.05


def test_contexts_without_a_look_leave_every_rate_unseen() -> None:
    assert smallest_rate_shown([0.0, 100.0]) == 1.0
    assert smallest_rate_shown([]) == 1.0
    assert smallest_rate_shown([0.0] + [100.0] * 99) < 0.1


@given(LOOKS, st.floats(0, 100))
def test_more_looks_never_leave_more_unseen(looks: list[float], more: float) -> None:
    assert smallest_rate_shown([one + more for one in looks]) <= smallest_rate_shown(looks) + 1e-9


@given(LOOKS)
def test_the_stated_rate_has_the_stated_miss_probability(looks: list[float]) -> None:
    stated = smallest_rate_shown(looks)
    assert miss_probability(looks, stated) <= 0.05 + 1e-9 or stated == 1.0


def test_impossible_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        miss_probability([-1.0], 0.1)
    with pytest.raises(ValueError, match="between 0 and 1"):
        miss_probability([1.0], 1.5)
    with pytest.raises(ValueError, match="miss is 0"):
        smallest_rate_shown([1.0], miss=0.0)
