"""What each system call with a path says: a table of calls, and one reader per kind of call.

For opened files the resolved descriptor is the truth. The argument is only what was asked for: a second
thread can change it between the moment strace reads it and the moment the kernel does.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from conjunct.model import ActionKind, ResourceClass, TouchMode
from conjunct.world.called_paths import Place, asked_path, found, in_own_proc, of_descriptor
from conjunct.world.processes import TracedProcess
from conjunct.world.recorder import Recorder, shown
from conjunct.world.strace_syntax import Call, descriptor, string, strings

_TIMES = re.compile(r"\[(\{[^}]*\}|UTIME_\w+)[^,\]]*, (\{[^}]*\}|UTIME_\w+)")

Reader = Callable[[Recorder, TracedProcess, Call], None]

_CHANCE = ("/dev/urandom", "/dev/random", "/dev/hwrng", "/proc/sys/kernel/random/")
_WRITING_FLAGS = ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_TMPFILE")


# ---- opening


def read_open(recorder: Recorder, process: TracedProcess, call: Call, place: Place, flags: str) -> None:
    """`open` and its relatives."""
    asked = asked_path(process, call, place)
    if not call.succeeded:
        if asked is not None:
            _failed_open(recorder, process, call, asked, flags)
        return
    opened = descriptor(f"{call.value}{call.rest}")
    real = in_own_proc(process, opened.path) if opened is not None and opened.path else asked
    if real is None or opened is None:
        return
    if asked is not None and asked != real:
        if asked.startswith("/proc/self") and real.startswith("/proc/"):
            real = asked
        recorder.touch(process, asked, TouchMode.STAT, found=True)
    writes = any(flag in flags for flag in _WRITING_FLAGS)
    if real.startswith(_CHANCE):
        recorder.draws = True
    if recorder.is_noise(real) and not writes:
        return
    process.remember_descriptor(opened.number, real)
    if "O_PATH" in flags or "O_DIRECTORY" in flags:
        recorder.touch(process, real, TouchMode.STAT, found=True)
        return
    if not writes or "O_RDWR" in flags or ("O_CREAT" in flags and "O_WRONLY" not in flags):
        recorder.read(process, real, asked=asked or real)
    if writes:
        anew = "O_TRUNC" in flags or "O_EXCL" in flags or "O_TMPFILE" in flags
        change = "truncate" if "O_TRUNC" in flags else "create" if "O_CREAT" in flags else "open"
        recorder.write(process, real, change, anew=anew)
        if "O_CREAT" not in flags or "O_EXCL" in flags:
            recorder.touch(process, real, TouchMode.STAT, found="O_CREAT" not in flags)
        if "O_EXCL" in flags:
            recorder.transient.created(real)
    if real in recorder.fifos:
        recorder.carry_out(process, "fifo", real)


def _failed_open(recorder: Recorder, process: TracedProcess, call: Call, asked: str, flags: str) -> None:
    writes = any(flag in flags for flag in _WRITING_FLAGS)
    mode = TouchMode.WRITE if writes else TouchMode.READ
    matters = recorder.touch(process, asked, mode, found=found(call))
    if writes and ("O_CREAT" not in flags or call.error == "EEXIST"):
        recorder.touch(process, asked, TouchMode.STAT, found=found(call))
    if matters and found(call) and call.error in ("EACCES", "EPERM", "EROFS"):
        kind = ActionKind.WRITE if writes else ActionKind.READ
        recorder.act_on(process, kind, asked, completed=False, detail=(("error", call.error),))


def _open(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    read_open(recorder, process, call, Place(0), call.argument(1))


def _openat(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    read_open(recorder, process, call, Place(1, 0), call.argument(2))


def _creat(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    read_open(recorder, process, call, Place(0), "O_WRONLY|O_CREAT|O_TRUNC")


def _memfd_create(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    known = descriptor(f"{call.value}{call.rest}")
    if known is not None:
        process.remember_descriptor(known.number, f"memfd:{string(call.argument(0)) or ''}")


# ---- looking


def looking(place: Place, mode: TouchMode = TouchMode.STAT) -> Reader:
    """A call that only looks. Attributes of a folder are a look at its entries."""

    def read(recorder: Recorder, process: TracedProcess, call: Call) -> None:
        path = asked_path(process, call, place)
        if path is None:
            return
        if recorder.touch(process, path, mode, found=found(call)) and _shows_folder(call):
            recorder.folder(process, path)

    return read


def _shows_folder(call: Call) -> bool:
    return any("_mode=S_IFDIR" in argument for argument in call.arguments if argument.lstrip()[:1] == "{")


def _listing(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    path = of_descriptor(process, call)
    if path is not None:
        recorder.folders.add(path)
        recorder.listed.add(path)
        recorder.touch(process, path, TouchMode.LIST, found=True)


def _watch(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    path = asked_path(process, call, Place(1))
    if path is not None:
        recorder.touch(process, path, TouchMode.LIST, found=found(call))


def _attribute(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    path = of_descriptor(process, call) or asked_path(process, call, Place(0))
    if path is not None:
        recorder.touch(process, path, TouchMode.STAT, found=found(call))


def _chdir(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    path = asked_path(process, call, Place(0))
    if path is None:
        return
    if process.started:
        recorder.touch(process, path, TouchMode.STAT, found=found(call))
    if call.succeeded:
        process.cwd.path = recorder.ledger.resolve(path)


def _fchdir(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    path = of_descriptor(process, call)
    if path is not None and call.succeeded:
        process.folders.add(path)
        recorder.touch(process, path, TouchMode.STAT, found=True)
        process.cwd.path = path


# ---- changing


def changing(place: Place, change: str, *, anew: bool = False) -> Reader:
    """A call that changes or creates what its path names."""

    def read(recorder: Recorder, process: TracedProcess, call: Call) -> None:
        path = asked_path(process, call, place)
        if path is not None:
            resolve = recorder.ledger.resolve_folder if anew else recorder.ledger.resolve
            path = resolve(path)
            _changed(recorder, process, call, path, change, anew=anew)
            if change == "folder":
                recorder.folders.add(path)
                if call.succeeded:
                    recorder.transient.created(path)

    return read


def _stays(recorder: Recorder, process: TracedProcess, call: Call, path: str, change: str) -> None:
    """Note what a record of file changes would not hold: attributes, and a time of access of its own."""
    if change == "attribute":
        recorder.carry_out(process, "attribute", path)
    if change == "times":
        found = _TIMES.search(",".join(call.arguments))
        if found is not None and found.group(1) != found.group(2) and "UTIME_NOW" not in found.group(1):
            recorder.carry_out(process, "time of access", path)


def _changed(
    recorder: Recorder, process: TracedProcess, call: Call, path: str, change: str, *, anew: bool = False
) -> None:
    # The answer tells whether the path was there: creating succeeds where it was not, changing where it was.
    there = call.error == "EEXIST" if anew else found(call)
    recorder.touch(process, path, TouchMode.STAT, found=there)
    if call.succeeded:
        recorder.write(process, path, change, anew=anew)
        _stays(recorder, process, call, path, change)
        return
    recorder.touch(process, path, TouchMode.WRITE, found=there)
    if call.error in ("EACCES", "EPERM", "EROFS"):
        detail = (("change", change), ("error", call.error))
        recorder.act_on(process, ActionKind.WRITE, path, completed=False, detail=detail)


def changing_open(change: str) -> Reader:
    """A call that changes what its descriptor stands for."""

    def read(recorder: Recorder, process: TracedProcess, call: Call) -> None:
        path = of_descriptor(process, call)
        if path is not None:
            _changed(recorder, process, call, path, change)

    return read


def _times(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    path = asked_path(process, call, Place(1, 0))
    if path is not None:
        _changed(recorder, process, call, recorder.ledger.resolve(path), "times")


def _mknod(place: Place) -> Reader:
    def read(recorder: Recorder, process: TracedProcess, call: Call) -> None:
        path = asked_path(process, call, place)
        if path is None:
            return
        path = recorder.ledger.resolve_folder(path)
        _changed(recorder, process, call, path, "create", anew=True)
        if call.succeeded and any("S_IFIFO" in argument for argument in call.arguments):
            recorder.fifos.add(path)

    return read


def deleting(place: Place) -> Reader:
    """`unlink` and `rmdir`."""

    def read(recorder: Recorder, process: TracedProcess, call: Call) -> None:
        path = asked_path(process, call, place)
        if path is None or not recorder.touch(process, path, TouchMode.WRITE, found=found(call)):
            return
        path = recorder.ledger.resolve_folder(path)
        recorder.touch(process, path, TouchMode.STAT, found=found(call))
        if call.succeeded:
            recorder.transient.gone(path)
            recorder.act_on(process, ActionKind.DELETE, path)
            recorder.ledger.forget(path)
        elif call.error in ("EACCES", "EPERM", "EROFS"):
            detail = (("error", call.error),)
            recorder.act_on(process, ActionKind.DELETE, path, completed=False, detail=detail)

    return read


def _renaming(old: Place, new: Place) -> Reader:
    def read(recorder: Recorder, process: TracedProcess, call: Call) -> None:
        source, target = asked_path(process, call, old), asked_path(process, call, new)
        if source is None or target is None:
            return
        source, target = map(recorder.ledger.resolve_folder, (source, target))
        recorder.touch(process, source, TouchMode.WRITE, found=found(call))
        recorder.touch(process, source, TouchMode.STAT, found=found(call) or call.error == "EEXIST")
        if not call.succeeded:
            recorder.touch(process, target, TouchMode.STAT, found=call.error != "ENOENT")
            recorder.touch(process, target, TouchMode.WRITE, found=call.error == "EEXIST")
            return
        if "RENAME_NOREPLACE" in call.argument(len(call.arguments) - 1):
            recorder.touch(process, target, TouchMode.STAT, found=False)
        recorder.touch(process, target, TouchMode.WRITE, found=True)
        recorder.act_on(process, ActionKind.DELETE, source, detail=(("change", "rename"), ("to", target)))
        detail = (("change", "rename"), ("from", source))
        recorder.act_on(process, ActionKind.WRITE, target, detail=detail)
        recorder.transient.gone(source)
        recorder.ledger.rename(source, target, process.actor)
        if "RENAME_EXCHANGE" in call.argument(len(call.arguments) - 1):
            recorder.act_on(process, ActionKind.WRITE, source, detail=(("change", "rename"),))
            recorder.ledger.update(source, process.actor)

    return read


def _linking(old: Place, new: Place) -> Reader:
    def read(recorder: Recorder, process: TracedProcess, call: Call) -> None:
        source, target = asked_path(process, call, old), asked_path(process, call, new)
        if source is None or target is None:
            return
        source, target = map(recorder.ledger.resolve_folder, (source, target))
        recorder.touch(process, source, TouchMode.STAT, found=found(call) or call.error == "EEXIST")
        recorder.touch(process, target, TouchMode.STAT, found=call.error == "EEXIST")
        if not call.succeeded:
            recorder.touch(process, target, TouchMode.WRITE, found=call.error == "EEXIST")
            return
        recorder.touch(process, target, TouchMode.WRITE, found=True)
        recorder.transient.created(target)
        recorder.act_on(process, ActionKind.WRITE, target, detail=(("change", "link"), ("target", source)))
        recorder.ledger.link(source, target, process.actor, symbolic=False)

    return read


def _symbolic(place: Place) -> Reader:
    def read(recorder: Recorder, process: TracedProcess, call: Call) -> None:
        path, target = asked_path(process, call, place), string(call.argument(0))
        if path is None or target is None:
            return
        path = recorder.ledger.resolve_folder(path)
        recorder.touch(process, path, TouchMode.STAT, found=call.error == "EEXIST")
        recorder.touch(process, path, TouchMode.WRITE, found=call.succeeded or call.error == "EEXIST")
        if call.succeeded:
            recorder.transient.created(path)
            detail = (("change", "link"), ("target", target), ("symbolic", "yes"))
            recorder.act_on(process, ActionKind.WRITE, path, detail=detail)
            recorder.ledger.link(target, path, process.actor, symbolic=True)

    return read


def _mapping(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    if "PROT_WRITE" in call.argument(2) and "MAP_SHARED" in call.argument(3) and call.succeeded:
        path = of_descriptor(process, call, 4)
        if path is not None:
            recorder.write(process, path, "mapping")


# ---- executing


def _execve(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    _executed(recorder, process, call, asked_path(process, call, Place(0)), strings(call.argument(1)))


def _execveat(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    path = asked_path(process, call, Place(1, 0))
    if path is not None and path.startswith("/memfd:"):
        path = path[1:]
    _executed(recorder, process, call, path, strings(call.argument(2)))


def _executed(
    recorder: Recorder, process: TracedProcess, call: Call, path: str | None, argv: tuple[str, ...]
) -> None:
    if path is None:
        recorder.undetermined["a program was executed through a descriptor without a path"] = None
        return
    if call.succeeded:
        recorder.execute(process, path, argv)
        return
    recorder.touch(process, path, TouchMode.EXEC, found=found(call))
    if found(call):
        resource_class = (
            ResourceClass.SYSTEM if recorder.is_noise(path) else recorder.path_class(process, path)
        )
        detail = (("argv", shown(argv)), ("error", call.error))
        recorder.act(process, ActionKind.EXEC, path, resource_class, completed=False, detail=detail)


def _two(first: int, second: int, *, at: bool) -> tuple[Place, Place]:
    return (Place(first + 1, first), Place(second + 1, second)) if at else (Place(first), Place(second))


_FIRST, _AT = Place(0), Place(1, 0)

FILE_CALLS: dict[str, Reader] = {
    "open": _open,
    "openat": _openat,
    "openat2": _openat,
    "creat": _creat,
    "memfd_create": _memfd_create,
    **dict.fromkeys(
        ("stat", "lstat", "access", "readlink", "statfs", "getxattr", "lgetxattr", "listxattr", "llistxattr"),
        looking(_FIRST),
    ),
    **dict.fromkeys(("uselib", "acct", "chroot"), looking(_FIRST)),
    **dict.fromkeys(
        ("newfstatat", "statx", "faccessat", "faccessat2", "readlinkat", "name_to_handle_at"), looking(_AT)
    ),
    **dict.fromkeys(("fgetxattr", "flistxattr", "fstat", "fstatfs", "flock"), _attribute),
    **dict.fromkeys(("getdents", "getdents64"), _listing),
    "inotify_add_watch": _watch,
    "chdir": _chdir,
    "fchdir": _fchdir,
    "truncate": changing(_FIRST, "truncate"),
    **dict.fromkeys(("ftruncate", "fallocate"), changing_open("truncate")),
    "chmod": changing(_FIRST, "mode"),
    **dict.fromkeys(("fchmodat", "fchmodat2"), changing(_AT, "mode")),
    "fchmod": changing_open("mode"),
    **dict.fromkeys(("chown", "lchown"), changing(_FIRST, "owner")),
    "fchownat": changing(_AT, "owner"),
    "fchown": changing_open("owner"),
    **dict.fromkeys(("utime", "utimes"), changing(_FIRST, "times")),
    **dict.fromkeys(("utimensat", "futimesat"), _times),
    **dict.fromkeys(("setxattr", "lsetxattr", "removexattr", "lremovexattr"), changing(_FIRST, "attribute")),
    **dict.fromkeys(("fsetxattr", "fremovexattr"), changing_open("attribute")),
    "mkdir": changing(_FIRST, "folder", anew=True),
    "mkdirat": changing(_AT, "folder", anew=True),
    "mknod": _mknod(_FIRST),
    "mknodat": _mknod(_AT),
    **dict.fromkeys(("unlink", "rmdir"), deleting(_FIRST)),
    "unlinkat": deleting(_AT),
    "rename": _renaming(*_two(0, 1, at=False)),
    **dict.fromkeys(("renameat", "renameat2"), _renaming(*_two(0, 2, at=True))),
    "link": _linking(*_two(0, 1, at=False)),
    "linkat": _linking(*_two(0, 2, at=True)),
    "symlink": _symbolic(Place(1)),
    "symlinkat": _symbolic(Place(2, 1)),
    "mmap": _mapping,
    "execve": _execve,
    "execveat": _execveat,
}
"""One reader per call that takes a path, or works on what a path was opened as."""
