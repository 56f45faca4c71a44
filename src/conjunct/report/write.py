"""Write a report where and how it was asked for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rich.console import Console

from conjunct.errors import StoreError, UsageError
from conjunct.model import Decision
from conjunct.report.json_report import to_json
from conjunct.report.summary import Report
from conjunct.report.terminal import print_explanation, print_report
from conjunct.run.store import DEFAULT_STORE, Store

NEVER = "never"


def failing_decisions(text: str) -> frozenset[Decision]:
    """The verdicts named in `--fail-on`. Raises `UsageError` for a word that is none."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if words == [NEVER]:
        return frozenset()
    known = {str(decision): decision for decision in Decision if decision is not Decision.ADMIT}
    for word in words:
        if word not in known:
            raise UsageError(f"--fail-on has {word!r}; use any of {', '.join(known)}, or `{NEVER}`")
    return frozenset(known[word] for word in words)


def require_folders(*targets: Path | None) -> None:
    """Before the work, not after it: raise `UsageError` where a report could not be written."""
    for target in targets:
        if target is not None and (target.is_dir() or not os.access(target.absolute().parent, os.W_OK)):
            raise UsageError(
                f"{target}: the report cannot be written there; name a file in a folder that exists"
            )


def write_reports(
    report: Report, *, form: str, output: Path | None, html: Path | None, verbose: bool
) -> None:
    """Write the report to `output` or standard output, and the HTML page to `html` where asked."""
    if html is not None:
        from conjunct.report.html_report import to_html

        _write(html, to_html(report))
    if form != "terminal":
        text = _text(report, form)
        if output is None:
            sys.stdout.write(text)
        else:
            _write(output, text)
        return
    if output is None:
        print_report(report, Console(highlight=False, emoji=False), verbose=verbose)
        return
    try:
        with output.open("w", encoding="utf-8") as stream:
            print_report(
                report, Console(file=stream, highlight=False, emoji=False, width=120), verbose=verbose
            )
    except OSError as error:
        raise UsageError(f"{output}: the report cannot be written ({error.strerror})") from error


def _text(report: Report, form: str) -> str:
    if form == "sarif":
        from conjunct.report.sarif_report import to_sarif

        return to_sarif(report)
    if form == "junit":
        from conjunct.report.junit_report import to_junit

        return to_junit(report)
    return to_json(report)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: the report cannot be written ({error.strerror})") from error


def explain_stored(skill: str, store: Path | None) -> None:
    """Print the newest stored verdict on a skill. Raises `StoreError` where there is none."""
    path = store or DEFAULT_STORE
    if not path.exists():
        raise StoreError(f"{path}: there is no run store here; run `conjunct vet` first or pass --store")
    entry = Store(path).latest_report(skill)
    if entry is None:
        raise StoreError(f"{path}: holds no verdict on {skill!r}; run `conjunct vet` on its folder first")
    print_explanation(entry, Console(highlight=False, emoji=False))
