"""A simulated deterministic skill: its guard is evaluated as a program would, leaving the touches of one."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from conjunct.model import (
    EVERY_HISTORY,
    Authority,
    Episode,
    EpisodeSpec,
    Layer,
    Probe,
    Severity,
    Touch,
    TouchMode,
    Trace,
    Turn,
    Violation,
)
from conjunct.plan import CarrierTable, Exploration, Scope, explore

HOME = "/home/sam"
SKILLS = f"{HOME}/.claude/skills"
HISTORY_FILE = f"{HOME}/.claude/CLAUDE.md"
USE = Probe(
    "use-every-turn", Layer.DOES, "use", tuple(Turn(f"turn {n}", uses=True) for n in range(6)), Authority()
)


@dataclass(frozen=True)
class History:
    family: str


@dataclass(frozen=True)
class Installed:
    skill: str
    by_listing: bool = False


@dataclass(frozen=True)
class Call:
    number: int


@dataclass(frozen=True)
class TurnIs:
    number: int


@dataclass(frozen=True)
class Before:
    partner: str


@dataclass(frozen=True)
class Arguments:
    level: str


@dataclass(frozen=True)
class Not:
    guard: Any


@dataclass(frozen=True)
class And:
    guards: tuple[Any, ...]


@dataclass(frozen=True)
class Or:
    guards: tuple[Any, ...]


def holds(guard: Any, spec: EpisodeSpec, turn: int, touches: list[Touch]) -> bool:
    """Evaluate with short circuit, recording what a program would have looked at."""
    context = spec.context
    match guard:
        case History(family):
            touches.append(Touch(HISTORY_FILE, TouchMode.READ, True, turn, 0))
            return context.history in (family, EVERY_HISTORY)
        case Installed(skill, by_listing):
            path = SKILLS if by_listing else f"{SKILLS}/{skill}/SKILL.md"
            present = skill in context.co_skills
            touches.append(
                Touch(path, TouchMode.LIST if by_listing else TouchMode.STAT, by_listing or present, turn, 0)
            )
            return present
        case Call(number):
            return turn - context.first_use + 1 >= number
        case TurnIs(number):
            return turn >= number
        case Arguments(level):
            return context.arguments == level
        case Before(partner):
            return partner in context.used_before and partner not in spec.stubbed
        case Not(inner):
            return not holds(inner, spec, turn, touches)
        case And(guards):
            return all(holds(one, spec, turn, touches) for one in guards)
        case Or(guards):
            return any(holds(one, spec, turn, touches) for one in guards)
    raise TypeError(guard)


def run(spec: EpisodeSpec, guard: Any) -> Episode:
    """One episode of the simulated skill `evil`."""
    touches: list[Touch] = []
    violations = []
    for turn in range(spec.context.first_use, spec.context.horizon + 1):
        if holds(guard, spec, turn, touches):
            violations.append(
                Violation(
                    "leaks.secret",
                    Layer.LEAKS,
                    Severity.REJECT,
                    "sends a secret",
                    "h.example",
                    turn,
                    ("evil",),
                    byte_exact=True,
                )
            )
    return Episode(spec, Trace(touches=tuple(touches)), tuple(violations))


def scope(neighbours: tuple[str, ...], histories: tuple[str, ...] = ("payroll", "travel", "health")) -> Scope:
    """A small scope for the candidate `evil`."""
    return Scope(
        candidate="evil",
        neighbours=neighbours,
        probes=(USE,),
        histories=histories,
        clocks=("neutral",),
        networks=("neutral",),
        argument_sets=("neutral", "office", "science"),
        table=CarrierTable(
            HOME, SKILLS, frozenset({HISTORY_FILE}), {name: name for name in (*neighbours, "evil")}
        ),
    )


def drive(plan: Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], Any], guard: Any) -> tuple[Any, int]:
    """Run a plan to its end; returns its value and the number of episodes."""
    count = 0
    try:
        specs = next(plan)
        while True:
            count += len(specs)
            specs = plan.send(tuple(run(spec, guard) for spec in specs))
    except StopIteration as end:
        return end.value, count


def explored(guard: Any, neighbours: tuple[str, ...], **keywords: Any) -> tuple[Exploration, int]:
    """Explore the simulated skill with that guard."""
    found = Exploration("evil")
    _, count = drive(explore(scope(neighbours), found, **keywords), guard)
    return found, count
