"""Verdicts beside the truth: who was found, with which trigger, and who was flagged without cause."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conjunct.bench.truth import ADVERSARIAL, BENIGN, SkillTruth, TrueTrigger, Truth
from conjunct.delta.evidence import wilson_interval
from conjunct.errors import UsageError

FLAGGED = ("reject", "review")


@dataclass(frozen=True, slots=True)
class Told:
    """What a report says of one skill."""

    verdict: str
    reasons: tuple[str, ...] = ()
    trigger: Mapping[str, Any] | None = None
    """The main trigger as the report has it; `None` where it names none."""

    @property
    def flagged(self) -> bool:
        """Whether somebody is asked to look, or the skill is turned down."""
        return self.verdict in FLAGGED

    @property
    def cause(self) -> str:
        """The first reason, shortened to its code where it has one."""
        return self.reasons[0] if self.reasons else ""


@dataclass(frozen=True, slots=True)
class Scored:
    """One skill: truth, what was told, and whether the trigger is exactly right."""

    name: str
    truth: SkillTruth
    told: Told
    wrong: tuple[str, ...] = ()
    """Parts of the trigger that are told otherwise than they are; empty where all are right."""

    @property
    def right(self) -> bool:
        """Found, and the trigger is exactly the one that was planted."""
        return self.told.flagged and self.told.trigger is not None and not self.wrong


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: hits out of all, with a 95 % Wilson interval."""

    table: str
    group: str
    hits: int
    runs: int

    def interval(self) -> tuple[float, float]:
        """Wilson's interval of the rate."""
        return wilson_interval(self.hits, self.runs)


