"""Arguments of a Python script, read from its source by `ast`: argparse, click, typer, fire, `sys.argv`."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from conjunct.agent.usage import SOURCE_LIMIT, Parameter, Usage, describe, read_usage_text, usage_lines

_TYPES = {
    "int": "integer",
    "float": "number",
    "Path": "file",
    "FileType": "file",
    "File": "file",
    "bool": "boolean",
    "date": "date",
    "datetime": "date",
    "IntRange": "integer",
    "FloatRange": "number",
}
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
_NODE_LIMIT = 200_000


def parse(source: str) -> ast.Module | None:
    """The syntax tree, or `None` where the source is not Python 3 or too large or too deep to read."""
    if len(source) > SOURCE_LIMIT:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def read_python(source: str) -> Usage:
    """What arguments a Python script takes. Unknown ones give a usage without parameters, never an error."""
    tree = parse(source)
    if tree is None:
        return Usage(source="")
    usage = _argparse(tree) or _decorated(tree) or _argv(tree, source)
    return replace(usage, entry=has_entry(tree), prompts=_prompts(tree), reads_stdin=_stdin_kind(tree))


def has_entry(tree: ast.Module) -> bool:
    """Whether running the module does something: a main guard, or a top-level call for its effect."""
    for node in tree.body:
        if isinstance(node, ast.If) and "__name__" in {
            n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)
        }:
            return True
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            name = _dotted(node.value.func)
            if not name.startswith(
                ("sys.path", "warnings.", "logging.", "matplotlib.", "os.environ", "load_dotenv")
            ):
                return True
        if isinstance(node, ast.For | ast.While | ast.With):
            return True
    return False


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    for number, node in enumerate(ast.walk(tree)):
        if number > _NODE_LIMIT:
            return
        yield node


def _dotted(node: ast.AST) -> str:
    parts: list[str] = []
    for _ in range(12):
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Name):
            parts.append(node.id)
            break
        else:
            break
    return ".".join(reversed(parts))


def _constants(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """Module-level names of literal collections (dict: its keys), for `choices=NAME`."""
    table: dict[str, tuple[str, ...]] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            target, value = node.target, node.value
        else:
            continue
        if isinstance(target, ast.Name):
            found = _collection(value, table)
            if found:
                table[target.id] = found
    return table


def _collection(node: ast.expr, constants: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    for _ in range(6):
        if (
            isinstance(node, ast.Call)
            and node.args
            and _dotted(node.func)
            in ("list", "sorted", "tuple", "set", "frozenset", "Choice", "click.Choice")
        ):
            node = node.args[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "keys":
            node = node.func.value
        else:
            break
    if isinstance(node, ast.Name):
        return constants.get(node.id, ())
    items: list[ast.expr | None] = []
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        items = list(node.elts)
    elif isinstance(node, ast.Dict):
        items = list(node.keys)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return (*_collection(node.left, constants), *_collection(node.right, constants))[:200]
    return tuple(str(item.value) for item in items[:200] if isinstance(item, ast.Constant))


def _text(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
    if isinstance(node, ast.BinOp):
        return _text(node.left) + _text(node.right)
    return ""


# ---- argparse


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
        name = _dotted(node)
        return self.known.get((scope, name)) or self.anywhere.get(name)

    def bind(self, scope: str, name: str, parser: _Parser) -> None:
        self.known[(scope, name)] = parser
        self.anywhere[name] = parser

    def create(self, scope: str, call: ast.Call) -> _Parser | None:
        """The parser, group or subparser that a call makes, if it makes one."""
        method = _dotted(call.func).rpartition(".")[2]
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
            name = _text(call.args[0]) if call.args else ""
            if name:
                owner.subcommands[name] = parser
            return parser
        if method == "add_subparsers":
            return owner
        group = ""
        if method == "add_mutually_exclusive_group" and _text(words.get("required")) == "True":
            self.groups += 1
            group = f"group-{self.groups}"
        return _Parser(owner=owner.owner or owner, group=group or owner.group)


def _argparse(tree: ast.Module) -> Usage | None:
    reader = _Reader(_constants(tree))
    for scope, statement in _statements(tree):
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            made = reader.create(scope, statement.value)
            if made is not None:
                for target in statement.targets:
                    reader.bind(scope, _dotted(target), made)
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
    while stack and seen < _NODE_LIMIT:
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
    names = [_text(item) for item in call.args]
    names = [name for name in names if name]
    words = {item.arg: item.value for item in call.keywords if item.arg}
    if not names:
        return None
    flags = tuple(name for name in names if name.startswith("-"))
    action = _text(words.get("action")) or (
        _dotted(words["action"]).rpartition(".")[2] if "action" in words else ""
    )
    nargs = _text(words.get("nargs"))
    has_default = "default" in words
    name = max(flags, key=len).lstrip("-") if flags else names[0]
    required = (
        _text(words.get("required")) == "True"
        if flags
        else nargs not in ("?", "*") and not (has_default and not nargs)
    )
    return describe(
        name,
        flags,
        required=required,
        takes_value=action not in _FLAG_ACTIONS,
        hint=f"{_text(words.get('metavar'))} {_text(words.get('help'))}",
        kind=_kind_of_type(words.get("type"), name),
        choices=_collection(words["choices"], constants) if "choices" in words else (),
        count=int(nargs) if nargs.isdigit() and int(nargs) < 20 else 1,
        default=_text(words.get("default")) or None if has_default else None,
        group=group,
    )


def _kind_of_type(node: ast.expr | None, name: str) -> str:
    if node is None:
        return ""
    kind = _TYPES.get(_dotted(node.func if isinstance(node, ast.Call) else node).rpartition(".")[2], "")
    return "" if kind == "file" and describe(name).kind else kind


# ---- click, typer, fire


def _decorated(tree: ast.Module) -> Usage | None:
    commands: list[tuple[str, Usage]] = []
    constants = _constants(tree)
    fired = {
        _dotted(node.args[0])
        for node in _nodes(tree)
        if isinstance(node, ast.Call)
        and node.args
        and _dotted(node.func) in ("fire.Fire", "Fire", "typer.run")
    }
    for node in _nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        decorators = [item for item in node.decorator_list if isinstance(item, ast.Call)]
        heads = [_dotted(item.func) for item in decorators] + [_dotted(item) for item in node.decorator_list]
        if any(head.endswith(".group") for head in heads):
            continue
        given = [_click_parameter(item, constants) for item in decorators]
        parameters = [item for item in given if item is not None]
        if node.name in fired or (any(head.endswith(".command") for head in heads) and not parameters):
            parameters = list(signature(node))
        elif not any(head.endswith(".command") for head in heads):
            continue
        name = next(
            (
                _text(item.args[0])
                for item in decorators
                if item.args and _dotted(item.func).endswith(".command")
            ),
            "",
        )
        commands.append((name or node.name.replace("_", "-"), Usage(tuple(parameters), source="click")))
    if not commands:
        return None
    if len(commands) == 1:
        return commands[0][1]
    return Usage(subcommands=tuple(commands), subcommand_required=True, source="click")


def _click_parameter(call: ast.Call, constants: dict[str, tuple[str, ...]]) -> Parameter | None:
    kind = _dotted(call.func).rpartition(".")[2]
    if kind not in ("option", "argument") or not call.args:
        return None
    words = {item.arg: item.value for item in call.keywords if item.arg}
    flags = tuple(_text(item).split("/")[0] for item in call.args if _text(item).startswith("-"))
    name = max(flags, key=len).lstrip("-") if flags else _text(call.args[0])
    required = _text(words.get("required")) == "True" if flags else _text(words.get("required")) != "False"
    declared = words.get("type")
    choices = (
        _collection(declared, constants)
        if isinstance(declared, ast.Call) and "Choice" in _dotted(declared.func)
        else ()
    )
    return describe(
        name,
        flags,
        required=required and not (flags and "default" in words),
        takes_value=_text(words.get("is_flag")) != "True" and "/" not in _text(call.args[0]),
        hint=_text(words.get("help")),
        kind=_kind_of_type(declared, name),
        choices=choices,
        default=_text(words.get("default")) or None,
    )


def signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Parameter]:
    """Parameters of a function as a command line has them: those without default are positional."""
    arguments = [*node.args.posonlyargs, *node.args.args]
    defaults: list[ast.expr | None] = [None] * (len(arguments) - len(node.args.defaults)) + list(
        node.args.defaults
    )
    for item, default in zip(arguments, defaults, strict=True):
        if item.arg in ("self", "cls"):
            continue
        kind = _kind_of_type(item.annotation, item.arg)
        is_option = isinstance(default, ast.Call) and _dotted(default.func).endswith("Option")
        ellipsis = (
            isinstance(default, ast.Call) and bool(default.args) and _text(default.args[0]) == "Ellipsis"
        )
        if default is None or (isinstance(default, ast.Call) and not is_option):
            yield describe(item.arg, required=True, kind=kind)
        else:
            flag = "--" + item.arg.replace("_", "-")
            yield describe(item.arg, (flag,), required=ellipsis, takes_value=kind != "boolean", kind=kind)


# ---- sys.argv


def _argv(tree: ast.Module, source: str) -> Usage:
    for line in usage_lines(source):
        usage = read_usage_text(line)
        if usage.parameters:
            return replace(usage, source="argv")
    names: dict[int, str] = {}
    flags: list[str] = []
    for node in _nodes(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            for inner in ast.walk(node.value):
                number = _argv_index(inner)
                if number is not None:
                    names.setdefault(number, node.targets[0].id)
        number = _argv_index(node)
        if number is not None:
            names.setdefault(number, f"argument {number}")
        if (
            isinstance(node, ast.Compare)
            and isinstance(node.ops[0], ast.In)
            and _dotted(node.comparators[0]) == "sys.argv"
        ):
            flags.append(_text(node.left))
    positionals = [
        describe(names.get(number, "argument"), required=True)
        for number in range(1, max(names, default=0) + 1)
    ]
    options = [
        describe(flag.lstrip("-"), (flag,), takes_value=False) for flag in flags if flag.startswith("-")
    ]
    return Usage(tuple(positionals + options), source="argv" if names or options else "")


def _argv_index(node: ast.AST) -> int | None:
    if not (isinstance(node, ast.Subscript) and _dotted(node.value) in ("sys.argv", "argv")):
        return None
    index = node.slice
    if isinstance(index, ast.Constant) and isinstance(index.value, int) and 0 < index.value < 12:
        return index.value
    return None


# ---- terminal


def _prompts(tree: ast.Module) -> tuple[str, ...]:
    asked: list[tuple[int, str]] = []
    for node in _nodes(tree):
        if isinstance(node, ast.Call) and _dotted(node.func) in (
            "input",
            "click.prompt",
            "click.confirm",
            "getpass.getpass",
            "getpass",
            "typer.prompt",
            "typer.confirm",
            "Prompt.ask",
            "Confirm.ask",
        ):
            text = _text(node.args[0]) if node.args else ""
            asked.append((node.lineno, text + (" (y/n)" if "onfirm" in _dotted(node.func) else "")))
    return tuple(text for _, text in sorted(asked)[:40])


def _stdin_kind(tree: ast.Module) -> str:
    kind = ""
    for node in _nodes(tree):
        if not isinstance(node, ast.Call):
            continue
        name = _dotted(node.func)
        if name in ("json.load", "json.loads") and re.search(r"\bstdin\b", ast.dump(node)[:2000]):
            return "json"
        if name in ("sys.stdin.read", "sys.stdin.readline", "sys.stdin.readlines", "sys.stdin.buffer.read"):
            kind = "text"
    return kind
