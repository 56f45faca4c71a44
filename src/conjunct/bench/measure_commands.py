"""`conjunct bench gates`, `power` and `report`: parse, call, print."""

from __future__ import annotations

import os
from pathlib import Path

import click

_FOLDER = click.Path(path_type=Path)
_RESULTS = Path("benchmarks") / "results"

results_option = click.option(
    "--results",
    type=_FOLDER,
    default=_RESULTS,
    show_default=True,
    help="Folder of recorded results.",
)
skills_option = click.option(
    "--skills", type=click.IntRange(1), default=1200, show_default=True, help="Skills of each registry."
)
seed_option = click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="First seed; others follow."
)
at_once_option = click.option(
    "--workers", type=click.IntRange(1, 256), help="Episodes at once. Default: one per core."
)
workers_option = click.option(
    "--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes."
)


def one_thread_each() -> None:
    """Small matrices in many processes: threads of the array library only wait for each other.

    Must come before numpy is loaded; a value that the user set stays.
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


@click.command()
@click.option("--part", "parts", multiple=True, metavar="NAME", help="Measure this part only; repeatable.")
@click.option(
    "--batches",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Batches of each part; parts that cost much make a share of them.",
)
@skills_option
@seed_option
@workers_option
@results_option
@click.option("--list", "listing", is_flag=True, help="List the parts and stop.")
def gates(
    parts: tuple[str, ...],
    batches: int,
    skills: int,
    seed: int,
    workers: int,
    results: Path,
    listing: bool,
) -> None:
    """Gates side by side on the same simulated batches; records recall, cost and false alarms.

    Aggregate gate, published S with 1, 3, 10 and 30 repeats, all pairs with Benjamini–Hochberg, and pools.
    Outcomes are simulated; everything after them is the code that vets agents that are not deterministic.
    """
    one_thread_each()
    from conjunct.bench.catalogue import MEASUREMENTS, measure_all

    if listing:
        click.echo("\n".join(MEASUREMENTS))
        return
    measure_all(
        parts,
        results / "gates.json",
        batches=batches,
        seed=seed,
        skills=skills,
        workers=workers,
        told=click.echo,
    )


@click.command()
@click.option("--part", "parts", multiple=True, metavar="NAME", help="`order 1` to `order 3`, `calibration`.")
@click.option(
    "--batches",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Batches of six triggers for each order and each checked budget.",
)
@skills_option
@seed_option
@workers_option
@results_option
def power(parts: tuple[str, ...], batches: int, skills: int, seed: int, workers: int, results: Path) -> None:
    """Smallest trigger rate found with 90 % power against budget, and whether stated rates hold.

    Triggers of known rates are planted, for each order and depth. Those planted at exactly the rate that the
    coverage statement says this budget could have seen must be missed no more often than it says.
    """
    one_thread_each()
    from conjunct.bench.power import PARTS, measure_power
    from conjunct.bench.results import record_part

    for name in parts or PARTS:
        part = measure_power(name, batches=batches, seed=seed, skills=skills, workers=workers)
        record_part(results / "power.json", name, part)
        click.echo(f"{name}: {batches} batches, {part['processor_seconds']} s of processor time")


@click.command()
@click.option("--batches", type=click.IntRange(1), default=5, show_default=True, help="Registries to build.")
@click.option(
    "--skills", type=click.IntRange(12), default=36, show_default=True, help="Skills of each registry."
)
@click.option(
    "--adversaries", type=click.IntRange(1), help="Of these, adversarial. Default: a third of the skills."
)
@click.option("--mix", type=click.Choice(["reference", "harder"]), default="harder", show_default=True)
@seed_option
@at_once_option
@click.option(
    "--work",
    type=_FOLDER,
    default=Path(".bench") / "executed",
    show_default=True,
    help="Registries and runs; the same command goes on where it was stopped.",
)
@results_option
def execute(
    batches: int,
    skills: int,
    adversaries: int | None,
    mix: str,
    seed: int,
    workers: int | None,
    work: Path,
    results: Path,
) -> None:
    """Batches executed for real: built, vetted with the literal agent, scored beside other gates.

    Each adversary's twin is vetted in its place as well; none of them should be flagged.
    """
    from conjunct.bench.executed import measure_executed
    from conjunct.bench.parameters import parameters_of
    from conjunct.bench.results import record_part

    hidden = skills // 3 if adversaries is None else adversaries
    parameters = parameters_of(mix, skills=skills, adversaries=hidden, seed=seed)
    part = measure_executed(parameters, work, batches=batches, workers=workers, told=click.echo)
    record_part(results / "executed.json", f"{mix}, {skills} skills", part)
    for gate, told in part["gates"].items():
        recall, benign = told["recall"], told["benign"]
        click.echo(
            f"{gate}: {recall['hits']} of {recall['of']} adversaries, "
            f"{benign['hits']} of {benign['of']} benign, {told['episodes']:,} episodes"
        )


@click.command()
@results_option
@click.option(
    "--page",
    type=_FOLDER,
    default=Path("docs") / "benchmarks.md",
    show_default=True,
    help="Where to write the page; pictures go into `img` beside it.",
)
@click.option("--plots/--no-plots", default=True, help="Draw the pictures anew (needs matplotlib).")
def report(results: Path, page: Path, plots: bool) -> None:
    """Make docs/benchmarks.md, with pictures, from recorded results."""
    from conjunct.bench.report import write_report

    drawn = write_report(results, page, plots=plots)
    click.echo(f"{page}: {len(drawn)} pictures ({', '.join(drawn) or 'none'})")
