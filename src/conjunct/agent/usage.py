"""What arguments a script takes, read from its source or from its help text; nothing is executed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conjunct.agent.kinds import Kind, kinds

SOURCE_LIMIT = 1 << 20
"""Bytes of a script that are read; what lies beyond is not used for arguments."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a script."""

    name: str
    flags: tuple[str, ...] = ()
    """Spellings of an option; empty for a positional argument."""
    required: bool = False
    takes_value: bool = True
    kind: str = ""
    """Name of a kind in `data/kinds.yaml`; empty where nothing tells."""
    typed: bool = False
    """The script declares the type; otherwise the kind follows from words."""
    choices: tuple[str, ...] = ()
    count: int = 1
    """Values that have to be given at least."""
    default: str | None = None
    output: bool = False
    group: str = ""
    """Parameters with the same non-empty group are exclusive, and one of them is required."""

    @property
    def flag(self) -> str:
        """The longest spelling of the option, or an empty string."""
        return max(self.flags, key=len, default="")


@dataclass(frozen=True, slots=True)
class Usage:
    """Arguments of a script or of one of its subcommands."""

    parameters: tuple[Parameter, ...] = ()
    subcommands: tuple[tuple[str, Usage], ...] = ()
    subcommand_required: bool = False
    source: str = ""
    """`argparse`, `click`, `typer`, `argv`, `getopts`, `commander`, `yargs`, `text`, or empty: unknown."""
    entry: bool = True
    """Whether starting the file does anything: it has a main guard or top-level statements."""
    prompts: tuple[str, ...] = ()
    """Questions put on the terminal, in source order."""
    reads_stdin: str = ""
    """Kind of what is read from standard input; empty if it is not read."""

    def option(self, word: str) -> Parameter | None:
        """The option spelled `word`, unique prefixes of long options included."""
        exact = [item for item in self.parameters if word in item.flags]
        if exact or not word.startswith("--"):
            return exact[0] if exact else None
        near = [item for item in self.parameters if any(flag.startswith(word) for flag in item.flags)]
        return near[0] if len(near) == 1 else None

    def positionals(self) -> tuple[Parameter, ...]:
        """Positional arguments in order."""
        return tuple(item for item in self.parameters if not item.flags)

    def subcommand(self, word: str) -> Usage | None:
        """The subcommand of that name, or `None`."""
        return dict(self.subcommands).get(word)


def describe(
    name: str,
    flags: tuple[str, ...] = (),
    *,
    required: bool = False,
    takes_value: bool = True,
    hint: str = "",
    kind: str = "",
    choices: tuple[str, ...] = (),
    count: int = 1,
    default: str | None = None,
    group: str = "",
) -> Parameter:
    """A parameter whose kind and direction follow from its name and, failing that, from `hint`."""
    table = kinds()
    by_name = table.of_extension(name) or table.of_words(name)
    by_hint = kind_in(hint)
    output = table.names_output(name) or table.names_output(" ".join(flags))
    if by_name is None or (by_name.name in ("file", "user") and by_hint is not None and by_hint.is_file):
        by_name = by_hint or by_name
    return Parameter(
        name=name.lower().replace("-", "_"),
        flags=flags,
        required=required,
        takes_value=takes_value,
        kind=kind or (by_name.name if by_name else ""),
        typed=bool(kind),
        choices=choices,
        count=count,
        default=default,
        output=output,
        group=group,
    )


_FILE_EXTENSION = re.compile(r"(?<![\w/])[\w*-]{0,40}\.([a-z][a-z0-9]{1,6})\b", re.IGNORECASE)


def kind_in(hint: str) -> Kind | None:
    """The kind that a help sentence speaks of: a file extension first, else a word that names a file kind."""
    table = kinds()
    for found in _FILE_EXTENSION.finditer(hint[:400]):
        kind = table.of_extension("x." + found[1])
        if kind is not None:
            return kind
    for word in re.findall(r"[A-Za-z]+", hint[:400]):
        kind = table.of_words(word)
        if kind is not None and kind.is_file and kind.name not in ("file", "folder"):
            return kind
    return table.of_words(hint)


_TOKEN = re.compile(r"\.\.\.|…|<[^<>\n]{1,60}>|\{[^{}\n]{1,200}\}|[\[\]|()]|[^\s\[\]|()<>{}]+|[<>{}]")
_USAGE = re.compile(r"(?im)^[^\n:]{0,30}\busage:[ \t]*\n?[ \t]*(\S[^\n]{0,600})$")
_PROGRAM = re.compile(r"^(?:(?:python3?|node|bash|sh|uv run|npx)\s+)?\S+\s*")


