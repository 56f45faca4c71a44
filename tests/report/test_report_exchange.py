"""SARIF and JUnit: what other tools read says the same as the JSON report, and survives hostile text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conjunct.model import Decision, Finding, Layer, Severity
from conjunct.provenance.codes import codes
from conjunct.provenance.sarif import read_sarif
from conjunct.report.json_report import as_object
from conjunct.report.junit_report import to_junit
from conjunct.report.rules import rule_of
from conjunct.report.sarif_report import INCOMPLETE, sarif_object, to_sarif
from conjunct.report.summary import Report
from report.verdicts import HOSTILE, skill, verdict

STARTED = "2026-01-01T00:00:00+00:00"


def report(*verdicts_: object, **more: object) -> Report:
    return Report(  # type: ignore[arg-type]
        registry="registry", verdicts=verdicts_, registry_size=3, started=STARTED, **more
    )


def everything() -> Report:
    stored = as_object(report(verdict(Decision.REVIEW, name="old")))["skills"]
    return report(
        verdict(),
        verdict(Decision.ADMIT, name="plain", with_trigger=False),
        replace(verdict(Decision.INCOMPLETE, name="slow", with_trigger=False), reasons=("never activated",)),
        findings=(Finding("x", Layer.CLAIMS, "intake.unreadable", "no front matter", Severity.REVIEW),),
        failures=("the world broke",),
        stored=tuple(stored),
    )


def run_of(one: Report) -> dict[str, Any]:
    (run,) = sarif_object(one)["runs"]
    return dict(run)


# ---- SARIF


def test_every_result_names_a_rule_and_a_place_in_the_registry() -> None:
    run = run_of(everything())
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note") and result["message"]["text"]
    leak = next(one for one in run["results"] if one["ruleId"] == "leaks.secret-sent")
    place = leak["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "registry/currency/scripts/fmt.py"
    assert place["region"]["startLine"] == 88
    assert leak["level"] == "error" and "only when history mentions payroll" in leak["message"]["text"]
    assert leak["properties"]["verdict"] == "reject"


def test_a_leak_that_is_only_reviewed_is_a_warning() -> None:
    leak = next(r for r in run_of(report(verdict(Decision.REVIEW)))["results"] if "leaks" in r["ruleId"])
    assert leak["level"] == "warning"


def test_a_skill_without_verdict_is_one_result_and_an_admitted_one_none() -> None:
    results = run_of(everything())["results"]
    (incomplete,) = [one for one in results if one["ruleId"] == INCOMPLETE]
    assert incomplete["message"]["text"] == "never activated"
    assert not [
        r for r in results if r.get("properties", {}).get("skill") == "plain" and r["level"] != "note"
    ]


def test_rules_refer_to_the_taxonomies_that_the_run_holds() -> None:
    run = run_of(everything())
    taxa = {one["name"]: {taxon["id"] for taxon in one["taxa"]} for one in run["taxonomies"]}
    assert {one["name"] for one in run["tool"]["driver"]["supportedTaxonomies"]} == set(taxa)
    referred = [
        (r["target"]["toolComponent"]["name"], r["target"]["id"])
        for rule in run["tool"]["driver"]["rules"]
        for r in rule.get("relationships", ())
    ]
    assert ("CWE", "CWE-522") in referred
    assert all(taxon in taxa[name] for name, taxon in referred)


def test_what_went_wrong_in_the_tool_is_no_result() -> None:
    run = run_of(everything())
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False and invocation["startTimeUtc"].endswith("Z")
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "the world broke"
    assert run_of(report(verdict()))["invocations"][0]["executionSuccessful"] is True


def test_fingerprints_stay_when_lines_move_and_differ_between_skills() -> None:
    def prints(name: str, line: int) -> set[str]:
        one = verdict(name=name, with_trigger=False)
        moved = tuple(replace(finding, line=line) for finding in one.findings)
        results = run_of(report(replace(one, findings=moved)))["results"]
        return {value for r in results for value in r["partialFingerprints"].values()}

    assert prints("a", 4) == prints("a", 40)
    assert prints("a", 4) != prints("b", 4)


def test_our_own_reader_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "report.sarif"
    path.write_text(to_sarif(everything()), encoding="utf-8")
    alerts = read_sarif(path)
    assert {alert.rule for alert in alerts} >= {"leaks.secret-sent", "claims.over-privilege", INCOMPLETE}
    assert ("registry/currency/scripts/fmt.py", 88) in {(alert.file, alert.line) for alert in alerts}


def test_names_that_are_no_uri_are_encoded() -> None:
    hostile = replace(verdict(), skill=replace(skill(HOSTILE), path="reg/a b?<c>#%\udcff"))
    text = to_sarif(report(hostile))
    uris = [
        location["physicalLocation"]["artifactLocation"]["uri"]
        for result in json.loads(text)["runs"][0]["results"]
        for location in result["locations"]
    ]
    assert all(uri.startswith("reg/a%20b%3F%3Cc%3E%23%25") and uri.isascii() for uri in uris)


@pytest.mark.parametrize("code", ["leaks.secret-sent", "does.signal", "stays.schedule", "says.denied"])
def test_an_invariant_has_a_title_and_a_place_in_the_taxonomies(code: str) -> None:
    rule = rule_of(code)
    assert rule.title != code and {name for name, _ in rule.taxa} >= {"OWASP Agentic Skills Top 10"}


def test_codes_of_reach_have_the_taxa_that_the_docs_list() -> None:
    for code in codes().values():
        assert {taxon for _, taxon in rule_of(code.name).taxa} == {*code.owasp, *code.atlas, *code.cwe}


def test_a_code_nobody_knows_is_a_rule_all_the_same() -> None:
    assert rule_of("own.rule").title == "own.rule" and rule_of("own.rule").taxa == ()


# ---- JUnit


def suite_of(one: Report) -> ElementTree.Element:
    root = ElementTree.fromstring(to_junit(one).encode())
    assert root.tag == "testsuites"
    (suite,) = root
    return suite


def test_there_is_one_case_for_each_skill() -> None:
    suite = suite_of(report(verdict(), verdict(Decision.ADMIT, name="plain", with_trigger=False)))
    assert {case.get("name"): len(case.findall("failure")) for case in suite.findall("testcase")} == {
        "currency": 1,
        "plain": 0,
    }
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    assert "contexts:" in (suite.findtext("testcase/system-out") or "")


def test_incomplete_and_our_own_failures_are_errors() -> None:
    suite = suite_of(everything())
    errors = {case.get("name"): case.find("error") for case in suite.findall("testcase")}
    assert errors["slow"] is not None and errors["slow"].get("message") == "never activated"
    assert errors["conjunct"] is not None and errors["conjunct"].text == "the world broke"
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("6", "3", "2")


@given(st.text(st.characters(codec=None)))
def test_no_text_breaks_either_format(text: str) -> None:
    one = replace(verdict(), skill=replace(skill(text), path=text or "x"), reasons=(text,), question=text)
    hostile = report(one, failures=(text,))
    suite_of(hostile)
    json.loads(to_sarif(hostile))
