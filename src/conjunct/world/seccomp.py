"""The system-call table of the world: what is traced, refused, or reviewed; and the filter that refuses.

A refusal that the tracer should see is made by the tracer (it tampers with the call and records it), because
a filter's error would hide the call from it. The filter refuses what the tracer cannot: other call tables,
calls newer than the table, and calls aimed at PID 1. Without a tracer the filter refuses everything.
"""

from __future__ import annotations

import errno
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

_ALLOW = 0x7FFF0000
_TRAP = 0x00030000
_ERRNO = 0x00050000

_LOAD = 0x20
_JUMP_EQUAL = 0x15
_JUMP_AT_LEAST = 0x35
_JUMP_ANY_BIT = 0x45
_RETURN = 0x06

_SIGSTOP = 19
_FOREIGN_BIT = 0x40000000
_F_SETSIG = 10
_CLONE_UNTRACED = 0x00800000


@dataclass(frozen=True, slots=True)
class CallTable:
    """Every system call of one architecture, by name, in exactly one of three lists."""

    architecture: int
    highest: int
    """Calls with a higher number are refused: nobody has classified them."""
    traced: Mapping[str, tuple[int, str]]
    """Name to (number, reason)."""
    refused: Mapping[str, tuple[int, str, str]]
    """Name to (number, errno name, reason)."""
    reviewed: Mapping[str, tuple[int, str]]
    """Calls that carry no path, no bytes out and no carrier: name to (number, reason)."""

    def number(self, name: str) -> int:
        """Number of a call. Raises `KeyError` for a name that is not in the table."""
        for calls in (self.traced, self.refused, self.reviewed):
            if name in calls:
                return int(calls[name][0])
        raise KeyError(name)


@cache
def call_table() -> CallTable:
    """The table shipped with the package (`syscalls.json`)."""
    data = json.loads(resources.files(__package__).joinpath("syscalls.json").read_text("utf-8"))
    return CallTable(
        architecture=data["audit_architecture"],
        highest=data["highest"],
        traced={name: (row[0], row[1]) for name, row in data["traced"].items()},
        refused={name: (row[0], row[1], row[2]) for name, row in data["refused"].items()},
        reviewed={name: (row[0], row[1]) for name, row in data["reviewed"].items()},
    )


def _instruction(code: int, value: int, jump_true: int = 0, jump_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, jump_true, jump_false, value)


def _argument(index: int) -> int:
    """Offset of the low half of an argument in `struct seccomp_data` (little-endian)."""
    return 16 + 8 * index


def _when(number: int, tests: tuple[tuple[int, int], ...], action: int, *, code: int = _JUMP_EQUAL) -> bytes:
    """`action` where the call is `number` and every (argument, value) test holds.

    The number stays loaded. `code`: how an argument is compared with its value.
    """
    body = b""
    for position, (index, value) in enumerate(tests):
        remaining = 2 * (len(tests) - position - 1) + 1
        body += _instruction(_LOAD, _argument(index))
        body += _instruction(code, value, 0, remaining)
    body += _instruction(_RETURN, action)
    if tests:
        body += _instruction(_LOAD, 0)
    return _instruction(_JUMP_EQUAL, number, 0, len(body) // 8) + body


def filter_program(*, traced: bool, table: CallTable | None = None) -> bytes:
    """A compiled filter for `bwrap --seccomp`. `traced`: the tracer makes (and records) the plain
    refusals.
    """
    table = table or call_table()
    allow, trap = _ALLOW, _TRAP
    program = _instruction(_LOAD, 4) + _instruction(_JUMP_EQUAL, table.architecture, 1, 0)
    program += _instruction(_RETURN, trap)
    program += _instruction(_LOAD, 0) + _instruction(_JUMP_AT_LEAST, _FOREIGN_BIT, 0, 1)
    program += _instruction(_RETURN, trap)
    program += _instruction(_JUMP_AT_LEAST, table.highest + 1, 0, 1)
    program += _instruction(_RETURN, _ERRNO | errno.ENOSYS)
    for name, (number, error, _reason) in table.refused.items():
        if not traced or name == "clone3":
            program += _when(number, (), _ERRNO | int(getattr(errno, error)))
    # PID 1 cannot be killed from inside, but a tracer passes SIGSTOP on to it, and limits and priorities need
    # no more than the same user: a command could freeze or starve what starts the others.
    for name, pid_argument, signal_argument in _SIGNALS:
        program += _when(table.number(name), ((pid_argument, 1), (signal_argument, _SIGSTOP)), trap)
    for name, pid_argument in _ADJUSTMENTS:
        program += _when(table.number(name), ((pid_argument, 1),), trap)
    # A child out of the tracer's sight gets ENOSYS for every traced call; nobody honest asks for one.
    program += _when(table.number("clone"), ((0, _CLONE_UNTRACED),), trap, code=_JUMP_ANY_BIT)
    # A descriptor's owner may be any process of the user, and F_SETSIG chooses the signal it gets.
    program += _when(table.number("fcntl"), ((1, _F_SETSIG),), _ERRNO | errno.EINVAL)
    return program + _instruction(_RETURN, allow)


REFUSED_BY_KERNEL = frozenset({"mount", "umount2", "pivot_root", "unshare", "setns", "sethostname"})
"""Calls that bubblewrap itself makes before the first command: the tracer must let them pass. Without
capabilities and with new user namespaces disabled the kernel refuses them, and the tracer records that."""

_SIGNALS = (
    ("kill", 0, 1),
    ("tkill", 0, 1),
    ("tgkill", 0, 2),
    ("rt_sigqueueinfo", 0, 1),
    ("rt_tgsigqueueinfo", 0, 2),
)
_ADJUSTMENTS = (
    ("prlimit64", 0),
    ("sched_setaffinity", 0),
    ("sched_setscheduler", 0),
    ("sched_setparam", 0),
    ("sched_setattr", 0),
    ("setpriority", 1),
    ("ioprio_set", 1),
)


def trace_expression(table: CallTable | None = None) -> str:
    """The closed set of calls the tracer records, for `strace -e trace=`."""
    table = table or call_table()
    # Names this strace does not know are ignored (`?`): the filter refuses calls above the table anyway.
    return ",".join(f"?{name}" for name in (*table.traced, *table.refused) if name != "clone3")


def refusal_expressions(table: CallTable | None = None) -> tuple[str, ...]:
    """`strace -e inject=` expressions, one per errno, by which the tracer refuses what it records."""
    table = table or call_table()
    by_error: dict[str, list[str]] = {}
    for name, (_number, error, _reason) in table.refused.items():
        if name != "clone3" and name not in REFUSED_BY_KERNEL:
            by_error.setdefault(error, []).append(f"?{name}")
    return tuple(f"{','.join(names)}:error={error}" for error, names in by_error.items())
