"""Soundness as a property: what the tree settles and what the memo repeats is what happens for real.

A small sample of generated skills; `CONJUNCT_SEED` chooses another. `make soundness` runs a long campaign.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conjunct.model import Context
from conjunct.skills import read_registry
from conjunct.world.spec import DRAWS, OUTLIVES
from soundness.commands import episode, examine_command
from soundness.enumeration import examine
from soundness.guards import LOOKS, Look
from soundness.recipes import Recipe, recipe, write_registry

SEED = int(os.environ.get("CONJUNCT_SEED") or 1)
COMMANDS = 8
FOUND_WRONG_ONCE = ("time-of-a-folder", "order-of-a-folder", "folder-change-time")
"""Tests that earlier versions of the memo or the world answered wrongly."""


def named(name: str) -> Look:
    return next(test for test in LOOKS if test.name == name)


@pytest.mark.world
@pytest.mark.parametrize("number", range(COMMANDS))
def test_a_command_answers_alike_wherever_it_is_settled_or_repeated(number: int, tmp_path: Path) -> None:
    outcome = examine_command(recipe(SEED * 100_000 + number), tmp_path, most=2)
    assert outcome.wrong == [], f"CONJUNCT_SEED={SEED}: {outcome.recipe}"
    assert outcome.contexts > outcome.void


@pytest.mark.world
@pytest.mark.parametrize("name", FOUND_WRONG_ONCE)
def test_what_was_answered_wrongly_once_is_answered_rightly(name: str, tmp_path: Path) -> None:
    outcome = examine_command(Recipe(0, (named(name),), "and", "alone", "schedule"), tmp_path, most=2)
    assert outcome.wrong == []


@pytest.mark.world
@pytest.mark.slow
def test_a_skill_does_in_every_settled_context_what_the_tree_says(tmp_path: Path) -> None:
    outcome = examine(recipe(SEED * 100_000 + 7), tmp_path, most=4)
    assert outcome.wrong == [], f"CONJUNCT_SEED={SEED}: {outcome.recipe}"


@pytest.mark.world
def test_chance_is_told(tmp_path: Path) -> None:
    outcome = examine_command(Recipe(0, (named("rare-byte"),), "and", "alone", "schedule"), tmp_path, most=1)
    assert DRAWS in outcome.unsure


@pytest.mark.world
def test_a_process_that_outlives_the_episode_is_told_and_settles_nothing(tmp_path: Path) -> None:
    sleeper = Look("sleeper", "turn", "(sleep 30; date > /tmp/late) >/dev/null 2>&1 & false")
    outcome = examine_command(Recipe(0, (sleeper,), "and", "alone", "schedule"), tmp_path, most=2)
    assert OUTLIVES in outcome.unsure
    assert outcome.compared == 4, "only the memo's four episodes may be compared"


@pytest.mark.world
def test_what_a_process_looks_at_after_the_last_command_is_asked_too(tmp_path: Path) -> None:
    late = Look("late", "history", '(sleep 0.4; cat "$HOME/.claude/history.jsonl") >/dev/null 2>&1 & false')
    registry = write_registry(Recipe(0, (late,), "and", "alone", "schedule"), tmp_path, tell=True)
    skills = {skill.id: skill for skill in read_registry(registry).skills}
    tools = episode(Context(horizon=1), skills, memo=None)
    assert any(touch.path.endswith("/.claude/history.jsonl") for touch in tools.touches)
    assert OUTLIVES not in tools.commands[0].assumed


def test_a_seed_gives_one_recipe() -> None:
    assert [str(recipe(seed)) for seed in range(40)] == [str(recipe(seed)) for seed in range(40)]
    assert {one.operator for one in map(recipe, range(200))} >= {"and", "or", "xor", "not", "and-not", "most"}
