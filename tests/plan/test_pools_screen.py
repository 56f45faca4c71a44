"""Pools: what a round covers, what is counted as looked at, and how rows become episode specs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.model import NEUTRAL
from conjunct.plan.pools import NO_HISTORY, PoolScope, Screen, one_run, specs_of, together


def screen_of(scope: PoolScope, seed: int = 0) -> Screen:
    return Screen(scope, np.random.default_rng(seed))


@settings(max_examples=25, deadline=None)
@given(
    st.integers(6, 40), st.integers(1, 6), st.integers(1, 4), st.integers(2, 5), st.integers(6, 20), st.data()
)
def test_one_round_looks_at_every_triple(
    skills: int, candidates: int, histories: int, used: int, size: int, data: st.DataObject
) -> None:
    chosen = data.draw(st.permutations(range(skills)))[:candidates]
    scope = PoolScope(skills, tuple(chosen), histories, used=used, sizes=((size, 1.0),))
    screen = screen_of(scope, data.draw(st.integers(0, 99)))
    first = screen.draw(1)
    cells = len(screen._rounds[size].cells)
    runs = together([first, screen.draw(cells)]) if cells else first
    screen.count_clean(runs, np.ones(len(runs)))
    assert (screen.clean > 0).all()


def test_pools_keep_their_size_and_use_only_candidates() -> None:
    scope = PoolScope(200, tuple(range(20)), 3, used=4, sizes=((16, 0.5), (50, 0.5)))
    runs = screen_of(scope).draw(300)
    assert set(runs.sizes()) <= {float(size) for size in range(11, 51)}
    assert not runs.used[:, 20:].any() and (runs.used & ~runs.installed).sum() == 0
    assert runs.used.sum(axis=1).max() <= 4


def test_few_partners_are_filled_up_with_other_skills_to_the_size_deployed() -> None:
    scope = PoolScope(300, tuple(range(1, 300)), 2, partners=(0,), used=4, sizes=((24, 1.0),))
    runs = screen_of(scope).draw(100)
    assert runs.installed[:, 0].all()
    assert runs.sizes().min() >= 18


def test_rounds_are_cut_anew() -> None:
    scope = PoolScope(60, tuple(range(4)), 1, used=4, sizes=((20, 1.0),))
    screen = screen_of(scope)
    round_of = -(-60 // 16)
    first, second = screen.draw(round_of), screen.draw(round_of)
    assert not {tuple(row) for row in first.installed} & {tuple(row) for row in second.installed}


def test_a_decided_skill_is_present_but_not_used_any_more() -> None:
    scope = PoolScope(30, (0, 1, 2), 1, used=2, sizes=((10, 1.0),))
    screen = screen_of(scope)
    screen.drop(1)
    runs = screen.draw(60)
    assert not runs.used[:, 1].any() and runs.installed[:, 1].any()
    screen.drop(0)
    assert not screen.exhausted
    screen.drop(2)
    assert screen.exhausted


@pytest.mark.parametrize(
    ("settings_of", "words"),
    [
        ({"candidates": (9,)}, "outside the registry"),
        ({"candidates": ()}, "at least 1"),
        ({"candidates": (0,), "sizes": ((1, 1.0),)}, "size of at least 2"),
    ],
)
def test_a_scope_that_cannot_be_searched_is_refused(settings_of: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        PoolScope(skills=5, histories=2, **settings_of)  # type: ignore[arg-type]


def test_rows_become_specs_that_are_fresh_runs() -> None:
    row = one_run(4, installed=[2], used=[0, 3], history=1, horizon=5, stubbed=[2], times=2)
    bare = one_run(4, installed=[], used=[], history=NO_HISTORY, horizon=5)
    specs = list(
        specs_of(
            together([row, bare]),
            skills=["a", "b", "c", "d"],
            histories=["payroll", "travel"],
            probe="use.all",
        )
    )
    first = specs[0]
    assert (first.candidate, first.context.history, first.context.horizon) == ("a", "travel", 5)
    assert first.context.co_skills == ("c", "d") and first.context.used_after == ("d",)
    assert first.stubbed == ("c",) and not first.without
    assert len({spec.key() for spec in specs}) == 3
    assert specs[2].without and specs[2].context.history == NEUTRAL
