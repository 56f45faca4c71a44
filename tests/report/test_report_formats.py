"""Every format says the same, and no text of a package can do anything to the reader's screen or browser."""

from __future__ import annotations

import io
import json
from dataclasses import fields, replace

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from conjunct.errors import UsageError
from conjunct.model import Coverage, Decision, Finding, Layer
from conjunct.report.html_report import side_by_side, to_html
from conjunct.report.json_report import as_object, report_schema, to_json
from conjunct.report.safe_text import safe_line
from conjunct.report.summary import Report, coverage_sentences, worst_first
from conjunct.report.terminal import duration, print_explanation, print_report
from conjunct.report.write import failing_decisions
from report.verdicts import HOSTILE, skill, trigger, verdict


def report(*verdicts_: object, **more: object) -> Report:
    return Report(registry="registry", verdicts=verdicts_, registry_size=3, **more)  # type: ignore[arg-type]


def printed(one: Report, *, verbose: bool = False) -> str:
    stream = io.StringIO()
    print_report(one, Console(file=stream, width=200, highlight=False), verbose=verbose)
    return stream.getvalue()


def test_the_screen_shows_effect_condition_author_and_replay_in_five_lines() -> None:
    text = printed(report(verdict(), verdict(Decision.ADMIT, name="plain", with_trigger=False)))
    lines = text.splitlines()
    assert lines[0].startswith("REJECT 1  REVIEW 0  ADMIT 1 (1 full)  INCOMPLETE 0")
    assert "currency" in lines[1]
    assert "sends ~/.aws/credentials to host.example:443, scripts/fmt.py:88" in lines[2]
    assert "only when: history mentions payroll AND exporter is installed AND turn >= 3" in lines[3]
    assert "each removed: 0 of 3 runs" in lines[3]
    assert "“Format currency amounts.” (SKILL.md:3)" in lines[4] and "conjunct replay currency" in lines[4]
    assert "plain" in lines[5]


def test_no_score_is_on_the_screen() -> None:
    text = printed(report(verdict()), verbose=True)
    assert "S =" not in text and "score" not in text.lower()


def test_json_is_valid_against_its_schema() -> None:
    one = report(
        verdict(),
        verdict(Decision.ADMIT, name="plain", with_trigger=False),
        started="2026-01-01T00:00:00+00:00",
    )
    jsonschema.validate(as_object(one), report_schema())


def test_every_field_of_the_coverage_is_in_the_schema() -> None:
    described = report_schema()["$defs"]["coverage"]["properties"]
    assert {one.name for one in fields(Coverage)} | {"in_words"} == set(described)


def test_coverage_says_in_words_what_was_left_out_and_never_reached() -> None:
    places = tuple(f"a.py:{n}" for n in range(1, 20, 2))
    full = replace(
        verdict(Decision.ADMIT, with_trigger=False),
        coverage=Coverage(
            factors=("history",),
            settled=10,
            run=2,
            assumed=3,
            budget="500 runs",
            left_out=("4 runs were not made",),
            never_reached=places,
            not_exercised=("SKILL.md:3 run.sh",),
            smallest_rate=0.031,
            assumptions=("the clock was not varied",),
        ),
    )
    text, page = printed(report(full), verbose=True), to_html(report(full))
    entry = as_object(report(full))["skills"][0]["coverage"]
    assert entry["never_reached"] == list(places) and entry["left_out"] == ["4 runs were not made"]
    for told in (
        "contexts: 10 settled, 2 run, 3 assumed",
        "settled: no run touched",
        "assumed: a run touched",
        "budget: 500 runs",
        "left out: 4 runs were not made",
        "a.py:1; a.py:3; a.py:5; a.py:7; a.py:9 and 5 more",
        "not exercised: SKILL.md:3 run.sh",
        "less than 3.10% of the runs",
        "assumed: the clock was not varied",
    ):
        assert told in text and told in page and told in "\n".join(entry["in_words"]), told


def test_the_screen_says_that_a_budget_ended_and_nothing_where_none_did() -> None:
    one = verdict(Decision.ADMIT, with_trigger=False)
    cut = replace(one, coverage=replace(one.coverage, budget="500 runs", left_out=("x",)))
    assert "the budget of 500 runs ended: of 1 of 2 skills" in printed(report(cut, one))
    assert "budget" not in printed(report(one))


