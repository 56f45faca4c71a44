"""The command line: parse, call, print. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from conjunct import __version__
from conjunct.errors import ConjunctError, IntakeError, UsageError, WorldError

if TYPE_CHECKING:
    from datetime import datetime

Function = TypeVar("Function", bound=Callable[..., Any])
EXIT_USAGE, EXIT_FAILED = 2, 4
_FOLDER = click.Path(path_type=Path)

store_option = click.option(
    "--store",
    type=_FOLDER,
    default=None,
    help="Run store (SQLite). Default: .conjunct/runs.sqlite in the present folder.",
)


def report_options(command: Function) -> Function:
    """What the commands that write a report have in common."""
    for option in (
        click.option("--verbose", "-v", is_flag=True, help="Show admitted skills and coverage too."),
        click.option(
            "--fail-on",
            default="reject,review",
            show_default=True,
            help="Verdicts that make the exit status 1: any of reject, review, incomplete, or `never`.",
        ),
        click.option("--html", type=_FOLDER, help="Also write a self-contained HTML report."),
        click.option("--output", type=_FOLDER, help="Write the report here instead of to standard output."),
        click.option(
            "--format",
            "form",
            type=click.Choice(["terminal", "json", "sarif", "junit"]),
            default="terminal",
            show_default=True,
        ),
    ):
        command = option(command)
    return command


class _Group(click.Group):
    """Turns our errors into one line and the documented exit codes; loads `bench` when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), "bench"])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "bench":
            from conjunct.bench.commands import bench

            return bench
        return super().get_command(ctx, cmd_name)

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except (UsageError, IntakeError) as error:
            click.echo(f"conjunct: {error}", err=True)
            sys.exit(EXIT_USAGE)
        except WorldError as error:
            click.echo(
                f"conjunct: {error}\nconjunct: run `conjunct doctor` to see what this machine lacks", err=True
            )
            sys.exit(EXIT_FAILED)
        except ConjunctError as error:
            click.echo(f"conjunct: {error}", err=True)
            sys.exit(EXIT_FAILED)
        except KeyboardInterrupt:
            click.echo("\nconjunct: stopped; the same command continues from here", err=True)
            sys.exit(130)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="conjunct")
def main() -> None:
    """Behavioural admission testing for agent skills.

    Runs an agent with and without each skill, alone and beside its neighbours, under user histories and over
    several turns, in a sandbox with decoys; decides from the shape of what changes.
    """
    from conjunct.platform_check import require_linux

    require_linux()


@main.command()
@click.argument("path", type=_FOLDER, required=False)
@click.option("--registry", type=_FOLDER, help="Skills the candidates will live with. Default: PATH itself.")
@click.option(
    "--changed", metavar="REF", help="Vet only skills of --registry that changed since this git ref."
)
@click.option(
    "--policy", type=_FOLDER, help="Admission policy (TOML). Default: conjunct.toml beside the registry."
)
@click.option("--battery", type=_FOLDER, help="A folder that extends or overrides the built-in battery.")
@click.option(
    "--trust",
    type=_FOLDER,
    help="Trust policy (TOML): whose signatures count. Default: conjunct-trust.toml beside the registry.",
)
@click.option(
    "--import-sarif", type=_FOLDER, help="Answer the alerts of a static scanner (SARIF 2.1.0) with what ran."
)
@store_option
@click.option(
    "--agent",
    type=click.Choice(["literal", "noisy"]),
    default="literal",
    show_default=True,
    help="Who acts. `noisy` slips at recorded rates: pools and fresh rounds take the place of traces.",
)
@click.option("--slips", type=_FOLDER, help="Rates of the noisy agent (YAML). Default: its own.")
@click.option("--workers", type=click.IntRange(1, 256), help="Episodes at once. Default: one per core.")
@click.option(
    "--budget",
    metavar="N|TIME|TOKENS",
    help="Stop after so many runs (`500`), time (`20m`) or tokens (`200kt`); verdicts then say what is left.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of canaries, fixtures and samples."
)
@report_options
def vet(
    path: Path | None,
    form: str,
    output: Path | None,
    html: Path | None,
    fail_on: str,
    budget: str | None,
    **options: Any,
) -> None:
    """Vet the skills in PATH: one skill folder, a folder of skills, or an archive."""
    from conjunct.plan.budget import parse_budget
    from conjunct.report.write import failing_decisions, require_folders, write_reports
    from conjunct.vet import VetOptions, vet_registry

    limit = parse_budget(budget) if budget else None
    verbose = options.pop("verbose")
    failing = failing_decisions(fail_on)
    require_folders(output, html)
    if path is None and options["registry"] is None:
        raise UsageError("name a PATH to vet, or --registry DIR together with --changed REF")
    report = vet_registry(VetOptions(path=path, budget=limit, **options), watch=True)
    write_reports(report, form=form, output=output, html=html, verbose=verbose)
    sys.exit(report.exit_code(failing))


