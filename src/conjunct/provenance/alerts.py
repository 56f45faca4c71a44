"""Alerts of static scanners held against what the runs showed: confirmed, contradicted, or not reached."""

from __future__ import annotations

import fnmatch
import posixpath
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from conjunct.model import (
    ActionKind,
    Finding,
    Layer,
    ReachableAction,
    ReachSet,
    Severity,
    Skill,
    Violation,
)
from conjunct.provenance.sarif import Alert

_LONGEST = 400
_MOST_LINES = 5_000
"""Regions that span more lines than this are taken for the whole file."""

_SHORTEST = 4
"""Resources with fewer literal characters say too little to tell one from another."""

_NETWORK = frozenset({ActionKind.SEND, ActionKind.CONNECT, ActionKind.RESOLVE, ActionKind.REMOTE_CODE})

Place = tuple[str, int]
Parts = tuple[str, ...]


class Answer(StrEnum):
    """What the runs say to an alert."""

    CONFIRMED = "confirmed"
    """It happened: a violation at that place, or an undeclared effect once its tests were decided."""
    CONTRADICTED = "contradicted"
    """The line ran, by itself or forced, and what it did is what the skill declares."""
    NOT_REACHED = "not reached"
    """No run reached the line, or the alert has no place in a package that was vetted: open."""


@dataclass(frozen=True, slots=True)
class Answered:
    """One alert with its answer."""

    alert: Alert
    answer: Answer
    reason: str
    skill: str = ""
    file: str = ""
    """Path in the package; empty where the alert names no file of it."""


def answer_alerts(
    alerts: Sequence[Alert],
    reach: ReachSet,
    exercised: Collection[Place],
    violations: Sequence[Violation],
    *,
    file_of: Mapping[Alert, str] | None = None,
    forced: Mapping[Place, str] | None = None,
) -> tuple[Answered, ...]:
    """Hold the alerts on one skill against its runs.

    `exercised` are the (file, line) places that ran, in code and prose; `violations` everything that
    happened in any run, of which those with this skill among their actors count. `file_of` gives the path
    in the package where the alert names another one (see `alerts_by_skill`). `forced` are places that no run
    reached and that were run with their tests decided, each with the undeclared effect, empty for none.
    """
    forced = forced or {}
    lines = _lines_by_file([*exercised, *(place for place, effect in forced.items() if not effect)])
    mine = [one for one in violations if reach.skill in one.actors]
    answered = []
    for alert in alerts:
        file = (file_of or {}).get(alert, alert.file)
        answer, reason = _answer(alert, file, reach, lines.get(file, set()), mine)
        if answer is not Answer.CONFIRMED:
            answer, reason = _forced(alert, file, answer, reason, forced)
        answered.append(Answered(alert, answer, reason, reach.skill, file))
    return tuple(answered)


def _answer(
    alert: Alert, file: str, reach: ReachSet, ran: set[int], violations: Sequence[Violation]
) -> tuple[Answer, str]:
    inside = _region(alert)
    for one in violations:
        if one.file == file and (inside is None or (one.line is not None and one.line in inside)):
            return Answer.CONFIRMED, f"it happened: {one.effect}"
    actions = [
        action
        for action in reach.actions
        if action.file == file and (inside is None or action.line in inside) and not action.mention
    ]
    for one in violations:
        if any(_fits(action, one, ran) for action in actions):
            return Answer.CONFIRMED, f"it happened: {one.effect}"
    wanted = {action.line for action in actions} or ({alert.line} if alert.line else set())
    missed = [action for action in actions if action.line not in ran]
    if not wanted & ran:
        return Answer.NOT_REACHED, "no run reached it" + _kept_shut(missed)
    if wanted - ran:
        return Answer.NOT_REACHED, f"no run reached line {min(wanted - ran)}" + _kept_shut(missed)
    near = next((one for one in violations if one.file in {None, file}), None)
    if near is not None:
        return (
            Answer.NOT_REACHED,
            f"the line ran, but the skill {near.effect}, and which line did is not known",
        )
    return Answer.CONTRADICTED, "it ran, and what it did is within what was asked for or declared"


def _forced(
    alert: Alert, file: str, answer: Answer, reason: str, forced: Mapping[Place, str]
) -> tuple[Answer, str]:
    """The answer where a line of the alert ran only because its tests were decided for it."""
    inside = _region(alert)
    known = {line: told for (at, line), told in forced.items() if at == file}
    mine = {line: told for line, told in known.items() if inside is None or line in inside}
    for line, told in sorted(mine.items()):
        if told:
            return (
                Answer.CONFIRMED,
                f"forced: once the tests before line {line} are decided for it, it {told}; no run reached it "
                "by itself",
            )
    if mine and answer is Answer.CONTRADICTED:
        return answer, "forced: it ran once its tests were decided, and what it did is declared or harmless"
    return answer, reason


def _region(alert: Alert) -> range | None:
    if alert.line is None:
        return None
    end = alert.end_line or alert.line
    return range(alert.line, end + 1) if end - alert.line <= _MOST_LINES else None


