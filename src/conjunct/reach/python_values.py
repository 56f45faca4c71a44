"""Python expressions to the values they can have, as far as the source fixes them."""

from __future__ import annotations

import ast
import itertools
import posixpath
from collections.abc import Callable, Iterable
from typing import Protocol

from conjunct.reach.found import PACKAGE, UNKNOWN
from conjunct.reach.python_decoders import DECODERS, NOTHING_KNOWN, Value, Values, as_bytes, decode, decode_as

MOST_ALTERNATIVES = 6
DEEPEST = 30
LONGEST = 64 * 1024


class Scope(Protocol):
    """What a name, an attribute and a call mean where an expression stands."""

    file: str

    def value_of(self, node: ast.expr, depth: int) -> Values | None:
        """Values of a name or attribute; `None` where nothing is assigned to it."""

    def dotted(self, node: ast.expr) -> str | None:
        """The dotted name of a function or class after imports and aliases, or `None`."""

    def environment(self, name: str, node: ast.expr) -> None:
        """Told of every environment variable read."""

    def exhausted(self) -> bool:
        """Told of every step; true once this package has used up its share of work."""


def fold(node: ast.expr | None, scope: Scope, depth: int = 0) -> Values:
    """The values of an expression. Bounded in depth, number and size; never evaluates code."""
    if node is None or depth > DEEPEST or scope.exhausted():
        return NOTHING_KNOWN
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return NOTHING_KNOWN
    values = handler(node, scope, depth + 1)
    return tuple(dict.fromkeys(_bounded(value) for value in values))[:MOST_ALTERNATIVES] or NOTHING_KNOWN


def texts(values: Values) -> tuple[str, ...]:
    """The values as path-like or URL-like text; integers and sequences count as unknown."""
    return tuple(dict.fromkeys(_text(value) for value in values))


def _text(value: Value) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return UNKNOWN


def _bounded(value: Value) -> Value:
    if isinstance(value, str | bytes):
        return value[:LONGEST]
    return value[:256] if isinstance(value, tuple) else value


def _constant(node: ast.Constant, scope: Scope, depth: int) -> Values:
    if isinstance(node.value, bool) or node.value is None:
        return NOTHING_KNOWN
    return (node.value,) if isinstance(node.value, str | bytes | int) else NOTHING_KNOWN


def _name(node: ast.expr, scope: Scope, depth: int) -> Values:
    if isinstance(node, ast.Name) and node.id == "__file__":
        return (f"{PACKAGE}/{scope.file}",)
    if isinstance(node, ast.Attribute) and node.attr in ("parent", "parents"):
        return tuple(posixpath.dirname(text) or "." for text in texts(fold(node.value, scope, depth)))
    if isinstance(node, ast.Attribute) and node.attr in ("name", "stem", "suffix"):
        return NOTHING_KNOWN
    return scope.value_of(node, depth) or NOTHING_KNOWN


def _sequence(node: ast.expr, scope: Scope, depth: int) -> Values:
    elements = getattr(node, "elts", [])[:128]
    return (tuple(fold(item, scope, depth)[0] for item in elements),)


def _joined(node: ast.JoinedStr, scope: Scope, depth: int) -> Values:
    parts: list[tuple[str, ...]] = []
    for item in node.values[:64]:
        if isinstance(item, ast.FormattedValue):
            parts.append(_printed(fold(item.value, scope, depth)))
        else:
            parts.append(_printed(fold(item, scope, depth)))
    return _product(parts, "".join)


def _printed(values: Values) -> tuple[str, ...]:
    return tuple(str(value) if isinstance(value, int) else _text(value) for value in values)


def _product(parts: Iterable[tuple[str, ...]], join: Callable[[tuple[str, ...]], str]) -> Values:
    return tuple(join(item) for item in itertools.islice(itertools.product(*parts), MOST_ALTERNATIVES))


def _binary(node: ast.BinOp, scope: Scope, depth: int) -> Values:
    pairs = itertools.product(fold(node.left, scope, depth), fold(node.right, scope, depth))
    return tuple(_operate(node.op, left, right) for left, right in itertools.islice(pairs, MOST_ALTERNATIVES))


