"""The published rule keeps its names and behaviour."""

from __future__ import annotations

import pytest

import conjunct
from conjunct import (
    AdversarialSkillInjectionError,
    SkillDeltaProfile,
    classify_skill,
    sparsity_conjunction_score,
)


def test_score_is_the_ratio_of_the_largest_deltas() -> None:
    assert sparsity_conjunction_score(SkillDeltaProfile("a", [0.1, -0.2], [0.4, 0.1])) == 0.5


def test_score_is_one_without_compositional_signal() -> None:
    assert sparsity_conjunction_score(SkillDeltaProfile("a", [0.3], [])) == 1.0
    assert sparsity_conjunction_score(SkillDeltaProfile("a", [0.3], [0.0])) == 1.0


def test_no_single_probe_counts_as_zero() -> None:
    assert sparsity_conjunction_score(SkillDeltaProfile("a", [], [0.4])) == 0.0


def test_benign_expansion_is_named() -> None:
    assert classify_skill(SkillDeltaProfile("a", [0.3], [0.4])) == "benign_expansion"


def test_the_threshold_itself_is_benign() -> None:
    assert classify_skill(SkillDeltaProfile("a", [0.2], [0.4])) == "benign_expansion"


def test_a_sparse_conjunction_raises_with_name_score_and_threshold() -> None:
    with pytest.raises(AdversarialSkillInjectionError) as caught:
        classify_skill(SkillDeltaProfile("fx-rates", [0.01], [0.9]))
    message = str(caught.value)
    assert "fx-rates" in message and "0.011" in message and "0.5" in message
    assert "compositional manual review" in message
    assert isinstance(caught.value, RuntimeError)


def test_public_names_are_stable() -> None:
    assert {"SkillDeltaProfile", "classify_skill", "sparsity_conjunction_score", "vet_registry"} <= set(
        conjunct.__all__
    )
