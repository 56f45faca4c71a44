"""Foreign modules are those that neither the package nor Python itself has."""

from __future__ import annotations

from pathlib import Path

from conjunct.reach.imports import foreign_modules
from conjunct.skills import read_registry


def test_only_foreign_modules_are_told(tmp_path: Path) -> None:
    package = tmp_path / "one"
    (package / "scripts").mkdir(parents=True)
    (package / "SKILL.md").write_text("---\nname: one\ndescription: d\n---\nx\n")
    (package / "scripts" / "shared.py").write_text("VALUE = 1\n")
    (package / "scripts" / "run.py").write_text(
        "import json, torch.nn\nfrom pandas.core import frame\nfrom . import sibling\n"
        "def f():\n    import shared\n    import cv2 as c\n"
    )
    (package / "scripts" / "broken.py").write_text("import (\n")
    (skill,) = read_registry(package, staging=tmp_path / "staging").skills
    assert foreign_modules(skill) == ("cv2", "pandas", "torch")
