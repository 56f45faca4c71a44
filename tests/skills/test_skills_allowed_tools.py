"""`allowed-tools` in every syntax of the wild."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.model import ToolPattern
from conjunct.skills import parse_allowed_tools
from conjunct.skills.yaml_subset import Node, parse_mapping


def _tools(value: Node) -> list[tuple[str, str | None]]:
    tools, troubles = parse_allowed_tools(value)
    assert troubles == ()
    return [(tool.tool, tool.pattern) for tool in tools]


@pytest.mark.parametrize(
    "text",
    [
        "allowed-tools: Read, Bash(git:*), Write",
        "allowed-tools: Read Bash(git:*) Write",
        "allowed-tools: [Read, Bash(git:*), Write]",
        'allowed-tools: ["Read", "Bash(git:*)", "Write"]',
        "allowed-tools:\n  - Read\n  - Bash(git:*)\n  - Write",
        "allowed-tools: |\n  Read\n  Bash(git:*)\n  Write",
        "allowed-tools: >-\n  Read,\n  Bash(git:*),\n  Write",
        "allowed-tools:\n  Read: true\n  Bash: 'git:*'\n  Write:",
        "allowed-tools:\n- Read, Bash(git:*)\n- Write",
    ],
)
def test_every_syntax_gives_the_same_tools(text: str) -> None:
    value = parse_mapping(text + "\n").values["allowed-tools"]
    assert _tools(value) == [("Read", None), ("Bash", "git:*"), ("Write", None)]


def test_patterns_keep_spaces_globs_and_commas() -> None:
    assert _tools("Bash(npx *eas-cli@*) Read") == [("Bash", "npx *eas-cli@*"), ("Read", None)]
    assert _tools("Bash(git add:*, git commit:*), Read") == [
        ("Bash", "git add:*, git commit:*"),
        ("Read", None),
    ]
    assert _tools("Bash (git status)") == [("Bash", "git status")]
    assert _tools("Bash(f(x) y) Read") == [("Bash", "f(x) y"), ("Read", None)]


def test_a_list_that_yaml_split_inside_parentheses_is_joined_again() -> None:
    value = parse_mapping("allowed-tools: [Bash(a, b), Read]\n").values["allowed-tools"]
    assert _tools(value) == [("Bash", "a, b"), ("Read", None)]


def test_the_recovered_text_of_an_invalid_list_is_read() -> None:
    assert _tools("[Bash(npx *eas-cli@*), Read]") == [("Bash", "npx *eas-cli@*"), ("Read", None)]


def test_names_of_servers_and_repeats() -> None:
    assert _tools("mcp__sentry__search Read Read") == [("mcp__sentry__search", None), ("Read", None)]


def test_a_denied_tool_in_a_mapping_is_not_allowed() -> None:
    assert _tools({"Read": "true", "Write": "false", "Bash": ["ls", "cat"]}) == [
        ("Read", None),
        ("Bash", "ls"),
        ("Bash", "cat"),
    ]


def test_nothing_is_nothing() -> None:
    assert _tools(None) == []
    assert _tools("") == []
    assert _tools([]) == []


def test_an_open_parenthesis_is_told() -> None:
    tools, troubles = parse_allowed_tools("Bash(git status, Read")
    assert tools == (ToolPattern("Bash", "git status, Read"),)
    assert troubles == ("a parenthesis is not closed",)


@given(st.text(alphabet="aB(,) \n*:\"'[]", max_size=60))
@settings(max_examples=200, deadline=None)
def test_any_text_is_read_without_empty_tools_or_repeats(text: str) -> None:
    tools, _ = parse_allowed_tools(text)
    assert len(set(tools)) == len(tools)


_NAME = st.from_regex(r"[A-Z][A-Za-z_]{0,8}", fullmatch=True)
_PATTERN = st.none() | st.from_regex(r"[a-z*@/][a-z*@/ :.-]{0,10}[a-z*@/]", fullmatch=True)


@given(
    st.lists(st.builds(ToolPattern, _NAME, _PATTERN), max_size=6, unique=True), st.sampled_from([", ", " "])
)
@settings(max_examples=100, deadline=None)
def test_written_tools_are_read_back(tools: list[ToolPattern], separator: str) -> None:
    text = separator.join(t.tool if t.pattern is None else f"{t.tool}({t.pattern})" for t in tools)
    assert parse_allowed_tools(text) == (tuple(tools), ())
