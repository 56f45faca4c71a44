"""Shell text as documented, in words and operators with their places, so that words can be replaced."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

TEXT_LIMIT = 16_000
"""Characters of one command text that are read; longer texts are run as they are."""

_OPERATORS = ("&&", "||", ";;", ">>", "&>", ">&", "<<<", "|&", "|", "&", ";", "<", ">", "(", ")", "\n")
_CONTROL = frozenset({"&&", "||", ";", ";;", "|", "|&", "&", "\n", "(", ")"})
_REDIRECTS = frozenset({">", ">>", "<", "&>", ">&", "<<<"})
_KEYWORDS = frozenset(
    {"for", "while", "until", "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "function"}
    | {"select", "{", "}", "[[", "time", "!", "in"}
)
_HEREDOC = re.compile(r"<<-?\s*([\"']?)([A-Za-z_]\w*)\1")
_STATE = re.compile(r"^\s*(?:cd|export|pushd|source|\.|set|umask|alias|unset)\b|^\s*[A-Za-z_]\w*=\S*\s*$")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command line."""

    raw: str
    value: str
    """Without quotes; expansions are kept as written."""
    start: int
    end: int
    expands: bool
    """The shell would expand it (`$`, `*`, `~`, braces)."""
    operator: bool = False


def lex(text: str) -> list[Word]:
    """Words and operators of shell text. Never fails: an unclosed quote ends with the text."""
    words: list[Word] = []
    heredocs: list[str] = []
    at, end = 0, len(text)
    while at < end:
        char = text[at]
        if char in " \t\r":
            at += 1
        elif text.startswith("\\\n", at):
            at += 2
        elif char == "#":
            at = _line_end(text, at)
        elif (found := _HEREDOC.match(text, at)) and not text.startswith("<<<", at):
            heredocs.append(found[2])
            words.append(Word(found[0], found[0], at, found.end(), True, True))
            at = found.end()
        elif operator := next((item for item in _OPERATORS if text.startswith(item, at)), ""):
            words.append(Word(operator, operator, at, at + len(operator), False, True))
            at += len(operator)
            if operator == "\n":
                for delimiter in heredocs:
                    at = _skip_heredoc(text, at, delimiter)
                heredocs.clear()
        else:
            word = _word(text, at)
            words.append(word)
            at = word.end
    return words


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def _skip_heredoc(text: str, at: int, delimiter: str) -> int:
    while at < len(text):
        stop = _line_end(text, at)
        if text[at:stop].strip() == delimiter:
            return stop
        at = stop + 1
    return len(text)


def _word(text: str, start: int) -> Word:
    value: list[str] = []
    expands = False
    at, end = start, len(text)
    while at < end:
        char = text[at]
        if char == "'":
            stop = text.find("'", at + 1)
            stop = end if stop < 0 else stop
            value.append(text[at + 1 : stop])
            at = stop + 1
        elif char == '"':
            stop = _double_quote_end(text, at + 1)
            inner = text[at + 1 : stop]
            expands = expands or "$" in inner or "`" in inner
            value.append(re.sub(r'\\(["\\$`])', r"\1", inner))
            at = stop + 1
        elif char == "\\":
            if at + 1 < end and text[at + 1] != "\n":
                value.append(text[at + 1])
            at += 2
        elif text.startswith(("$(", "${"), at) or char == "`":
            stop = _substitution_end(text, at)
            value.append(text[at:stop])
            expands = True
            at = stop
        elif char in " \t\r\n;|&<>()":
            break
        else:
            expands = expands or char in "$*?{~" or (char == "[" and at > start)
            value.append(char)
            at += 1
    at = min(max(at, start + 1), end)
    return Word(text[start:at], "".join(value), start, at, expands)


def _double_quote_end(text: str, at: int) -> int:
    while at < len(text) and text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return min(at, len(text))


def _substitution_end(text: str, at: int) -> int:
    if text[at] == "`":
        stop = text.find("`", at + 1)
        return len(text) if stop < 0 else stop + 1
    opening, closing = text[at + 1], ")" if text[at + 1] == "(" else "}"
    depth, at = 1, at + 2
    while at < len(text) and depth:
        depth += (text[at] == opening) - (text[at] == closing)
        at += 1
    return at


def simple_commands(words: list[Word]) -> list[list[Word]]:
    """The words of every simple command, redirects and their targets included; control operators removed."""
    commands: list[list[Word]] = [[]]
    for word in words:
        if word.operator and word.value in _CONTROL:
            commands.append([])
        else:
            commands[-1].append(word)
    return [command for command in commands if command]


def is_redirect(word: Word) -> bool:
    """Whether a word is a redirection operator."""
    return word.operator and word.value in _REDIRECTS


def replace_words(text: str, changes: list[tuple[Word, str]]) -> str:
    """The text with some words replaced, each by a new raw spelling."""
    for word, raw in sorted(changes, key=lambda change: change[0].start, reverse=True):
        text = text[: word.start] + raw + text[word.end :]
    return text


def quote(value: str) -> str:
    """A value as one shell word."""
    return shlex.quote(value)


def direct_argv(text: str) -> tuple[str, ...] | None:
    """The argument vector, where no shell is needed to start the command; otherwise `None`."""
    words = lex(text.strip())
    if not words or any(word.operator or word.expands for word in words):
        return None
    first = words[0].value
    if (
        "=" in first
        or first in _KEYWORDS
        or first in ("cd", "source", ".", "export", "alias", "eval", "set", "type")
    ):
        return None
    return tuple(word.value for word in words)


def split_lines(text: str) -> list[tuple[int, str]]:
    """(line offset, command) for each line of a fence that is a command of its own.

    Continuation lines are joined. What sets up the shell (`cd`, `export`, an assignment) is put before each
    later command. Text with control structures or heredocs is one command.
    """
    if len(text) > TEXT_LIMIT:
        return [(0, text)]
    words = lex(text)
    heads = [command[0].value for command in simple_commands(words) if not command[0].operator]
    if (
        any(head in _KEYWORDS or head.endswith("()") for head in heads)
        or "<<" in text
        or "(" in [w.value for w in words if w.operator]
    ):
        return [(0, text.strip("\n"))]
    pieces: list[tuple[int, str]] = []
    setup: list[str] = []
    start = 0
    for word in [*words, Word("\n", "\n", len(text), len(text), False, True)]:
        if not (word.operator and word.value == "\n"):
            continue
        piece = text[start : word.start].strip()
        leading = len(text[start : word.start]) - len(text[start : word.start].lstrip())
        offset = text.count("\n", 0, start + leading)
        start = word.end
        if not piece or piece.startswith("#"):
            piece = "\n".join(
                line for line in piece.splitlines() if not line.lstrip().startswith("#")
            ).strip()
            if not piece:
                continue
        if _STATE.match(piece) and "&&" not in piece and ";" not in piece:
            setup.append(piece)
        else:
            pieces.append((offset, " && ".join([*setup, piece]) if setup else piece))
    if not pieces and setup:
        pieces.append((0, " && ".join(setup)))
    return pieces


_PROMPT = re.compile(r"(?m)^[ \t]*(?:\$|%|❯|➜|>)[ \t]+(?=\S)")


def without_prompt(text: str) -> str:
    """Documented text without the shell prompt in front of its lines."""
    return _PROMPT.sub("", text) if _PROMPT.match(text.lstrip("\n")) else text
