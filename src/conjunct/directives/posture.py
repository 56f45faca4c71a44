"""What an instruction about the agent's own conduct is, and how its wording is quoted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from conjunct.directives.mood import Order
from conjunct.directives.tokens import PUNCTUATION, Statement
from conjunct.model import DirectiveKind

ANYTHING: Final = "anything"
"""Object of an override that names none: everything is waived."""

_LIGHT: Final = frozenset({"the", "a", "an", "about", "of", "that", "for", "to", "it"})
_MAXIMUM_TOKENS: Final = 24


@dataclass(frozen=True, slots=True)
class Posture:
    """One instruction about conduct, found at token `at` of its statement."""

    kind: DirectiveKind
    verb: str
    object: str
    target: str
    confidence: float
    at: int
    negated: bool = False


def order_before(found: list[Order], index: int) -> Order | None:
    """The order whose verb stands last before a token."""
    return max((order for order in found if order.verb < index), key=lambda order: order.verb, default=None)


def wording(statement: Statement, start: int, end: int) -> str:
    """The words from `start` to `end`, without leading articles and marks."""
    kept = statement.tokens[start : min(end, start + _MAXIMUM_TOKENS)]
    while len(kept) > 1 and kept[0].low in _LIGHT:
        kept = kept[1:]
    text = " ".join(token.text for token in kept if token.kind != PUNCTUATION or token.low == ",")
    return text.replace(" ,", ",").strip(" ,")[:200]
