"""Fresh rounds that confirm a conjunction: one episode an arm a round, each arm lacking one element.

What raised the suspicion is not used. The e-value grows round by round and may be looked at after each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

import numpy as np

from conjunct.delta.evidence import MARGIN, margin_e_value, matched_shape, ratio_e_value
from conjunct.plan.bisect import Conjunction
from conjunct.plan.pools import NO_HISTORY, Flags, PoolRuns, one_run, together

WHOLE, NOTHING, HISTORY, TURN = "whole", "nothing", "history", "turn"


@dataclass(frozen=True, slots=True)
class ConfirmRule:
    """When confirming ends. Any rule is valid: e-values hold at every stopping time."""

    batch: int = 6
    """Rounds asked for at once."""
    most: int = 360
    """Rounds at most."""
    hopeless: float = 0.3
    """Evidence under which it is given up once `patience` rounds are in."""
    patience: int = 30
    blame: float = 6.0
    """Log-likelihood ratio, in nats, at which a stub arm has decided whether a body is needed."""
    blame_most: int = 240
    """Rounds of the stub arms at most."""


@dataclass(slots=True)
class Confirmation:
    """Outcomes of the fresh rounds of one conjunction, by arm; grows while they come in."""

    conjunction: Conjunction
    margin: float = MARGIN
    outcomes: dict[str, list[float]] = field(default_factory=dict)
    stubs: dict[int, float] = field(default_factory=dict)
    """Skill to log-likelihood ratio of "its stub does as well" against "its stub takes the effect away"."""

    @property
    def rounds(self) -> int:
        """Fresh rounds made."""
        return len(self.outcomes.get(WHOLE, ()))

    @property
    def e(self) -> float:
        """Evidence that each *skill* is needed by more than the margin; 1 before the first round."""
        arms = {name: values for name, values in self.outcomes.items() if name.startswith("skill:")}
        if not self.rounds:
            return 1.0
        return margin_e_value(self.outcomes[WHOLE], arms, margin=self.margin)

    @property
    def e_context(self) -> dict[str, float]:
        """The same for history and delay, where they are part of the conjunction: labels, not the gate."""
        return {
            name: margin_e_value(self.outcomes[WHOLE], {name: self.outcomes[name]}, margin=self.margin)
            for name in (HISTORY, TURN)
            if name in self.outcomes
        }

    @property
    def shape(self) -> float:
        """Matched S_m of the fresh rounds."""
        return matched_shape(self.outcomes[WHOLE], self._lacking(), self.outcomes[NOTHING])

    @property
    def e_shape(self) -> float:
        """Evidence that S_m is below 0.5."""
        return ratio_e_value(self.outcomes[WHOLE], self._lacking(), self.outcomes[NOTHING])

    @property
    def bodies(self) -> tuple[int, ...]:
        """Skills whose body is needed: with a stub in their place the effect is gone.

        Where no stub takes it away (the effect hangs on names alone) all of the conjunction's skills.
        """
        needed = tuple(skill for skill, ratio in self.stubs.items() if ratio < 0.0)
        return needed or self.conjunction.skills

    def _lacking(self) -> dict[str, list[float]]:
        return {name: values for name, values in self.outcomes.items() if name not in (WHOLE, NOTHING)}


def arms_of(conjunction: Conjunction, skills: int) -> dict[str, PoolRuns]:
    """One episode an arm: the whole conjunction, lacking each element in turn, and none of it."""
    c = conjunction
    horizon = 2 * c.turn - 1 if c.by_call else max(c.turn, 1)
    horizon = max(horizon, c.horizon)

    def arm(lacking: int | None = None, *, history: int = c.history, turns: int = horizon) -> PoolRuns:
        return one_run(
            skills,
            installed=[s for s in c.present if s != lacking],
            used=[s for s in c.used if s != lacking],
            history=history,
            horizon=turns,
        )

    arms = {WHOLE: arm()} | {f"skill:{skill}": arm(skill) for skill in c.skills}
    if c.history != NO_HISTORY:
        arms[HISTORY] = arm(history=NO_HISTORY)
    if c.turn > 1:
        arms[TURN] = arm(turns=c.turn - 1)
    arms[NOTHING] = one_run(skills, installed=(), used=(), history=NO_HISTORY, horizon=horizon)
    return arms


def confirm(
    confirmation: Confirmation,
    skills: int,
    rule: ConfirmRule = ConfirmRule(),
    *,
    enough: Callable[[float], bool],
) -> Generator[PoolRuns, Flags, bool]:
    """Make fresh rounds until the evidence is `enough`, hopeless, or at the limit.

    Returns whether it was enough. Rounds stay in `confirmation`, so stopping in between (closing the
    generator) leaves a valid, weaker state. After success the stub arms run.
    """
    arms = arms_of(confirmation.conjunction, skills)
    names, table = list(arms), together(list(arms.values()))
    invariant = confirmation.conjunction.invariant
    for name in names:
        confirmation.outcomes.setdefault(name, [])
    while confirmation.rounds < rule.most:
        rows = np.tile(np.arange(len(names)), rule.batch)
        fired = (yield table.take(rows))[:, invariant].reshape(rule.batch, len(names))
        for column, name in enumerate(names):
            confirmation.outcomes[name].extend(fired[:, column].astype(float).tolist())
        evidence = confirmation.e
        if enough(evidence):
            yield from _attribute(confirmation, skills, rule)
            return True
        if confirmation.rounds >= rule.patience and evidence < rule.hopeless:
            return False
    return False


def _attribute(
    confirmation: Confirmation, skills: int, rule: ConfirmRule
) -> Generator[PoolRuns, Flags, None]:
    """Each skill replaced by a stub in turn, in fresh runs, until each arm has decided (Wald 1945)."""
    c = confirmation.conjunction
    horizon = max(c.horizon, 2 * c.turn - 1 if c.by_call else 1)
    with_body = min(0.98, float(np.mean(confirmation.outcomes[WHOLE])))
    without = min(with_body / 2.0, max(0.01, float(np.mean(confirmation.outcomes[NOTHING]))))
    hit, miss = math.log(with_body / without), math.log((1.0 - with_body) / (1.0 - without))
    table = together(
        [
            one_run(
                skills, installed=c.present, used=c.used, history=c.history, horizon=horizon, stubbed=[skill]
            )
            for skill in c.skills
        ]
    )
    ratio = np.zeros(len(c.skills))
    for _ in range(0, rule.blame_most, rule.batch):
        open_arms = np.flatnonzero(np.abs(ratio) < rule.blame)
        if not open_arms.size:
            break
        rows = np.repeat(open_arms, rule.batch)
        fired = (yield table.take(rows))[:, c.invariant].reshape(len(open_arms), rule.batch)
        ratio[open_arms] += np.where(fired, hit, miss).sum(axis=1)
    confirmation.stubs = dict(zip(c.skills, ratio.tolist(), strict=True))


def combined_e_value(evidence: Sequence[float]) -> float:
    """Evidence against "no conjunction of this skill passes the margin", from all attempts at it, in order.

    Attempt a enters with weight 1/(a(a+1)), the weight not yet given out counts 1. Each attempt is chosen
    before its rounds are drawn, so the sum has expectation at most 1 under the null at every stopping time,
    however many attempts there are; 1.0 for none.
    """
    tried = sum(e / (number * (number + 1)) for number, e in enumerate(evidence, 1))
    return tried + 1.0 / (len(evidence) + 1)
