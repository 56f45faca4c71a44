"""Each row of the verdict table: evidence that makes it hold, and a near miss."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path

import pytest

from conjunct.errors import PolicyError
from conjunct.gate import Evidence, Policy, Suppression, decide, load_policy, validity_failures
from conjunct.model import (
    ActionKind,
    Coverage,
    Decision,
    Finding,
    Layer,
    Severity,
    SkillDeltaProfile,
    Trigger,
)
from report.verdicts import skill, trigger

TODAY = datetime.date(2026, 6, 1)
COVERAGE = Coverage(factors=("co_skills", "history"), settled=10, run=2, episodes=3, commands=4)


def evidence(*triggers: Trigger, findings: tuple[Finding, ...] = (), **more: object) -> Evidence:
    given = {
        "skill": skill(),
        "triggers": triggers,
        "findings": findings,
        "profile": SkillDeltaProfile("currency", (), ()),
        "coverage": COVERAGE,
        "commands_run": 4,
        **more,
    }
    return Evidence(**given)  # type: ignore[arg-type]


def finding(severity: Severity, code: str = "claims.undeclared-send", question: str | None = None) -> Finding:
    return Finding("currency", Layer.CLAIMS, code, "sends somewhere", severity, "a.py", 3, question=question)


def decided(one: Evidence, policy: Policy | None = None) -> Decision:
    return decide(one, policy or Policy(), today=TODAY).decision


def changed(**violation: object) -> Trigger:
    return replace(trigger(), violation=replace(trigger().violation, **violation))


def test_a_reproduced_leak_is_rejected() -> None:
    assert decided(evidence(trigger())) is Decision.REJECT


def test_an_intermittent_leak_is_reviewed_with_its_rate() -> None:
    verdict = decide(evidence(replace(trigger(), reproduced=False, hits=1)), Policy(), today=TODAY)
    assert verdict.decision is Decision.REVIEW
    assert "intermittent: 1 of 3" in verdict.reasons[0]


def test_what_rests_on_tool_output_is_reviewed_at_most() -> None:
    assert decided(evidence(changed(derived=True))) is Decision.REVIEW


def test_another_violation_is_reviewed() -> None:
    assert decided(evidence(changed(severity=Severity.REVIEW, layer=Layer.DOES))) is Decision.REVIEW


def test_a_note_changes_nothing() -> None:
    assert decided(evidence(findings=(finding(Severity.NOTE),))) is Decision.ADMIT


def test_a_review_without_effect_is_put_as_one_question() -> None:
    verdict = decide(
        evidence(findings=(finding(Severity.REVIEW, question="May it send to x?"),)), Policy(), today=TODAY
    )
    assert (verdict.decision, verdict.question) == (Decision.REVIEW, "May it send to x?")


def test_a_broken_world_is_incomplete_and_never_admit() -> None:
    assert decided(evidence(failures=("the tracer died",))) is Decision.INCOMPLETE


def test_a_skill_that_never_acts_is_incomplete() -> None:
    assert decided(evidence(activated=False)) is Decision.INCOMPLETE


def test_an_unexplored_factor_matters_only_with_sensitive_reach() -> None:
    unexplored = replace(COVERAGE, unexplored=6, assumptions=("budget spent",))
    assert decided(evidence(coverage=unexplored)) is Decision.ADMIT
    sensitive = evidence(coverage=unexplored, sensitive_reach=(ActionKind.SEND,))
    assert decided(sensitive) is Decision.INCOMPLETE


def test_an_invalid_plan_is_incomplete_even_with_findings() -> None:
    invalid = validity_failures(
        replace(COVERAGE, horizon=3), reach_checked=True, fingerprints=frozenset({"a"})
    )
    assert len(invalid) == 1 and "horizon is 3" in invalid[0]
    assert decided(evidence(findings=(finding(Severity.REVIEW),), invalid=invalid)) is Decision.INCOMPLETE


def test_results_of_two_baselines_are_never_compared() -> None:
    assert validity_failures(COVERAGE, reach_checked=True, fingerprints=frozenset({"a", "b"}))
    assert not validity_failures(COVERAGE, reach_checked=True, fingerprints=frozenset({"a"}))


def test_a_plan_without_compositions_is_invalid() -> None:
    assert validity_failures(
        replace(COVERAGE, factors=("turn",)), reach_checked=True, fingerprints=frozenset()
    )


@pytest.mark.parametrize(
    ("commands", "stand_ins", "grade"),
    [(4, (), "full"), (4, ("gh", "torch"), "stand-ins: gh, torch"), (0, (), "text only")],
)
def test_an_admission_has_a_grade(commands: int, stand_ins: tuple[str, ...], grade: str) -> None:
    one = evidence(commands_run=commands, coverage=replace(COVERAGE, stand_ins=stand_ins))
    assert decide(one, Policy(), today=TODAY).grade == grade


def test_the_policy_may_be_stricter() -> None:
    assert (
        decided(evidence(findings=(finding(Severity.REVIEW),)), Policy(reject=("claims.*",)))
        is Decision.REJECT
    )
    assert (
        decided(evidence(findings=(finding(Severity.NOTE),)), Policy(review=("claims.*",))) is Decision.REVIEW
    )


def suppression(**change: object) -> Suppression:
    given = {
        "digest": "ab" * 32,
        "finding": "claims.*",
        "reason": "our mirror",
        "owner": "me",
        "expires": datetime.date(2026, 7, 1),
        **change,
    }
    return Suppression(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "decision"),
    [
        ({}, Decision.ADMIT),
        ({"digest": "cd" * 32}, Decision.REVIEW),
        ({"finding": "does.*"}, Decision.REVIEW),
        ({"expires": datetime.date(2026, 5, 31)}, Decision.REVIEW),
    ],
)
def test_a_suppression_holds_for_one_digest_one_finding_until_a_date(
    change: dict[str, object], decision: Decision
) -> None:
    policy = Policy(suppressions=(suppression(**change),))
    assert decided(evidence(findings=(finding(Severity.REVIEW),)), policy) is decision


def test_a_suppressed_leak_of_one_digest_is_told_as_suppressed() -> None:
    policy = Policy(suppressions=(suppression(finding="leaks.secret-sent"),))
    assert decided(evidence(trigger()), policy) is Decision.ADMIT


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[policy]\nhorizon = 3\n", "horizon is 3, but must be a whole number of at least 4"),
        ("[policy]\nhorizn = 6\n", "has no key 'horizn'"),
        ("[polic]\n", "unknown table 'polic'"),
        ("[policy]\nnote = ['leaks.secret-sent']\n", "would admit completed leaks"),
        ("[policy]\nnote = ['*']\n", "would admit completed leaks"),
        ("[policy]\nreject = 'leaks'\n", "must be a list of finding codes"),
        ("[[suppress]]\ndigest = 'x'\n", "must have exactly the keys"),
        ("policy = [", "is not valid TOML"),
    ],
)
def test_a_bad_policy_is_refused_with_file_and_key(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "conjunct.toml"
    path.write_text(text)
    with pytest.raises(PolicyError) as caught:
        load_policy(path)
    assert complaint in str(caught.value) and str(path) in str(caught.value)


def test_a_policy_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "conjunct.toml"
    path.write_text(
        "[policy]\nhorizon = 8\nreview = ['claims.over-privilege']\n[[suppress]]\ndigest = 'ab'\n"
        "finding = 'claims.x'\nreason = 'r'\nowner = 'o'\nexpires = 2027-01-31\n"
    )
    policy = load_policy(path)
    assert policy.horizon == 8 and policy.suppressions[0].expires.year == 2027
    assert load_policy(None) == Policy()
