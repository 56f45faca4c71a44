"""The policy that the docs show is valid, holds every key, and shows the defaults."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path

from click.testing import CliRunner

from conjunct.cli import main
from conjunct.gate import Policy, Thresholds
from conjunct.gate.policy import read_policy

PAGE = Path(__file__).parents[2] / "docs" / "admission-policy.md"


def test_the_policy_of_the_docs_is_the_default_one_with_two_rules() -> None:
    (block,) = re.findall(r"^```toml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    shown = read_policy(block, PAGE)
    assert replace(shown, suppressions=(), answers=()) == Policy()
    assert len(shown.suppressions) == len(shown.answers) == 1
    keys = set(re.findall(r"^(\w+) =", block, re.MULTILINE))
    wanted = {one.name for kind in (Policy, Thresholds) for one in fields(kind)}
    assert wanted - {"layers", "suppressions", "answers"} <= keys


def test_a_budget_that_is_none_is_a_usage_error_before_anything_is_read(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["vet", str(tmp_path / "absent"), "--budget", "2k"])
    assert done.exit_code == 2 and "write a number of runs" in done.output


def test_gate_without_a_store_says_what_to_do(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["gate", "--store", str(tmp_path / "absent.sqlite")])
    assert done.exit_code == 4 and "run `conjunct vet` first" in done.output
