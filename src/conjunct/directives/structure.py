"""Markdown as a flat list of blocks, each knowing its headings and the text that leads to it.

Only the block rules of markdown-it run: inline parsing and link references are left out, because tokens do
that in linear time and because a reference definition is a place to hide text.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
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
    reader = _Reader(first_line)
    for token in _parser().parse(text.replace("\x00", "\ufffd")):
        reader.read(token)
    return reader.found


@dataclass(slots=True)
class _Reader:
    """Walks Markdown tokens and keeps headings, containers and table position."""

    first_line: int
    found: list[Block] = field(default_factory=list)
    titles: list[tuple[int, str]] = field(default_factory=list)
    stack: list[_Container] = field(default_factory=lambda: [_Container(-1, -1)])
    quotes: int = 0
    lists: int = 0
    level: int = 0
    row: int = 0
    row_line: int = 0
    cell: bool = False

    def read(self, token: MarkdownToken) -> None:
        """Take the next token."""
        match token.type:
            case "inline":
                self.text(token)
            case "fence" | "code_block" | "html_block":
                self.found.append(self.block(token))
            case "heading_open":
                self.level = int(token.tag[1])
            case "heading_close":
                self.level = 0
            case "bullet_list_open" | "ordered_list_open":
                self.lists += 1
                self.stack.append(_Container(-1, self.leading(), self.lists))
            case "list_item_open":
                self.stack.append(_Container(-1, self.stack[-1].lead, self.stack[-1].list_number))
            case "blockquote_open":
                self.quotes += 1
                self.stack.append(_Container(-1, self.leading(), self.stack[-1].list_number))
            case "blockquote_close":
                self.quotes -= 1
                self.stack.pop()
            case "list_item_close" | "bullet_list_close" | "ordered_list_close":
                self.stack.pop()
            case "tr_open":
                self.row += 1
                self.row_line = token.map[0] if token.map else 0
            case "td_open" | "th_open":
                self.cell = True
            case "td_close" | "th_close":
                self.cell = False

    def leading(self) -> int:
        """Index of the block that leads to what is opened here, or -1."""
        top = self.stack[-1]
        return top.last if top.last >= 0 else top.lead

    def text(self, token: MarkdownToken) -> None:
        """A heading, paragraph or cell."""
        block = self.block(token)
        if self.level:
            self.titles = [entry for entry in self.titles if entry[0] < self.level]
            self.titles.append((self.level, token.content))
            self.stack[-1].last = -1
        else:
            self.stack[-1].last = len(self.found)
        self.found.append(block)

    def block(self, token: MarkdownToken) -> Block:
        """The block of one token, where it stands."""
        top = self.stack[-1]
        start = token.map[0] if token.map else 0
        kind, lead, language = PROSE, top.lead, ""
        if token.type in ("fence", "code_block"):
            kind, lead = FENCE, self.leading()
            language = token.info.strip().split(None, 1)[0].strip("{}.").lower() if token.info.strip() else ""
            start += token.type == "fence"
        elif token.type == "html_block":
            kind = HTML
        elif self.cell:
            kind, start = CELL, self.row_line
        elif top.last >= 0 and self.found[top.last].text.rstrip().endswith(":"):
            lead = top.last
        return Block(
            kind=kind,
            text=token.content,
            line=self.first_line + start,
            headings=tuple(text for level, text in self.titles if level > 1),
            lead=-1 if self.level else lead,
            language=language,
            quoted=self.quotes > 0,
            heading=self.level > 0,
            item=top.list_number,
            row=self.row if self.cell else -1,
        )
