"""When an instruction applies: `if`, `when`, `after the third request`, `only on Fridays`, `unless`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from conjunct.directives.conjuncts import read_conjuncts
from conjunct.directives.tokens import PUNCTUATION, Statement, statements
from conjunct.directives.vocabulary import vocabulary
from conjunct.model import Condition, FactorKind

_MAXIMUM_LENGTH: Final = 300
_MAXIMUM_TOKENS: Final = 60
_ARROWS: Final = frozenset({"→", "->", "=>", "—"})
_RELATIVE: Final = frozenset({"that", "which", "who"})
"""After these a verb tells which things are meant, not what happens."""
_WAITING: Final = frozenset({"wait", "hold", "pause", "delay", "defer", "nothing"})
"""Before "until" these say that something happens from then on."""
_LINKS: Final = frozenset({"and", "but", ",", "(", ")", "also", "&", "then"})
"""What may stand between two conditions of one clause."""


@dataclass(frozen=True, slots=True)
class Conditioned:
    """Conditions of one statement, and the tokens that belong to them."""

    conditions: tuple[tuple[Condition, int, int], ...]
    """Each with its first token and the token after its last."""
    excluded: frozenset[int]
    linked: Mapping[int, int] = field(default_factory=dict)
    """First token of a condition to the number of mere links ("and", a comma) right before it."""

    def of(self, start: int, end: int) -> tuple[Condition, ...]:
        """Conditions of a clause: those before its first token, those behind its last and all that follow."""
        found: list[Condition] = []
        reached = end
        for condition, first, stop in sorted(self.conditions, key=lambda item: item[1]):
            behind = end <= first and (first <= end + 2 or first <= reached + self.linked.get(first, 0))
            if stop <= start or behind or start <= first < end:
                found.append(condition)
            reached = max(reached, stop) if behind else reached
        return tuple(found)


_UNCONDITIONED: Final = Conditioned((), frozenset())


def read_conditions(statement: Statement) -> Conditioned:
    """Find and interpret the conditions of a statement."""
    lexicon = vocabulary()
    openers, always = lexicon["conditions.openers"], lexicon["conditions.always"]
    weak = lexicon["conditions.weak"]
    words, tokens = statement.words, statement.tokens
    if openers.starts.isdisjoint(words) and words[0] not in ("user", "users"):
        return _UNCONDITIONED
    found: list[tuple[Condition, int, int]] = []
    excluded: set[int] = set()
    index = _arrow(statement, found, excluded)
    while index < len(words):
        length = openers.at(words, index) if words[index] in openers.starts else 0
        inside = words[index] == "the" and index > 0 and tokens[index - 1].kind != PUNCTUATION
        if not length or inside or tokens[index].quoted or tokens[index].code:
            index += 1
            continue
        end = _end(statement, index, index + length)
        text = _text(statement, index + length, end)
        opener = " ".join(words[index : index + length])
        if opener == "until" and not _WAITING.isdisjoint(words[max(0, index - 3) : index]):
            opener = "not until"
        narrow = weak.at(words, index) == length and always.at(words, index) != length
        conditions = _interpret(text, opener, statement, index, end, narrow)
        if end == index + length + _MAXIMUM_TOKENS and end < len(words):
            rest = Condition(FactorKind.ARGUMENTS, "unknown", "…", quote="a condition of more than 60 words")
            conditions.append(rest)
        understood = any(map(_is_read, conditions))
        plain = always.at(words, index) > 0 and weak.at(words, index) != length
        if not conditions or not (understood or plain):
            index += length
            continue
        found.extend((condition, index, end) for condition in conditions)
        excluded.update(range(index, end))
        index = max(end, index + length)
    return Conditioned(tuple(found), frozenset(excluded), _linked(words, found))


def _is_read(condition: Condition) -> bool:
    """Understood, or a mix of conditions that are: that has no value of its own."""
    return condition.operator != "unknown" or not condition.value


def _linked(words: list[str], found: list[tuple[Condition, int, int]]) -> dict[int, int]:
    links: dict[int, int] = {}
    for _, first, _ in found:
        at = first
        while at and words[at - 1] in _LINKS:
            at -= 1
        links[first] = first - at
    return links


def _arrow(statement: Statement, found: list[tuple[Condition, int, int]], excluded: set[int]) -> int:
    """`The user wants a chart → use the plot skill`: what stands before the arrow is a condition."""
    words, lexicon = statement.words, vocabulary()
    end = next((index for index, word in enumerate(words[:40]) if word in _ARROWS), 0)
    if not end:
        return 0
    of_reader = bool(lexicon["conditions.readers"].at(words, 0))
    if not of_reader and not _happens(words, end):
        return 0
    conditions = _interpret(_text(statement, 0, end), "when", statement, 0, end, narrow=False)
    if of_reader and not any(map(_is_read, conditions)):
        return 0
    found.extend((condition, 0, end) for condition in conditions)
    excluded.update(range(end))
    return end


def _happens(words: list[str], end: int) -> bool:
    """Whether the words before an arrow tell of something that may happen, and an instruction follows it."""
    lexicon = vocabulary()
    if words[end] == "—" or words[0] in lexicon.imperative or words[end + 1 : end + 2] == []:
        return False
    happenings = lexicon["conditions.happenings"].single
    told = (here in happenings and before not in _RELATIVE for before, here in pairwise(words[:end]))
    return words[end + 1] in lexicon.imperative and any(told)


def heading_conditions(text: str) -> tuple[Condition, ...]:
    """Conditions that a heading sets for its section: "When the user asks for a chart"."""
    found: list[Condition] = []
    for statement in statements(text[:_MAXIMUM_LENGTH], 1)[:1]:
        found.extend(condition for condition, _, _ in read_conditions(statement).conditions)
    # "When to use" is no condition; a part that is not understood counts beside one that is.
    return tuple(found) if any(map(_is_read, found)) else ()


def _interpret(
    text: str, opener: str, statement: Statement, start: int, end: int, narrow: bool
) -> list[Condition]:
    """The conditions that one clause sets, each with the words it was read from."""
    found = read_conjuncts(text, opener, narrow=narrow)
    if len(found) == 1:
        first, last = statement.tokens[start], statement.tokens[max(start, end - 1)]
        offset = statement.tokens[0].start
        whole = statement.text[first.start - offset : last.end - offset]
        found = [(found[0][0], whole)]
    return [replace(condition, quote=" ".join(words.split())[:240]) for condition, words in found]


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
    for index in range(start, min(len(tokens), start + _MAXIMUM_TOKENS)):
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
            joins = following == index + 2 and words[index + 1] == "and"  # "if A, and B holds, …"
            if (
                following < len(words)
                and (words[following] in imperative or (following > index + 1 and not joins))
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
    return min(len(tokens), start + _MAXIMUM_TOKENS)
