"""`conjunct gate`: an admission policy applied to stored evidence. Runs nothing, needs no world."""

from __future__ import annotations

import datetime
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conjunct import __version__
from conjunct.agent import LiteralAgent
from conjunct.battery import load_battery
from conjunct.errors import IntakeError, StoreError
from conjunct.gate import Evidence, decide, load_policy
from conjunct.gate.policy import POLICY_FILE
from conjunct.gate.stored import (
    StoredVetting,
    differences,
    evidence_key,
    other_baseline,
    unpack_evidence,
    unpack_vetting,
    verdict_key,
)
from conjunct.model import Registry, Skill
from conjunct.provenance import load_trust
from conjunct.provenance.signatures import with_signatures
from conjunct.provenance.trust import TRUST_FILE
from conjunct.record import judge_of, record_verdicts
from conjunct.report.summary import Report, worst_first
from conjunct.run import Store
from conjunct.run.store import DEFAULT_STORE
from conjunct.vet import VetOptions, beside, read_candidates
from conjunct.world.runtime_build import runtime_digest
from conjunct.world.spec import Layout, Limits

_MOST_TOLD = 5


@dataclass(frozen=True, slots=True)
class GateOptions:
    """Which stored vetting to judge, under which policy."""

    path: Path | None = None
    """What was vetted, or the registry of which only changed skills were; by default what was vetted last."""
    store: Path | None = None
    policy: Path | None = None
    """By default `conjunct.toml` beside the registry."""


def gate_stored(options: GateOptions) -> Report:
    """Decide again about every candidate of a stored vetting: the report that `vet` would have given.

    Raises:
        StoreError: the store holds no such vetting, or its runs say nothing about the packages, the plan, the
            battery or the world of today; the message tells each difference.
        PolicyError: the admission policy is not valid.
    """
    started = time.monotonic()
    began = datetime.datetime.now(datetime.UTC)
    path = options.store or DEFAULT_STORE
    if not path.exists():
        raise StoreError(f"{path}: there is no run store here; run `conjunct vet` first or pass --store")
    store = Store(path)
    vetting = _vetting(store, options.path)
    asked = _asked(vetting)
    policy = load_policy(beside(asked, options.policy, POLICY_FILE))
    registry = _packages(asked, vetting)
    told = [*other_baseline(vetting, _baseline(vetting)), *differences(vetting, policy, registry.skills)]
    if told:
        raise StoreError(_refusal(path, told))
    gathered = _evidence(store, vetting, registry)
    verdicts = [decide(one, policy, today=began.date()) for one in gathered]
    record_verdicts(
        store,
        verdicts,
        policy,
        key_of=lambda skill: verdict_key(_key(skill, vetting, registry), policy, vetting.budget),
        by=judge_of(f"{vetting.agent} {dict(vetting.baseline)['version of the agent']}"),
        battery=vetting.battery_version,
    )
    store.close()
    return Report(
        registry=vetting.title,
        verdicts=worst_first(verdicts),
        registry_size=len(registry.skills),
        findings=vetting.findings,
        fingerprint=vetting.fingerprint,
        battery=vetting.battery_version,
        agent=vetting.agent,
        seed=vetting.seed,
        seconds=time.monotonic() - started,
        failures=vetting.failures,
        started=began.isoformat(timespec="seconds"),
        alerts=vetting.alerts,
    )


def _vetting(store: Store, path: Path | None) -> StoredVetting:
    data = store.vetting(None if path is None else str(path.absolute()))
    if data is None:
        what = "no vetting whose evidence was kept" if path is None else f"no vetting of {path}"
        raise StoreError(f"{store.path}: holds {what}; run `conjunct vet` with this store first")
    return unpack_vetting(data)


def _asked(vetting: StoredVetting) -> VetOptions:
    def given(text: str) -> Path | None:
        return Path(text) if text else None

    return VetOptions(
        path=given(vetting.path) or given(vetting.registry),
        registry=given(vetting.registry) if vetting.path else None,
        battery=given(vetting.battery),
        trust=given(vetting.trust),
        seed=vetting.seed,
    )


def _packages(asked: VetOptions, vetting: StoredVetting) -> Registry:
    """The packages as they are now, named as they were when they were vetted."""
    try:
        registry, _ = read_candidates(asked)
    except IntakeError as error:
        raise StoreError(f"what was vetted is no longer there: {error}") from error
    registry = with_signatures(registry, load_trust(beside(asked, asked.trust, TRUST_FILE)))
    told = {one.id: one.path for one in (*vetting.candidates, *vetting.neighbours)}
    skills = tuple(replace(skill, path=told.get(skill.id, skill.path)) for skill in registry.skills)
    return replace(registry, skills=skills)


def _baseline(vetting: StoredVetting) -> tuple[tuple[str, str], ...]:
    """What the baseline would be today, as far as it can be told without starting an agent."""
    battery = load_battery(Path(vetting.battery) if vetting.battery else None)
    literal = LiteralAgent()
    agent = (("version of the agent", literal.version),) if vetting.agent == literal.id else ()
    return (
        ("version of conjunct", __version__),
        *agent,
        ("battery", battery.digest),
        ("world", runtime_digest()),
        ("layout of the world", repr(Layout())),
        ("limits of the world", repr(Limits())),
    )


def _key(skill: Skill, vetting: StoredVetting, registry: Registry) -> str:
    return evidence_key(
        skill, registry.skills, fingerprint=vetting.fingerprint, seed=vetting.seed, plan=vetting.plan
    )


def _evidence(store: Store, vetting: StoredVetting, registry: Registry) -> list[Evidence]:
    found, missing = [], []
    for candidate in vetting.candidates:
        skill = registry.by_id(candidate.id)
        data = store.evidence(skill.id, skill.digest, _key(skill, vetting, registry))
        if data is None:
            missing.append(f"no evidence on {skill.id} as it and its signatures are now")
        else:
            found.append(unpack_evidence(data, skill))
    if missing:
        raise StoreError(_refusal(store.path, missing))
    return found


def _refusal(path: Path, told: Sequence[str]) -> str:
    shown = "; ".join(told[:_MOST_TOLD])
    more = f"; and {len(told) - _MOST_TOLD} more" if len(told) > _MOST_TOLD else ""
    return f"{path}: the stored runs cannot be judged again: {shown}{more}; run `conjunct vet` instead"
