"""Compiled Python: its names and text constants, read without unmarshalling it.

Whether it says what its source says is intake's finding (`integrity.bytecode-unlike-source`); here its
strings become reach, so that a payload that exists only compiled is not silence.
"""

from __future__ import annotations

import re

from conjunct.model import ActionKind, ResourceClass
from conjunct.reach.commands import URL
from conjunct.reach.found import Place, Sightings
from conjunct.skills.marshal_form import CodeForm, MarshalTrouble

_HEADER = 16
_NAMES = {
    "system": ActionKind.EXEC,
    "popen": ActionKind.EXEC,
    "Popen": ActionKind.EXEC,
    "check_output": ActionKind.EXEC,
    "urlopen": ActionKind.CONNECT,
    "requests": ActionKind.CONNECT,
    "httpx": ActionKind.CONNECT,
    "create_connection": ActionKind.CONNECT,
    "rmtree": ActionKind.DELETE,
    "unlink": ActionKind.DELETE,
}
_PATH = re.compile(r"^(?:~|/|\.)[\w./@-]{2,200}$")


def read_bytecode(file: str, data: bytes, seen: Sightings) -> None:
    """List what a compiled file names, with low confidence; what cannot be parsed is opaque."""
    place = Place(file, 1, "bytecode", confidence=0.6)
    try:
        texts = CodeForm(data[_HEADER:], int.from_bytes(data[:2], "little")).texts
    except MarshalTrouble:
        seen.opaque(place, "unparsed:bytecode")
        return
    for text in sorted(texts):
        for found in URL.finditer(text[:2000]):
            seen.network(place, ActionKind.CONNECT, found.group(0))
        if text in _NAMES:
            kind = _NAMES[text]
            seen.add(
                place, kind, "*", ResourceClass.PROCESS if kind is ActionKind.EXEC else ResourceClass.UNKNOWN
            )
        elif text in ("exec", "eval"):
            seen.opaque(place, f"dynamic:{text}")
        elif _PATH.match(text) and seen.class_of(text) is ResourceClass.SECRET:
            seen.path(place, ActionKind.READ, text)
        elif text.isupper():
            seen.variable(place, text)
