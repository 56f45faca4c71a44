"""One processor per sandbox: a tracer and its processes on two wake each other at twice the cost.

It also means that a program sees the same number of processors in every world of a host.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def on_processor(number: int) -> Iterator[None]:
    """What this thread starts meanwhile runs on that processor only."""
    before = os.sched_getaffinity(0)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, {number})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def claim_processor(folder: Path) -> int:
    """A processor that no other sandbox has claimed, if there is one; held until this process ends.

    `folder`: where sandboxes of this host meet. Its files are only locked, never read.
    """
    allowed = sorted(os.sched_getaffinity(0))
    for number in allowed:
        try:
            descriptor = os.open(folder / f"processor-{number}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            break
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            continue
        return number
    return allowed[os.getpid() % len(allowed)]
