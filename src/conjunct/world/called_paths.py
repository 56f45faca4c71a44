"""Which path a system call is about: its argument, seen from where the process stands."""

from __future__ import annotations

from dataclasses import dataclass

from conjunct.world.processes import TracedProcess
from conjunct.world.resources import absolute
from conjunct.world.strace_syntax import Call, Descriptor, descriptor, string

_MISSING = frozenset({"ENOENT", "ENOTDIR"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a call has its path: index of the path, and of the folder descriptor it is relative to."""

    path: int = 0
    at: int | None = None


def found(call: Call) -> bool:
    """Whether the answer says that the path exists."""
    return call.succeeded or call.error not in _MISSING


def in_own_proc(process: TracedProcess, path: str) -> str:
    """`path` with the process's own `/proc` written as `/proc/self` and its links followed."""
    if not path.startswith("/proc/"):
        return path
    first, _, rest = path[6:].partition("/")
    if first in ("self", "thread-self") or (
        first.isdigit() and int(first) == (process.inside or process.pid)
    ):
        kind, _, inner = rest.partition("/")
        if kind == "cwd":
            return absolute(inner, process.cwd.path) if inner else process.cwd.path
        if kind == "root":
            return absolute(inner, "/")
        if kind == "exe":
            return process.program or "/proc/self/exe"
        if kind == "fd":
            number, _, below = inner.partition("/")
            target = process.files.get(int(number)) if number.isdigit() and len(number) < 9 else None
            if target is not None:
                return absolute(below, target) if below else target
        return f"/proc/self/{rest}" if rest else "/proc/self"
    return path


def asked_path(process: TracedProcess, call: Call, place: Place) -> str | None:
    """The absolute path a call asks about; `None` where it has none (`NULL`, a pipe, a socket)."""
    folder: Descriptor | None = None
    if place.at is not None:
        folder = descriptor(call.argument(place.at))
        if folder is not None and folder.number == -100:
            if folder.path:
                process.cwd.path = folder.path
            folder = None
    text = string(call.argument(place.path))
    if not text:
        if folder is not None and folder.path:
            return in_own_proc(process, folder.path)
        return process.cwd.path if text == "" and place.at is not None and folder is None else None
    if text.startswith("/"):
        return in_own_proc(process, absolute(text, "/"))
    if folder is None:
        return in_own_proc(process, absolute(text, process.cwd.path))
    if not folder.path:
        return None
    process.folders.add(folder.path)
    return in_own_proc(process, absolute(text, folder.path))


def of_descriptor(process: TracedProcess, call: Call, index: int = 0) -> str | None:
    """The path of the descriptor that a call works on."""
    known = descriptor(call.argument(index))
    return in_own_proc(process, known.path) if known is not None and known.path else None
