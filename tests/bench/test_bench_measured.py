"""Searches on simulated batches judged by the truth, power, recorded results, and the page made from them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from conjunct.bench.batches import BYTE_EXACT, REFERENCE, Batch
from conjunct.bench.catalogue import MEASUREMENTS, chosen, measure
from conjunct.bench.commands import bench
from conjunct.bench.gates import Planted, Searched, ranking, run_rivals, summed, summed_rivals
from conjunct.bench.power import interval_of_smallest, smallest_rate_with_power
from conjunct.bench.report import TARGETS, page_text, targets_table, write_report
from conjunct.bench.results import read_results, record_part
from conjunct.errors import UsageError


def searched(*found_at: int | None) -> Searched:
    planted = tuple(
        Planted(order=2, delay="turn 1", rate=0.5, found_at=at, exact=at is not None, blamed=at is not None)
        for at in found_at
    )
    return Searched(0, planted, benign_reviewed=1, episodes=900, triples=10, stated=0.2)


def test_recall_at_a_budget_counts_what_was_confirmed_by_then() -> None:
    part = summed([searched(100, 500), searched(None, 501)], (100, 500, 900))
    assert [point["hits"] for point in part["curve"]] == [1, 2, 3]
    assert part["exact"]["hits"] == part["exact"]["of"] == 3
    assert part["benign_per_batch"] == 1.0


def test_measuring_twice_gives_equal_finds_and_other_seeds_give_others() -> None:
    name = "reference, byte-exact"
    first, again, other = (measure(name, batches=1, seed=seed, skills=150) for seed in (3, 3, 4))
    assert first["found_at"] == again["found_at"] != other["found_at"]
    assert first["curve"][-1]["of"] == 6 and first["benign_reviewed"] == 0


def test_the_other_gates_judge_the_same_batch() -> None:
    made = run_rivals(2, mix=REFERENCE, evidence=BYTE_EXACT, skills=150)
    told = summed_rivals([made])["gates"]
    assert told["aggregate"]["recall"]["hits"] == 0
    assert told["published S, 30 repeats"]["recall"]["of"] == len(Batch(2, skills=150).adversaries)
    assert all(gate["roc"][0] == [0.0, 0.0] and gate["roc"][-1] == [1.0, 1.0] for gate in told.values())


def test_a_ranking_that_tells_apart_reaches_all_before_any_benign() -> None:
    assert [0.0, 1.0] in ranking([0.1, 0.2], [0.8, 0.9])
    assert [0.0, 1.0] not in ranking([0.1, 0.85], [0.8, 0.9])


def test_power_is_read_off_where_nine_of_ten_are_found() -> None:
    generator = np.random.default_rng(1)
    rates = generator.uniform(0.05, 1.0, 4000)
    found = generator.random(4000) > np.exp(-rates * 10.0)
    smallest = smallest_rate_with_power(rates.tolist(), found.tolist())
    low, high = interval_of_smallest(rates.tolist(), found.tolist(), generator, draws=40)
    assert smallest is not None and low <= smallest <= high
    assert abs(smallest - np.log(10.0) / 10.0) < 0.06
    assert smallest_rate_with_power([0.2, 0.4, 0.6], [False, False, False]) is None


def test_an_unknown_part_and_a_tiny_registry_are_refused() -> None:
    with pytest.raises(UsageError, match="there are: "):
        chosen(["all of it"])
    with pytest.raises(UsageError, match="at least 150"):
        measure("reference, byte-exact", batches=1, skills=60)


def test_parts_are_kept_when_another_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "gates.json"
    record_part(path, "b", {"kind": "pools"})
    record_part(path, "a", {"kind": "gates"})
    parts = read_results(path)
    assert list(parts) == ["a", "b"] and parts["a"]["versions"]["python"] and parts["a"]["machine"]
    path.write_text(json.dumps({"parts": {}}))
    with pytest.raises(UsageError, match="no results file"):
        read_results(path)


def test_a_missed_target_is_told_with_its_distance() -> None:
    name, episodes, target = TARGETS[0]
    part = summed([searched(*([10] * 80), *([None] * 20))], (episodes,))
    told = targets_table({name: {**part, "kind": "pools", "skills": 1200}})
    assert f"{target - 0.8:.3f} short" in told and "open" not in told


def test_commands_record_and_the_page_tells_what_was_recorded(tmp_path: Path) -> None:
    results, page = tmp_path / "results", tmp_path / "docs" / "page.md"
    arguments = ["gates", "--batches", "1", "--skills", "150", "--results", str(results)]
    for part in ("reference, byte-exact", "other gates: reference, byte-exact"):
        arguments += ["--part", part]
    done = CliRunner().invoke(bench, arguments)
    assert done.exit_code == 0, done.output
    write_report(results, page, plots=False)
    text = page.read_text(encoding="utf-8")
    assert "--skills 150" in text and "{{" not in text and "Not recorded." in text
    with pytest.raises(UsageError, match="holds no results"):
        write_report(tmp_path / "none", page)


def test_the_page_in_docs_is_made_from_the_recorded_results() -> None:
    root = Path(__file__).parents[2]
    recorded = root / "benchmarks" / "results"
    gates, power, executed = (read_results(recorded / f"{n}.json") for n in ("gates", "power", "executed"))
    page = root / "docs" / "benchmarks.md"
    drawn = [p.stem for p in sorted((page.parent / "img").glob("*.svg"))]
    assert page.read_text(encoding="utf-8") == page_text(gates, power, drawn, executed), (
        "run `conjunct bench report`"
    )
    assert set(MEASUREMENTS) >= {name for name, _, _ in TARGETS}