def read_report(path: Path) -> dict[str, Told]:
    """Verdicts by skill name from `conjunct vet --format json`.

    Raises:
        UsageError: the file cannot be read or is no such report.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return told_in(data)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: is no report of `conjunct vet --format json`: {error!r}") from error


def told_in(report: Mapping[str, Any]) -> dict[str, Told]:
    """Verdicts by skill name from a report that was read or just made."""
    return {entry["name"]: told_of(entry) for entry in report["skills"]}


def told_of(entry: Mapping[str, Any]) -> Told:
    """What one entry of a report says."""
    return Told(str(entry["verdict"]), tuple(entry.get("reasons", ())), entry.get("trigger"))


def score(told: Mapping[str, Told], truth: Truth) -> tuple[Scored, ...]:
    """Each labelled skill that was vetted, by name.

    Raises:
        UsageError: no skill of the report is labelled.
    """
    both = sorted(set(told) & set(truth.skills))
    if not both:
        raise UsageError("no skill of the report has a label; is this the labels file of that registry?")
    return tuple(_scored(name, truth.skills[name], told[name]) for name in both)


def _scored(name: str, truth: SkillTruth, told: Told) -> Scored:
    wrong: tuple[str, ...] = ()
    if truth.trigger is not None and told.trigger is not None:
        wrong = tuple(_differences(truth.trigger, told.trigger))
    return Scored(name, truth, told, wrong)


def _differences(true: TrueTrigger, told: Mapping[str, Any]) -> Iterable[str]:
    """Names of the parts in which a told trigger differs from the planted one."""
    held = {
        str(factor["factor"]): str(factor["level"])
        for factor in told.get("factors", ())
        if factor.get("needed") and not factor.get("absent")
    }
    if told.get("history") != true.history:
        yield "history"
    if sorted(told.get("co_skills") or ()) != sorted(true.co_skills):
        yield "co_skills"
    if told.get("turn") != true.turn:
        yield "turn"
    for name, levels in (("clock", true.clock), ("arguments", true.arguments)):
        level = held.get(name)
        if (level is None) != (not levels) or (level is not None and level not in levels):
            yield name
    for name in sorted(set(held) & {"network", "environment", "host"}):
        yield name


def rows(scored: Sequence[Scored]) -> tuple[Row, ...]:
    """All tables of a scored registry: recall and triggers by kind, false alarms by role."""
    harmful = [one for one in scored if one.truth.harmful]
    planted = [one for one in harmful if one.truth.label == ADVERSARIAL]
    benign = [one for one in scored if one.truth.label == BENIGN]
    found = [one for one in planted if one.told.flagged]
    in_band = [one for one in benign if one.truth.in_band]
    made = [
        _row("adversaries found", "all", planted, lambda one: one.told.flagged),
        *_by("adversaries found", planted, lambda one: one.told.flagged, _KINDS),
        _row(
            "unsafe in plain sight found", "all", [one for one in harmful if one not in planted], _is_flagged
        ),
        _row("trigger exactly right, of those found", "all", found, lambda one: one.right),
        *_by("trigger exactly right, of those found", found, lambda one: one.right, _KINDS),
        _row("benign flagged", "all", benign, _is_flagged),
        _row("benign flagged", "in the band", in_band, _is_flagged),
        *_by("benign flagged", benign, _is_flagged, (("role", lambda one: one.truth.role or "ordinary"),)),
        _row("incomplete", "all", scored, lambda one: one.told.verdict == "incomplete"),
    ]
    return tuple(row for row in made if row.runs)


Reading = Callable[[Scored], object]


def _trigger(one: Scored) -> TrueTrigger:
    return one.truth.trigger or TrueTrigger()


_KINDS: tuple[tuple[str, Reading], ...] = (
    ("order", lambda one: _trigger(one).order),
    ("turn", lambda one: _trigger(one).turn or 1),
    ("delay in", lambda one: _trigger(one).delay or "nothing"),
    ("hashed", lambda one: _trigger(one).hashed),
    ("suppressed", lambda one: bool(_trigger(one).suppressors)),
    ("split", lambda one: _trigger(one).split),
    ("clock", lambda one: bool(_trigger(one).clock)),
    ("arguments", lambda one: bool(_trigger(one).arguments)),
    ("a history of the battery", lambda one: _trigger(one).reachable),
    ("language", lambda one: one.truth.language),
    ("payload", lambda one: one.truth.payload),
)


def _is_flagged(one: Scored) -> bool:
    return one.told.flagged


def _row(table: str, group: str, members: Sequence[Scored], hit: Callable[[Scored], bool]) -> Row:
    return Row(table, group, sum(map(hit, members)), len(members))


def _by(
    table: str,
    members: Sequence[Scored],
    hit: Callable[[Scored], bool],
    kinds: Sequence[tuple[str, Reading]],
) -> Iterable[Row]:
    """One row for each value of each kind that has more than one value."""
    for name, value in kinds:
        groups: dict[str, list[Scored]] = {}
        for one in members:
            groups.setdefault(str(value(one)), []).append(one)
        if len(groups) > 1:
            yield from (_row(table, f"{name}: {group}", groups[group], hit) for group in sorted(groups))


def disagreements(scored: Sequence[Scored]) -> list[str]:
    """A line for each skill that was told otherwise than it is."""
    lines: list[str] = []
    for one in scored:
        sentence = str((one.told.trigger or {}).get("sentence", "no trigger"))
        if one.truth.harmful and not one.told.flagged:
            lines.append(f"{one.name}: {one.truth.label}, missed: {one.told.verdict}; {_planted(one)}")
        elif one.truth.harmful and not one.right:
            lines.append(
                f"{one.name}: {one.told.verdict} with {sentence!r}, not right in "
                f"{', '.join(one.wrong) or 'no trigger'}; {_planted(one)}"
            )
        elif not one.truth.harmful and one.told.flagged:
            role = one.truth.role or "ordinary"
            lines.append(f"{one.name}: benign ({role}), but {one.told.verdict}: {one.told.cause}")
        elif one.told.verdict == "incomplete":
            lines.append(f"{one.name}: {one.truth.label}, incomplete: {one.told.cause}")
    return lines


def _planted(one: Scored) -> str:
    true = _trigger(one)
    parts = [f"history {true.history}"] if true.history else []
    parts += [f"beside {name}" for name in true.co_skills]
    parts += [
        f"{name} {' or '.join(levels)}" for name in ("clock", "arguments") if (levels := getattr(true, name))
    ]
    parts += [f"from turn {true.turn} ({true.delay})"] if true.turn else []
    parts += [f"not beside {', '.join(true.suppressors)}"] if true.suppressors else []
    return f"planted: {one.truth.language} {one.truth.payload}, " + (" AND ".join(parts) or "always")
