"""What several tests of this room make: a package on disk, read as a skill."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from conjunct.model import Skill
from conjunct.skills import read_registry


def skill_of(
    base: Path,
    files: Mapping[str, str] | None = None,
    *,
    name: str = "table-format",
    description: str = "Formats tables as Markdown.",
    body: str = "# Tables\n",
    front: str = "",
) -> Skill:
    """A skill read from files that are written below `base`, each in a registry of its own."""
    folder = base / f"{name}-{len(list(base.iterdir()))}" / name
    folder.mkdir(parents=True)
    text = f"---\nname: {name}\ndescription: {description}\n{front}---\n{body}"
    for path, content in {"SKILL.md": text, **(files or {})}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    return read_registry(folder, staging=base / "staging").skills[0]