@main.command()
@click.argument("path", type=_FOLDER, required=False)
@store_option
@click.option(
    "--policy", type=_FOLDER, help="Admission policy (TOML). Default: conjunct.toml beside the registry."
)
@report_options
def gate(
    path: Path | None,
    store: Path | None,
    policy: Path | None,
    form: str,
    output: Path | None,
    html: Path | None,
    fail_on: str,
    verbose: bool,
) -> None:
    """Apply a changed admission policy to the stored runs of PATH or of the last vet. Runs nothing."""
    from conjunct.gating import GateOptions, gate_stored
    from conjunct.report.write import failing_decisions, require_folders, write_reports

    failing = failing_decisions(fail_on)
    require_folders(output, html)
    report = gate_stored(GateOptions(path=path, store=store, policy=policy))
    write_reports(report, form=form, output=output, html=html, verbose=verbose)
    sys.exit(report.exit_code(failing))


@main.command()
@click.argument("skill")
@click.argument("answer", type=click.Choice(["yes", "no"]))
@click.option("--owner", required=True, help="Who answers for it.")
@click.option("--reason", required=True, help="Why.")
@click.option(
    "--expires", type=click.DateTime(["%Y-%m-%d"]), help="Last day it holds. Default: one year from now."
)
@click.option("--every-version", is_flag=True, help="Also for other versions that ask the same.")
@click.option("--policy", type=_FOLDER, help="Policy to add it to. Default: that of the last vet's registry.")
@store_option
def answer(skill: str, answer: str, expires: datetime | None, **options: Any) -> None:
    """Answer the open question about SKILL: the answer becomes a rule of the admission policy."""
    from datetime import UTC, datetime

    from conjunct.answering import AnswerOptions, answer_question
    from conjunct.gate import answer_rule
    from conjunct.report.safe_text import safe_line

    last = expires.date() if expires else None
    given = AnswerOptions(skill, answer == "yes", expires=last, **options)
    rule, path = answer_question(given, today=datetime.now(UTC).date())
    for line in answer_rule(rule).splitlines():
        click.echo(safe_line(line, width=2000))
    click.echo(f"added to {safe_line(str(path))}; `conjunct gate` applies it without new runs", err=True)


@main.command()
@click.argument("skill")
@store_option
def explain(skill: str, store: Path | None) -> None:
    """Show everything the newest verdict on SKILL rests on."""
    from conjunct.report.write import explain_stored

    explain_stored(skill, store)


@main.command()
@click.argument("skill")
@store_option
@click.option(
    "--runs", type=click.IntRange(1, 100), default=3, show_default=True, help="Fresh runs of each arm."
)
def replay(skill: str, store: Path | None, runs: int) -> None:
    """Run the minimal trigger of SKILL again, and each removal beside it."""
    from conjunct.report.terminal import print_replay
    from conjunct.vet import replay_skill

    result = replay_skill(skill, store, runs)
    print_replay(skill, result.effect, result.sentence, [(a.removed, a.hits, a.runs) for a in result.arms])
    sys.exit(0 if result.reproduced else 1)


