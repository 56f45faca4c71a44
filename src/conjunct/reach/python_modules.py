"""The Python files of a package as modules: imports, aliases, assignments, functions and who calls them."""

from __future__ import annotations

import ast
import posixpath
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

from conjunct.model import Guard
from conjunct.reach.python_decoders import NOTHING_KNOWN, Values
from conjunct.reach.python_values import fold, texts

MOST_STEPS = 400_000
"""Folding steps per package: about a second of work."""

Block = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Bound = tuple[ast.expr, "FunctionScope", str]
"""An expression a name is bound to, the scope it stands in, and how: `value`, `element`, `handle`."""


def parse_python(text: str) -> ast.Module | None:
    """The syntax tree, or `None` where this is not Python 3 or nested beyond what the parser takes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@dataclass(slots=True)
class Site:
    """One call, and under what it is reached."""

    call: ast.Call
    scope: FunctionScope
    guards: tuple[Guard, ...]


@dataclass(slots=True)
class Budget:
    """Folding steps left for the package."""

    left: int = MOST_STEPS


@dataclass(slots=True)
class Package:
    """All modules of one skill."""

    modules: dict[str, Module] = field(default_factory=dict)
    """By file path."""
    sites_of: dict[int, list[Site]] = field(default_factory=dict)
    """Call sites of each function of the package, by `id` of its node."""
    methods: dict[str, list[FunctionScope]] = field(default_factory=dict)
    """Functions defined in classes, by name."""
    attributes: dict[str, list[Bound]] = field(default_factory=dict)
    """What `self.NAME` is assigned anywhere in the package."""
    budget: Budget = field(default_factory=Budget)
    scopes: list[FunctionScope] = field(default_factory=list)
    defined: set[str] = field(default_factory=set)
    """Names of all functions and methods of the package."""

    def release(self) -> None:
        """Let go of all syntax trees: scopes and trees point at each other, and a collector takes longer
        to find that out than all reading took."""
        for scope in self.scopes:
            scope.release()
        for module in self.modules.values():
            module.release()
        for table in (self.modules, self.sites_of, self.methods, self.attributes):
            table.clear()
        self.scopes.clear()

    def module_named(self, dotted: str, near: str) -> Module | None:
        """The module a dotted import means: beside the importing file first, then by its whole path."""
        tail = dotted.strip(".").replace(".", "/")
        if not tail:
            return None
        folder = posixpath.dirname(near)
        for base in dict.fromkeys((folder, "", posixpath.dirname(folder))):
            for name in (f"{tail}.py", f"{tail}/__init__.py"):
                found = self.modules.get(posixpath.join(base, name) if base else name)
                if found is not None:
                    return found
        return None


class Module:
    """One file: its tree, lines, import names, functions and module-level scope."""

    def __init__(self, file: str, text: str, tree: ast.Module, package: Package) -> None:
        self.file, self.tree, self.package = file, tree, package
        self.lines = text.splitlines()
        self.imports: dict[str, str] = {}
        self.functions: dict[str, FunctionScope] = {}
        self.subscripts: list[tuple[ast.Subscript, FunctionScope]] = []
        self.tests: list[ast.expr] = []
        self.scope = FunctionScope(self, None, None)

    def release(self) -> None:
        """Let go of the tree; the module is of no use afterwards."""
        self.tree = ast.Module([], [])
        self.functions.clear()
        self.subscripts.clear()
        self.tests.clear()

    def source(self, node: ast.expr) -> str:
        """The first line of an expression as written, at most 200 characters."""
        if not 0 < node.lineno <= len(self.lines):
            return ""
        raw = self.lines[node.lineno - 1].encode()
        end = node.end_col_offset if node.end_lineno == node.lineno else len(raw)
        return raw[node.col_offset : end].decode("utf-8", "replace")[:200]


class FunctionScope:
    """A function, or the module level: its bindings, and its way to outer names."""

    def __init__(self, module: Module, block: Block | None, outer: FunctionScope | None) -> None:
        self.module, self.block, self.outer = module, block, outer
        self.file = module.file
        self.bindings: dict[str, list[Bound]] = {}
        self.returns: list[ast.expr] = []
        self.known: dict[str, Values | None] = {}
        self.names: dict[str, str | None] = {}
        self.read: list[tuple[str, int]] = []
        self.parameters: tuple[str, ...] = ()
        """Names of the positional and keyword parameters."""
        module.package.scopes.append(self)
        if block is not None:
            given = block.args
            self.parameters = tuple(item.arg for item in (*given.posonlyargs, *given.args, *given.kwonlyargs))
        if block is not None and not isinstance(block, ast.Lambda):
            module.package.defined.add(block.name)

    def release(self) -> None:
        """Let go of the trees; the scope is of no use afterwards."""
        self.block = self.outer = None
        for table in (self.bindings, self.known, self.names):
            table.clear()
        self.returns.clear()

    # ---- protocol of python_values

    def exhausted(self) -> bool:
        budget = self.module.package.budget
        budget.left -= 1
        return budget.left < 0

    def environment(self, name: str, node: ast.expr) -> None:
        self.read.append((name, node.lineno))

    def value_of(self, node: ast.expr, depth: int) -> Values | None:
        """What the assignments, parameters and imports of the package give a name or attribute."""
        if isinstance(node, ast.Attribute):
            return self._attribute(node, depth)
        if not isinstance(node, ast.Name):
            return None
        if node.id in self.known:
            return self.known[node.id]
        self.known[node.id] = None  # a name defined by itself ends here
        found: list[Values] = [self._bound(item, depth) for item in self.bindings_of(node.id)[:6]]
        if not found and node.id in self.module.imports:
            found = self._imported(self.module.imports[node.id], depth)
        values = tuple(value for values in found for value in values) or None
        self.known[node.id] = values
        return values

    def dotted(self, node: ast.expr) -> str | None:
        """The dotted name after imports and aliases: `r` in `from subprocess import run as r`."""
        return self._dotted(node, 0)

    # ---- inside

    def bind(self, name: str, value: ast.expr, how: str = "value") -> None:
        """Note an assignment."""
        found = self.bindings.setdefault(name, [])
        if len(found) < 8:
            found.append((value, self, how))

    def function_called(self, call: ast.Call) -> FunctionScope | None:
        """The function of the package that a call runs, if it is one."""
        function = call.func
        if isinstance(function, ast.Name):
            local = self._local_function(function.id)
            if local is not None:
                return local
            return self._package_function(self.module.imports.get(function.id, ""))
        if isinstance(function, ast.Attribute):
            if function.attr not in self.module.package.defined:
                return None
            name = self.dotted(function)
            found = self._package_function(name) if name else None
            if found is None:
                methods = self.module.package.methods.get(function.attr, ())
                found = methods[0] if len(methods) == 1 else None
            return found
        return None

    def _local_function(self, name: str) -> FunctionScope | None:
        return self.module.functions.get(name)

    def _package_function(self, dotted: str) -> FunctionScope | None:
        head, _, name = dotted.rpartition(".")
        if name not in self.module.package.defined:
            return None
        module = self.module.package.module_named(head, self.file) if head else None
        return module.functions.get(name) if module else None

    def bindings_of(self, name: str) -> list[Bound]:
        """What a name is bound to, in this scope or the next one outside that knows it."""
        scope: FunctionScope | None = self
        while scope is not None:
            if name in scope.bindings:
                return scope.bindings[name]
            if name in scope.parameters:
                return scope._arguments(name)
            scope = scope.outer
        return []

    def _arguments(self, name: str) -> list[Bound]:
        """What the call sites in the package pass for a parameter, and its default."""
        if self.block is None:
            return []
        names = self.parameters
        position = names.index(name)
        offset = 1 if names[:1] in (("self",), ("cls",)) else 0
        found: list[Bound] = []
        for site in self.module.package.sites_of.get(id(self.block), [])[:6]:
            for keyword in site.call.keywords:
                if keyword.arg == name:
                    found.append((keyword.value, site.scope, "value"))
            if 0 <= position - offset < len(site.call.args):
                found.append((site.call.args[position - offset], site.scope, "value"))
        arguments = self.block.args
        positional = [item.arg for item in (*arguments.posonlyargs, *arguments.args)]
        defaults: dict[str, ast.expr] = dict(
            zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=False)
        )
        for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=False):
            if default is not None:
                defaults[item.arg] = default
        if name in defaults:
            found.append((defaults[name], self.outer or self, "value"))
        return found

    def _bound(self, bound: Bound, depth: int) -> Values:
        value, scope, how = bound
        if how == "handle":
            return NOTHING_KNOWN
        values = fold(value, scope, depth)
        if how == "element":
            return (
                tuple(item for value in values if isinstance(value, tuple) for item in value)[:6]
                or NOTHING_KNOWN
            )
        return values

    def _attribute(self, node: ast.Attribute, depth: int) -> Values | None:
        name = self.dotted(node) or ""
        if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
            key = f"self.{node.attr}"
            if key not in self.known:
                self.known[key] = None
                bound = self.module.package.attributes.get(node.attr, [])[:4]
                values = tuple(value for item in bound for value in self._bound(item, depth)) or None
                self.known[key] = values
            return self.known[key]
        found = self._imported(name, depth) if "." in name else []
        return found[0] if found else None

    def _imported(self, dotted: str, depth: int) -> list[Values]:
        head, _, name = dotted.rpartition(".")
        module = self.module.package.module_named(head, self.file) if head else None
        if module is None or module is self.module:
            return []
        values = module.scope.value_of(ast.Name(id=name, lineno=1), depth)
        return [values] if values else []

    def _dotted(self, node: ast.expr, depth: int) -> str | None:
        if depth > 12:
            return None
        if isinstance(node, ast.Name):
            name = node.id
            return self.names[name] if name in self.names else self._dotted_name(name, depth)
        if isinstance(node, ast.Attribute):
            base = self._dotted(node.value, depth + 1)
            return f"{base}.{node.attr}" if base else None
        if isinstance(node, ast.Call):
            return self._dotted_call(node, depth)
        if isinstance(node, ast.Subscript):
            return self._dotted_item(node, depth)
        if isinstance(node, ast.Await):
            return self._dotted(node.value, depth + 1)
        return None

    def _dotted_name(self, name: str, depth: int) -> str | None:
        self.names[name] = None
        answer: str | None = None
        bound = self.bindings_of(name)
        if bound:
            value, scope, how = bound[0]
            if how != "element" and isinstance(
                value, ast.Name | ast.Attribute | ast.Call | ast.Await | ast.Subscript
            ):
                answer = scope._dotted(value, depth + 1)
        elif name in self.module.imports:
            answer = self.module.imports[name]
        elif name not in self.module.functions:
            answer = name
        self.names[name] = answer
        return answer

    def _dotted_call(self, node: ast.Call, depth: int) -> str | None:
        name = self._dotted(node.func, depth + 1)
        if name in ("__import__", "importlib.import_module", "builtins.__import__") and node.args:
            module = texts(fold(node.args[0], self, depth))[0]
            return None if "*" in module else module
        if name in ("getattr", "builtins.getattr") and len(node.args) >= 2:
            base = self._dotted(node.args[0], depth + 1)
            attribute = texts(fold(node.args[1], self, depth))[0]
            return f"{base}.{attribute}" if base and "*" not in attribute else None
        if name in ("vars", "builtins.vars") and node.args:
            base = self._dotted(node.args[0], depth + 1)
            return f"{base}.__dict__" if base else None
        return name

    def _dotted_item(self, node: ast.Subscript, depth: int) -> str | None:
        base = self._dotted(node.value, depth + 1)
        if base not in ("sys.modules", "globals", "__builtins__") and not (base or "").endswith(".__dict__"):
            return None
        key = texts(fold(node.slice, self, depth))[0]
        if "*" in key or base is None:
            return None
        return f"{base.removesuffix('.__dict__')}.{key}" if base.endswith(".__dict__") else key


def import_names(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """(local name, dotted name) of an import statement."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield alias.asname or alias.name, f"{node.module}.{alias.name}" if node.module else alias.name
        elif alias.asname:
            yield alias.asname, alias.name
        else:
            first = alias.name.split(".", 1)[0]
            yield first, first
