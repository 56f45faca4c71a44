"""One run's outcome as a value, and the sentences that every output format shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from conjunct.model import Coverage, Decision, Finding, Severity, Trigger, Verdict
from conjunct.provenance.alerts import Answered

EXIT_ADMITTED, EXIT_FLAGGED, EXIT_USAGE, EXIT_INCOMPLETE, EXIT_FAILED = 0, 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class Report:
    """What one `conjunct vet` found out."""

    registry: str
    verdicts: tuple[Verdict, ...]
    """Candidates only, worst first, then by name."""
    registry_size: int
    findings: tuple[Finding, ...] = ()
    """On packages that could not be read as a skill, and on the registry as a whole."""
    fingerprint: str = ""
    battery: str = ""
    agent: str = "literal"
    seed: int = 0
    seconds: float = 0.0
    failures: tuple[str, ...] = ()
    """What went wrong in the tool or its world, whatever the skill."""
    stored: tuple[dict[str, object], ...] = ()
    """Report entries of unchanged skills, as stored."""
    started: str = ""
    alerts: tuple[Answered, ...] | None = None
    """Imported alerts of scanners with their answers; `None` where none were imported."""

    def counts(self) -> dict[Decision, int]:
        """Number of verdicts by decision, stored ones included."""
        counter = Counter(verdict.decision for verdict in self.verdicts)
        counter.update(Decision(str(entry["verdict"])) for entry in self.stored)
        return {decision: counter.get(decision, 0) for decision in Decision}

    def exit_code(self, fail_on: frozenset[Decision] = frozenset({Decision.REJECT, Decision.REVIEW})) -> int:
        """The process status: 4 the tool failed, 1 something in `fail_on`, 3 incomplete only, else 0."""
        if self.failures:
            return EXIT_FAILED
        counts = self.counts()
        if any(counts[decision] for decision in fail_on):
            return EXIT_FLAGGED
        worst = {Severity.REVIEW: Decision.REVIEW, Severity.REJECT: Decision.REJECT}
        if any(worst.get(finding.severity) in fail_on for finding in self.findings):
            return EXIT_FLAGGED
        if counts[Decision.INCOMPLETE]:
            return EXIT_INCOMPLETE
        return EXIT_ADMITTED


def worst_first(verdicts: list[Verdict]) -> tuple[Verdict, ...]:
    """Verdicts in the order reject, review, incomplete, admit; by name within each."""
    rank = {decision: index for index, decision in enumerate(Decision)}
    return tuple(sorted(verdicts, key=lambda verdict: (rank[verdict.decision], verdict.skill.id)))


_SHOWN = 5
"""Places of one kind that are named in a sentence; the data has them all."""


def coverage_sentences(coverage: Coverage) -> tuple[str, ...]:
    """What a verdict rests on, and what a clean one does not say, in words."""
    lines = [
        f"varied: {', '.join(coverage.factors) or 'nothing'}; up to {coverage.strength} at once; "
        f"{coverage.horizon} turns per episode",
        f"contexts: {coverage.settled:,} settled, {coverage.run:,} run, {coverage.assumed:,} assumed "
        f"({coverage.episodes:,} episodes, {coverage.commands:,} commands)",
    ]
    if coverage.settled:
        lines.append("settled: no run touched anything in which these contexts differ from one that was run")
    if coverage.assumed:
        lines.append("assumed: a run touched something in which these contexts differ, and they were not run")
    if coverage.budget:
        lines.append(f"budget: {coverage.budget}")
    lines += [f"left out: {told}" for told in coverage.left_out]
    lines.append(f"instructions: {coverage.instructions_compiled} of {coverage.instructions} compiled")
    if coverage.stand_ins:
        lines.append(f"reached through stand-ins: {', '.join(coverage.stand_ins)}")
    if coverage.not_exercised:
        lines.append(f"not exercised: {_listed(coverage.not_exercised)}")
    if coverage.forced:
        lines.append(_forced_sentence(coverage))
    if coverage.never_reached:
        lines.append(f"code never reached where lines were followed: {_listed(coverage.never_reached)}")
    if coverage.smallest_rate is not None:
        lines.append(f"a trigger that fires in less than {_percent(coverage.smallest_rate)} may be unseen")
    if coverage.audits:
        lines.append(
            f"audit: {coverage.audits} settled contexts run for real, {coverage.audit_mismatches} differed"
        )
    lines += [f"assumed: {assumption}" for assumption in coverage.assumptions]
    return tuple(lines)


def _forced_sentence(coverage: Coverage) -> str:
    """What copies with decided tests showed of sensitive lines that no run reached."""
    by_outcome = Counter(one.outcome for one in coverage.forced)
    number = len(coverage.forced)
    parts = [
        f"{by_outcome[outcome]} {words}"
        for outcome, words in (
            ("resolved", "declared or harmless"),
            ("effect", "with an undeclared effect"),
            ("not forced", "not forced"),
        )
        if by_outcome[outcome]
    ]
    lines = f"{number} sensitive line{'' if number == 1 else 's'} that no run reached"
    return f"forced: {lines}: {', '.join(parts)} ({coverage.forced_runs} runs of copies)"


def _listed(places: Sequence[str]) -> str:
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    return "; ".join(places[:_SHOWN]) + more


def _percent(rate: float) -> str:
    return f"{rate:.2%} of the runs" if rate < 0.1 else f"{rate:.0%} of the runs"


def trigger_sentence(trigger: Trigger) -> str:
    """The condition, and what vanished when each element was removed."""
    if not any(factor.needed for factor in trigger.factors):
        return f"in every context ({trigger.hits} of {trigger.runs} fresh runs)"
    needed = [factor for factor in trigger.factors if factor.needed]
    runs = {(factor.removed_hits, factor.removed_runs) for factor in needed}
    if len(runs) == 1:
        ((hits, made),) = runs
        removed = f"each removed: {hits} of {made} runs"
    else:
        removed = ", ".join(
            f"{'with' if f.absent else 'without'} {f.level}: {f.removed_hits} of {f.removed_runs}"
            for f in needed
        )
    fires = "" if trigger.e_value is None else f"in {trigger.hits} of {trigger.runs} fresh runs, "
    return f"{fires}only when: {trigger.sentence}; {removed}"


def author_says(verdict: Verdict) -> str:
    """The author's own sentence, to be read beside the effect."""
    declaration = verdict.skill.declaration
    line = dict(declaration.line_of).get("description")
    place = f" ({verdict.skill.manifest}:{line})" if line else ""
    text = " ".join(declaration.description.split())
    if len(text) > 100:
        text = text[:99].rsplit(" ", 1)[0] + "…"
    return f"“{text}”{place}" if text else "(no description)"
