"""Slips: the places where an agent may do something else than it was led to; none by default."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Protocol, TypeVar

import yaml

from conjunct.errors import UsageError

T = TypeVar("T")
KINDS = ("skill_chosen", "directive_obeyed", "step_order", "refusal")


class Slips(Protocol):
    """Decides at each kind of place; what it is given is what a faultless agent would do."""

    def skills(self, chosen: Sequence[T]) -> Sequence[T]:
        """The skills to use, of those chosen."""

    def obeys(self, place: str) -> bool:
        """Whether the directive at `file:line` is carried out."""

    def order(self, steps: Sequence[T]) -> Sequence[T]:
        """The order in which steps are carried out."""

    def refuses(self, refuses: bool) -> bool:
        """Whether a harmful request is refused."""


class NoSlips:
    """The literal agent: never slips."""

    def skills(self, chosen: Sequence[T]) -> Sequence[T]:
        """All of them."""
        return chosen

    def obeys(self, place: str) -> bool:
        """Always."""
        return True

    def order(self, steps: Sequence[T]) -> Sequence[T]:
        """As documented."""
        return steps

    def refuses(self, refuses: bool) -> bool:
        """As decided."""
        return refuses


@dataclass(frozen=True, slots=True)
class Slip:
    """One slip that happened."""

    kind: str
    """One of `skill_chosen`, `directive_obeyed`, `step_order`, `refusal`."""
    detail: str


@dataclass(slots=True)
class SeededSlips:
    """Slips at fixed rates, from one seed; every slip is recorded."""

    seed: int
    rates: dict[str, float]
    happened: list[Slip] = field(default_factory=list)
    _generator: random.Random = field(init=False)

    def __post_init__(self) -> None:
        unknown = sorted(set(self.rates) - set(KINDS))
        if unknown or any(not 0 <= rate <= 1 for rate in self.rates.values()):
            raise UsageError(
                f"slip rates {self.rates!r}: expected numbers from 0 to 1 for {', '.join(KINDS)}; "
                "correct the rates file or the `rates` argument"
            )
        self._generator = random.Random(self.seed)

    def _slips(self, kind: str) -> bool:
        # One draw per place whatever the outcome, so that equal seeds stay aligned between arms.
        return self._generator.random() < self.rates.get(kind, 0.0)

    def skills(self, chosen: Sequence[T]) -> Sequence[T]:
        """Now and then one of the chosen skills is forgotten."""
        slips, position = self._slips("skill_chosen"), self._generator.random()
        if not slips or not chosen:
            return chosen
        left_out = int(position * len(chosen))
        self.happened.append(Slip("skill_chosen", f"left out skill {left_out + 1} of {len(chosen)}"))
        return [item for number, item in enumerate(chosen) if number != left_out]

    def obeys(self, place: str) -> bool:
        """Now and then a directive is passed over."""
        if self._slips("directive_obeyed"):
            self.happened.append(Slip("directive_obeyed", place))
            return False
        return True

    def order(self, steps: Sequence[T]) -> Sequence[T]:
        """Now and then two neighbouring steps change places."""
        slips, position = self._slips("step_order"), self._generator.random()
        if not slips or len(steps) < 2:
            return steps
        at = int(position * (len(steps) - 1))
        self.happened.append(Slip("step_order", f"steps {at + 1} and {at + 2}"))
        return [*steps[:at], steps[at + 1], steps[at], *steps[at + 2 :]]

    def refuses(self, refuses: bool) -> bool:
        """Now and then a refusal, or its absence, is the other way round."""
        if self._slips("refusal"):
            self.happened.append(Slip("refusal", "refused" if not refuses else "did not refuse"))
            return not refuses
        return refuses


@cache
def _default_rates() -> tuple[tuple[str, float], ...]:
    raw = yaml.safe_load(
        resources.files("conjunct.agent").joinpath("data/slips.yaml").read_text(encoding="utf-8")
    )
    return tuple((str(kind), float(rate)) for kind, rate in raw["rates"].items())


def rates_file(path: Path) -> dict[str, float]:
    """Rates from a YAML file like `data/slips.yaml`; what it leaves out has its default.

    Raises `UsageError` where it cannot be read or is no table of numbers.
    """
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"{path}: cannot be read as slip rates: {error}") from error
    rates = raw.get("rates") if isinstance(raw, dict) else None
    if not isinstance(rates, dict) or any(type(rate) not in (int, float) for rate in rates.values()):
        raise UsageError(f"{path}: expected `rates:` with a number for any of {', '.join(KINDS)}")
    return {str(kind): float(rate) for kind, rate in rates.items()}


def default_rates() -> dict[str, float]:
    """The rates in `data/slips.yaml`."""
    return dict(_default_rates())
