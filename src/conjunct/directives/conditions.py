"""When an instruction applies: `if`, `when`, `after the third request`, `only on Fridays`, `unless`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from conjunct.directives.meaning import interpret
from conjunct.directives.tokens import PUNCTUATION, Statement, statements
from conjunct.directives.vocabulary import vocabulary
from conjunct.model import Condition, FactorKind

_MAXIMUM_LENGTH: Final = 300
_MAXIMUM_CONDITIONS: Final = 6
_ARROWS: Final = frozenset({"→", "->", "=>", "—"})
_CONJUNCTION: Final = re.compile(r",?\s+(?:and|AND|&&)\s+(?:(?:if|when|only if|only when)\s+)?|,\s+")


@dataclass(frozen=True, slots=True)
class Conditioned:
    """Conditions of one statement, and the tokens that belong to them."""

    conditions: tuple[tuple[Condition, int, int], ...]
    """Each with its first token and the token after its last."""
    excluded: frozenset[int]

    def of(self, start: int, end: int) -> tuple[Condition, ...]:
        """Conditions of a clause: those before its first token, and those right behind its last."""
        return tuple(
            condition
            for condition, first, stop in self.conditions
            if stop <= start or end <= first <= end + 2 or start <= first < end
        )


_UNCONDITIONED: Final = Conditioned((), frozenset())


def read_conditions(statement: Statement) -> Conditioned:
    """Find and interpret the conditions of a statement."""
    lexicon = vocabulary()
    openers, always = lexicon["conditions.openers"], lexicon["conditions.always"]
    negative, weak = lexicon["conditions.negative"], lexicon["conditions.weak"]
    words, tokens = statement.words, statement.tokens
    if openers.starts.isdisjoint(words) and words[0] not in ("user", "users"):
        return _UNCONDITIONED
    found: list[tuple[Condition, int, int]] = []
    excluded: set[int] = set()
    index = _arrow(statement, found, excluded)
    while index < len(words) and len(found) < _MAXIMUM_CONDITIONS:
        length = openers.at(words, index) if words[index] in openers.starts else 0
        inside = words[index] == "the" and index > 0 and tokens[index - 1].kind != PUNCTUATION
        if not length or inside or tokens[index].quoted or tokens[index].code:
            index += 1
            continue
        end = _end(statement, index, index + length)
        text = _text(statement, index + length, end)
        opener = " ".join(words[index : index + length])
        narrow = weak.at(words, index) == length and always.at(words, index) != length
        conditions = _interpret(text, opener, statement, index, end, narrow)
        understood = any(condition.operator != "unknown" for condition in conditions)
        plain = always.at(words, index) > 0 and weak.at(words, index) != length
        if not conditions or not (understood or plain):
            index += length
            continue
        if negative.at(words, index):
            conditions = [replace(condition, negated=not condition.negated) for condition in conditions]
        found.extend((condition, index, end) for condition in conditions)
        excluded.update(range(index, end))
        index = max(end, index + length)
    return Conditioned(tuple(found), frozenset(excluded))


def _arrow(statement: Statement, found: list[tuple[Condition, int, int]], excluded: set[int]) -> int:
    """`The user wants a chart → use the plot skill`: what stands before the arrow is a condition."""
    words = statement.words
    if not vocabulary()["conditions.readers"].at(words, 0):
        return 0
    end = next((index for index, word in enumerate(words[:40]) if word in _ARROWS), 0)
    if not end:
        return 0
    conditions = _interpret(_text(statement, 0, end), "when", statement, 0, end, narrow=False)
    if not any(condition.operator != "unknown" for condition in conditions):
        return 0
    found.extend((condition, 0, end) for condition in conditions)
    excluded.update(range(end))
    return end


def heading_conditions(text: str) -> tuple[Condition, ...]:
    """Conditions that a heading sets for its section: "When the user asks for a chart"."""
    found: list[Condition] = []
    for statement in statements(text[:_MAXIMUM_LENGTH], 1)[:1]:
        found.extend(condition for condition, _, _ in read_conditions(statement).conditions)
    return tuple(condition for condition in found if condition.operator != "unknown")


def _interpret(
    text: str, opener: str, statement: Statement, start: int, end: int, narrow: bool
) -> list[Condition]:
    """The conditions that one clause sets: "if A and B" sets two when both are understood."""
    whole = interpret(text, opener, narrow=narrow)
    if whole is None:
        return []
    found = [whole]
    pieces = _CONJUNCTION.split(text)[:_MAXIMUM_CONDITIONS]
    if len(pieces) > 1 and whole.factor is not FactorKind.CLOCK:  # "after March 4, 2031"
        parts = [interpret(piece, opener, narrow=narrow) for piece in pieces]
        known = [part for part in parts if part is not None and part.operator != "unknown"]
        if len(known) > 1:
            found = known
    first, last = statement.tokens[start], statement.tokens[max(start, end - 1)]
    offset = statement.tokens[0].start
    quote = " ".join(statement.text[first.start - offset : last.end - offset].split())[:240]
    return [replace(condition, quote=quote) for condition in found]


def _text(statement: Statement, start: int, end: int) -> str:
    if start >= end:
        return ""
    offset = statement.tokens[0].start
    return statement.text[statement.tokens[start].start - offset : statement.tokens[end - 1].end - offset]


def _end(statement: Statement, opener: int, start: int) -> int:
    """Index after the last token of the condition that starts at `start`."""
    tokens, words = statement.tokens, statement.words
    imperative = vocabulary().imperative
    fallback = -1
    leading = opener == 0 or tokens[opener - 1].kind == PUNCTUATION
    for index in range(start, min(len(tokens), start + 60)):
        token = tokens[index]
        if token.quoted:
            continue
        if token.kind != PUNCTUATION:
            if words[index] == "then" and index > start:
                return index
            continue
        if token.low in (";", ":", "—", "→", "->", "=>", ".", "!", "?", ")") and token.low != "(":
            if token.low == ")" and any(words[i] == "(" for i in range(start, index)):
                continue
            return index if fallback < 0 or token.low in (":", "→", "->", "=>") else fallback
        if token.low == ",":
            following = index + 1
            while following < len(words) and words[following] in (
                "then",
                "also",
                "always",
                "please",
                "first",
                "do",
                "not",
                "never",
                "just",
                "silently",
                "quietly",
                "immediately",
                "and",
                "you",
                "must",
                "should",
            ):
                following += 1
            if (
                following < len(words)
                and (words[following] in imperative or following > index + 1)
                and words[index + 1] != "or"
            ):
                return index
            if (
                fallback < 0
                and leading
                and (following >= len(words) or words[following] not in ("or", "and"))
            ):
                fallback = index
    if fallback >= 0:
        return fallback
    return min(len(tokens), start + 60)
