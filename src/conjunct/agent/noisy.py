"""The reference noisy agent: the literal one with seeded, recorded slips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conjunct.agent.literal import LiteralAgent
from conjunct.agent.protocol import Tools, View
from conjunct.agent.slips import SeededSlips, Slip, default_rates


class NoisyAgent:
    """Literal, but now and then it forgets a skill or a directive, swaps steps, or fails to refuse.

    Equal seeds and rates slip in the same places. `rates` maps slip kinds to probabilities per place and is
    completed from `data/slips.yaml`. Raises `UsageError` for an unknown kind or a rate outside 0 to 1.
    """

    def __init__(self, seed: int, *, rates: Mapping[str, float] | None = None) -> None:
        self._slips = SeededSlips(seed, {**default_rates(), **(rates or {})})
        self._literal = LiteralAgent(slips=self._slips)

    @property
    def id(self) -> str:
        """`noisy`."""
        return "noisy"

    @property
    def version(self) -> str:
        """That of the literal agent, with the rates."""
        rates = ",".join(f"{kind}={rate:g}" for kind, rate in sorted(self._slips.rates.items()))
        return f"{self._literal.version}/{rates}"

    @property
    def deterministic(self) -> bool:
        """Never."""
        return False

    @property
    def slips(self) -> Sequence[Slip]:
        """What slipped so far, in order."""
        return tuple(self._slips.happened)

    def act(self, view: View, tools: Tools) -> None:
        """Carry out one turn."""
        self._literal.act(view, tools)
