"""Live progress on standard error: what is being done, how far, how long still, what was found so far."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from conjunct.model import Severity
from conjunct.report.safe_text import safe_line
from conjunct.report.terminal import duration
from conjunct.run.drive import Progress

INTERVAL = 0.5
"""Seconds between two updates of the line on a terminal."""
PLAIN_INTERVAL = 15.0
"""Seconds between two lines where standard error is a file or a pipe."""


@contextmanager
def watching(*, enabled: bool, skills: int) -> Iterator[Callable[[str, Progress], None]]:
    """Give a function that shows progress; one live line on a terminal, else a line now and then."""
    if not enabled:
        yield lambda _phase, _progress: None
        return
    console = Console(file=sys.stderr, highlight=False)
    line = _Line(console, skills)
    try:
        yield line.show
    finally:
        line.end()


class _Line:
    def __init__(self, console: Console, skills: int) -> None:
        self._console = console
        self._skills = skills
        self._started = time.monotonic()
        self._shown = 0.0
        self._suspicions: set[str] = set()
        self._live = console.is_terminal

    def show(self, phase: str, progress: Progress) -> None:
        newest = progress.newest
        if newest is not None and newest.violations:
            told = [v for v in newest.violations if v.severity is not Severity.NOTE]
            self._suspicions.update(actor for violation in told for actor in violation.actors)
        now = time.monotonic()
        if now - self._shown < (INTERVAL if self._live else PLAIN_INTERVAL):
            return
        self._shown = now
        elapsed = now - self._started
        text = f"{phase}: {progress.ended} of {progress.plans} done, {progress.ran:,} episodes run"
        if progress.reused:
            text += f" ({progress.reused:,} from the store)"
        text += f", {duration(elapsed)}"
        left = progress.seconds_left()
        if left is not None and progress.ended < progress.plans:
            text += f", about {duration(left)} left"
        if self._suspicions:
            names = ", ".join(safe_line(name, width=40) for name in sorted(self._suspicions)[:3])
            text += f"; effects seen: {len(self._suspicions)} skills ({names})"
        if self._live:
            width = max(self._console.width - 1, 20)
            print("\r" + text[:width].ljust(width), end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._live:
            print("\r" + " " * max(self._console.width - 1, 20) + "\r", end="", file=sys.stderr, flush=True)
