"""A copy of a script in which the tests that keep one line shut are decided for it. Nothing is executed.

The copy keeps every line of the original where it was, so that what its run shows can be told by the file and
line of the package. It is made by replacing spans of the text, never by printing a syntax tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

LARGEST_SOURCE = 256 * 1024
"""Characters of one source file; a larger one is not rewritten."""

Place = tuple[str, int]
"""(file of the package, line from 1)."""


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """A span of a file, in bytes of its normalised text, and what stands there in the forced copy."""

    file: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Forcing:
    """How one line is reached: what is replaced for it, and the tests that stood there."""

    place: Place
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]
    """Source text of the tests that were decided, the innermost first."""
    marker: str = ""
    """File that is looked up right before the line, where the world does not record lines by itself."""


@dataclass(frozen=True, slots=True)
class NotForced:
    """A line to which no way was found, and why."""

    place: Place
    reason: str


def normalised(content: bytes) -> str | None:
    """The text that edits count in: UTF-8 without a byte order mark, lines ended by LF; `None` if it is none.

    Both interpreters read such a text as they read the original.
    """
    if len(content) > LARGEST_SOURCE * 4 or b"\0" in content:
        return None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if len(text) <= LARGEST_SOURCE else None


def fitted(opening: str, removed: str, closing: str) -> str:
    """A replacement with as many line ends as the text it removes: the lines below stay where they are."""
    return opening + "\n" * removed.count("\n") + closing


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with every edit made. Edits must not overlap (`compatible`)."""
    content = text.encode("utf-8")
    for edit in sorted(edits, key=lambda one: (one.start, one.end), reverse=True):
        content = content[: edit.start] + edit.text.encode("utf-8") + content[edit.end :]
    return content.decode("utf-8")


def compatible(edits: Sequence[Edit]) -> bool:
    """Whether all of them can be made at once: equal ones are one, overlapping ones a contradiction."""
    ordered = sorted(set(edits))
    for one, other in pairwise(ordered):
        if one.file == other.file and (
            other.start < one.end or (one.start, one.end) == (other.start, other.end)
        ):
            return False
    return True


def joined(forcings: Sequence[Forcing]) -> tuple[list[Forcing], list[Forcing]]:
    """The forcings that one copy can hold, taken in order, and those that contradict an earlier one."""
    taken: list[Forcing] = []
    left: list[Forcing] = []
    edits: dict[Edit, None] = {}
    for one in forcings:
        if compatible([*edits, *one.edits]):
            taken.append(one)
            edits.update(dict.fromkeys(one.edits))
        else:
            left.append(one)
    return taken, left


def forced_files(sources: Mapping[str, str], edits: Iterable[Edit]) -> dict[str, str]:
    """Text of every file that the edits change. Raises `KeyError` for a file that is not in `sources`."""
    by_file: dict[str, list[Edit]] = {}
    for edit in set(edits):
        by_file.setdefault(edit.file, []).append(edit)
    return {file: apply_edits(sources[file], found) for file, found in sorted(by_file.items())}
