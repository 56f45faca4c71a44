"""Reading Python source without running it: bounded parsing, constants, names."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

from conjunct.agent.usage import SOURCE_LIMIT, describe

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
NODE_LIMIT = 200_000


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


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    for number, node in enumerate(ast.walk(tree)):
        if number > NODE_LIMIT:
            return
        yield node


def dotted(node: ast.AST) -> str:
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


def module_constants(tree: ast.Module) -> dict[str, tuple[str, ...]]:
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
            found = collection(value, table)
            if found:
                table[target.id] = found
    return table


def collection(node: ast.expr, constants: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    for _ in range(6):
        if (
            isinstance(node, ast.Call)
            and node.args
            and dotted(node.func) in ("list", "sorted", "tuple", "set", "frozenset", "Choice", "click.Choice")
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
        return (*collection(node.left, constants), *collection(node.right, constants))[:200]
    return tuple(str(item.value) for item in items[:200] if isinstance(item, ast.Constant))


def text_of(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
    if isinstance(node, ast.BinOp):
        return text_of(node.left) + text_of(node.right)
    return ""


def kind_of_annotation(node: ast.expr | None, name: str) -> str:
    if node is None:
        return ""
    kind = _TYPES.get(dotted(node.func if isinstance(node, ast.Call) else node).rpartition(".")[2], "")
    return "" if kind == "file" and describe(name).kind else kind
