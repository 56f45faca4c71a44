"""Drive plans: give each the episodes it asks for, from the store or else by running them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from conjunct.model import Episode, EpisodeSpec
from conjunct.run.store import Store

Plan = Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], None]


class Executor(Protocol):
    """Anything that runs episodes: local processes, a cluster, a simulation."""

    @property
    def outstanding(self) -> int:
        """Episodes submitted and not yet finished."""

    def submit(self, spec: EpisodeSpec) -> None:
        """Queue one episode."""

    def finished(self, timeout: float | None = None) -> object:
        """Iterate over the episodes that have ended."""


ACTIVE_PLANS = 8
"""Plans under way at once: enough to keep the workers of one machine busy."""


@dataclass(slots=True)
class _Waiting:
    name: str
    plan: Plan
    specs: tuple[EpisodeSpec, ...]
    missing: set[str]
    have: dict[str, Episode] = field(default_factory=dict)


@dataclass(slots=True)
class Progress:
    """Counts for people who wait: plans ended of all, episodes run and taken from the store."""

    plans: int
    ended: int = 0
    ran: int = 0
    reused: int = 0
    outstanding: int = 0
    newest: Episode | None = None
    started: float = field(default_factory=time.monotonic)
    asked_by: dict[str, int] = field(default_factory=dict)
    """Episodes that each plan under way has asked for so far."""
    asked_by_ended: int = 0

    def asks(self, plan: str, episodes: int) -> None:
        """Note that a plan asked for episodes."""
        self.asked_by[plan] = self.asked_by.get(plan, 0) + episodes

    def ends(self, plan: str) -> None:
        """Note that a plan has all it wants."""
        self.ended += 1
        self.asked_by_ended += self.asked_by.pop(plan, 0)

    def seconds_left(self) -> float | None:
        """Expected seconds to the end of the last plan; None while nothing has ended or run to judge by.

        Plans that have not ended are expected to ask for as many episodes as those that have, on average.
        """
        if not self.ended or not self.ran:
            return None
        each = self.asked_by_ended / self.ended
        under_way = sum(max(each - asked, 0.0) for asked in self.asked_by.values())
        waiting = self.plans - self.ended - len(self.asked_by)
        share_run = self.ran / (self.ran + self.reused)
        seconds_each = (time.monotonic() - self.started) / self.ran
        return (under_way + waiting * each) * share_run * seconds_each + self.outstanding * seconds_each


def drive(
    plans: Mapping[str, Plan],
    executor: Executor,
    store: Store,
    *,
    active: int = ACTIVE_PLANS,
    watch: Callable[[Progress], None] = lambda _: None,
    on_end: Callable[[str], None] = lambda _: None,
) -> Progress:
    """Run all plans to their end, interleaved; every episode is stored the moment it ends.

    An episode asked for by several plans is run once. At most `active` plans are under way at once, served in
    turn, so that results come steadily and one plan with many runs does not delay all others. Returns the
    final counts. An exception (Ctrl-C included) leaves everything that ended in the store: the same call then
    continues from there.
    """
    progress = Progress(plans=len(plans))
    by_key: dict[str, list[_Waiting]] = {}
    ready: deque[tuple[str, Plan, tuple[Episode, ...] | None]] = deque()
    later = deque(plans.items())
    under_way = 0
    while ready or by_key or later:
        while later and under_way < active:
            ready.append((*later.popleft(), None))
            under_way += 1
        while ready:
            name, plan, episodes = ready.popleft()
            try:
                specs = next(plan) if episodes is None else plan.send(episodes)
            except StopIteration:
                progress.ends(name)
                under_way -= 1
                on_end(name)
                continue
            progress.asks(name, len(specs))
            waiting = _Waiting(name, plan, specs, set())
            _collect(waiting, by_key, executor, store, progress)
            if not waiting.missing:
                ready.append((name, plan, _in_order(waiting)))
        progress.outstanding = executor.outstanding
        if not by_key:
            continue
        ended: list[Episode] = list(executor.finished(0.5))  # type: ignore[call-overload]
        if ended:
            store.record(ended)
        for episode in ended:
            progress.ran += 1
            progress.newest = episode
            key = episode.spec.key()
            for waiting in by_key.pop(key, ()):
                waiting.have[key] = episode
                waiting.missing.discard(key)
                if not waiting.missing:
                    ready.append((waiting.name, waiting.plan, _in_order(waiting)))
        watch(progress)
    return progress


def _collect(
    waiting: _Waiting, by_key: dict[str, list[_Waiting]], executor: Executor, store: Store, progress: Progress
) -> None:
    for spec in waiting.specs:
        key = spec.key()
        if key in waiting.have or key in waiting.missing:
            continue
        recorded = store.episode(spec)
        if recorded is not None and not recorded.trace.undetermined:
            waiting.have[key] = recorded
            progress.reused += 1
            continue
        waiting.missing.add(key)
        if key in by_key:
            by_key[key].append(waiting)
        else:
            by_key[key] = [waiting]
            executor.submit(spec)


def _in_order(waiting: _Waiting) -> tuple[Episode, ...]:
    return tuple(waiting.have[spec.key()] for spec in waiting.specs)