def _operate(operator: ast.operator, left: Value, right: Value) -> Value:
    if isinstance(operator, ast.Div):
        if isinstance(left, int) and isinstance(right, int):
            return UNKNOWN
        return _join_path((_text(left), _text(right)))
    if isinstance(operator, ast.Mod) and isinstance(left, str):
        return _percent(left, right)
    if isinstance(operator, ast.Add):
        if isinstance(left, str) and isinstance(right, str):
            return left + right
        if isinstance(left, bytes) and isinstance(right, bytes):
            return left + right
        if isinstance(left, tuple) and isinstance(right, tuple):
            return left + right
        if isinstance(left, int) and isinstance(right, int):
            return left + right
        if isinstance(left, str) or isinstance(right, str):
            return _text(left) + _text(right)
    if isinstance(left, int) and isinstance(right, int):
        if isinstance(operator, ast.Sub):
            return left - right
        if isinstance(operator, ast.BitXor):
            return left ^ right
        if isinstance(operator, ast.Mult) and abs(left) < 10**9 and abs(right) < 10**9:
            return left * right
    if isinstance(operator, ast.Mult) and isinstance(left, str | bytes) and isinstance(right, int):
        return left * max(0, min(right, LONGEST // max(1, len(left))))
    return UNKNOWN


def _percent(template: str, value: Value) -> str:
    arguments = iter(value if isinstance(value, tuple) else (value,))
    pieces = template.split("%s")
    text = pieces[0]
    for piece in pieces[1:]:
        text += _text(next(arguments, UNKNOWN)) + piece
    return text


def _unary(node: ast.UnaryOp, scope: Scope, depth: int) -> Values:
    if not isinstance(node.op, ast.USub):
        return NOTHING_KNOWN
    return tuple(-value if isinstance(value, int) else UNKNOWN for value in fold(node.operand, scope, depth))


def _either(node: ast.IfExp, scope: Scope, depth: int) -> Values:
    return fold(node.body, scope, depth) + fold(node.orelse, scope, depth)


def _any_of(node: ast.BoolOp, scope: Scope, depth: int) -> Values:
    return tuple(itertools.chain.from_iterable(fold(item, scope, depth) for item in node.values[:4]))


def _item(node: ast.Subscript, scope: Scope, depth: int) -> Values:
    if scope.dotted(node.value) == "os.environ":
        return _variable(fold(node.slice, scope, depth), node, scope)
    base = fold(node.value, scope, depth)
    if isinstance(node.slice, ast.Slice):
        step = fold(node.slice.step, scope, depth)
        if step == (-1,) and node.slice.lower is None and node.slice.upper is None:
            return tuple(value[::-1] if isinstance(value, str | bytes | tuple) else UNKNOWN for value in base)
        return NOTHING_KNOWN
    index = fold(node.slice, scope, depth)[0]
    if isinstance(node.value, ast.Attribute) and node.value.attr == "parents" and isinstance(index, int):
        found = texts(base)
        for _ in range(min(max(index, 0), 8)):
            found = tuple(posixpath.dirname(text) for text in found)
        return found
    out: list[Value] = []
    for value in base:
        if isinstance(value, tuple) and isinstance(index, int) and -len(value) <= index < len(value):
            out.append(value[index])
    return tuple(out) or NOTHING_KNOWN


def _variable(names: Values, node: ast.expr, scope: Scope) -> Values:
    found: list[Value] = []
    for name in texts(names):
        scope.environment(name, node)
        found.append("~" if name in ("HOME", "USERPROFILE") else UNKNOWN)
    return tuple(found)


def _call(node: ast.Call, scope: Scope, depth: int) -> Values:
    name = scope.dotted(node.func) or ""
    first = node.args[0] if node.args else None
    if name in ("os.getenv", "os.environ.get", "os.environ.pop", "os.environ.setdefault"):
        default = node.args[1] if len(node.args) > 1 else None
        values = _variable(fold(first, scope, depth), node, scope)
        return values if default is None else values + fold(default, scope, depth)
    if name in ("os.path.join", "posixpath.join", "pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath"):
        parts = [_printed(fold(item, scope, depth)) for item in node.args[:12]] or [(".",)]
        return _product(parts, _join_path)
    if name in _FIXED:
        return (_FIXED[name],)
    if name in _SAME:
        return fold(first, scope, depth)
    if name in ("os.path.dirname", "posixpath.dirname"):
        return tuple(posixpath.dirname(text) for text in texts(fold(first, scope, depth)))
    if name in DECODERS:
        return tuple(decode(name, value) for value in fold(first, scope, depth))
    if name == "codecs.decode":
        codec = texts(fold(node.args[1], scope, depth))[0] if len(node.args) > 1 else ""
        return tuple(decode_as(value, codec) for value in fold(first, scope, depth))
    if name == "chr":
        return tuple(
            chr(value) if isinstance(value, int) and 0 <= value < 0x110000 else UNKNOWN
            for value in fold(first, scope, depth)
        )
    if name in ("bytes", "bytearray"):
        return tuple(as_bytes(value) for value in fold(first, scope, depth))
    if isinstance(node.func, ast.Attribute):
        return _method(node, node.func, scope, depth)
    return NOTHING_KNOWN


def _method(node: ast.Call, function: ast.Attribute, scope: Scope, depth: int) -> Values:
    method = function.attr
    receiver = fold(function.value, scope, depth)
    arguments = [fold(item, scope, depth) for item in node.args[:12]]
    if method in (
        "expanduser",
        "resolve",
        "absolute",
        "as_posix",
        "strip",
        "rstrip",
        "lstrip",
        "__str__",
        "copy",
    ):
        return receiver
    if method == "joinpath":
        return _product([_printed(receiver), *(_printed(item) for item in arguments)], _join_path)
    if method in ("with_suffix", "with_name", "with_stem"):
        return tuple(posixpath.join(posixpath.dirname(text), UNKNOWN) for text in texts(receiver))
    if method == "encode":
        return tuple(
            value.encode() if isinstance(value, str) and UNKNOWN not in value else UNKNOWN
            for value in receiver
        )
    if method == "decode":
        return texts(receiver)
    if method in ("lower", "upper"):
        return tuple(value.lower() if method == "lower" else value.upper() for value in texts(receiver))
    if method == "replace" and len(arguments) == 2:
        old, new = texts(arguments[0])[0], texts(arguments[1])[0]
        return tuple(
            value.replace(old, new) if old and len(value) < 4096 else UNKNOWN for value in texts(receiver)
        )
    if method == "join" and arguments:
        return tuple(_join_text(texts(receiver)[0], value) for value in arguments[0])
    if method == "format":
        return tuple(_format(text, [_printed(item)[0] for item in arguments]) for text in texts(receiver))
    if method == "split" and len(arguments) <= 1:
        separator = texts(arguments[0])[0] if arguments else None
        return tuple(tuple(text.split(separator or None)[:128]) for text in texts(receiver))
    return NOTHING_KNOWN


def _comprehension(node: ast.expr, scope: Scope, depth: int) -> Values:
    """`chr(c) for c in [104, 105]` and `chr(c ^ 7) for c in data`: one generator over a known sequence."""
    element, generators = getattr(node, "elt", None), getattr(node, "generators", [])
    if element is None or len(generators) != 1 or not isinstance(generators[0].target, ast.Name):
        return NOTHING_KNOWN
    source = fold(generators[0].iter, scope, depth)[0]
    if isinstance(source, int) or source == UNKNOWN:
        return NOTHING_KNOWN
    items: list[Value] = list(source[:512])
    bound = _Bound(scope, generators[0].target.id)
    out: list[Value] = []
    for item in items:
        bound.value = item
        out.append(fold(element, bound, depth)[0])
    return (tuple(out),)


class _Bound:
    """A scope with one more name: the variable of a comprehension."""

    def __init__(self, outer: Scope, name: str) -> None:
        self.outer, self.name, self.file = outer, name, outer.file
        self.value: Value = UNKNOWN

    def value_of(self, node: ast.expr, depth: int) -> Values | None:
        if isinstance(node, ast.Name) and node.id == self.name:
            return (self.value,)
        return self.outer.value_of(node, depth)

    def dotted(self, node: ast.expr) -> str | None:
        return self.outer.dotted(node)

    def environment(self, name: str, node: ast.expr) -> None:
        self.outer.environment(name, node)

    def exhausted(self) -> bool:
        return self.outer.exhausted()


def _join_path(parts: tuple[str, ...]) -> str:
    text = parts[0]
    for part in parts[1:]:
        text = part if part.startswith("/") else posixpath.join(text, part)
    return text


def _join_text(separator: str, value: Value) -> str:
    if isinstance(value, tuple):
        return separator.join(str(item) if isinstance(item, int) else _text(item) for item in value)
    return UNKNOWN


def _format(template: str, arguments: list[str]) -> str:
    pieces: list[str] = []
    used = 0
    rest = template
    while "{" in rest and len(pieces) < 200:
        head, _, tail = rest.partition("{")
        inside, closed, rest = tail.partition("}")
        index = int(inside) if inside.isdigit() and len(inside) < 4 else used
        known = closed and (not inside or inside.isdigit()) and index < len(arguments)
        pieces.append(head + (arguments[index] if known else UNKNOWN))
        used += 1
    return "".join(pieces) + rest


_FIXED = {
    "pathlib.Path.home": "~",
    "pathlib.Path.cwd": ".",
    "os.getcwd": ".",
    "tempfile.gettempdir": "/tmp",
    "tempfile.mkdtemp": "/tmp/*",
    "tempfile.mkstemp": "/tmp/*",
    "tempfile.NamedTemporaryFile": "/tmp/*",
    "tempfile.TemporaryDirectory": "/tmp/*",
    "tempfile.mktemp": "/tmp/*",
}
_SAME = frozenset(
    {"str", "os.fspath", "os.path.abspath", "os.path.expanduser", "os.path.realpath",
     "os.path.normpath", "list", "tuple", "iter", "sorted", "os.path.expandvars", "shlex.quote",
     "shlex.split", "urllib.request.Request", "reversed", "pathlib.Path.expanduser", "set",
     "io.StringIO", "io.BytesIO", "textwrap.dedent", "compile"}
)  # fmt: skip
_HANDLERS: dict[type[ast.expr], Callable[..., Values]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _name,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.JoinedStr: _joined,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.IfExp: _either,
    ast.BoolOp: _any_of,
    ast.Subscript: _item,
    ast.Call: _call,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.Await: lambda node, scope, depth: fold(node.value, scope, depth),
    ast.Starred: lambda node, scope, depth: fold(node.value, scope, depth),
    ast.NamedExpr: lambda node, scope, depth: fold(node.value, scope, depth),
}
