"""Hostile text made harmless for a terminal: nothing a package wrote can move the cursor or hide a line."""

from __future__ import annotations

import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})


def safe_line(text: str, *, width: int = 400) -> str:
    """One printable line: control, format and direction characters escaped, at most `width` characters."""
    shown = "".join(
        character if _printable(character) else _escape(character) for character in text[: width + 1]
    )
    return shown if len(text) <= width else shown[:width] + "…"


def _printable(character: str) -> bool:
    return character == " " or unicodedata.category(character) not in _HIDDEN


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii") if ord(character) < 0x110000 else "?"
