"""Which modules the Python files of a package import and neither ship nor find in the standard library."""

from __future__ import annotations

import ast
import sys

from conjunct.model import Skill
from conjunct.reach.package import package_files, read_bytes
from conjunct.reach.python_modules import parse_python
from conjunct.skills import language_of

MOST = 200
"""Foreign modules of one package that are told."""


def foreign_modules(skill: Skill) -> tuple[str, ...]:
    """Top-level names of imported modules that neither package nor standard library has, sorted."""
    own: set[str] = set()
    imported: set[str] = set()
    for entry in package_files(skill):
        parts = entry.path.split("/")
        own.update(part.removesuffix(".py") for part in parts)
        data = read_bytes(skill, entry.path)
        if language_of(entry.path, data[:256]) != "python":
            continue
        tree = parse_python(data.decode("utf-8", "replace"))
        if tree is not None:
            imported |= _imports(tree)
    return tuple(sorted(imported - own - sys.stdlib_module_names))[:MOST]


def _imports(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".", 1)[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".", 1)[0])
    return {name for name in names if name.isidentifier()}
