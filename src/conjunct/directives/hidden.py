"""Text a reader does not see: comments, zero-width and tag characters, invisible markup, base64 prose."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from itertools import islice
from typing import Final

_REFERENCE_COMMENT = re.compile(
    r"^\s{0,3}\[[^\]\n]{1,40}\]:\s{0,4}(?:#|<>)\s{0,4}[(\"'](.{1,4000})[)\"']\s*$", re.MULTILINE
)
_INVISIBLE = re.compile(
    r"<(?P<tag>[a-z][a-z0-9]{0,10})\b(?P<attributes>[^<>]{0,400})>(?P<inner>[^<]{1,8000})", re.IGNORECASE
)
_STYLE = re.compile(
    r"display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden|font-size\s{0,3}:\s{0,3}[01](?:px|pt|em|rem|%)?\s{0,3}(?:;|[\"']|$)|opacity\s{0,3}:\s{0,3}0(?:\.0)?\s{0,3}(?:;|[\"']|$)"
    r"|(?<!-)color\s{0,3}[:=]\s{0,3}[\"']?(?:white|transparent|#fff\b|#ffffff|#fefefe|rgba?\(\s{0,3}255)|\bhidden\b|(?:left|top|text-indent)\s{0,3}:\s{0,3}-\d{3,}",
    re.IGNORECASE,
)
_SHORTEST_BASE64: Final = 40
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{40,8000}={0,2}(?![A-Za-z0-9+/=_-])")
_ZERO_WIDTH: Final = "\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff\u180e\u00ad"
_ZERO_RUN = re.compile(f"[{_ZERO_WIDTH}]{{8,20000}}")
_TAGS = re.compile("[\U000e0020-\U000e007f]{1,20000}")
_REMOVED = re.compile(
    f"[{_ZERO_WIDTH}\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
_WORDS = re.compile(r"[A-Za-z]{2,}")
_MAXIMUM_PIECES: Final = 200


@dataclass(frozen=True, slots=True)
class HiddenText:
    """One piece of hidden text and how it was hidden."""

    text: str
    line: int
    means: str


def reveal(text: str, first_line: int) -> tuple[str, list[HiddenText]]:
    """`text` without invisible characters, and what was written with them. Line numbers stay the same."""
    if text.isascii():
        return text, []
    found: list[HiddenText] = []
    for match in islice(_TAGS.finditer(text), _MAXIMUM_PIECES):
        if match.start() and text[match.start() - 1] == "\U0001f3f4":
            continue  # a flag: England, Scotland, Wales
        decoded = "".join(chr(ord(character) - 0xE0000) for character in match[0] if ord(character) < 0xE007F)
        if len(decoded) >= 3:
            found.append(HiddenText(decoded, _line(text, match.start(), first_line), "tag characters"))
    for match in islice(_ZERO_RUN.finditer(text), _MAXIMUM_PIECES):
        found.append(
            HiddenText(
                _decode_zero_width(match[0]), _line(text, match.start(), first_line), "zero-width characters"
            )
        )
    return _REMOVED.sub("", text), found[:_MAXIMUM_PIECES]


def hidden_in_prose(text: str, line: int) -> list[HiddenText]:
    """Comments, invisible markup and encoded prose in one block."""
    found: list[HiddenText] = []
    if "<" in text:
        for start, end in _comments(text):
            found.append(HiddenText(text[start:end], _line(text, start, line), "comment"))
        for match in islice(_INVISIBLE.finditer(text), _MAXIMUM_PIECES):
            if _STYLE.search(match["attributes"]):
                found.append(
                    HiddenText(match["inner"], _line(text, match.start("inner"), line), "invisible markup")
                )
    if "]:" in text:
        for match in islice(_REFERENCE_COMMENT.finditer(text), _MAXIMUM_PIECES):
            found.append(HiddenText(match[1], _line(text, match.start(1), line), "comment"))
    found.extend(encoded_prose(text, line))
    return found[:_MAXIMUM_PIECES]


def encoded_prose(text: str, line: int) -> list[HiddenText]:
    """Long base64 runs that decode to sentences."""
    found: list[HiddenText] = []
    if len(text) < _SHORTEST_BASE64:
        return found
    for match in islice(_BASE64.finditer(text), _MAXIMUM_PIECES):
        decoded = _decode_base64(match[0])
        if decoded and decoded.strip().casefold() not in text.casefold():  # else it stands beside it in plain
            found.append(HiddenText(decoded, _line(text, match.start(), line), "base64"))
    return found[:_MAXIMUM_PIECES]


def without_hidden(text: str) -> str:
    """`text` with comments and invisible markup blanked; newlines stay where they are."""
    if "<" in text:
        pieces, position = [], 0
        for start, end in _comments(text):
            pieces += [text[position:start], re.sub(r"[^\n]", " ", text[start:end])]
            position = end
        text = "".join([*pieces, text[position:]])
        text = _INVISIBLE.sub(
            lambda match: _blank(match) if _STYLE.search(match["attributes"]) else match[0], text
        )
    return _REFERENCE_COMMENT.sub(_blank, text) if "]:" in text else text


def _comments(text: str) -> list[tuple[int, int]]:
    """Where the insides of `<!-- … -->` are; one that is never closed reaches to the end."""
    found: list[tuple[int, int]] = []
    position = text.find("<!--")
    while position >= 0 and len(found) < _MAXIMUM_PIECES:
        end = text.find("-->", position + 4)
        end = len(text) if end < 0 else end
        found.append((position + 4, end))
        position = text.find("<!--", end)
    return found


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _decode_base64(run: str) -> str:
    padded = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        decoded = base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""
    printable = sum(character.isprintable() or character in "\n\t" for character in decoded)
    return (
        decoded if printable == len(decoded) and " " in decoded and len(_WORDS.findall(decoded)) >= 3 else ""
    )


def _decode_zero_width(run: str) -> str:
    """Zero-width bits as text where they are one; else a description of what is there."""
    for zero, one in (("\u200b", "\u200c"), ("\u200c", "\u200b"), ("\u200c", "\u200d"), ("\u200b", "\u200d")):
        bits = "".join("0" if c == zero else "1" if c == one else "" for c in run)
        data = bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits) - 7, 8))
        text = data.decode("utf-8", errors="replace")
        if data and len(_WORDS.findall(text)) >= 1 and "\ufffd" not in text and text.isprintable():
            return text
    return ""


def _line(text: str, position: int, first_line: int) -> int:
    return first_line + text.count("\n", 0, position)
