"""From evidence to a verdict: the first row of the table that holds."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace

from conjunct.gate.policy import Policy
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
    findings, suppressed = _apply_policy(evidence, policy, today)
    reasons_reject: list[str] = []
    reasons_review: list[str] = []
    for trigger in evidence.triggers:
        code = trigger.violation.invariant
        # Only code of the skill or an unambiguous instruction, seen again in fresh runs, rejects by itself.
        certain = trigger.reproduced and not trigger.violation.derived
        severity = policy.severity(code, trigger.violation.severity)
        if _trigger_suppressed(evidence, policy, trigger, today):
            continue
        told = _trigger_reason(trigger)
        if severity is Severity.REJECT and certain:
            reasons_reject.append(told)
        elif severity is not Severity.NOTE:
            reasons_review.append(told)
    for finding in findings:
        where = f"{finding.file}:{finding.line}" if finding.file and finding.line else ""
        place = f" ({where})" if where and where not in finding.message else ""
        if finding.severity is Severity.REJECT:
            reasons_reject.append(finding.message + place)
        elif finding.severity is Severity.REVIEW:
            reasons_review.append(finding.message + place)
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
        findings=(*findings, *suppressed),
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


def _apply_policy(
    evidence: Evidence, policy: Policy, today: datetime.date
) -> tuple[list[Finding], list[Finding]]:
    kept: list[Finding] = []
    suppressed: list[Finding] = []
    for finding in evidence.findings:
        judged = replace(finding, severity=policy.severity(finding.code, finding.severity))
        one = policy.suppressed(judged, evidence.skill.digest, today)
        if one is None:
            kept.append(judged)
        else:
            told = f"{judged.message} [suppressed until {one.expires} by {one.owner}: {one.reason}]"
            suppressed.append(replace(judged, severity=Severity.NOTE, message=told))
    return kept, suppressed


def _trigger_suppressed(evidence: Evidence, policy: Policy, trigger: Trigger, today: datetime.date) -> bool:
    violation = trigger.violation
    as_finding = Finding(evidence.skill.id, violation.layer, violation.invariant, violation.effect)
    return policy.suppressed(as_finding, evidence.skill.digest, today) is not None


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
        reasons.append(
            f"{evidence.coverage.unexplored} touched contexts were not run while the skill can {kinds}; "
            f"raise most_episodes in the admission policy"
        )
    return reasons
