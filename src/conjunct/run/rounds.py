"""Drive plans within a budget, in rounds, cheapest first: stopping early leaves every plan a little further.

A round serves the plans that have asked for least so far, and ends before the next begins. So which runs a
budget of runs buys depends on the plans alone, never on which worker was faster; and a skill whose plan is
large does not take what the minimum plan of another one needs.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from conjunct.model import Episode, EpisodeSpec
from conjunct.plan.budget import Budget, Unit
from conjunct.run.drive import Executor, Plan, Progress
from conjunct.run.store import Store

_LEAST_AHEAD = 8
"""Runs by which a plan may be ahead of the one that asked for least: all workers have something to do."""


class Meter:
    """What a vetting has spent of its budget."""

    def __init__(
        self, budget: Budget, *, workers: int | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """The time starts to run now. `workers`: episodes at once, by default one for each core."""
        self.budget = budget
        self.in_flight = 2 * (workers or len(os.sched_getaffinity(0)))
        """Runs handed out at once: those are made to their end when time or tokens are spent."""
        self._clock = clock
        self._started = clock()
        self._runs = 0
        self._tokens = 0

    def count(self, episode: Episode) -> None:
        """An episode was made."""
        self._runs += 1
        self._tokens += episode.tokens

    def spent(self) -> float:
        """In the unit of the budget."""
        if self.budget.unit is Unit.SECONDS:
            return self._clock() - self._started
        return self._runs if self.budget.unit is Unit.RUNS else self._tokens

    def over(self, share: float = 1.0) -> bool:
        """Whether that share of the budget is spent."""
        return self.spent() >= self.budget.amount * share

    def left(self, share: float = 1.0) -> int:
        """Runs that may still be begun within that share; 0 where time or tokens are counted and spent."""
        if self.budget.unit is Unit.RUNS:
            return max(int(self.budget.amount * share - self.spent()), 0)
        return 0 if self.over(share) else self.in_flight

    def affords(self, runs: int, share: float = 1.0) -> bool:
        """Whether so many more runs may be begun within that share of the budget."""
        if self.budget.unit is Unit.RUNS:
            return runs <= self.left(share)
        return runs == 0 or not self.over(share)


@dataclass(slots=True)
class Cut:
    """A plan that the budget ended in the middle."""

    plan: Plan
    specs: tuple[EpisodeSpec, ...]
    """What it asked for last."""
    made: tuple[Episode, ...] = ()
    """Of that, what was run or known, and the plan was not told of."""

    @property
    def unmade(self) -> int:
        """Runs that were asked for and not made."""
        return len({spec.key() for spec in self.specs}) - len(self.made)

    def resumed(self) -> Plan:
        """The rest of the plan, from where it was cut."""
        return _from(self.plan, self.specs)


def _from(
    plan: Plan, specs: tuple[EpisodeSpec, ...]
) -> Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], None]:
    while True:
        episodes = yield specs
        try:
            specs = plan.send(episodes)
        except StopIteration:
            return


class _Asked:
    """One plan and what it asked for last."""

    def __init__(self, plan: Plan, specs: tuple[EpisodeSpec, ...]) -> None:
        self.plan = plan
        self.specs = specs
        self.keys = [spec.key() for spec in specs]
        self.missing = dict(zip(self.keys, specs, strict=True))
        self.have: dict[str, Episode] = {}

    def take(self, key: str, episode: Episode) -> None:
        """An episode is there; nothing happens where it was not asked for."""
        if self.missing.pop(key, None) is not None:
            self.have[key] = episode

    def answer(self) -> tuple[Episode, ...]:
        """The episodes in the order in which they were asked for."""
        return tuple(self.have[key] for key in self.keys)


def drive_within(
    plans: Mapping[str, Plan],
    executor: Executor,
    store: Store,
    meter: Meter,
    *,
    share: float = 1.0,
    waves: int | None = None,
    watch: Callable[[Progress], None] = lambda _: None,
) -> dict[str, Cut]:
    """Run plans until they or that share of the budget end; the plans that did not end, by name.

    Every episode is stored the moment it ends. What the store holds is free. With `waves` a plan gets what it
    asks for only so many times.
    """
    progress = Progress(plans=len(plans))
    asked: dict[str, _Asked] = {}
    cost = dict.fromkeys(plans, 0)
    answered = dict.fromkeys(plans, 0)
    for name, plan in plans.items():
        _advance(name, plan, None, asked, store, progress)
    while due := [name for name in asked if waves is None or answered[name] < waves]:
        # Those that have asked for least come first, and wait for nobody who costs more.
        due.sort(key=lambda name: (cost[name] + len(asked[name].specs), name))
        chosen = _affordable(due, asked, cost, meter, share)
        wanted = {key: spec for name in chosen for key, spec in asked[name].missing.items()}
        if not chosen:
            # What is left of the budget is too little for the next plan to go on, and still shows something.
            wanted = dict(islice(asked[due[0]].missing.items(), meter.left(share)))
            if not wanted:
                break
        for episode in _run(wanted.values(), executor, store, meter, share, progress, watch):
            key = episode.spec.key()
            for one in asked.values():
                one.take(key, episode)
        for name in chosen:
            one = asked[name]
            if not one.missing:
                cost[name] += len(one.specs)
                answered[name] += 1
                del asked[name]
                _advance(name, one.plan, one.answer(), asked, store, progress)
    return {name: Cut(one.plan, one.specs, tuple(one.have.values())) for name, one in asked.items()}


def _advance(
    name: str,
    plan: Plan,
    episodes: tuple[Episode, ...] | None,
    asked: dict[str, _Asked],
    store: Store,
    progress: Progress,
) -> None:
    """Give a plan what it asked for, and take from the store what it asks for next."""
    try:
        one = _Asked(plan, next(plan) if episodes is None else plan.send(episodes))
    except StopIteration:
        progress.ended += 1
        return
    asked[name] = one
    for key, spec in tuple(one.missing.items()):
        recorded = store.episode(spec)
        if recorded is not None and not recorded.trace.undetermined:
            one.take(key, recorded)
            progress.reused += 1


def _affordable(
    due: Sequence[str], asked: Mapping[str, _Asked], cost: Mapping[str, int], meter: Meter, share: float
) -> list[str]:
    """Plans of the next round, as far as the budget goes: none overtakes one that has asked for less."""
    total = {name: cost[name] + len(asked[name].specs) for name in due}
    least = total[due[0]]
    new: set[str] = set()
    chosen: list[str] = []
    for name in due:
        needed = new | asked[name].missing.keys()
        ahead = total[name] > max(2 * least, least + _LEAST_AHEAD)
        if (chosen and ahead) or not meter.affords(len(needed), share):
            break
        chosen.append(name)
        new = needed
    return chosen


def _run(
    specs: Iterable[EpisodeSpec],
    executor: Executor,
    store: Store,
    meter: Meter,
    share: float,
    progress: Progress,
    watch: Callable[[Progress], None],
) -> list[Episode]:
    """Run one round; where time or tokens end in it, what was not begun is left out."""
    queue = deque(specs)
    granted = meter.budget.unit is Unit.RUNS
    made: list[Episode] = []
    under_way = 0
    while queue or under_way:
        while queue and under_way < meter.in_flight and (granted or not meter.over(share)):
            executor.submit(queue.popleft())
            under_way += 1
        if not under_way:
            break
        ended: list[Episode] = list(executor.finished(0.5))  # type: ignore[call-overload]
        if ended:
            store.record(ended)
        for episode in ended:
            meter.count(episode)
            under_way -= 1
            progress.ran += 1
            progress.newest = episode
        made += ended
        progress.outstanding = executor.outstanding
        watch(progress)
    return made
