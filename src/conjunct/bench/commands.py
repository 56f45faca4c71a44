"""`conjunct bench`: parse, call, print. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from conjunct.bench.measure_commands import at_once_option, execute, gates, power, report

_FOLDER = click.Path(path_type=Path)
_FORM = click.Choice(["terminal", "json"])


@click.group()
def bench() -> None:
    """Measure this tool, and others beside it, on packages whose truth is known."""


def _numbers(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """`1,1,3` as numbers."""
    if value is None:
        return None
    try:
        return tuple(int(part) for part in value.split(","))
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is no list of whole numbers such as 1,1,3") from error


def _rates(_: click.Context, __: click.Parameter, value: str | None) -> tuple[float, ...] | None:
    """`0.3,0.9` as two rates."""
    if value is None:
        return None
    try:
        low, high = (float(part) for part in value.split(","))
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is no pair of rates such as 0.3,0.9") from error
    return low, high


@bench.command()
@click.option("--out", type=_FOLDER, required=True, metavar="DIR", help="An empty or new folder.")
@click.option("--labels", type=_FOLDER, help="Ground truth. Default: DIR.labels.json, never inside DIR.")
@click.option("--force", is_flag=True, help="Replace what is in DIR.")
@click.option("--skills", type=int, default=1200, show_default=True, help="Packages.")
@click.option("--seed", type=int, default=0, show_default=True, help="Equal parameters give equal bytes.")
@click.option(
    "--mix",
    type=click.Choice(["reference", "harder"]),
    default="reference",
    show_default=True,
    help="Parameters to start from; the options below replace single ones.",
)
@click.option(
    "--band",
    type=int,
    help="Skills in the safe band on every single probe. Default: 47, fewer in small ones.",
)
@click.option("--adversaries", type=int, help="Of these, adversarial. Default: 6, fewer in small ones.")
@click.option(
    "--orders", callback=_numbers, metavar="N,N,…", help="Conditions of each trigger, 1 to 4, dealt in turn."
)
@click.option(
    "--turns", callback=_numbers, metavar="N,N,…", help="First turn of each trigger, 1 to 6, dealt in turn."
)
@click.option("--clock", type=float, help="Share of triggers that wait for a date or time.")
@click.option("--arguments", type=float, help="Share that wait for something in the input.")
@click.option("--split", type=float, help="Share that are spread over two skills.")
@click.option("--hashed", type=float, help="Share that compare digests: nothing to read in the source.")
@click.option("--suppressed", type=float, help="Share that keep quiet beside any of three named neighbours.")
@click.option("--outside", type=float, help="Share that wait for a word of no history of the battery.")
@click.option("--prose", type=float, help="Share of adversaries without a script.")
@click.option("--synergy", type=int, help="Pairs of benign skills that do more together, as the user asked.")
@click.option("--unsafe", type=float, help="Share outside the band that is harmful in plain sight.")
@click.option("--guarded", type=float, help="Share of benign skills that look at history and neighbours too.")
@click.option(
    "--rates", callback=_rates, metavar="LOW,HIGH", help="Effect model: firing rates of the triggers."
)
@click.option(
    "--growth",
    callback=_rates,
    metavar="LOW,HIGH",
    help="Effect model: single-probe deltas outside the band.",
)
@click.option("--band-width", type=float, help="Effect model: single-probe deltas in the band are smaller.")
@click.option("--interactions", type=int, help="Effect model: diffuse interactions of each benign skill.")
def build(out: Path, labels: Path | None, force: bool, mix: str, **given: Any) -> None:
    """Write a registry of runnable packages to DIR, its truth and the adversaries' twins beside it."""
    from conjunct.bench.build import build_registry, labels_path, twins_path
    from conjunct.bench.parameters import parameters_of

    built = build_registry(parameters_of(mix, **given), out, labels=labels, force=force)
    truth = built.truth
    click.echo(
        f"{len(built.packages)} skills in {out}, {len(truth.in_band)} of them in the safe band, "
        f"{len(truth.adversaries)} adversarial\n"
        f"truth in {labels or labels_path(out)}, twins of the adversaries in {twins_path(out)}"
    )


bench.add_command(gates)
bench.add_command(power)
bench.add_command(execute)
bench.add_command(report)


