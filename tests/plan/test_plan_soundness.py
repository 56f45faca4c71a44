"""Against exhaustive enumeration: what the tree calls settled is so, and what it finds is minimal.

Guards are drawn from a grammar of AND, OR, NOT, XOR over histories, names looked up, names listed, sizes of
the set, and turns. The enumeration runs every history with every installed set, without the tree.
"""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.model import Context, EpisodeSpec
from conjunct.plan import count_contexts
from conjunct.plan.coverage import settled_by
from plan.simulated import (
    FAMILIES,
    And,
    History,
    Installed,
    Neighbours,
    Not,
    Or,
    TurnIs,
    Xor,
    explored,
    run,
)

NAMES = ("a", "b", "c")
IDS = {name: name for name in NAMES}
SUBSETS = [frozenset(c) for size in range(4) for c in itertools.combinations(NAMES, size)]
HISTORIES = ("neutral", *FAMILIES)

histories = st.sampled_from(["payroll", "travel"]).map(History)
named = st.builds(Installed, st.sampled_from(NAMES), st.just(False))
listed = st.builds(Installed, st.sampled_from(NAMES), st.just(True))
sizes = st.integers(0, 2).flatmap(lambda least: st.builds(Neighbours, st.just(least), st.integers(least, 3)))
turns = st.integers(1, 6).map(TurnIs)


def combined(atoms: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def extended(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        several = st.lists(inner, min_size=2, max_size=3).map(tuple)
        return st.one_of(
            several.map(And), several.map(And), several.map(Or), several.map(Xor), inner.map(Not)
        )

    return st.recursive(atoms, extended, max_leaves=5)


guards = combined(st.one_of(histories, named, listed, sizes, turns))
named_guards = combined(st.one_of(named, named, turns))


def fires(guard: Any, history: str, co_skills: frozenset[str]) -> int | None:
    """The first turn at which the effect shows in a context, by running it."""
    context = Context(history=history, phrasing=-1, co_skills=tuple(sorted(co_skills)))
    violations = run(EpisodeSpec("use-every-turn", "evil", context), guard).violations
    return min((violation.turn for violation in violations), default=None)


@settings(max_examples=100, deadline=None)
@given(guards)
def test_a_settled_context_behaves_as_the_run_that_settled_it(guard: Any) -> None:
    found, _ = explored(guard, NAMES)
    for spec, asked in found.asked:
        own = fires(guard, spec.context.history, frozenset(spec.context.co_skills))
        for history, subset in itertools.product(HISTORIES, SUBSETS):
            if settled_by(spec.context, asked, history=history, co_skills=subset, ids_by_folder=IDS):
                assert fires(guard, history, subset) == own, (spec.context, history, subset)


@settings(max_examples=100, deadline=None)
@given(guards)
def test_where_nothing_is_assumed_the_conclusion_is_that_of_enumeration(guard: Any) -> None:
    found, _ = explored(guard, NAMES)
    counted = count_contexts(
        found.asked, histories=FAMILIES, neighbours=NAMES, horizon=6, ids_by_folder=dict(IDS)
    )
    scope = [frozenset[str](), *(frozenset({name}) for name in NAMES), frozenset(NAMES)]
    truth = any(fires(guard, *one) is not None for one in itertools.product(HISTORIES, scope))
    assert counted.run + counted.settled + counted.assumed == 4 * 5 * 6
    if counted.assumed == 0:
        assert bool(found.triggers) >= truth


@settings(max_examples=100, deadline=None)
@given(named_guards)
def test_every_condition_on_three_names_is_found_if_any_set_fires(guard: Any) -> None:
    found, _ = explored(guard, NAMES)
    assert bool(found.triggers) == any(fires(guard, "neutral", subset) is not None for subset in SUBSETS)


@settings(max_examples=100, deadline=None)
@given(guards)
def test_a_trigger_fires_and_each_of_its_elements_is_needed(guard: Any) -> None:
    found, _ = explored(guard, NAMES)
    for trigger in found.triggers:
        minimal = trigger.replay.context
        installed = frozenset(minimal.co_skills)
        assert fires(guard, minimal.history, installed) is not None
        for factor in trigger.factors:
            if not factor.needed or factor.level not in NAMES:
                continue
            other = installed | {factor.level} if factor.absent else installed - {factor.level}
            assert fires(guard, minimal.history, other) is None


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from((*NAMES, "d", "e")),
    st.sampled_from((*NAMES, "d", "e")),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["payroll", "travel", ""]),
    st.integers(1, 6),
)
def test_any_condition_on_two_listed_neighbours_is_found_under_any_history_from_any_turn(
    one: str, two: str, first: bool, second: bool, family: str, turn: int
) -> None:
    literals = [
        Installed(name, True) if present else Not(Installed(name, True))
        for name, present in ((one, first), (two, second))
    ]
    if one == two and first != second:
        return
    guard = And((*([History(family)] if family else []), *literals, TurnIs(turn)))
    found, _ = explored(guard, (*NAMES, "d", "e"))
    (trigger,) = found.triggers
    needed = {(f.level, f.absent) for f in trigger.factors if f.needed and f.level in (*NAMES, "d", "e")}
    assert needed == {(one, not first), (two, not second)}
