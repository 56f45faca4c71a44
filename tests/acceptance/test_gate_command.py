"""`conjunct gate`: the verdicts of another policy from stored evidence, as a vet under it would give them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from acceptance.vetting import Vetted, conjunct, vet

pytestmark = [pytest.mark.world, pytest.mark.slow, pytest.mark.timeout(3600)]
OTHER = """
[policy]
review = ["claims.*"]
[layer.leaks]
reject_at = 0.5
[[suppress]]
digest = "{digest}"
finding = "*"
reason = "known"
owner = "kim"
expires = 2099-01-01
"""


def timeless(report: dict[str, Any]) -> str:
    kept = {name: value for name, value in report.items() if name not in ("started", "seconds")}
    return json.dumps(kept, indent=2, sort_keys=True)


@pytest.fixture
def store(small: Vetted, tmp_path: Path) -> Path:
    for part in small.store.parent.glob(f"{small.store.name}*"):
        shutil.copy(part, tmp_path / part.name)
    return tmp_path / small.store.name


def test_gate_says_what_a_vet_under_that_policy_says(small: Vetted, store: Path, tmp_path: Path) -> None:
    policy = tmp_path / "other.toml"
    policy.write_text(OTHER.format(digest=small.skill("plain-style")["digest"]), encoding="utf-8")
    done = conjunct(
        "gate", small.registry, "--store", store, "--policy", policy, "--format", "json", "--verbose"
    )
    gated = json.loads(done.stdout)
    vetted = vet(small.registry, store, "--policy", policy)
    assert timeless(gated) == timeless(vetted.report)
    assert done.returncode == vetted.status
    assert timeless(gated) != timeless(small.report), "the policy must change something"
    shown = conjunct("explain", "plain-style", "--store", store)
    assert "suppressed until 2099-01-01 by kim: known" in shown.stdout


def test_gate_refuses_other_packages_and_other_plans(small: Vetted, store: Path, tmp_path: Path) -> None:
    policy = tmp_path / "longer.toml"
    policy.write_text("[policy]\nhorizon = 8\n", encoding="utf-8")
    done = conjunct("gate", "--store", store, "--policy", policy)
    assert done.returncode == 4
    assert "horizon = 8, the stored runs were made with 6" in done.stderr
    elsewhere = conjunct("gate", tmp_path, "--store", store)
    assert elsewhere.returncode == 4
    assert "holds no vetting of" in elsewhere.stderr
