"""The read-set tree finds the exact conjunction and runs next to nothing where nothing is touched."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.model import EVERY_HISTORY, CommandRecord, Context, Episode, EpisodeSpec, FactorKind
from conjunct.plan import Exploration, count_contexts, explore
from plan.simulated import (
    And,
    Arguments,
    Before,
    Call,
    History,
    Installed,
    Not,
    Or,
    TurnIs,
    explored,
    holds,
    run,
    scope,
)

MANY = tuple(f"skill-{number:03d}" for number in range(200))


def needed(trigger: Any) -> set[tuple[FactorKind, str]]:
    return {(factor.factor, factor.level) for factor in trigger.factors if factor.needed}


def test_a_skill_that_looks_at_nothing_is_settled_by_one_run() -> None:
    found, episodes = explored(TurnIs(99), MANY)
    assert episodes == 4  # neutral, two argument sets, and the neutral run with line coverage
    assert all(episode.spec.context.history == "neutral" for episode in found.episodes)
    assert found.triggers == []
    count = count_contexts(
        found.asked,
        histories=("payroll", "travel", "health"),
        neighbours=MANY,
        horizon=6,
        ids_by_folder={name: name for name in MANY},
    )
    assert (count.run, count.assumed) == (6, 0)
    assert count.settled == (4 * 202 - 1) * 6


def test_history_and_co_skill_and_third_turn_is_found_exactly() -> None:
    found, episodes = explored(
        And((History("payroll"), Installed("skill-137", by_listing=True), TurnIs(3))), MANY
    )
    (trigger,) = found.triggers
    assert needed(trigger) == {
        (FactorKind.HISTORY, "payroll"),
        (FactorKind.CO_SKILLS, "skill-137"),
        (FactorKind.TURN, "turn >= 3"),
    }
    assert trigger.sentence == "history mentions payroll AND skill-137 is installed AND turn >= 3"
    assert trigger.reproduced and trigger.turn == 3
    assert all(factor.removed_hits == 0 for factor in trigger.factors)
    assert episodes < 60


def test_third_call_is_told_from_third_turn() -> None:
    found, _ = explored(Call(3), ())
    (trigger,) = found.triggers
    assert trigger.sentence == "call >= 3"


def test_what_the_request_is_about_may_be_part_of_the_conjunction() -> None:
    found, episodes = explored(And((Arguments("office"), History("travel"), Installed("skill-009"))), MANY)
    (trigger,) = found.triggers
    assert needed(trigger) == {
        (FactorKind.ARGUMENTS, "office"),
        (FactorKind.HISTORY, "travel"),
        (FactorKind.CO_SKILLS, "skill-009"),
    }
    assert episodes < 60


def test_an_unconditional_effect_needs_nothing() -> None:
    found, _ = explored(TurnIs(1), MANY)
    (trigger,) = found.triggers
    assert trigger.sentence == "always"
    assert trigger.factors == ()


def test_two_neighbours_are_both_named() -> None:
    both = And((Installed("skill-003", by_listing=True), Installed("skill-190", by_listing=True)))
    found, _ = explored(both, MANY)
    (trigger,) = found.triggers
    assert needed(trigger) == {(FactorKind.CO_SKILLS, "skill-003"), (FactorKind.CO_SKILLS, "skill-190")}


def test_a_suppressor_that_is_looked_up_by_name_does_not_hide_the_effect() -> None:
    guard = And((Installed("skill-001"), Not(Installed("skill-002"))))
    found, _ = explored(guard, MANY)
    (trigger,) = found.triggers
    assert needed(trigger) == {(FactorKind.CO_SKILLS, "skill-001"), (FactorKind.CO_SKILLS, "skill-002")}
    assert [factor.level for factor in trigger.factors if factor.absent] == ["skill-002"]
    assert trigger.sentence == "skill-001 is installed AND skill-002 is not installed"


def test_a_partner_whose_body_is_needed_shares_the_blame() -> None:
    start = Context(co_skills=("skill-001",), used_before=("skill-001",))
    found, _ = explored(Before("skill-001"), ("skill-001", "skill-002"), starts=[start])
    (trigger,) = found.triggers
    assert needed(trigger) == {(FactorKind.USED_BEFORE, "skill-001")}
    assert trigger.actors == ("evil", "skill-001")


atoms = st.one_of(
    st.sampled_from(["payroll", "travel"]).map(History),
    st.builds(Installed, st.sampled_from(["a", "b", "c"]), st.booleans()),
    st.integers(1, 6).map(TurnIs),
)
conjunctions = st.lists(atoms, min_size=1, max_size=3).map(lambda found: And(tuple(found)))


@settings(max_examples=150, deadline=None)
@given(st.lists(conjunctions, min_size=1, max_size=2).map(lambda found: Or(tuple(found))))
def test_monotone_guards_are_found_exactly_when_enumeration_finds_them(guard: Any) -> None:
    names = ("a", "b", "c")
    fires = any(
        holds(guard, EpisodeSpec("p", "evil", Context(history=history, co_skills=chosen)), turn, [])
        for history in ("neutral", "payroll", "travel", "health", EVERY_HISTORY)
        for size in range(4)
        for chosen in itertools.combinations(names, size)
        for turn in range(1, 7)
    )
    found, _ = explored(guard, names)
    assert bool(found.triggers) == fires
    for trigger in found.triggers:
        minimal = trigger.replay.context
        assert holds(guard, trigger.replay, minimal.horizon, [])
        for skill in minimal.co_skills:
            rest = tuple(other for other in minimal.co_skills if other != skill)
            less = EpisodeSpec("p", "evil", Context(history=minimal.history, co_skills=rest))
            assert not holds(guard, less, 6, [])


@settings(max_examples=150, deadline=None)
@given(st.lists(conjunctions, min_size=1, max_size=2).map(lambda found: Or(tuple(found))), st.data())
def test_a_settled_context_behaves_as_the_run_that_settled_it(guard: Any, data: st.DataObject) -> None:
    names = ("a", "b", "c")
    found, _ = explored(guard, names)
    one = scope(names)
    by_folder = dict(one.table.ids_by_folder)
    history = data.draw(st.sampled_from(["neutral", *one.histories]))
    co_skills = data.draw(st.sampled_from([(), ("a",), ("b",), ("c",), names]))
    whole = count_contexts(
        found.asked, histories=one.histories, neighbours=names, horizon=6, ids_by_folder=by_folder
    )
    assert whole.run + whole.settled + whole.assumed == 4 * 5 * 6
    truth = any(
        holds(guard, EpisodeSpec("p", "evil", Context(history=history, co_skills=co_skills)), turn, [])
        for turn in range(1, 7)
    )
    if truth and whole.assumed == 0:
        assert found.triggers


def test_the_clock_is_varied_once_where_the_source_reads_it() -> None:
    one = scope(("a", "b"))
    two_probes = replace(
        one,
        probes=(*one.probes, replace(one.probes[0], id="again")),
        clocks=("neutral", "night"),
        reads_clock=True,
    )
    found = Exploration("evil")
    plan = explore(two_probes, found)
    record = CommandRecord(0, 1, ("python3", "x.py"), "/home/sam", "evil", "SKILL.md", 3, "exit", 0)

    def made(spec: EpisodeSpec) -> Episode:
        episode = run(spec, TurnIs(99))
        return replace(episode, trace=replace(episode.trace, commands=(record,)))

    clocks: list[str] = []
    try:
        specs = next(plan)
        while True:
            clocks += [spec.context.clock for spec in specs]
            specs = plan.send(tuple(made(spec) for spec in specs))
    except StopIteration:
        pass
    assert clocks.count("night") == 1
