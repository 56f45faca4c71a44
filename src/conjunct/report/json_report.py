"""The machine-readable report, schema `conjunct.report/1`: fields may be added, never removed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib import resources
from typing import Any

from conjunct.delta import sparsity_conjunction_score
from conjunct.model import Coverage, FactorKind, Finding, Trigger, Verdict
from conjunct.provenance.alerts import Answered, summary
from conjunct.report.summary import Report, coverage_sentences

SCHEMA = "conjunct.report/1"


def report_schema() -> dict[str, Any]:
    """The JSON Schema of a report, as documented."""
    text = resources.files("conjunct.report").joinpath("report.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def to_json(report: Report) -> str:
    """The report as indented JSON text with sorted keys. The same report gives the same bytes."""
    return json.dumps(as_object(report), indent=2, sort_keys=True, ensure_ascii=True) + "\n"


def as_object(report: Report) -> dict[str, Any]:
    """The report as plain lists, dictionaries and values."""
    entries = [skill_entry(verdict) for verdict in report.verdicts] + [dict(entry) for entry in report.stored]
    return {
        "schema": SCHEMA,
        "registry": _clean(report.registry),
        "registry_size": report.registry_size,
        "agent": report.agent,
        "battery": report.battery,
        "fingerprint": report.fingerprint,
        "seed": report.seed,
        "started": report.started,
        "seconds": round(report.seconds, 3),
        "counts": {str(decision): number for decision, number in report.counts().items()},
        "coverage": _total([verdict.coverage for verdict in report.verdicts]),
        "failures": [_clean(failure) for failure in report.failures],
        "findings": [finding_entry(finding) for finding in report.findings],
        "alerts": None if report.alerts is None else _alerts_entry(report.alerts),
        "skills": entries,
    }


def skill_entry(verdict: Verdict) -> dict[str, Any]:
    """One skill's part of the report."""
    main = verdict.triggers[0] if verdict.triggers else None
    findings = [finding_entry(finding) for finding in verdict.findings]
    findings += [_violation_entry(trigger) for trigger in verdict.triggers]
    return {
        "name": _clean(verdict.skill.name),
        "id": _clean(verdict.skill.id),
        "path": _clean(verdict.skill.path),
        "digest": verdict.skill.digest,
        "verdict": str(verdict.decision),
        "grade": verdict.grade,
        "reasons": [_clean(reason) for reason in verdict.reasons],
        "question": _clean(verdict.question),
        "trigger": None if main is None else trigger_entry(main),
        "triggers": [trigger_entry(trigger) for trigger in verdict.triggers],
        "shape": {
            "s": sparsity_conjunction_score(verdict.profile),
            "single_probe_deltas": list(verdict.profile.single_probe_deltas),
            "compositional_deltas": list(verdict.profile.compositional_deltas),
        },
        "findings": findings,
        "not_exercised": [_clean(place) for place in verdict.coverage.not_exercised],
        "coverage": _coverage_entry(verdict.coverage),
    }


def trigger_entry(trigger: Trigger) -> dict[str, Any]:
    """A trigger: the sentence, each factor, and for convenience the three commonest factors by name."""
    held = [f for f in trigger.factors if f.needed and not f.absent]
    needed = {f.factor: f.level for f in held}
    partners = [
        f.level
        for f in held
        if f.factor in {FactorKind.CO_SKILLS, FactorKind.USED_BEFORE, FactorKind.USED_AFTER}
    ]
    violation = trigger.violation
    return {
        "sentence": _clean(trigger.sentence),
        "factors": [
            {
                "factor": str(f.factor),
                "level": _clean(f.level),
                "needed": f.needed,
                "absent": f.absent,
                "removed_hits": f.removed_hits,
                "removed_runs": f.removed_runs,
            }
            for f in trigger.factors
        ],
        "actors": list(trigger.actors),
        "reproduced": trigger.reproduced,
        "hits": trigger.hits,
        "runs": trigger.runs,
        "history": needed.get(FactorKind.HISTORY),
        "co_skills": partners or None,
        "turn": trigger.turn,
        "effect": _clean(violation.effect),
        "invariant": violation.invariant,
        "file": _clean(violation.file) if violation.file else None,
        "line": violation.line,
        "replay": asdict(trigger.replay),
        "actions": [_clean(line) for line in trigger.actions],
        "compared_with": _clean(trigger.compared_with),
        "compared_actions": [_clean(line) for line in trigger.compared_actions],
    }


def finding_entry(finding: Finding) -> dict[str, Any]:
    """One finding."""
    return {
        "layer": str(finding.layer),
        "code": finding.code,
        "message": _clean(finding.message),
        "severity": str(finding.severity),
        "file": _clean(finding.file) if finding.file else None,
        "line": finding.line,
        "quote": _clean(finding.quote) if finding.quote else None,
        "question": _clean(finding.question) if finding.question else None,
    }


def _alerts_entry(answered: Sequence[Answered]) -> dict[str, Any]:
    return {
        "summary": summary(answered),
        "answers": [
            {
                "tool": _clean(one.alert.tool),
                "rule": _clean(one.alert.rule),
                "level": one.alert.level,
                "message": _clean(one.alert.message),
                "place": _clean(one.alert.place()),
                "answer": str(one.answer),
                "reason": _clean(one.reason),
                "skill": _clean(one.skill) or None,
                "file": _clean(one.file) or None,
                "line": one.alert.line,
            }
            for one in answered
        ],
    }


def _violation_entry(trigger: Trigger) -> dict[str, Any]:
    violation = trigger.violation
    return {
        "layer": str(violation.layer),
        "code": violation.invariant,
        "message": _clean(violation.effect),
        "severity": str(violation.severity),
        "file": _clean(violation.file) if violation.file else None,
        "line": violation.line,
        "quote": None,
        "question": None,
    }


def _coverage_entry(coverage: Coverage) -> dict[str, Any]:
    entry: dict[str, Any] = _plain(asdict(coverage))
    entry["in_words"] = [_clean(sentence) for sentence in coverage_sentences(coverage)]
    return entry


def _plain(value: Any) -> Any:
    """The same value with lists for tuples and text that is valid Unicode."""
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _total(parts: Sequence[Coverage]) -> dict[str, Any]:
    names = ("settled", "run", "assumed", "episodes", "commands", "audits", "audit_mismatches")
    total: dict[str, Any] = {name: sum(getattr(part, name) for part in parts) for name in names}
    total["horizon"] = min((part.horizon for part in parts), default=0)
    total["factors"] = sorted({factor for part in parts for factor in part.factors})
    return total


def _clean(text: str) -> str:
    """Text that is valid Unicode: undecodable bytes of hostile names become backslash escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
