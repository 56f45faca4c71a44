"""What changed from one version of a skill to the next, as far as it can be told without running anything.

Package, declaration, origin and reach are compared as they are, behaviour from stored verdicts on both
versions; `conjunct.behaviour` runs both.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conjunct.delta.versions import EffectChange
from conjunct.directives import compile_registry
from conjunct.errors import IntakeError, StoreError
from conjunct.model import Declaration, Finding, ReachableAction, ReachSet, Severity, Skill
from conjunct.provenance import check_claims, neighbourhood_of
from conjunct.provenance.lock import changed_files, content_of
from conjunct.provenance.origin import origin_of
from conjunct.reach import reachable_actions
from conjunct.run.store import Store
from conjunct.skills import read_registry

_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that is there in one version only (`+`, `-`), or differs (`~`)."""

    mark: str
    text: str
    file: str = ""
    line: int | None = None
    widens: bool = False
    """The new version can do, or asks for, more than the old one."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Verdicts of both versions, where both were vetted."""

    before: str
    """Verdict and grade of the old version; empty where it was not vetted."""
    after: str
    changes: tuple[Change, ...] = ()
    """Triggers that came and went, if both were vetted."""
    missing: str = ""
    """Why behaviour is not compared, or what limits the comparison; empty where nothing does."""
    effects: tuple[EffectChange, ...] = ()
    """Effects that came, went, or show elsewhere, from runs of both versions in the same contexts."""
    compared: int = 0
    """Contexts in which both versions were run."""


@dataclass(frozen=True, slots=True)
class SkillDiff:
    """Everything that changed in one skill."""

    old: str
    new: str
    """Ids; one is empty where the skill was added or removed."""
    old_digest: str
    new_digest: str
    files: tuple[str, ...] = ()
    """`+ path`, `- path`, `~ path`."""
    declaration: tuple[Change, ...] = ()
    origin: tuple[Change, ...] = ()
    reach: tuple[Change, ...] = ()
    findings: tuple[Change, ...] = ()
    behaviour: Behaviour = Behaviour("", "")
    broken: str = ""
    """Why there is no such skill on one side: the package cannot be read. Empty where it can."""

    @property
    def same(self) -> bool:
        """Whether it is the same package under the same id."""
        return self.old_digest == self.new_digest and self.old == self.new

    @property
    def widens(self) -> bool:
        """Whether the new version can do, or asks for, more than the old one."""
        told = (*self.declaration, *self.origin, *self.reach, *self.findings, *self.behaviour.changes)
        new = any(one.mark == "+" and one.reproduced is not False for one in self.behaviour.effects)
        return new or any(one.widens for one in told)


@dataclass(frozen=True, slots=True)
class _Read:
    """One version, read."""

    skill: Skill
    reach: ReachSet
    findings: tuple[Finding, ...]


def diff_paths(old: Path, new: Path, store: Path | None = None) -> tuple[SkillDiff, ...]:
    """Compare two versions of a skill, or two registries, by skill; unchanged skills are left out.

    Two packages of one skill each are compared whatever their names. `store` is a run store in which both
    may have been vetted; behaviour is compared from what it holds, and not at all without it.

    Where one side cannot be read as a skill, the skills of the other came or went, and `broken` says why.

    Raises:
        IntakeError: a path does not exist, or neither holds anything that can be vetted.
        StoreError: `store` is named and is no run store.
    """
    if store is not None and not store.exists():
        raise StoreError(
            f"{store}: there is no run store here; run `conjunct vet` first or leave out --store"
        )
    records = Store(store) if store is not None else None
    with (
        tempfile.TemporaryDirectory(prefix="conjunct-diff-") as one,
        tempfile.TemporaryDirectory(prefix="conjunct-diff-") as other,
    ):
        (before, no_old), (after, no_new) = _read(old, Path(one)), _read(new, Path(other))
        if no_old and no_new:
            raise IntakeError(f"{no_old}; and {no_new}")
        found = [
            replace(
                _compare(*pair, records),
                broken=(no_old if pair[0] is None else "") or (no_new if pair[1] is None else ""),
            )
            for pair in _pairs(before, after)
        ]
    if records is not None:
        records.close()
    return tuple(one for one in found if not one.same)


def _read(path: Path, staging: Path) -> tuple[dict[str, _Read], str]:
    """The skills at a path, or none and why."""
    try:
        registry = read_registry(path, staging=staging)
    except IntakeError as error:
        if not path.exists():
            raise
        return {}, str(error)
    compiled = compile_registry(registry)
    sets = {skill.id: reachable_actions(skill, compiled[skill.id]) for skill in registry.skills}
    neighbours = neighbourhood_of([(skill, sets[skill.id]) for skill in registry.skills])
    found = {
        skill.id: _Read(
            skill,
            sets[skill.id],
            (*skill.findings, *check_claims(skill, sets[skill.id], neighbours=neighbours)),
        )
        for skill in registry.skills
    }
    return found, ""


