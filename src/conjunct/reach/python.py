"""The Python files of a package to reachable actions, by `ast`. Nothing is executed or imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from conjunct.model import ActionKind, ResourceClass
from conjunct.reach.found import Place, Sightings
from conjunct.reach.python_dynamic import list_attribute_access, list_called_value, list_dynamic
from conjunct.reach.python_guards import index_module, named_constants
from conjunct.reach.python_modules import Budget, FunctionScope, Module, Package, Site, parse_python
from conjunct.reach.python_processes import run_shell_text, run_words, start_process
from conjunct.reach.python_reading import Reading, addresses, is_given, keyword_of
from conjunct.reach.python_values import fold, texts

MOST_TOGETHER = 6 * 1024 * 1024
"""Characters of Python whose syntax trees are held at the same time."""

_OPENS = frozenset({"open", "io.open", "codecs.open", "aiofiles.open", "gzip.open"})
_READ_ALL = frozenset(
    {"dict", "json.dumps", "str", "list", "sorted", "pprint.pprint", "print", "repr", "yaml.dump"}
)
_PATH_KEYWORDS = ("path", "filepath_or_buffer", "file")
_WRITING = ("w", "a", "x", "+")
_NETWORK_METHODS = {
    "get": ActionKind.CONNECT,
    "post": ActionKind.SEND,
    "put": ActionKind.SEND,
    "request": ActionKind.SEND,
}
_METHODS = frozenset({*_NETWORK_METHODS, "open", "system", "popen", "extractall"})
"""Methods that are looked at whatever their receiver is."""


def read_python(files: Mapping[str, str], seen: Sightings, *, place: Place | None = None) -> None:
    """List what the Python files of one package do, calls across them followed.

    `files` maps path to text. `place` is given for a snippet found inside other code: its lines are counted
    from there. Of very large packages calls are followed within groups of files, in the order given: the
    syntax trees of one megabyte take about eighty in memory.
    """
    budget = Budget()
    for group in _groups(files):
        _read_group(group, seen, place, Package(budget=budget))


def _groups(files: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The files in order, at most `MOST_TOGETHER` characters of them at a time."""
    group: dict[str, str] = {}
    held = 0
    for file, text in files.items():
        if group and held + len(text) > MOST_TOGETHER:
            yield group
            group, held = {}, 0
        group[file] = text
        held += len(text)
    yield group


