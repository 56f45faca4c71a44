"""Arguments declared with `argparse`, followed through variables, functions, groups and subparsers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from conjunct.agent.python_source import (
    NODE_LIMIT,
    collection,
    dotted,
    kind_of_annotation,
    module_constants,
    text_of,
)
from conjunct.agent.usage import Parameter, Usage, describe

_FLAG_ACTIONS = {
    "store_true",
    "store_false",
    "store_const",
    "count",
    "help",
    "version",
    "append_const",
    "BooleanOptionalAction",
}


@dataclass(slots=True)
class _Parser:
    parameters: list[Parameter] = field(default_factory=list)
    subcommands: dict[str, _Parser] = field(default_factory=dict)
    parents: list[_Parser] = field(default_factory=list)
    required: bool = False
    group: str = ""
    owner: _Parser | None = None

    def add(self, parameter: Parameter) -> None:
        (self.owner or self).parameters.append(parameter)

    def usage(self, depth: int = 0) -> Usage:
        inherited = [item for parent in self.parents if parent is not self for item in parent.parameters]
        subcommands = (
            tuple((name, sub.usage(depth + 1)) for name, sub in self.subcommands.items()) if depth < 3 else ()
        )
        return Usage(
            parameters=tuple(inherited + self.parameters),
            subcommands=subcommands,
            subcommand_required=bool(subcommands),
            source="argparse",
        )


@dataclass(slots=True)
class _Reader:
    """Follows parser variables through the file; a variable is looked up in its function, then anywhere."""

    constants: dict[str, tuple[str, ...]]
    known: dict[tuple[str, str], _Parser] = field(default_factory=dict)
    anywhere: dict[str, _Parser] = field(default_factory=dict)
    roots: list[_Parser] = field(default_factory=list)
    common: _Parser = field(default_factory=_Parser)
    groups: int = 0

    def find(self, scope: str, node: ast.AST) -> _Parser | None:
        if isinstance(node, ast.Call):
            return self.create(scope, node)
        name = dotted(node)
        return self.known.get((scope, name)) or self.anywhere.get(name)

    def bind(self, scope: str, name: str, parser: _Parser) -> None:
        self.known[(scope, name)] = parser
        self.anywhere[name] = parser

    def create(self, scope: str, call: ast.Call) -> _Parser | None:
        """The parser, group or subparser that a call makes, if it makes one."""
        method = dotted(call.func).rpartition(".")[2]
        words = {item.arg: item.value for item in call.keywords if item.arg}
        if method.endswith("ArgumentParser"):
            parser = _Parser()
            parents = words.get("parents")
            if isinstance(parents, ast.List | ast.Tuple):
                parser.parents = [
                    p for p in (self.find(scope, item) for item in parents.elts) if p is not None
                ]
            self.roots.append(parser)
            return parser
        if not isinstance(call.func, ast.Attribute):
            return None
        owner = None
        if method in ("add_subparsers", "add_argument_group", "add_mutually_exclusive_group", "add_parser"):
            owner = self.find(scope, call.func.value) or (self.roots[-1] if self.roots else None)
        if owner is None:
            return None
        if method == "add_parser":
            parser = _Parser()
            parents = words.get("parents")
            if isinstance(parents, ast.List | ast.Tuple):
                parser.parents = [
                    p for p in (self.find(scope, item) for item in parents.elts) if p is not None
                ]
            name = text_of(call.args[0]) if call.args else ""
            if name:
                owner.subcommands[name] = parser
            return parser
        if method == "add_subparsers":
            return owner
        group = ""
        if method == "add_mutually_exclusive_group" and text_of(words.get("required")) == "True":
            self.groups += 1
            group = f"group-{self.groups}"
        return _Parser(owner=owner.owner or owner, group=group or owner.group)


def read_argparse(tree: ast.Module) -> Usage | None:
    reader = _Reader(module_constants(tree))
    for scope, statement in _statements(tree):
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            made = reader.create(scope, statement.value)
            if made is not None:
                for target in statement.targets:
                    reader.bind(scope, dotted(target), made)
                continue
        call = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            if call.func.attr == "add_argument":
                owner = reader.find(scope, call.func.value) or reader.common
                parameter = _argument(call, reader.constants, owner.group)
                if parameter is not None:
                    owner.add(parameter)
            else:
                reader.create(scope, call)
    roots = [root for root in reader.roots if not any(root in other.parents for other in reader.roots)]
    if not roots and not reader.common.parameters:
        return None
    root = max(
        roots, key=lambda item: len(item.parameters) + 3 * len(item.subcommands), default=reader.common
    )
    usage = root.usage()
    return (
        replace(usage, parameters=(*usage.parameters, *reader.common.parameters))
        if root is not reader.common
        else usage
    )


def _statements(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Every simple statement with the name of its function, in source order, without recursion."""
    stack: list[tuple[str, ast.stmt]] = [("", node) for node in reversed(tree.body)]
    seen = 0
    while stack and seen < NODE_LIMIT:
        scope, node = stack.pop()
        seen += 1
        inner: list[ast.stmt] = []
        for block in ("body", "orelse", "handlers", "finalbody", "cases"):
            for child in getattr(node, block, ()) or ():
                inner.extend([child] if isinstance(child, ast.stmt) else getattr(child, "body", ()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            scope = f"{scope}.{node.name}:{node.lineno}"
        if inner:
            stack.extend((scope, child) for child in reversed(inner))
        else:
            yield scope, node


def _argument(call: ast.Call, constants: dict[str, tuple[str, ...]], group: str) -> Parameter | None:
    names = [text_of(item) for item in call.args]
    names = [name for name in names if name]
    words = {item.arg: item.value for item in call.keywords if item.arg}
    if not names:
        return None
    flags = tuple(name for name in names if name.startswith("-"))
    action = text_of(words.get("action")) or (
        dotted(words["action"]).rpartition(".")[2] if "action" in words else ""
    )
    nargs = text_of(words.get("nargs"))
    has_default = "default" in words
    name = max(flags, key=len).lstrip("-") if flags else names[0]
    required = (
        text_of(words.get("required")) == "True"
        if flags
        else nargs not in ("?", "*") and not (has_default and not nargs)
    )
    return describe(
        name,
        flags,
        required=required,
        takes_value=action not in _FLAG_ACTIONS,
        hint=f"{text_of(words.get('metavar'))} {text_of(words.get('help'))}",
        kind=kind_of_annotation(words.get("type"), name),
        choices=collection(words["choices"], constants) if "choices" in words else (),
        count=int(nargs) if nargs.isdigit() and int(nargs) < 20 else 1,
        default=text_of(words.get("default")) or None if has_default else None,
        group=group,
    )
