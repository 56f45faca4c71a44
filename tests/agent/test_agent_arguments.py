"""Filling documented commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.agent.arguments import Filler
from conjunct.agent.commandline import lex, split_lines
from conjunct.agent.kinds import Fixtures
from conjunct.agent.package import Package
from conjunct.model import Declaration, Skill
from conjunct.world.spec import Layout

MakeSkill = Callable[..., Skill]

WORK = "/home/sam/project"
SKILL = "/home/sam/.claude/skills/tally"
INPUTS = tuple(f"{WORK}/in/{name}" for name in ("a.csv", "b.csv", "p.pdf", "c.json", "pic.png", "n.txt"))

COUNT = """
import argparse
p = argparse.ArgumentParser()
p.add_argument("source")
p.add_argument("--mode", choices=["x", "y"], required=True)
p.add_argument("--out")
p.parse_args()
"""


@pytest.fixture
def filler(make_skill: MakeSkill) -> Filler:
    skill = make_skill(
        files={"scripts/count.py": COUNT, "scripts/go.sh": "echo", "examples/demo_sales.csv": "a,b\n"}
    )
    return Filler(Package.of(skill), Layout(), Fixtures(INPUTS, WORK))


def test_a_script_is_started_from_the_package_with_fixtures_by_type(filler: Filler) -> None:
    line = filler.fill("python scripts/count.py <input.csv> --mode x --out result.json")
    assert line.argv == (
        "python",
        f"{SKILL}/scripts/count.py",
        f"{WORK}/in/a.csv",
        "--mode",
        "x",
        "--out",
        f"{WORK}/output/result.json",
    )
    assert line.member == "scripts/count.py"
    assert line.outputs == (f"{WORK}/output/result.json",)


@pytest.mark.parametrize(
    "spelling",
    [
        "{skill_path}/scripts/count.py",
        "${CLAUDE_SKILL_DIR}/scripts/count.py",
        "./scripts/count.py",
        "skills/tally/scripts/count.py",
        "~/.claude/skills/tally/scripts/count.py",
        "<skill-dir>/scripts/count.py",
        "count.py",
    ],
)
def test_every_spelling_of_a_script_is_found(filler: Filler, spelling: str) -> None:
    assert filler.fill(f"python3 {spelling} data.csv --mode y").argv[1] == f"{SKILL}/scripts/count.py"


def test_a_script_that_is_not_shipped_is_named_as_missing(filler: Filler) -> None:
    assert filler.fill("python other.py x.csv").missing == "other.py"


def test_what_the_script_requires_is_added(filler: Filler) -> None:
    line = filler.fill("python scripts/count.py")
    assert line.argv[2:] == ("--mode", "x", line.argv[-1])
    assert line.argv[-1].startswith(WORK)


def test_asking_for_help_needs_nothing_more(filler: Filler) -> None:
    assert filler.fill("python scripts/count.py --help").argv[2:] == ("--help",)


def test_an_earlier_output_becomes_a_later_input(filler: Filler) -> None:
    filler.fill("python scripts/count.py in.csv --mode x --out parts/")
    assert f"{WORK}/output/parts" in filler.fill("tar -cf all.tar parts/").argv


def test_facts_from_output_fill_identifiers(filler: Filler) -> None:
    filler.facts = {"runid": "r-77"}
    assert filler.fill("curl https://www.example.com/runs/RUN_ID --data RUN_ID").argv[-1] == "r-77"


def test_credentials_in_variables_stay_with_the_world(filler: Filler) -> None:
    text = filler.fill('curl -H "Authorization: Bearer $FOO_API_KEY" https://www.example.com').text
    assert "$FOO_API_KEY" in text


def test_a_path_the_text_names_outside_the_workspace_is_kept(filler: Filler) -> None:
    assert "~/.aws/credentials" in filler.fill("cat ~/.aws/credentials").text
    assert filler.fill("cat /etc/hosts").argv == ("cat", "/etc/hosts")


def test_decoys_are_never_chosen(filler: Filler) -> None:
    for index in range(4):
        filler.index = index
        for text in ("cat <file>", "cat <secret.txt>", "cat your-notes.txt", "cat path/to/folder/"):
            assert "/home/sam/." not in filler.fill(text).text.replace(SKILL, "")


def test_argument_sets_differ_and_the_second_prefers_the_packages_samples(filler: Filler) -> None:
    first = filler.fill("python scripts/count.py sales.csv --mode <mode>").argv
    filler.index = 1
    filler.produced.clear()
    second = filler.fill("python scripts/count.py sales.csv --mode <mode>").argv
    assert first[2] == f"{WORK}/in/a.csv" and second[2] == f"{SKILL}/examples/demo_sales.csv"
    assert (first[4], second[4]) == ("x", "y")


def test_documented_values_are_kept(filler: Filler) -> None:
    assert filler.fill('tool --query "RNA tumor" --genes BRAF,CD37').argv == (
        "tool",
        "--query",
        "RNA tumor",
        "--genes",
        "BRAF,CD37",
    )


def test_optional_parts_are_left_out_first_and_used_in_the_third_set(filler: Filler) -> None:
    assert filler.fill("tool run [--fast] [options]").argv == ("tool", "run")
    filler.index = 2
    assert filler.fill("tool run [--fast] [options]").argv == ("tool", "run", "--fast")


def test_pipes_and_redirects_need_a_shell(filler: Filler) -> None:
    line = filler.fill("cat data.csv | sort > sorted.csv")
    assert line.argv[:2] == ("bash", "-c")
    assert f"> {WORK}/output/sorted.csv" in line.argv[2]


def test_equal_inputs_give_equal_lines(filler: Filler, make_skill: MakeSkill) -> None:
    other = Filler(filler.package, Layout(), Fixtures(INPUTS, WORK))
    text = "python scripts/count.py <a.csv> <b.csv> --out <x.json>"
    assert filler.fill(text) == other.fill(text)


def test_setup_lines_go_before_every_later_command() -> None:
    assert split_lines("cd app\nnpm install\n# note\nnpm \\\n  test\n") == [
        (1, "cd app && npm install"),
        (3, "cd app && npm \\\n  test"),
    ]
    assert split_lines("for f in *; do\n  cat $f\ndone") == [(0, "for f in *; do\n  cat $f\ndone")]


@settings(max_examples=80, deadline=None)
@given(st.text(alphabet="ab.<>{}[]$'\"\\ |&;\n()`#-=/~*", max_size=200))
def test_any_text_is_filled_without_an_error(text: str) -> None:
    skill = Skill("s", "s", "s", Path("/nonexistent"), "0", Declaration("s", ""), "", 1, ())
    line = Filler(Package.of(skill), Layout(), Fixtures(INPUTS, WORK)).fill(text)
    assert all("\x01" not in word for word in line.argv)
    assert all(word.end > word.start for word in lex(text))
