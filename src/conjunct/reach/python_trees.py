"""Fast walks over syntax trees: `ast.walk` visits every operator, context and literal, at twice the cost."""

from __future__ import annotations

import ast
from collections.abc import Callable
from operator import attrgetter
from typing import Any

PLAIN = frozenset(
    {ast.Constant, ast.Name, ast.Load, ast.Store, ast.Del, ast.Pass, ast.Break, ast.Continue, ast.Import,
     str, type(None)}
)  # fmt: skip
"""Classes with nothing inside that could be a call."""

_WITHOUT_EXPRESSIONS = frozenset(
    {"ctx", "op", "ops", "id", "attr", "arg", "name", "asname", "names", "module", "level", "kind",
     "conversion", "type_comment", "is_async", "simple", "lineno", "rest", "kwd_attrs", "tag", "type_ignores"}
)  # fmt: skip


class _Parts(dict[type, Callable[[Any], tuple[Any, ...]]]):
    """Class of node to what gives the values of those of its fields that can hold expressions or statements.

    All fields at once: one look-up each is what a walk spends most of its time on.
    """

    def __missing__(self, kind: type) -> Callable[[Any], tuple[Any, ...]]:
        self[kind] = found = _parts_of(kind)
        return found


def _parts_of(kind: type) -> Callable[[Any], tuple[Any, ...]]:
    names: tuple[str, ...] = () if kind is ast.Constant else getattr(kind, "_fields", ())
    names = tuple(name for name in names if name not in _WITHOUT_EXPRESSIONS)
    if not names:
        return lambda node: ()
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda node: (get(node),)


PARTS = _Parts()


def children(node: ast.AST) -> list[ast.AST]:
    """What stands directly below a node, operators and contexts left out."""
    found: list[ast.AST] = []
    for value in PARTS[node.__class__](node):
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
