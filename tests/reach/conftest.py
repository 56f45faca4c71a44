"""Skills made from a few files, and what they reach."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from conjunct.model import Compilation, Directive, ReachableAction, ReachSet, Skill
from conjunct.reach import reachable_actions
from conjunct.skills import read_registry

MakeSkill = Callable[..., Skill]
Reach = Callable[..., ReachSet]


@pytest.fixture
def make_skill(tmp_path: Path) -> MakeSkill:
    """`make_skill({"run.py": "…"}, description="…", body="…")` is the package as intake reads it."""

    def make(
        files: dict[str, str | bytes] | None = None,
        *,
        name: str = "sample-skill",
        description: str = "Formats tables.",
        body: str = "# Sample\n",
        front: str = "",
    ) -> Skill:
        folder = tmp_path / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        text = f"---\nname: {name}\ndescription: {description}\n{front}---\n{body}"
        for path, content in {"SKILL.md": text, **(files or {})}.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_registry(folder, staging=tmp_path / "staging").skills[0]

    return make


@pytest.fixture
def reach(make_skill: MakeSkill) -> Reach:
    """The reach of a package made from files and hand-made directives."""

    def reach_of(
        files: dict[str, str | bytes] | None = None, *directives: Directive, **declaration: str
    ) -> ReachSet:
        return reachable_actions(
            make_skill(files, **declaration), Compilation(directives, len(directives), 0)
        )

    return reach_of


def shown(found: ReachSet) -> set[tuple[str, str]]:
    """(kind, resource) of everything but plain executions."""
    return {(action.kind.value, action.resource) for action in found.actions}


def only(found: ReachSet, kind: str) -> list[ReachableAction]:
    """The actions of one kind."""
    return [action for action in found.actions if action.kind == kind]
