"""Functions that prose documents as calls, `scan_folder("in")`, and the module of the package with them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from conjunct.agent.package import Package
from conjunct.agent.python_source import parse

_CALL = re.compile(r"(?<![\w@$/-])(?:[A-Za-z_]\w{0,80}\.){0,4}([A-Za-z_]\w{1,80})\(([^()\n]{0,300})(?=\))")
_PYTHON_FUNCTION = re.compile(r"(?m)^(?:async[ \t]+)?def[ \t]+([A-Za-z]\w{1,80})[ \t]*\(")
_JAVASCRIPT_FUNCTION = re.compile(
    r"(?m)^export[ \t]+(?:default[ \t]+)?(?:async[ \t]+)?function[ \t]+([A-Za-z]\w{1,80})"
    r"|^export[ \t]+const[ \t]+([A-Za-z]\w{1,80})[ \t]*="
    r"|^(?:module\.)?exports\.([A-Za-z]\w{1,80})[ \t]*="
)
_EXPORTED = re.compile(r"(?m)^module\.exports[ \t]*=[ \t]*\{([^}]{1,2000})\}")
_NEGATED = re.compile(
    r"\b(?:never|not|don't|avoid|instead of|rather than|deprecated)\b[^.;:]{0,60}$", re.IGNORECASE
)
_LINE_LIMIT = 4000
_MODULE_LIMIT = 60
"""Modules of one package that are looked at for functions."""
_ENTRIES = ("main", "run")
_NO_MODULES = ("tests/", "test_", "conftest.", "setup.")


@dataclass(frozen=True, slots=True)
class Documented:
    """One member of a package and the functions of it that the text documents as calls."""

    member: str
    file: str
    line: int
    functions: tuple[str, ...]
    """As written with its arguments, `save("a.csv", rows=3)`; empty where the member is to be started."""


def documented_functions(
    package: Package, texts: Mapping[str, str], taken: frozenset[str]
) -> Iterator[Documented]:
    """Members that no command starts and no text names by file, and that a documented call belongs to.

    A call belongs to the one module that has a function of its name at top level; where no module has one, to
    the script that has its name. Two modules with such a function: nobody knows which. A call that the text
    says not to make is none.
    """
    modules = _modules(package, taken)
    owners: dict[str, list[str]] = {}
    for path, functions in modules.items():
        for name in functions:
            owners.setdefault(name, []).append(path)
    stems = {_stem(path): path for path in modules}
    places: dict[str, tuple[str, int]] = {}
    written: dict[str, dict[str, str]] = {}
    for file, number, name, arguments in _calls_in(texts):
        owner = _owner(name, owners, stems)
        if owner is None or (name in _ENTRIES and _stem(owner) not in texts[file]):
            continue  # `main()` may be that of anything the text is about
        called = _called(package, owner, name, modules[owner])
        if called is None:
            continue
        places.setdefault(owner, (file, number))
        functions_of = written.setdefault(owner, {})
        if called:
            given = arguments if called == name else ""
            if _says(given) > _says(functions_of.setdefault(called, given)):
                functions_of[called] = given
    for path, (file, line) in places.items():
        calls = tuple(f"{name}({arguments})" for name, arguments in written[path].items())
        yield Documented(path, file, line, calls[:8])


def _calls_in(texts: Mapping[str, str]) -> Iterator[tuple[str, int, str, str]]:
    """(file, line, name, arguments) of everything written as a call, but for what is not to be called."""
    for file, content in texts.items():
        for number, line in enumerate(content.splitlines(), start=1):
            for match in _CALL.finditer(line[:_LINE_LIMIT]) if "(" in line else ():
                if not _NEGATED.search(line[max(0, match.start() - 120) : match.start()]):
                    yield file, number, match[1], match[2].strip()


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _says(arguments: str) -> int:
    """How much the arguments of a documented call tell: literal ones more than a signature or a variable."""
    tree = parse(f"f({arguments})")
    call = tree.body[0].value if tree is not None and isinstance(tree.body[0], ast.Expr) else None
    if not isinstance(call, ast.Call):
        return 1
    if not arguments:
        return 0
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    return 2 if all(isinstance(item, ast.Constant | ast.List | ast.Dict) for item in given) else 1


def _owner(name: str, owners: Mapping[str, list[str]], stems: Mapping[str, str]) -> str | None:
    having = owners.get(name, [])
    same = stems.get(name)
    if same in having or not having:
        return same
    return having[0] if len(having) == 1 else None


def _called(package: Package, path: str, name: str, functions: tuple[str, ...]) -> str | None:
    """The function to call; empty where the script is to be started, `None` where there is nothing to do."""
    if name in functions:
        return name
    if package.language(path) != "python" or package.usage(path).entry:
        return ""
    public = [one for one in functions if not one.startswith("test")]
    entry = next((one for one in _ENTRIES if one in public), None)
    return entry or (public[0] if len(public) == 1 else None)


def _modules(package: Package, taken: frozenset[str]) -> dict[str, tuple[str, ...]]:
    """Scripts that nothing starts yet, with the functions that another program can call."""
    found: dict[str, tuple[str, ...]] = {}
    for path in sorted(package.files):
        language = package.language(path)
        if not language or path in taken or any(f"/{mark}" in f"/{path}" for mark in _NO_MODULES):
            continue
        found[path] = tuple(dict.fromkeys(_functions(package.source(path), language)))
        if len(found) >= _MODULE_LIMIT:
            break
    return found


def _functions(source: str, language: str) -> Iterator[str]:
    if language == "python":
        yield from _PYTHON_FUNCTION.findall(source)
    elif language == "javascript":
        for groups in _JAVASCRIPT_FUNCTION.findall(source):
            yield next(name for name in groups if name)
        for inner in _EXPORTED.findall(source):
            yield from re.findall(r"(?:^|,)\s*([A-Za-z]\w{1,80})", inner)
