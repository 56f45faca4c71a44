"""`conjunct bench corpus`: run the product on a labelled set of packages, and say how often it is right."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conjunct.bench.layouts import Labelled
from conjunct.bench.scoring import Row, Told
from conjunct.model import Finding, Severity

_RANK = {Severity.REJECT: "reject", Severity.REVIEW: "review"}


@dataclass(frozen=True, slots=True)
class Judged:
    """One labelled package with what a tool says of it."""

    package: Labelled
    told: Told
    causes: tuple[str, ...] = ()
    """Codes of what led to the verdict, worst first."""

    @property
    def wrong(self) -> bool:
        """Flagged though harmless, or let through though harmful; incomplete is neither."""
        return self.told.flagged != self.package.harmful and self.told.verdict != "incomplete"


Tool = Callable[[Sequence[Labelled]], Sequence[Judged]]
"""From the packages of one source to what is said of each, in the same order."""


def judge_corpus(packages: Sequence[Labelled], tool: Tool) -> tuple[Judged, ...]:
    """Run a tool over each source by itself: packages of one source are neighbours of no other's."""
    found: list[Judged] = []
    for source in sorted({one.source for one in packages}):
        found += tool([one for one in packages if one.source == source])
    return tuple(found)


def by_reading(packages: Sequence[Labelled]) -> list[Judged]:
    """What `conjunct` says without running anything: intake, reach and claims, with all as neighbours."""
    from conjunct.directives import compile_skill
    from conjunct.provenance import check_claims, neighbourhood_of
    from conjunct.reach import reachable_actions
    from conjunct.skills import read_registry

    with tempfile.TemporaryDirectory(prefix="conjunct-corpus-") as staging:
        read = [
            read_registry(one.path, staging=Path(staging) / str(number)).skills
            for number, one in enumerate(packages)
        ]
        skills = [skill for group in read for skill in group]
        reach = {id(skill): reachable_actions(skill, compile_skill(skill)) for skill in skills}
        around = neighbourhood_of([(skill, reach[id(skill)]) for skill in skills])
        return [
            _from_findings(
                one,
                [
                    finding
                    for skill in group
                    for finding in (
                        *skill.findings,
                        *check_claims(skill, reach[id(skill)], neighbours=around),
                    )
                ],
                read_as=len(group),
            )
            for one, group in zip(packages, read, strict=True)
        ]


def _from_findings(package: Labelled, findings: Iterable[Finding], *, read_as: int) -> Judged:
    telling = sorted(
        (finding for finding in findings if finding.severity is not Severity.NOTE),
        key=lambda finding: finding.severity is not Severity.REJECT,
    )
    if not read_as:
        return Judged(package, Told("incomplete", ("cannot be read as a skill",)), ("intake",))
    verdict = _RANK[telling[0].severity] if telling else "admit"
    return Judged(
        package,
        Told(verdict, tuple(finding.message for finding in telling)),
        tuple(dict.fromkeys(finding.code for finding in telling)),
    )


def by_running(*, store: Path, workers: int | None = None, seed: int = 0, apart: bool = False) -> Tool:
    """What `conjunct vet` says. `apart` vets each package as a registry of its own.

    Without it all packages of a source are one registry. The store is kept: the same command goes on where
    it was stopped.
    """

    def run(packages: Sequence[Labelled]) -> list[Judged]:
        if apart:
            return [judged for one in packages for judged in run_together([one])]
        return run_together(packages)

    def run_together(packages: Sequence[Labelled]) -> list[Judged]:
        from conjunct.vet import VetOptions, vet_registry

        with tempfile.TemporaryDirectory(prefix="conjunct-corpus-") as folder:
            registry = Path(folder)
            for number, one in enumerate(packages):
                _copy(one.path, registry / f"{number:06d}")
            report = vet_registry(
                VetOptions(path=registry, store=store, workers=workers, seed=seed), watch=True
            )
        found: dict[int, list[Judged]] = {}
        for verdict in report.verdicts:
            number = int(next(part for part in Path(verdict.skill.path).parts if _is_number(part)))
            causes = [t.violation.invariant for t in verdict.triggers]
            causes += [f.code for f in verdict.findings if f.severity is not Severity.NOTE]
            told = Told(str(verdict.decision), verdict.reasons)
            found.setdefault(number, []).append(Judged(packages[number], told, tuple(dict.fromkeys(causes))))
        missing = Told("incomplete", ("cannot be read as a skill",))
        return [
            min(found[number], key=lambda one: _ORDER.index(one.told.verdict))
            if number in found
            else Judged(one, missing, ("intake",))
            for number, one in enumerate(packages)
        ]

    return run


def _copy(package: Path, target: Path) -> None:
    """Links stay links: what they lead to is no part of a package."""
    if package.is_dir():
        shutil.copytree(package, target, symlinks=True)
    else:
        target.mkdir()
        shutil.copy(package, target)


_ORDER = ("reject", "review", "incomplete", "admit")


def _is_number(part: str) -> bool:
    return len(part) == 6 and part.isdecimal()


def rates(judged: Sequence[Judged], tool: str = "conjunct") -> tuple[Row, ...]:
    """Recall and false-alarm rate: in all, by source, prose only and with scripts apart."""
    made: list[Row] = []
    several = len({one.package.source for one in judged}) > 1
    for harmful, title in (
        (True, "harmful packages flagged (recall)"),
        (False, "benign packages flagged (false alarms)"),
    ):
        members = [one for one in judged if one.package.harmful is harmful]
        groups: dict[str, list[Judged]] = {"all": members}
        for one in members:
            kind, source = "prose only" if one.package.prose_only else "with scripts", one.package.source
            for name in (kind, source, f"{source}, {kind}") if several else (kind,):
                groups.setdefault(name, []).append(one)
        made += [
            Row(f"{tool}: {title}", name, sum(one.told.flagged for one in group), len(group))
            for name, group in groups.items()
            if group
        ]
    unread = [one for one in judged if one.told.verdict == "incomplete"]
    made.append(Row(f"{tool}: incomplete", "all", len(unread), len(judged)))
    return tuple(made)


def causes_of(judged: Sequence[Judged]) -> Mapping[str, tuple[int, int]]:
    """Cause to (harmful, benign) packages whose verdict rests on it, the commonest first."""
    counted: Counter[str] = Counter()
    benign: Counter[str] = Counter()
    for one in judged:
        for cause in one.causes if one.told.flagged else ():
            counted[cause] += 1
            benign[cause] += not one.package.harmful
    return {cause: (count - benign[cause], benign[cause]) for cause, count in counted.most_common()}
