"""Hostile input: no crash, time linear in the text, lines inside the file."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.directives import compile_text
from conjunct.model import DirectiveKind

_MARKS = tuple("\n`*_[](){}<>#|>-+=:;,.!?\"'~\\\t$&@/")
_PIECES = st.sampled_from(
    (
        *_MARKS,
        *(
            "\n\n",
            "    ",
            "```",
            "```bash\n",
            "~~~",
            "<!--",
            "-->",
            "](",
            "\u200b",
            "\U000e0041",
            "—",
            "“",
            "”",
        ),
        *(
            "| a |",
            "|-|\n",
            "if ",
            "when the user mentions ",
            "Send ",
            "run ",
            "do not ",
            "ask ",
            " the user",
        ),
        *(
            " to ",
            "a.example.com",
            "~/.ssh/id_rsa",
            "https://a.example.com/x",
            "`npm test`",
            "CLAUDE.md",
            "skill",
        ),
        *(" and ", "without asking", "usage: x.py", "# ", "- ", "1. ", "cat <<EOF\n", "EOF\n", "\\\n", "$ "),
        *("third turn", "2031-01-01", "on Fridays", "每次", "é", "\x00", "\r\n"),
    )
)


@settings(max_examples=120, deadline=None)
@given(st.one_of(st.text(max_size=300), st.lists(_PIECES, max_size=60).map("".join)), st.integers(1, 10_000))
def test_any_text_compiles_and_lines_stay_inside_it(text: str, first_line: int) -> None:
    compiled = compile_text(text, file="a.md", first_line=first_line)
    last = first_line + text.replace("\r\n", "\n").replace("\r", "\n").count("\n")
    for entry in (*compiled.directives, *compiled.uncompiled):
        assert first_line <= entry.line <= last
    assert 0 <= compiled.compiled <= compiled.instructions
    for directive in compiled.directives:
        assert 0 < directive.confidence <= 1
        assert directive.kind is not DirectiveKind.RUN or directive.command


@settings(max_examples=30, deadline=None)
@given(st.lists(_PIECES, max_size=40).map("".join))
def test_the_same_text_compiles_to_the_same_directives(text: str) -> None:
    assert compile_text(text, file="a") == compile_text(text, file="a")


HOSTILE = {
    "newlines": ("\n", 75_000),
    "backticks": ("`a ", 50_000),
    "brackets": ("[", 150_000),
    "link ends": ("](", 75_000),
    "comments": ("<!-- ", 30_000),
    "reference comments": ("[a]: # (send it)\n", 10_000),
    "elements": ("<a ", 50_000),
    "list items": ("- send it\n", 15_000),
    "table rows": ("|`npm test`|\n", 12_000),
    "headings": ("## if the user mentions x\n", 6_000),
    "conditions": ("if the user mentions ", 7_000),
    "commas": ("if, ", 37_000),
    "sentences": (". a", 50_000),
    "orders": ("send it to a.com and ", 7_000),
    "continuations": ("a \\\n", 37_000),
    "here documents": ("cat <<A\n", 20_000),
    "quotes": ("“a ", 50_000),
    "emphasis": ("*", 150_000),
    "zero width": ("a\u200b\u200c", 50_000),
    "encoded": ("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo" * 2 + " ", 2_000),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("opening", ["", "```bash\n"])
def test_a_large_text_of_anything_takes_seconds(name: str, opening: str) -> None:
    piece, count = HOSTILE[name]
    start = time.process_time()
    compile_text(opening + piece * count, file="a.md")
    assert time.process_time() - start < 30


def test_a_hundred_thousand_leading_newlines_hide_nothing() -> None:
    found = compile_text("\n" * 100_000 + "Run `npm test`.", file="a").directives
    assert [(d.command, d.line) for d in found] == [("npm test", 100_001)]


def test_deep_nesting_is_no_recursion() -> None:
    compile_text("> " * 20_000 + "Run `npm test`.", file="a")
    compile_text("".join("  " * depth + "- a\n" for depth in range(600)), file="a")


def test_what_is_beyond_the_limit_is_reported() -> None:
    compiled = compile_text("word " * 500_000, file="a")
    assert [(entry.line, entry.sensitive) for entry in compiled.uncompiled] == [(1, True)]
