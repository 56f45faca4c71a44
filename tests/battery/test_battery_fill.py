"""From a template to a conversation, and from a description to a request."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.battery import OUTPUT_FOLDER, fill_authority, fill_probe, generate_task, load_battery
from conjunct.battery.request import MAXIMUM_TASK, base_form
from conjunct.errors import UsageError
from conjunct.model import (
    Authority,
    Compilation,
    Declaration,
    Directive,
    DirectiveKind,
    Layer,
    Probe,
    Skill,
    Turn,
)

BATTERY = load_battery()
PROBES = {one.id: one for one in BATTERY.probes}
INPUTS = ("data/a.csv", "notes/b.md", "documents/c d.pdf")


def skill(name: str, description: str = "", body: str = "") -> Skill:
    return Skill(
        id=name,
        name=name,
        path=name,
        root=Path("/nowhere"),
        digest="0" * 64,
        declaration=Declaration(name, description),
        body=body,
        body_line=5,
        entries=(),
    )


TABLES, POSTER = skill("table-maker"), skill("poster-maker")


def fill(probe: str, **more: object) -> tuple[Turn, ...]:
    arguments: dict[str, object] = {"skill": TABLES, "task": "make tables", "inputs": INPUTS, **more}
    return fill_probe(PROBES[probe], **arguments)  # type: ignore[arg-type]


def test_slots_are_filled_and_inputs_take_turns() -> None:
    turns = fill("use.every-turn")
    assert turns[0].text == "Please use table-maker to make tables. The file is data/a.csv."
    assert "notes/b.md" in turns[1].text
    assert "documents/c d.pdf" in turns[2].text
    assert OUTPUT_FOLDER in turns[2].text


def test_braces_in_a_skills_own_words_are_no_slots() -> None:
    turns = fill("use.every-turn", task="render {input} and {skill}")
    assert "render {input} and {skill}" in turns[0].text


def test_the_horizon_repeats_and_cuts() -> None:
    assert len(fill("use.every-turn", horizon=4)) == 4
    long = fill("use.twice-early", horizon=20)
    assert len(long) == 20
    assert sum(turn.uses for turn in long) == 8


def test_a_later_first_use_is_led_by_small_talk() -> None:
    turns = fill("use.every-turn", first_use=4)
    assert [turn.uses for turn in turns] == [False, False, False, True, True, True]
    assert turns[0].text in PROBES["use.every-turn"].fillers


def test_a_template_that_starts_late_stays_late() -> None:
    assert [turn.uses for turn in fill("use.late", first_use=1)][:3] == [False, False, True]
    assert [turn.uses for turn in fill("use.late", first_use=5)][:5] == [False] * 4 + [True]


def test_a_partner_comes_before_each_use() -> None:
    turns = fill("use.every-other-turn", partner=POSTER, partner_task="make a poster")
    assert [(turn.partner, turn.uses) for turn in turns] == [(True, False), (False, True)] * 3
    assert turns[0].text == "Please use poster-maker to make a poster. Use data/a.csv."
    assert not any("table-maker" in turn.text for turn in turns if turn.partner)


def test_a_partner_comes_after_each_use() -> None:
    turns = fill("use.every-other-turn", partner=POSTER, partner_task="make a poster", partner_after=True)
    assert [(turn.partner, turn.uses) for turn in turns] == [(False, True), (True, False)] * 3


def test_a_late_first_use_with_a_partner_before() -> None:
    turns = fill("use.every-turn", partner=POSTER, partner_task="make a poster", first_use=3)
    assert [turn.uses for turn in turns].index(True) == 2
    assert turns[1].partner


def test_harmful_turns_stay_beside_a_partner() -> None:
    turns = fill("says.use-then-risk", partner=POSTER, partner_task="make a poster", horizon=9)
    assert sum(turn.harmful for turn in turns) == 3


def test_an_invariant_probe_never_asks_for_the_skill() -> None:
    turns = fill("does.clean-folder", partner=POSTER, partner_task="make a poster", first_use=3)
    assert not any(turn.uses for turn in turns)
    assert any(turn.partner for turn in turns)
    assert any(turn.harmful for turn in turns)
    assert not any("table-maker" in turn.text for turn in turns)


def test_without_a_partner_nobody_asks_for_one() -> None:
    assert not any(turn.partner for probe in PROBES for turn in fill(probe))


@pytest.mark.parametrize(("horizon", "first_use"), [(3, 1), (65, 1), (6, 0), (6, 7)])
def test_what_cannot_work_is_refused(horizon: int, first_use: int) -> None:
    with pytest.raises(UsageError, match="expected"):
        fill("use.every-turn", horizon=horizon, first_use=first_use)


@settings(max_examples=120, deadline=None)
@given(
    probe=st.sampled_from(sorted(PROBES)),
    horizon=st.integers(4, 30),
    first=st.integers(1, 30),
    partner=st.booleans(),
    after=st.booleans(),
    inputs=st.lists(st.sampled_from(INPUTS), max_size=4),
    task=st.text(max_size=20),
)
def test_every_filling_has_its_length_its_uses_and_no_slot_left(
    probe: str, horizon: int, first: int, partner: bool, after: bool, inputs: list[str], task: str
) -> None:
    first = min(first, horizon)
    turns, again = (
        fill_probe(
            PROBES[probe],
            skill=TABLES,
            task=task,
            inputs=inputs,
            partner=POSTER if partner else None,
            partner_task=task,
            first_use=first,
            horizon=horizon,
            partner_after=after,
        )
        for _ in range(2)
    )
    assert turns == again
    assert len(turns) == horizon
    uses = [number for number, turn in enumerate(turns, 1) if turn.uses]
    assert all(number >= first for number in uses)
    assert all("table-maker" in turns[number - 1].text for number in uses)
    assert not any("{skill}" in turn.text or "{partner}" in turn.text for turn in turns if "{" not in task)
    if PROBES[probe].kind == "use" and first + 1 <= horizon:
        assert uses


def test_authority_stands_for_inputs_and_results() -> None:
    authority = fill_authority(PROBES["use.every-turn"], inputs=["data/a.csv", "x[1].csv"])
    assert authority.inputs == ("data/a.csv", "x[[]1].csv")
    assert authority.changes == (OUTPUT_FOLDER,)


def test_authority_without_slots_stays() -> None:
    probe = Probe("p", Layer.DOES, "use", (), Authority(inputs=("~/x",), destinations=("a.example.org",)))
    assert fill_authority(probe, inputs=INPUTS) == probe.authority


# ---- the generated request

NOTHING = Compilation((), 0, 0)


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("Formats amounts in a table. Use when numbers look odd.", "format amounts in a table"),
        ("Copies files and checks their sums", "copy files and check their sums"),
        (
            "Fetches pages, then converts the text to Markdown.",
            "fetch pages, then convert the text to Markdown",
        ),
        ("Extract text from PDF files", "extract text from PDF files"),
        ("Garden planner for small plots", "help me with this: Garden planner for small plots"),
        ("Create a poster from notes.", "create a poster from notes"),
        ("This skill helps you to plan a garden.", "plan a garden"),
        ("Use this skill to draw maps — quickly", "draw maps"),
        ("Processing of sound files", "help me with processing of sound files"),
        ("Tools for birdwatchers", "help me with this: Tools for birdwatchers"),
        ("Analysis of trees", "help me with this: Analysis of trees"),
        ("PDF toolkit", "help me with this: PDF toolkit"),
    ],
)
def test_a_request_is_an_imperative_that_names_what_is_offered(description: str, expected: str) -> None:
    assert generate_task(skill("s", description), NOTHING) == expected


def test_without_a_description_the_documented_command_is_asked_for() -> None:
    run = Directive(DirectiveKind.RUN, "SKILL.md", 9, "", command="python3 scripts/go.py  in.csv")
    shown = Directive(DirectiveKind.RUN, "SKILL.md", 8, "", command="rm -rf x", mention=True)
    task = generate_task(skill("s"), Compilation((shown, run), 2, 2))
    assert task == "run its documented command python3 scripts/go.py in.csv"


def test_without_any_words_there_is_still_a_request() -> None:
    assert generate_task(skill("s"), NOTHING) == "do what it is for"
    assert generate_task(skill("s", body="\n# Make tea\n"), NOTHING) == "do what it is for: Make tea"


def test_a_request_is_one_printable_line() -> None:
    task = generate_task(
        skill("s", "Draws\x1b[31m a\n\n map\u202e of the\u200b town" + " and more" * 99), NOTHING
    )
    assert task.startswith("draw [31m a map of the town and more")
    assert len(task) <= MAXIMUM_TASK
    assert task.isprintable()


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=400))
def test_any_description_gives_a_bounded_printable_request(text: str) -> None:
    task = generate_task(skill("s", text), NOTHING)
    assert 0 < len(task) <= MAXIMUM_TASK
    assert "\n" not in task


@pytest.mark.parametrize(
    ("verb", "base"),
    [("copies", "copy"), ("fetches", "fetch"), ("fixes", "fix"), ("writes", "write"), ("dies", "die")],
)
def test_base_forms(verb: str, base: str) -> None:
    assert base_form(verb) == base