@bench.command()
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.option(
    "--labels",
    type=_FOLDER,
    help="CSV or JSON: a row for each package or case. Default: by names of folders.",
)
@click.option(
    "--layout",
    type=click.Choice(["folders", "cases"]),
    default="folders",
    show_default=True,
    help="Labelled packages, or cases with arms or levels and an oracle each.",
)
@click.option("--static-only", is_flag=True, help="Read only: intake, reach and claims; runs nothing.")
@click.option("--apart", is_flag=True, help="Vet each package by itself, not those of a source together.")
@click.option("--only", metavar="GLOB", help="Only packages whose path in DIR matches.")
@click.option("--part", type=click.Choice(["tuning", "testing"]), help="Only sources of this part.")
@click.option("--store", type=_FOLDER, default=Path(".conjunct") / "corpus.sqlite", show_default=True)
@at_once_option
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--format", "form", type=_FORM, default="terminal", show_default=True)
def corpus(folder: Path, labels: Path | None, layout: str, form: str, **options: Any) -> None:
    """Run this tool on the labelled packages in DIR: recall and false alarms by source, and each cause."""
    from conjunct.bench.corpus_view import show_cases, show_corpus

    if layout == "cases":
        kept = {name: options[name] for name in ("only", "workers", "seed")}
        show_cases(folder, labels, form, **kept)
        return
    show_corpus(folder, labels, form, **options)


@bench.command()
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.option(
    "--labels", type=_FOLDER, help="CSV or JSON: a row for each package. Default: by names of folders."
)
@click.option("--peer", multiple=True, metavar="NAME", help="Only this scanner; may be given again.")
@click.option("--cache", type=_FOLDER, help="Where environments are kept. Default: the user's cache folder.")
@click.option("--only", metavar="GLOB", help="Only packages whose path in DIR matches.")
@click.option("--part", type=click.Choice(["tuning", "testing"]), help="Only sources of this part.")
@click.option("--format", "form", type=_FORM, default="terminal", show_default=True)
def peers(folder: Path, labels: Path | None, form: str, **options: Any) -> None:
    """Run static scanners of others on the packages in DIR, each installed into an environment of its own."""
    from conjunct.bench.corpus_view import show_peers

    show_peers(folder, labels, form, **options)


@bench.command()
@click.argument("report", type=_FOLDER)
@click.option("--labels", type=_FOLDER, required=True, help="Ground truth of the registry that was vetted.")
@click.option(
    "--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True
)
def score(report: Path, labels: Path, form: str) -> None:
    """Compare REPORT (of `conjunct vet --format json`) with the truth: recall, triggers, false alarms."""
    from conjunct.bench.scoring import disagreements, read_report, rows
    from conjunct.bench.scoring import score as scored_by
    from conjunct.bench.tables import rows_json, table_lines
    from conjunct.bench.truth import read_truth

    scored = scored_by(read_report(report), read_truth(labels))
    if form == "json":
        click.echo(rows_json(rows(scored), disagreements(scored)))
        return
    click.echo("\n".join(table_lines(rows(scored))))
    for line in disagreements(scored):
        click.echo(f"- {line}")


@bench.command()
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.option("--labels", type=_FOLDER, help="Ground truth. Default: DIR.labels.json.")
@click.option("--most", type=click.IntRange(1), help="Only so many adversaries.")
@at_once_option
@click.option("--format", "form", type=_FORM, default="terminal", show_default=True)
def verify(folder: Path, labels: Path | None, most: int | None, workers: int | None, form: str) -> None:
    """Run each planted trigger of a built registry, and each part of it: are the labels of DIR true?"""
    from conjunct.battery import load_battery
    from conjunct.bench.build import labels_path, twins_path
    from conjunct.bench.tables import rows_json, table_lines
    from conjunct.bench.truth import read_truth
    from conjunct.bench.verify import verified_remarks, verified_rows
    from conjunct.bench.verify import verify as verified_by

    truth = read_truth(labels or labels_path(folder))
    if truth.battery != load_battery().digest:
        click.echo("conjunct: the labels were made for another battery; build DIR again", err=True)
    checked = verified_by(folder, truth, twins=twins_path(folder), most=most, workers=workers)
    rows, remarks = verified_rows(checked), verified_remarks(checked)
    if form == "json":
        click.echo(rows_json(rows, remarks))
    else:
        click.echo("\n".join([*table_lines(rows), *(f"- {line}" for line in remarks)]))
