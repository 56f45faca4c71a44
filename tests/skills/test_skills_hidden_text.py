"""Hidden text is found, and ordinary text in any script is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile import plain

from conjunct.skills import read_registry
from conjunct.skills.notes import has_hidden, printable

TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")


@pytest.mark.parametrize(
    ("text", "line", "quote"),
    [
        (f"one\ntwo{TAGS}\n", 2, "obey"),
        ("one\u200b\u200c\u200b\u200b\u200ctwo", 1, "\\u200b\\u200c\\u200b\\u200b\\u200c"),
        ("say \u202eyebo\u202c now", 1, "\\u202e"),
        ("one\x1b]0;title\x07", 1, "\\x1b]"),
        ("one" + "\n" * 150 + "two", 151, None),
        ("one" + "\n \t" * 150 + "two", 151, None),
        ("one\U000e0101\U000e0102\U000e0103", 1, "\\U000e0101\\U000e0102\\U000e0103"),
    ],
)
def test_hidden_text_is_found_with_its_line(text: str, line: int, quote: str | None, tmp_path: Path) -> None:
    folder = plain(tmp_path, "say")
    (folder / "notes.md").write_text(text, "utf-8")
    (skill,) = read_registry(folder, staging=tmp_path / "staging").skills
    (finding,) = skill.findings
    assert (finding.code, finding.file, finding.line, finding.quote) == (
        "integrity.hidden-text", "notes.md", line, quote,
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "The flag \U0001f3f4"
        + "".join(chr(0xE0000 + ord(letter)) for letter in "gbsct")
        + "\U000e007f waves.",
        "A family \U0001f468\u200d\U0001f469\u200d\U0001f467 and a heart \u2764\ufe0f.",
        "\u0645\u0631\u062d\u0628\u0627 \u2067abc\u2069",
        "नमस्ते\u200d क्\u200c",
        "one" + "\n" * 60 + "two",
        "one" + "\n" * 200,
        "\\x1b[2J is how to clear a screen",
    ],
)
def test_ordinary_text_is_not(text: str, tmp_path: Path) -> None:
    folder = plain(tmp_path, "say")
    (folder / "notes.md").write_text(text, "utf-8")
    (skill,) = read_registry(folder, staging=tmp_path / "staging").skills
    assert skill.findings == ()


def test_shown_text_has_no_power_over_a_terminal() -> None:
    assert printable("a\x1b[2J\nb\u202ec\udce9\U000e0041") == "a\\x1b[2J\\x0ab\\u202ec\\xe9\\U000e0041"
    assert printable("naïve – \U0001f468\u200d\U0001f469") == "naïve – \U0001f468\u200d\U0001f469"
    assert printable("x" * 50, 10) == "x" * 9 + "…"
    assert not has_hidden("line\nline\tline")
    assert has_hidden("a\x07b")
