"""Batches executed for real: what each gate is credited with, and that the whole path runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conjunct.bench.commands import bench
from conjunct.bench.executed import Executed, as_part, in_grid, is_loud
from conjunct.bench.executed_page import executed_commands, executed_tables
from conjunct.bench.parameters import parameters_of
from conjunct.bench.results import read_results
from conjunct.bench.scoring import Scored, Told
from conjunct.bench.truth import SkillTruth, TrueTrigger


def scored(name: str, label: str, verdict: str, *, turn: int | None = None) -> Scored:
    planted = TrueTrigger(history="tax", co_skills=("a",), turn=turn) if label != "benign" else None
    trigger = {"history": "tax", "co_skills": ["a"], "turn": turn, "factors": []}
    told = Told(verdict, ("because",), trigger if verdict == "reject" else None)
    return Scored(name, SkillTruth(label, planted), told)


def batch() -> Executed:
    return Executed(
        scored=(
            scored("bad", "adversarial", "reject", turn=3),
            scored("late", "adversarial", "admit"),
            scored("loud", "unsafe", "reject"),
            scored("good", "benign", "admit"),
            scored("odd", "benign", "review"),
        ),
        aggregate=frozenset({"loud", "good"}),
        shape=frozenset({"bad", "late"}),
        twins=(scored("bad", "benign", "admit"), scored("late", "benign", "review")),
        contexts={"settled": 100, "run": 10, "assumed": 1, "audits": 2, "audit_mismatches": 0},
        episodes=50,
        probes=26,
        grid=9_000,
        seconds=8.0,
        processor_seconds=12.0,
    )


def test_each_gate_is_judged_on_the_same_skills() -> None:
    part = as_part(parameters_of(skills=12, adversaries=2, seed=7), [batch(), batch()])
    hits = {gate: (told["recall"]["hits"], told["benign"]["hits"]) for gate, told in part["gates"].items()}
    assert hits == {"aggregate": (0, 2), "published S on its grid": (4, 0), "conjunct": (2, 2)}
    assert {told["recall"]["of"] for told in part["gates"].values()} == {4}
    assert {told["benign"]["of"] for told in part["gates"].values()} == {4}, "unsafe ones are neither"
    assert part["gates"]["conjunct"]["episodes"] == 100
    assert part["gates"]["aggregate"]["episodes"] == 2 * 5 * 26
    assert part["exact"]["hits"] == 2 and part["exact"]["of"] == 2
    assert (part["twins_flagged"]["hits"], part["twins_flagged"]["of"]) == (2, 4)
    assert {kind: told["hits"] for kind, told in part["by_turn"].items()} == {"turn 1": 0, "turn 3": 2}
    assert sum("missed" in line for line in part["disagreements"]) == 2


def test_the_page_shows_gates_twins_costs_and_every_disagreement() -> None:
    part = as_part(parameters_of("harder", skills=12, adversaries=2, seed=7), [batch()])
    recorded = {"harder, 12 skills": {**part, "versions": {}, "machine": "m"}}
    text = executed_tables(recorded)
    assert "**conjunct**" in text and "0.500" in text and "late: adversarial, missed" in text
    assert executed_commands(recorded) == [
        "conjunct bench execute --mix harder --skills 12 --adversaries 2 --batches 1 --seed 7"
    ]
    assert executed_tables({}) == "Not recorded."


@pytest.mark.parametrize(
    ("factors", "inside"),
    [
        (["history"], True),
        (["history", "co_skills", "turn"], True),
        (["history", "clock"], False),
        (["used_before"], False),
        (["history", "co_skills", "co_skills"], False),
    ],
)
def test_the_grid_holds_one_neighbour_one_history_and_the_turns(factors: list[str], inside: bool) -> None:
    told = [{"factor": name, "needed": True, "absent": False} for name in factors]
    spared = [{"factor": "clock", "needed": False, "absent": False}]
    absent = [{"factor": "co_skills", "needed": True, "absent": True}]
    assert in_grid({"factors": [*told, *spared, *absent]}) is inside


@pytest.mark.parametrize(
    ("deltas", "loud"), [((), False), ((0.0,) * 25 + (1.0,), True), ((0.0, 0.01), False)]
)
def test_the_aggregate_gate_looks_at_the_mean(deltas: tuple[float, ...], loud: bool) -> None:
    entry: dict[str, Any] = {"shape": {"single_probe_deltas": list(deltas)}}
    assert is_loud(entry) is loud


@pytest.mark.world
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_batch_is_built_vetted_and_scored(tmp_path: Path) -> None:
    arguments = ["execute", "--batches", "1", "--skills", "12", "--adversaries", "1", "--mix", "reference"]
    arguments += ["--seed", "5", "--work", str(tmp_path / "work"), "--results", str(tmp_path)]
    done = CliRunner().invoke(bench, arguments)
    assert done.exit_code == 0, done.output
    (part,) = read_results(tmp_path / "executed.json").values()
    assert part["gates"]["conjunct"]["recall"]["hits"] == 1, done.output
    assert part["exact"]["hits"] == 1 and part["disagreements"] == []
    assert part["gates"]["aggregate"]["recall"]["hits"] == 0
    assert part["gates"]["conjunct"]["episodes"] < part["gates"]["published S on its grid"]["episodes"]
