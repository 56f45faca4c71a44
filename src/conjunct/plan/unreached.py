"""Code that no run reached, by file and line: the part of a package on which a clean verdict says nothing."""

from __future__ import annotations

import ast
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from conjunct.model import CommandRecord, Entry, Skill

_FOLLOWED = (".py",)
"""Lines of these are recorded in a run with coverage."""
_RUN_WHOLE = (".sh", ".bash", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".ps1", ".lua", ".r")
"""Of these it is only known whether they were started."""
_LARGEST = 1 << 19
_MOST_FILES = 400
_MOST_TOLD = 100
_UNSEEN = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal, ast.Pass)
"""Statements that run when a file is loaded, or leave no mark when they run."""


def never_reached(skill: Skill, commands: Iterable[CommandRecord]) -> tuple[str, ...]:
    """`file:first-last` for every stretch of a skill's code that no command ran, in the order of the files.

    `commands` are those of all runs; lines are known from those that recorded them: the neutral run, and runs
    under other arguments. A file whose lines are not followed is named as a whole where nothing started it.
    At most 100 stretches; the last element then counts the others.
    """
    ran: dict[str, set[int]] = defaultdict(set)
    named: set[str] = set()
    for command in commands:
        for file, numbers in command.lines_run:
            if file.startswith(f"{skill.id}/"):
                ran[file.removeprefix(f"{skill.id}/")].update(numbers)
        named.update(command.argv)
    told: list[str] = []
    for entry in sorted(skill.entries, key=lambda entry: entry.path)[:_MOST_FILES]:
        if entry.kind == "file":
            told += _of_file(skill.root, entry, ran.get(entry.path, set()), named)
    if len(told) > _MOST_TOLD:
        return (*told[: _MOST_TOLD - 1], f"and {len(told) - _MOST_TOLD + 1} more")
    return tuple(told)


def _of_file(root: Path, entry: Entry, ran: set[int], named: set[str]) -> Iterator[str]:
    path = entry.path.lower()
    if path.endswith(_RUN_WHOLE):
        if not any(word == entry.path or word.endswith(f"/{entry.path}") for word in named):
            yield entry.path
    elif path.endswith(_FOLLOWED) and entry.size:
        stretches = _stretches(root / entry.path, ran) if entry.size <= _LARGEST else None
        if stretches is None:
            # What cannot be parsed here was not loaded in a run either, or its lines say nothing.
            if not ran:
                yield entry.path
            return
        for first, last in stretches:
            yield f"{entry.path}:{first}" if first == last else f"{entry.path}:{first}-{last}"


def _stretches(path: Path, ran: set[int]) -> list[tuple[int, int]] | None:
    """Statements one after another of which none ran; `None` where the file cannot be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(path.read_bytes())
        statements = sorted(_statements(tree))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: list[tuple[int, int]] = []
    open_stretch = False
    for first, last in statements:
        if ran.isdisjoint(range(first, last + 1)):
            if open_stretch:
                found[-1] = (found[-1][0], max(found[-1][1], last))
            else:
                found.append((first, last))
            open_stretch = True
        else:
            open_stretch = False
    return found


def _statements(tree: ast.Module) -> set[tuple[int, int]]:
    """First and last line of every simple statement: its body is no part of a compound one."""
    found: set[tuple[int, int]] = set()
    bodies: list[list[ast.stmt]] = [tree.body]
    while bodies:
        for node in bodies.pop():
            below = [
                getattr(node, name)
                for name in ("body", "orelse", "finalbody")
                if isinstance(getattr(node, name, None), list)
            ]
            below += [one.body for one in getattr(node, "handlers", ())]
            below += [one.body for one in getattr(node, "cases", ())]
            bodies += below
            text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not below and not text and not isinstance(node, _UNSEEN):
                found.add((node.lineno, node.end_lineno or node.lineno))
    return found
