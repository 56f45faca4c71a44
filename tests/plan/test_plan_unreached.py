"""Code that no run reached is told by file and line; what ran, and what leaves no mark, is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conjunct.model import CommandRecord, Entry, Skill
from conjunct.plan.unreached import never_reached
from report.verdicts import skill as made

CODE = '''"""Text."""
import sys


def used(value):
    """What it does."""
    if value:
        a = 1
        b = (
            2
        )
        return a + b
    try:
        return 0
    except ValueError:
        raise
    finally:
        pass


print(used(sys.argv))
'''


def package(folder: Path, **files: str | bytes) -> Skill:
    entries = []
    for name, content in files.items():
        path = name.replace("__", "/").replace("_dot_", ".")
        data = content.encode() if isinstance(content, str) else content
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
        entries.append(Entry(path, "file", len(data), "", False))
    return replace(made("s"), root=folder, entries=tuple(entries))


def ran(*lines: int, argv: tuple[str, ...] = (), file: str = "s/a.py") -> CommandRecord:
    return CommandRecord(0, 1, argv, "/", "s", "SKILL.md", 1, "exit", 0, lines_run=((file, lines),))


def test_stretches_between_lines_that_ran_are_told(tmp_path: Path) -> None:
    one = package(tmp_path, a_dot_py=CODE)
    assert never_reached(one, [ran(1, 2, 5, 7, 13, 14, 21)]) == ("a.py:8-12", "a.py:16")
    assert never_reached(one, [ran(2, 7, 8, 9, 12, 21), ran(14, 16)]) == ()


def test_a_file_that_never_ran_is_one_stretch(tmp_path: Path) -> None:
    assert never_reached(package(tmp_path, a_dot_py=CODE), []) == ("a.py:2-21",)
    assert never_reached(package(tmp_path, a_dot_py=""), []) == ()


def test_lines_of_another_skill_count_for_nothing(tmp_path: Path) -> None:
    one = package(tmp_path, a_dot_py="print(1)\n")
    assert never_reached(one, [ran(1, file="t/a.py")]) == ("a.py:1",)
    assert never_reached(one, [ran(1)]) == ()


@pytest.mark.parametrize("word", ["/home/sam/.claude/skills/s/bin/x.sh", "bin/x.sh"])
def test_of_other_scripts_it_is_known_whether_they_were_started(word: str, tmp_path: Path) -> None:
    one = package(tmp_path, bin__x_dot_sh="echo\n", notes_dot_md="# Notes\n")
    assert never_reached(one, []) == ("bin/x.sh",)
    assert never_reached(one, [ran(argv=("bash", word))]) == ()


def test_what_cannot_be_parsed_is_told_as_a_whole(tmp_path: Path) -> None:
    one = package(tmp_path, a_dot_py="(" * 5000, b_dot_py=b"\0\xff")
    assert never_reached(one, []) == ("a.py", "b.py")


def test_the_list_is_bounded(tmp_path: Path) -> None:
    lines = "".join(f"if x:\n    y = {n}\nz = {n}\n" for n in range(500))
    told = never_reached(package(tmp_path, a_dot_py=lines), [ran(*range(1, 1501, 3), *range(3, 1501, 3))])
    assert len(told) == 100 and told[-1] == "and 401 more"


@given(data=st.binary(max_size=200))
def test_no_bytes_are_too_much(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    never_reached(package(tmp_path_factory.mktemp("p"), a_dot_py=data), [ran(1, 2)])
