"""`allowed-tools` in the syntaxes found in the wild.

Comma-separated text, space-separated text, one per line, a YAML or JSON list, and a mapping. Patterns in
parentheses keep their spaces, commas and globs: `Bash(npx *eas-cli@*)` is one tool.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conjunct.model import ToolPattern
from conjunct.skills.yaml_subset import Node

TOOL_LIMIT = 1_000


def parse_allowed_tools(value: Node) -> tuple[tuple[ToolPattern, ...], tuple[str, ...]]:
    """The tools that `value` names, in order and without repeats, and what was wrong with it."""
    troubles: list[str] = []
    found: dict[ToolPattern, None] = {}
    for tool in _tools(value, troubles):
        found[tool] = None
        if len(found) >= TOOL_LIMIT:
            troubles.append(f"more than {TOOL_LIMIT} tools; the rest is ignored")
            break
    return tuple(found), tuple(dict.fromkeys(troubles))


def _tools(value: Node, troubles: list[str]) -> Iterator[ToolPattern]:
    if value is None:
        return
    if isinstance(value, str):
        yield from _from_text(_without_brackets(value), " \t\n\r,", troubles)
    elif isinstance(value, list):
        yield from _from_list(value, troubles)
    else:
        for tool, pattern in value.items():
            yield from _from_mapping(tool, pattern, troubles)


def _from_list(items: Sequence[Node], troubles: list[str]) -> Iterator[ToolPattern]:
    texts = [item for item in items if isinstance(item, str)]
    if any(text.count("(") != text.count(")") for text in texts):
        # YAML has split `[Bash(a, b)]` at the comma inside the parentheses: put it together again.
        texts = [", ".join(texts)]
    for text in texts:
        yield from _from_text(text, "\n,", troubles)
    for item in items:
        if isinstance(item, dict):
            for tool, pattern in item.items():
                yield from _from_mapping(tool, pattern, troubles)
        elif isinstance(item, list):
            troubles.append("a list inside the list is ignored")


def _from_mapping(tool: str, pattern: Node, troubles: list[str]) -> Iterator[ToolPattern]:
    if isinstance(pattern, list):
        for element in pattern:
            if isinstance(element, str):
                yield ToolPattern(tool, element)
    elif pattern is None or (isinstance(pattern, str) and pattern.casefold() in {"true", "yes", "*", ""}):
        yield ToolPattern(tool)
    elif isinstance(pattern, str) and pattern.casefold() not in {"false", "no"}:
        # `Bash(git:*)` written unquoted in a list item can come out as the mapping `Bash(git` to `*)`.
        if tool.count("(") > tool.count(")"):
            yield from _from_text(f"{tool}:{pattern}", "\n,", troubles)
        else:
            yield ToolPattern(tool, pattern)


def _without_brackets(text: str) -> str:
    bare = text.strip()
    return bare[1:-1] if bare.startswith("[") and bare.endswith("]") else bare


def _from_text(text: str, separators: str, troubles: list[str]) -> Iterator[ToolPattern]:
    """One pass over the text; parentheses nest, and nothing inside them separates."""
    start = depth = 0
    pieces: list[str] = []
    for position, character in enumerate(text):
        if character == "(":
            depth += 1
        elif character == ")" and depth:
            depth -= 1
        elif character in separators and depth == 0:
            pieces.append(text[start:position])
            start = position + 1
    if depth:
        troubles.append("a parenthesis is not closed")
    pieces.append(text[start:])
    previous = ""
    for piece in (piece.strip().strip("\"'").strip() for piece in pieces):
        if piece.startswith("(") and previous:
            previous += piece  # `Bash (git status)`
            continue
        if previous:
            yield _one(previous)
        previous = piece
    if previous:
        yield _one(previous)


def _one(piece: str) -> ToolPattern:
    tool, parenthesis, rest = piece.partition("(")
    if not parenthesis:
        return ToolPattern(piece)
    pattern = rest[:-1] if rest.endswith(")") else rest
    return ToolPattern(tool.strip(), pattern.strip() or None)
