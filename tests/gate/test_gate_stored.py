"""Evidence survives the store whole, and is not judged where anything but the judging part changed."""

from __future__ import annotations

import datetime
import json
from dataclasses import fields, replace

import pytest

from conjunct.errors import StoreError
from conjunct.gate import Evidence, Policy, decide
from conjunct.gate.stored import (
    StoredSkill,
    StoredVetting,
    differences,
    evidence_key,
    other_baseline,
    pack_evidence,
    pack_vetting,
    plan_of,
    unpack_evidence,
    unpack_vetting,
    verdict_key,
)
from conjunct.model import ActionKind, Coverage, Finding, Layer, Severity, SkillDeltaProfile
from conjunct.provenance.alerts import Answer as AlertAnswer
from conjunct.provenance.alerts import Answered
from conjunct.provenance.sarif import Alert
from conjunct.report.json_report import skill_entry
from report.verdicts import HOSTILE, skill, trigger

TODAY = datetime.date(2026, 6, 1)
EVIDENCE = Evidence(
    skill=skill(),
    triggers=(trigger(),),
    findings=(Finding("currency", Layer.DOES, "does.x", HOSTILE + "\udcff", Severity.REVIEW, "a.py", 3),),
    profile=SkillDeltaProfile("currency", (0.25,), (0.0, 1 / 3)),
    coverage=Coverage(factors=("co_skills", "history"), settled=10, stand_ins=("gh",), smallest_rate=0.1),
    failures=("the tracer died",),
    activated=False,
    sensitive_reach=(ActionKind.SEND,),
    commands_run=7,
)


def vetting(**change: object) -> StoredVetting:
    one = skill()
    given = {
        "path": "/registry",
        "registry": "",
        "battery": "",
        "trust": "",
        "title": "registry",
        "seed": 0,
        "fingerprint": "f",
        "baseline": (("battery", "b1"), ("world", "w1")),
        "battery_version": "1",
        "agent": "literal",
        "plan": plan_of(Policy()),
        "budget": "",
        "candidates": (StoredSkill(one.id, one.digest, one.path),),
        "neighbours": (),
        **change,
    }
    return StoredVetting(**given)  # type: ignore[arg-type]


def test_evidence_from_the_store_gives_the_same_verdict_as_fresh_evidence() -> None:
    again = unpack_evidence(pack_evidence(EVIDENCE), skill())
    for policy in (Policy(), Policy(reject=("does.*",)), Policy(note=("does.*",))):
        one, other = (decide(evidence, policy, today=TODAY) for evidence in (EVIDENCE, again))
        assert json.dumps(skill_entry(other)) == json.dumps(skill_entry(one))
    changed = [
        field.name
        for field in fields(Evidence)
        if field.name not in ("skill", "findings", "profile")
        and getattr(again, field.name) != getattr(EVIDENCE, field.name)
    ]
    assert changed == []


def test_what_is_no_evidence_is_told_with_the_skill() -> None:
    for data in (b"nothing", pack_vetting(vetting())):
        with pytest.raises(StoreError, match="currency: its stored evidence cannot be read"):
            unpack_evidence(data, skill())


def test_a_vetting_survives_the_store() -> None:
    alert = Alert("scanner", "R1", "error", HOSTILE, "a.py", 3)
    one = vetting(
        failures=("x",), alerts=(Answered(alert, AlertAnswer.CONTRADICTED, "as declared", "s", "a.py"),)
    )
    assert unpack_vetting(pack_vetting(one)) == one


def test_a_vetting_of_another_version_is_refused() -> None:
    with pytest.raises(StoreError, match="another version of conjunct"):
        unpack_vetting(pack_vetting(vetting(version=99)))


def test_a_policy_that_only_judges_otherwise_needs_no_new_runs() -> None:
    policy = Policy(reject=("claims.*",), review=("does.*",))
    assert differences(vetting(), policy, [skill()]) == ()


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (Policy(horizon=8), "horizon = 8, the stored runs were made with 6"),
        (Policy(strength=1), "strength = 1"),
        (Policy(most_episodes=5), "most_episodes = 5"),
    ],
)
def test_a_policy_with_another_plan_is_refused(policy: Policy, told: str) -> None:
    (found,) = differences(vetting(), policy, [skill()])
    assert told in found


def test_packages_that_changed_came_or_went_are_told() -> None:
    assert "has changed" in differences(vetting(), Policy(), [replace(skill(), digest="cd" * 32)])[0]
    assert "no longer there" in differences(vetting(), Policy(), [])[0]
    assert "was not there" in differences(vetting(), Policy(), [skill(), skill("other")])[0]


def test_another_battery_or_world_is_told_by_name() -> None:
    assert other_baseline(vetting(), (("battery", "b1"), ("world", "w1"))) == ()
    assert other_baseline(vetting(), (("battery", "b2"), ("world", "w1"))) == (
        "the battery is another one (b1 → b2)",
    )


def test_the_key_holds_everything_around_a_package_and_no_judging() -> None:
    def key(**change: object) -> str:
        given = {"fingerprint": "f", "seed": 0, "plan": plan_of(Policy()), **change}
        return evidence_key(skill(), [skill(), skill("other")], **given)  # type: ignore[arg-type]

    assert key() == key(plan=plan_of(Policy(reject=("x.*",))))
    assert len({key(), key(seed=1), key(fingerprint="g"), key(plan=plan_of(Policy(horizon=7)))}) == 4
    assert evidence_key(skill(), [skill()], fingerprint="f", seed=0, plan=plan_of(Policy())) != key()
    assert verdict_key("e", Policy()) != verdict_key("e", Policy(reject=("x.*",)))
    assert verdict_key("e", Policy()) != verdict_key("e", Policy(), "5 runs")
