"""The report as JUnit XML: one test case for each skill, for every build server.

`reject` and `review` are failures, `incomplete` and what went wrong in the tool are errors. There is no
standard; the form is the one that build servers agree on, after the JUnit task of Apache Ant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from conjunct.report.json_report import as_object
from conjunct.report.safe_text import safe_line
from conjunct.report.summary import Report

_FAILURES = ("reject", "review")
_LONGEST = 4000


def to_junit(report: Report) -> str:
    """The report as XML text."""
    told = as_object(report)
    seconds = {verdict.skill.id: verdict.seconds for verdict in report.verdicts}
    suite = ElementTree.Element("testsuite", name="conjunct")
    if told["started"]:
        suite.set("timestamp", told["started"].split("+")[0])
    _properties(suite, {name: str(told[name]) for name in ("agent", "battery", "fingerprint", "seed")})
    for entry in told["skills"]:
        _case(suite, told["registry"], entry, seconds.get(entry["id"], 0.0))
    for finding in told["findings"]:
        if finding["severity"] != "note":
            case = _test(suite, told["registry"], f"package: {finding['message']}", 0.0)
            _outcome(case, "failure", finding["code"], [finding["message"]])
    for failure in told["failures"]:
        _outcome(_test(suite, told["registry"], "conjunct", 0.0), "error", "failed", [failure])
    counts = {
        "tests": len(suite.findall("testcase")),
        "failures": len(suite.findall("testcase/failure")),
        "errors": len(suite.findall("testcase/error")),
        "skipped": 0,
    }
    root = ElementTree.Element("testsuites", name="conjunct")
    for element in (root, suite):
        for name, number in counts.items():
            element.set(name, str(number))
        element.set("time", f"{report.seconds:.3f}")
    root.append(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, registry: str, entry: Mapping[str, Any], seconds: float) -> None:
    case = _test(suite, registry, entry["id"], seconds)
    _properties(case, {name: str(entry[name]) for name in ("digest", "verdict", "grade") if entry[name]})
    verdict = entry["verdict"]
    if verdict in _FAILURES:
        question = [f"question: {entry['question']}"] if entry["question"] else []
        _outcome(case, "failure", verdict, [*entry["reasons"], *question])
    elif verdict == "incomplete":
        _outcome(case, "error", verdict, entry["reasons"])
    out = ElementTree.SubElement(case, "system-out")
    out.text = _text(entry["coverage"]["in_words"])


def _test(suite: ElementTree.Element, registry: str, name: str, seconds: float) -> ElementTree.Element:
    return ElementTree.SubElement(
        suite, "testcase", classname=safe_line(registry), name=safe_line(name), time=f"{seconds:.3f}"
    )


def _outcome(case: ElementTree.Element, tag: str, kind: str, reasons: list[str]) -> None:
    element = ElementTree.SubElement(case, tag, type=kind, message=safe_line(reasons[0] if reasons else kind))
    element.text = _text(reasons)


def _properties(element: ElementTree.Element, values: Mapping[str, str]) -> None:
    properties = ElementTree.SubElement(element, "properties")
    for name, value in values.items():
        ElementTree.SubElement(properties, "property", name=name, value=safe_line(value))


def _text(lines: list[str]) -> str:
    """Lines of packages' text: XML has no way to write most control characters, so they are escaped."""
    return "\n".join(safe_line(line, width=_LONGEST) for line in lines)
