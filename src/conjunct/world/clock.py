"""The clock of a world: an episode starts at the date of its level and runs on from there.

The means is a small library, compiled at set-up, that `/etc/ld.so.preload` puts into every dynamically linked
program: nothing of it is in the environment, and every level, the neutral one included, uses it in the same
way, so levels differ only in one number in `/etc/adjtime`. Seen with real programs: coreutils, bash, Python,
Node, Perl and git show the level's date, `sleep` and time-outs keep their length, files made in the episode
are dated by the level, planted files keep their dates.

`/proc/stat` and `/proc/uptime`, which many libraries read when they are loaded, are files of the world: a
machine that was started a while before the level's date.

Not reached: statically linked programs (Go, musl), programs that ask the kernel by instruction, and what else
the kernel prints (`/proc/*/stat`, `/proc/driver/rtc`). A run that executes the former or reads the clock chip
has its clock `assumed`. A program can see that its clock is not the kernel's in the library, in `PRELOAD` and
in `START`; the loader opens all three in every program.
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
UP_SECONDS = 263_741.18
"""How long the machine of every world has been running when an episode starts."""
IDLE_SECONDS = 259_041.23
_STATISTICS = """\
cpu  48211 312 15877 25904123 3321 0 642 0 0 0
cpu0 48211 312 15877 25904123 3321 0 642 0 0 0
intr 9120385 0 0
ctxt 18231077
btime {booted}
processes 61244
procs_running 1
procs_blocked 0
softirq 4120558 0 1202114 0 811923 0 0 20311 2086210 0 0
"""


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


def kernel_files(spec: WorldSpec) -> tuple[tuple[str, bytes], ...]:
    """(path, content) in place of what the kernel prints of the host: the same in all worlds of a level."""
    booted = int(datetime.fromisoformat(spec.clock).timestamp() - UP_SECONDS)
    return (
        ("/proc/stat", _STATISTICS.format(booted=booted).encode()),
        ("/proc/uptime", f"{UP_SECONDS:.2f} {IDLE_SECONDS:.2f}\n".encode()),
        ("/proc/loadavg", b"0.21 0.17 0.11 1/212 61244\n"),
    )


def compile_library(place: Path) -> str:
    """Compile the library to `place`; why it failed, or an empty string."""
    source = resources.files("conjunct.world").joinpath("data", "clock.c.txt").read_bytes()
    argv = ["cc", "-x", "c", "-O2", "-fPIC", "-shared", "-o", str(place), "-", "-ldl"]
    try:
        done = subprocess.run(argv, input=source, capture_output=True, timeout=120, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return f"{error} (Debian, Ubuntu: apt-get install gcc libc6-dev)"
    return done.stderr.decode("utf-8", "replace")[-300:] if done.returncode else ""
