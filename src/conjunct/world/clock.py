"""The clock of a world: an episode starts at the date of its level and runs on from there.

The means is a small library, compiled at set-up, that `/etc/ld.so.preload` puts into every dynamically linked
program: nothing of it is in the environment, and every level, the neutral one included, uses it in the same
way, so levels differ only in one number in `/etc/adjtime`. Seen with real programs: coreutils, bash, Python,
Node, Perl and git show the level's date, `sleep` and time-outs keep their length, files made in the episode
are dated by the level, planted files keep their dates.

Not reached: statically linked programs (Go, musl), programs that ask the kernel by instruction, and what the
kernel itself prints (`/proc/stat`, `/proc/uptime`, `/proc/*/stat`). A run that executes the former or touches
the latter, or reads `SEAMS`, has its clock `assumed`.
"""

from __future__ import annotations

import subprocess
import time
from datetime import datetime
from importlib import resources
from pathlib import Path

from conjunct.world.spec import WorldSpec

LIBRARY = "/usr/local/games/.clock.so"
"""Where the library lies in the world; part of the runtime."""
PRELOAD = "/etc/ld.so.preload"
START = "/etc/adjtime"
"""File of the world that holds the distance; every program reads it before its own first step."""
SEAMS = (PRELOAD, START, LIBRARY, "/proc/stat", "/proc/uptime", "/proc/self/maps", "/proc/driver/rtc")
"""Paths at which a program could see that the clock is not the kernel's. The loader itself opens the first
three in every program: only a look beyond that one is a look of the program's own."""


def distance_ns(spec: WorldSpec, *, now: float) -> int:
    """Nanoseconds by which the world's clock is ahead of the real one, if the episode starts at `now`."""
    return int((datetime.fromisoformat(spec.clock).timestamp() - now) * 1e9)


def system_files(*, available: bool) -> tuple[tuple[str, bytes], ...]:
    """(path relative to the world's root, content) of files that are the same at every level."""
    return ((PRELOAD.lstrip("/"), f"{LIBRARY}\n".encode()),) if available else ()


def start_file(spec: WorldSpec, *, now: float | None = None) -> bytes:
    """Content of `START` for an episode that starts at `now` (seconds since 1970, by default the present).

    It is made anew for every episode and mounted read-only on its own, so that the system's files stay equal.
    """
    begin = time.time() if now is None else now
    return f"0.000000 0 0.000000\n0\nUTC\n{distance_ns(spec, now=begin)} {int(begin)}\n".encode()


def compile_library(place: Path) -> str:
    """Compile the library to `place`; why it failed, or an empty string."""
    source = resources.files("conjunct.world").joinpath("data", "clock.c.txt").read_bytes()
    argv = ["cc", "-x", "c", "-O2", "-fPIC", "-shared", "-o", str(place), "-", "-ldl"]
    try:
        done = subprocess.run(argv, input=source, capture_output=True, timeout=120, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return f"{error} (Debian, Ubuntu: apt-get install gcc libc6-dev)"
    return done.stderr.decode("utf-8", "replace")[-300:] if done.returncode else ""
