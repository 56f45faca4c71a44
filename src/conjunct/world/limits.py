"""Limits that hold for an episode as a whole: a watchdog outside the sandbox that no process inside can
reach.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

from conjunct.world.spec import Limits

_PERIOD_SECONDS = 0.02
_SLOW_PERIODS = 10
"""Looks into descriptors (memory files) are dear: one in so many rounds."""


def processes() -> frozenset[int]:
    """Every process of this pid namespace: the supervisor's own, so all of them belong to one episode."""
    return frozenset(int(name) for name in os.listdir("/proc") if name.isdigit())


def memory_of(pid: int) -> int:
    """Bytes of memory that only this process accounts for (anonymous and shared memory)."""
    total = 0
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith(("RssAnon:", "RssShmem:")):
                    total += int(line.split()[1]) << 10
    except OSError:
        return 0
    return total


def memory_files_of(pid: int, seen: set[int]) -> int:
    """Bytes in memory files held open by this process, each inode counted once over all calls with one
    `seen`.
    """
    total = 0
    try:
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return 0
    for descriptor in descriptors:
        try:
            if not os.readlink(f"/proc/{pid}/fd/{descriptor}").startswith(("/memfd:", "/dev/shm", "/SYSV")):
                continue
            look = os.stat(f"/proc/{pid}/fd/{descriptor}")
        except OSError:
            continue
        if stat.S_ISREG(look.st_mode) and look.st_ino not in seen:
            seen.add(look.st_ino)
            total += look.st_blocks * 512
    return total


class Watchdog:
    """Looks at the processes of the sandbox every few milliseconds and calls `on_breach` with the limit's
    name.
    """

    def __init__(
        self,
        own: frozenset[int],
        limits: Limits,
        *,
        trace: Path | None,
        on_breach: Callable[[str], None],
    ) -> None:
        """`own`: processes that are no command: supervisor, tracer, sandbox."""
        self._own = own
        self._limits = limits
        self._trace = trace
        self._on_breach = on_breach
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Stop looking; returns when the thread has ended."""
        self._stopping.set()
        self._thread.join(timeout=5)

    def _watch(self) -> None:
        rounds = 0
        memory_files = 0
        while not self._stopping.wait(_PERIOD_SECONDS):
            rounds += 1
            commands = processes() - self._own
            if rounds % _SLOW_PERIODS == 0:
                seen: set[int] = set()
                memory_files = sum(memory_files_of(pid, seen) for pid in commands)
            if len(commands) > self._limits.processes:
                self._on_breach("process-limit")
            if sum(map(memory_of, commands)) + memory_files > self._limits.memory_bytes:
                self._on_breach("memory-limit")
                # What is gone with the processes must not count against the next command.
                memory_files = 0
            if self._trace is not None and self._trace_size() > self._limits.trace_bytes:
                self._on_breach("trace-limit")

    def _trace_size(self) -> int:
        try:
            return self._trace.stat().st_size if self._trace is not None else 0
        except OSError:
            return 0
