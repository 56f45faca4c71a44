"""A second try after a script refused its arguments: what it said it wants is given, once."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from conjunct.agent.arguments import Line
from conjunct.agent.commandline import quote
from conjunct.agent.kinds import kinds, words_of
from conjunct.agent.usage import Parameter, Usage, describe
from conjunct.agent.values import Values

_MESSAGE_LIMIT = 4000
_ROWS = 8
_REQUIRED = re.compile(r"the following arguments are required: ([^\n]{1,300})")
_ONE_OF = re.compile(r"one of the arguments ([^\n]{1,200}?) is required")
_CHOICE = re.compile(r"invalid choice: '?([^'\n]{0,100}?)'? \(choose from ([^)\n]{1,600})\)")
_UNKNOWN = re.compile(r"(?:unrecognized arguments|no such option|unknown option):?\s+([^\n]{1,300})", re.I)
_ASKS_FOR = re.compile(
    r"\b(?:provide|specify|pass|supply|need|needs|require|requires|required|use|missing|give|set)\b"
    r"[^\n]{0,60}?(?<![\w-])(--[a-z][\w-]{1,40})",
    re.I,
)
_IS_REQUIRED = re.compile(
    r"(?<![\w-])--[a-z][\w-]{1,40}[^\n]{0,100}\b(?:required|needed|missing|must be (?:given|provided))", re.I
)
_COLUMNS = re.compile(
    r"\b(?:missing|requires?|required|expected|must|needs?|not found|lacks?)\b[^\n]{0,60}?"
    r"\bcolumns?\b([^\n]{1,500})|"
    r"\bcolumns?\b[^\n]{0,40}\b(?:missing|required|not found)\b([^\n]{0,500})|"
    r"\bheader\b[^\n]{0,30}\b(?:contains?|has|have|includes?)\b([^\n]{1,300})",
    re.I,
)
_LISTED = re.compile(
    r"(?:^\s{0,4}|[:,\[{(]\s{0,4}|\band\s{1,4})([A-Za-z_][\w-]{1,60}(?:\.\w{1,40})?)(?=\s{0,4}(?:[,\])}.]|$|\band\b))"
)
_KEY = re.compile(r"(?m)^KeyError: [\"']([A-Za-z_][\w .-]{0,60})[\"']")
_WANTS = re.compile(r"\b(?:missing|must|required?|requires|expected|no|not found|needs?|lacks?)\b", re.I)
_MEMBER = re.compile(
    r"[\"'`]([A-Za-z_]\w{0,40})[\"'`]\s{1,3}(array|list|key|field|section|property|object)\b", re.I
)
_ELEMENT = {"id": "s1", "name": "sam", "title": "Quarterly overview", "date": "2024-03-15", "value": 3}
_TABLES = (".csv", ".tsv", ".txt", ".tab")


@dataclass(frozen=True, slots=True)
class Repair:
    """Another command for the same call, and a file the agent makes for it first, if any."""

    line: Line
    path: str = ""
    content: bytes = b""


def repair(line: Line, message: str, usage: Usage, values: Values, *, source: str = "") -> Repair | None:
    """What to try after a command ended with an error message; `None` where it says nothing that helps.

    Only commands that need no shell are repaired. A made-up table or JSON document has the columns or keys
    that were asked for, and those that the script's `source` reads from the same variable.
    """
    if line.argv[:2] == ("bash", "-c"):
        return None
    text = message[-_MESSAGE_LIMIT:]
    if (found := _CHOICE.search(text)) and found[1] in line.argv:
        options = re.findall(r"'([^']{1,80})'", found[2]) or [part.strip() for part in found[2].split(",")]
        return _with(line, [options[0] if word == found[1] else word for word in line.argv])
    if found := _UNKNOWN.search(text):
        unknown = found[1].split()
        kept = [word for word in line.argv if word not in unknown]
        return _with(line, kept) if kept != list(line.argv) else None
    names: list[str] = []
    if found := _REQUIRED.search(text):
        names = [name.strip() for name in found[1].split(",")]
    elif found := _ONE_OF.search(text):
        names = found[1].split()[:1]
    elif found := _ASKS_FOR.search(text) or _IS_REQUIRED.search(text):
        names = re.findall(r"(?<![\w-])--[a-z][\w-]{1,40}", found[0])
        names = names if re.search(r"\band\b", found[0]) and not re.search(r"\bor\b", found[0]) else names[:1]
    added = [word for name in names if name not in line.argv for word in _given(name, usage, values)]
    if added:
        return _with(line, [*line.argv, *added])
    return _table(line, text, values, source) or _document(line, text, values, source)


def _with(line: Line, argv: list[str]) -> Repair:
    return Repair(replace(line, argv=tuple(argv), text=" ".join(quote(word) for word in argv)))


def _given(name: str, usage: Usage, values: Values) -> Iterator[str]:
    """The words that give one argument, named as the script names it: `--input`, `-i/--input` or `source`."""
    flags = name.split("/")
    parameter = next((item for flag in flags if (item := usage.option(flag)) is not None), None)
    if parameter is None:
        by_name = {item.name: item for item in usage.positionals()}
        parameter = by_name.get(name.lower().replace("-", "_")) or _guessed(name)
    if parameter.flag:
        yield parameter.flag
    if parameter.takes_value:
        if parameter.output:
            yield values.output_path(f"<{parameter.name}>", parameter.kind)
        else:
            yield values.choose(parameter.name, parameter, None)


def _guessed(name: str) -> Parameter:
    bare = name.split("/")[-1]
    return describe(bare.lstrip("-"), (bare,) if bare.startswith("-") else ())


def _table(line: Line, message: str, values: Values, source: str) -> Repair | None:
    """A table with the columns that the script misses, in place of its first table."""
    named = dict.fromkeys([*_columns(message), *_keys(message, source)])
    # A set printed by a script has another order each time.
    columns = (sorted(named) if "{" in message else list(named))[:30]
    text = io.StringIO()

    def write(delimiter: str) -> str:
        writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        writer.writerow(columns)
        for row in range(_ROWS):
            writer.writerow([_cell(column, row) for column in columns])
        return text.getvalue()

    at = _place(line, _TABLES, values)
    if at is None or not columns:
        return None
    return _replaced(line, at, write("\t" if line.argv[at].endswith((".tsv", ".tab")) else ","), values)


def _document(line: Line, message: str, values: Values, source: str) -> Repair | None:
    """A JSON object with the keys that the script misses, in place of its first document."""
    at = _place(line, (".json",), values)
    keys = list(dict.fromkeys(_keys(message, source)))[:60]
    members = dict(_MEMBER.findall(message)) if _WANTS.search(message) else {}
    if at is None or not (keys or members):
        return None
    content: dict[str, object] = {
        name: [_ELEMENT] if what.lower() in ("array", "list") else 3 for name, what in members.items()
    }
    for key in keys:
        value = _scalar(_cell(key, 0))
        looped = re.search(rf"\bin \w{{1,40}}(?:\[|\.get\()[\"']{re.escape(key)}[\"']", source)
        content[key] = [value] if looped else value
    return _replaced(line, at, json.dumps(content, indent=1) + "\n", values)


def _place(line: Line, endings: tuple[str, ...], values: Values) -> int | None:
    """Which word of a command is the input to replace; one that was made before is not made again."""
    made = f"{values.output_folder()}/inputs/"
    found = [n for n, word in enumerate(line.argv) if n > 1 and word.lower().endswith(endings)]
    return found[0] if found and not line.argv[found[0]].startswith(made) else None


def _replaced(line: Line, at: int, content: str, values: Values) -> Repair:
    path = f"{values.output_folder()}/inputs/{line.argv[at].rpartition('/')[2]}"
    argv = [path if number == at else word for number, word in enumerate(line.argv)]
    return replace(_with(line, argv), path=path, content=content.encode())


def _keys(message: str, source: str) -> Iterator[str]:
    """The key of a `KeyError`, and what else the script reads from the variable it reads this one from."""
    for key in _KEY.findall(message):
        if key.isupper():  # an environment variable that a script insists on
            continue
        yield key
        used = re.search(rf"\b(\w{{1,40}})\[[\"']{re.escape(key)}[\"']\]", source)
        if used is not None:
            read = rf"\b{used[1]}(?:\[|\.get\()[\"']([A-Za-z_][\w .-]{{0,60}})[\"']"
            yield from re.findall(read, source)[:60]


def _columns(message: str) -> Iterator[str]:
    for found in _COLUMNS.finditer(message):
        rest = found[1] or found[2] or found[3] or ""
        quoted = re.findall(r"[\"'`]([A-Za-z_][\w .%()/-]{0,60})[\"'`]", rest)
        listed = _LISTED.findall(rest)
        yield from quoted or listed


def _cell(column: str, row: int) -> str:
    """A plausible value: whole numbers where the name says nothing else, since most tables are measured."""
    kind = kinds().of_words(column)
    if kind is not None and kind.name == "number":
        return str(round(0.05 * (row + 1), 2))
    if kind is None or kind.is_file or kind.name in ("integer", "sentence", "password", "token"):
        return str(3 + 7 * row)
    if kind.name == "identifier" or "id" in words_of(column):
        return f"s{row + 1}"
    return kind.value(row)


def _scalar(text: str) -> int | float | str:
    if re.fullmatch(r"\d{1,9}", text):
        return int(text)
    return float(text) if re.fullmatch(r"\d{1,9}\.\d{1,9}", text) else text
