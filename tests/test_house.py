"""The map of the house holds: imports follow the flow, files stay small, start-up stays fast."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "conjunct"
ORDER = (
    "errors",
    "model",
    "skills",
    "directives",
    "reach",
    "provenance",
    "battery",
    "world",
    "agent",
    "plan",
    "run",
    "delta",
    "gate",
    "diff",
    "report",
    "cut",
    "conclude",
    "audits",
    "forced",
    "pooling",
    "vetting",
    "record",
    "vet",
    "gating",
    "answering",
    "behaviour",
    "bench",
    "cli",
)
HEAVY = ("numpy", "cryptography", "jinja2", "yaml", "rich", "tree_sitter", "markdown_it", "msgspec")


def room_of(module: str) -> str:
    return module.removeprefix("conjunct.").split(".")[0]


def imported(path: Path) -> set[str]:
    """Rooms that a file imports at run time; annotations-only imports do not count."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("conjunct."):
            found.add(room_of(node.module))
        elif isinstance(node, ast.Import):
            found |= {room_of(name.name) for name in node.names if name.name.startswith("conjunct.")}
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_uses_only_rooms_above_it(path: Path) -> None:
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if room not in ORDER:
        return
    below = {other for other in imported(path) if other in ORDER and ORDER.index(other) > ORDER.index(room)}
    assert not below, f"{path.name} in {room} imports {sorted(below)} from below"


@pytest.mark.parametrize("name", ["utils", "helpers", "common", "manager"])
def test_no_file_is_named_after_nothing(name: str) -> None:
    assert not list(SOURCE.rglob(f"{name}.py"))


def test_import_loads_nothing_heavy() -> None:
    code = f"import sys, conjunct, conjunct.cli; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_can_be_loaded() -> None:
    import conjunct

    for name in conjunct.__all__:
        assert getattr(conjunct, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = conjunct.nothing
