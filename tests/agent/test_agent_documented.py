"""Functions that prose documents as calls are called, in Python and JavaScript."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conjunct.agent import LiteralAgent
from conjunct.agent.calls import documented_calls
from conjunct.agent.testing import FakeView
from conjunct.battery import fixtures
from conjunct.directives import compile_skill
from conjunct.model import Skill, Turn
from conjunct.run.tools import EpisodeTools
from conjunct.world import open_world
from conjunct.world.runtime import ensure_runtime
from conjunct.world.spec import WorldSpec

MakeSkill = Callable[..., Skill]

SURVEY = "import pathlib\n\ndef survey_beds(scope='all'):\n    return scope\n"
PLANT = "def water_bed(bed: str, litres: int, *, note: str): return (bed, litres, note)\n"


def called(skill: Skill) -> list[tuple[str, str, tuple[str, ...], int]]:
    calls = documented_calls(skill, compile_skill(skill))
    return [(call.member, call.language, call.functions, call.line) for call in calls]


def body(text: str) -> str:
    return f"# Garden\n\n{text}\n"


@pytest.mark.parametrize(
    ("text", "functions"),
    [
        ("- `survey_beds()` lists the beds", ("survey_beds()",)),
        ('Call `survey_beds("north")` first.', ('survey_beds("north")',)),
        ("**survey_beds(scope: string = 'all') -> list**", ("survey_beds(scope: string = 'all')",)),
        ("The tool is scripts.survey_beds.survey_beds() and takes nothing.", ("survey_beds()",)),
        ("`survey_beds(scope: str)`: for example survey_beds(scope='east').", ("survey_beds(scope='east')",)),
        ('`survey_beds()` is the tool; `survey_beds("south")` does half.', ('survey_beds("south")',)),
    ],
)
def test_a_documented_call_belongs_to_the_module_of_its_name(
    make_skill: MakeSkill, text: str, functions: tuple[str, ...]
) -> None:
    skill = make_skill(body=body(text), files={"scripts/survey_beds.py": SURVEY})
    assert [entry[:3] for entry in called(skill)] == [("scripts/survey_beds.py", "module", functions)]


def test_an_entry_point_does_not_hide_a_documented_function(make_skill: MakeSkill) -> None:
    source = f"{SURVEY}\nif __name__ == '__main__':\n    print(survey_beds())\n"
    skill = make_skill(body=body("- `survey_beds()` lists"), files={"scripts/survey_beds.py": source})
    assert [entry[1:3] for entry in called(skill)] == [("module", ("survey_beds()",))]


def test_a_function_of_a_module_with_another_name_is_found_where_only_one_has_it(
    make_skill: MakeSkill,
) -> None:
    text = body("Use `survey_beds()`.")
    one = make_skill(body=text, files={"scripts/beds.py": SURVEY})
    two = make_skill(body=text, files={"scripts/beds.py": SURVEY, "scripts/rows.py": SURVEY})
    assert [entry[0] for entry in called(one)] == ["scripts/beds.py"]
    assert called(two) == []


@pytest.mark.parametrize(
    ("source", "functions", "language"),
    [
        ("def run(): return 1\n", ("run()",), "module"),
        ("def only_one(): return 1\n", ("only_one()",), "module"),
        ("print('surveyed')\n", (), "shell"),
    ],
)
def test_a_script_of_the_name_of_a_call_is_started_or_its_entry_is_called(
    make_skill: MakeSkill, source: str, functions: tuple[str, ...], language: str
) -> None:
    skill = make_skill(body=body("Use `survey_beds()`."), files={"scripts/survey_beds.py": source})
    assert [entry[1:3] for entry in called(skill)] == [(language, functions)]


@pytest.mark.parametrize(
    "text",
    [
        "Never call `survey_beds()`.",
        "Use `sorted()` instead of `survey_beds()`.",
        "Call `print()` and `open()`.",
        "Every program has a main().",
        "The name survey_beds stands for a list of beds.",
        "Read `my-survey_beds()`.",
    ],
)
def test_what_is_not_to_be_called_or_belongs_to_nobody_is_no_call(make_skill: MakeSkill, text: str) -> None:
    files = {"scripts/survey_beds.py": SURVEY + "\ndef main(): pass\n"}
    assert called(make_skill(body=body(text), files=files)) == []


def test_two_functions_without_the_name_of_the_call_leave_it_open(make_skill: MakeSkill) -> None:
    source = "def first(): pass\n\ndef second(): pass\n"
    assert called(make_skill(body=body("`survey_beds()`"), files={"scripts/survey_beds.py": source})) == []


@pytest.mark.world
def test_documented_functions_are_called_in_the_world(make_skill: MakeSkill) -> None:
    files = {
        "scripts/survey_beds.py": SURVEY.replace("return scope", "pathlib.Path('seen').write_text(scope)"),
        "scripts/plant.py": PLANT,
        "scripts/pickFruit.mjs": "export function pickFruit(kind) { return `picked ${kind}`; }\n",
    }
    text = '`survey_beds(scope="north")`, then `water_bed(bed)`, then `pickFruit("plums")`.'
    skill = make_skill(body=body(text), files=files)
    view = FakeView((Turn("Use the tally skill.", uses=True),), [skill], {skill.id: compile_skill(skill)})
    spec = WorldSpec(installed=(skill,), workspace_files=fixtures())
    with open_world(spec, runtime=ensure_runtime()) as world:
        tools = EpisodeTools(world, memo=None, inputs=[], argument_set=0)
        tools.begin(1)
        LiteralAgent().act(view, tools)
        seen = tools.read(f"{world.layout.workspace}/seen")
    ran = [record for record in tools.commands if record.skill]
    assert [record.status for record in ran] == [0, 0, 0], [record.stderr for record in ran]
    assert seen == b"north"
