"""Noisy bisection: which elements of a firing pool are needed, when firing is a coin of unknown bias.

One question is asked again and again: *which is the shortest firing prefix of this list?* Its last element is
needed; the list is cut there and the question put again with that element kept, until the empty prefix fires.
So a conjunction of any order is found with log2 steps per element, as in group testing by binary splitting
(Hwang 1972). Each question keeps a posterior over (answer, firing rate) and always runs the prefix that tells
most (Horstein 1963; Waeber, Frazier and Henderson 2013): no test is repeated until it is sure by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

import numpy as np

from conjunct.plan.pools import NO_HISTORY, Flags, PoolRuns, Reals, one_run, together
from conjunct.plan.retest import Noise

RATES = np.array([0.08, 0.12, 0.16, 0.21, 0.27, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 0.999])
"""Firing rates at full attention that the posterior distinguishes; less is under the margin anyway."""


@dataclass(frozen=True, slots=True)
class BisectRule:
    """How sure to be, and what it may cost."""

    sure: float = 0.99
    """Posterior probability at which a question counts as answered."""
    parallel: int = 3
    """Equal runs asked for at once."""
    most: int = 240
    """Runs of one question at most."""
    order: int = 4
    """Elements of one kind at most."""


@dataclass(frozen=True, slots=True)
class Conjunction:
    """A minimal firing conjunction, as it was localised; not yet evidence."""

    used: tuple[int, ...]
    """Skills that have to be asked for."""
    present: tuple[int, ...]
    """Skills that only have to be installed."""
    history: int
    """Family, or `NO_HISTORY` where none is needed."""
    turn: int
    """First turn (or call) at which it fires; 1 where no delay is needed."""
    by_call: bool
    """The delay counts calls of the used skill, not turns."""
    invariant: int
    horizon: int
    """Turns of the runs in which it was found."""

    @property
    def skills(self) -> tuple[int, ...]:
        """All skills of the conjunction, used ones first."""
        return (*self.used, *self.present)

    @property
    def order(self) -> int:
        """Needed elements besides the skill that acts: further skills, a history, a delay."""
        return len(self.skills) - 1 + (self.history != NO_HISTORY) + (self.turn > 1)

    def lies_in(self, installed: Flags, used: Flags, history: int) -> bool:
        """Whether a pool holds the conjunction, so that its firing is explained."""
        return (
            bool(installed[list(self.skills)].all())
            and bool(used[list(self.used)].all())
            and self.history in (NO_HISTORY, history)
        )


class PrefixPosterior:
    """Posterior over the shortest firing prefix 0 … length, "none fires", and the firing rate."""

    def __init__(
        self, prefixes: PoolRuns, noise: Noise, invariant: int, *, rates: Reals, empty: float, none: float
    ) -> None:
        """Row k of `prefixes` runs prefix k; `rates` weighs `RATES`; `none` is the prior of "none fires",
        `empty` that of the empty prefix where some prefix does."""
        self.length = len(prefixes) - 1
        self.base = noise.base_of(prefixes.used)[:, invariant]
        effect = np.outer(RATES, noise.attention(prefixes.sizes())) * noise.sensitivity[invariant]
        self.fires: Reals = self.base + (1.0 - self.base) * effect
        prior = np.full(self.length + 2, (1.0 - empty) * (1.0 - none) / max(self.length, 1))
        prior[0] = (empty if self.length else 1.0) * (1.0 - none)
        prior[-1] = none
        self.weight: Reals = np.outer(rates / rates.sum(), prior)

    @property
    def answers(self) -> Reals:
        """Probability of each shortest prefix; the last entry is "none fires"."""
        return np.asarray(self.weight.sum(axis=0))

    @property
    def rates(self) -> Reals:
        """What the firing rate at full attention is, given that some prefix fires."""
        rates = np.asarray(self.weight[:, :-1].sum(axis=1)) + 1e-12
        return np.asarray(rates / rates.sum())

    def most_telling(self) -> int:
        """The prefix whose next run has the highest mutual information with the answer."""
        marginal = self.weight.sum(axis=0)
        reached_by = np.cumsum(marginal[:-1])
        # Only prefixes at quantiles of the answer can tell much; a registry's worth of them would be slow.
        tried = np.unique(np.searchsorted(reached_by, np.linspace(0.05, 0.95, 19) * reached_by[-1]))
        # The prefix just before an answer is what tells it from the shorter ones.
        tried = np.unique(np.clip(np.concatenate([tried, tried - 1]), 0, self.length))
        # P(fires | answer k, prefix j): the mean firing rate under answer k where k <= j, else the base rate.
        mean = self.weight[:, :-1].T @ self.fires[:, tried] / np.maximum(marginal[:-1, None], 1e-300)
        chance = np.where(np.arange(self.length + 1)[:, None] <= tried[None, :], mean, self.base[tried])
        overall = marginal[:-1] @ chance + marginal[-1] * self.base[tried]
        conditional = marginal[:-1] @ _entropy(chance) + marginal[-1] * _entropy(self.base[tried])
        return int(tried[np.argmax(_entropy(overall) - conditional)])

    def update(self, prefix: int, fired: Flags) -> None:
        """Learn from runs of one prefix."""
        hits, misses = int(fired.sum()), int((~fired).sum())
        seen = self.fires[:, prefix] ** hits * (1.0 - self.fires[:, prefix]) ** misses
        unseen = self.base[prefix] ** hits * (1.0 - self.base[prefix]) ** misses
        self.weight[:, : prefix + 1] *= seen[:, None]
        self.weight[:, prefix + 1 :] *= unseen
        total = float(self.weight.sum())
        self.weight /= total if total > 0 else 1.0


def _entropy(chance: Reals) -> Reals:
    inside = np.clip(chance, 1e-12, 1.0 - 1e-12)
    return np.asarray(-inside * np.log(inside) - (1.0 - inside) * np.log1p(-inside))


def shortest_prefix(
    prefixes: PoolRuns, posterior: PrefixPosterior, invariant: int, rule: BisectRule
) -> Generator[PoolRuns, Flags, int | None]:
    """Ask until one answer is sure; row k of `prefixes` runs prefix k. `None`: none fires, or undecided."""
    spent = 0
    while spent < rule.most:
        answers = posterior.answers
        best = int(np.argmax(answers))
        if answers[best] >= rule.sure:
            return best if best <= posterior.length else None
        prefix = posterior.most_telling()
        outcomes = yield prefixes.take([prefix] * rule.parallel)
        posterior.update(prefix, outcomes[:, invariant])
        spent += rule.parallel
    return None


@dataclass(slots=True)
class _Question:
    """What all questions about one pool share."""

    noise: Noise
    invariant: int
    rule: BisectRule
    rates: Reals
    none: float

    def ask(self, prefixes: Sequence[PoolRuns], *, empty: float) -> Generator[PoolRuns, Flags, int | None]:
        """The shortest firing prefix; what was learned of the firing rate is kept for the next question."""
        table = together(prefixes)
        posterior = PrefixPosterior(
            table, self.noise, self.invariant, rates=self.rates, empty=empty, none=self.none
        )
        answer = yield from shortest_prefix(table, posterior, self.invariant, self.rule)
        self.rates, self.none = posterior.rates, 0.002
        return answer

    def needed(
        self, elements: Sequence[int], run: Callable[[list[int]], PoolRuns], *, empty: float
    ) -> Generator[PoolRuns, Flags, list[int] | None]:
        """The elements that `run` cannot do without, at most `rule.order` of them."""
        kept: list[int] = []
        pending = list(elements)
        while True:
            prefixes = [run([*kept, *pending[:length]]) for length in range(len(pending) + 1)]
            answer = yield from self.ask(prefixes, empty=0.7 if kept else empty)
            if answer == 0:
                return kept
            if answer is None or len(kept) == self.rule.order:
                return None
            kept.append(pending[answer - 1])
            pending = pending[: answer - 1]


def reduce_pool(
    runs: PoolRuns,
    row: int,
    invariant: int,
    noise: Noise,
    generator: np.random.Generator,
    *,
    doubt: float = 0.05,
    rule: BisectRule = BisectRule(),
) -> Generator[PoolRuns, Flags, Conjunction | None]:
    """Reduce the pool at `row`, which fired for `invariant`, to a minimal firing conjunction.

    `doubt` is the probability that its firing was a false alarm. Returns `None` where the posterior ends at
    "nothing here fires" or no answer within the rule's limits; the pool then goes back among the others.
    """
    skills, horizon, history = runs.installed.shape[1], int(runs.horizon[row]), int(runs.history[row])
    used = generator.permutation(np.flatnonzero(runs.used[row])).tolist()
    beside = generator.permutation(np.flatnonzero(runs.installed[row] & ~runs.used[row])).tolist()
    question = _Question(noise, invariant, rule, np.ones(len(RATES)), doubt)

    def with_used(kept: list[int]) -> PoolRuns:
        return one_run(skills, installed=[*used, *beside], used=kept, history=history, horizon=horizon)

    acting = yield from question.needed(used, with_used, empty=0.02)
    if not acting:
        return None
    others = generator.permutation([*(u for u in used if u not in acting), *beside]).astype(int).tolist()

    def with_present(kept: list[int]) -> PoolRuns:
        return one_run(skills, installed=kept, used=acting, history=history, horizon=horizon)

    present = yield from question.needed(others, with_present, empty=0.15)
    if present is None:
        return None
    return (
        yield from _context(question, skills, tuple(sorted(acting)), tuple(sorted(present)), history, horizon)
    )


def look_at(
    skills: int,
    candidate: int,
    partner: int,
    history: int,
    horizon: int,
    invariant: int,
    noise: Noise,
    *,
    doubt: float,
    rule: BisectRule = BisectRule(),
) -> Generator[PoolRuns, Flags, Conjunction | None]:
    """Two skills by themselves under one history: a minimal firing conjunction of these, or `None`."""
    question = _Question(noise, invariant, rule, np.ones(len(RATES)), doubt)

    def run(present: list[int]) -> PoolRuns:
        return one_run(skills, installed=present, used=[candidate], history=history, horizon=horizon)

    present = yield from question.needed([partner], run, empty=0.1)
    if present is None:
        return None
    return (yield from _context(question, skills, (candidate,), tuple(present), history, horizon))


def _context(
    question: _Question,
    skills: int,
    used: tuple[int, ...],
    present: tuple[int, ...],
    history: int,
    horizon: int,
) -> Generator[PoolRuns, Flags, Conjunction | None]:
    """Whether the history is needed, how many turns are, and whether turns or calls are counted."""

    def run(family: int, turns: int, first: int = 1) -> PoolRuns:
        return one_run(skills, installed=present, used=used, history=family, horizon=turns, first_use=first)

    if history != NO_HISTORY:
        answer = yield from question.ask([run(NO_HISTORY, horizon), run(history, horizon)], empty=0.3)
        if answer is None:
            return None
        history = history if answer else NO_HISTORY
    answer = yield from question.ask([run(history, turns) for turns in range(1, horizon + 1)], empty=0.5)
    if answer is None:
        return None
    turn, by_call = answer + 1, False
    if turn > 1:
        # First asked for only at that turn: a trigger that counts turns fires at once, one that counts calls
        # only when as many calls have followed.
        answer = yield from question.ask(
            [run(history, turn, turn), run(history, 2 * turn - 1, turn)], empty=0.5
        )
        if answer is None:
            return None
        by_call = answer == 1
    return Conjunction(used, present, history, turn, by_call, question.invariant, horizon)
