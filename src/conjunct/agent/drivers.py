"""Programs the agent writes itself: calling a module's documented functions, running code from a fence."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping

from conjunct.agent.kinds import Fixtures, kinds
from conjunct.agent.package import Package, installed_folder
from conjunct.agent.python_source import kind_of_annotation, parse
from conjunct.agent.usage import Parameter, describe
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
for name, values, named in calls:
    try:
        result = getattr(module, name)(*values, **named)
        if inspect.isawaitable(result):
            result = asyncio.run(result)
        print(name, repr(result)[:500])
    except Exception as error:
        failed += 1
        print(name, type(error).__name__, error, file=sys.stderr)
sys.exit(1 if failed == len(calls) else 0)
"""
_NODE_DRIVER = """import { pathToFileURL } from 'node:url';
const module = await import(pathToFileURL(process.argv[1]).href);
let failed = 0;
const calls = JSON.parse(process.argv[2]);
for (const [name, values] of calls) {
  try {
    const found = module[name] ?? module.default?.[name];
    console.log(name, JSON.stringify(await found(...values))?.slice(0, 500));
  } catch (error) {
    failed += 1;
    console.error(name, String(error));
  }
}
process.exit(failed === calls.length ? 1 : 0);
"""
_BOUND = ("self", "cls")
_LITERAL = re.compile(r"([\"'])((?:[\w.-]+/){0,6}[\w.-]{1,80}\.[A-Za-z][A-Za-z0-9]{0,7})\1")
_WRITES = re.compile(
    r"(?:write|save|dump|to_[a-z]+|output|out|export|open\([^)]*[\"'][wax]b?[\"']|savefig|mkdir)",
    re.IGNORECASE,
)


def module_argv(
    package: Package, member: str, functions: tuple[str, ...], layout: Layout, fixtures: Fixtures, index: int
) -> tuple[str, ...] | None:
    """A command that imports a module and calls the functions.

    A function is given by name or as a call with its arguments. Literal arguments are kept, except for files;
    what is required and not given is filled by name and annotation. `None` where no function is there.
    """
    written = {text.partition("(")[0]: text for text in functions}
    root = installed_folder(package.skill, layout)
    if package.language(member) == "javascript":
        plain = [(name, _given(text)[0]) for name, text in written.items()]
        driver = (_NODE_DRIVER, f"{root}/{member}", json.dumps(plain))
        return ("node", "--input-type=module", "-e", *driver) if plain else None
    calls = list(_calls(package.source(member), written, layout, fixtures, index))
    return ("python3", "-c", _DRIVER, f"{root}/{member}", json.dumps(calls), root) if calls else None


def _calls(
    source: str, written: Mapping[str, str], layout: Layout, fixtures: Fixtures, index: int
) -> Iterator[tuple[str, list[object], dict[str, object]]]:
    tree = parse(source)
    for node in tree.body if tree is not None else ():
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name not in written:
            continue
        values, named = _given(written[node.name])
        positional: list[object] = []
        keywords: dict[str, object] = {}
        arguments = [item for item in (*node.args.posonlyargs, *node.args.args) if item.arg not in _BOUND]
        for at, (argument, item) in enumerate(zip(arguments, signature(node), strict=True)):
            known = at < len(values) or argument.arg in named
            if not known and (not item.required or item.flags):
                continue  # its default
            value = values[at] if at < len(values) else named.get(argument.arg)
            if not known or _is_file(item):
                value = _argument(item, layout, fixtures, index)
            if at == len(positional):
                positional.append(value)
            else:
                keywords[argument.arg] = value
        for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            kind = kind_of_annotation(argument.annotation, argument.arg)
            item = describe(argument.arg, required=True, kind=kind)
            if argument.arg in named and not _is_file(item):
                keywords[argument.arg] = named[argument.arg]
            elif argument.arg in named or default is None:
                keywords[argument.arg] = _argument(item, layout, fixtures, index)
        yield node.name, positional, keywords


def _given(text: str) -> tuple[list[object], dict[str, object]]:
    """Literal arguments of a call as text, by position and by name; none where one is not literal."""
    tree = parse(text) if "(" in text else None
    call = tree.body[0].value if tree is not None and isinstance(tree.body[0], ast.Expr) else None
    if not isinstance(call, ast.Call):
        return [], {}
    try:
        values = [ast.literal_eval(item) for item in call.args]
        named = {item.arg: ast.literal_eval(item.value) for item in call.keywords if item.arg}
        json.dumps([values, named])  # only what the driver can be handed
    except (ValueError, TypeError, RecursionError, MemoryError):
        return [], {}
    return values, named


def _is_file(parameter: Parameter) -> bool:
    return kinds()[parameter.kind or kinds().default].is_file or parameter.output


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
