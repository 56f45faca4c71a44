"""The reference batch as outcomes: who is adversarial, under which condition, and what an episode shows.

Stands in for agent, world and oracles behind `PoolRuns`: given runs, it draws which invariants fire. The
truth stays here; the search sees outcomes only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from conjunct.plan.pools import NO_HISTORY, Flags, PoolRuns, Reals, Whole
from conjunct.plan.retest import Noise

NONE = -1
PARTNERS = 3
SUPPRESSORS = 3


@dataclass(frozen=True, slots=True)
class Attention:
    """Share of attention that is left with `size` skills installed: 1 / (1 + size / half)."""

    half: float = 100.0

    def __call__(self, sizes: Reals) -> Reals:
        """Relative attention for each size."""
        return np.asarray(1.0 / (1.0 + np.asarray(sizes, dtype=np.float64) / self.half))


@dataclass(frozen=True, slots=True)
class Mix:
    """What the adversaries of a batch are like; lists are drawn from evenly."""

    name: str
    rates: tuple[float, float] = (0.3, 0.9)
    """Firing rate at full attention, uniform between the two."""
    partners: tuple[int, ...] = (1,)
    """Co-skills needed."""
    needs_history: tuple[bool, ...] = (True,)
    turns: tuple[int, ...] = (1, 1, 1, 1, 3, 3)
    """First turn; dealt out in order, so that two of six act from the third turn on."""
    by_call: float = 0.0
    """Share of the delayed ones that count their calls instead of turns."""
    suppressed: float = 0.0
    """Share that keep quiet while one of three named neighbours is installed."""
    largest: float = 0.0
    """Share that act only where at most `largest_set` skills are installed."""
    largest_set: int = 12
    split: float = 0.0
    """Share whose partner's body is needed too."""


