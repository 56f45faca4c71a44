"""Arguments of a Python script, read from its source: argparse, click, typer, fire, `sys.argv`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from conjunct.agent.python_source import (
    collection,
    dotted,
    kind_of_annotation,
    module_constants,
    nodes,
    parse,
    text_of,
)
from conjunct.agent.usage import Parameter, Usage, describe, read_usage_text, usage_lines
from conjunct.agent.usage_argparse import read_argparse


def read_python(source: str) -> Usage:
    """What arguments a Python script takes. Unknown ones give a usage without parameters, never an error."""
    tree = parse(source)
    if tree is None:
        return Usage(source="")
    usage = read_argparse(tree) or _decorated(tree) or _argv(tree, source)
    return replace(usage, entry=has_entry(tree), prompts=_prompts(tree), reads_stdin=_stdin_kind(tree))


def has_entry(tree: ast.Module) -> bool:
    """Whether running the module does something: a main guard, or a top-level call for its effect."""
    for node in tree.body:
        if isinstance(node, ast.If) and "__name__" in {
            n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)
        }:
            return True
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            name = dotted(node.value.func)
            if not name.startswith(
                ("sys.path", "warnings.", "logging.", "matplotlib.", "os.environ", "load_dotenv")
            ):
                return True
        if isinstance(node, ast.For | ast.While | ast.With):
            return True
    return False


# ---- click, typer, fire


def _decorated(tree: ast.Module) -> Usage | None:
    commands: list[tuple[str, Usage]] = []
    constants = module_constants(tree)
    fired = {
        dotted(node.args[0])
        for node in nodes(tree)
        if isinstance(node, ast.Call)
        and node.args
        and dotted(node.func) in ("fire.Fire", "Fire", "typer.run")
    }
    for node in nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        decorators = [item for item in node.decorator_list if isinstance(item, ast.Call)]
        heads = [dotted(item.func) for item in decorators] + [dotted(item) for item in node.decorator_list]
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
                text_of(item.args[0])
                for item in decorators
                if item.args and dotted(item.func).endswith(".command")
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
    kind = dotted(call.func).rpartition(".")[2]
    if kind not in ("option", "argument") or not call.args:
        return None
    words = {item.arg: item.value for item in call.keywords if item.arg}
    flags = tuple(text_of(item).split("/")[0] for item in call.args if text_of(item).startswith("-"))
    name = max(flags, key=len).lstrip("-") if flags else text_of(call.args[0])
    required = (
        text_of(words.get("required")) == "True" if flags else text_of(words.get("required")) != "False"
    )
    declared = words.get("type")
    choices = (
        collection(declared, constants)
        if isinstance(declared, ast.Call) and "Choice" in dotted(declared.func)
        else ()
    )
    return describe(
        name,
        flags,
        required=required and not (flags and "default" in words),
        takes_value=text_of(words.get("is_flag")) != "True" and "/" not in text_of(call.args[0]),
        hint=text_of(words.get("help")),
        kind=kind_of_annotation(declared, name),
        choices=choices,
        default=text_of(words.get("default")) or None,
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
        kind = kind_of_annotation(item.annotation, item.arg)
        is_option = isinstance(default, ast.Call) and dotted(default.func).endswith("Option")
        ellipsis = (
            isinstance(default, ast.Call) and bool(default.args) and text_of(default.args[0]) == "Ellipsis"
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
            return replace(_required_at_least(usage, _fewest(tree)), source="usage")
    names: dict[int, str] = {}
    flags: list[str] = []
    for node in nodes(tree):
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
            and dotted(node.comparators[0]) == "sys.argv"
        ):
            flags.append(text_of(node.left))
    positionals = [
        describe(names.get(number, "argument"), required=True)
        for number in range(1, max(names, default=0) + 1)
    ]
    options = [
        describe(flag.lstrip("-"), (flag,), takes_value=False) for flag in flags if flag.startswith("-")
    ]
    return Usage(tuple(positionals + options), source="argv" if names or options else "")


def _fewest(tree: ast.Module) -> int:
    """How many arguments the script insists on: `if len(sys.argv) != 3` wants two."""
    fewest = 0
    for node in nodes(tree):
        if not (isinstance(node, ast.Compare) and isinstance(node.left, ast.Call) and node.left.args):
            continue
        counts = dotted(node.left.func) == "len" and dotted(node.left.args[0]) in ("sys.argv", "argv")
        limit = node.comparators[0]
        if counts and isinstance(limit, ast.Constant) and isinstance(limit.value, int):
            wanted = limit.value - (0 if isinstance(node.ops[0], ast.LtE) else 1)
            if isinstance(node.ops[0], ast.NotEq | ast.Lt | ast.LtE) and 0 < wanted < 12:
                fewest = max(fewest, wanted)
    return fewest


def _required_at_least(usage: Usage, count: int) -> Usage:
    """Usage lines put square brackets around what is required, too; the script's own check decides."""
    wanted = {item.name for item in usage.positionals()[:count]}
    parameters = tuple(
        replace(item, required=True) if not item.flags and item.name in wanted else item
        for item in usage.parameters
    )
    return replace(usage, parameters=parameters)


def _argv_index(node: ast.AST) -> int | None:
    if not (isinstance(node, ast.Subscript) and dotted(node.value) in ("sys.argv", "argv")):
        return None
    index = node.slice
    if isinstance(index, ast.Constant) and isinstance(index.value, int) and 0 < index.value < 12:
        return index.value
    return None


# ---- terminal


def _prompts(tree: ast.Module) -> tuple[str, ...]:
    asked: list[tuple[int, str]] = []
    for node in nodes(tree):
        if isinstance(node, ast.Call) and dotted(node.func) in (
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
            text = text_of(node.args[0]) if node.args else ""
            asked.append((node.lineno, text + (" (y/n)" if "onfirm" in dotted(node.func) else "")))
    return tuple(text for _, text in sorted(asked)[:40])


def _stdin_kind(tree: ast.Module) -> str:
    kind = ""
    for node in nodes(tree):
        if not isinstance(node, ast.Call):
            continue
        name = dotted(node.func)
        if name in ("json.load", "json.loads") and re.search(r"\bstdin\b", ast.dump(node)[:2000]):
            return "json"
        if name in ("sys.stdin.read", "sys.stdin.readline", "sys.stdin.readlines", "sys.stdin.buffer.read"):
            kind = "text"
    return kind