@main.command()
@click.argument("path", type=_FOLDER)
@click.option(
    "--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True
)
def reach(path: Path, form: str) -> None:
    """Show what the skills in PATH could do, with file and line, and what they declare. Runs nothing."""
    from conjunct.report.reach_view import show_reach

    show_reach(path, form)


@main.command()
@click.argument("old", type=_FOLDER)
@click.argument("new", type=_FOLDER)
@click.option("--registry", type=_FOLDER, help="Skills that both live with. Default: those beside each.")
@click.option("--static", is_flag=True, help="Run nothing: behaviour only from verdicts in --store.")
@click.option(
    "--store", type=_FOLDER, help="Run store: runs are kept in it and taken from it. Default: none."
)
@click.option("--policy", type=_FOLDER, help="Admission policy (TOML). Default: the built-in one.")
@click.option("--workers", type=click.IntRange(1, 256), help="Episodes at once. Default: one per core.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of both versions' runs.")
@click.option(
    "--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True
)
def diff(old: Path, new: Path, static: bool, store: Path | None, form: str, **options: Any) -> None:
    """Show what changed from OLD to NEW: files, declaration, origin, reach, findings, and what they do.

    Both versions are run in the same contexts, unless --static is given. Exit status: 0 nothing changed,
    1 something changed, 2 usage, 4 the tool or its world failed (what was found without it is shown).
    """
    from conjunct.diff import diff_paths
    from conjunct.report.diff_view import show_diff

    found = diff_paths(old, new, store if static else None)
    failure: WorldError | None = None
    if not static:
        from conjunct.behaviour import VersionOptions, with_behaviour

        try:
            found = with_behaviour(found, old, new, VersionOptions(store=store, **options), watch=True)
        except WorldError as error:
            failure = error
    status = show_diff(found, old, new, form)
    if failure is not None:
        raise failure
    sys.exit(status)


@main.command()
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.option("--check", is_flag=True, help="Compare DIR with its lock instead of writing it.")
@click.option("--file", type=_FOLDER, help="The lock file. Default: conjunct.lock in DIR.")
@click.option(
    "--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True
)
def lock(folder: Path, check: bool, file: Path | None, form: str) -> None:
    """Pin the digest of every skill in DIR, or tell how DIR drifted from its pins."""
    from conjunct.report.lock_view import check_lock, lock_registry

    if check:
        sys.exit(check_lock(folder, file, form))
    lock_registry(folder, file)


@main.command()
@click.argument("skill", required=False)
@store_option
@click.option("--verify", is_flag=True, help="Check the chain of the ledger; exit status 1 if it is broken.")
@click.option("--expect", metavar="HASH", help="With --verify: the head that an earlier check printed.")
@click.option(
    "--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True
)
def provenance(skill: str | None, store: Path | None, verify: bool, expect: str | None, form: str) -> None:
    """Show where SKILL came from, its versions, verdicts, and who decided; without SKILL, every skill."""
    from conjunct.report.ledger_view import show_provenance

    sys.exit(show_provenance(skill, store, verify=verify, expect=expect, form=form))


@main.command()
@click.option(
    "--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True
)
def doctor(form: str) -> None:
    """Try each promise of the world with a real episode on this machine."""
    from conjunct.report.doctor_view import show_doctor

    sys.exit(show_doctor(form))


@main.command()
def setup() -> None:
    """Build the locked set of Python and Node packages that skills find in the world."""
    from conjunct.world.runtime import ensure_runtime

    runtime = ensure_runtime(progress=lambda line: click.echo(line, err=True))
    click.echo(f"runtime {runtime.digest[:12]} is ready")


@main.command()
def schema() -> None:
    """Print the JSON Schema of `vet --format json`."""
    import json

    from conjunct.report.json_report import report_schema

    click.echo(json.dumps(report_schema(), indent=2))
