"""The tables of docs/pools.md are those of the results file."""

from __future__ import annotations

import json

import pytest
from benchmarks.pools import PAGE, RESULTS, TARGETS, page, parts, table, targets


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, dict[str, object]]]:
    stored: dict[str, dict[str, dict[str, object]]] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return stored


def test_the_page_shows_the_stored_results(results: dict[str, dict[str, dict[str, object]]]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, results) == text, "run `python -m benchmarks.pools --page`"


def test_a_changed_result_changes_the_page(results: dict[str, dict[str, dict[str, object]]]) -> None:
    changed = json.loads(json.dumps(results))
    changed["parts"]["pools: reference, byte-exact"]["benign_per_batch"] = 7.77
    assert "7.77" in table(changed) and "7.77" not in table(results)


def test_every_stored_part_can_be_measured_again(results: dict[str, dict[str, dict[str, object]]]) -> None:
    assert set(results["parts"]) <= set(parts(1.0))
    assert {name for name, _, _ in TARGETS} <= set(parts(1.0))


def test_a_missed_target_is_told_with_its_distance() -> None:
    point = {"episodes": 20_000, "recall": 0.9, "wilson": [0.85, 0.93]}
    shown = targets({"parts": {"pools: reference, byte-exact": {"curve": [point]}}})
    assert "0.050 short" in shown and "open" not in shown
