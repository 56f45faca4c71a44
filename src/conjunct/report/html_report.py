"""One self-contained page: summary, a section for each skill, traces side by side; loads nothing."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import jinja2

from conjunct.model import Decision, Trigger, Verdict
from conjunct.provenance.alerts import Answer, Answered, summary
from conjunct.report.profile_picture import profile_picture
from conjunct.report.safe_text import safe_line
from conjunct.report.summary import Report, author_says, coverage_sentences, trigger_sentence
from conjunct.report.terminal import duration


@dataclass(frozen=True, slots=True)
class Row:
    """One line of two traces side by side; `first` marks the first difference."""

    left: str
    right: str
    differs: bool
    first: bool


def to_html(report: Report) -> str:
    """The report as one HTML document. All text from packages is escaped and made printable."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["safe_line"] = safe_line
    template = environment.from_string(
        resources.files("conjunct.report").joinpath("report.html.jinja").read_text(encoding="utf-8")
    )
    return template.render(
        report=report,
        counts=[(str(decision), number) for decision, number in report.counts().items()],
        duration=duration(report.seconds),
        sections=[_section(verdict) for verdict in report.verdicts],
        stored=report.stored,
        alerts=None if report.alerts is None else _alerts(report.alerts),
    )


def _alerts(answered: Sequence[Answered]) -> dict[str, Any]:
    """The sentence, and the alerts that are not contradicted."""
    shown = [one for one in answered if one.answer is not Answer.CONTRADICTED]
    return {"summary": summary(answered), "shown": shown}


def side_by_side(trigger: Trigger) -> list[Row]:
    """The violating run beside the run that lacks one element, aligned on equal lines."""
    left, right = list(trigger.actions), list(trigger.compared_actions)
    rows: list[Row] = []
    seen = False
    for tag, l1, l2, r1, r2 in difflib.SequenceMatcher(a=left, b=right, autojunk=False).get_opcodes():
        if tag == "equal":
            rows += [Row(line, line, False, False) for line in left[l1:l2]]
            continue
        for offset in range(max(l2 - l1, r2 - r1)):
            one = left[l1 + offset] if l1 + offset < l2 else ""
            two = right[r1 + offset] if r1 + offset < r2 else ""
            rows.append(Row(one, two, True, not seen))
            seen = True
    return rows


def _section(verdict: Verdict) -> dict[str, Any]:
    return {
        "verdict": verdict,
        "decision": str(verdict.decision),
        "open": verdict.decision is not Decision.ADMIT,
        "author": author_says(verdict),
        "triggers": [
            {"trigger": trigger, "sentence": trigger_sentence(trigger), "rows": side_by_side(trigger)}
            for trigger in verdict.triggers
        ],
        "coverage": coverage_sentences(verdict.coverage),
        "picture": profile_picture(verdict.profile),
    }
