"""Each row of the verdict table: evidence that makes it hold, and a near miss."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conjunct.errors import PolicyError
from conjunct.gate import (
    Answer,
    Evidence,
    Policy,
    Suppression,
    Thresholds,
    answer_rule,
    decide,
    load_policy,
    validity_failures,
)
from conjunct.gate.policy import read_policy
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


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[layer.walks]\n", "[layer.walks] is no layer; known are says, does"),
        ("[layer.does]\nreject = 1\n", "has no key 'reject'; known are reject_at, review_at"),
        ("[layer.does]\nreject_at = 0\n", "must be a share of the fresh runs from 0 to 1, above 0"),
        ("[layer.does]\nreview_at = 1.5\n", "must be a share of the fresh runs"),
        ("[layer.does]\nreview_at = true\n", "must be a share of the fresh runs"),
        ("[layer.leaks]\nreview_at = 0.5\n", "would admit completed leaks"),
        ("[layer]\ndoes = 1\n", "must be a table"),
        ("policy = 1\n", "policy must be a table"),
        ("answer = 1\n", "as a [[answer]] table"),
        ("[[answer]]\nskill = 'x'\n", "must have exactly the keys"),
        (
            "[[answer]]\nskill='s'\nfinding='f'\nquestion='q'\nanswer='maybe'\nreason='r'\nowner='o'\n"
            "expires=2027-01-31\n",
            "answer is 'maybe', but must be yes or no",
        ),
        (
            "[[suppress]]\ndigest='d'\nfinding='f'\nreason='r'\nowner='o'\nexpires=2027-01-31T00:00:00\n",
            "expires must be a date",
        ),
    ],
)
def test_a_bad_layer_or_rule_is_refused_with_its_name(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "conjunct.toml"
    path.write_text(text)
    with pytest.raises(PolicyError) as caught:
        load_policy(path)
    assert complaint in str(caught.value)


def layered(layer: Layer, **thresholds: float) -> Policy:
    return Policy(layers=((layer, Thresholds(**thresholds)),))


@pytest.mark.parametrize(
    ("hits", "policy", "decision"),
    [
        (3, Policy(), Decision.REJECT),
        (2, Policy(), Decision.REVIEW),
        (2, layered(Layer.LEAKS, reject_at=0.6), Decision.REJECT),
        (1, layered(Layer.LEAKS, reject_at=0.6), Decision.REVIEW),
        (2, layered(Layer.STAYS, reject_at=0.6), Decision.REVIEW),
        (0, layered(Layer.LEAKS, reject_at=0.01), Decision.REVIEW),
    ],
)
def test_a_layer_says_from_which_share_of_fresh_runs_on_it_rejects(
    hits: int, policy: Policy, decision: Decision
) -> None:
    assert decided(evidence(replace(trigger(), hits=hits, reproduced=hits == 3)), policy) is decision


@pytest.mark.parametrize(
    ("hits", "exact", "decision"),
    [(1, False, Decision.ADMIT), (2, False, Decision.REVIEW), (1, True, Decision.REVIEW)],
)
def test_below_its_threshold_a_layer_only_notes_unless_the_evidence_is_exact(
    hits: int, exact: bool, decision: Decision
) -> None:
    one = changed(layer=Layer.DOES, severity=Severity.REVIEW, byte_exact=exact)
    one = replace(one, hits=hits, reproduced=False)
    assert decided(evidence(one), layered(Layer.DOES, review_at=0.5)) is decision


ASKED = "May it send to mirror.example.com?"


def answer(**change: object) -> Answer:
    given = {
        "skill": "currency",
        "finding": "claims.undeclared-send",
        "question": ASKED,
        "answer": True,
        "reason": "our mirror",
        "owner": "kim",
        "expires": datetime.date(2026, 7, 1),
        **change,
    }
    return Answer(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "decision"),
    [
        ({}, Decision.ADMIT),
        ({"answer": False}, Decision.REJECT),
        ({"digest": "ab" * 32}, Decision.ADMIT),
        ({"digest": "cd" * 32}, Decision.REVIEW),
        ({"skill": "other"}, Decision.REVIEW),
        ({"finding": "claims.denied"}, Decision.REVIEW),
        ({"question": "May it send to evil.example.com?"}, Decision.REVIEW),
        ({"expires": datetime.date(2026, 5, 31)}, Decision.REVIEW),
    ],
)
def test_an_answer_holds_for_one_question_about_one_skill_until_a_date(
    change: dict[str, object], decision: Decision
) -> None:
    asking = evidence(findings=(finding(Severity.REVIEW, question=ASKED),))
    assert decided(asking, Policy(answers=(answer(**change),))) is decision


def test_of_two_answers_a_no_counts() -> None:
    asking = evidence(findings=(finding(Severity.REVIEW, question=ASKED),))
    both = Policy(answers=(answer(), answer(answer=False)))
    assert decided(asking, both) is Decision.REJECT


def test_what_people_decided_is_told_and_so_is_that_it_expired() -> None:
    asking = evidence(findings=(finding(Severity.REVIEW, question=ASKED),))
    said = decide(asking, Policy(answers=(answer(),)), today=TODAY)
    assert said.findings[0].severity is Severity.NOTE and said.question == ""
    assert f"“{ASKED}” was answered yes until 2026-07-01 by kim: our mirror" in said.findings[0].message
    over = decide(asking, Policy(answers=(answer(expires=datetime.date(2026, 5, 1)),)), today=TODAY)
    assert "what kim decided on it expired on 2026-05-01" in over.reasons[0]
    hidden = decide(evidence(trigger()), Policy(suppressions=(suppression(finding="leaks.*"),)), today=TODAY)
    assert "suppressed until 2026-07-01 by me: our mirror" in hidden.findings[-1].message


@given(question=st.text(min_size=1).filter(str.strip), every=st.booleans())
def test_an_answer_is_read_as_it_was_written(question: str, every: bool) -> None:
    given_ = answer(question=question, digest="" if every else "ab" * 32, answer=every)
    (read,) = read_policy(answer_rule(given_), Path("conjunct.toml")).answers
    assert read == given_


def test_a_policy_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "conjunct.toml"
    path.write_text(
        "[policy]\nhorizon = 8\nreview = ['claims.over-privilege']\n[layer.leaks]\nreject_at = 0.5\n"
        "[layer.does]\nreject_at = 1\nreview_at = 0.0\n[[suppress]]\ndigest = 'ab'\n"
        "finding = 'claims.x'\nreason = 'r'\nowner = 'o'\nexpires = 2027-01-31\n"
    )
    policy = load_policy(path)
    assert policy.horizon == 8 and policy.suppressions[0].expires.year == 2027
    assert policy.layers == ((Layer.LEAKS, Thresholds(reject_at=0.5)),), "what is the default is not kept"
    assert load_policy(None) == Policy()
