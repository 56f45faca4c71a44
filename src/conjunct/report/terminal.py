"""The screen a reviewer sees first: at most five lines for each skill that needs a decision, no scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from conjunct.model import Decision, Finding, Severity, Verdict
from conjunct.provenance.alerts import Answer, Answered, summary
from conjunct.report.safe_text import safe_line
from conjunct.report.summary import Report, author_says, coverage_sentences, trigger_sentence

_STYLES = {
    Decision.REJECT: "bold white on red",
    Decision.REVIEW: "bold black on yellow",
    Decision.INCOMPLETE: "bold black on cyan",
    Decision.ADMIT: "bold green",
}


def duration(seconds: float) -> str:
    """Seconds as people say them: `48 s`, `2m41s`, `1h02m`."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


def print_report(report: Report, console: Console, *, verbose: bool = False) -> None:
    """Print the summary line, then everything that needs a person, then what was admitted."""
    console.print(_headline(report), soft_wrap=True)
    for failure in report.failures:
        console.print(Text.assemble(("FAILED ", "bold red"), safe_line(failure)), soft_wrap=True)
    if told := _left_out(report.verdicts):
        console.print(Text(safe_line(told), style="yellow"), soft_wrap=True)
    for line in _alert_lines(report.alerts, verbose=verbose):
        console.print(line, soft_wrap=True)
    for verdict in report.verdicts:
        if verdict.decision is Decision.ADMIT and not verbose:
            continue
        for line in _skill_lines(verdict, verbose=verbose):
            console.print(line, soft_wrap=True)
    for entry in report.stored:
        if entry["verdict"] != Decision.ADMIT or verbose:
            console.print(_stored_line(entry), soft_wrap=True)
    admitted = [v for v in report.verdicts if v.decision is Decision.ADMIT]
    if admitted and not verbose:
        console.print(_admitted_line(admitted), soft_wrap=True)
    for finding in report.findings:
        console.print(_finding_line(finding, "NOT A SKILL "), soft_wrap=True)


def _headline(report: Report) -> Text:
    counts = report.counts()
    text = Text()
    for decision in (Decision.REJECT, Decision.REVIEW, Decision.ADMIT, Decision.INCOMPLETE):
        style = _STYLES[decision] if counts[decision] else "dim"
        text.append(f"{decision.upper()} {counts[decision]}", style=style)
        if decision is Decision.ADMIT and counts[decision]:
            text.append(_grades(report))
        text.append("  ")
    candidates = len(report.verdicts) + len(report.stored)
    if candidates == report.registry_size:
        scope = f"{candidates:,} skills"
    else:
        scope = f"{candidates:,} of {report.registry_size:,} skills"
    text.append(f"   {scope}, {duration(report.seconds)}", style="dim")
    return text


def _left_out(verdicts: Sequence[Verdict]) -> str:
    """That a budget ended, and for how many skills something was left out; empty where nothing was."""
    cut = [verdict.coverage for verdict in verdicts if verdict.coverage.left_out]
    if not cut:
        return ""
    return (
        f"the budget of {cut[0].budget} ended: of {len(cut)} of {len(verdicts)} skills something was left "
        f"out (--verbose tells what); the same command continues from here"
    )


def _alert_lines(answered: Sequence[Answered] | None, *, verbose: bool) -> Iterator[Text]:
    """The sentence on imported alerts, and the alerts that are not contradicted."""
    if answered is None:
        return
    yield Text(summary(answered))
    for one in answered:
        if one.answer is Answer.CONTRADICTED and not verbose:
            continue
        told = f"  {one.answer:<12} {one.alert.place()}  {one.alert.rule}: {one.reason}"
        yield Text(safe_line(told), style="bold red" if one.answer is Answer.CONFIRMED else "dim")


def _grades(report: Report) -> str:
    grades = [v.grade for v in report.verdicts if v.decision is Decision.ADMIT]
    parts = []
    for label, number in (
        ("full", sum(g == "full" for g in grades)),
        ("with stand-ins", sum(g.startswith("stand-ins") for g in grades)),
        ("text only", sum(g == "text only" for g in grades)),
    ):
        if number:
            parts.append(f"{number} {label}")
    return f" ({', '.join(parts)})" if parts else ""


