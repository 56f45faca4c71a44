"""Episodes that wait for a worker, and which worker takes which.

Runs of one candidate stay with one worker as long as there is other work: what it has prepared is used again,
and no two workers make the same command at the same time because neither has its record yet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import Generic, TypeVar

from conjunct.model import EpisodeSpec

Worker = TypeVar("Worker")


class Waiting(Generic[Worker]):
    """Waiting episodes by candidate, candidates in the order in which they came."""

    def __init__(self) -> None:
        self._specs: dict[str, deque[EpisodeSpec]] = {}
        self._worker_of: dict[str, Worker] = {}

    def __len__(self) -> int:
        return sum(map(len, self._specs.values()))

    def put(self, spec: EpisodeSpec) -> None:
        """Add an episode behind the others of its candidate."""
        self._specs.setdefault(spec.candidate, deque()).append(spec)

    def put_first(self, spec: EpisodeSpec) -> None:
        """Add an episode before the others of its candidate."""
        self._specs.setdefault(spec.candidate, deque()).appendleft(spec)

    def take(self, worker: Worker, *, under_way: Collection[str]) -> EpisodeSpec:
        """The next episode for an idle worker; `under_way` are the candidates of which one is being run.

        Its own candidates come first, then those of nobody. A worker without either takes over a candidate
        that is not under way, and helps with one that is where there is nothing else. Raises `IndexError`
        where nothing waits.
        """
        if not self._specs:
            raise IndexError("no episode waits")

        def rank(name: str) -> int:
            if name not in self._worker_of:
                return 1
            return 0 if self._worker_of[name] == worker else 3 if name in under_way else 2

        name = min(self._specs, key=rank)
        if rank(name) in (1, 2):
            self._worker_of[name] = worker
        specs = self._specs[name]
        spec = specs.pop() if rank(name) == 3 else specs.popleft()
        if not specs:
            del self._specs[name]
        return spec