def test_nothing_is_said_about_what_did_not_happen() -> None:
    words = " ".join(coverage_sentences(Coverage(run=3)))
    assert "settled:" not in words and "budget" not in words and "never reached" not in words


def test_json_tells_the_trigger_by_name() -> None:
    entry = json.loads(to_json(report(verdict())))["skills"][0]
    assert (entry["trigger"]["history"], entry["trigger"]["co_skills"], entry["trigger"]["turn"]) == (
        "payroll",
        ["exporter"],
        3,
    )
    assert entry["shape"]["s"] == 0.0
    assert {"layer": "leaks", "code": "leaks.secret-sent"}.items() <= entry["findings"][-1].items()


def test_an_admitted_skill_has_no_trigger() -> None:
    entry = as_object(report(verdict(Decision.ADMIT, with_trigger=False)))["skills"][0]
    assert entry["trigger"] is None and entry["shape"]["s"] == 0.0


def test_html_is_one_file_that_loads_nothing() -> None:
    page = to_html(report(verdict()))
    assert "default-src 'none'" in page
    assert "src=" not in page and "href=" not in page and "@import" not in page
    assert "<svg" in page and "history mentions payroll" in page


def test_hostile_names_are_harmless_in_every_format() -> None:
    hostile = replace(verdict(), skill=replace(skill(HOSTILE, HOSTILE), path=HOSTILE))
    finding = Finding(HOSTILE, Layer.CLAIMS, "intake.unreadable", HOSTILE, file=HOSTILE, line=1)
    one = report(hostile, findings=(finding,), failures=(HOSTILE,))
    for text in (printed(one, verbose=True), to_html(one)):
        assert "\x1b[2J" not in text and "\u202e" not in text
    assert "<script>" not in to_html(one)
    stream = io.StringIO()
    print_explanation(json.loads(to_json(one))["skills"][0], Console(file=stream, width=200))
    assert "\x1b[2J" not in stream.getvalue()


@given(st.text())
def test_safe_lines_are_one_printable_line(text: str) -> None:
    shown = safe_line(text)
    assert shown.isprintable() and "\n" not in shown and len(shown) < 6000


def test_the_first_difference_is_marked_once() -> None:
    rows = side_by_side(trigger())
    assert [row.first for row in rows] == [False, True]
    assert rows[0].left == rows[0].right and rows[1].right == ""


@pytest.mark.parametrize(
    ("decisions", "failures", "status"),
    [
        ([Decision.ADMIT], (), 0),
        ([Decision.ADMIT, Decision.REVIEW, Decision.INCOMPLETE], (), 1),
        ([Decision.ADMIT, Decision.INCOMPLETE], (), 3),
        ([Decision.REJECT], ("the world broke",), 4),
    ],
)
def test_exit_status_has_the_documented_precedence(
    decisions: list[Decision], failures: tuple[str, ...], status: int
) -> None:
    one = report(*(verdict(decision, with_trigger=False) for decision in decisions), failures=failures)
    assert one.exit_code() == status


def test_fail_on_chooses() -> None:
    one = report(verdict(Decision.REVIEW))
    assert one.exit_code(failing_decisions("reject")) == 0
    assert one.exit_code(failing_decisions("review")) == 1
    assert one.exit_code(failing_decisions("never")) == 0


def test_an_unknown_word_in_fail_on_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="use any of reject, review, incomplete, or `never`"):
        failing_decisions("warn")


def test_worst_verdicts_come_first() -> None:
    kinds = (Decision.ADMIT, Decision.INCOMPLETE, Decision.REJECT, Decision.REVIEW)
    ordered = worst_first([verdict(kind, with_trigger=False) for kind in kinds])
    assert [one.decision for one in ordered] == [
        Decision.REJECT,
        Decision.REVIEW,
        Decision.INCOMPLETE,
        Decision.ADMIT,
    ]


@pytest.mark.parametrize(
    ("seconds", "text"), [(3.21, "3.2 s"), (48, "48 s"), (161, "2m41s"), (3720, "1h02m")]
)
def test_durations_read_as_people_say_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text
