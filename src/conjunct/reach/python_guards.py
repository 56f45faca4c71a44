"""Walks Python statements in order: bindings, calls, and the tests that decide whether a line runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import cast

from conjunct.model import Guard
from conjunct.reach.found import MOST_GUARDS, Sightings, distinct
from conjunct.reach.python_modules import FunctionScope, Module, Site, import_names
from conjunct.reach.python_trees import PARTS, PLAIN, inner
from conjunct.reach.python_values import fold

_COUNTERS = frozenset(
    {"count", "turn", "call", "run", "step", "iter", "visit", "uses", "used", "tick", "attempt", "seen",
     "times", "invocation", "session", "day", "month", "hour", "week", "year", "n", "total", "state"}
)  # fmt: skip
_SIMPLE = frozenset({ast.Expr, ast.Assign, ast.Return, ast.AugAssign, ast.AnnAssign, ast.Raise, ast.Assert})
"""The most common statements, none of which holds others."""
_DECIDING = frozenset({ast.BoolOp, ast.IfExp, ast.NamedExpr})
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)

_Frame = tuple[list[ast.stmt], tuple[Guard, ...], FunctionScope]


def index_module(module: Module, seen: Sightings) -> list[Site]:
    """Bind every name of a module and list its calls with their guards."""
    return _Walk(module, seen).run()


class _Walk:
    """One pass over the statements of a module, without recursion on their nesting."""

    def __init__(self, module: Module, seen: Sightings) -> None:
        self.module, self.seen = module, seen
        self.sites: list[Site] = []
        self.stack: list[_Frame] = []

    def run(self) -> list[Site]:
        self.stack.append((self.module.tree.body, (), self.module.scope))
        while self.stack:
            self.block(*self.stack.pop())
        return self.sites

    def block(self, body: list[ast.stmt], guards: tuple[Guard, ...], scope: FunctionScope) -> None:
        for statement in body:
            self.statement(statement, guards, scope)
            if isinstance(statement, ast.If) and not statement.orelse and _always_leaves(statement.body):
                guards = _under(guards, self.guard(statement.test, negated=True))

    def statement(self, node: ast.stmt, guards: tuple[Guard, ...], scope: FunctionScope) -> None:
        if node.__class__ in _SIMPLE:
            self.simple(node, guards, scope)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for local, dotted in import_names(node):
                self.module.imports.setdefault(local, dotted)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self.function(node, scope)
        elif isinstance(node, ast.ClassDef):
            self.class_body(node, guards, scope)
        elif isinstance(node, ast.If | ast.While):
            self.branch(node, guards, scope)
        elif isinstance(node, ast.Match):
            self.match(node, guards, scope)
        elif isinstance(node, ast.For | ast.AsyncFor):
            self.bind(node.target, node.iter, scope, "element")
            self.expressions((node.iter,), guards, scope)
            self.push((node.body, node.orelse), guards, scope)
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                if item.optional_vars is not None:
                    self.bind(item.optional_vars, item.context_expr, scope, "handle")
                self.expressions((item.context_expr,), guards, scope)
            self.push((node.body,), guards, scope)
        elif isinstance(node, ast.Try | ast.TryStar):
            handlers = [handler.body for handler in node.handlers]
            self.push((node.body, *handlers, node.orelse, node.finalbody), guards, scope)
        else:
            self.simple(node, guards, scope)

    def simple(self, node: ast.stmt, guards: tuple[Guard, ...], scope: FunctionScope) -> None:
        if isinstance(node, ast.Expr):
            if node.value.__class__ in PLAIN:
                return
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self.bind(target, node.value, scope, "value")
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.bind(node.target, node.value, scope, "value")
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            total = ast.BinOp(node.target, node.op, node.value)
            self.bind(node.target, ast.copy_location(total, node), scope, "value")
        elif isinstance(node, ast.Return) and node.value is not None:
            scope.returns.append(node.value)
        self.expressions((node,), guards, scope)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: FunctionScope) -> None:
        own = FunctionScope(self.module, node, scope)
        if scope is self.module.scope or node.name not in self.module.functions:
            self.module.functions[node.name] = own
        self.expressions((*node.decorator_list, *node.args.defaults), (), scope)
        self.stack.append((node.body, (), own))

    def class_body(self, node: ast.ClassDef, guards: tuple[Guard, ...], scope: FunctionScope) -> None:
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                own = FunctionScope(self.module, statement, scope)
                self.module.package.methods.setdefault(statement.name, []).append(own)
                self.stack.append((statement.body, (), own))
                self.expressions((*statement.decorator_list, *statement.args.defaults), guards, scope)
                continue
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        self.attribute(target.id, statement.value, scope)
            self.push(([statement],), guards, scope)

    def branch(self, node: ast.If | ast.While, guards: tuple[Guard, ...], scope: FunctionScope) -> None:
        self.expressions((node.test,), guards, scope)
        if _is_main_test(node.test):
            self.push((node.body, node.orelse), guards, scope)
            return
        self.stack.append((node.body, _under(guards, self.guard(node.test)), scope))
        if node.orelse:
            self.stack.append((node.orelse, _under(guards, self.guard(node.test, negated=True)), scope))

    def match(self, node: ast.Match, guards: tuple[Guard, ...], scope: FunctionScope) -> None:
        self.expressions((node.subject,), guards, scope)
        for case in node.cases:
            values = [item for item in inner(case.pattern) if isinstance(item, ast.Constant)]
            constants = distinct(item.value for item in values if isinstance(item.value, str))
            for value in constants:
                self.seen.constant(value)
            guard = Guard(f"match {self.module.source(node.subject)}", node.lineno, constants)
            self.stack.append((case.body, _under(guards, guard), scope))

    def push(
        self, blocks: tuple[list[ast.stmt], ...], guards: tuple[Guard, ...], scope: FunctionScope
    ) -> None:
        self.stack.extend((block, guards, scope) for block in reversed(blocks) if block)

    def bind(self, target: ast.expr, value: ast.expr, scope: FunctionScope, how: str) -> None:
        if isinstance(target, ast.Name):
            scope.bind(target.id, value, how)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            if target.value.id == "self":
                self.attribute(target.attr, value, scope)
        elif isinstance(target, ast.Tuple | ast.List):
            sources = value.elts if isinstance(value, ast.Tuple | ast.List) and how == "value" else []
            for index, item in enumerate(target.elts):
                if isinstance(item, ast.Name):
                    known = index < len(sources)
                    scope.bind(item.id, sources[index] if known else value, how if known else "handle")

    def attribute(self, name: str, value: ast.expr, scope: FunctionScope) -> None:
        found = self.module.package.attributes.setdefault(name, [])
        if len(found) < 8:
            found.append((value, scope, "value"))

    def expressions(
        self, roots: tuple[ast.AST, ...], guards: tuple[Guard, ...], scope: FunctionScope
    ) -> None:
        """Every call in these expressions; `a and b()` and `b() if a` put a guard on b."""
        pending: list[tuple[list[ast.AST], tuple[Guard, ...]]] = [(list(roots), guards)]
        while pending:
            nodes, under = pending.pop()
            while nodes:
                node = nodes.pop()
                kind = node.__class__
                if kind is ast.Attribute:
                    value = cast(ast.Attribute, node).value
                    if value.__class__ not in PLAIN:
                        nodes.append(value)
                    continue
                if kind is ast.Call:
                    self.sites.append(Site(cast(ast.Call, node), scope, under))
                elif kind is ast.Subscript:
                    self.module.subscripts.append((cast(ast.Subscript, node), scope))
                elif kind in _DECIDING:
                    inside = self.decided(node, under, scope)
                    if inside:
                        pending.extend(inside)
                        continue
                for value in PARTS[kind](node):
                    if value.__class__ is list:
                        nodes += [item for item in value if item.__class__ not in PLAIN]
                    elif value.__class__ not in PLAIN:
                        nodes.append(value)

    def decided(
        self, node: ast.AST, under: tuple[Guard, ...], scope: FunctionScope
    ) -> list[tuple[list[ast.AST], tuple[Guard, ...]]]:
        """The parts of `a and b()` and of `b() if a else c()`, each with its guards; nothing for others."""
        if isinstance(node, ast.NamedExpr):
            self.bind(node.target, node.value, scope, "value")
        elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            return self.conjunction(node, under)
        elif isinstance(node, ast.IfExp):
            return [
                ([node.test], under),
                ([node.body], _under(under, self.guard(node.test))),
                ([node.orelse], _under(under, self.guard(node.test, negated=True))),
            ]
        return []

    def conjunction(
        self, node: ast.BoolOp, under: tuple[Guard, ...]
    ) -> list[tuple[list[ast.AST], tuple[Guard, ...]]]:
        """`a and b()`: b is reached when a holds."""
        calls = any(item.__class__ is ast.Call for value in node.values[1:] for item in inner(value))
        found: list[tuple[list[ast.AST], tuple[Guard, ...]]] = []
        for value in node.values:
            found.append(([value], under))
            if calls:
                under = _under(under, self.guard(value))
        return found

    def guard(self, test: ast.expr, *, negated: bool = False) -> Guard:
        """A test as a guard, with the constants in it."""
        text = self.module.source(test)
        parts = inner(test)
        constants = distinct(_strings(parts))
        if not negated:
            self.module.tests.append(test)
            for value in constants:
                self.seen.constant(value)
            for number in _counted(parts):
                self.seen.count(number)
        return Guard(f"not ({text})" if negated else text, test.lineno, constants)


def _under(guards: tuple[Guard, ...], further: Guard) -> tuple[Guard, ...]:
    """Guards with one more; only the innermost are told, and a thousand early returns add up otherwise."""
    return (*guards[1 - MOST_GUARDS :], further)


def named_constants(module: Module, seen: Sightings) -> None:
    """Second look at all tests: `KEY = "payroll"` and later `if KEY in text` compares with "payroll"."""
    names = {name for name in module.scope.bindings if name.isupper() or name.startswith("_")}
    if not names:
        return
    for test in module.tests:
        for part in inner(test):
            if isinstance(part, ast.Name) and part.id in names:
                _note_named(module, part, test, seen)


def _note_named(module: Module, name: ast.Name, test: ast.expr, seen: Sightings) -> None:
    for value in fold(name, module.scope):
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, str) and "*" not in item:
                seen.constant(item)
            elif isinstance(item, int) and any(_is_counter(other) for other in inner(test)):
                seen.count(item)


def _strings(parts: list[ast.AST]) -> Iterator[str]:
    for node in parts:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and 0 < len(node.value) <= 200:
            yield node.value
        elif isinstance(node, ast.Call) and _called_name(node) in ("datetime", "date"):
            numbers = [item.value for item in node.args[:3] if isinstance(item, ast.Constant)]
            whole = [item for item in numbers if isinstance(item, int)]
            if len(whole) == 3:
                yield "-".join(f"{item:02d}" for item in whole)


def _counted(parts: list[ast.AST]) -> Iterator[int]:
    for node in parts:
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(_is_counter(part) for side in sides for part in inner(side)):
                for side in sides:
                    operand = (
                        side.right if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mod) else side
                    )
                    if isinstance(operand, ast.Constant) and type(operand.value) is int:
                        yield operand.value


def _called_name(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_counter(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return _called_name(node) in ("len", "weekday", "isoweekday", "toordinal")
    text = ""
    if isinstance(node, ast.Name):
        text = node.id
    elif isinstance(node, ast.Attribute):
        text = node.attr
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        text = str(node.slice.value)
    words = text.lower().replace("-", "_").split("_")
    return any(word in _COUNTERS or word.rstrip("s") in _COUNTERS for word in words)


def _is_main_test(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _always_leaves(body: list[ast.stmt]) -> bool:
    last = body[-1]
    if isinstance(last, _LEAVES):
        return True
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return _called_name(last.value) in ("exit", "_exit", "quit", "abort")
    return False
