"""Guards of every kind are found exactly: clues, suppressors, parity, counts, delays, order four."""

from __future__ import annotations

from typing import Any

import pytest

from conjunct.model import FactorKind
from conjunct.plan import Clues
from plan.simulated import (
    HOME,
    And,
    Arguments,
    Call,
    Clock,
    Counted,
    Exists,
    History,
    Holds,
    InputSays,
    Installed,
    Neighbours,
    Network,
    Not,
    Or,
    TurnIs,
    Variable,
    Xor,
    explored,
)

MANY = tuple(f"skill-{number:03d}" for number in range(200))
FEW = tuple(f"skill-{number:03d}" for number in range(13))
CO = FactorKind.CO_SKILLS


def elements(trigger: Any) -> set[tuple[FactorKind, str, bool]]:
    return {(f.factor, f.level, f.absent) for f in trigger.factors if f.needed}


def listed(number: int) -> Installed:
    return Installed(f"skill-{number:03d}", by_listing=True)


def test_history_and_two_neighbours_and_a_turn_are_found_exactly() -> None:
    found, episodes = explored(And((History("travel"), listed(17), listed(140), TurnIs(4))), MANY)
    (trigger,) = found.triggers
    assert elements(trigger) == {
        (FactorKind.HISTORY, "travel", False),
        (CO, "skill-017", False),
        (CO, "skill-140", False),
        (FactorKind.TURN, "turn >= 4", False),
    }
    assert trigger.order == 4
    assert episodes < 120


def test_the_same_by_names_that_are_looked_up_one_after_the_other() -> None:
    guard = And((Installed("skill-017"), Installed("skill-140"), History("travel"), TurnIs(4)))
    found, episodes = explored(guard, MANY)
    (trigger,) = found.triggers
    assert {level for _, level, _ in elements(trigger)} == {"skill-017", "skill-140", "travel", "turn >= 4"}
    assert episodes < 80


@pytest.mark.parametrize("by_listing", [False, True])
def test_a_suppressor_is_part_of_the_trigger(by_listing: bool) -> None:
    one, two = Installed("skill-003", by_listing), Installed("skill-009", by_listing)
    found, _ = explored(And((History("payroll"), one, Not(two))), FEW)
    (trigger,) = found.triggers
    assert elements(trigger) == {
        (FactorKind.HISTORY, "payroll", False),
        (CO, "skill-003", False),
        (CO, "skill-009", True),
    }
    assert "skill-009 is not installed" in trigger.sentence


def test_a_listed_suppressor_is_found_among_two_hundred_neighbours() -> None:
    found, episodes = explored(And((listed(120), Not(listed(7)))), MANY)
    (trigger,) = found.triggers
    assert elements(trigger) == {(CO, "skill-120", False), (CO, "skill-007", True)}
    assert episodes < 90


def test_a_history_that_suppresses_is_named() -> None:
    found, _ = explored(Not(History("health")), FEW)
    (trigger,) = found.triggers
    assert trigger.sentence == "history does not mention health"


def test_an_effect_that_nothing_suppresses_has_no_absences() -> None:
    found, _ = explored(Or((History("health"), Not(History("health")))), FEW)
    (trigger,) = found.triggers
    assert trigger.sentence == "always"


def test_parity_of_three_names_is_found_under_one_of_them() -> None:
    found, _ = explored(Xor((Installed("skill-001"), Installed("skill-002"), Installed("skill-003"))), FEW)
    (trigger,) = found.triggers
    present = {level for _, level, absent in elements(trigger) if not absent}
    missing = {level for _, level, absent in elements(trigger) if absent}
    assert len(present) == 1
    assert present | missing == {"skill-001", "skill-002", "skill-003"}


@pytest.mark.parametrize(("least", "most"), [(1, 3), (8, 8), (3, 3), (20, 25)])
def test_conditions_on_the_size_of_the_set_meet_sizes_as_deployed(least: int, most: int) -> None:
    found, _ = explored(Neighbours(least, most), MANY)
    assert found.triggers


def test_a_neighbour_in_a_small_set_only_is_found() -> None:
    found, _ = explored(And((Neighbours(1, 3), listed(11))), FEW)
    assert ("skill-011", False) in {(level, absent) for _, level, absent in elements(found.triggers[0])}


def test_a_counter_beyond_the_horizon_is_driven_to_the_number_in_the_source() -> None:
    found, episodes = explored(Counted(9), FEW, clues=Clues(counts=(9,)))
    (trigger,) = found.triggers
    assert trigger.turn == 9
    assert trigger.sentence == "call >= 9"
    assert episodes < 20


def test_a_counter_without_a_number_in_the_source_costs_no_longer_run() -> None:
    found, episodes = explored(Counted(9), FEW)
    assert found.triggers == []
    assert all(episode.spec.context.horizon == 6 for episode in found.episodes)
    assert episodes < 8


def test_a_number_with_nothing_to_count_with_costs_no_longer_run() -> None:
    found, _ = explored(TurnIs(99), FEW, clues=Clues(counts=(9,)))
    assert all(episode.spec.context.horizon == 6 for episode in found.episodes)


def test_a_counter_that_a_history_starts_is_driven_there() -> None:
    found, _ = explored(Counted(12, when=History("travel")), FEW, clues=Clues(counts=(12,)))
    (trigger,) = found.triggers
    assert {level for _, level, _ in elements(trigger)} == {"travel", "call >= 12"}


def test_a_history_that_matters_only_late_is_found() -> None:
    found, _ = explored(And((Counted(10), History("travel"))), FEW, clues=Clues(counts=(10,)))
    (trigger,) = found.triggers
    assert {level for _, level, _ in elements(trigger)} == {"travel", "call >= 10"}


