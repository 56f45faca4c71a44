"""What a clause declares by a verb and its object: "deletes old files in your Downloads folder"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from conjunct.model import ActionKind, ResourceClass
from conjunct.reach.tables import table

NEGATIONS: Final = frozenset(
    {"no", "not", "never", "without", "doesn't", "don't", "won't", "cannot", "can't", "neither", "nor",
     "zero", "nothing", "isn't", "aren't"}
)  # fmt: skip
WORD: Final = re.compile(r"[a-z0-9_.][\w.'’-]*")
NAMED_ONLY: Final = frozenset(
    {
        ResourceClass.PRIVATE,
        ResourceClass.SECRET,
        ResourceClass.AGENT_MEMORY,
        ResourceClass.AGENT_CONFIGURATION,
        ResourceClass.HISTORY,
        ResourceClass.SHELL_STARTUP,
        ResourceClass.SCHEDULE,
    }
)
"""What is declared only by its name, never by that of another resource of its class."""
_CLAUSE_END: Final = re.compile(r"[.;!?]+(?:\s|$)|[()|]|\s[–—]\s|\bbut\b|\binstead of\b|\brather than\b")
_CUTTING: Final = ("but", "instead", "rather")
"""Ends of clauses that can cut a word in two ("tried-but-true"): clauses then have words that no line has."""
_BEFORE: Final = 8
"""Words between a verb and the object behind it."""
_BEFORE_READ: Final = 14
"""The same for reading: lists of what is read are long."""
_BEHIND: Final = 4
"""Words between an object and the participle behind it."""
_PARTICIPLES: Final = ("ed", "en", "ept", "ound", "uilt")
_EQUAL_FORMS: Final = ("read", "set", "put")
_SELF: Final = frozenset({"this"})
"""In front of an object: "with this skill" speaks of the speaker."""

Meaning = tuple[ActionKind, ResourceClass, str]


@dataclass(frozen=True, slots=True)
class _Row:
    meaning: Meaning
    verbs: frozenset[tuple[str, ...]]
    objects: frozenset[tuple[str, ...]]


def words_table() -> dict[str, Any]:
    """The mapping of words to capabilities. Treat it as read-only."""
    words: dict[str, Any] = table("words")
    return words


def clauses(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each clause of a line."""
    start = 0
    for found in _CLAUSE_END.finditer(text):
        yield start, found.start()
        start = found.end()
    yield start, len(text)


def clause_at(text: str, position: int) -> str:
    """The clause that holds a position."""
    return next((text[start:end] for start, end in clauses(text) if start <= position < end), text)


_APPOSITION = re.compile(
    r"\s*(?:(?:e\.g\.|i\.e\.|usually|typically|or|and|etc\.?|,|`[^`]{0,80}`|(?:~|/|\.)[\w.@+~/*-]{1,120}|\w+\.md)\s*){1,12}"
)


def clause_naming(text: str, position: int) -> str:
    """The clause that names what is at a position; "adds it to your shell file (`~/.bashrc`)" is one."""
    start, end = next(
        ((start, end) for start, end in clauses(text) if start <= position < end), (0, len(text))
    )
    if start and text[start - 1] == "(" and _APPOSITION.fullmatch(text[start:end]):
        return f"{clause_at(text, start - 2)} {text[start:end]}"
    return text[start:end]


def words_of_clause(text: str) -> list[str]:
    """Its words in lower case, without full stops."""
    return [word.rstrip(".") for word in WORD.findall(text.lower().replace("’", "'"))]


def negated(words: Sequence[str], index: int) -> bool:
    """Whether the word at `index` stands behind a negation."""
    return not NEGATIONS.isdisjoint(words[max(0, index - 4) : index])


def declared_by_clauses(text: str, of_line: Sequence[str] | None = None) -> list[Meaning]:
    """What the clauses of a line declare, each once; `of_line` are all its words, where they are known."""
    of_line = words_of_clause(text) if of_line is None else of_line
    found: dict[Meaning, None] = {}
    cut = any(word in text for word in _CUTTING)
    if not cut and any(firsts.isdisjoint(of_line) for firsts in _firsts()):
        return []
    for start, end in clauses(text):
        words = words_of_clause(text[start:end])
        if any(firsts.isdisjoint(words) for firsts in _firsts()):
            continue
        verbs, objects = _found(words)
        for row, nouns in objects.items():
            within = _BEFORE_READ if _rows()[row].meaning[0] is ActionKind.READ else _BEFORE
            if any(_governs(words, verb, noun, within) for verb in verbs.get(row, ()) for noun in nouns):
                found[_rows()[row].meaning] = None
    return list(found)


