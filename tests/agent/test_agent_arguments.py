"""Filling documented commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.agent.arguments import fill
from conjunct.agent.commandline import lex, split_lines
from conjunct.agent.kinds import Fixtures
from conjunct.agent.package import Package
from conjunct.agent.values import Values
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
def values(make_skill: MakeSkill) -> Values:
    skill = make_skill(
        files={"scripts/count.py": COUNT, "scripts/go.sh": "echo", "examples/demo_sales.csv": "a,b\n"}
    )
    return Values(Package.of(skill), Layout(), Fixtures(INPUTS, WORK))


def test_a_script_is_started_from_the_package_with_fixtures_by_type(values: Values) -> None:
    line = fill("python scripts/count.py <input.csv> --mode x --out result.json", values)
    assert line.argv == (
        "python",
        f"{SKILL}/scripts/count.py",
        f"{WORK}/in/a.csv",
        "--mode",
        "x",
        "--out",
        f"{WORK}/results/result.json",
    )
    assert line.member == "scripts/count.py"
    assert line.outputs == (f"{WORK}/results/result.json",)


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
def test_every_spelling_of_a_script_is_found(values: Values, spelling: str) -> None:
    assert fill(f"python3 {spelling} data.csv --mode y", values).argv[1] == f"{SKILL}/scripts/count.py"


def test_a_script_that_is_not_shipped_is_named_as_missing(values: Values) -> None:
    assert fill("python other.py x.csv", values).missing == "other.py"


def test_what_the_script_requires_is_added(values: Values) -> None:
    line = fill("python scripts/count.py", values)
    assert line.argv[2:] == ("--mode", "x", line.argv[-1])
    assert line.argv[-1].startswith(WORK)


def test_asking_for_help_needs_nothing_more(values: Values) -> None:
    assert fill("python scripts/count.py --help", values).argv[2:] == ("--help",)


def test_an_earlier_output_becomes_a_later_input(values: Values) -> None:
    fill("python scripts/count.py in.csv --mode x --out parts/", values)
    assert f"{WORK}/results/parts" in fill("tar -cf all.tar parts/", values).argv


def test_facts_from_output_fill_identifiers(values: Values) -> None:
    values.facts = {"runid": "r-77"}
    assert fill("curl https://www.example.com/runs/RUN_ID --data RUN_ID", values).argv[-1] == "r-77"


def test_credentials_in_variables_stay_with_the_world(values: Values) -> None:
    text = fill('curl -H "Authorization: Bearer $FOO_API_KEY" https://www.example.com', values).text
    assert "$FOO_API_KEY" in text


def test_made_up_credentials_do_not_hide_the_minted_ones(values: Values) -> None:
    assert "made-up" not in fill("export FOO_API_KEY=made-up && tool go", values).text
    assert "FOO_MODE=made-up" in fill("export FOO_MODE=made-up && tool go", values).text


def test_a_guess_about_positions_adds_nothing_to_a_documented_call(make_skill: MakeSkill) -> None:
    skill = make_skill(files={"x.py": "import sys\na = sys.argv[1]\nb = sys.argv[2]\n"})
    values = Values(Package.of(skill), Layout(), Fixtures(INPUTS, WORK))
    assert len(fill("python x.py one", values).argv) == 3
    assert len(fill("python x.py", values).argv) == 4


def test_a_path_the_text_names_outside_the_workspace_is_kept(values: Values) -> None:
    assert "~/.aws/credentials" in fill("cat ~/.aws/credentials", values).text
    assert fill("cat /etc/hosts", values).argv == ("cat", "/etc/hosts")


def test_decoys_are_never_chosen(values: Values) -> None:
    for index in range(4):
        values.index = index
        for text in ("cat <file>", "cat <secret.txt>", "cat your-notes.txt", "cat path/to/folder/"):
            assert "/home/sam/." not in fill(text, values).text.replace(SKILL, "")


def test_argument_sets_differ_and_the_second_prefers_the_packages_samples(values: Values) -> None:
    first = fill("python scripts/count.py sales.csv --mode <mode>", values).argv
    values.index = 1
    values.produced.clear()
    second = fill("python scripts/count.py sales.csv --mode <mode>", values).argv
    assert first[2] == f"{WORK}/in/a.csv" and second[2] == f"{SKILL}/examples/demo_sales.csv"
    assert (first[4], second[4]) == ("x", "y")


@pytest.mark.parametrize(
    "text", ["tool <23-rows.txt> --output <out_dir>", "tool </path/to/n.txt> --output <out_dir>"]
)
def test_placeholders_may_start_with_a_digit_or_a_path(values: Values, text: str) -> None:
    assert fill(text, values).argv == ("tool", f"{WORK}/in/n.txt", "--output", f"{WORK}/results/out_dir")


def test_a_path_without_extension_is_a_folder(values: Values) -> None:
    assert fill("tool --bundle ./my_screen --image shots/", values).argv[2::2] == (WORK, WORK)


def test_redirects_are_no_placeholders(values: Values) -> None:
    assert (
        fill("sort < n.txt > sorted.txt", values).text
        == f"sort < {WORK}/in/n.txt > {WORK}/results/sorted.txt"
    )


def test_documented_values_are_kept(values: Values) -> None:
    assert fill('tool --query "RNA tumor" --genes BRAF,CD37', values).argv == (
        "tool",
        "--query",
        "RNA tumor",
        "--genes",
        "BRAF,CD37",
    )


def test_optional_parts_are_left_out_first_and_used_in_the_third_set(values: Values) -> None:
    assert fill("tool run [--fast] [options]", values).argv == ("tool", "run")
    values.index = 2
    assert fill("tool run [--fast] [options]", values).argv == ("tool", "run", "--fast")


def test_pipes_and_redirects_need_a_shell(values: Values) -> None:
    line = fill("cat data.csv | sort > sorted.csv", values)
    assert line.argv[:2] == ("bash", "-c")
    assert f"> {WORK}/results/sorted.csv" in line.argv[2]


def test_equal_inputs_give_equal_lines(values: Values, make_skill: MakeSkill) -> None:
    other = Values(values.package, Layout(), Fixtures(INPUTS, WORK))
    text = "python scripts/count.py <a.csv> <b.csv> --out <x.json>"
    assert fill(text, values) == fill(text, other)


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
    line = fill(text, Values(Package.of(skill), Layout(), Fixtures(INPUTS, WORK)))
    assert all("\x01" not in word for word in line.argv)
    assert all(word.end > word.start for word in lex(text))
