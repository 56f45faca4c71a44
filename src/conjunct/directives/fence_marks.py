"""Code block marks read tolerantly, as a reader of the raw text pairs them.

CommonMark ends the code block of a list item at the first line that is indented less; its closing mark then
opens a block that swallows what follows. A model that reads the raw text sees no such thing. Where the two
readings differ, both are compiled.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from conjunct.directives.structure import FENCE, Block
from conjunct.directives.vocabulary import vocabulary

_MARK = re.compile(
    r"^[ \t>]{0,40}(?:(?:[-*+]|\d{1,4}[.)])[ \t]{1,8})?(`{3,200}|~{3,200})[ \t]{0,8}([^`\n]{0,200})$"
)
_DEPTH: Final = 20


@dataclass(slots=True)
class Pair:
    """One outermost code block: lines of its two marks (from 0), its language, and what is nested."""

    opened: int
    info: str
    closed: int = -1
    nested: list[tuple[int, int, str]] = field(default_factory=list)
    """Blocks inside: first line behind the opening mark, line of the closing mark, language."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where the tolerant reading differs from CommonMark, in lines of the file."""

    text: str
    """The whole text with the marks of the tolerant reading, unambiguous for CommonMark."""
    lines: frozenset[int]
    templates: frozenset[int]
    """Lines inside a block that shows other blocks: whatever they hold is shown."""


def difference(text: str, strict: list[Block], first_line: int) -> Difference | None:
    """How pairing marks line by line differs from CommonMark's blocks; `None` when it does not."""
    if "```" not in text and "~~~" not in text:
        return None
    lines = text.split("\n")
    marks = {at: found for at, line in enumerate(lines) if (found := _MARK.match(line))}
    if not marks:
        return None
    pairs = _pairs(marks)
    tolerant: dict[int, int] = {}
    templates: set[int] = set()
    for pair in pairs:
        inside = range(pair.opened + 1, pair.closed)
        tolerant.update(dict.fromkeys(inside, pair.opened))
        if pair.nested:
            templates.update(inside)
    commonmark: dict[int, int] = {}
    other: set[int] = set()
    for block in strict:
        start = block.line - first_line
        covered = range(start, start + block.text.count("\n"))
        if block.kind == FENCE and start - 1 in marks:
            commonmark.update(dict.fromkeys(covered, start - 1))
        elif block.kind == FENCE:
            other.update(covered)
    differing = {
        at
        for at, line in enumerate(lines)
        if line.strip() and at not in other and at not in marks and tolerant.get(at) != commonmark.get(at)
    }
    if not differing:
        return None
    shift = frozenset(at + first_line for at in differing)
    return Difference(
        _normalised(lines, marks, pairs), shift, frozenset(at + first_line for at in templates & differing)
    )


def nested_blocks(text: str) -> list[tuple[int, int, str]]:
    """Blocks inside the text of a code block: first line, line behind the last (from 0), language."""
    marks = {at: found for at, line in enumerate(text.split("\n")) if (found := _MARK.match(line))}
    return [(pair.opened + 1, pair.closed, _language(pair.info)) for pair in _pairs(marks)] if marks else []


def _pairs(marks: dict[int, re.Match[str]]) -> list[Pair]:
    """Outermost blocks. A block without language nests others only where all marks then pair up."""
    plain, plain_open = _read(marks, nest_unnamed=False)
    if not plain_open:
        return plain
    nested, nested_open = _read(marks, nest_unnamed=True)
    return plain if nested_open else nested


def _read(marks: dict[int, re.Match[str]], *, nest_unnamed: bool) -> tuple[list[Pair], bool]:
    """The pairs, and whether a mark stayed without a partner: such a mark opens nothing."""
    prose = vocabulary()["resources.prose_languages"].single
    stack: list[tuple[str, str, int]] = []
    found: list[Pair] = []
    unpaired = False
    for at, match in marks.items():
        mark, info = match[1], match[2].strip()
        if not stack:
            stack.append((mark, _language(info), at))
            found.append(Pair(at, info))
            continue
        top, language, opened = stack[-1]
        if not info:
            if mark[0] != top[0] or len(mark) < len(top):
                continue
            stack.pop()
            if stack:
                found[-1].nested.append((opened + 1, at, language))
            else:
                found[-1].closed = at
        elif mark[0] == top[0] and len(mark) < len(top):
            continue
        elif (language in prose and language) or (not language and nest_unnamed):
            if len(stack) < _DEPTH:
                stack.append((mark, _language(info), at))
        else:  # the mark that should have closed the block before is missing
            unpaired = True
            stack = [(mark, _language(info), at)]
            found[-1] = Pair(at, info)
    if stack:
        found.pop()
    return [pair for pair in found if pair.closed > pair.opened], unpaired or bool(stack)


def _language(info: str) -> str:
    return info.split(None, 1)[0].strip("{}.").lower() if info else ""


def _normalised(lines: list[str], marks: dict[int, re.Match[str]], pairs: list[Pair]) -> str:
    """The text with every outermost block marked by a run of tildes longer than any in it."""
    longest = max((len(match[1]) for match in marks.values()), default=3)
    fence = "~" * (longest + 1)
    result = list(lines)
    inside: set[int] = set()
    for pair in pairs:
        result[pair.opened] = f"{fence} {pair.info}"
        result[pair.closed] = fence
        inside.update(range(pair.opened, pair.closed + 1))
    for at in marks:
        if at not in inside:
            result[at] = ""
    return "\n".join(result)
