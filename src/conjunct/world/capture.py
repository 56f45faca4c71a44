"""Feeding and reading one command's descriptors while it runs, bounded, without trusting it to end."""

from __future__ import annotations

import os
import selectors
from dataclasses import dataclass, field

_PIECE = 1 << 16
_FLOOD_FACTOR = 64
"""Output beyond so many times the limit ends the command: it would go on until the time limit."""


@dataclass(slots=True)
class Pipe:
    """One output stream: what was kept, and how much came."""

    descriptor: int
    limit: int
    kept: bytearray = field(default_factory=bytearray)
    total: int = 0

    def take(self) -> bool:
        """Read what is there; `False` at the end of the stream."""
        try:
            piece = os.read(self.descriptor, _PIECE)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.total += len(piece)
        room = self.limit - len(self.kept)
        if room > 0:
            self.kept += piece[:room]
        return bool(piece)


class Streams:
    """The three descriptors of one command: ends for it, and ends for us."""

    def __init__(self, stdin: bytes, *, limit: int) -> None:
        """`limit`: bytes kept of each output stream."""
        self._stdin = memoryview(stdin)
        in_read, self._in_write = os.pipe2(os.O_CLOEXEC)
        out_read, out_write = os.pipe2(os.O_CLOEXEC)
        error_read, error_write = os.pipe2(os.O_CLOEXEC)
        self.theirs = (in_read, out_write, error_write)
        self._output = Pipe(out_read, limit)
        self._errors = Pipe(error_read, limit)
        for descriptor in (self._in_write, out_read, error_read):
            os.set_blocking(descriptor, False)

    @property
    def stdout(self) -> bytes:
        """What was kept of standard output."""
        return bytes(self._output.kept)

    @property
    def stderr(self) -> bytes:
        """What was kept of standard error."""
        return bytes(self._errors.kept)

    @property
    def flooded(self) -> bool:
        """Whether the command writes so much that waiting for its end makes no sense."""
        return self._output.total + self._errors.total > _FLOOD_FACTOR * max(1, self._output.limit)

    @property
    def cut(self) -> bool:
        """Whether output beyond the limit was dropped."""
        return any(pipe.total > pipe.limit for pipe in (self._output, self._errors))

    def close_theirs(self) -> None:
        """Close the command's ends, once they are handed over."""
        for descriptor in self.theirs:
            os.close(descriptor)

    def register(self, selector: selectors.BaseSelector) -> None:
        """Wait for these streams too."""
        for pipe in (self._output, self._errors):
            selector.register(pipe.descriptor, selectors.EVENT_READ, pipe)
        if self._stdin:
            selector.register(self._in_write, selectors.EVENT_WRITE, self)
        else:
            self._close_input()

    def feed(self, selector: selectors.BaseSelector) -> None:
        """Write a piece of standard input; close it when all is written or nobody reads."""
        try:
            self._stdin = self._stdin[os.write(self._in_write, self._stdin[:_PIECE]) :]
        except BlockingIOError:
            return
        except OSError:
            self._stdin = memoryview(b"")
        if not self._stdin:
            selector.unregister(self._in_write)
            self._close_input()

    def _close_input(self) -> None:
        if self._in_write >= 0:
            os.close(self._in_write)
            self._in_write = -1

    def drain(self) -> None:
        """Take what is in the pipes now, at most a few buffers: a survivor may write for ever."""
        for pipe in (self._output, self._errors):
            for _piece in range(64):
                before = pipe.total
                if not pipe.take() or pipe.total == before:
                    break

    def release(self, selector: selectors.BaseSelector) -> None:
        """Stop feeding; what a survivor still writes is read and dropped."""
        if self._in_write >= 0:
            if self._stdin:
                selector.unregister(self._in_write)
            self._close_input()
        for pipe in (self._output, self._errors):
            pipe.limit = 0