def deletes(clause: str) -> bool:
    """Whether a clause speaks of deleting something, not negated."""
    words = words_of_clause(clause)
    forms = _deleting()
    return any(
        tuple(words[index : index + length]) in forms and not negated(words, index)
        for index in range(len(words))
        for length in (1, 2)
    )


def _governs(words: Sequence[str], verb: tuple[int, int], noun: tuple[int, int], within: int) -> bool:
    (verb_start, verb_end), (noun_start, noun_end) = verb, noun
    if noun_start and words[noun_start - 1] in _SELF:
        return False
    if verb_end <= noun_start <= verb_end + within:
        return not negated(words, verb_start) and NEGATIONS.isdisjoint(words[verb_end:noun_start])
    passive = words[verb_start].endswith(_PARTICIPLES) or (
        words[verb_start] in _EQUAL_FORMS
        and words[verb_start - 1] in ("is", "are", "was", "were", "be", "been")
    )
    return noun_end <= verb_start <= noun_end + _BEHIND and passive and not negated(words, verb_start)


Places = dict[int, list[tuple[int, int]]]


def _found(words: Sequence[str]) -> tuple[Places, Places]:
    """Where verbs and objects of each row stand."""
    verbs: Places = {}
    objects: Places = {}
    firsts, lengths = _index()
    for index, word in enumerate(words):
        if word not in firsts:
            continue
        for length in lengths:
            phrase = tuple(words[index : index + length])
            if len(phrase) < length:
                break
            for row, is_verb in _phrases().get(phrase, ()):
                (verbs if is_verb else objects).setdefault(row, []).append((index, index + length))
    return verbs, objects


@lru_cache(maxsize=1)
def _rows() -> tuple[_Row, ...]:
    return tuple(
        _Row(
            (ActionKind(row["kind"]), ResourceClass(row["resource_class"]), str(row.get("resource", "*"))),
            frozenset(form for verb in _flat(row["verbs"]) for form in _forms(verb)),
            frozenset(tuple(entry.lower().split()) for entry in _flat(row["objects"])),
        )
        for row in words_table()["clauses"]
    )


@lru_cache(maxsize=1)
def _phrases() -> dict[tuple[str, ...], list[tuple[int, bool]]]:
    found: dict[tuple[str, ...], list[tuple[int, bool]]] = {}
    for number, row in enumerate(_rows()):
        for phrase in row.verbs:
            found.setdefault(phrase, []).append((number, True))
        for phrase in row.objects:
            found.setdefault(phrase, []).append((number, False))
    return found


@lru_cache(maxsize=1)
def _index() -> tuple[frozenset[str], tuple[int, ...]]:
    return frozenset(phrase[0] for phrase in _phrases()), tuple(sorted({len(key) for key in _phrases()}))


@lru_cache(maxsize=1)
def _firsts() -> tuple[frozenset[str], frozenset[str]]:
    """First words of verbs and of objects: a clause without one of each declares nothing."""
    verbs = frozenset(phrase[0] for row in _rows() for phrase in row.verbs)
    return verbs, frozenset(phrase[0] for row in _rows() for phrase in row.objects)


@lru_cache(maxsize=1)
def _deleting() -> frozenset[tuple[str, ...]]:
    return frozenset(form for verb in _flat(words_table()["deleting"]) for form in _forms(verb))


def _flat(entries: Sequence[Any]) -> Iterator[str]:
    for entry in entries:
        if isinstance(entry, list):
            yield from _flat(entry)
        else:
            yield str(entry)


def _forms(verb: str) -> Iterator[tuple[str, ...]]:
    """The forms of a verb; only its first word changes: "clean up" gives "cleaning up"."""
    first, *rest = verb.lower().split()
    stem = first[:-1] if first.endswith("e") else first
    forms = {first, f"{first}s", f"{stem}ing", f"{stem}ed", *_IRREGULAR.get(first, ())}
    if first.endswith(("s", "x", "z", "ch", "sh")):
        forms.add(f"{first}es")
    if first.endswith("y"):
        forms |= {f"{first[:-1]}ies", f"{first[:-1]}ied"}
    if re.search(r"[^aeiou][aeiou][bdgmnprt]$", first):
        forms |= {f"{first}{first[-1]}ing", f"{first}{first[-1]}ed"}
    for form in forms:
        yield (form, *rest)


_IRREGULAR: Final = {
    "write": ("written", "wrote"), "rewrite": ("rewritten",), "keep": ("kept",), "find": ("found",),
    "get": ("got",), "run": ("ran",), "take": ("taken", "took"), "build": ("built",), "send": ("sent",),
    "learn": ("learnt",), "give": ("given",), "show": ("shown",),
}  # fmt: skip
