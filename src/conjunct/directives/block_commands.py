"""The commands of one shell block: logical lines, prompts, comments that judge, and alternatives."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final

from conjunct.directives.command_shape import (
    console_input,
    holds_command,
    looks_like_command,
    program_shaped,
)
from conjunct.directives.vocabulary import vocabulary

MAXIMUM_COMMANDS: Final = 400
"""Per block; what is more is reported as not compiled."""
_MAXIMUM_STATE: Final = 12
PROMPT: Final = re.compile(r"^\s{0,8}(?:\(\w{1,30}\)\s)?(?:[\w.@~/:-]{0,40}[$%#>]|\$|❯|➜)\s(?=\S)")
TREE: Final = ("├", "└", "│", "┌", "╔", "║", "┃")
_HEREDOC = re.compile(r"<<-?\s{0,3}[\"']?([A-Za-z_][\w]{0,40})[\"']?")
_STATE = re.compile(
    r"^\s{0,40}(?:export\s|[A-Za-z_]\w{0,60}=(?:\S{0,400}|\$\(.{0,400}\)|\"[^\"]{0,400}\"|'[^']{0,400}')\s{0,4}$|cd\s|source\s|\.\s+\S|set\s+-|unset\s|alias\s|conda\s+activate\s|umask\s|shopt\s)"
)
_OPENING: Final = {"if": "fi", "for": "done", "while": "done", "until": "done", "case": "esac"}
_NOT_A_COMMAND: Final = ("├", "└", "│", "┌", "╔", "║", "┃", "-", "|", ">", "=", "*", "✓", "✔", "❌", "→")
_NOT_A_COMMAND_MARKS: Final = "-|>=*→ "
_SIMPLE = re.compile(r"[\n;|]|&&|\$\(|curl|wget")
_OR = re.compile(r"(?:or|alternatively|alternative)\b")


@dataclass(frozen=True, slots=True)
class FoundCommand:
    """One command of a fence, with the comment above it."""

    text: str
    line: int
    comment: str = ""
    bad: bool = False
    """The comment says that this is how not to do it."""
    alternative: int = 0
    """Commands with the same number above 0 are alternatives."""


@dataclass(slots=True)
class _Block:
    """State while one block is read."""

    line: int
    found: list[FoundCommand] = field(default_factory=list)
    state: list[str] = field(default_factory=list)
    comment: str = ""
    bad: bool = False
    example: bool = False
    """A comment like the heading "Example" shows what follows, up to the next empty line."""
    group: int = 0
    groups: int = 0
    dropped: list[tuple[int, str]] = field(default_factory=list)

    def read_comment(self, text: str) -> None:
        """A comment judges the commands under it, or makes them alternatives."""
        self.comment = text
        self.example = self.example or _is_example(text)
        self.bad = self.example or _is_bad(text)
        if _OR.match(text.lower()) and self.found:
            previous = self.found[-1]
            self.group = previous.alternative or self.new_group()
            self.found[-1] = replace(previous, alternative=self.group)
        elif _names_platform(text):
            self.group = self.group or self.new_group()
        else:
            self.group = 0

    def new_group(self) -> int:
        """The number of a new group of alternatives."""
        self.groups += 1
        return self.groups

    def add(self, command: str, index: int) -> None:
        """Add a command, with the lines that changed the shell before it."""
        text = "\n".join([*self.state[-_MAXIMUM_STATE:], command])
        self.found.append(FoundCommand(text, self.line + index, self.comment, self.bad, self.group))

    def drop(self, text: str, index: int) -> None:
        """Leave a line out; what still looks like a command is kept to be reported."""
        if holds_command(text.strip().lstrip(_NOT_A_COMMAND_MARKS)):
            self.dropped.append((self.line + index, text.strip()))


def fence_commands(text: str, line: int) -> tuple[list[FoundCommand], list[tuple[int, str]]]:
    """The commands of a shell block whose first line is `line`, at most one more than `MAXIMUM_COMMANDS`;
    and lines that are not run although they look like commands, each with its line."""
    lines = text.split("\n")
    prompted = any(_prompted(entry) and not entry.lstrip().startswith("#") for entry in lines[:200])
    meaningful = [n for n, entry in enumerate(lines) if entry.strip() and not entry.lstrip().startswith("#")]
    last = meaningful[-1] if meaningful else -1
    block = _Block(line)
    index = 0
    while index < len(lines) and len(block.found) <= MAXIMUM_COMMANDS:
        raw = lines[index]
        stripped = raw.strip()
        if not stripped or (stripped.startswith("#") and not (prompted and block.found and _prompted(raw))):
            block.bad = block.bad and bool(stripped)
            block.example = block.example and bool(stripped)
            if stripped:
                block.read_comment(stripped.lstrip("#").strip())
            index += 1
            continue
        asks = prompted and _prompted(raw)
        if console_input(raw) or (prompted and not asks and not looks_like_command(raw)):
            block.drop(raw, index)  # input to another program, or what a command printed
            index += 1
            continue
        start = index
        command, index = _logical(PROMPT.sub("", raw, count=1) if asks else raw, lines, index)
        command = command.strip()
        marked = stripped.startswith(_NOT_A_COMMAND) and not asks
        if marked or command in ("...", "…") or not program_shaped(command):
            block.drop(command, start)
        elif _STATE.match(command) and not _SIMPLE.search(command) and index <= last:
            block.state.append(command)
            del block.state[:-_MAXIMUM_STATE]
        else:
            block.add(command, start)
    return block.found, block.dropped


def _prompted(line: str) -> bool:
    return PROMPT.match(line) is not None and not console_input(line)


def _is_example(comment: str) -> bool:
    """`# Example`, `# Examples:`: a comment that would be a heading elsewhere."""
    words = re.findall(r"[\w'-]+", comment.lower())
    return 0 < len(words) <= 3 and vocabulary()["headings.example_comments"].at(words, 0) == len(words)


def _is_bad(comment: str) -> bool:
    words = re.findall(r"[\w'-]+|[^\w\s]", comment.lower().replace("’", "'"))[:6]
    good = vocabulary()["headings.polarity_good"]
    bad = vocabulary()["headings.polarity_bad"]
    return (
        bool(words)
        and (bad.at(words, 0) > 0 or any(mark in comment for mark in "❌🚫⛔✗✘"))
        and not good.at(words, 0)
    )


def _names_platform(comment: str) -> bool:
    """`# macOS`, `# Option A`: one of several ways."""
    words = [word.strip("():,.-") for word in comment.lower().split()[:4]]
    platforms = vocabulary()["headings.platforms"]
    heads = vocabulary()["headings.alternative_heads"]
    if not words:
        return False
    option = heads.at(words, 0) > 0 and len(words) > 1 and len(words[1]) <= 2
    return option or platforms.at(words, 0) > 0


def _logical(first: str, lines: list[str], index: int) -> tuple[str, int]:
    """One logical command that starts at line `index`, and the index after it."""
    parts = [first.rstrip()]
    index += 1
    end_word = ""
    word = first.split(None, 1)[0] if first.split() else ""
    if word in _OPENING and not re.search(rf"\b{_OPENING[word]}\b", first):
        end_word = _OPENING[word]
    elif re.match(r"\s*(?:function\s+)?[\w-]{1,60}\s*\(\)\s*\{\s*$", first):
        end_word = "}"
    here = _HEREDOC.search(first)
    limit = min(len(lines), index + 300)
    while index < limit:
        current = parts[-1]
        if here is not None:
            parts.append(lines[index].rstrip("\r"))
            if lines[index].strip() == here[1]:
                here = None
            index += 1
            if here is None:
                break
            continue
        if end_word:
            parts.append(lines[index].rstrip())
            index += 1
            if re.match(rf"\s*{re.escape(end_word)}(?:$|[\s;|&)])", lines[index - 1]):
                break
            continue
        if current.endswith(("\\", "|", "&&", "||")) or _open_quote("\n".join(parts[-60:])):
            parts.append(lines[index].rstrip())
            index += 1
            here = _HEREDOC.search(parts[-1])
            continue
        break
    return "\n".join(parts), index


def _open_quote(text: str) -> bool:
    """Whether a quotation or a brace group of the shell is still open at the end of `text`."""
    quote = ""
    escaped = False
    for character in text[-6000:]:
        if escaped:
            escaped = False
        elif character == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
    return (bool(quote) and quote == '"') or (
        quote == "'" and text.count("'") % 2 == 1 and text.count("'") < 40
    )