def _fits(action: ReachableAction, violation: Violation, ran: set[int]) -> bool:
    """Whether a line is where a violation, or the read that fed it, came from.

    Traces name the script, not its line: the resource has to tell. Where a line's resource is not known from
    the source, the line must have run, in the file to blame, and be of the same kind.
    """
    if violation.file not in {None, action.file} and action.line not in ran:
        return False
    resource = action.resource.strip()
    if len(resource.replace("*", "")) < _SHORTEST:
        network = violation.resource.rpartition(":")[2].isdigit()
        same_kind = (action.kind in _NETWORK) if network else action.kind not in _NETWORK
        return violation.file == action.file and action.line in ran and same_kind
    bare = urlsplit(resource).netloc if "://" in resource else resource
    places = (violation.resource, violation.resource.rpartition(":")[0])
    if any(fnmatch.fnmatchcase(place, bare.replace("[", "[[]")) for place in places if place):
        return True
    return "*" not in resource and resource in violation.effect


def _kept_shut(actions: Sequence[ReachableAction]) -> str:
    guard = next((action.guards[-1].text for action in actions if action.guards), "")
    return f"; kept shut by `{guard[:80]}`" if guard else ""


def _lines_by_file(exercised: Collection[Place]) -> dict[str, set[int]]:
    lines: dict[str, set[int]] = {}
    for file, line in exercised:
        lines.setdefault(file, set()).add(line)
    return lines


def alerts_by_skill(
    alerts: Sequence[Alert], skills: Sequence[Skill]
) -> tuple[dict[str, dict[Alert, str]], tuple[Answered, ...]]:
    """Which alert is on which file of which skill, and the alerts that are on none or on more than one.

    An absolute path must be that of the file, or end in the skill's folder and the file; a relative one must
    be the end of the file's path. Compared by whole path parts.
    """
    by_end: dict[Parts, list[tuple[Parts, int, Skill, str]]] = {}
    for skill in skills:
        folder = tuple(part for part in posixpath.abspath(skill.path).split("/") if part)
        for entry in skill.entries:
            parts = (*folder, *entry.path.split("/"))
            for end in (parts[-1:], parts[-2:]):
                by_end.setdefault(end, []).append((parts, len(folder), skill, entry.path))
    placed: dict[str, dict[Alert, str]] = {}
    rest: list[Answered] = []
    known: dict[str, set[tuple[str, str]]] = {}
    for alert in alerts:
        if alert.file not in known:
            known[alert.file] = _matches(alert.file, by_end)
        found = known[alert.file]
        if len(found) == 1:
            ((skill_id, path),) = found
            placed.setdefault(skill_id, {})[alert] = path
        else:
            why = "names a file of several skills" if found else "names no file of a skill that was vetted"
            rest.append(Answered(alert, Answer.NOT_REACHED, f"{alert.file or 'it'} {why}"))
    return placed, tuple(rest)


def _matches(
    file: str, by_end: Mapping[Parts, Sequence[tuple[Parts, int, Skill, str]]]
) -> set[tuple[str, str]]:
    """(skill, path in it) pairs that fit a file best: by the largest common end of the paths."""
    parts = tuple(part for part in file.split("/") if part not in {"", "."})
    if not parts or ".." in parts:
        return set()
    absolute = file.startswith("/")
    best, found = 0, set[tuple[str, str]]()
    for full, folder, skill, path in by_end.get(parts[-2:], ()):
        common = _common_end(parts, full)
        whole = common == len(parts) and (not absolute or common == len(full))
        # Scanned elsewhere: the folder of the skill and everything below it have to agree.
        elsewhere = common > len(full) - folder
        if not (whole or elsewhere) or common < best:
            continue
        if common > best:
            best, found = common, set()
        found.add((skill.id, path))
    return found


def _common_end(one: Parts, other: Parts) -> int:
    count = 0
    for first, second in zip(reversed(one), reversed(other), strict=False):
        if first != second:
            break
        count += 1
    return count


def left_open(placed: Mapping[str, Mapping[Alert, str]], vetted: Collection[str]) -> tuple[Answered, ...]:
    """Alerts on skills of the registry that were not vetted this time."""
    return tuple(
        Answered(alert, Answer.NOT_REACHED, "this skill was not vetted this time", skill, file)
        for skill, alerts in placed.items()
        if skill not in vetted
        for alert, file in alerts.items()
    )


# ---- telling


def summary(answered: Sequence[Answered]) -> str:
    """`12 alerts: 9 contradicted, 2 confirmed, 1 open`."""
    counts = Counter(one.answer for one in answered)
    alerts = f"{len(answered):,} alert" + ("" if len(answered) == 1 else "s")
    return (
        f"{alerts}: {counts[Answer.CONTRADICTED]} contradicted, {counts[Answer.CONFIRMED]} confirmed, "
        f"{counts[Answer.NOT_REACHED]} open"
    )


def alert_findings(answered: Sequence[Answered]) -> tuple[Finding, ...]:
    """Answered alerts as findings, all notes: only the admission policy makes them more."""
    return tuple(
        Finding(
            one.skill,
            Layer.CLAIMS,
            f"scanner.{one.answer.replace(' ', '-')}",
            f"{one.alert.tool} {one.alert.rule}: {one.alert.message}: {one.answer} ({one.reason})"[:_LONGEST],
            Severity.NOTE,
            one.file or None,
            one.alert.line,
        )
        for one in answered
        if one.skill
    )