REFERENCE = Mix("reference")
HARDER = Mix(
    "harder",
    rates=(0.15, 0.6),
    needs_history=(True, True, True, False),
    turns=(1, 1, 2, 3, 4, 6),
    by_call=0.3,
    suppressed=0.5,
    split=0.2,
)
THIRD_ORDER = Mix("order 3", partners=(2,))
SMALL_SETS = Mix("small sets", largest=1.0)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Oracles: how often each fires without cause, and misses a true violation."""

    name: str
    base: tuple[float, ...]
    sensitivity: tuple[float, ...]


BYTE_EXACT = Evidence("byte-exact", (0.0,), (1.0,))
JUDGES = Evidence(
    "40 noisy judges",
    tuple(float(rate) for rate in np.linspace(0.002, 0.02, 40)),
    tuple(0.9 for _ in range(40)),
)
WORSE_JUDGES = Evidence(
    "40 worse judges",
    tuple(float(rate) for rate in np.linspace(0.005, 0.04, 40)),
    tuple(0.8 for _ in range(40)),
)


@dataclass(frozen=True, slots=True)
class Effects:
    """Conditional effects, one a row: the six triggers first, then the benign diffuse interactions."""

    candidate: Whole
    partners: Whole
    """(effect, PARTNERS), padded with NONE."""
    history: Whole
    turn: Whole
    by_call: Flags
    rate: Reals
    invariant: Whole
    suppressors: Whole
    largest: Whole
    """Most installed skills under which it acts."""
    split: Flags


@dataclass(slots=True)
class Batch:
    """One simulated batch: 6 adversarial and 41 benign skills in the safe band, the others outside it."""

    seed: int
    mix: Mix = REFERENCE
    evidence: Evidence = BYTE_EXACT
    skills: int = 1200
    histories: int = 12
    horizon: int = 6
    adversarial: int = 6
    benign: int = 41
    attention: Callable[[Reals], Reals] = field(default_factory=Attention)
    interactions: int = 3
    """Diffuse interactions of each benign skill, all under the margin; judges see them, bytes do not."""
    effects: Effects = field(init=False)
    band: tuple[int, ...] = field(init=False)
    """The in-band skills, in an order that tells nothing."""
    adversaries: tuple[int, ...] = field(init=False)
    diffuse: Reals = field(init=False)
    """(skill, invariant): delta of the skill alone."""
    _generator: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        truth = np.random.default_rng([self.seed, 1])
        self._generator = np.random.default_rng([self.seed, 2])
        order = truth.permutation(self.skills)
        inside = order[: self.adversarial + self.benign]
        self.adversaries = tuple(int(s) for s in inside[: self.adversarial])
        self.band = tuple(sorted(int(s) for s in inside))
        columns = len(self.evidence.base)
        noisy = max(self.evidence.base) > 0
        self.diffuse = truth.uniform(0.03, 0.3, (self.skills, columns)) * (
            truth.random((self.skills, columns)) < 0.1
        )
        self.diffuse[inside] = truth.uniform(-0.02, 0.02, (len(inside), columns))
        if not noisy:
            self.diffuse[:] = 0.0
        self.effects = self._draw(truth, inside, noisy)

    def _draw(self, truth: np.random.Generator, inside: Whole, noisy: bool) -> Effects:
        mix, strong = self.mix, self.adversarial
        weak = self.benign * self.interactions if noisy else 0
        total = strong + weak
        candidate = np.concatenate([inside[:strong], np.repeat(inside[strong:], self.interactions)[:weak]])
        partners = np.full((total, PARTNERS), NONE)
        suppressors = np.full((total, SUPPRESSORS), NONE)
        history = truth.integers(0, self.histories, total)
        for row in range(total):
            others = truth.permutation(self.skills)
            others = others[others != candidate[row]]
            wanted = int(truth.choice(mix.partners)) if row < strong else 1
            partners[row, :wanted] = others[:wanted]
            if row < strong and truth.random() < mix.suppressed:
                suppressors[row] = others[PARTNERS : PARTNERS + SUPPRESSORS]
            if row < strong and not truth.choice(mix.needs_history):
                history[row] = NO_HISTORY
        turn = np.ones(total, dtype=np.int64)
        turn[:strong] = [mix.turns[i % len(mix.turns)] for i in range(strong)]
        largest = np.full(total, self.skills)
        largest[:strong][truth.random(strong) < mix.largest] = mix.largest_set
        rate = truth.uniform(*mix.rates, total)
        rate[strong:] = truth.uniform(0.0, 0.06, weak)
        flags = truth.random((2, total))
        strongly = np.arange(total) < strong
        return Effects(
            candidate=candidate,
            partners=partners,
            history=history,
            turn=turn,
            by_call=strongly & (turn > 1) & (flags[0] < mix.by_call),
            rate=rate,
            invariant=truth.integers(0, len(self.evidence.base), total),
            suppressors=suppressors,
            largest=largest,
            split=strongly & (partners[:, 0] != NONE) & (flags[1] < mix.split),
        )

    def measured_noise(self, runs: int = 2000) -> Noise:
        """Noise as A/A runs would measure it: base rates with their sampling error, nothing else."""
        base = np.array(self.evidence.base)
        hits = self._generator.binomial(runs, base)
        measured = (hits + 0.5) / (runs + 1) if base.max() > 0 else base
        return Noise(measured, np.array(self.evidence.sensitivity), self.attention)

    def rates(self, runs: PoolRuns) -> Reals:
        """(run, effect): probability that the effect happens."""
        effects, sizes = self.effects, runs.sizes()
        alive = runs.used & ~runs.stubbed
        met = alive[:, effects.candidate]
        for column in range(PARTNERS):
            partner = effects.partners[:, column]
            some = partner != NONE
            if some.any():
                there = runs.installed[:, partner]
                there = there & ~(effects.split & runs.stubbed[:, partner])
                met &= there | ~some
        for column in range(SUPPRESSORS):
            suppressor = effects.suppressors[:, column]
            met &= ~(runs.installed[:, suppressor] & (suppressor != NONE))
        met &= (effects.history == runs.history[:, None]) | (effects.history == NO_HISTORY)
        calls = (runs.horizon - runs.first_use + 1)[:, None]
        reached = np.where(effects.by_call, calls, runs.horizon[:, None])
        met &= (reached >= effects.turn) & (sizes[:, None] <= effects.largest)
        return np.asarray(met * effects.rate * self.attention(sizes)[:, None])

    def outcomes(self, runs: PoolRuns) -> Flags:
        """Which invariants fire in each run."""
        base = np.array(self.evidence.base)
        if base.max() > 0:
            level = base + runs.used.astype(np.float32) @ self.diffuse
            fired = self._generator.random((len(runs), len(base)), dtype=np.float32) < level
        else:
            fired = np.zeros((len(runs), len(base)), dtype=np.bool_)
        chance = self.rates(runs) * np.array(self.evidence.sensitivity)[self.effects.invariant]
        rows, columns = np.nonzero(self._generator.random(chance.shape, dtype=np.float32) < chance)
        fired[rows, self.effects.invariant[columns]] = True
        return np.asarray(fired)
