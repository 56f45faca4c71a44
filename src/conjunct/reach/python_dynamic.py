"""Python whose effect is not in its source: `exec`, computed names, unpickling, native code."""

from __future__ import annotations

import ast

from conjunct.reach.commands import remote_code
from conjunct.reach.found import UNKNOWN, Place
from conjunct.reach.python_modules import Site
from conjunct.reach.python_reading import Reading, keyword_of
from conjunct.reach.python_values import fold, texts

_LONGEST_BLOB = 200_000

_MODULES_OF_INTEREST = frozenset(
    {"os", "subprocess", "builtins", "__builtins__", "shutil", "socket", "sys", "importlib", "ctypes", "pty",
     "posix", "urllib.request", "requests", "http.client", "runpy", "code", "pickle", "marshal"}
)  # fmt: skip
"""Modules whose members act on the machine: which one is taken decides what happens."""

_NAMESPACES = frozenset({"globals", "locals", "vars", "sys.modules", "__builtins__", "builtins.__dict__"})


def list_dynamic(reading: Reading, site: Site, what: str) -> None:
    """A call of the table's `opaque` part."""
    place, call = reading.place(site), site.call
    argument = call.args[0] if call.args else keyword_of(call, "name")
    if what == "dynamic:import" and argument is not None:
        if UNKNOWN not in texts(fold(argument, site.scope))[0]:
            return
        hidden = reading.is_decoded(argument, site.scope) or reading.is_fetched(argument, site.scope)
        reading.seen.opaque(place, "encoded:import" if hidden else what, 1.0 if hidden else 0.6)
        return
    if what in ("dynamic:exec", "dynamic:eval") and argument is not None:
        _evaluated(reading, site, what, argument, place)
        return
    if what.startswith("unpickle:") and argument is not None and reading.is_fetched(argument, site.scope):
        remote_code(reading.origin(argument, site.scope), place, reading.seen)
    reading.seen.opaque(place, what)


def list_attribute_access(reading: Reading, site: Site) -> None:
    """`getattr(os, name)`: opaque where the object is a module that acts and the name is not fixed."""
    target, attribute = site.call.args[0], site.call.args[1]
    module = site.scope.dotted(target)
    if module is None or module not in _MODULES_OF_INTEREST:
        return
    if UNKNOWN in texts(fold(attribute, site.scope))[0]:
        reading.seen.opaque(reading.place(site), f"dynamic:getattr {module}")


def list_called_value(reading: Reading, site: Site) -> None:
    """A call of what an expression gave: `globals()[name]()`, `getattr(os, name)()`, `TABLE[key]()`."""
    function = site.call.func
    if isinstance(function, ast.Call):
        reading.seen.opaque(reading.place(site), "dynamic:call", 0.4)
        return
    base = site.scope.dotted(function.value) if isinstance(function, ast.Subscript) else None
    if base is not None and (base in _NAMESPACES or base.endswith(".__dict__")):
        reading.seen.opaque(reading.place(site), f"dynamic:namespace {base.removesuffix('.__dict__')}")


def _evaluated(reading: Reading, site: Site, what: str, argument: ast.expr, place: Place) -> None:
    if reading.is_fetched(argument, site.scope):
        remote_code(reading.origin(argument, site.scope), place, reading.seen)
        return
    known = False
    for text in texts(fold(argument, site.scope)):
        if text.strip(" *") and len(text) < _LONGEST_BLOB and UNKNOWN not in text[:1]:
            reading.seen.snippet("python", text, place)
            known = True
    if known:
        reading.seen.opaque(place, what.replace("dynamic", "constant"), 0.5)
    elif reading.is_decoded(argument, site.scope):
        reading.seen.opaque(place, "encoded:python")
    else:
        reading.seen.opaque(place, what, 0.8)
