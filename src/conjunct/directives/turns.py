"""How far a conversation has come: "turn 6 or later", "not before the third message", "four turns passed"."""

from __future__ import annotations

import functools
import re
from typing import Final

from conjunct.directives.vocabulary import vocabulary
from conjunct.model import Condition, FactorKind

_SMALL: Final = (
    ("one", "first"), ("two", "second"), ("three", "third"), ("four", "fourth"), ("five", "fifth"),
    ("six", "sixth"), ("seven", "seventh"), ("eight", "eighth"), ("nine", "ninth"), ("ten", "tenth"),
    ("eleven", "eleventh"), ("twelve", "twelfth"), ("thirteen", "thirteenth"), ("fourteen", "fourteenth"),
    ("fifteen", "fifteenth"), ("sixteen", "sixteenth"), ("seventeen", "seventeenth"),
    ("eighteen", "eighteenth"), ("nineteen", "nineteenth"),
)  # fmt: skip
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NOUN: Final = (
    r"(?:user |conversation |chat )?(?:turns?|messages?|requests?|exchanges?|prompts?|interactions?|rounds?"
    r"|replies|reply|questions?|quer(?:y|ies))"
)
_COUNTED: Final = re.compile(r"turn|message|request|exchange|prompt|interaction|round|repl|question|quer")
"""The stems of these nouns: without one of them nothing is about a turn, and most conditions have none."""
_COUNTER: Final = r"(?:number|no\.?|count|counter|index|nr\.?)"
_CORES: Final = (
    rf"(?P<before>.*?)\b(?P<opening>(?:the )?1 )(?P<number>\d{{1,4}}) {_NOUN}\b(?P<behind>.*)",
    rf"(?P<before>.*?)\b{_NOUN}(?: {_COUNTER})? ?#? ?(?P<named>\d{{1,4}})\b(?P<behind>.*)",
    rf"(?P<before>.*?)\b(?P<number>\d{{1,4}})(?P<ordinal>o?) {_NOUN}\b(?P<behind>.*)",
    rf"(?P<before>.*?)\b{_NOUN} {_COUNTER} (?P<between>[a-z<>=≥≤' ]{{1,40}}?)"
    r" ?(?P<number>\d{1,4})\b(?P<behind>.*)",
    rf"(?P<before>.*?)\b{_NOUN} (?P<between>(?:is|was)(?: not)?(?: at least)? (?:the )?)"
    r"(?P<number>\d{1,4})o\b(?P<behind>.*)",
    rf"(?P<before>.*?)\b(?:number of|count of) {_NOUN} (?P<between>[a-z<>=≥≤' ]{{1,40}}?)"
    r" ?(?P<number>\d{1,4})\b(?P<behind>.*)",
    rf"(?P<before>.*?)\b{_NOUN} (?P<between>[<>=≥≤]{{1,3}}) ?(?P<number>\d{{1,4}})\b(?P<behind>.*)",
)
_AT_LEAST: Final = re.compile(
    r"\bat least\b|\bno (?:earlier|sooner|less|fewer) than\b|>=|\b(?:not|never) (?:before|until|earlier than|"
    r"sooner than)\b|≥|=>|\bminimum\b|\bfrom\b|\bstarting\b|\bbeginning\b|\bsince\b|\bas of\b|\bor equal to\b"
)
_LATER: Final = re.compile(
    r"^,? ?(?:(?:or|and)(?: any| every| all)?(?: the| a| an)? ?(?:later|after|afterwards?|thereafter|more|"
    r"higher|greater|beyond|above|up|upwards?|on|onwards?|subsequent|following|further|every)|onwards?|on|forwards?|upwards?|"
    r"and (?:each|all|every)(?: one)? after)\b"
)
_AT_MOST: Final = re.compile(
    r"\bat most\b|\bup to\b|\bno (?:later|more) than\b|<=|≤|\bnot (?:after|past|beyond|(?:later|more) than)\b"
)
_EARLIER: Final = re.compile(r"^,? ?or (?:earlier|before|fewer|less|sooner|below|lower)\b")
_AFTER: Final = re.compile(
    r"\bafter\b|\bpast\b|\bbeyond\b|\b(?:later|more|greater|higher) than\b|\bexceed\w*|\bover\b|\babove\b|>"
)
_PASSED: Final = re.compile(r"\b(?:passed|gone by|elapsed|over|behind|done|completed?|finished|answered)\b")
_BEFORE: Final = re.compile(
    r"\bbefore\b|\b(?:earlier|sooner|fewer|less|lower) than\b|\bunder\b|\bbelow\b|\buntil\b|\bprior to\b|<"
)
_REACHED: Final = re.compile(
    r"\b(?:reach\w*|arriv\w*|comes?|came|begins?|begun|starts?|started|hits?|gets to|got to|made|sent|"
    r"received|exchanged|asked|has had|have had|seen)\b"
)
_NEGATION: Final = re.compile(r"\b(?:not|never)\b|n't\b")


