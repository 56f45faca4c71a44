"""Compiled Python: its imports, names and text constants, read without unmarshalling it.

Whether it says what its source says is intake's finding (`integrity.bytecode-unlike-source`); here what it
names becomes reach of low confidence, so that a payload that exists only compiled is not silence. The
instructions are not followed: a function that names `requests`, `post` and an address is taken to post there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from conjunct.model import ActionKind, ResourceClass
from conjunct.reach.commands import URL
from conjunct.reach.found import UNKNOWN, Place, Sightings
from conjunct.reach.python_reading import calls_table
from conjunct.skills.marshal_form import CodeForm, CodeNames, MarshalTrouble

_HEADER = 16
_CONFIDENCE = 0.5
_PATH = re.compile(r"^(?:~|/|\.)[\w./@-]{2,200}$")
_PLAIN_HOST = re.compile(r"^(?:[a-z0-9-]+\.)+[a-z]{2,24}$", re.IGNORECASE)
_LIKE_PATH = re.compile(r"^(?:~|\.{0,2}/|\w[\w-]*[./])[\w./@ -]{1,290}$")
_COMMAND = re.compile(r"^[\w./~-]{1,60}(?:\s|$)")
_MOST_CODES, _MOST_CONSTANTS = 2_000, 400
_MOST_SHOWN = 8
"""Constants of one function that are tried as the argument of a call."""


def read_bytecode(file: str, data: bytes, seen: Sightings) -> None:
    """List what a compiled file names; what cannot be parsed is opaque. Lines are those the code claims."""
    place = Place(file, 1, "bytecode", confidence=_CONFIDENCE)
    try:
        form = CodeForm(data[_HEADER:], int.from_bytes(data[:2], "little"))
    except MarshalTrouble:
        seen.opaque(place, "unparsed:bytecode", 2.0)
        return
    everywhere = {part for code in form.codes for name in code.names for part in (name, *name.split("."))}
    constants = [text for code in form.codes for text in code.texts if text.strip()][:_MOST_CONSTANTS]
    for code in form.codes[:_MOST_CODES]:
        _read_code(code, everywhere, constants, place.at(max(1, min(code.line, 10**6))), seen)
    if len(form.codes) > _MOST_CODES:
        seen.opaque(place, "oversized:bytecode", 2.0)


def _read_code(
    code: CodeNames, everywhere: set[str], constants: list[str], place: Place, seen: Sightings
) -> None:
    table = calls_table()
    texts = [text for text in code.texts if text.strip()]
    for text in texts:
        for found in URL.finditer(text[:2000]):
            seen.network(place, ActionKind.CONNECT, found.group(0))
        if _PATH.match(text) and seen.class_of(text) is ResourceClass.SECRET:
            seen.path(place, ActionKind.READ, text)
        elif text.isupper():
            seen.variable(place, text)
    own = set(code.names)
    for name in own:
        for dotted in _named_calls(name, everywhere):
            if dotted in table["calls"]:
                _call(table["calls"][dotted], texts, constants, place, seen)
            elif dotted in table["opaque"]:
                seen.opaque(place, table["opaque"][dotted])
            else:
                _starts(texts, place, seen)


def _named_calls(name: str, everywhere: set[str]) -> Iterator[str]:
    """Known calls that end in a name and whose modules are named somewhere in the file."""
    for dotted in _by_last_part().get(name, ()):
        module = dotted.rpartition(".")[0]
        if not module or module in everywhere or all(part in everywhere for part in module.split(".")):
            yield dotted


def _call(row: dict[str, Any], texts: list[str], constants: list[str], place: Place, seen: Sightings) -> None:
    """One call of the table, with constants of its function, or else of the file, that may be arguments."""
    kind = ActionKind(row["kind"])
    if "text" in row:
        if kind in (ActionKind.READ, ActionKind.WRITE):
            seen.path(place, kind, row["text"])
        else:
            seen.add(place, kind, row["text"], ResourceClass.PROCESS)
    elif "path" in row and not row.get("quiet"):
        for path in _paths(texts) or _paths(constants) or [UNKNOWN]:
            seen.path(place, kind, path)
    elif "url" in row or "host" in row:
        for address in _addresses(texts) or _addresses(constants) or [UNKNOWN]:
            seen.network(place, kind, address)


def _paths(texts: list[str]) -> list[str]:
    found = [text for text in texts if _LIKE_PATH.match(text) and "://" not in text]
    return found[:_MOST_SHOWN]


def _addresses(texts: list[str]) -> list[str]:
    found = [found.group(0) for text in texts for found in URL.finditer(text[:2000])]
    return [*found, *(text for text in texts if _PLAIN_HOST.match(text))][:_MOST_SHOWN]


def _starts(texts: list[str], place: Place, seen: Sightings) -> None:
    """A program is started: every constant that reads like a command is taken for one."""
    seen.add(place, ActionKind.EXEC, UNKNOWN, ResourceClass.PROCESS)
    for text in texts[: 4 * _MOST_SHOWN]:
        if _COMMAND.match(text) and (" " in text.strip() or text.startswith(("/", "./", "~/"))):
            seen.snippet("shell", text, place)


@cache
def _by_last_part() -> dict[str, tuple[str, ...]]:
    """Last part of a known call to its dotted names."""
    table = calls_table()
    found: dict[str, tuple[str, ...]] = {}
    starts = (*table["shell"], *table["processes"], *table["exec_family"])
    for dotted in (*table["calls"], *table["opaque"], *starts):
        if not dotted.startswith("builtins."):
            last = dotted.rpartition(".")[2]
            found[last] = (*found.get(last, ()), dotted)
    return found
