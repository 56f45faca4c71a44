"""A second try with what a script said it wants."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.agent import LiteralAgent
from conjunct.agent.arguments import Line
from conjunct.agent.kinds import Fixtures
from conjunct.agent.package import Package
from conjunct.agent.repair import Repair, repair
from conjunct.agent.testing import FakeTools, FakeView
from conjunct.agent.usage import Usage, describe
from conjunct.agent.values import Values
from conjunct.model import Compilation, Directive, DirectiveKind, Skill, Turn
from conjunct.world.spec import Command, Layout

MakeSkill = Callable[..., Skill]
WORK = "/home/sam/project"
USAGE = Usage(
    (describe("input", ("-i", "--input"), hint="csv"), describe("limit", ("--limit",), kind="integer"))
)
A = f"{WORK}/in/a.csv"
REQUIRED = "x.py: error: the following arguments are required: -i/--input, --limit"


@pytest.fixture
def attempt(make_skill: MakeSkill) -> Callable[..., Repair | None]:
    values = Values(Package.of(make_skill()), Layout(), Fixtures((f"{WORK}/in/a.csv",), WORK))

    def go(message: str, *words: str) -> Repair | None:
        return repair(Line(("python3", "x.py", *words), ""), message, USAGE, values)

    return go


@pytest.mark.parametrize(
    ("message", "words", "expected"),
    [
        (REQUIRED, (), ("--input", A, "--limit", "3")),
        ("error: one of the arguments --input --demo is required", (), ("--input", f"{WORK}/in/a.csv")),
        ("x.py: error: Provide --input <file> or --demo", (), ("--input", f"{WORK}/in/a.csv")),
        ("error: either --input <config> or --demo [NAME] is required", (), ("--input", A)),
        ("ERROR: --input or --limit required", (), ("--input", A)),
        ("ERROR: --input and --limit required", (), ("--input", A, "--limit", "3")),
        ("argument mode: invalid choice: 'go' (choose from 'fast', 'slow')", ("go",), ("fast",)),
        ("error: unrecognized arguments: --new thing", ("run", "--new", "thing"), ("run",)),
    ],
)
def test_complaints_about_arguments_are_answered(
    attempt: Callable[..., Repair | None], message: str, words: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    found = attempt(message, *words)
    assert found is not None and found.line.argv[2:] == expected


@pytest.mark.parametrize(
    ("message", "columns"),
    [
        ("ERROR: Input is missing required columns: ['gene', 'treated_count']", "gene,treated_count"),
        ("ValueError: required column 'sample_id' not found", "sample_id"),
        ("Missing columns: alpha, beta and gamma.", "alpha,beta,gamma"),
        ("Ensure the header contains sample, fastq_1, and fastq_2.", "sample,fastq_1,fastq_2"),
        ("  File pandas\nKeyError: 'amount'", "amount"),
    ],
)
def test_a_table_with_the_missing_columns_is_made(
    attempt: Callable[..., Repair | None], message: str, columns: str
) -> None:
    found = attempt(message, f"{WORK}/in/a.csv")
    assert found is not None and found.path == found.line.argv[2] == f"{WORK}/results/inputs/a.csv"
    assert found.content.decode().splitlines()[0] == columns
    assert len(found.content.decode().splitlines()) == 9


@pytest.mark.parametrize(
    "message", ["", "Traceback: something else", "KeyError: 'FOO_TOKEN'", "See the columns below", "killed"]
)
def test_other_failures_are_left_alone(attempt: Callable[..., Repair | None], message: str) -> None:
    assert attempt(message, f"{WORK}/in/a.csv") is None


def test_a_document_has_all_keys_the_script_reads(make_skill: MakeSkill) -> None:
    values = Values(Package.of(make_skill()), Layout(), Fixtures((), WORK))
    source = "cfg = load()\na = cfg['lead_id']\nb = cfg.get('max_rate', 1)\nc = other['x']\n"
    line = Line(("python3", "x.py", f"{WORK}/in/c.json"), "")
    found = repair(line, "KeyError: 'lead_id'", Usage(), values, source=source)
    assert found is not None and json.loads(found.content) == {"lead_id": "s1", "max_rate": 0.05}
    assert repair(found.line, "KeyError: 'lead_id'", Usage(), values, source=source) is None


def test_a_document_gets_the_member_that_is_missed(make_skill: MakeSkill) -> None:
    values = Values(Package.of(make_skill()), Layout(), Fixtures((), WORK))
    line = Line(("python3", "x.py", f"{WORK}/in/c.json"), "")
    found = repair(line, "Error: No 'journeys' array found in input data.", Usage(), values)
    assert found is not None and list(json.loads(found.content)) == ["journeys"]
    assert repair(line, "Read the 'journeys' array.", Usage(), values) is None


def test_the_agent_tries_once_more_and_only_once(make_skill: MakeSkill) -> None:
    def respond(command: Command) -> tuple[int, str, str]:
        return (2, "", "x.py: error: the following arguments are required: --key")

    skill = make_skill(files={"x.py": "import argparse\nrun()\n"})
    directive = Directive(DirectiveKind.RUN, "SKILL.md", 3, "x", command="python3 x.py", language="shell")
    view = FakeView((Turn("use tally", uses=True),), [skill], {"tally": Compilation((directive,), 1, 1)})
    tools = FakeTools(respond)
    LiteralAgent().act(view, tools)
    assert [len(command.argv) for command in tools.commands if command.skill] == [2, 4]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300))
def test_no_message_makes_it_fail(message: str) -> None:
    from pathlib import Path

    from conjunct.model import Declaration

    skill = Skill("s", "s", "s", Path("/nonexistent"), "0", Declaration("s", ""), "", 1, ())
    values = Values(Package.of(skill), Layout(), Fixtures((), WORK))
    for prefix in ("missing columns: ", "the following arguments are required: ", "unrecognized arguments: "):
        repair(Line(("python3", "x.py", "a.csv"), ""), prefix + message, USAGE, values)
