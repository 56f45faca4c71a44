"""Contexts are counted as settled only where no probe could have told them apart."""

from __future__ import annotations

from dataclasses import replace

from conjunct.model import Context, EpisodeSpec, FactorKind
from conjunct.plan.carriers import Question
from conjunct.plan.coverage import ContextCount, count_contexts

HISTORY = Question(FactorKind.HISTORY)
LISTING = Question(FactorKind.CO_SKILLS)
NAMED = Question(FactorKind.CO_SKILLS, "a")


def run(probe: str, *asked: Question, **context: object) -> tuple[EpisodeSpec, frozenset[Question]]:
    return EpisodeSpec(probe, "one", replace(Context(), **context)), frozenset(asked)  # type: ignore[arg-type]


def count(*runs: tuple[EpisodeSpec, frozenset[Question]]) -> ContextCount:
    return count_contexts(
        runs,
        histories=("payroll", "travel"),
        neighbours=("a", "b"),
        horizon=6,
        ids_by_folder={"a": "a", "b": "b"},
    )


def test_a_run_that_asked_nothing_settles_the_whole_scope() -> None:
    assert count(run("use")) == ContextCount(run=6, settled=(3 * 4 - 1) * 6, assumed=0)


def test_a_probe_that_asked_nothing_settles_nothing_for_one_that_read_the_history() -> None:
    assert count(run("quiet"), run("use", HISTORY)).assumed == 2 * 4 * 6


def test_every_history_run_by_the_asking_probe_settles_the_rest() -> None:
    histories = [run("use", HISTORY, history=name) for name in ("payroll", "travel")]
    assert count(run("quiet"), run("use", HISTORY), *histories).assumed == 0


def test_a_listed_folder_leaves_single_neighbours_assumed() -> None:
    whole = count(run("use", LISTING), run("use", LISTING, co_skills=("a", "b")))
    assert whole.assumed == 3 * 2 * 6


def test_a_name_that_was_looked_up_is_told_apart_and_other_names_are_not() -> None:
    alone = count(run("use", NAMED))
    assert alone.assumed == 3 * 2 * 6
    assert count(run("use", NAMED), run("use", NAMED, co_skills=("a",))).assumed == 0


def test_neighbours_that_no_run_asked_for_count_one_by_one_although_they_are_told_together() -> None:
    names = ("a", *(f"other-{number}" for number in range(500)))
    told = count_contexts(
        [run("use", NAMED), run("use", NAMED, co_skills=("a",))],
        histories=("payroll",),
        neighbours=names,
        horizon=1,
        ids_by_folder={name: name for name in names},
    )
    # Nothing, each neighbour, all: in both histories; two sets were run in the neutral one.
    assert told == ContextCount(run=2, settled=2 * (501 + 2) - 2, assumed=0)
