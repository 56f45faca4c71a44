"""Fast walks over syntax trees: `ast.walk` visits every operator, context and literal, at twice the cost."""

from __future__ import annotations

import ast

PLAIN = frozenset(
    {ast.Constant, ast.Name, ast.Load, ast.Store, ast.Del, ast.Pass, ast.Break, ast.Continue, ast.Import,
     str, type(None)}
)  # fmt: skip
"""Classes with nothing inside that could be a call."""

_WITHOUT_EXPRESSIONS = frozenset(
    {"ctx", "op", "ops", "id", "attr", "arg", "name", "asname", "names", "module", "level", "kind",
     "conversion", "type_comment", "is_async", "simple", "lineno", "rest", "kwd_attrs", "tag", "type_ignores"}
)  # fmt: skip


class _Fields(dict[type, tuple[str, ...]]):
    """Class of node to those of its fields that can hold expressions or statements."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        names: tuple[str, ...] = getattr(kind, "_fields", ())
        found = () if kind is ast.Constant else tuple(n for n in names if n not in _WITHOUT_EXPRESSIONS)
        self[kind] = found
        return found


FIELDS = _Fields()


def children(node: ast.AST) -> list[ast.AST]:
    """What stands directly below a node, operators and contexts left out."""
    found: list[ast.AST] = []
    for name in FIELDS[node.__class__]:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += [item for item in value if item is not None and item.__class__ is not str]
        elif value is not None and value.__class__ is not str:
            found.append(value)
    return found


def inner(root: ast.AST) -> list[ast.AST]:
    """The node and everything below it, operators and contexts left out; without recursion."""
    found = [root]
    for node in found:
        found += children(node)
    return found
