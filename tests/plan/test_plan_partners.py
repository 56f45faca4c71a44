"""Pairs that meet in rare places are all run; in popular ones one writer stands for its like."""

from __future__ import annotations

from conjunct.model import Context, TouchMode
from conjunct.plan.joins import Footprint, joins
from conjunct.plan.partners import HARMLESS_READERS, PARTNERS, Partners, worth_running

OUTPUT, MEMORY = "/home/sam/project/output", "/home/sam/.claude/CLAUDE.md"
STAT, LIST = frozenset({TouchMode.STAT}), frozenset({TouchMode.STAT, TouchMode.LIST})


def skill(
    name: str,
    *,
    left: dict[str, str] | None = None,
    looked: dict[str, frozenset[TouchMode]] | None = None,
) -> Footprint:
    left, looked = left or {}, looked or {}
    return Footprint(name, dict.fromkeys(left, Context()), dict.fromkeys(looked, Context()), left, looked)


def maker(number: int, modes: frozenset[TouchMode] = STAT) -> Footprint:
    """Makes the common output folder and a file of its own in it, as every other does."""
    return skill(
        f"maker-{number}",
        left={OUTPUT: "folder", f"{OUTPUT}/{number}.csv": f"{number} abc"},
        looked={OUTPUT: modes},
    )


def chosen(
    footprints: list[Footprint], *, candidates: set[str] | None = None, sensitive: set[str] | None = None
) -> Partners:
    names = candidates or {one.skill for one in footprints}
    return worth_running(footprints, candidates=names, sensitive=sensitive or set())


def run(partners: Partners) -> set[tuple[str, str]]:
    return {(pair.writer, pair.reader) for pair in partners.run}


def test_few_meetings_are_all_run() -> None:
    found = chosen([maker(number) for number in range(5)])
    assert (len(found.run), found.told) == (20, {})


def test_a_thousand_skills_that_make_the_same_folder_are_not_a_million_pairs() -> None:
    found = chosen([maker(number) for number in range(100)])
    assert len(found.run) == HARMLESS_READERS
    assert "of 198 meetings" in found.told["maker-1"][0]


def test_a_reader_that_could_do_harm_meets_every_kind_of_writer_once() -> None:
    quiet = [maker(number) for number in range(100)]
    odd = skill("odd", left={OUTPUT: "folder", f"{OUTPUT}/a": "1 x", f"{OUTPUT}/b": "1 y"})
    sender = skill("sender", looked={OUTPUT: STAT})
    met = {
        writer
        for writer, reader in run(chosen([*quiet, odd, sender], sensitive={"sender"}))
        if reader == "sender"
    }
    assert len(met) == 2 and "odd" in met


def test_a_listing_tells_writers_apart_that_a_look_at_the_folder_does_not() -> None:
    quiet = [maker(number) for number in range(100)]
    sender = skill("sender", looked={OUTPUT: LIST})
    met = [reader for _, reader in run(chosen([*quiet, sender], sensitive={"sender"})) if reader == "sender"]
    assert len(met) == PARTNERS


def test_a_rare_place_is_run_although_the_two_meet_in_a_popular_one_too() -> None:
    quiet = [maker(number) for number in range(100)]
    writer = skill("writer", left={OUTPUT: "folder", "/home/sam/.cache/x": "3 q"})
    reader = skill("reader", looked={OUTPUT: STAT, "/home/sam/.cache/x": STAT})
    assert ("writer", "reader") in run(chosen([*quiet, writer, reader]))


def test_a_new_skill_that_leaves_what_others_leave_already_meets_no_reader_again() -> None:
    known = [maker(number) for number in range(100)]
    same, other = maker(100), skill("new", left={OUTPUT: "folder"})
    assert not [
        pair for pair in run(chosen([*known, same], candidates={same.skill})) if pair[0] == same.skill
    ]
    assert len([pair for pair in run(chosen([*known, other], candidates={"new"})) if pair[0] == "new"]) == (
        HARMLESS_READERS
    )


def test_the_choice_is_the_same_whatever_the_order() -> None:
    all_of_them = [maker(number) for number in range(100)]
    assert run(chosen(all_of_them)) == run(chosen(all_of_them[::-1]))


def test_few_meetings_are_those_of_the_join() -> None:
    footprints = [maker(number) for number in range(5)]
    names = {one.skill for one in footprints}
    assert chosen(footprints).run == joins(footprints, candidates=names)
