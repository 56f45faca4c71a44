"""The Python files of a package to reachable actions, by `ast`. Nothing is executed or imported."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources as package_files
from typing import Any

import yaml

from conjunct.model import ActionKind, Guard, ResourceClass
from conjunct.reach.commands import Downloads, list_command, program_name, programs, remote_code, unwrap
from conjunct.reach.found import UNKNOWN, Place, Sightings
from conjunct.reach.python_guards import index_module, named_constants
from conjunct.reach.python_modules import FunctionScope, Module, Package, Site, parse_python
from conjunct.reach.python_trees import children
from conjunct.reach.python_values import Values, fold, texts

_READ_ALL = ("dict", "json.dumps", "str", "list", "sorted", "pprint.pprint", "print", "repr", "yaml.dump")
_WRITING = ("w", "a", "x", "+")
_NETWORK_METHODS = {
    "get": ActionKind.CONNECT,
    "post": ActionKind.SEND,
    "put": ActionKind.SEND,
    "request": ActionKind.SEND,
}
_LONGEST_BLOB = 200_000


@lru_cache(maxsize=1)
def calls_table() -> dict[str, Any]:
    """The table of Python calls. Treat it as read-only."""
    text = package_files.files("conjunct.reach").joinpath("data/python.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def read_python(files: Mapping[str, str], seen: Sightings, *, place: Place | None = None) -> None:
    """List what the Python files of one package do, calls across them followed.

    `files` maps path to text. `place` is given for a snippet found inside other code: its lines are counted
    from there.
    """
    package = Package()
    sites: list[Site] = []
    for file, text in files.items():
        tree = parse_python(text)
        if tree is None:
            at = place or Place(file, 1, "python")
            seen.opaque(at, "unparsed:python", 0.6 if "print " in text else 1.0)
            continue
        package.modules[file] = Module(file, text, tree, package)
    for module in package.modules.values():
        sites.extend(index_module(module, seen))
    for site in sites:
        called = site.scope.function_called(site.call)
        if called is not None and called.block is not None:
            package.sites_of.setdefault(id(called.block), []).append(site)
    _forget(package)
    listing = _Listing(package, seen, place)
    for module in package.modules.values():
        named_constants(module, seen)
    for site in sites:
        listing.site(site)
    listing.variables(sites)
    package.release()


def _forget(package: Package) -> None:
    """Names looked up before the call sites were known are looked up again."""
    for module in package.modules.values():
        for scope in (module.scope, *module.functions.values()):
            scope.known.clear()
            scope.names.clear()


class _Listing:
    """Turns calls into actions."""

    def __init__(self, package: Package, seen: Sightings, place: Place | None) -> None:
        self.package, self.seen, self.base = package, seen, place
        self.table = calls_table()
        self.prefixes = tuple(row["prefix"] for row in self.table["prefixes"])
        self.downloads = Downloads()

    def place(self, site: Site) -> Place:
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

    def site(self, site: Site) -> None:
        call, scope = site.call, site.scope
        name = scope.dotted(call.func)
        if name is not None:
            name = name.removeprefix("builtins.").removeprefix("__builtins__.")
            if self.known_call(name, site):
                return
        if isinstance(call.func, ast.Attribute):
            self.method(call.func, name, site)
        elif isinstance(call.func, ast.Call) and name is None:
            self.seen.opaque(self.place(site), "dynamic:call", 0.4)

    def known_call(self, name: str, site: Site) -> bool:
        table = self.table
        if name in table["clock"]:
            self.seen.reads_clock = True
            return True
        row = table["calls"].get(name)
        if row is not None:
            self.row(row, site)
            if name in table["fetches"] and name == "urllib.request.urlretrieve":
                self.retrieved(site)
            return True
        if name in table["opaque"]:
            self.dynamic(name, site)
            return True
        if name in ("open", "io.open", "codecs.open", "aiofiles.open", "gzip.open"):
            self.open(site)
        elif name in table["shell"]:
            self.shell_text(site.call.args[:1], site)
        elif name in table["processes"]:
            self.process(site)
        elif name in table["exec_family"]:
            self.argv([*site.call.args], site)
        elif name in ("yaml.load",) and not _safe_loader(site.call):
            self.seen.opaque(self.place(site), "unpickle:yaml")
        elif name in ("getattr", "setattr") and len(site.call.args) >= 2:
            self.attribute_access(site)
        elif name in _READ_ALL and any(
            site.scope.dotted(item) == "os.environ" for item in site.call.args[:2]
        ):
            self.seen.add(self.place(site), ActionKind.READ, "env:*", ResourceClass.SECRET)
        elif name in ("os.environ.items", "os.environ.values"):
            self.seen.add(self.place(site), ActionKind.READ, "env:*", ResourceClass.SECRET, 0.8)
        elif name.startswith("os.environ.") or name in ("os.getenv",):
            fold(site.call, site.scope)
        else:
            return self.library(name, site)
        return True

    def library(self, name: str, site: Site) -> bool:
        if not name.startswith(self.prefixes):
            return False
        for row in self.table["prefixes"]:
            if name.startswith(row["prefix"]):
                self.seen.network(self.place(site), ActionKind(row["kind"]), row["host"], 0.8)
                return True
        return False

    def row(self, row: dict[str, Any], site: Site) -> None:
        kind = ActionKind(row["kind"])
        place = self.place(site)
        if "text" in row:
            if kind in (ActionKind.READ, ActionKind.WRITE):
                self.seen.path(place, kind, row["text"])
            else:
                self.seen.add(place, kind, row["text"], ResourceClass.PROCESS)
            return
        if "send_if" in row and _given(site.call, *row["send_if"]):
            kind = ActionKind.SEND
        if "path" in row:
            for path in texts(self.argument(site, row["path"], ("path", "filepath_or_buffer", "file"))):
                resource_class = self.seen.class_of(path)
                if not (row.get("quiet") and resource_class is not ResourceClass.SECRET):
                    self.seen.add(place, kind, path, resource_class, 0.5 if row.get("quiet") else 1.0)
            if "also_read" in row:
                for path in texts(self.argument(site, row["also_read"], ("src",))):
                    self.seen.path(place, ActionKind.READ, path)
        for key in ("url", "host"):
            if key in row:
                for url in _addresses(self.argument(site, row[key], (key, "host", "uri", "address"))):
                    self.seen.network(place, kind, url)

    def argument(self, site: Site, index: int, names: tuple[str, ...]) -> Values:
        for keyword in site.call.keywords:
            if keyword.arg in names:
                return fold(keyword.value, site.scope)
        if index < len(site.call.args):
            return fold(site.call.args[index], site.scope)
        return (UNKNOWN,)

    def retrieved(self, site: Site) -> None:
        urls = texts(self.argument(site, 0, ("url",)))
        for path in texts(self.argument(site, 1, ("filename",))):
            self.downloads.remember(path, urls[0])
            self.seen.path(self.place(site), ActionKind.WRITE, path)

    def open(self, site: Site) -> None:
        mode = (
            texts(self.argument(site, 1, ("mode",)))
            if len(site.call.args) > 1 or _given(site.call, 1, "mode")
            else ("r",)
        )
        writes = any(letter in item for item in mode for letter in _WRITING)
        place = self.place(site)
        for path in texts(self.argument(site, 0, ("file",))):
            self.seen.path(place, ActionKind.WRITE if writes else ActionKind.READ, path)
            if not writes and path.startswith("/proc/") and path.endswith("environ"):
                self.seen.add(place, ActionKind.READ, "env:*", ResourceClass.SECRET)

    def method(self, function: ast.Attribute, name: str | None, site: Site) -> None:
        """A method of a value whose type is not known: path methods, sessions, sockets."""
        method, place = function.attr, self.place(site)
        kind = self.table["path_methods"].get(method)
        if kind is not None:
            for path in texts(fold(function.value, site.scope)):
                self.seen.path(place, ActionKind(kind), path)
        elif method == "open" and site.call.args and name is not None and name.startswith("pathlib."):
            mode = texts(self.argument(site, 0, ("mode",)))[0]
            writes = any(letter in mode for letter in _WRITING)
            for path in texts(fold(function.value, site.scope)):
                self.seen.path(place, ActionKind.WRITE if writes else ActionKind.READ, path)
        elif method in _NETWORK_METHODS:
            for url in texts(self.argument(site, 0, ("url",))):
                if url.startswith(("http://", "https://")):
                    self.seen.network(place, _NETWORK_METHODS[method], url)
        elif method in ("system", "popen") and name is None:
            self.shell_text(site.call.args[:1], site)
        elif method in ("extractall",):
            self.seen.path(place, ActionKind.WRITE, texts(self.argument(site, 0, ("path",)))[0])

    # ---- processes

    def process(self, site: Site) -> None:
        first = site.call.args[0] if site.call.args else _keyword(site.call, "args")
        if first is None:
            self.seen.add(self.place(site), ActionKind.EXEC, UNKNOWN, ResourceClass.PROCESS)
            return
        shell = _keyword(site.call, "shell")
        values = fold(first, site.scope)
        is_text = all(isinstance(value, str) for value in values)
        if is_text and (isinstance(shell, ast.Constant) and shell.value is True):
            self.shell_text([first], site)
        elif is_text and all(isinstance(value, str) and " " not in value.strip() for value in values):
            rest = site.call.args[1:] if not isinstance(first, ast.List | ast.Tuple) else []
            self.argv([first, *rest], site)
        elif is_text:
            self.shell_text([first], site)
        else:
            for value in values:
                if isinstance(value, tuple):
                    self.run([item if isinstance(item, str) else UNKNOWN for item in value], site)

    def argv(self, arguments: list[ast.expr], site: Site) -> None:
        words: list[str] = []
        for item in arguments[:32]:
            for value in fold(item, site.scope)[:1]:
                words.extend(texts(value) if isinstance(value, tuple) else texts((value,)))
        self.run(words, site)

    def run(self, words: list[str], site: Site) -> None:
        if not words:
            return
        place = self.place(site)
        if words[0] == UNKNOWN:
            words = ["python3", *words[1:]] if len(words) > 1 else words
            self.seen.add(place, ActionKind.EXEC, UNKNOWN, ResourceClass.PROCESS, 0.7)
            if words == [UNKNOWN]:
                return
        plain = unwrap(words)
        name = program_name(plain[0]) if plain else ""
        language = programs()["interpreters"].get(name)
        if language and any(flag in plain[1:3] for flag in ("-c", "-e", "-lc", "-ic")):
            self.seen.add(place, ActionKind.EXEC, name, ResourceClass.PROCESS)
            self.seen.snippet(language, plain[-1], place)
            return
        list_command(words, place, self.seen, self.downloads)

    def shell_text(self, arguments: list[ast.expr], site: Site) -> None:
        place = self.place(site)
        for argument in arguments:
            for text in texts(fold(argument, site.scope)):
                if text.strip(" *"):
                    self.seen.snippet("shell", text, place)
                elif self.is_fetched(argument, site.scope):
                    remote_code(self.origin(argument, site.scope), place, self.seen)
                else:
                    self.seen.add(place, ActionKind.EXEC, UNKNOWN, ResourceClass.PROCESS)
                    self.seen.opaque(place, "dynamic:shell", 0.6)

    # ---- what cannot be read

    def dynamic(self, name: str, site: Site) -> None:
        """`exec`, `eval`, imports by name, unpickling, native code."""
        what = self.table["opaque"][name]
        place, call = self.place(site), site.call
        argument = call.args[0] if call.args else None
        if what == "dynamic:import" and argument is not None:
            if "*" not in texts(fold(argument, site.scope))[0]:
                return
            self.seen.opaque(place, what, 0.6)
            return
        if what in ("dynamic:exec", "dynamic:eval") and argument is not None:
            self.evaluated(what, argument, site, place)
            return
        if what.startswith("unpickle:") and argument is not None and self.is_fetched(argument, site.scope):
            remote_code(self.origin(argument, site.scope), place, self.seen)
        self.seen.opaque(place, what)

    def evaluated(self, what: str, argument: ast.expr, site: Site, place: Place) -> None:
        if self.is_fetched(argument, site.scope):
            remote_code(self.origin(argument, site.scope), place, self.seen)
            return
        known = False
        for text in texts(fold(argument, site.scope)):
            if text.strip(" *") and len(text) < _LONGEST_BLOB and UNKNOWN not in text[:1]:
                self.seen.snippet("python", text, place)
                known = True
        if known:
            self.seen.opaque(place, what.replace("dynamic", "constant"), 0.5)
        elif self.is_decoded(argument, site.scope):
            self.seen.opaque(place, "encoded:python")
        else:
            self.seen.opaque(place, what, 0.8)

    def attribute_access(self, site: Site) -> None:
        """`getattr(os, name)`: opaque where the object is an imported module and the name is not known."""
        target, attribute = site.call.args[0], site.call.args[1]
        if not isinstance(target, ast.Name) or target.id not in site.scope.module.imports:
            return
        if "*" in texts(fold(attribute, site.scope))[0] and target.id in _MODULES_OF_INTEREST:
            self.seen.opaque(self.place(site), f"dynamic:getattr {target.id}")

    def is_fetched(self, node: ast.expr, scope: FunctionScope) -> bool:
        """Whether an expression contains what a network call returned."""
        return self.origin_site(node, scope, self.table["fetches"]) is not None

    def is_decoded(self, node: ast.expr, scope: FunctionScope) -> bool:
        """Whether an expression contains decoded, decompressed or decrypted data."""
        return self.origin_site(node, scope, self.table["decoders"], (".decrypt",)) is not None

    def origin(self, node: ast.expr, scope: FunctionScope) -> str:
        found = self.origin_site(node, scope, self.table["fetches"])
        if found is None or not found[0].args:
            return UNKNOWN
        return next((url for url in _addresses(fold(found[0].args[0], found[1])) if url), UNKNOWN)

    def origin_site(
        self, node: ast.expr, scope: FunctionScope, names: list[str], endings: tuple[str, ...] = ()
    ) -> tuple[ast.Call, FunctionScope] | None:
        """The call among `names` whose result an expression contains, through names and package functions."""
        stack: list[tuple[ast.AST, FunctionScope]] = [(node, scope)]
        visited: set[int] = set()
        while stack and len(visited) < 300:
            item, where = stack.pop()
            if id(item) in visited:
                continue
            visited.add(id(item))
            if isinstance(item, ast.Call):
                name = where.dotted(item.func) or ""
                if name in names or (endings and name.endswith(endings)):
                    return item, where
                called = where.function_called(item)
                if called is not None:
                    stack.extend((value, called) for value in called.returns[:4])
            elif isinstance(item, ast.Name):
                stack.extend((value, bound) for value, bound, _ in where._bindings_of(item.id)[:4])
            stack.extend((child, where) for child in children(item))
        return None

    def variables(self, sites: list[Site]) -> None:
        """Environment variables by subscript (`os.environ["X"]`) and by call."""
        for module in self.package.modules.values():
            for subscript, where in module.subscripts:
                if where.dotted(subscript.value) == "os.environ":
                    fold(subscript, where)
            scopes = {id(where): where for _, where in module.subscripts}
            scopes |= {id(site.scope): site.scope for site in sites if site.scope.module is module}
            scopes[id(module.scope)] = module.scope
            for scope in scopes.values():
                for name, line in scope.read:
                    base = self.base
                    place = base.at(base.line + line - 1) if base else Place(module.file, line, "python")
                    self.seen.variable(place, name)


_MODULES_OF_INTEREST = frozenset(
    {"os", "subprocess", "builtins", "shutil", "socket", "sys", "importlib", "ctypes", "pty"}
)


def _addresses(values: Values) -> tuple[str, ...]:
    """URLs or hosts: `("host", port)` counts as its host."""
    out: list[str] = []
    for value in values:
        if isinstance(value, tuple):
            head = value[0] if value else UNKNOWN
            out.append(head if isinstance(head, str) else UNKNOWN)
        else:
            out.extend(texts((value,)))
    return tuple(dict.fromkeys(out))


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _given(call: ast.Call, index: int, name: str) -> bool:
    if len(call.args) > index:
        return True
    value = _keyword(call, name)
    return value is not None and not (isinstance(value, ast.Constant) and value.value is None)


def _safe_loader(call: ast.Call) -> bool:
    loader = _keyword(call, "Loader") or (call.args[1] if len(call.args) > 1 else None)
    name = loader.attr if isinstance(loader, ast.Attribute) else getattr(loader, "id", "")
    return "Safe" in name