def _skill_lines(verdict: Verdict, *, verbose: bool) -> Iterator[Text]:
    head = Text()
    head.append(f" {verdict.decision.upper()} ", style=_STYLES[verdict.decision])
    head.append(f" {safe_line(verdict.skill.id, width=80)}", style="bold")
    if verdict.grade:
        head.append(f"  {safe_line(verdict.grade, width=120)}", style="dim")
    if verdict.triggers:
        trigger = verdict.triggers[0]
        violation = trigger.violation
        place = f", {violation.file}:{violation.line}" if violation.file and violation.line else ""
        if len(trigger.actors) > 1:
            head.append(
                f"  together with {safe_line(', '.join(a for a in trigger.actors if a != verdict.skill.id))}"
            )
        yield head
        yield Text(f"  {safe_line(violation.effect + place)}")
        yield Text(f"  {safe_line(trigger_sentence(trigger))}", style="yellow")
        if len(verdict.triggers) > 1:
            more = len(verdict.triggers) - 1
            told = (
                f"and {more} more effect{'s' if more > 1 else ''}; see: conjunct explain {verdict.skill.id}"
            )
            yield Text(f"  {safe_line(told, width=160)}")
        yield Text.assemble(
            f"  author says: {safe_line(author_says(verdict), width=160)}",
            (f"     conjunct replay {safe_line(verdict.skill.id, width=80)}", "dim"),
        )
    elif verdict.decision is Decision.ADMIT:
        yield head
    else:
        yield head
        shown = verdict.reasons if verbose else verdict.reasons[:3]
        for reason in shown:
            yield Text(f"  {safe_line(reason)}")
        if len(shown) < len(verdict.reasons):
            yield Text(
                f"  and {len(verdict.reasons) - len(shown)} more; see: conjunct explain {verdict.skill.id}"
            )
        if verdict.question:
            yield Text.assemble(("  question: ", "bold"), safe_line(verdict.question))
    if verbose:
        for sentence in coverage_sentences(verdict.coverage):
            yield Text(f"    {safe_line(sentence)}", style="dim")


def _admitted_line(admitted: list[Verdict]) -> Text:
    names = ", ".join(safe_line(verdict.skill.id, width=60) for verdict in admitted[:12])
    more = f" and {len(admitted) - 12} more" if len(admitted) > 12 else ""
    return Text.assemble((" ADMIT ", _STYLES[Decision.ADMIT]), f" {names}{more}")


def _stored_line(entry: dict[str, object]) -> Text:
    decision = Decision(str(entry["verdict"]))
    return Text.assemble(
        (f" {decision.upper()} ", _STYLES[decision]),
        f" {safe_line(str(entry['id']), width=80)}  (unchanged, stored)",
    )


def _finding_line(finding: Finding, label: str) -> Text:
    place = f" ({finding.file}:{finding.line})" if finding.file and finding.line else ""
    style = "yellow" if finding.severity is not Severity.NOTE else "dim"
    return Text.assemble((label, style), safe_line(f"{finding.skill}: {finding.message}{place}"))


def print_explanation(entry: dict[str, object], console: Console) -> None:
    """Print one stored report entry in full: reasons, triggers with every factor, findings, coverage."""
    decision = Decision(str(entry["verdict"]))
    console.print(
        Text.assemble(
            (f" {decision.upper()} ", _STYLES[decision]),
            (f" {safe_line(str(entry['id']))}", "bold"),
            (f"  {entry['grade']}" if entry["grade"] else "", "dim"),
        ),
        soft_wrap=True,
    )
    console.print(
        Text(f"  {safe_line(str(entry['path']))}  sha256:{str(entry['digest'])[:16]}…", style="dim")
    )
    for reason in _strings(entry["reasons"]):
        console.print(Text(f"  {safe_line(reason)}"), soft_wrap=True)
    for trigger in _objects(entry["triggers"]):
        console.print(Text(f"\n  effect: {safe_line(str(trigger['effect']))}", style="bold"), soft_wrap=True)
        console.print(Text(f"  when: {safe_line(str(trigger['sentence']))}", style="yellow"), soft_wrap=True)
        for factor in _objects(trigger["factors"]):
            needed = "needed" if factor["needed"] else "not needed"
            needed, other = ("must be absent", "with") if factor["absent"] else (needed, "without")
            console.print(
                Text(
                    f"    {factor['factor']} = {safe_line(str(factor['level']))}: {needed} "
                    f"({other} it {factor['removed_hits']} of {factor['removed_runs']} runs)"
                ),
                soft_wrap=True,
            )
    findings = _objects(entry["findings"])
    if findings:
        console.print(Text("\n  findings", style="bold"))
    for finding in findings:
        place = f"{finding['file']}:{finding['line']} " if finding["file"] and finding["line"] else ""
        told = f"    {finding['severity']:<7}{finding['code']}  {place}{finding['message']}"
        console.print(Text(safe_line(told, width=300)), soft_wrap=True)
    coverage = entry["coverage"]
    if isinstance(coverage, dict):
        console.print(Text("\n  coverage", style="bold"))
        for sentence in _strings(coverage["in_words"]):
            console.print(Text(f"    {safe_line(sentence)}", style="dim"), soft_wrap=True)
    for place in _strings(entry["not_exercised"])[:40]:
        console.print(Text(f"    not exercised: {safe_line(place)}", style="dim"), soft_wrap=True)


def print_replay(skill: str, effect: str, sentence: str, arms: Sequence[tuple[str, int, int]]) -> None:
    """Print a replay: the effect, and how often it showed with the trigger and without each element."""
    console = Console(highlight=False, emoji=False)
    console.print(Text(safe_line(f"{skill}: {effect}"), style="bold"), soft_wrap=True)
    for removed, hits, runs in arms:
        label = f"without: {removed}" if removed else f"when: {sentence}"
        style = "yellow" if hits else "green"
        console.print(Text.assemble((f"  {hits} of {runs} runs  ", style), safe_line(label)), soft_wrap=True)


def _strings(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _objects(value: object) -> list[dict[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
