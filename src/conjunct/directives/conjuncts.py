"""The conditions that one clause sets: each part of "A and B, but only after C", and what "or" makes of it.

Nothing of a clause is dropped. A part that no rule understands becomes a condition with operator `unknown`;
so does a mix of "or" and "and" that can be read in two ways, or an "or" between different factors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from conjunct.directives.meaning import ALTERNATIVES, interpret
from conjunct.directives.turns import read_turn
from conjunct.directives.vocabulary import vocabulary
from conjunct.model import Condition, FactorKind

MAXIMUM_CONDITIONS: Final = 6
"""Conditions of one clause; what lies beyond is one more, which is not understood."""
_STRONG: Final = (
    "(?:but )?only (?:if|when|after|once|on|from|in|during)|if|when|whenever|once|unless|except (?:if|when)|"
    "as long as|provided(?: that)?|given that|assuming"
)
_WEAK: Final = (
    "(?:but )?(?:not|never) (?:before|until)|(?:but )?no (?:earlier|sooner) than|after|before|until|"
    "from|starting(?: with| from| at| on)?|beginning(?: with)?|since|as of|on|at|during|in|by|while"
)
_BOUNDARY: Final = re.compile(
    r"(?P<join>,?\s+(?:and(?: also| then)?|but|&&|&|plus|as well as)(?=\s)|,(?=\s)|"
    r"\s+\((?:and\b|but\b|only\b)?|(?=\s))"
    rf"(?:\s*\b(?:(?P<strong>{_STRONG})|(?P<weak>{_WEAK}))(?=\s))?",
    re.IGNORECASE,
)
_OR: Final = re.compile(rf",?\s+or\s+(?:else\s+)?(?:(?:{_STRONG}|{_WEAK})\s+)?", re.IGNORECASE)
_QUOTATION: Final = re.compile(
    r"`[^`]{0,200}(?:`|$)|\"[^\"]{0,200}(?:\"|$)|“[^”]{0,200}(?:”|$)|(?<!\w)'[^']{0,200}'(?!\w)"
)
_SINGLE_SPACE: Final = re.compile(r"(?:but )?only|unless|except|as long|provided|given|once", re.IGNORECASE)
"""Openers that start a condition of their own behind a mere space ("asks if …" does not)."""
_FINITE: Final = (
    r"(?:is|are|was|were|has|have|had|does|do|did|can|could|cannot|can't|will|won't|exists?|isn't|aren't|hasn't|"
    r"haven't|doesn't|don't|didn't|wasn't|weren't|went|came|gave|said|sent|made|got|ran|mention(?:s|ed)|"
    r"ask(?:s|ed)|want(?:s|ed)|need(?:s|ed)|request(?:s|ed)|contains?|contained|includ(?:es|ed)|says|talk(?:s|ed)|"
    r"discuss(?:es|ed)|refer(?:s|red)|fail(?:s|ed)|pass(?:es|ed)|return(?:s|ed)|runs|agree[sd]|confirm(?:s|ed)|"
    r"approve[sd]|show(?:s|ed)|gives|sends|types|typed|writes|wrote|upload(?:s|ed)|work(?:s|ed)|start(?:s|ed)|"
    r"end(?:s|ed)|becomes?|looks|seems|appears|match(?:es|ed)|report(?:s|ed)|describe[sd]|provide[sd]|offer(?:s|ed)|"
    r"finish(?:es|ed)|succeed(?:s|ed)|exceeds|reach(?:es|ed)|comes|goes|holds|belongs|knows|prefers|speaks|shines|"
    r"rises|falls)"
)
_PREDICATE: Final = re.compile(
    rf"(?:also |already |still |then |now |never |not |explicitly |previously ){{0,2}}{_FINITE}\b"
)
_SUBJECT: Final = re.compile(
    r"(?:(?:the|a|an|any|this|that|these|those|your|their|its|our|some|no|each|every|at least|more than|"
    r"fewer than|\d+|\w+'s) (?:[\w`./'-]+ ){1,5}?|"
    r"(?:it|he|she|they|we|you|there|this|that|someone|nobody|nothing|everything|"
    rf"users?|today|`[^`]+`|[\w.$-]*[-._$][\w.-]*) )(?={_PREDICATE.pattern})"
)
_CLAUSE: Final = re.compile(
    rf"(?:then |also )?(?:{_SUBJECT.pattern}{_PREDICATE.pattern}|"
    r"(?:it|he|she|they|we|you|someone|nobody|(?:the |a |any )?users?) (?:\w+ly |also )?"
    r"[a-z]{3,12}(?:s|ed)\b)"
)
_SHARED: Final = re.compile(
    r"(?P<head>.*\s)?(?P<word>(?:is|are|exists?|were|was|has|have)\b.*|"
    r"(?:skills?|plug-?ins?|extensions?|variables?|files?) (?:is|are|exists?)\b.*)"
)
_WHOLE: Final = re.compile(r"^(?:both|either)\s+", re.IGNORECASE)


@dataclass(slots=True)
class _Part:
    opener: str
    text: str
    narrow: bool
    group: int
    """Parts of one opener: "unless A and B" negates them together."""


def read_conjuncts(text: str, opener: str, *, narrow: bool) -> list[tuple[Condition, str]]:
    """Conditions of a clause given without its opener, each with its words; all of them must hold."""
    text = " ".join(text.split())
    if not text:
        return []
    parts = _parts(text, opener, narrow)
    more = " and ".join(part.text for part in parts[MAXIMUM_CONDITIONS:])
    parts = parts[:MAXIMUM_CONDITIONS]
    read = [_alternatives(part) for part in parts]
    if len(parts) > 1 and any(choice for _, choice in read):
        return [(_mixed(), f"{opener} {text}")]  # "A or B and C"
    if _is_negative(opener) and read[0][1]:  # "unless A or B": neither
        negative = ((replace(one, negated=not one.negated), words) for one, words in read[0][1])
        return [(one, f"{opener} {words}") for one, words in negative]
    found: list[tuple[Condition, str]] = []
    for group in dict.fromkeys(part.group for part in parts):
        mine = [index for index, part in enumerate(parts) if part.group == group]
        first = parts[mine[0]]
        if _is_negative(first.opener) and len(mine) > 1:
            words = " and ".join(parts[index].text for index in mine)
            found.append((_mixed(), f"{first.opener} {words}"))
            continue
        for index in mine:
            condition, part = read[index][0], parts[index]
            if _is_negative(part.opener):
                condition = replace(condition, negated=not condition.negated)
            found.append((condition, f"{part.opener} {part.text}"))
    return [*_together(found), *([(_unknown(more), more)] if more else [])]


def _unknown(text: str) -> Condition:
    return Condition(FactorKind.ARGUMENTS, "unknown", text.lower()[:120])


def _mixed() -> Condition:
    """Understood in its parts, and no condition together: nothing to look up, so it may always be met."""
    return Condition(FactorKind.ARGUMENTS, "unknown", "")


def _is_negative(opener: str) -> bool:
    words = opener.lower().split()
    return bool(words) and vocabulary()["conditions.negative"].at(words, 0) == len(words)


def _together(found: list[tuple[Condition, str]]) -> list[tuple[Condition, str]]:
    """`on Fridays and Saturdays` names two levels of one factor: either is enough."""
    first = found[0][0]
    same = {(one.factor, one.operator, one.negated) for one, _ in found}
    named = first.factor in (FactorKind.CLOCK, FactorKind.HOST) and first.operator == "equals"
    if len(found) > 1 and len(same) == 1 and named and not any(_CLAUSE.match(part) for _, part in found):
        values = dict.fromkeys(one.value for one, _ in found)
        return [(replace(first, value=ALTERNATIVES.join(values)), " and ".join(part for _, part in found))]
    return found


def _parts(text: str, opener: str, narrow: bool) -> list[_Part]:
    """The text cut where a new condition begins; what begins none stays with the part before it."""
    protected = [match.span() for match in _QUOTATION.finditer(text)]
    head = _WHOLE.match(text)
    start = head.end() if head else 0
    parts = [_Part(opener, "", narrow, 0)]
    bounds = [found for found in _BOUNDARY.finditer(text) if not _inside(found.start(), protected)]
    bounds = [found for found in bounds if found.start() >= start and (found["join"].strip() or _own(found))]
    ends = [*(found.start() for found in bounds[:60]), len(text)]
    parts[0].text = text[start : ends[0]]
    for found, end in zip(bounds, ends[1:], strict=False):
        piece = text[found.end() : end].strip()
        current = parts[-1]
        new = _begins(found, piece, current)
        if new is None:
            current.text = f"{current.text}{text[found.start() : end]}".strip()
        elif new.group < 0:
            current.text = _share_predicate(current.text, piece)
            parts.append(replace(new, group=current.group))
        else:
            parts.append(new)
    return [part for part in parts if part.text.strip()]


def _inside(position: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= position < end for start, end in spans)


def _own(found: re.Match[str]) -> str:
    return (found["strong"] or found["weak"] or "").lower()


def _begins(found: re.Match[str], piece: str, current: _Part) -> _Part | None:
    """The part that `piece` begins behind a boundary, or `None`; group -1 shares its predicate backwards."""
    join, own = found["join"].strip(" ,(").lower(), _own(found)
    joined = bool(found["join"].strip())
    if not re.search(r"[A-Za-z]", piece) or not current.text.strip():
        return None
    if not joined and re.search(r"\bor(?: else)?$", current.text):
        return None  # "… or when …"
    if "(" in found["join"]:
        piece = piece.rstrip(") ")
        if not join and read_turn(piece.lower(), own or "if") is None:
            return None  # "(for example …)"
    if not joined and read_turn(f"{current.text} {own} {piece}".lower(), current.opener) is not None:
        return None  # "this is at | least turn 3"
    if own:
        known = interpret(piece, own, narrow=found["strong"] is None)
        counts = read_turn(piece.lower(), own) is not None
        understood = known is not None and known.operator != "unknown"
        sure = bool(found["strong"]) and (joined or _SINGLE_SPACE.match(own) is not None)
        if sure or counts or (join and (understood or _CLAUSE.match(piece.lower()))):
            return _Part(own, piece, found["strong"] is None, current.group + 1)
        if understood and found["strong"]:
            return _Part(own, piece, False, current.group + 1)
        return None
    if current.opener.startswith("for "):
        return None
    lowered = piece.lower()
    if _CLAUSE.match(lowered):
        return _begun_by_clause(piece, current, join)
    subject = _SUBJECT.match(current.text.lower())
    if join and subject and _CLAUSE.match(current.text.lower()) and _PREDICATE.match(lowered):
        return _Part(current.opener, current.text[: subject.end()] + piece, False, current.group)
    if read_turn(lowered, current.opener) is not None and not piece.replace(",", "").isdigit():
        return _Part(current.opener, piece, current.narrow, current.group)
    if _is_known(piece, current) and _is_known(current.text, current):
        return _Part(current.opener, piece, current.narrow, current.group)
    if join == "and" and not _is_known(current.text, current):
        shared = _share_predicate(current.text, piece)
        if shared != current.text and _is_known(shared, current) and _is_known(piece, current):
            return _Part(current.opener, piece, current.narrow, -1)
    return None


def _begun_by_clause(piece: str, current: _Part, join: str) -> _Part:
    shared = _share_predicate(current.text, piece)
    both = shared != current.text and not _CLAUSE.match(current.text.lower())
    if join == "and" and both and _is_known(shared, current):
        return _Part(current.opener, piece, current.narrow, -1)
    return _Part(current.opener, piece, False, current.group)


def _share_predicate(text: str, piece: str) -> str:
    """`a.md` of "a.md and b.md exist" with the predicate of both: "a.md exist"."""
    found = _SHARED.fullmatch(piece)
    return f"{text} {found['word']}" if found and found["head"] else text


def _is_known(text: str, part: _Part) -> bool:
    found = interpret(text, part.opener, narrow=part.narrow)
    return found is not None and found.operator != "unknown"


def _alternatives(part: _Part) -> tuple[Condition, list[tuple[Condition, str]]]:
    """The condition of one part, and those of its clauses if it is a choice ("it is Friday or A exists")."""
    whole = interpret(part.text, part.opener, narrow=part.narrow) or _unknown(part.text)
    if read_turn(part.text.lower(), part.opener) is not None:
        return whole, []
    protected = [match.span() for match in _QUOTATION.finditer(part.text)]
    pieces: list[str] = []
    start, shared = 0, ""
    for found in _OR.finditer(part.text):
        before, behind = shared + part.text[start : found.start()], part.text[found.end() :]
        if _inside(found.start(), protected) or not _stands_alone(before, part):
            continue
        opened = found[0].strip(" ,").lower() not in ("or", "or else")
        prefix = _other_clause(before, behind, part, opened)
        if prefix is not None:
            pieces.append(before)
            start, shared = found.end(), prefix
    if not pieces:
        return whole, []
    pieces.append(shared + part.text[start:])
    read = [interpret(piece, part.opener, narrow=part.narrow) or _unknown(piece) for piece in pieces]
    same = {(one.factor, one.operator, one.negated) for one in read}
    choice = list(zip(read, pieces, strict=True))
    if len(same) == 1 and read[0].operator != "unknown":
        values = dict.fromkeys(one.value for one in read)
        return replace(read[0], value=ALTERNATIVES.join(values)), choice
    return _mixed() if any(one.operator != "unknown" for one in read) else _unknown(part.text), choice


def _other_clause(before: str, behind: str, part: _Part, opened: bool) -> str | None:
    """The subject that the words behind an "or" share with those before it; `None` where they are a level."""
    subject = _SUBJECT.match(before.lower())
    if _CLAUSE.match(behind.lower()) or (opened and _is_known(behind, part)):
        return ""
    if read_turn(behind.lower(), part.opener) is not None:
        return ""
    return before[: subject.end()] if subject and _PREDICATE.match(behind.lower()) else None


def _stands_alone(text: str, part: _Part) -> bool:
    return bool(_CLAUSE.match(text.lower())) or _is_known(text, part)
