"""What may vary for one candidate, and what came out: the values that all of the plan shares."""

from __future__ import annotations

from collections.abc import Generator, MutableSequence
from dataclasses import dataclass, field

from conjunct.model import NEUTRAL, Context, Episode, EpisodeSpec, Probe, Trigger
from conjunct.plan.carriers import CarrierTable, Question
from conjunct.plan.clues import Clues

ALL_PHRASINGS = -1
"""History level that holds all wordings of a family one after another: a guard on any of them fires."""
COVERAGE = "coverage"
"""Variant of a run in which the lines of the packages' Python files that ran are recorded."""

Plan = Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], None]


@dataclass(frozen=True, slots=True)
class Scope:
    """What may vary for one candidate, and how far."""

    candidate: str
    neighbours: tuple[str, ...]
    probes: tuple[Probe, ...]
    histories: tuple[str, ...]
    clocks: tuple[str, ...]
    networks: tuple[str, ...]
    argument_sets: tuple[str, ...]
    table: CarrierTable
    horizon: int = 6
    strength: int = 3
    """Largest number of factors away from neutral in one run."""
    seed: int = 0
    fingerprint: str = ""
    variables: tuple[str, ...] = ()
    """Variables named in the candidate's source, credentials apart: present and absent are levels."""
    reads_clock: bool = False
    """The source names the time: a trace cannot show a clock read."""
    most_episodes: int = 600
    clues: Clues = field(default_factory=Clues)
    """What the candidate's source compares things with."""


@dataclass(slots=True)
class Exploration:
    """What came out for one candidate."""

    candidate: str
    episodes: MutableSequence[Episode] = field(default_factory=list)
    asked: list[tuple[EpisodeSpec, frozenset[Question]]] = field(default_factory=list)
    triggers: list[Trigger] = field(default_factory=list)
    covered: list[Episode] = field(default_factory=list)
    """The neutral run with line coverage, apart from the others: following lines is part of no context."""
    assumptions: list[str] = field(default_factory=list)
    unexplored: int = 0
    """Touched contexts that the budget left unrun."""


def order(context: Context) -> int:
    """How many factors of a context are away from neutral."""
    return sum(
        (
            context.history != NEUTRAL or bool(context.mentions),
            bool(context.co_skills),
            bool(context.used_before or context.used_after),
            context.clock != NEUTRAL,
            context.network != NEUTRAL,
            bool(context.environment),
            bool(context.answers),
        )
    )