def test_a_counter_beyond_the_longest_episode_is_an_assumption() -> None:
    found, _ = explored(Counted(500), FEW, clues=Clues(counts=(500,)))
    assert found.triggers == []
    assert any("500" in told and "64 turns" in told for told in found.assumptions)


def test_a_word_of_the_source_is_put_into_the_history() -> None:
    guard = And((History("blue heron"), TurnIs(2)))
    found, _ = explored(guard, FEW, clues=Clues(words=("red fox", "blue heron", "grey wolf")))
    (trigger,) = found.triggers
    assert trigger.sentence == "history mentions blue heron AND turn >= 2"
    assert trigger.replay.context.mentions == ("blue heron",)


def test_a_word_that_another_word_suppresses_is_found() -> None:
    words = ("red fox", "blue heron", "grey wolf")
    guard = And((History("blue heron"), Not(History("grey wolf"))))
    found, _ = explored(guard, FEW, clues=Clues(words=words, negated=frozenset({"grey wolf"})))
    (trigger,) = found.triggers
    assert trigger.replay.context.mentions == ("blue heron",)


def test_a_word_of_the_source_is_put_into_the_task_inputs() -> None:
    found, _ = explored(InputSays("blue heron"), FEW, clues=Clues(words=("red fox", "blue heron")))
    (trigger,) = found.triggers
    assert elements(trigger) == {(FactorKind.ARGUMENTS, "blue heron", False)}


def test_a_date_of_the_source_is_a_start_of_its_own() -> None:
    day = "2026-07-04T10:00:00+00:00"
    found, _ = explored(Clock("2026-07-04"), FEW, clues=Clues(moments=(day,)), reads_clock=True)
    (trigger,) = found.triggers
    assert elements(trigger) == {(FactorKind.CLOCK, day, False)}


def test_a_variable_takes_the_value_that_the_source_names() -> None:
    clues = Clues(variables=(("STAGE", ("live", "staging")),))
    found, _ = explored(Variable("STAGE", "staging"), FEW, clues=clues, variables=("STAGE",))
    (trigger,) = found.triggers
    assert elements(trigger) == {(FactorKind.ENVIRONMENT, "STAGE", False)}
    assert trigger.replay.context.environment == (("STAGE", "staging"),)


def test_a_file_that_is_sought_only_because_another_exists_is_answered_too() -> None:
    first, second = f"{HOME}/.config/evil", f"{HOME}/.config/evil/armed"
    found, _ = explored(And((Exists(first), Exists(second))), FEW)
    (trigger,) = found.triggers
    assert trigger.factors
    assert all(factor.factor is FactorKind.HOST for factor in trigger.factors)


def test_a_missing_file_gets_the_word_that_its_content_is_compared_with() -> None:
    path = f"{HOME}/.evil/mode"
    found, _ = explored(Holds(path, "armed"), FEW, clues=Clues(words=("idle", "armed")))
    (trigger,) = found.triggers
    assert [(factor.factor, factor.level) for factor in trigger.factors] == [(FactorKind.HOST, path)]


def test_one_missing_file_among_several_is_answered_alone_where_another_suppresses() -> None:
    armed, stop = f"{HOME}/.evil/armed", f"{HOME}/.evil/stop"
    guard = Xor((Exists(armed), And((Exists(stop), Exists(armed)))))
    found, _ = explored(guard, FEW, clues=Clues(paths=("armed", "stop")))
    (trigger,) = found.triggers
    assert elements(trigger) == {(FactorKind.HOST, armed, False)}


def test_pairs_of_factors_beside_histories_and_neighbours_are_run_together() -> None:
    guard = And((Network("error"), Clock("night")))
    found, _ = explored(
        guard,
        FEW,
        networks=("neutral", "error", "none"),
        clocks=("neutral", "night", "weekend"),
        reads_clock=True,
    )
    (trigger,) = found.triggers
    assert elements(trigger) == {
        (FactorKind.NETWORK, "error", False),
        (FactorKind.CLOCK, "night", False),
    }


def test_a_history_and_a_date_are_run_together() -> None:
    guard = And((History("health"), Clock("night")))
    found, _ = explored(guard, FEW, clocks=("neutral", "night", "weekend"), reads_clock=True)
    (trigger,) = found.triggers
    assert elements(trigger) == {(FactorKind.HISTORY, "health", False), (FactorKind.CLOCK, "night", False)}


def test_a_name_that_the_source_holds_is_tried_by_itself_in_a_listed_folder() -> None:
    guard = And((listed(150), Not(listed(151)), Not(listed(152)), Not(listed(153))))
    found, _ = explored(guard, MANY, clues=Clues(words=("skill-150",)))
    assert found.triggers


def test_arguments_and_a_suppressed_neighbour_are_found() -> None:
    guard = And((Arguments("office"), Installed("skill-003"), Not(Installed("skill-004"))))
    found, _ = explored(guard, FEW)
    (trigger,) = found.triggers
    assert (FactorKind.ARGUMENTS, "office", False) in elements(trigger)
    assert (CO, "skill-003", False) in elements(trigger)


def test_what_rests_on_sampling_is_told() -> None:
    found, _ = explored(listed(3), FEW)
    assert any(told.startswith("assumed (non-monotone)") for told in found.assumptions)
    named, _ = explored(Installed("skill-003"), FEW)
    assert named.assumptions == []


def test_calls_are_told_from_turns_however_late() -> None:
    late, _ = explored(Counted(40), (), clues=Clues(counts=(40,)))
    assert late.triggers[0].sentence == "call >= 40"
    turn, _ = explored(And((Counted(1), TurnIs(40))), (), clues=Clues(counts=(40,)))
    assert turn.triggers[0].sentence == "turn >= 40"
    early, _ = explored(Call(3), ())
    assert early.triggers[0].sentence == "call >= 3"
