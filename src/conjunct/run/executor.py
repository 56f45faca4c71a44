"""Where episodes are run: a few worker processes on this machine, each making one episode at a time.

A worker that dies takes down only the episode it was making; that is tried once more and then recorded as
undetermined, which is no observation about any skill.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from conjunct.errors import ConjunctError
from conjunct.model import Episode, EpisodeSpec, Trace
from conjunct.run.codec import decode, encode
from conjunct.run.waiting import Waiting

OVERDUE_SECONDS = 1800.0
RunEpisode = Callable[[EpisodeSpec], Episode]


class LocalExecutor:
    """Runs episodes in `workers` forked processes. Use as a context manager; start it before any thread."""

    def __init__(
        self, run_episode: RunEpisode, *, workers: int | None = None, overdue: float = OVERDUE_SECONDS
    ) -> None:
        """`overdue`: seconds after which a worker counts as hung, far above what limits allow."""
        if workers is not None and workers < 1:
            raise ValueError(f"workers is {workers}, but must be at least 1")
        self._run_episode = run_episode
        self._count = workers or len(os.sched_getaffinity(0))
        self._context = multiprocessing.get_context("fork")
        self._workers: dict[Connection, BaseProcess] = {}
        self._idle: deque[Connection] = deque()
        self._busy: dict[Connection, EpisodeSpec] = {}
        self._since: dict[Connection, float] = {}
        self._overdue = overdue
        self._queue = Waiting[Connection]()
        self._tried: dict[str, int] = {}

    def __enter__(self) -> LocalExecutor:
        for _ in range(self._count):
            self._start_worker()
        return self

    def __exit__(self, *_: object) -> None:
        for connection, process in self._workers.items():
            connection.close()
            process.terminate()
        for process in self._workers.values():
            process.join(5)
            if process.is_alive():
                process.kill()
                process.join()
        self._workers.clear()

    def _start_worker(self) -> None:
        ours, theirs = self._context.Pipe()
        inherited = [*self._workers, ours]
        process = self._context.Process(
            target=_serve, args=(theirs, inherited, self._run_episode), daemon=False
        )
        process.start()
        theirs.close()
        self._workers[ours] = process
        self._idle.append(ours)

    @property
    def outstanding(self) -> int:
        """Episodes submitted and not yet finished."""
        return len(self._queue) + len(self._busy)

    def submit(self, spec: EpisodeSpec) -> None:
        """Queue one episode."""
        self._queue.put(spec)
        self._dispatch()

    def _dispatch(self) -> None:
        while self._queue and self._idle:
            connection = self._idle.popleft()
            spec = self._queue.take(connection, under_way=[one.candidate for one in self._busy.values()])
            self._busy[connection] = spec
            self._since[connection] = time.monotonic()
            # A worker that was killed while idle cannot take it; `finished` then sees its end of file.
            with suppress(OSError):
                connection.send_bytes(encode(spec))

    def finished(self, timeout: float | None = None) -> Iterator[Episode]:
        """Episodes that have ended, in order of ending; waits up to `timeout` seconds for the first."""
        now = time.monotonic()
        for connection in self._busy:
            if now - self._since[connection] > self._overdue:
                # Hung: killed, it is seen below as a worker that died.
                self._workers[connection].kill()
        for ready in wait(list(self._busy), timeout):
            assert isinstance(ready, Connection)
            spec = self._busy.pop(ready)
            try:
                episode = decode(ready.recv_bytes(), Episode)
            except (EOFError, OSError):
                yield from self._lost(ready, spec)
                continue
            self._idle.append(ready)
            yield episode
        self._dispatch()

    def _lost(self, connection: Connection, spec: EpisodeSpec) -> Iterator[Episode]:
        process = self._workers.pop(connection)
        process.join(5)
        connection.close()
        self._start_worker()
        key = spec.key()
        self._tried[key] = self._tried.get(key, 0) + 1
        if self._tried[key] < 2:
            self._queue.put_first(spec)
        else:
            yield undetermined(spec, f"the process that ran it ended with status {process.exitcode} twice")


def undetermined(spec: EpisodeSpec, reason: str) -> Episode:
    """An episode that is no observation."""
    return Episode(spec=spec, trace=Trace(undetermined=(reason,)))


def _serve(connection: Connection, inherited: list[Connection], run_episode: RunEpisode) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for other in inherited:
        other.close()
    while True:
        try:
            spec = decode(connection.recv_bytes(), EpisodeSpec)
        except (EOFError, OSError):
            return
        try:
            episode = run_episode(spec)
        except ConjunctError as error:
            episode = undetermined(spec, str(error))
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).name}:{place.lineno}"
            episode = undetermined(spec, f"conjunct failed at {where}: {type(error).__name__}: {error}")
        try:
            connection.send_bytes(encode(episode))
        except OSError:
            return  # The process that asked for it is gone; its next run makes this episode again.
