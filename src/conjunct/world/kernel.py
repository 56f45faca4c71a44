"""Linux calls that Python 3.11 does not offer: namespaces, mounts, process flags, rooted opening."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 1 << 18

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36

_SYS_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_IN_ROOT = 0x10

_LIBC = ctypes.CDLL(None, use_errno=True)


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def unshare(flags: int) -> None:
    """Move this process into new namespaces. Raises `OSError` where the kernel or its policy refuses."""
    _check(_LIBC.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: Path | str, kind: str, flags: int = 0, options: str = "") -> None:
    """Mount a file system. Raises `OSError`."""
    result = _LIBC.mount(
        source.encode(),
        os.fsencode(target),
        kind.encode(),
        ctypes.c_ulong(flags),
        options.encode() if options else None,
    )
    _check(result, f"mount {kind} on {target}")


def set_process_flag(option: int, value: int) -> None:
    """`prctl` with one argument. Raises `OSError`."""
    _check(_LIBC.prctl(ctypes.c_int(option), ctypes.c_ulong(value), 0, 0, 0), "prctl")


def open_in_root(root: int, path: str, flags: int, mode: int = 0) -> int:
    """Open `path` as a process would whose root folder is the descriptor `root`.

    Symbolic links, absolute ones and `..` included, cannot lead out of it. Raises `OSError`.
    """
    how = _OpenHow(flags | os.O_CLOEXEC, mode, _RESOLVE_IN_ROOT | _RESOLVE_NO_MAGICLINKS)
    result = _LIBC.syscall(
        ctypes.c_long(_SYS_OPENAT2),
        ctypes.c_int(root),
        os.fsencode(path.lstrip("/") or "."),
        ctypes.byref(how),
        ctypes.c_size_t(ctypes.sizeof(how)),
    )
    return _check(int(result), f"open {path}")
