"""Which path a system call is about: its argument, seen from where the process stands."""

from __future__ import annotations

from dataclasses import dataclass

from conjunct.world.processes import TracedProcess
from conjunct.world.resources import absolute
from conjunct.world.strace_syntax import Call, Descriptor, descriptor, string

UNFOLLOWED = "/proc/0/unfollowed"
"""Stands for a path that is too long to be followed: a look at everything."""

_ELEMENTS = 128
_WAYS_UP = 16
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
    """`path` with the process's own `/proc` written as `/proc/self` and its links followed.

    Processes of the same command are no part of what differs between contexts: their plain entries count as
    its own. What leads elsewhere through them, or through a descriptor that is not known, stays as it is:
    such a path counts as a look at everything.
    """
    if path.startswith("/dev/fd/"):
        path = f"/proc/self/fd/{path[8:]}"
    if not path.startswith("/proc/"):
        return path
    first, _, rest = path[6:].partition("/")
    number = int(first) if first.isascii() and first.isdigit() and len(first) < 12 else 0
    kind, _, inner = rest.partition("/")
    if kind == "task":
        kind, _, inner = inner.partition("/")[2].partition("/")
    own = first in ("self", "thread-self") or number == (process.inside or process.pid)
    if not own and number not in process.family:
        return path
    if kind == "root":
        return absolute(inner, "/")
    if own and kind in ("cwd", "exe", "fd"):
        target = _target(process, kind, inner)
        if target:
            return target
    elif kind in ("cwd", "fd", "map_files"):
        return path
    return f"/proc/self/{rest}" if rest else "/proc/self"


def _target(process: TracedProcess, kind: str, inner: str) -> str:
    """Where a link in a process's own `/proc` leads; empty where that is not known."""
    if kind == "exe":
        return process.program
    if kind == "cwd":
        return absolute(inner, process.cwd.path) if inner else process.cwd.path
    shown, _, below = inner.partition("/")
    known = process.files.get(int(shown)) if shown.isascii() and shown.isdigit() and len(shown) < 9 else None
    return "" if known is None else absolute(below, known) if below else known


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
        return _seen_from(process, text, "/")
    if folder is None:
        return _seen_from(process, text, process.cwd.path)
    if not folder.path:
        return None
    process.folders.add(folder.path)
    return _seen_from(process, text, folder.path)


def _seen_from(process: TracedProcess, text: str, folder: str) -> str:
    """The absolute path of `text` seen from `folder`. `..` after a link leaves where the link leads to."""
    if text.count("/") > _ELEMENTS:
        return UNFOLLOWED
    if ".." not in text:
        return in_own_proc(process, absolute(text, folder))
    elements = text.split("/")
    if elements.count("..") > _WAYS_UP:
        return UNFOLLOWED
    current = "" if text.startswith("/") else folder.rstrip("/")
    for element in elements:
        if element == "..":
            current = process.ledger.resolve(in_own_proc(process, current or "/")).rpartition("/")[0]
        elif element not in ("", "."):
            current = f"{current}/{element}"
    return in_own_proc(process, current or "/")


def of_descriptor(process: TracedProcess, call: Call, index: int = 0) -> str | None:
    """The path of the descriptor that a call works on."""
    known = descriptor(call.argument(index))
    return in_own_proc(process, known.path) if known is not None and known.path else None
