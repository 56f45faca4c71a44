"""Programs the agent writes itself: calling a module's documented functions, running code from a fence."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

from conjunct.agent.kinds import Fixtures, kinds
from conjunct.agent.package import Package, installed_folder
from conjunct.agent.python_source import parse
from conjunct.agent.usage import Parameter
from conjunct.agent.usage_python import signature
from conjunct.battery.fill import OUTPUT_FOLDER
from conjunct.world.spec import Layout

_DRIVER = """import asyncio, importlib.util, inspect, json, os, sys
path, calls = sys.argv[1], json.loads(sys.argv[2])
sys.path.insert(0, os.path.dirname(path))
sys.path.insert(0, sys.argv[3])
spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
failed = 0
for name, values in calls:
    try:
        result = getattr(module, name)(*values)
        if inspect.isawaitable(result):
            result = asyncio.run(result)
        print(name, repr(result)[:500])
    except Exception as error:
        failed += 1
        print(name, type(error).__name__, error, file=sys.stderr)
sys.exit(1 if failed == len(calls) else 0)
"""
_LITERAL = re.compile(r"([\"'])((?:[\w.-]+/){0,6}[\w.-]{1,80}\.[A-Za-z][A-Za-z0-9]{0,7})\1")
_WRITES = re.compile(
    r"(?:write|save|dump|to_[a-z]+|output|out|export|open\([^)]*[\"'][wax]b?[\"']|savefig|mkdir)",
    re.IGNORECASE,
)


def module_argv(
    package: Package, member: str, functions: tuple[str, ...], layout: Layout, fixtures: Fixtures, index: int
) -> tuple[str, ...] | None:
    """A command that imports a module and calls the functions with arguments by name and annotation."""
    calls = list(_calls(package.source(member), functions, layout, fixtures, index))
    if not calls:
        return None
    root = installed_folder(package.skill, layout)
    return ("python3", "-c", _DRIVER, f"{root}/{member}", json.dumps(calls), root)


def _calls(
    source: str, functions: tuple[str, ...], layout: Layout, fixtures: Fixtures, index: int
) -> Iterator[tuple[str, list[object]]]:
    tree = parse(source)
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in functions:
            required = [item for item in signature(node) if item.required and not item.flags]
            yield node.name, [_argument(item, layout, fixtures, index) for item in required]


def _argument(parameter: Parameter, layout: Layout, fixtures: Fixtures, index: int) -> object:
    kind = kinds()[parameter.kind or kinds().default]
    if parameter.output:
        extension = kind.extensions[0] if kind.extensions else ""
        return f"{layout.workspace}/{OUTPUT_FOLDER}/{parameter.name}" + (f".{extension}" if extension else "")
    if kind.is_file:
        return fixtures.pick(kind, index) or f"{layout.workspace}/{parameter.name}"
    value = kind.value(index)
    if kind.name == "integer":
        return int(value)
    if kind.name == "number":
        return float(value)
    return value == "true" if kind.name == "boolean" else value


def code_argv(
    package: Package, code: str, language: str, layout: Layout, fixtures: Fixtures, index: int
) -> tuple[str, ...]:
    """A command that runs code from a fence, with its example file names replaced by files that exist."""
    taken: list[str] = []

    def replace(match: re.Match[str]) -> str:
        quote, name = match[1], match[2]
        kind = kinds().of_extension(name)
        if kind is None:
            return match[0]
        start = code.rfind("\n", 0, match.start()) + 1
        before = code[start : match.start()]
        written = code[match.start() : match.end() + 12]
        if _WRITES.search(before) or re.search(r",\s*[\"'][wax]", written) or kinds().names_output(name):
            return f"{quote}{layout.workspace}/{OUTPUT_FOLDER}/{name.rpartition('/')[2]}{quote}"
        found = fixtures.pick(kind, index, taken)
        if found is None:
            return match[0]
        taken.append(found)
        return f"{quote}{found}{quote}"

    text = _LITERAL.sub(replace, code)
    if language == "python":
        return ("python3", "-c", f"import sys;sys.path[:0]={_import_folders(package, layout)!r}\n{text}")
    module = re.search(r"(?m)^\s*import\s.+\sfrom\s|^\s*export\s|^\s*(?:const|let)\s.+=\s*await\s", text)
    return ("node", "--input-type=module", "-e", text) if module else ("node", "-e", text)


def _import_folders(package: Package, layout: Layout) -> list[str]:
    """Folders from which code in prose can import a package's modules: its root and its script folders."""
    root = installed_folder(package.skill, layout)
    folders = sorted({path.rpartition("/")[0] for path in package.files if path.endswith(".py")})
    return list(dict.fromkeys([root, *(f"{root}/{folder}".rstrip("/") for folder in folders[:20])]))
