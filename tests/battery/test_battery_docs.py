"""The page on the battery says what the data say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conjunct.battery import load_battery
from conjunct.battery.describe import BEGIN, END, main, tables, with_tables
from conjunct.battery.predicates import PREDICATES

PAGE = Path(__file__).parents[2] / "docs" / "battery.md"


def test_the_tables_of_the_page_are_those_of_the_data() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_tables(page, load_battery()), (
        "run: python -m conjunct.battery.describe docs/battery.md"
    )


def test_a_change_of_the_data_changes_the_tables() -> None:
    battery = load_battery()
    rule = replace(battery.invariants[0], title="Something | else")
    changed = tables(replace(battery, invariants=(rule, *battery.invariants[1:])))
    assert "Something \\| else" in changed
    assert changed != tables(battery)


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks"):
        with_tables("# Page", load_battery())


def test_the_command_renews_a_page(tmp_path: Path) -> None:
    page = tmp_path / "p.md"
    page.write_text(f"a\n{BEGIN}\nthe page of last year\n{END}\nb\n")
    assert main([str(page)]) == 0
    assert "last year" not in page.read_text()
    assert page.read_text().endswith(f"{END}\nb\n")
    assert main([]) == 2


def test_every_predicate_says_what_it_looks_for() -> None:
    for name, predicate in PREDICATES.items():
        function = predicate.judge or predicate.compare
        assert function is not None
        assert function.__doc__, name
        assert (predicate.judge is None) != (predicate.compare is None)