def read_turn(text: str, opener: str) -> Condition | None:
    """The turn that a whole condition speaks of, given in lower case without its opener.

    `None` where it is about something else, or where anything in it is left over: only what has been read to
    its end is understood.
    """
    if _COUNTED.search(text) is None:
        return None
    plain = _with_digits(text).strip(" .,")
    for pattern in _patterns():
        match = pattern.fullmatch(plain)
        if match is None:
            continue
        groups = match.groupdict()
        before = f"{groups['before']} {groups.get('between') or ''}".strip()
        behind = groups["behind"].strip(" ,")
        words = vocabulary()["conditions.turns.around"].single
        if not set(re.findall(r"[a-z0-9']+", f"{before} {behind}")) <= words:
            continue
        number = int(groups.get("named") or groups["number"])
        if groups.get("opening"):
            return Condition(FactorKind.TURN, "before", str(number + 1), bool(_NEGATION.search(before)))
        single = bool(groups.get("named") or groups.get("ordinal") or groups.get("between"))
        found = _compare(before, behind, opener, number, single)
        if found is not None:
            return found
    return None


def _compare(before: str, behind: str, opener: str, number: int, single: bool) -> Condition | None:
    """`single` says that one turn is named, not a count of them."""
    spoken = f"{opener} {before}"
    negated = False
    if _AT_LEAST.search(spoken) or _LATER.match(behind):
        operator = "at_least"
    elif _AT_MOST.search(spoken) or _EARLIER.match(behind):
        operator, number = "before", number + 1
    elif _AFTER.search(spoken) or _PASSED.search(behind):
        operator, number = "at_least", number + 1
    elif _BEFORE.search(spoken):
        operator = "before"
    elif _REACHED.search(f"{before} {behind}") or opener.startswith("by"):
        operator = "at_least"
    elif opener in ("once", "only once", "as soon as"):
        operator, number = "at_least", number if before else number + 1
    elif single and opener != "every":
        operator = "equals"
    else:
        return None
    if operator != "at_least" or not re.search(r"\b(?:not|never) (?:before|until|\w+ than)", spoken):
        negated = bool(_NEGATION.search(re.sub(r"\bnot (?:after|past|beyond|\w+ than)", "", before)))
    return Condition(FactorKind.TURN, operator, str(number), negated)


@functools.cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(core) for core in _CORES)


@functools.cache
def _number_words() -> tuple[re.Pattern[str], dict[str, str]]:
    values: dict[str, str] = {}
    for value, (small, ordinal) in enumerate(_SMALL, start=1):
        values[small], values[ordinal] = str(value), f"{value}o"
    for ten, word in enumerate(_TENS, start=2):
        values[word], values[word[:-1] + "ieth"] = str(ten * 10), f"{ten * 10}o"
        for unit, (small, ordinal) in enumerate(_SMALL[:9], start=1):
            for join in ("-", " "):
                values[f"{word}{join}{small}"] = str(ten * 10 + unit)
                values[f"{word}{join}{ordinal}"] = f"{ten * 10 + unit}o"
    names = "|".join(sorted(values, key=len, reverse=True))
    return re.compile(rf"\b(?:{names})\b"), values


def _with_digits(text: str) -> str:
    """Number words as digits; an `o` behind them marks an ordinal: "the sixth turn" is `the 6o turn`."""
    pattern, values = _number_words()
    spelled = pattern.sub(lambda found: values[found[0]], text)
    spelled = re.sub(r"\b(\d{1,4})(?:st|nd|rd|th)\b", r"\1o", spelled)
    return re.sub(r"\b1o (?=\d{1,4} )", "1 ", spelled)
