"""Code that reaches an interpreter through a pipe from a program that fetched it: `curl … | sh`."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from conjunct.model import ActionKind, ResourceClass
from conjunct.world.processes import TracedProcess
from conjunct.world.recorder import Recorder
from conjunct.world.resources import is_interpreter

_INLINE = ("-c", "-e", "-m", "-p", "--eval", "--print", "-E")
_DESCRIPTOR_FOLDERS = ("/dev/fd/", "/proc/self/fd/")


def reads_its_code_from_a_pipe(program: str, argv: Sequence[str]) -> bool:
    """Whether an interpreter started like that takes its program from standard input or a descriptor."""
    if not is_interpreter(program):
        return False
    words = [word for word in argv[1:] if word]
    if any(word in _INLINE or (word[:2] in ("-c", "-e") and word[:2] != word) for word in words):
        return False
    if any(word.startswith(_DESCRIPTOR_FOLDERS) for word in words) or "-" in words or "-s" in words:
        return True
    return all(word.startswith("-") for word in words) and not any(
        word in ("--version", "-V", "-v", "--help", "-h") for word in words
    )


def note_piped_code(recorder: Recorder, processes: Sequence[TracedProcess]) -> None:
    """Note remote code for interpreters without a script beside a process that fetched something.

    Pipes are not traced call by call. Members of a pipeline are children of one shell that run at the same
    time, so an interpreter without a program of its own is taken to run what such a sibling fetched. One that
    had ended before (`curl -o data …; python3 - <<EOF`) has nothing to do with it.
    """
    fetchers: dict[int, list[TracedProcess]] = {}
    for process in processes:
        if process.fetched:
            fetchers.setdefault(process.parent, []).append(process)
    for process in processes:
        siblings = fetchers.get(process.parent, ())
        if not siblings or process.fetched or process.script or process.executed_at < 0:
            continue
        if not reads_its_code_from_a_pipe(process.program, process.argv):
            continue
        name = posixpath.basename(process.program)
        together = (other for other in siblings if not 0 <= other.ended_at < process.executed_at)
        for source in dict.fromkeys(source for other in together for source in other.fetched):
            detail = (("fetched_from", source), ("through", "pipe"))
            recorder.act(process, ActionKind.REMOTE_CODE, name, ResourceClass.NETWORK, detail=detail)
