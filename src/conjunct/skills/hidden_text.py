"""Text that a model reads and a person does not see: a question of integrity in any manifest or reference."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from conjunct.model import Entry, Severity
from conjunct.skills.bounds import Bounds
from conjunct.skills.digest import path_bytes
from conjunct.skills.front_matter import BLANK_LINES_HARMLESS
from conjunct.skills.notes import Notes
from conjunct.skills.package import read_regular

_PROSE = (".md", ".mdx", ".markdown", ".txt", ".rst")
_TAGS = re.compile(r"[\U000E0001-\U000E007F]{2,}")
_TOTAL_LIMIT = 64 << 20
"""Bytes of prose looked at per package."""
_FLAG = "\U0001f3f4"
"""The black flag: followed by tag characters it is an emoji (the flag of Scotland), not hidden text."""
_DIRECTION = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_RIGHT_TO_LEFT = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_ZERO_WIDTH_RUN = re.compile(r"[\u200b\u200c\u2060\u2062-\u2064\ufeff\u180e]{4,}")
_VARIATION_RUN = re.compile(r"[\ufe00-\ufe0f\U000E0100-\U000E01EF]{3,}")
_ESCAPE = re.compile(r"\x1b[\[\]P_^X]")
_KINDS = (
    (_TAGS, "Unicode tag characters spell text that is not shown"),
    (_ZERO_WIDTH_RUN, "a run of invisible characters can carry data"),
    (_VARIATION_RUN, "a run of variation selectors can carry data"),
    (_ESCAPE, "a terminal escape sequence"),
)


def check_hidden_text(
    root: Path, entries: Sequence[Entry], manifest: str, notes: Notes, bounds: Bounds
) -> None:
    """Note hidden text in the prose of a staged package, at most once per kind and file."""
    left = _TOTAL_LIMIT
    for entry in entries:
        if entry.kind != "file" or not (entry.path == manifest or entry.path.casefold().endswith(_PROSE)):
            continue
        limit = min(left, bounds.manifest_bytes)
        data = read_regular(os.path.join(os.fsencode(root), path_bytes(entry.path)), limit)
        if data:
            left -= len(data)
            _check(data.decode("utf-8", "replace").replace("\r\n", "\n"), entry.path, notes)


def _check(text: str, file: str, notes: Notes) -> None:
    pushed = _pushed_down(text)
    if pushed:
        what = f"text after more than {BLANK_LINES_HARMLESS} blank lines"
        notes.add("integrity.hidden-text", what, file=file, line=pushed, severity=Severity.REVIEW)
    if text.isascii() and "\x1b" not in text:
        return
    for pattern, what in _KINDS:
        found = next((hit for hit in pattern.finditer(text) if not _is_flag(text, hit)), None)
        if found:
            _note(text, found, what, file, notes)
    found = _DIRECTION.search(text)
    if found and not _RIGHT_TO_LEFT.search(text):
        _note(
            text,
            found,
            "characters that change the reading direction, in text that has one only",
            file,
            notes,
        )


def _pushed_down(text: str) -> int | None:
    """Line of the first text that follows more blank lines than formatting needs."""
    blank = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            if blank > BLANK_LINES_HARMLESS:
                return number
            blank = 0
        else:
            blank += 1
    return None


def _is_flag(text: str, found: re.Match[str]) -> bool:
    return text[max(0, found.start() - 1) : found.start()] == _FLAG


def _note(text: str, found: re.Match[str], what: str, file: str, notes: Notes) -> None:
    line = text.count("\n", 0, found.start()) + 1
    hidden = "".join(
        chr(ord(character) - 0xE0000) if 0xE0020 <= ord(character) < 0xE007F else character
        for character in found.group()[:200].strip("\n")
    )
    notes.add("integrity.hidden-text", what, file=file, line=line, severity=Severity.REVIEW, quote=hidden)
