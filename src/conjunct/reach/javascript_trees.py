"""Syntax trees of JavaScript and TypeScript: parsers, and what is read off single nodes and literals."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from functools import lru_cache

import tree_sitter_javascript
import tree_sitter_typescript
from tree_sitter import Language, Node, Parser

from conjunct.reach.found import UNKNOWN


@lru_cache(maxsize=3)
def parser_of(grammar: str) -> Parser:
    """The parser for `javascript`, `typescript` or `tsx`."""
    if grammar == "tsx":
        return Parser(Language(tree_sitter_typescript.language_tsx()))
    if grammar == "typescript":
        return Parser(Language(tree_sitter_typescript.language_typescript()))
    return Parser(Language(tree_sitter_javascript.language()))


def inside(node: Node, kinds: tuple[str, ...]) -> Iterator[Node]:
    """Nodes of these kinds in a node, itself included; of a large one its first 400 nodes are looked at."""
    stack, looked = [node], 0
    while stack and looked < 400:
        looked += 1
        item = stack.pop()
        if item.type in kinds:
            yield item
        stack.extend(reversed(item.named_children))


def module_name(name: str) -> str:
    """The module of Node that a name of an import means."""
    return {"fs/promises": "fs", "fs-extra": "fs"}.get(name.removeprefix("node:"), name.removeprefix("node:"))


def operator_of(node: Node) -> str:
    """The operator of an expression, or an empty string."""
    operator = node.child_by_field_name("operator")
    return text_of(operator) if operator is not None else ""


def decoded_base64(text: str) -> str:
    """Base64 text decoded; `*` where it is none, or no text."""
    if not re.fullmatch(r"[A-Za-z0-9+/=_-]{4,100000}", text):
        return UNKNOWN
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4)).decode("utf-8")
    except (binascii.Error, ValueError):
        return UNKNOWN


def unescaped(text: str) -> str:
    """The text of a string literal with its escapes read."""
    if "\\" not in text:
        return text
    text = re.sub(r"\\x([0-9a-fA-F]{2})", lambda found: chr(int(found.group(1), 16)), text)
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found.group(1), 16)), text)
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t"}.get(found.group(1), found.group(1)), text)


def text_of(node: Node) -> str:
    """The source of a node."""
    return (node.text or b"").decode("utf-8", "replace")
