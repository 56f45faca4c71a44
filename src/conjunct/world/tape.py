"""The tracer's lines as they are written, cut into commands by marks that only the command server can
make.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_PIECE = 1 << 20
_PAUSE_SECONDS = 0.0005
_LONGEST_PAUSE_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Stretch:
    """What was traced from the end of one command to the end of the next."""

    lines: tuple[str, ...]
    root_pid: int
    """First process of the command, as the tracer numbers it; 0 where its beginning was not traced."""
    complete: bool
    """Whether the mark of the command's end was found: else the tracer died or its disk is full."""


class TraceTape:
    """Reads a growing trace file forward."""

    def __init__(self, path: Path, nonce: str, *, writing: Callable[[], bool]) -> None:
        """`nonce`: the secret in the marks; `writing`: whether the tracer still runs."""
        self._path = path
        self._nonce = nonce
        self._writing = writing
        self._descriptor = -1
        self._pending = bytearray()
        self.server_pids: frozenset[int] = frozenset()
        """The command server and what started it: their lines are no facts."""

    def skip_start(self, *, seconds: float) -> None:
        """Read to the mark with which the command server began; remember who was there."""
        lines, _found = self._until("hello", 0, seconds)
        self.server_pids = frozenset(map(_pid_of, lines))

    def cut(self, step: int, *, seconds: float) -> Stretch:
        """Everything up to the mark of the end of command `step`, waiting for it at most so long."""
        lines, found = self._until("end", step, seconds)
        begin = self._mark("begin", step)
        root = next((_pid_of(line) for line in lines if begin in line), 0)
        text = tuple(line.decode("utf-8", "surrogateescape") for line in lines)
        return Stretch(text, root, found and root > 0)

    def rest(self) -> tuple[str, ...]:
        """Everything written since, once the tracer has ended. A last line without its end is left out."""
        self._read()
        lines = bytes(self._pending).split(b"\n")[:-1]
        self._pending.clear()
        return tuple(line.decode("utf-8", "surrogateescape") for line in lines)

    def _mark(self, what: str, step: int) -> bytes:
        return f'"/.{self._nonce}/{what}/{step}"'.encode("ascii")

    def _until(self, what: str, step: int, seconds: float) -> tuple[list[bytes], bool]:
        mark = self._mark(what, step)
        deadline = time.monotonic() + seconds
        looked = 0
        pause = _PAUSE_SECONDS
        while True:
            alive = self._writing()
            grown = self._read()
            found = self._pending.find(mark, max(0, looked - len(mark)))
            end = self._pending.find(b"\n", found) if found >= 0 else -1
            if end >= 0:
                lines = bytes(self._pending[:end]).split(b"\n")
                del self._pending[: end + 1]
                return lines, True
            looked = len(self._pending) if found < 0 else found
            if not grown and (not alive or time.monotonic() > deadline):
                last = self._pending.rfind(b"\n") + 1
                lines = bytes(self._pending[:last]).split(b"\n")[:-1]
                del self._pending[:last]
                return lines, False
            if not grown:
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _read(self) -> bool:
        if self._descriptor < 0:
            try:
                self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return False
        before = len(self._pending)
        while True:
            piece = os.read(self._descriptor, _PIECE)
            self._pending += piece
            if len(piece) < _PIECE:
                return len(self._pending) > before


def _pid_of(line: bytes) -> int:
    first = line.split(b" ", 1)[0]
    return int(first) if first.isdigit() else 0