def _pairs(
    before: Mapping[str, _Read], after: Mapping[str, _Read]
) -> Sequence[tuple[_Read | None, _Read | None]]:
    """Versions of the same skill: by id, then by name where only one has it; the rest came or went."""
    if len(before) == 1 and len(after) == 1:
        return [(next(iter(before.values())), next(iter(after.values())))]
    pairs: list[tuple[_Read | None, _Read | None]] = [
        (one, after[name]) for name, one in before.items() if name in after
    ]
    left = [one for name, one in before.items() if name not in after]
    new = [one for name, one in after.items() if name not in before]
    for one in left:
        same = [other for other in new if other.skill.name == one.skill.name]
        alone = sum(other.skill.name == one.skill.name for other in left) == 1
        match = same[0] if len(same) == 1 and alone else None
        pairs.append((one, match))
        if match is not None:
            new.remove(match)
    return [*pairs, *((None, one) for one in new)]


def _compare(old: _Read | None, new: _Read | None, records: Store | None) -> SkillDiff:
    if old is None or new is None:
        one = old or new
        assert one is not None
        mark = "-" if new is None else "+"
        return SkillDiff(
            old=old.skill.id if old else "",
            new=new.skill.id if new else "",
            old_digest=old.skill.digest if old else "",
            new_digest=new.skill.digest if new else "",
            files=tuple(f"{mark} {entry.path}" for entry in one.skill.entries),
            reach=_reach({}, _by_key(one.reach)) if new else _reach(_by_key(one.reach), {}),
            findings=_findings((), one.findings) if new else _findings(one.findings, ()),
            behaviour=_behaviour("", one.skill.digest, records) if new else Behaviour("", ""),
        )
    return SkillDiff(
        old=old.skill.id,
        new=new.skill.id,
        old_digest=old.skill.digest,
        new_digest=new.skill.digest,
        files=changed_files(_contents(old.skill), _contents(new.skill)),
        declaration=tuple(_declaration(old, new)),
        origin=tuple(_origin(old.skill, new.skill)),
        reach=_reach(_by_key(old.reach), _by_key(new.reach)),
        findings=_findings(old.findings, new.findings),
        behaviour=_behaviour(old.skill.digest, new.skill.digest, records),
    )


def _contents(skill: Skill) -> dict[str, str]:
    return {entry.path: content_of(entry) for entry in skill.entries}


# ---- what a user reads


def _declaration(old: _Read, new: _Read) -> list[Change]:
    before, after = old.skill.declaration, new.skill.declaration
    changes = []
    for name in ("name", "description", "compatibility", "license"):
        was, now = getattr(before, name) or "", getattr(after, name) or ""
        if was != now:
            changes.append(_changed(name, was, now, new.skill, after))
    widening = ("allowed-tools", "requires variable", "requires program")
    for name, was_all, now_all in zip(widening, _lists(before), _lists(after), strict=True):
        changes += [Change("-", f"{name} {_short(item)}") for item in was_all if item not in now_all]
        changes += [
            Change("+", f"{name} {_short(item)}", new.skill.manifest, widens=True)
            for item in now_all
            if item not in was_all
        ]
    was_said, now_said = dict(before.metadata), dict(after.metadata)
    for key in sorted(was_said.keys() | now_said.keys()):
        if was_said.get(key) != now_said.get(key):
            changes.append(_changed(key, was_said.get(key, ""), now_said.get(key, ""), new.skill, after))
    was_declared = {_capability(one) for one in old.reach.capabilities}
    now_declared = {_capability(one) for one in new.reach.capabilities}
    changes += [Change("-", f"declares {one}") for one in sorted(was_declared - now_declared)]
    for one in new.reach.capabilities:
        if _capability(one) in now_declared - was_declared:
            now_declared.discard(_capability(one))
            changes.append(Change("+", f"declares {_capability(one)}", one.file, one.line, widens=True))
    return changes


def _lists(declaration: Declaration) -> tuple[tuple[str, ...], ...]:
    tools = tuple(
        f"{one.tool}({one.pattern})" if one.pattern is not None else one.tool
        for one in declaration.allowed_tools
    )
    return tools, declaration.requires_environment, declaration.requires_programs


