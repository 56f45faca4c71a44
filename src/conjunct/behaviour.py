"""The new version of a skill vetted with the old one as baseline: same probes, contexts and seeds for both.

Each version explores the contexts that it touches; then each is run in the contexts of the other, so that
every context either of them could tell from the neutral one has an episode of both. What differs there is
told, and run again with other seeds. Each is asked for what its own description offers.
"""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from conjunct.delta.versions import EffectChange, Pair, differs_again, effect_changes
from conjunct.diff import Behaviour, SkillDiff, trigger_changes, verdict_words
from conjunct.gate import Policy, decide, load_policy
from conjunct.model import ActionKind, Episode, EpisodeSpec, Registry, Skill, Verdict
from conjunct.report.json_report import skill_entry
from conjunct.report.progress import watching
from conjunct.run import LocalExecutor, Store, drive
from conjunct.run.drive import Plan, Progress
from conjunct.run.episode import EpisodeRunner
from conjunct.run.places import line_of
from conjunct.skills import read_registry
from conjunct.skills.naming import with_unique_ids
from conjunct.vet import VetOptions, prepare, require_world
from conjunct.vetting import Vetting

FRESH_RUNS = 2
"""Runs of each version, with other seeds, in a context in which they differ."""
MOST_CONFIRMED = 24
"""Contexts for each skill in which a difference is run again."""


@dataclass(frozen=True, slots=True)
class VersionOptions:
    """How two versions are compared."""

    registry: Path | None = None
    """The skills that both live with; by default those beside each of them."""
    store: Path | None = None
    """Where runs are kept; by default nowhere after the comparison."""
    policy: Path | None = None
    workers: int | None = None
    seed: int = 0


def with_behaviour(
    found: Sequence[SkillDiff], old: Path, new: Path, options: VersionOptions, *, watch: bool = False
) -> tuple[SkillDiff, ...]:
    """The changes of each skill with what the two versions do, for all skills that both sides have.

    Raises:
        IntakeError, PolicyError: a path or the policy is not valid.
        WorldError: this machine cannot isolate.
    """
    pairs = [one for one in found if one.old and one.new]
    if not pairs:
        return tuple(found)
    policy = load_policy(options.policy)
    with tempfile.TemporaryDirectory(prefix="conjunct-diff-") as folder:
        places = [Path(folder) / name for name in ("old", "new", "registry")]
        around = read_registry(options.registry, staging=places[2]) if options.registry else None
        before = _aligned(read_registry(old, staging=places[0]), pairs)
        after = read_registry(new, staging=places[1])
        names = {one.new for one in pairs}
        store = options.store or Path(folder) / "runs.sqlite"
        sides = [
            _Side(_among(registry, names, around, (before, after)), names, store, policy, options)
            for registry in (before, after)
        ]
        with _running(sides, options.workers, watch=watch, skills=2 * len(names)) as show:
            for side in sides:
                side.vet(show)
            compared = {one.new: _compare(one.new, sides, show) for one in pairs}
            verdicts = [side.verdicts() for side in sides]
        for side in sides:
            side.close()
    return tuple(
        replace(one, behaviour=_told(compared[one.new], *(table[one.new] for table in verdicts)))
        if one in pairs
        else one
        for one in found
    )


def _aligned(registry: Registry, pairs: Iterable[SkillDiff]) -> Registry:
    """The old registry with the ids of the new one: the same run of both versions then has one name."""
    ids = {one.old: one.new for one in pairs}
    taken = {skill.id for skill in registry.skills if skill.id not in ids}
    return replace(
        registry,
        skills=tuple(
            replace(
                skill,
                id=ids.get(
                    skill.id, f"{skill.id}~old" if skill.id in taken & set(ids.values()) else skill.id
                ),
            )
            for skill in registry.skills
        ),
    )


def _among(
    registry: Registry, names: set[str], around: Registry | None, versions: tuple[Registry, Registry]
) -> Registry:
    """The candidates of one side with their neighbours."""
    if around is None:
        return registry
    candidates = tuple(skill for skill in registry.skills if skill.id in names)
    # A version that is installed already makes way for the one that is looked at.
    own = {skill.name for one in versions for skill in one.skills if skill.id in names}
    others = with_unique_ids([skill for skill in around.skills if skill.name not in own])
    return replace(registry, skills=(*candidates, *others))


