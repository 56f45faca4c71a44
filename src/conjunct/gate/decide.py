"""From evidence to a verdict: the first row of the table that holds."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace

from conjunct.gate.policy import Policy
from conjunct.gate.rules import Answer, Suppression
from conjunct.model import (
    ActionKind,
    Coverage,
    Decision,
    Finding,
    Severity,
    Skill,
    SkillDeltaProfile,
    Trigger,
    Verdict,
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything the verdict on one skill rests on."""

    skill: Skill
    triggers: tuple[Trigger, ...]
    findings: tuple[Finding, ...]
    profile: SkillDeltaProfile
    coverage: Coverage
    invalid: tuple[str, ...] = ()
    """Failed conditions of validity."""
    failures: tuple[str, ...] = ()
    """What we failed to do: world, baseline, budget."""
    activated: bool = True
    sensitive_reach: tuple[ActionKind, ...] = ()
    commands_run: int = 0
    seconds: float = 0.0


def decide(evidence: Evidence, policy: Policy, *, today: datetime.date) -> Verdict:
    """The verdict on one skill under a policy: pure, the same evidence gives the same verdict that day.

    `today` matters for the expiry of suppressions only.
    """
    findings, settled = _apply_policy(evidence, policy, today)
    reasons_reject: list[str] = []
    reasons_review: list[str] = []
    for trigger in evidence.triggers:
        told = _trigger_reason(trigger)
        suppression = policy.suppressed(_as_finding(evidence, trigger), evidence.skill.digest, today)
        if suppression is not None:
            settled.append(_suppressed(_as_finding(evidence, trigger), suppression))
            continue
        severity = trigger_severity(trigger, policy)
        if severity is Severity.REJECT:
            reasons_reject.append(told + _expired(_as_finding(evidence, trigger), evidence, policy, today))
        elif severity is Severity.REVIEW:
            reasons_review.append(told + _expired(_as_finding(evidence, trigger), evidence, policy, today))
    for finding in findings:
        where = f"{finding.file}:{finding.line}" if finding.file and finding.line else ""
        place = f" ({where})" if where and where not in finding.message else ""
        told = finding.message + place + _expired(finding, evidence, policy, today)
        if finding.severity is Severity.REJECT:
            reasons_reject.append(told)
        elif finding.severity is Severity.REVIEW:
            reasons_review.append(told)
    reasons_incomplete = _incomplete(evidence)
    if reasons_reject:
        decision, reasons = Decision.REJECT, reasons_reject + reasons_review
    elif reasons_review:
        decision, reasons = Decision.REVIEW, reasons_review
    elif reasons_incomplete:
        decision, reasons = Decision.INCOMPLETE, reasons_incomplete
    else:
        decision, reasons = Decision.ADMIT, []
    if evidence.invalid and decision is not Decision.REJECT:
        decision, reasons = Decision.INCOMPLETE, [*evidence.invalid, *reasons]
    question = next((f.question for f in findings if f.question and f.severity is Severity.REVIEW), "") or ""
    return Verdict(
        skill=evidence.skill,
        decision=decision,
        grade=grade(evidence) if decision is Decision.ADMIT else "",
        reasons=(*dict.fromkeys(reasons),),
        findings=(*findings, *settled),
        triggers=evidence.triggers,
        profile=evidence.profile,
        coverage=evidence.coverage,
        question=question if decision is Decision.REVIEW and not evidence.triggers else "",
        seconds=evidence.seconds,
    )


def grade(evidence: Evidence) -> str:
    """How far a clean run reaches: all for real, some of it through stand-ins, or there was only text."""
    if evidence.coverage.stand_ins:
        return "stand-ins: " + ", ".join(evidence.coverage.stand_ins)
    return "full" if evidence.commands_run else "text only"


def trigger_severity(trigger: Trigger, policy: Policy) -> Severity:
    """What a trigger leads to: its rule's severity, by how many of the fresh runs showed it."""
    violation = trigger.violation
    severity = policy.severity(violation.invariant, violation.severity)
    limits = policy.thresholds(violation.layer)
    rate = trigger.hits / trigger.runs if trigger.runs else 0.0
    if severity is Severity.REJECT:
        # Only code of the skill or an unambiguous instruction, seen again in fresh runs, rejects by itself.
        # For an agent that is not deterministic a test of fresh rounds against the margin stands for "again".
        again = trigger.e_value is not None or rate >= limits.reject_at
        certain = trigger.hits > 0 and again and not violation.derived
        severity = Severity.REJECT if certain else Severity.REVIEW
    if severity is Severity.REVIEW and rate < limits.review_at and not violation.byte_exact:
        return Severity.NOTE
    return severity


def _apply_policy(
    evidence: Evidence, policy: Policy, today: datetime.date
) -> tuple[list[Finding], list[Finding]]:
    """Findings with their severity under the policy; apart from them those that people have settled."""
    kept: list[Finding] = []
    settled: list[Finding] = []
    digest = evidence.skill.digest
    for finding in evidence.findings:
        judged = replace(finding, severity=policy.severity(finding.code, finding.severity))
        suppression = policy.suppressed(judged, digest, today)
        answer = policy.answered(judged, digest, today)
        if suppression is not None:
            settled.append(_suppressed(judged, suppression))
        elif answer is not None and judged.severity is not Severity.NOTE:
            until = f"until {answer.expires} by {answer.owner}: {answer.reason}"
            told = f"{judged.message} [{_said(answer)} {until}]"
            if answer.answer:
                settled.append(replace(judged, severity=Severity.NOTE, message=told))
            else:
                kept.append(replace(judged, severity=Severity.REJECT, message=told))
        else:
            kept.append(judged)
    return kept, settled


def _said(answer: Answer) -> str:
    return f"“{' '.join(answer.question.split())}” was answered {'yes' if answer.answer else 'no'}"


def _suppressed(finding: Finding, one: Suppression) -> Finding:
    told = f"{finding.message} [suppressed until {one.expires} by {one.owner}: {one.reason}]"
    return replace(finding, severity=Severity.NOTE, message=told)


def _expired(finding: Finding, evidence: Evidence, policy: Policy, today: datetime.date) -> str:
    one = policy.expired(finding, evidence.skill.digest, today)
    if one is None or finding.severity is Severity.NOTE:
        return ""
    return f" [what {one.owner} decided on it expired on {one.expires}]"


def _as_finding(evidence: Evidence, trigger: Trigger) -> Finding:
    violation = trigger.violation
    return Finding(
        evidence.skill.id,
        violation.layer,
        violation.invariant,
        violation.effect,
        violation.severity,
        violation.file,
        violation.line,
    )


def _trigger_reason(trigger: Trigger) -> str:
    when = "in every context" if trigger.sentence == "always" else f"only when {trigger.sentence}"
    rate = "" if trigger.reproduced else f" (intermittent: {trigger.hits} of {trigger.runs} fresh runs)"
    return f"{trigger.violation.effect}, {when}{rate}"


def _incomplete(evidence: Evidence) -> list[str]:
    reasons = list(evidence.failures)
    if not evidence.activated:
        reasons.append("never activated: no request made the agent act on this skill")
    if evidence.coverage.unexplored and evidence.sensitive_reach:
        kinds = ", ".join(sorted({str(kind) for kind in evidence.sensitive_reach}))
        remedy = "most_episodes in the admission policy"
        if evidence.coverage.left_out:
            remedy = f"--budget, or {remedy} where that was spent"
        reasons.append(
            f"{evidence.coverage.unexplored} touched contexts were not run while the skill can {kinds}; "
            f"raise {remedy}"
        )
    return reasons
