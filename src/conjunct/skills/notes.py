"""Collecting what is odd about a package before its name is known, and making text safe to show."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass, field, replace

from conjunct.model import Finding, Layer, Severity

QUOTE_LIMIT = 200
MESSAGE_LIMIT = 1_000
SAME_CODE_LIMIT = 50
"""Findings of one code kept per package: ten thousand bad links must not bury the one that matters."""

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_INVISIBLE = frozenset("\u034f\u115f\u1160\u2800\u3164\uffa0") | frozenset(
    map(chr, (*range(0xFE00, 0xFE0E), *range(0xE0100, 0xE01F0)))
)
"""Letters and marks that show nothing."""
_HARMLESS = frozenset("\u200d\ufe0f\ufe0e")
"""Joiner and presentation selectors of emoji: in many names, invisible, and without effect alone."""


def printable(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """`text` on one line, with control, direction and other invisible characters shown as escapes.

    What comes from a package ends up on terminals and in reports; an escape sequence in a file name must
    arrive there as `\\x1b`, never as itself.
    """
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(_shown(character) for character in cut)


def _shown(character: str) -> str:
    hidden = character in _INVISIBLE or unicodedata.category(character) in _HIDDEN_CATEGORIES
    if character in _HARMLESS or not hidden:
        return character
    number = ord(character)
    if 0xDC80 <= number <= 0xDCFF:
        return f"\\x{number - 0xDC00:02x}"
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def has_hidden(text: str) -> bool:
    """Whether `printable` would have to escape something in `text`, line breaks and tabs aside."""
    return any(_shown(character) != character for character in text if character not in "\n\r\t")


@dataclass(slots=True)
class Notes:
    """Findings of one package in the order they were made; the skill's id is filled in at the end."""

    made: list[Finding] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
    limit: int = SAME_CODE_LIMIT
    _counts: Counter[str] = field(default_factory=Counter)

    def add(
        self,
        code: str,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        severity: Severity = Severity.NOTE,
        quote: str | None = None,
        question: str | None = None,
    ) -> None:
        """Note one thing. Text is made printable here, so callers pass it as it came."""
        self._counts[code] += 1
        if self._counts[code] > self.limit:
            self.dropped[code] = self.dropped.get(code, 0) + 1
            return
        self.made.append(
            Finding(
                skill="",
                layer=Layer.CLAIMS,
                code=code,
                message=printable(message),
                severity=severity,
                file=None if file is None else printable(file),
                line=line,
                quote=None if quote is None else printable(quote, QUOTE_LIMIT),
                question=None if question is None else printable(question),
            )
        )

    def findings(self, skill: str) -> tuple[Finding, ...]:
        """Everything noted, as findings on that skill (empty for the registry as a whole)."""
        more = [
            Finding(
                skill="",
                layer=Layer.CLAIMS,
                code=code,
                message=f"{count} more findings of this kind are not listed",
                severity=max(
                    (found.severity for found in self.made if found.code == code),
                    key=list(Severity).index,
                ),
            )
            for code, count in self.dropped.items()
        ]
        return tuple(replace(finding, skill=skill) for finding in (*self.made, *more))