class _Side:
    """One version of everything: its setting, its workers, its episodes."""

    def __init__(
        self, registry: Registry, names: set[str], store: Path, policy: Policy, options: VersionOptions
    ) -> None:
        candidates = tuple(skill for skill in registry.skills if skill.id in names)
        self.skills: Mapping[str, Skill] = {skill.id: skill for skill in registry.skills}
        self.setting = prepare(registry, VetOptions(seed=options.seed), store)
        # Audits tell whether settled contexts can be trusted; here both versions run in the same ones.
        self.vetting = Vetting(self.setting, policy, candidates, audited=False)
        self.store = Store(store, packages=self.setting.package_key)
        self.executor = LocalExecutor(EpisodeRunner(self.setting), workers=options.workers)
        self.policy = policy

    def vet(self, show: Callable[[str, Progress], None]) -> None:
        self.vetting.run(self.executor, self.store, show)

    def explored(self, name: str) -> dict[str, Episode]:
        """Episodes of the tree, without those of a localisation or of a twin world."""
        episodes = self.vetting.found[name].episodes
        return {e.spec.key(): e for e in episodes if not e.spec.variant and not e.spec.stubbed}

    def run(self, specs: Iterable[EpisodeSpec], show: Callable[[str, Progress], None]) -> dict[str, Episode]:
        """Episodes of these specs, as far as the skills that they install are there."""
        able = tuple(one for one in specs if set(one.context.co_skills) <= self.skills.keys())
        into: list[Episode] = []
        if able:
            plan = _asking(able, into)
            drive({"": plan}, self.executor, self.store, watch=lambda p: show("contexts of the other", p))
        return {episode.spec.key(): episode for episode in into}

    def verdicts(self) -> dict[str, Verdict]:
        today = datetime.datetime.now(datetime.UTC).date()
        gathered = self.vetting.evidence()
        return {one.skill.id: decide(one, self.policy, today=today) for one in gathered}

    def close(self) -> None:
        self.store.close()


def _asking(specs: tuple[EpisodeSpec, ...], into: list[Episode]) -> Plan:
    into += yield specs


@contextmanager
def _running(
    sides: Sequence[_Side], workers: int | None, *, watch: bool, skills: int
) -> Iterator[Callable[[str, Progress], None]]:
    require_world(sides[-1].setting)
    with sides[0].executor, sides[1].executor, watching(enabled=watch, skills=skills) as show:
        yield show


def _compare(
    name: str, sides: Sequence[_Side], show: Callable[[str, Progress], None]
) -> tuple[tuple[EffectChange, ...], int]:
    """The effects in which the versions of one skill differ, and in how many contexts both were run."""
    old, new = sides
    known = [side.explored(name) for side in sides]
    specs = {key: episode.spec for table in known for key, episode in table.items()}
    for side, table in zip(sides, known, strict=True):
        table |= side.run((spec for key, spec in specs.items() if key not in table), show)
    pairs = _pairs(specs.values(), *known)
    folders = {"old": old.skills[name].name, "new": new.skills[name].name}
    changes = effect_changes(pairs, name, old_name=folders["old"], new_name=folders["new"])
    places = dict.fromkeys(change.spec for change in changes)
    chosen = tuple(places)[:MOST_CONFIRMED]
    fresh = {spec: _fresh(spec) for spec in chosen}
    asked = [one for runs in fresh.values() for one in runs]
    again = [side.run(asked, show) for side in sides]
    told = []
    for change in changes:
        if change.spec in fresh:
            repeated = _pairs(fresh[change.spec], *again)
            seen = differs_again(change, repeated, name, old=folders["old"], new=folders["new"])
            change = replace(change, reproduced=seen)
        told.append(_placed(change, sides[change.only_in != "old"], name))
    return tuple(told), len(pairs)


_LIKELY = {"connect": (ActionKind.CONNECT, ActionKind.SEND), "resolve": (ActionKind.SEND, ActionKind.CONNECT)}
"""Kinds of reach behind an effect, where they are others than its own."""


def _placed(change: EffectChange, side: _Side, name: str) -> EffectChange:
    """The change with its line, where the trace knows the file and the source the line."""
    kind = change.effect.kind
    if not change.file or change.line is not None or kind not in set(ActionKind):
        return change
    kinds = _LIKELY.get(kind, (ActionKind(kind),))
    line = line_of(side.setting.reach[name].actions, change.file, kinds, change.effect.resource)
    return change if line is None else replace(change, line=line)


def _pairs(
    specs: Iterable[EpisodeSpec], old: Mapping[str, Episode], new: Mapping[str, Episode]
) -> tuple[Pair, ...]:
    """Episodes of both versions; where one of the two is no observation there is nothing to compare."""
    found = ((spec, old.get(spec.key()), new.get(spec.key())) for spec in specs)
    return tuple(
        Pair(spec, one, other)
        for spec, one, other in found
        if one is not None
        and other is not None
        and not one.trace.undetermined
        and not other.trace.undetermined
    )


def _fresh(spec: EpisodeSpec) -> tuple[EpisodeSpec, ...]:
    """The same run with other canaries, pids and randomness."""
    return tuple(
        replace(
            spec,
            seed=spec.seed + 1 + number,
            comparison=f"{spec.comparison}+{number}",
            variant=f"randomness:{number}",
        )
        for number in range(FRESH_RUNS)
    )


def _told(compared: tuple[tuple[EffectChange, ...], int], before: Verdict, after: Verdict) -> Behaviour:
    entries = [skill_entry(verdict) for verdict in (before, after)]
    effects, contexts = compared
    return Behaviour(
        verdict_words(entries[0]),
        verdict_words(entries[1]),
        trigger_changes(*entries),
        missing="" if contexts else "not compared: no context was run with both versions",
        effects=effects,
        compared=contexts,
    )
