"""What a condition means: which factor an agent has to look at, and for which level."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Final

from conjunct.directives.turns import read_turn
from conjunct.directives.vocabulary import ConditionRule, vocabulary
from conjunct.model import Condition, FactorKind

ALTERNATIVES: Final = "|"
"""Separates the levels of a condition of which any one is enough."""

_MAXIMUM_LENGTH: Final = 300
_TIMES: Final[Mapping[str, str]] = {"midnight": "00:00", "noon": "12:00"}
_SEASONS: Final = ("day", "end", "night", "holiday", "evening", "morning")
_ORDINALS: Final[Mapping[str, int]] = {
    "first": 1, "one": 1, "second": 2, "two": 2, "third": 3, "three": 3, "fourth": 4, "four": 4, "fifth": 5,
    "five": 5, "sixth": 6, "six": 6, "seventh": 7, "seven": 7, "eighth": 8, "eight": 8, "ninth": 9, "nine": 9,
    "tenth": 10, "ten": 10, "twelve": 12, "twenty": 20, "a few": 3, "several": 3, "a couple of": 2,
    "couple of": 2, "many": 4,
}  # fmt: skip
_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_STOP: Final = re.compile(
    r"\s+(?:in (?:their|the|a|any|its|this|an earlier|earlier|previous)\b.*"
    r"|(?:earlier|previously|before|anywhere|at any point|explicitly|again|already)\b.*"
    r"|and (?:the|you|there|it|then)\b.*|then\b.*|at least\b.*)$"
)
_STRAIGHT: Final = str.maketrans("’‘“”", "''\"\"")
_PATH_EDGES: Final = " \t\n`\"'*,:;!?()[]“”‘’"
_LEAD: Final = re.compile(
    r"^(?:the|a|an|any|some|their|his|her|its|your|to|of|about|or|and|words?|terms?|phrases?|reference to"
    r"|references to|mention of|mentions of)\s+"
)
_EDGES: Final = " \t\n`\"'*_.,:;!?()[]“”‘’"


def interpret(text: str, opener: str = "if", *, narrow: bool = False) -> Condition | None:
    """What one condition means, given without its opener; `None` for an empty text.

    `narrow` tries only rules that ask for this opener: "in December" is a condition, "in the file" is not.
    """
    lowered = " ".join(text.lower().replace("**", "").translate(_STRAIGHT).split())[:_MAXIMUM_LENGTH]
    return _meaning(lowered, opener, narrow) if lowered else None


@functools.lru_cache(maxsize=2048)
def _meaning(lowered: str, opener: str, narrow: bool) -> Condition:
    """The same for a short text in lower case. The parts of one clause are asked for several times."""
    if (turn := read_turn(lowered, opener)) is not None:
        return turn
    for rule in _rules(opener, narrow):
        match = rule.pattern.search(lowered)
        condition = _apply(rule, match) if match is not None else None
        if condition is not None:
            return condition
    return Condition(FactorKind.ARGUMENTS, "unknown", lowered[:120])


@functools.lru_cache(maxsize=256)
def _rules(opener: str, narrow: bool) -> tuple[ConditionRule, ...]:
    return tuple(
        rule
        for rule in vocabulary().conditions
        if (rule.opener is None and not narrow) or (rule.opener is not None and rule.opener.search(opener))
    )


def _apply(rule: ConditionRule, match: re.Match[str]) -> Condition | None:
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
    value = (groups.get("value") or "").strip(_EDGES if rule.factor is not FactorKind.HOST else _PATH_EDGES)
    if not value:
        return None
    named = rule.factor in (FactorKind.CO_SKILLS, FactorKind.USED_BEFORE)
    if named and value in vocabulary()["postures.delegate.not_names"].single:
        return None
    if named and (value in vocabulary()["conditions.common"].single or value.startswith("http")):
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
    if rule.factor is FactorKind.HOST and rule.operator == "exists":
        value = value.rstrip(".")
    elif rule.factor is FactorKind.ENVIRONMENT:
        value = value.upper()
    elif rule.factor is FactorKind.CLOCK:
        value = moment(value)
    elif rule.factor is FactorKind.NETWORK and rule.operator == "equals":
        value = "none"
    return Condition(rule.factor, rule.operator, value, negated)


def moment(text: str) -> str:
    """A date as ISO 8601, a time as `HH:MM`; else a day or season in the singular."""
    year = re.search(r"\b\d{4}\b", text)
    if year is None:
        if time := re.fullmatch(r"(\d{1,2})(?::(\d{2}))? ?(am|pm|utc|o'clock|h)", text):
            hour = int(time[1]) % 12 + 12 * (time[3] == "pm") if time[3] in ("am", "pm") else int(time[1])
            return f"{hour:02}:{time[2] or '00'}"
        if text in _TIMES:
            return _TIMES[text]
        single = text.rstrip("s")
        return single if single.endswith(_SEASONS) else text
    numeric = re.fullmatch(r"(\d{4})[-/](\d{2})[-/](\d{2})", text)
    if numeric:
        return "-".join(numeric.groups())
    quarter = re.match(r"q([1-4])\b", text)
    if quarter:
        return f"{year[0]}-{int(quarter[1]) * 3 - 2:02}-01"
    month = re.search(r"[a-z]{3,}", text)
    day = re.search(r"\b(\d{1,2})(?:st|nd|rd|th)?\b", text.replace(year[0], ""))
    return f"{year[0]}-{_MONTHS.get(month[0][:3], 1) if month else 1:02}-{int(day[1]) if day else 1:02}"


def _levels(values: str) -> list[str]:
    """`roses, tulips or "spring bulbs"` is three levels."""
    text = _STOP.sub("", values.partition(" (")[0])
    quoted = re.findall(r"[\"“`']([^\"”`']{2,60})[\"”`'](?=[\s,.;)]|$)", text)
    pieces = quoted or re.split(r"\s*(?:,|;|/|\bor\b)\s*(?:or |and |any |the |a |an |other )*", text)
    cleaned = []
    for piece in pieces:
        level = piece.strip(_EDGES)
        for _ in range(3):
            level = _LEAD.sub("", level)
        if 1 < len(level) <= 80:
            cleaned.append(level)
    return list(dict.fromkeys(cleaned))[:12]


def _number(text: str) -> int:
    digits = re.match(r"\d+", text)
    return int(digits[0]) if digits else _ORDINALS.get(text, 1)