def usage_lines(text: str) -> Iterator[str]:
    """Lines that say how to call a program (`Usage: tool INPUT [--flag]`)."""
    for found in _USAGE.finditer(text[:SOURCE_LIMIT]):
        line = found[1].strip().replace("\\n", " ").strip("\"'`); ")
        line = re.split(r"[\"'`]\s*[,)]", line)[0]
        if line:
            yield line


def usage_of_help(text: str) -> Usage:
    """What a help text says: its usage, with the lines that continue it."""
    lines = text[:SOURCE_LIMIT].splitlines()
    for number, line in enumerate(lines):
        if re.match(r"\s*usage:", line, re.IGNORECASE):
            whole = line.strip()[len("usage:") :].strip()
            for more in lines[number + 1 : number + 20]:
                if whole and (not more.strip() or not more.startswith(" ")):
                    break
                whole = f"{whole} {more.strip()}".strip()
            return read_usage_text(whole)
    return Usage()


def read_usage_text(line: str) -> Usage:
    """What a usage line says: `prog [-h] --input INPUT [--format {csv,json}] FILE [FILE ...]`.

    Argparse's optional groups, click's `[OPTIONS]` and free forms (`<input.csv> [output]`) are understood;
    what is in square brackets is optional.
    """
    rest = _PROGRAM.sub("", line.strip(), count=1)
    parameters: list[Parameter] = []
    depth = 0
    pending: tuple[str, bool] | None = None
    tokens = _TOKEN.findall(rest)[:200]
    commands = _alternative_commands(tokens)
    if commands:
        # Which words follow depends on the command; a documented call has them already.
        return Usage(parameters=(describe("command", required=True, choices=commands),), source="text")
    for token in tokens:
        if token in ("[", "]"):
            if pending is not None:
                parameters.append(_option(pending, None))
                pending = None
            depth = max(0, depth + (1 if token == "[" else -1))
        elif token in ("|", "(", ")", "...", "…", "<", ">", "{", "}"):
            continue
        elif token.startswith("-") and len(token) > 1:
            if pending is not None:
                parameters.append(_option(pending, None))
            name, has_value, value = token.partition("=")
            pending = (name, depth == 0)
            if has_value:
                parameters.append(_option(pending, value))
                pending = None
        elif pending is not None:
            parameters.append(_option(pending, token))
            pending = None
        elif token.strip("<>{}").lower() not in ("options", "args", "flags", "arguments", "option"):
            parameters.append(_positional(token, required=depth == 0))
    if pending is not None:
        parameters.append(_option(pending, None))
    names: dict[tuple[str, tuple[str, ...]], Parameter] = {}
    for item in parameters:
        names.setdefault((item.name, item.flags), item)
    return Usage(parameters=tuple(names.values()), source="text")


def _alternative_commands(tokens: Sequence[str]) -> tuple[str, ...]:
    """The commands of `build | find <name>`: bare words that begin alternatives; empty for other usages."""
    depth = 0
    first = True
    words: list[str] = []
    for token in tokens:
        if token in ("[", "(", "<", "{"):
            depth += 1
        elif token in ("]", ")", ">", "}"):
            depth = max(0, depth - 1)
        elif depth == 0 and token == "|":
            first = True
            continue
        elif first and depth == 0:
            if not re.fullmatch(r"[a-z][\w-]{0,30}", token):
                return ()
            words.append(token)
        first = False
    return tuple(words) if len(words) > 1 else ()


def _option(pending: tuple[str, bool], value: str | None) -> Parameter:
    flag, required = pending
    name = flag.lstrip("-") or flag
    if value is None:
        return describe(name, (flag,), required=False, takes_value=False)
    return describe(name, (flag,), required=required, hint=value.strip("<>{}"), choices=_choices(value))


def _positional(token: str, *, required: bool) -> Parameter:
    return describe(token.strip("<>{}[]"), required=required, choices=_choices(token))


def _choices(token: str) -> tuple[str, ...]:
    inner = token.strip("<>{}")
    separator = "," if token.startswith("{") else "|"
    parts = tuple(part.strip() for part in inner.split(separator))
    return parts if len(parts) > 1 and all(re.fullmatch(r"[\w.-]{1,40}", part) for part in parts) else ()
