"""Which task of a trace was made by which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conjunct.world.strace_syntax import (
    UNFINISHED,
    Call,
    UnparsedLineError,
    parse_call,
    resumed,
    split_line,
    translated_pid,
)

FORKS = frozenset({"clone", "clone3", "fork", "vfork"})


@dataclass(slots=True)
class Birth:
    """How a task came to be."""

    parent: int
    inside: int
    call: Call
    entered: bool = False


NO_BIRTH = Birth(0, 0, Call("", [], None, "", ""))


def births_in(lines: Sequence[str], pending: Mapping[int, str]) -> dict[int, Birth]:
    """Which task was made by which, from the whole trace: a child's lines may precede its parent's."""
    births: dict[int, Birth] = {}
    begun = dict(pending)
    for line in lines:
        if "clone" not in line and "fork" not in line:
            continue
        try:
            tid, text = split_line(line)
            rest = resumed(text)
            if rest is not None and rest[0] in FORKS:
                text = begun.pop(tid, f"{rest[0]}(") + rest[1]
            if not text.startswith(("clone", "fork", "vfork")):
                continue
            if text.endswith(UNFINISHED):
                begun[tid] = text[: -len(UNFINISHED)]
                continue
            call = parse_call(text)
        except (UnparsedLineError, ValueError):
            continue
        if call.name in FORKS and call.succeeded:
            inside, child = translated_pid(f"{call.value}{call.rest}")
            births[child] = Birth(tid, inside, call)
    return births
