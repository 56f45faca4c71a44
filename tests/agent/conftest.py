"""Skills made of literal files, for tests of the agent."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from conjunct.model import Declaration, Entry, Skill

MakeSkill = Callable[..., Skill]


@pytest.fixture
def make_skill(tmp_path: Path) -> MakeSkill:
    """Build a skill from a name, a body and further files."""

    def make(
        name: str = "tally", body: str = "", files: dict[str, str] | None = None, description: str = ""
    ) -> Skill:
        root = tmp_path / name
        entries = []
        for path, text in {"SKILL.md": body, **(files or {})}.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            digest = hashlib.sha256(text.encode()).hexdigest()
            entries.append(Entry(path, "file", len(text.encode()), digest, path.endswith(".sh")))
        return Skill(
            id=name,
            name=name,
            path=f"skills/{name}",
            root=root,
            digest=hashlib.sha256(repr(entries).encode()).hexdigest(),
            declaration=Declaration(name, description or f"{name} of things"),
            body=body,
            body_line=1,
            entries=tuple(entries),
        )

    return make
