"""Questions to a parsed Python file: where a node lies, what holds it, and what leaves a block before it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from itertools import chain, pairwise

from conjunct.reach.forcing import Place
from conjunct.reach.python_trees import children

MOST_NODES = 150_000
"""Nodes of one file's syntax tree; a larger one is not rewritten."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_EXITS = frozenset({"exit", "_exit", "quit", "abort"})
KEPT = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
"""Where a test holds one of these, it is evaluated all the same: a name is bound, a generator stays one."""
COMPOUND = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match,
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef,
)  # fmt: skip


class SourceFile:
    """One parsed file, with the parent of every node."""

    def __init__(self, file: str, text: str, tree: ast.Module) -> None:
        self.file = file
        self.content = text.encode("utf-8")
        self.starts = [0]
        for line in self.content.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.tree = tree
        self.parents: dict[int, ast.AST] = {}
        self.nodes: list[ast.AST] = [tree]
        for node in self.nodes:
            below = children(node)
            self.parents.update((id(child), node) for child in below)
            self.nodes += below
            if len(self.nodes) > MOST_NODES:
                break

    @property
    def complete(self) -> bool:
        """Whether the whole tree was taken in."""
        return len(self.nodes) <= MOST_NODES

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Start and end of a node in the bytes of the file."""
        start = self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return start, end

    def text(self, node: ast.AST) -> str:
        """The source of a node."""
        start, end = self.span(node)
        return self.content[start:end].decode("utf-8", "replace")


def names_used(node: ast.AST, called: set[int]) -> Iterator[str]:
    """Names by which a node uses a function, class or module. A call speaks for the name it calls."""
    if isinstance(node, ast.Call):
        called.add(id(node.func))
        if isinstance(node.func, ast.Name):
            yield node.func.id
        elif isinstance(node.func, ast.Attribute):
            yield node.func.attr
    elif id(node) in called:
        return
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        yield node.attr
    elif isinstance(node, ast.Import | ast.ImportFrom):
        named = [alias.name for alias in node.names]
        named += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        yield from dict.fromkeys(name.rsplit(".", 1)[-1] for name in named)


def node_at(source: SourceFile, line: int) -> ast.AST | None:
    """The call on a line that lies under the most tests; failing that, a statement."""
    found: ast.AST | None = None
    most = -1
    for node in source.nodes:
        if getattr(node, "lineno", 0) != line or not isinstance(node, ast.Call | ast.stmt):
            continue
        above = [node, *enclosing(source, node)]
        if any(isinstance(one, ast.JoinedStr) for one in above):
            continue
        tests = sum(_is_tested(below, one) for below, one in pairwise(above))
        weight = tests + (100_000 if isinstance(node, ast.Call) else 0)
        if weight > most:
            found, most = node, weight
    return found


def _is_tested(node: ast.AST, parent: ast.AST) -> bool:
    """Whether a node is evaluated only if a test beside it says so."""
    if isinstance(parent, ast.If | ast.While):
        return node is not parent.test
    if isinstance(parent, ast.IfExp):
        return node is not parent.test
    if isinstance(parent, ast.BoolOp):
        return node is not parent.values[0]
    return isinstance(parent, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)


def header_of(parent: ast.AST) -> int:
    """Line on which a compound statement starts: one beside it may not have run although its line did."""
    return first_line(parent.pattern if isinstance(parent, ast.match_case) else parent)


def last_that_ran(
    source: SourceFile, block: list[ast.stmt], node: ast.AST, parent: ast.AST, ran: Collection[Place]
) -> int | None:
    """First line of the last statement of a block, `node` included, that ran before the way ended."""
    last = None
    for statement in block:
        line = statement.lineno
        if line != header_of(parent) and (source.file, line) in ran:
            last = line
        if statement is node:
            break
    return last


def enclosing(source: SourceFile, node: ast.AST) -> list[ast.AST]:
    """The nodes around a node, the nearest first."""
    found = []
    parent = source.parents.get(id(node))
    while parent is not None:
        found.append(parent)
        parent = source.parents.get(id(parent))
    return found


def block_of(parent: ast.AST, node: ast.AST) -> list[ast.stmt] | None:
    """The list of statements of `parent` that holds `node` as a statement."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and any(one is node for one in block):
            return block
    return None


def first_line(node: ast.AST) -> int:
    """Line on which a node starts; 0 for a node without one."""
    return int(getattr(node, "lineno", 0))


def leaves_of(root: ast.stmt) -> list[ast.stmt]:
    """Statements below `root` after which what follows `root` is not reached."""
    found: list[ast.stmt] = []
    stack: list[tuple[ast.AST, bool]] = [(root, False)]
    while stack:
        node, looping = stack.pop()
        if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
            continue
        if (
            isinstance(node, ast.Return | ast.Raise | ast.Assert)
            or (isinstance(node, ast.Continue | ast.Break) and not looping)
            or (isinstance(node, ast.Expr) and _is_exit(node.value))
        ):
            found.append(node)
        if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            inside = looping or isinstance(node, ast.For | ast.AsyncFor | ast.While)
            below = chain(
                getattr(node, "body", ()) or (),
                getattr(node, "handlers", ()) or (),
                getattr(node, "cases", ()) or (),
                getattr(node, "orelse", ()) or (),
                getattr(node, "finalbody", ()) or (),
            )
            stack += [(child, inside) for child in below if isinstance(child, ast.AST)]
    return found


def _is_exit(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in _EXITS


def branch_off(source: SourceFile, root: ast.stmt, leaf: ast.stmt) -> tuple[ast.expr, bool] | None:
    """The nearest `if` around a leaf, and the value of its test that avoids it; `None` if neither does."""
    node: ast.AST = leaf
    while node is not root:
        parent = source.parents.get(id(node))
        if parent is None:
            return None
        if isinstance(parent, ast.If) and not any(isinstance(i, KEPT) for i in ast.walk(parent.test)):
            inside = any(one is node for one in parent.body)
            others = parent.orelse if inside else parent.body
            if not any(leaves_of(other) for other in others):
                return parent.test, not inside
            return None
        if not isinstance(parent, ast.stmt):
            return None
        node = parent
    return None


def is_main(test: ast.expr) -> bool:
    """Whether a test is `__name__ == "__main__"`: true where the file is the program, and left alone."""
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def shape_of(target: ast.expr) -> str:
    """An element that fits the names a loop binds."""
    depth = 0
    while isinstance(target, ast.Tuple | ast.List) and depth < 4:
        parts = [("('', '')" if isinstance(e, ast.Tuple) and len(e.elts) == 2 else "''") for e in target.elts]
        return f"({', '.join(parts)},)"
    return "''"
