"""What a store keeps so that a changed policy can be applied without new runs: the evidence on each skill.

Evidence holds nothing that a policy decided, only what its plan (horizon, strength, runs) let the runs show.
"""

from __future__ import annotations

import hashlib
import json
import typing
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import msgspec

from conjunct.errors import StoreError
from conjunct.gate.decide import Evidence
from conjunct.gate.policy import Policy
from conjunct.model import Finding, Skill
from conjunct.provenance.alerts import Answered
from conjunct.run.codec import decode, encode

EVIDENCE_VERSION = 1
"""Raised whenever evidence of an earlier conjunct can no longer carry a verdict of this one."""
_ORIGIN = "provenance."
_AGAIN = "run `conjunct vet` on it again"


@dataclass(frozen=True, slots=True)
class StoredSkill:
    """One skill of a vetting, as it was told."""

    id: str
    digest: str
    path: str


@dataclass(frozen=True, slots=True)
class StoredVetting:
    """One `conjunct vet`: what it was asked, and what of its report is about no single skill."""

    path: str
    """Absolute; empty where only `registry` was given, as are the others."""
    registry: str
    battery: str
    trust: str
    title: str
    """What was vetted, as it was named."""
    seed: int
    fingerprint: str
    baseline: tuple[tuple[str, str], ...]
    """The parts of the fingerprint, by name."""
    battery_version: str
    agent: str
    plan: tuple[tuple[str, str], ...]
    """The parts of the admission policy that decided which runs were made."""
    budget: str
    candidates: tuple[StoredSkill, ...]
    neighbours: tuple[StoredSkill, ...]
    findings: tuple[Finding, ...] = ()
    failures: tuple[str, ...] = ()
    alerts: tuple[Answered, ...] | None = None
    version: int = EVIDENCE_VERSION


def plan_of(policy: Policy) -> tuple[tuple[str, str], ...]:
    """The parts of a policy that decide which runs are made: under another plan evidence is not the same."""
    return tuple((name, str(getattr(policy, name))) for name in ("horizon", "strength", "most_episodes"))


def evidence_key(
    skill: Skill, registry: Iterable[Skill], *, fingerprint: str, seed: int, plan: Sequence[Sequence[str]]
) -> str:
    """Digest of everything but the package and the judging part of a policy that evidence depends on."""
    others = sorted((other.id, other.digest) for other in registry if other.id != skill.id)
    # Whose signature counts is no part of the package, and may change without it.
    signed = [repr(finding) for finding in skill.findings if finding.code.startswith(_ORIGIN)]
    text = json.dumps([fingerprint, seed, [list(pair) for pair in plan], others, signed])
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def verdict_key(evidence: str, policy: Policy, budget: str = "") -> str:
    """Digest of everything but the package that a verdict depends on: evidence, policy, budget."""
    text = json.dumps([evidence, repr(policy), budget])
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def pack_evidence(evidence: Evidence) -> bytes:
    """The evidence on one skill without the package, which is read again."""
    return encode(tuple((one.name, getattr(evidence, one.name)) for one in _packed()))


def unpack_evidence(data: bytes, skill: Skill) -> Evidence:
    """The evidence that `pack_evidence` made `data` from. Raises `StoreError` where it cannot be read."""
    kinds = typing.get_type_hints(Evidence)
    known = {one.name for one in _packed()}
    try:
        values: dict[str, typing.Any] = {
            name: msgspec.convert(value, kinds[name])
            for name, value in decode(data, list[tuple[str, typing.Any]])
            if name in known
        }
        return Evidence(skill=skill, **values)
    except (msgspec.MsgspecError, zlib.error, TypeError, ValueError) as error:
        raise StoreError(f"{skill.id}: its stored evidence cannot be read ({error}); {_AGAIN}") from error


def _packed() -> list[typing.Any]:
    return [one for one in fields(Evidence) if one.name != "skill"]


def pack_vetting(vetting: StoredVetting) -> bytes:
    """One vetting as bytes."""
    return encode(vetting)


def unpack_vetting(data: bytes) -> StoredVetting:
    """The vetting that `pack_vetting` made `data` from. Raises `StoreError` for one of another version."""
    try:
        known = decode(data, StoredVetting)
    except (msgspec.MsgspecError, zlib.error) as error:
        raise StoreError(f"the stored vetting cannot be read ({error}); {_AGAIN}") from error
    if known.version != EVIDENCE_VERSION:
        raise StoreError(
            f"the stored evidence is of version {known.version}, from another version of conjunct; {_AGAIN}"
        )
    return known


def differences(vetting: StoredVetting, policy: Policy, skills: Iterable[Skill]) -> tuple[str, ...]:
    """Why stored runs cannot be judged under `policy` for the packages `skills` as they are now.

    Empty where they can: the plan is the same, and so is every package.
    """
    told = []
    made = dict(vetting.plan)
    for name, value in plan_of(policy):
        if made.get(name) != value:
            told.append(f"the policy has {name} = {value}, the stored runs were made with {made.get(name)}")
    was = {one.id: one.digest for one in (*vetting.candidates, *vetting.neighbours)}
    now = {skill.id: skill.digest for skill in skills}
    for name in sorted(was.keys() | now.keys()):
        if name not in now:
            told.append(f"{name} was vetted and is no longer there")
        elif name not in was:
            told.append(f"{name} was not there when the others were vetted")
        elif was[name] != now[name]:
            told.append(f"{name} has changed since it was vetted ({was[name][:12]} → {now[name][:12]})")
    return tuple(told)


def other_baseline(vetting: StoredVetting, now: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The parts of the baseline that are not as they were when the runs were made."""
    was = dict(vetting.baseline)
    return tuple(
        f"the {name} is another one ({was[name][:24]} → {value[:24]})"
        for name, value in now
        if name in was and was[name] != value
    )