def _changed(name: str, was: str, now: str, skill: Skill, declaration: Declaration) -> Change:
    line = dict(declaration.line_of).get(name.split(".")[0])
    if not was:
        return Change("+", f"{name}: {_short(now)}", skill.manifest, line)
    if not now:
        return Change("-", f"{name}: {_short(was)}")
    return Change("~", f"{name}: {_short(was)} → {_short(now)}", skill.manifest, line)


def _capability(one: object) -> str:
    return f"{one.kind} {one.resource_class} {_short(one.resource)}"  # type: ignore[attr-defined]


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"


def _origin(old: Skill, new: Skill) -> list[Change]:
    was, now = origin_of(old).facts(), origin_of(new).facts()
    return [
        Change(
            "~", f"{key}: {was.get(key, 'unknown')} → {now.get(key, 'unknown')}", widens=key == "publisher"
        )
        for key in ("source", "publisher", "claimed_repository")
        if was.get(key) != now.get(key)
    ]


# ---- what it can do

_Key = tuple[str, ...]


def _by_key(reach: ReachSet) -> dict[_Key, ReachableAction]:
    """Actions without their lines: what only moved in a file is no change; what lost its guard is."""
    found: dict[_Key, ReachableAction] = {}
    for one in reach.actions:
        guards = tuple(guard.text for guard in one.guards)
        found.setdefault((one.kind, one.resource_class, one.resource, one.file, *guards), one)
    return found


def _reach(was: Mapping[_Key, ReachableAction], now: Mapping[_Key, ReachableAction]) -> tuple[Change, ...]:
    known = {key[:3] for key, one in was.items() if not one.mention}
    gone = [Change("-", _told(one), one.file, one.line) for key, one in was.items() if key not in now]
    new = [
        Change("+", _told(one), one.file, one.line, widens=not one.mention and key[:3] not in known)
        for key, one in now.items()
        if key not in was
    ]
    return tuple(sorted((*gone, *new), key=lambda one: (one.file, one.line or 0, one.mark)))


def _told(action: ReachableAction) -> str:
    told = f"{action.kind} {action.resource_class} {_short(action.resource)}"
    if action.guards:
        told += f", only if {_short(action.guards[-1].text)}"
    return told + (" (mentioned)" if action.mention else "")


def _findings(was: Sequence[Finding], now: Sequence[Finding]) -> tuple[Change, ...]:
    before, after = {_finding_key(one): one for one in was}, {_finding_key(one): one for one in now}
    gone = [
        Change("-", f"{one.code}: {_short(one.message)}") for key, one in before.items() if key not in after
    ]
    new = [
        Change(
            "+",
            f"{one.code}: {_short(one.message)}",
            one.file or "",
            one.line,
            widens=one.severity is not Severity.NOTE,
        )
        for key, one in after.items()
        if key not in before
    ]
    return (*gone, *new)


def _finding_key(finding: Finding) -> tuple[str, ...]:
    """A finding without line numbers, which move with every edit."""
    told = finding.message.replace(f"{finding.file}:{finding.line}", finding.file or "")
    return (finding.code, finding.severity, finding.file or "", told)


# ---- what it did


def _behaviour(old: str, new: str, records: Store | None) -> Behaviour:
    if records is None:
        return Behaviour("", "", missing="not compared: no run store in which both versions were vetted")
    before = records.report_on(old) if old else None
    after = records.report_on(new)
    was, now = (verdict_words(one[0]) if one else "" for one in (before, after))
    if before is None or after is None:
        which = " and ".join(
            name for name, one in (("the old version", before), ("the new version", after)) if one is None
        )
        return Behaviour(was, now, missing=f"not compared: {which} was not vetted in {records.path}")
    limits = ""
    if before[1] != after[1]:
        limits = (
            "vetted in different surroundings (neighbours, policy, battery or seed): these may account for it"
        )
    return Behaviour(was, now, trigger_changes(before[0], after[0]), limits)


def trigger_changes(before: Mapping[str, object], after: Mapping[str, object]) -> tuple[Change, ...]:
    """Triggers that came and went from one report entry to another."""
    was, now = _triggers(before), _triggers(after)
    return (
        *(Change("-", text) for text in was if text not in now),
        *(Change("+", text, widens=True) for text in now if text not in was),
    )


def verdict_words(entry: Mapping[str, object]) -> str:
    """Verdict and grade of a report entry."""
    grade = f" ({entry['grade']})" if entry.get("grade") else ""
    return f"{entry['verdict']}{grade}"


def _triggers(entry: Mapping[str, object]) -> list[str]:
    listed = entry.get("triggers")
    found = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return [f"{one.get('effect')}, when {one.get('sentence')}" for one in found]
