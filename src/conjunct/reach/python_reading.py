"""What readers of Python calls share: where a call stands, its arguments, and where values come from."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from conjunct.model import Guard
from conjunct.reach.downloads import Downloads
from conjunct.reach.found import UNKNOWN, Place, Sightings
from conjunct.reach.python_decoders import Values
from conjunct.reach.python_modules import FunctionScope, Package, Site
from conjunct.reach.python_trees import children
from conjunct.reach.python_values import fold, texts
from conjunct.reach.tables import table

_MOST_PARTS = 300
"""Parts of one expression, through names and functions, that are looked at for where it comes from."""

_SETS = ("clock", "shell", "processes", "exec_family", "fetches", "decoders", "data")


@lru_cache(maxsize=1)
def calls_table() -> dict[str, Any]:
    """The table of Python calls; lists of names as sets. Treat it as read-only."""
    loaded: dict[str, Any] = table("python")
    return loaded | {name: frozenset(loaded[name]) for name in _SETS}


@dataclass(slots=True)
class Reading:
    """The Python files of one package while their calls are listed."""

    package: Package
    seen: Sightings
    base: Place | None = None
    """Where a snippet found inside other code stands: its lines are counted from there."""
    downloads: Downloads = field(default_factory=Downloads)
    table: dict[str, Any] = field(default_factory=calls_table)

    def place(self, site: Site) -> Place:
        """The line of a call, with its guards."""
        guards = self.guards(site)
        line = site.call.lineno
        if self.base is not None:
            return self.base.at(self.base.line + line - 1, (*self.base.guards, *guards))
        return Place(site.scope.file, line, "python", guards)

    def guards(self, site: Site, depth: int = 0) -> tuple[Guard, ...]:
        """Guards of the line, after those of the only call of its function."""
        block = site.scope.block
        callers = self.package.sites_of.get(id(block), []) if block is not None else []
        if depth < 4 and len(callers) == 1 and callers[0] is not site:
            return (*self.guards(callers[0], depth + 1), *site.guards)
        return site.guards

    def argument(self, site: Site, index: int, names: tuple[str, ...]) -> Values:
        """The values of an argument, by keyword or position."""
        for keyword in site.call.keywords:
            if keyword.arg in names:
                return fold(keyword.value, site.scope)
        if index < len(site.call.args):
            return fold(site.call.args[index], site.scope)
        return (UNKNOWN,)

    def is_fetched(self, node: ast.expr, scope: FunctionScope) -> bool:
        """Whether an expression contains what a network call returned."""
        return origin_site(node, scope, self.table["fetches"]) is not None

    def is_decoded(self, node: ast.expr, scope: FunctionScope) -> bool:
        """Whether an expression contains decoded, decompressed or decrypted data."""
        return origin_site(node, scope, self.table["decoders"], (".decrypt",)) is not None

    def is_data(self, node: ast.expr, scope: FunctionScope) -> bool:
        """Whether an expression contains what was read from a file."""
        return origin_site(node, scope, self.table["data"], (".read_text", ".read_bytes")) is not None

    def origin(self, node: ast.expr, scope: FunctionScope) -> str:
        """The address that an expression's content was fetched from, `*` where it is not fixed."""
        found = origin_site(node, scope, self.table["fetches"])
        if found is None or not found[0].args:
            return UNKNOWN
        return next((url for url in addresses(fold(found[0].args[0], found[1])) if url), UNKNOWN)


def origin_site(
    node: ast.expr, scope: FunctionScope, names: Collection[str], endings: tuple[str, ...] = ()
) -> tuple[ast.Call, FunctionScope] | None:
    """The call among `names` whose result an expression contains, through names and package functions."""
    stack: list[tuple[ast.AST, FunctionScope]] = [(node, scope)]
    visited: set[int] = set()
    while stack and len(visited) < _MOST_PARTS:
        item, where = stack.pop()
        if id(item) in visited:
            continue
        visited.add(id(item))
        if isinstance(item, ast.Call):
            name = where.dotted(item.func) or ""
            if name in names or (endings and _ends(item.func, name, endings)):
                return item, where
            called = where.function_called(item)
            if called is not None:
                stack.extend((value, called) for value in called.returns[:4])
        elif isinstance(item, ast.Name):
            stack.extend((value, bound) for value, bound, _ in where.bindings_of(item.id)[:4])
        stack.extend((child, where) for child in children(item))
    return None


def _ends(function: ast.expr, name: str, endings: tuple[str, ...]) -> bool:
    """Whether a call is of a method of that name, whatever its receiver is."""
    if name.endswith(endings):
        return True
    return isinstance(function, ast.Attribute) and f".{function.attr}" in endings


def addresses(values: Values) -> tuple[str, ...]:
    """URLs or hosts: `("host", port)` counts as its host."""
    out: list[str] = []
    for value in values:
        if isinstance(value, tuple):
            head = value[0] if value else UNKNOWN
            out.append(head if isinstance(head, str) else UNKNOWN)
        else:
            out.extend(texts((value,)))
    return tuple(dict.fromkeys(out))


def keyword_of(call: ast.Call, name: str) -> ast.expr | None:
    """The value of a keyword argument, or `None`."""
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def is_given(call: ast.Call, index: int, name: str) -> bool:
    """Whether an argument is given and is not `None`."""
    if len(call.args) > index:
        return True
    value = keyword_of(call, name)
    return value is not None and not (isinstance(value, ast.Constant) and value.value is None)