def _read_group(files: Mapping[str, str], seen: Sightings, place: Place | None, package: Package) -> None:
    sites: list[Site] = []
    for file, text in files.items():
        tree = parse_python(text)
        if tree is None:
            at = place or Place(file, 1, "python")
            seen.opaque(at, "unparsed:python", 0.6 if "print " in text else 1.0)
            continue
        package.modules[file] = module = Module(file, text, tree, package)
        sites.extend(index_module(module, seen))  # at once, while its tree is in the processor's cache
    for site in sites:
        called = site.scope.function_called(site.call)
        if called is not None and called.block is not None:
            package.sites_of.setdefault(id(called.block), []).append(site)
    _forget(package)
    listing = _Listing(Reading(package, seen, place))
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

    def __init__(self, reading: Reading) -> None:
        self.reading, self.seen, self.table = reading, reading.seen, reading.table
        self.prefixes = tuple(row["prefix"] for row in self.table["prefixes"])

    def site(self, site: Site) -> None:
        function = site.call.func
        name = site.scope.dotted(function)
        if name is not None:
            name = name.removeprefix("builtins.").removeprefix("__builtins__.")
            if self.known_call(name, site):
                return
        if isinstance(function, ast.Attribute):
            self.method(function, name, site)
        elif name is None:
            list_called_value(self.reading, site)

    def known_call(self, name: str, site: Site) -> bool:
        table = self.table
        row = table["calls"].get(name)
        if row is not None:
            self.row(row, site)
            if name == "urllib.request.urlretrieve":
                self.retrieved(site)
        elif name in table["opaque"]:
            list_dynamic(self.reading, site, table["opaque"][name])
        elif name in table["clock"]:
            self.seen.reads_clock = True
        elif name in _OPENS:
            self.open(site)
        elif name in table["shell"]:
            run_shell_text(self.reading, site, site.call.args[:1])
        elif name in table["processes"]:
            start_process(self.reading, site)
        elif name in table["exec_family"]:
            run_words(self.reading, site, [*site.call.args])
        elif name == "yaml.load" and not _safe_loader(site.call):
            self.seen.opaque(self.reading.place(site), "unpickle:yaml")
        elif name in ("getattr", "setattr") and len(site.call.args) >= 2:
            list_attribute_access(self.reading, site)
        else:
            return self.environment(name, site) or self.library(name, site)
        return True

    def environment(self, name: str, site: Site) -> bool:
        """The whole environment, or one variable of it."""
        place = self.reading.place
        if name in _READ_ALL and any(site.scope.dotted(item) == "os.environ" for item in site.call.args[:2]):
            self.seen.add(place(site), ActionKind.READ, "env:*", ResourceClass.SECRET)
        elif name in ("os.environ.items", "os.environ.values"):
            self.seen.add(place(site), ActionKind.READ, "env:*", ResourceClass.SECRET, 0.8)
        elif name.startswith("os.environ.") or name == "os.getenv":
            fold(site.call, site.scope)
        else:
            return False
        return True

    def library(self, name: str, site: Site) -> bool:
        if not name.startswith(self.prefixes):
            return False
        for row in self.table["prefixes"]:
            if name.startswith(row["prefix"]):
                self.seen.network(self.reading.place(site), ActionKind(row["kind"]), row["host"], 0.8)
                return True
        return False

    def row(self, row: dict[str, Any], site: Site) -> None:
        kind = ActionKind(row["kind"])
        place = self.reading.place(site)
        if "text" in row:
            if kind in (ActionKind.READ, ActionKind.WRITE):
                self.seen.path(place, kind, row["text"])
            else:
                self.seen.add(place, kind, row["text"], ResourceClass.PROCESS)
            return
        if "send_if" in row and is_given(site.call, *row["send_if"]):
            kind = ActionKind.SEND
        if "path" in row:
            for path in texts(
                self.reading.argument(site, row["path"], ("path", "filepath_or_buffer", "file"))
            ):
                resource_class = self.seen.class_of(path)
                if not (row.get("quiet") and resource_class is not ResourceClass.SECRET):
                    self.seen.add(place, kind, path, resource_class, 0.5 if row.get("quiet") else 1.0)
            if "also_read" in row:
                for path in texts(self.reading.argument(site, row["also_read"], ("src",))):
                    self.seen.path(place, ActionKind.READ, path)
        for key in ("url", "host"):
            if key in row:
                for url in addresses(self.reading.argument(site, row[key], (key, "host", "uri", "address"))):
                    self.seen.network(place, kind, url)

    def retrieved(self, site: Site) -> None:
        urls = texts(self.reading.argument(site, 0, ("url",)))
        for path in texts(self.reading.argument(site, 1, ("filename",))):
            self.reading.downloads.remember(path, urls[0])
            self.seen.path(self.reading.place(site), ActionKind.WRITE, path)

    def open(self, site: Site) -> None:
        mode = (
            texts(self.reading.argument(site, 1, ("mode",)))
            if len(site.call.args) > 1 or is_given(site.call, 1, "mode")
            else ("r",)
        )
        writes = any(letter in item for item in mode for letter in _WRITING)
        place = self.reading.place(site)
        for path in texts(self.reading.argument(site, 0, ("file",))):
            self.seen.path(place, ActionKind.WRITE if writes else ActionKind.READ, path)
            if not writes and path.startswith("/proc/") and path.endswith("environ"):
                self.seen.add(place, ActionKind.READ, "env:*", ResourceClass.SECRET)

    def method(self, function: ast.Attribute, name: str | None, site: Site) -> None:
        """A method of a value whose type is not known: path methods, sessions, sockets."""
        method = function.attr
        kind = self.table["path_methods"].get(method)
        if kind is None and method not in _METHODS:
            return
        place = self.reading.place(site)
        if kind is not None:
            for path in texts(fold(function.value, site.scope)):
                self.seen.path(place, ActionKind(kind), path)
        elif method == "open" and site.call.args and name is not None and name.startswith("pathlib."):
            mode = texts(self.reading.argument(site, 0, ("mode",)))[0]
            writes = any(letter in mode for letter in _WRITING)
            for path in texts(fold(function.value, site.scope)):
                self.seen.path(place, ActionKind.WRITE if writes else ActionKind.READ, path)
        elif method in _NETWORK_METHODS:
            for url in texts(self.reading.argument(site, 0, ("url",))):
                if url.startswith(("http://", "https://")):
                    self.seen.network(place, _NETWORK_METHODS[method], url)
        elif method in ("system", "popen") and name is None:
            run_shell_text(self.reading, site, site.call.args[:1])
        elif method == "extractall":
            self.seen.path(place, ActionKind.WRITE, texts(self.reading.argument(site, 0, ("path",)))[0])

    def variables(self, sites: list[Site]) -> None:
        """Environment variables by subscript (`os.environ["X"]`) and by call."""
        calling: dict[int, dict[int, FunctionScope]] = {}
        for site in sites:
            calling.setdefault(id(site.scope.module), {})[id(site.scope)] = site.scope
        for module in self.reading.package.modules.values():
            for subscript, where in module.subscripts:
                if where.dotted(subscript.value) == "os.environ":
                    fold(subscript, where)
            scopes = {id(where): where for _, where in module.subscripts}
            scopes |= calling.get(id(module), {})
            scopes[id(module.scope)] = module.scope
            for scope in scopes.values():
                for name, line in scope.read:
                    base = self.reading.base
                    place = base.at(base.line + line - 1) if base else Place(module.file, line, "python")
                    self.seen.variable(place, name)


def _safe_loader(call: ast.Call) -> bool:
    loader = keyword_of(call, "Loader") or (call.args[1] if len(call.args) > 1 else None)
    name = loader.attr if isinstance(loader, ast.Attribute) else getattr(loader, "id", "")
    return "Safe" in name
