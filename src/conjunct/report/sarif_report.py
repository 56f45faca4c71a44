"""The report as SARIF 2.1.0, for code scanning and everything else that reads it.

Source: OASIS, Static Analysis Results Interchange Format Version 2.1.0, 27 March 2020. Rule ids are the codes
of findings; taxonomies are referred to as `relationships` of rules (section 3.53).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from conjunct import __version__
from conjunct.report.json_report import as_object
from conjunct.report.rules import Rule, rule_of, taxonomies
from conjunct.report.summary import Report

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
INCOMPLETE = "verdict.incomplete"
_INCOMPLETE = Rule(INCOMPLETE, "No verdict: a condition of validity failed, or runs could not be made.")
_LEVELS = {"reject": "error", "review": "warning", "note": "note"}
_FINGERPRINT = "conjunctFinding/v1"


def to_sarif(report: Report) -> str:
    """The report as indented JSON text. The same report gives the same bytes apart from the time."""
    return json.dumps(sarif_object(report), indent=2, sort_keys=True, ensure_ascii=True) + "\n"


def sarif_object(report: Report) -> dict[str, Any]:
    """The report as one SARIF log with one run."""
    told = as_object(report)
    results = [result for entry in told["skills"] for result in _results(entry)]
    results += [_result(finding, {}) for finding in told["findings"]]
    known = {code: rule_of(code) for code in sorted({one["ruleId"] for one in results} - {INCOMPLETE})}
    if any(one["ruleId"] == INCOMPLETE for one in results):
        known[INCOMPLETE] = _INCOMPLETE
    index = {code: number for number, code in enumerate(known)}
    for one in results:
        one["ruleIndex"] = index[one["ruleId"]]
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "conjunct",
                        "version": __version__,
                        "rules": [_rule(one) for one in known.values()],
                        "supportedTaxonomies": [{"name": name} for name, _ in taxonomies()],
                    }
                },
                "taxonomies": [_taxonomy(name, by, known) for name, by in taxonomies()],
                "invocations": [_invocation(told)],
                "results": results,
                "columnKind": "unicodeCodePoints",
                "properties": {
                    name: told[name]
                    for name in ("agent", "battery", "fingerprint", "seed", "counts", "coverage")
                },
            }
        ],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": rule.code,
        "shortDescription": {"text": rule.title},
        "properties": {"tags": ["security", *(taxon for _, taxon in rule.taxa)]},
    }
    if rule.taxa:
        entry["relationships"] = [
            {"target": {"id": taxon, "toolComponent": {"name": name}}, "kinds": ["relevant"]}
            for name, taxon in rule.taxa
        ]
    return entry


def _taxonomy(name: str, organization: str, rules: dict[str, Rule]) -> dict[str, Any]:
    taxa = sorted({taxon for rule in rules.values() for known, taxon in rule.taxa if known == name})
    return {
        "name": name,
        "organization": organization,
        "isComprehensive": False,
        "taxa": [{"id": taxon} for taxon in taxa],
    }


def _invocation(told: dict[str, Any]) -> dict[str, Any]:
    one: dict[str, Any] = {"executionSuccessful": not told["failures"]}
    if told["started"]:
        one["startTimeUtc"] = told["started"].replace("+00:00", "Z")
    if told["failures"]:
        one["toolExecutionNotifications"] = [
            {"level": "error", "message": {"text": failure}} for failure in told["failures"]
        ]
    return one


def _results(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Effects with their triggers, then the other findings; a skill without a verdict is one result."""
    triggers, findings = entry["triggers"], entry["findings"]
    # A trigger's violation is told among the findings too, after the others and in the same order.
    violations = findings[len(findings) - len(triggers) :]
    for trigger, violation in zip(triggers, violations, strict=True):
        severity = violation["severity"]
        if severity == "reject" and entry["verdict"] != "reject":
            severity = "review"
        yield _result({**violation, "severity": severity}, entry, trigger)
    for finding in findings[: len(findings) - len(triggers)]:
        yield _result(finding, entry)
    if entry["verdict"] == "incomplete":
        told = "; ".join(entry["reasons"]) or "no verdict"
        finding = {"code": INCOMPLETE, "severity": "review", "message": told, "file": None, "line": None}
        yield _result(finding, entry)


def _result(
    finding: dict[str, Any], entry: dict[str, Any], trigger: dict[str, Any] | None = None
) -> dict[str, Any]:
    text = finding["message"]
    if trigger is not None and trigger["sentence"] != "always":
        text += (
            f"; only when {trigger['sentence']} (shown in {trigger['hits']} of {trigger['runs']} fresh runs)"
        )
    name = entry.get("id", "")
    fingerprint = hashlib.sha256("\0".join([finding["code"], name, finding["file"] or "", text]).encode())
    result: dict[str, Any] = {
        "ruleId": finding["code"],
        "level": _LEVELS[finding["severity"]],
        "message": {"text": text or finding["code"]},
        "partialFingerprints": {_FINGERPRINT: fingerprint.hexdigest()},
    }
    if entry:
        result["locations"] = [_location(finding, entry)]
        result["properties"] = {"skill": name, "digest": entry["digest"], "verdict": entry["verdict"]}
        if finding.get("question"):
            result["properties"]["question"] = finding["question"]
        if trigger is not None:
            result["properties"]["trigger"] = trigger["sentence"]
    return result


def _location(finding: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    place = PurePosixPath(entry["path"])
    # A finding on the skill as a whole is shown on its manifest, where a reader starts.
    path = place / (finding["file"] or "SKILL.md")
    uri = quote(str(path))
    physical: dict[str, Any] = {"artifactLocation": {"uri": f"file://{uri}" if path.is_absolute() else uri}}
    if finding["file"] and finding["line"]:
        physical["region"] = {"startLine": max(finding["line"], 1)}
    return {
        "physicalLocation": physical,
        "logicalLocations": [{"name": entry["id"], "kind": "module"}],
    }
