"""Markdown as a flat list of blocks, each knowing its headings and the text that leads to it.

Only the block rules of markdown-it run: inline parsing and link references are left out, because tokens do
that in linear time and because a reference definition is a place to hide text.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token as MarkdownToken

MAXIMUM_CHARACTERS: Final = 2_000_000
"""Longest text that is compiled; the rest is reported as one sensitive uncompiled sentence."""

PROSE, FENCE, HTML, CELL = "prose", "fence", "html", "cell"


@dataclass(slots=True)
class Block:
    """One paragraph, list item, heading, table cell, code block or raw HTML block."""

    kind: str
    text: str
    line: int
    headings: tuple[str, ...]
    """Texts of the headings above, without level-1 titles, outermost first."""
    lead: int
    """Index of the block that introduces this one (a list's paragraph, an item's parent), or -1."""
    language: str = ""
    quoted: bool = False
    """Inside a block quotation."""
    heading: bool = False
    item: int = -1
    """Number of the innermost list this block is an item of, or -1."""
    row: int = -1


@dataclass(slots=True)
class _Container:
    last: int
    lead: int
    list_number: int = -1


@functools.cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    parser.disable(["inline", "reference"])
    return parser


def blocks(text: str, first_line: int) -> list[Block]:
    """The blocks of `text` in order; `first_line` is the line of its first character."""
    found: list[Block] = []
    titles: list[tuple[int, str]] = []
    stack = [_Container(-1, -1)]
    quotes = lists = 0
    heading_level = 0
    row = 0
    cell = False
    for token in _parser().parse(text.replace("\x00", "\ufffd")):
        name = token.type
        if name == "inline":
            block = _block(token, titles, stack, quotes > 0, first_line, found, heading_level, cell, row)
            if heading_level:
                titles = [entry for entry in titles if entry[0] < heading_level]
                titles.append((heading_level, token.content))
                stack[-1].last = -1
            else:
                stack[-1].last = len(found)
            found.append(block)
        elif name in ("fence", "code_block", "html_block"):
            found.append(_block(token, titles, stack, quotes > 0, first_line, found, 0, False, 0))
        elif name == "heading_open":
            heading_level = int(token.tag[1])
        elif name == "heading_close":
            heading_level = 0
        elif name in ("bullet_list_open", "ordered_list_open"):
            lists += 1
            top = stack[-1]
            stack.append(_Container(-1, top.last if top.last >= 0 else top.lead, lists))
        elif name == "list_item_open":
            stack.append(_Container(-1, stack[-1].lead, stack[-1].list_number))
        elif name == "blockquote_open":
            quotes += 1
            top = stack[-1]
            stack.append(_Container(-1, top.last if top.last >= 0 else top.lead, top.list_number))
        elif name == "blockquote_close":
            quotes -= 1
            stack.pop()
        elif name in ("list_item_close", "bullet_list_close", "ordered_list_close"):
            stack.pop()
        elif name == "tr_open":
            row += 1
            row_line = token.map[0] if token.map else 0
        elif name in ("td_open", "th_open"):
            cell = True
        elif name in ("td_close", "th_close"):
            cell = False
        if name == "inline" and cell and found:
            found[-1].line = first_line + row_line
    return found


def _block(
    token: MarkdownToken,
    titles: list[tuple[int, str]],
    stack: list[_Container],
    quoted: bool,
    first_line: int,
    found: list[Block],
    heading_level: int,
    cell: bool,
    row: int,
) -> Block:
    top = stack[-1]
    start = token.map[0] if token.map else 0
    line = first_line + start
    kind = PROSE
    language = ""
    lead = top.lead
    if token.type in ("fence", "code_block"):
        kind = FENCE
        language = token.info.strip().split(None, 1)[0].strip("{}.").lower() if token.info.strip() else ""
        line += token.type == "fence"
        lead = top.last if top.last >= 0 else top.lead
    elif token.type == "html_block":
        kind = HTML
    elif cell:
        kind = CELL
    elif top.last >= 0 and found[top.last].text.rstrip().endswith(":"):
        lead = top.last
    return Block(
        kind=kind,
        text=token.content,
        line=line,
        headings=tuple(text for level, text in titles if level > 1),
        lead=-1 if heading_level else lead,
        language=language,
        quoted=quoted,
        heading=heading_level > 0,
        item=top.list_number,
        row=row if cell else -1,
    )
