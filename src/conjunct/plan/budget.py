"""How much a vetting may cost: a number of runs, a time, or a number of tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from conjunct.errors import UsageError


class Unit(StrEnum):
    """What is counted."""

    RUNS = "runs"
    SECONDS = "seconds"
    TOKENS = "tokens"


_FORM = re.compile(r"(\d+(?:\.\d+)?)\s*(k|m)?\s*(t|s|m|h)?", re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_THOUSANDS = {"": 1, "k": 1_000, "m": 1_000_000}
_HELP = "write a number of runs (`500`), a time (`90s`, `20m`, `2h`) or tokens (`200kt`, `1.5mt`)"


@dataclass(frozen=True, slots=True)
class Budget:
    """What a vetting may cost at most. Runs that a store already holds cost nothing."""

    unit: Unit
    amount: float

    def words(self) -> str:
        """As people say it: `500 runs`, `20 minutes`, `200,000 tokens`."""
        if self.unit is not Unit.SECONDS:
            return f"{self.amount:,.0f} {self.unit}"
        for size, name in ((3600, "hours"), (60, "minutes")):
            if self.amount >= size and self.amount % size == 0:
                return f"{self.amount / size:,.0f} {name}"
        return f"{self.amount:,g} seconds"


def parse_budget(text: str) -> Budget:
    """The budget that a user wrote. Raises `UsageError` for anything that is none.

    `500` is runs; `90s`, `20m`, `2h` a time; `5000t`, `200kt`, `1.5mt` tokens.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--budget is {text!r}; {_HELP}")
    number, scale, unit = float(match[1]), (match[2] or "").lower(), (match[3] or "").lower()
    if scale == "m" and not unit:
        scale, unit = "", "m"
    if unit == "t":
        budget = Budget(Unit.TOKENS, number * _THOUSANDS[scale])
    elif unit and not scale:
        budget = Budget(Unit.SECONDS, number * _SECONDS[unit])
    elif not unit and not scale and number == int(number):
        budget = Budget(Unit.RUNS, number)
    else:
        raise UsageError(f"--budget is {text!r}; {_HELP}")
    if budget.amount <= 0:
        raise UsageError(f"--budget is {text!r}, but must be more than nothing; {_HELP}")
    return budget
