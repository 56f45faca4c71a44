"""Recorded traces of ordinary programs give the facts that were looked at by a person."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from trace_harness import Bench, as_data

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", ["python", "bash", "node", "threads", "curl"])
def test_a_recorded_trace_gives_the_recorded_facts(name: str, tmp_path: Path) -> None:
    lines = (GOLDEN / f"{name}.trace").read_text(encoding="ascii").split("\n")[:-1]
    facts = as_data(Bench(tmp_path).read(lines))
    assert facts == json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    assert facts["undetermined"] == []


@pytest.mark.parametrize("name", ["python", "bash", "node", "threads", "curl"])
def test_a_recorded_trace_without_its_last_line_is_no_observation(name: str, tmp_path: Path) -> None:
    lines = (GOLDEN / f"{name}.trace").read_text(encoding="ascii").split("\n")[:-2]
    assert as_data(Bench(tmp_path).read(lines))["undetermined"]
