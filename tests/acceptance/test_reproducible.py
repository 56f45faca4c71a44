"""The same packages and seed give the same bytes, whatever the machine does beside it."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import pytest

from acceptance.conftest import SMALL
from acceptance.vetting import Vetted, copy_of, vet

pytestmark = [pytest.mark.world, pytest.mark.slow, pytest.mark.timeout(3600)]


def timeless(report: dict[str, Any]) -> str:
    kept = {name: value for name, value in report.items() if name not in ("started", "seconds")}
    return json.dumps(kept, indent=2, sort_keys=True)


def test_workers_hash_seed_and_place_change_no_byte(small: Vetted, tmp_path: Path) -> None:
    """`small` was vetted with a worker for each core and whatever hash seed its process got."""
    registry = copy_of(SMALL, tmp_path / "registry")
    hash_seed = str(secrets.randbelow(1 << 31))
    again = vet(registry, tmp_path / "s.sqlite", "--workers", "1", environment={"PYTHONHASHSEED": hash_seed})
    told = timeless(again.report).replace(str(registry), str(small.registry))
    assert told == timeless(small.report), f"hash seed {hash_seed}"


def test_a_budget_of_runs_buys_the_same_whatever_the_workers(small: Vetted, tmp_path: Path) -> None:
    reports = [
        vet(
            small.registry, tmp_path / f"{workers}.sqlite", "--budget", "40", "--workers", workers,
            environment={"PYTHONHASHSEED": workers},
        )
        for workers in ("1", "3")
    ]  # fmt: skip
    assert timeless(reports[0].report) == timeless(reports[1].report)
    assert reports[0].status == 3
    short = [e for e in reports[0].report["skills"] if "before the minimum plan" in " ".join(e["reasons"])]
    assert short and all(entry["verdict"] == "incomplete" for entry in short)
    for entry in reports[0].report["skills"]:
        assert entry["coverage"]["budget"] == "40 runs" and entry["coverage"]["left_out"]


def test_the_same_budget_again_goes_on_and_says_more(small: Vetted, tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    made = [vet(small.registry, store, "--budget", "50").report["coverage"]["episodes"] for _ in range(2)]
    assert 0 < made[0] < made[1]
