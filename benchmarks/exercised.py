"""How far the Python scripts of a registry got in a vetting: past their arguments, and to their last step.

    python benchmarks/exercised.py REGISTRY STORE [--list]

Reads the episodes of a finished vetting; nothing is run. Counted are scripts with an entry point
(`if __name__ == "__main__"`) outside test folders. A script got *past its arguments* if a line after the call
that parses them ran in the function that makes it. It reached its *last step* if the last statement of its
entry function ran: of a `try` or `with` its body's last, of a loop its body's first; a closing `return`,
`raise` or `sys.exit()` without work of its own does not count as a step. Lines are counted, not processes.
"""

from __future__ import annotations

import argparse
import ast
import sqlite3
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from conjunct.model import Episode, Skill
from conjunct.reach.package import read_bytes
from conjunct.run.codec import decode
from conjunct.skills import read_registry

_PARSERS = frozenset({"parse_args", "parse_known_args", "parse_intermixed_args"})


@dataclass(frozen=True, slots=True)
class Steps:
    """Where a script parses its arguments and where its last step is, in lines of its file."""

    after_arguments: frozenset[int]
    last: frozenset[int]


@dataclass(slots=True)
class Progress:
    """What the vetting did with one script."""

    lines: set[int] = field(default_factory=set)
    stood_in: set[str] = field(default_factory=set)
    started: bool = False


def steps_of(source: bytes) -> Steps | None:
    """The steps of one script; None where it has no entry point or is no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    guard = next((node for node in tree.body if _is_entry(node)), None)
    if not isinstance(guard, ast.If):
        return None
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    called = [
        node.func.id
        for node in ast.walk(guard)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions
    ]
    entry = functions[called[-1]].body if called else guard.body
    parsing = next(_parsing_lines((*functions.values(), guard)), None)
    span = range(entry[0].lineno, (entry[-1].end_lineno or entry[-1].lineno) + 1)
    after = frozenset(range(parsing[0] + 1, parsing[1] + 1)) if parsing else frozenset(span)
    return Steps(after or frozenset(span), frozenset(_last_lines(entry)))


def _is_entry(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__main__" in ast.dump(node.test)


def _parsing_lines(scopes: tuple[ast.stmt, ...]) -> Iterator[tuple[int, int]]:
    """(last line of the statement that parses the arguments, last line of its function)."""
    for scope in scopes:
        for node in ast.walk(scope):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _PARSERS:
                yield node.end_lineno or node.lineno, scope.end_lineno or scope.lineno


def _last_lines(body: list[ast.stmt]) -> range:
    steps = [node for node in body if not _is_closing(node)] or body
    last = steps[-1]
    if isinstance(last, ast.Try | ast.With | ast.AsyncWith):
        return _last_lines(last.body)
    if isinstance(last, ast.For | ast.While):
        return range(last.body[0].lineno, (last.body[0].end_lineno or 0) + 1)
    if isinstance(last, ast.If):
        return range(last.lineno, last.body[0].lineno)
    return range(last.lineno, (last.end_lineno or last.lineno) + 1)


def _is_closing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise | ast.Pass):
        return True
    if isinstance(node, ast.Return):
        return not any(isinstance(inner, ast.Call) for inner in ast.walk(node))
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    return (
        is_call and ast.unparse(node).startswith(("sys.exit(", "exit(")) and "main" not in ast.unparse(node)
    )


def scripts_of(skill: Skill) -> dict[str, Steps]:
    """Scripts with an entry point by their path in the package."""
    found: dict[str, Steps] = {}
    for entry in skill.entries:
        parts = Path(entry.path).parts
        if entry.path.endswith(".py") and not any(part.startswith("test") for part in parts):
            steps = steps_of(read_bytes(skill, entry.path))
            if steps is not None:
                found[entry.path] = steps
    return found


def progress_of(store: Path) -> dict[str, Progress]:
    """What ran, by `skill id/path in the package`, from all episodes of a store."""
    found: dict[str, Progress] = defaultdict(Progress)
    connection = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    for (content,) in connection.execute("SELECT episode FROM episodes"):
        for command in decode(content, Episode).trace.commands:
            for file, lines in command.lines_run:
                progress = found[file]
                progress.started = True
                progress.lines.update(lines)
                progress.stood_in.update(command.stand_ins)
    return found


def main() -> None:
    """Print the shares, and with `--list` every script that fell short."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("registry", type=Path)
    parser.add_argument("store", type=Path)
    parser.add_argument(
        "--list", action="store_true", help="name each script that did not reach its last step"
    )
    arguments = parser.parse_args()
    progress = progress_of(arguments.store)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as staging:
        skills = read_registry(arguments.registry, staging=Path(staging)).skills
        for skill in skills:
            for path, steps in scripts_of(skill).items():
                counts["scripts with an entry point"] += 1
                done = progress.get(f"{skill.id}/{path}", Progress())
                if not done.started:
                    counts["never started"] += 1
                    state = "never started"
                elif done.stood_in:
                    counts["started, with a stand-in"] += 1
                    continue
                else:
                    counts["started, all imports provided"] += 1
                    past, last = bool(steps.after_arguments & done.lines), bool(steps.last & done.lines)
                    counts["  of these past their arguments"] += past or last
                    counts["  of these at their last step"] += last
                    state = (
                        "" if last else "stopped before its last step" if past else "stopped at its arguments"
                    )
                if arguments.list and state:
                    print(f"{skill.id}/{path}: {state}, last step at lines {sorted(steps.last)[:1]}")
    for name, count in counts.items():
        print(f"{name:<36} {count}")


if __name__ == "__main__":
    main()
