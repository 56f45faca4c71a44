"""When an instruction applies: `if`, `when`, `after the third request`, `only on Fridays`, `unless`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from conjunct.directives.tokens import PUNCTUATION, Statement, statements
from conjunct.directives.vocabulary import ConditionRule, vocabulary
from conjunct.model import Condition, FactorKind

_MAXIMUM_LENGTH: Final = 300
_MAXIMUM_CONDITIONS: Final = 6
ALTERNATIVES: Final = "|"
"""Separates the levels of a condition of which any one is enough."""

_ORDINALS: Final[Mapping[str, int]] = {
    "first": 1, "one": 1, "second": 2, "two": 2, "third": 3, "three": 3, "fourth": 4, "four": 4, "fifth": 5,
    "five": 5, "sixth": 6, "six": 6, "seventh": 7, "seven": 7, "eighth": 8, "eight": 8, "ninth": 9, "nine": 9,
    "tenth": 10, "ten": 10, "twelve": 12, "twenty": 20, "a few": 3, "several": 3, "a couple of": 2,
    "couple of": 2, "many": 4,
}  # fmt: skip
_STOP: Final = re.compile(
    r"\s+(?:in (?:their|the|a|any|its|this|an earlier|earlier|previous)\b.*"
    r"|(?:earlier|previously|before|anywhere|at any point|explicitly|again|already)\b.*"
    r"|and (?:the|you|there|it|then)\b.*|then\b.*|at least\b.*)$"
)
_EDGES: Final = " \t\n`\"'*_.,:;!?()[]“”‘’"


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


def read_conditions(statement: Statement) -> Conditioned:
    """Find and interpret the conditions of a statement."""
    lexicon = vocabulary()
    openers, always = lexicon["conditions.openers"], lexicon["conditions.always"]
    negative, weak = lexicon["conditions.negative"], lexicon["conditions.weak"]
    words, tokens = statement.words, statement.tokens
    found: list[tuple[Condition, int, int]] = []
    excluded: set[int] = set()
    index = 0
    while index < len(words) and len(found) < _MAXIMUM_CONDITIONS:
        length = openers.at(words, index)
        if not length or tokens[index].quoted or tokens[index].code:
            index += 1
            continue
        end = _end(statement, index, index + length)
        text = _text(statement, index + length, end)
        opener = " ".join(words[index : index + length])
        condition = _interpret(text, opener, statement, index, end)
        understood = condition is not None and condition.operator != "unknown"
        if condition is None or (
            not understood and (weak.at(words, index) == length or not always.at(words, index))
        ):
            index += length
            continue
        if negative.at(words, index):
            condition = replace(condition, negated=not condition.negated)
        found.append((condition, index, end))
        excluded.update(range(index, end))
        index = max(end, index + length)
    return Conditioned(tuple(found), frozenset(excluded))


def heading_conditions(text: str) -> tuple[Condition, ...]:
    """Conditions that a heading sets for its section: "When the user asks for a chart"."""
    found: list[Condition] = []
    for statement in statements(text[:_MAXIMUM_LENGTH], 1)[:1]:
        found.extend(condition for condition, _, _ in read_conditions(statement).conditions)
    return tuple(condition for condition in found if condition.operator != "unknown")


def interpret(text: str, opener: str = "if") -> Condition | None:
    """What one condition means, given without its opener; `None` for an empty text."""
    lowered = " ".join(text.lower().translate(str.maketrans("’‘“”", "''\"\"")).split())[:_MAXIMUM_LENGTH]
    if not lowered:
        return None
    for rule in vocabulary().conditions:
        if rule.opener is not None and not rule.opener.search(opener):
            continue
        match = rule.pattern.search(lowered)
        if match is None:
            continue
        condition = _apply(rule, match, lowered)
        if condition is not None:
            return condition
    return Condition(FactorKind.ARGUMENTS, "unknown", lowered[:120])


def _interpret(text: str, opener: str, statement: Statement, start: int, end: int) -> Condition | None:
    condition = interpret(text, opener)
    if condition is None:
        return None
    first, last = statement.tokens[start], statement.tokens[max(start, end - 1)]
    offset = statement.tokens[0].start
    return replace(
        condition, quote=" ".join(statement.text[first.start - offset : last.end - offset].split())[:240]
    )


def _apply(rule: ConditionRule, match: re.Match[str], text: str) -> Condition | None:
    groups = match.groupdict()
    negated = bool(groups.get("not")) or bool(
        re.search(r"\b(?:not|never|no|missing|n't|isn't|aren't|hasn't|doesn't|absent|unset)\b", match[0])
    )
    if number := groups.get("number"):
        count = _number(number)
        if rule.operator == "after":
            return Condition(rule.factor, "at_least", str(count + 1), False)
        if "more than" in match[0] or "exceed" in match[0] or re.search(r"(?<!=)> ?\d", match[0]):
            count += 1
        return Condition(rule.factor, rule.operator, str(count), False)
    if values := groups.get("values"):
        levels = _levels(values)
        return Condition(rule.factor, rule.operator, ALTERNATIVES.join(levels), negated) if levels else None
    value = (groups.get("value") or "").strip(_EDGES)
    if not value:
        return None
    if rule.factor in (FactorKind.CO_SKILLS, FactorKind.USED_BEFORE) and (
        value in vocabulary()["conditions.common"].single or value.startswith("http")
    ):
        return None
    if (
        rule.named
        and rule.factor is FactorKind.CO_SKILLS
        and value in vocabulary()["resources.programs"].single
    ):
        return None
    if rule.named and rule.factor is FactorKind.USED_BEFORE and "skill" not in match[0] and "-" not in value:
        return None
    if (
        rule.factor is FactorKind.HOST
        and rule.operator == "exists"
        and value in vocabulary()["conditions.common"].single
    ):
        return None
    if rule.factor is FactorKind.ENVIRONMENT:
        value = value.upper()
    return Condition(rule.factor, rule.operator, value, negated)


def _levels(values: str) -> list[str]:
    """`payroll, salaries or "year-end bonus"` is three levels."""
    text = _STOP.sub("", values)
    quoted = re.findall(r"[\"“`']([^\"”`']{2,60})[\"”`'](?=[\s,.;)]|$)", text)
    pieces = quoted or re.split(r"\s*(?:,|;|/|\bor\b)\s*(?:or |and |any |the |a |an |other )*", text)
    cleaned = []
    for piece in pieces:
        level = piece.strip(_EDGES)
        level = re.sub(r"^(?:the|a|an|any|some|their|his|her|its|your|to|of|about|or|and)\s+", "", level)
        if 1 < len(level) <= 80:
            cleaned.append(level)
    return list(dict.fromkeys(cleaned))[:12]


def _number(text: str) -> int:
    digits = re.match(r"\d+", text)
    return int(digits[0]) if digits else _ORDINALS.get(text, 1)


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
