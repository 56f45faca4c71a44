"""Answered alerts in every report: the sentence first, what stays open in full, hostile text harmless."""

from __future__ import annotations

import io
import json

import jsonschema
import pytest
from rich.console import Console

from conjunct.provenance.alerts import Answer, Answered
from conjunct.provenance.sarif import Alert
from conjunct.report.html_report import to_html
from conjunct.report.json_report import report_schema, to_json
from conjunct.report.summary import Report
from conjunct.report.terminal import print_report

HOSTILE = "evil\x1b[2J\u202e<script>alert(1)</script>"


def answered(answer: Answer, line: int, reason: str = "because") -> Answered:
    return Answered(
        Alert("lint", "R1", "error", "sends data", "a.py", line, line), answer, reason, "notes", "a.py"
    )


ALL = (
    answered(Answer.CONTRADICTED, 1),
    answered(Answer.CONFIRMED, 2, "it happened: sends ~/.netrc"),
    answered(Answer.NOT_REACHED, 3, "no run reached it"),
)


def report(alerts: tuple[Answered, ...] | None) -> Report:
    return Report(registry="skills", verdicts=(), registry_size=0, alerts=alerts)


def printed(one: Report, *, verbose: bool = False) -> str:
    stream = io.StringIO()
    print_report(one, Console(file=stream, width=200, highlight=False, emoji=False), verbose=verbose)
    return stream.getvalue()


@pytest.mark.parametrize("show", [printed, to_html], ids=["terminal", "HTML"])
def test_the_sentence_and_what_is_not_contradicted_are_shown(show: object) -> None:
    told = show(report(ALL))  # type: ignore[operator]
    assert "3 alerts: 1 contradicted, 1 confirmed, 1 open" in told
    assert "a.py:2" in told
    assert "a.py:3" in told
    assert "a.py:1" not in told


def test_verbose_shows_every_answer() -> None:
    assert "a.py:1" in printed(report(ALL), verbose=True)


def test_the_json_report_holds_every_answer_and_fits_its_schema() -> None:
    value = json.loads(to_json(report(ALL)))
    jsonschema.validate(value, report_schema())
    assert value["alerts"]["summary"].startswith("3 alerts")
    assert [one["answer"] for one in value["alerts"]["answers"]] == [
        "contradicted",
        "confirmed",
        "not reached",
    ]


def test_nothing_is_said_where_nothing_was_imported() -> None:
    assert json.loads(to_json(report(None)))["alerts"] is None
    jsonschema.validate(json.loads(to_json(report(None))), report_schema())
    for told in (printed(report(None)), to_html(report(None))):
        assert "contradicted" not in told
    assert "0 alerts: 0 contradicted" in printed(report(()))


def test_text_of_a_scanner_is_harmless() -> None:
    alert = Alert(HOSTILE, HOSTILE, "error", HOSTILE, HOSTILE, 3, 3)
    one = report((Answered(alert, Answer.CONFIRMED, HOSTILE, HOSTILE, HOSTILE),))
    for told in (printed(one), to_html(one)):
        assert "\x1b[2J" not in told
        assert "\u202e" not in told
    assert "<script>" not in to_html(one)
