"""What `conjunct bench corpus` prints."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from conjunct.bench.cases import arm_rates, case_entries, composition_cases, listed_cases, run_cases
from conjunct.bench.corpus import Judged, by_reading, by_running, causes_of, judge_corpus, rates
from conjunct.bench.layouts import Labelled, read_folders, read_groups
from conjunct.bench.peers import by_peer, cache_folder, installed, peers_named
from conjunct.bench.scoring import Row
from conjunct.bench.tables import table_lines
from conjunct.errors import UsageError
from conjunct.report.safe_text import safe_line


def show_corpus(
    folder: Path,
    labels: Path | None,
    form: str,
    *,
    static_only: bool,
    apart: bool,
    only: str | None,
    part: str | None,
    store: Path,
    workers: int | None,
    seed: int,
) -> None:
    """Judge the packages of a folder and print the tables.

    Raises:
        UsageError: the labels do not belong to the folder, or nothing is left to judge.
    """
    packages = chosen(read_labelled(folder, labels), folder, only=only, part=part)
    tool = by_reading if static_only else by_running(store=store, workers=workers, seed=seed, apart=apart)
    judged = judge_corpus(packages, tool)
    click.echo(told(judged, rates(judged), causes_of(judged), form))


def read_labelled(folder: Path, labels: Path | None) -> tuple[Labelled, ...]:
    """The packages of a table of labels, or, without one, of folders that are named after labels."""
    return read_groups(folder) if labels is None else read_folders(folder, labels)


def show_peers(
    folder: Path,
    labels: Path | None,
    form: str,
    *,
    peer: Sequence[str],
    cache: Path | None,
    only: str | None,
    part: str | None,
) -> None:
    """Run the scanners of others, and this tool's reading rooms, on the same packages; print the same tables.

    Raises:
        UsageError: as `show_corpus`, or a scanner is not known or cannot be installed.
    """
    packages = chosen(read_labelled(folder, labels), folder, only=only, part=part)
    judged: dict[str, tuple[Judged, ...]] = {"conjunct, reading only": judge_corpus(packages, by_reading)}
    for one in peers_named(peer):
        program = installed(one, cache or cache_folder())
        judged[one.requirement] = judge_corpus(packages, by_peer(one, program))
    if form == "json":
        whole = {name: json.loads(told(said, rates(said, name), {}, form)) for name, said in judged.items()}
        click.echo(json.dumps(whole, indent=1, ensure_ascii=False))
        return
    rows = [row for name, said in judged.items() for row in rates(said, name)]
    click.echo("\n".join(table_lines(rows)))


def show_cases(
    folder: Path, labels: Path | None, form: str, *, only: str | None, workers: int | None, seed: int
) -> None:
    """Run the arms of a set of cases and print how often the oracle holds in each.

    Raises:
        UsageError: no case is found, or the list of cases does not fit the folder.
    """
    cases = listed_cases(folder, labels) if labels is not None else composition_cases(folder, only=only)
    results = run_cases(cases, workers=workers, seed=seed)
    if form == "json":
        click.echo(json.dumps(case_entries(results), indent=1, ensure_ascii=False))
        return
    click.echo("\n".join(table_lines(arm_rates(results))))


def chosen(
    packages: Sequence[Labelled], folder: Path, *, only: str | None, part: str | None
) -> tuple[Labelled, ...]:
    """The packages whose path matches `only` and whose source is of `part`."""
    kept = tuple(
        one
        for one in packages
        if (only is None or fnmatch.fnmatchcase(str(one.path.relative_to(folder)), only))
        and (part is None or one.part == part)
    )
    if not kept:
        raise UsageError(f"{folder}: no labelled package is left of {len(packages)}; check --only and --part")
    return kept


def told(
    judged: Sequence[Judged], rows: Sequence[Row], causes: Mapping[str, tuple[int, int]], form: str
) -> str:
    """Tables, causes, and each package that was judged wrongly, as text or JSON."""
    wrong = [_line(one) for one in judged if one.wrong]
    if form == "json":
        table = [asdict(row) | {"interval": [round(bound, 4) for bound in row.interval()]} for row in rows]
        packages = [
            {
                "path": one.package.name,
                "source": one.package.source,
                "harmful": one.package.harmful,
                "prose_only": one.package.prose_only,
                "verdict": one.told.verdict,
                "causes": list(one.causes),
            }
            for one in judged
        ]
        return json.dumps({"rows": table, "packages": packages}, indent=1, ensure_ascii=False)
    lines = table_lines(rows)
    if causes:
        lines += ["", "causes (harmful, benign packages)"]
        lines += [f"  {cause:<40} {harmful:>5} {benign:>5}" for cause, (harmful, benign) in causes.items()]
    if wrong:
        lines += ["", "judged wrongly", *wrong]
    return "\n".join(lines)


def _line(one: Judged) -> str:
    what = "harmful" if one.package.harmful else "benign"
    return safe_line(f"- {one.package.name}: {what}, {one.told.verdict}: {one.told.cause or 'no finding'}")
