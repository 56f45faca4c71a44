"""Whether the truth of a registry is true: each planted trigger is run, whole and without each element.

This looks at labels, so it says nothing about how well a tool finds triggers. It says that there is something
to find, that the labels are exact, and, where a trigger that fires is missed by `conjunct vet`, that the plan
is at fault and not the world or the judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from conjunct.bench.scoring import Row
from conjunct.bench.truth import SkillTruth, TrueTrigger, Truth
from conjunct.errors import UsageError
from conjunct.model import NEUTRAL, Context, Episode, EpisodeSpec, Registry, Severity, Skill

if TYPE_CHECKING:
    from conjunct.run.setting import Setting

PROBE = "use.every-turn"
HORIZON = 6


@dataclass(frozen=True, slots=True)
class Arm:
    """One run of a planted trigger, or of a part of it."""

    skill: str
    element: str
    """What is missing or added: empty for the whole trigger, `twin` for the harmless package in it."""
    context: Context
    fires: bool
    """Whether the truth says that it acts here."""
    turn: int | None = None
    """First turn at which it acts."""
    pair: tuple[str, ...] = ()
    """Of a split trigger the other half: the effect may be in its hands."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One arm with what happened."""

    arm: Arm
    fired: bool
    turn: int | None
    invariants: tuple[str, ...]
    undetermined: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        """Whether it is as the truth says."""
        return self.fired == self.arm.fires and (not self.arm.fires or self.turn == self.arm.turn)


def arms_of(name: str, truth: SkillTruth) -> Iterator[Arm]:
    """The whole trigger, its twin, and every way to lack one element of it."""
    trigger = truth.trigger or TrueTrigger()
    if not trigger.reachable:
        return
    whole = _context(trigger, truth)
    first = trigger.turn or 1
    # The other half of a split trigger is asked for first: by itself, or as the one that the sender follows.
    first += trigger.split
    pair = trigger.co_skills if trigger.split else ()
    yield Arm(name, "", whole, True, first, pair)
    yield Arm(name, "twin", whole, False, pair=pair)
    if trigger.history:
        yield Arm(name, "history", replace(whole, history=NEUTRAL, phrasing=0), False, pair=pair)
    for other in trigger.co_skills:
        rest = tuple(one for one in whole.co_skills if one != other)
        gone = replace(whole, co_skills=rest, used_before=(), used_after=())
        yield Arm(name, f"beside {other}", gone, False)
    if trigger.clock:
        yield Arm(name, "clock", replace(whole, clock=NEUTRAL), False)
    if trigger.arguments:
        yield Arm(name, "arguments", replace(whole, arguments=NEUTRAL), False)
    for other in trigger.suppressors[:1]:
        yield Arm(
            name, "suppressed", replace(whole, co_skills=tuple(sorted((*whole.co_skills, other)))), False
        )


def _context(trigger: TrueTrigger, truth: SkillTruth) -> Context:
    split = trigger.split
    return Context(
        history=trigger.history or NEUTRAL,
        phrasing=-1 if trigger.history else 0,
        co_skills=tuple(sorted(trigger.co_skills)),
        used_before=trigger.co_skills if split and truth.role == "sender" else (),
        used_after=trigger.co_skills if split and truth.role == "writer" else (),
        clock=trigger.clock[0] if trigger.clock else NEUTRAL,
        arguments=trigger.arguments[0] if trigger.arguments else NEUTRAL,
        horizon=HORIZON,
    )


def verify(
    folder: Path, truth: Truth, *, twins: Path, most: int | None = None, workers: int | None = None
) -> tuple[Checked, ...]:
    """Run the arms of the adversaries of a registry (the first `most` of them) with the literal agent.

    Raises:
        UsageError: a labelled package is not in `folder`.
    """
    wanted = {name: truth.skills[name] for name in truth.adversaries[:most]}
    arms = [arm for name, one in wanted.items() for arm in arms_of(name, one)]
    found: dict[int, Episode] = {}
    for twin in (False, True):
        chosen = {number: arm for number, arm in enumerate(arms) if (arm.element == "twin") is twin}
        if chosen:
            found |= _run(_setting(folder, chosen, wanted, twins if twin else None), chosen, workers)
    return tuple(_checked(arm, found[number]) for number, arm in enumerate(arms))


def _setting(
    folder: Path, arms: Mapping[int, Arm], wanted: Mapping[str, SkillTruth], twins: Path | None
) -> Setting:
    """Only the packages that take part are read; where there is a twin of one, it takes its place."""
    from conjunct.skills import read_registry
    from conjunct.skills.naming import with_unique_ids
    from conjunct.vet import VetOptions, prepare

    names = sorted(
        {arm.skill for arm in arms.values()} | {o for a in arms.values() for o in a.context.co_skills}
    )
    skills: list[Skill] = []
    for name in names:
        place = twins / name if twins is not None and name in wanted else folder / name
        if not place.is_dir():
            raise UsageError(f"{place}: there is no such package; do folder and labels belong together?")
        skills += read_registry(place).skills
    return prepare(Registry(str(folder), tuple(with_unique_ids(tuple(skills)))), VetOptions(), None)


def _run(setting: Setting, arms: Mapping[int, Arm], workers: int | None) -> dict[int, Episode]:
    from conjunct.run import LocalExecutor
    from conjunct.run.episode import EpisodeRunner

    specs = {
        number: EpisodeSpec(
            PROBE, arm.skill, arm.context, comparison=arm.skill, fingerprint=setting.fingerprint()
        )
        for number, arm in arms.items()
    }
    numbers: dict[str, list[int]] = {}
    for number, spec in specs.items():
        numbers.setdefault(spec.key(), []).append(number)
    done: dict[int, Episode] = {}
    with LocalExecutor(EpisodeRunner(setting), workers=workers) as executor:
        for key in numbers:
            executor.submit(specs[numbers[key][0]])
        while len(done) < len(specs):
            for episode in executor.finished():
                done |= dict.fromkeys(numbers[episode.spec.key()], episode)
    return done


def _checked(arm: Arm, episode: Episode) -> Checked:
    hands = {arm.skill, *arm.pair}
    shown = [v for v in episode.violations if hands & set(v.actors) and v.severity is not Severity.NOTE]
    return Checked(
        arm,
        bool(shown),
        min((violation.turn for violation in shown), default=None),
        tuple(dict.fromkeys(violation.invariant for violation in shown)),
        episode.trace.undetermined,
    )


def verified_rows(checked: Sequence[Checked]) -> tuple[Row, ...]:
    """How many arms are as the truth says, by what is missing."""
    groups: dict[str, list[Checked]] = {}
    for one in checked:
        element = one.arm.element.partition(" ")[0]
        name = {
            "": "planted trigger acts, at its turn",
            "twin": "its twin does not",
            "suppressed": "quiet when suppressed",
        }
        groups.setdefault(name.get(element, f"quiet without {element}"), []).append(one)
    return tuple(
        Row("arms as labelled", name, sum(one.right for one in group), len(group))
        for name, group in groups.items()
    )


def verified_remarks(checked: Sequence[Checked]) -> list[str]:
    """A line for each arm that is not as the truth says."""
    return [
        f"{one.arm.skill}, {one.arm.element or 'whole trigger'}: "
        + (f"acts at turn {one.turn} ({', '.join(one.invariants)})" if one.fired else "does not act")
        + (f", expected turn {one.arm.turn}" if one.arm.fires else ", expected nothing")
        + (f"; undetermined: {one.undetermined[0]}" if one.undetermined else "")
        for one in checked
        if not one.right
    ]
