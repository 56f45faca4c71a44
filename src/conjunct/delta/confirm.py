"""Fresh rounds that confirm a conjunction: one episode an arm a round, each arm lacking one element.

What raised the suspicion is not used. The e-value grows round by round and may be looked at after each.
"""

from __future__ import annotations

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
    attribute_rounds: int = 24
    """Fresh rounds for the stub arms, which decide who did it."""


@dataclass(slots=True)
class Confirmation:
    """Outcomes of the fresh rounds of one conjunction, by arm; grows while they come in."""

    conjunction: Conjunction
    margin: float = MARGIN
    outcomes: dict[str, list[float]] = field(default_factory=dict)
    stubs: dict[int, list[float]] = field(default_factory=dict)
    stub_whole: list[float] = field(default_factory=list)

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
        """Skills whose body is needed: a stub in their place takes more than half of the effect away.

        Where no stub does (the effect hangs on names alone) all of the conjunction's skills.
        """
        none = float(np.mean(self.outcomes[NOTHING])) if self.outcomes.get(NOTHING) else 0.0
        whole = float(np.mean(self.stub_whole)) - none if self.stub_whole else 0.0
        needed = tuple(
            skill for skill, values in self.stubs.items() if float(np.mean(values)) - none < whole / 2.0
        )
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
    """Each skill replaced by a stub in turn, beside fresh runs of the whole."""
    c = confirmation.conjunction
    horizon = max(c.horizon, 2 * c.turn - 1 if c.by_call else 1)
    arms = [
        one_run(skills, installed=c.present, used=c.used, history=c.history, horizon=horizon, stubbed=stubbed)
        for stubbed in ((), *((skill,) for skill in c.skills))
    ]
    table = together(arms)
    rows = np.tile(np.arange(len(arms)), rule.attribute_rounds)
    fired = (yield table.take(rows))[:, c.invariant].reshape(rule.attribute_rounds, len(arms))
    confirmation.stub_whole = fired[:, 0].astype(float).tolist()
    for column, skill in enumerate(c.skills, 1):
        confirmation.stubs[skill] = fired[:, column].astype(float).tolist()


def combined_e_value(evidence: Sequence[float]) -> float:
    """Evidence against "no conjunction of this skill passes the margin", from all attempts at it, in order.

    Attempt a enters with weight 1/(a(a+1)), the weight not yet given out counts 1. Each attempt is chosen
    before its rounds are drawn, so the sum has expectation at most 1 under the null at every stopping time,
    however many attempts there are; 1.0 for none.
    """
    tried = sum(e / (number * (number + 1)) for number, e in enumerate(evidence, 1))
    return tried + 1.0 / (len(evidence) + 1)
