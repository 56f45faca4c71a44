"""The one request that is generated from a skill's own description."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from conjunct.battery.document import read_document
from conjunct.model import Compilation, DirectiveKind, Skill

MAXIMUM_TASK = 200
"""Characters of a generated request."""

_SPACE = re.compile(r"\s+")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]+")
_END = re.compile(r"[.!?](?:\s|$)|\s[—–]\s|;\s")
_LEAD = re.compile(
    r"(?:(?:this|the) skill |(?:an? |the )?(?:agent )?skill (?:that |which |to )|"
    r"(?:an? )?tool (?:that |which |to )|"
    r"use (?:this|the) skill (?:to |when (?:you |the user )?(?:need|needs|want|wants)(?: to)? )|"
    r"use this (?:to |when (?:you |the user )?(?:need|needs|want|wants)(?: to)? )|"
    r"(?:it |which |that )?(?:can be used to |is used to |helps (?:you |users )?(?:to )?|"
    r"lets you |allows you to |enables you to |provides the ability to ))",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*")
_JOINED = re.compile(
    r"(?<=[,\s])(and|or|then)( then)? ([a-z]{3,20}s)(?= (?:the|a|an|them|it|its|their|all|to)\b)"
)
_NO_VERB_BEFORE = frozenset({"for", "of", "is", "are", "that", "which"})
# After a verb in -s comes what it acts on, not one of these.
_NOT_OBJECT = frozenset({"for", "of", "in", "on", "with", "from", "is", "are", "that", "which"})


def generate_task(skill: Skill, compilation: Compilation) -> str:
    """What the user asks for, as an imperative phrase without a final stop: `format the amounts in a table`.

    It is taken from the first sentence of the description; without one from the first documented command or
    the first line of the body. Never longer than `MAXIMUM_TASK` characters, on one line, printable.
    """
    sentence = _first_sentence(skill.declaration.description)
    if sentence:
        return _cut(_imperative(sentence))
    for directive in compilation.directives:
        if directive.kind is DirectiveKind.RUN and directive.command and not directive.mention:
            return _cut(f"run its documented command {_clean(directive.command)}")
    heading = _first_sentence(skill.body.lstrip().lstrip("# "))
    return _cut(f"do what it is for: {heading}") if heading else "do what it is for"


@cache
def _words(kind: str) -> frozenset[str]:
    data = resources.files("conjunct.battery").joinpath("data", "request.yaml")
    with resources.as_file(data) as path:
        return frozenset(read_document(path, name="battery/request.yaml").texts(kind, required=True))


def _clean(text: str) -> str:
    return _SPACE.sub(" ", _UNPRINTABLE.sub(" ", text[:4000])).strip()


def _first_sentence(text: str) -> str:
    clean = _clean(text)
    end = _END.search(clean)
    return (clean[: end.start()] if end else clean).strip(" .:;,—–-")


def _cut(text: str) -> str:
    if len(text) <= MAXIMUM_TASK:
        return text
    return text[:MAXIMUM_TASK].rsplit(" ", 1)[0].rstrip(",;: ")


def _imperative(sentence: str) -> str:
    rest = sentence
    # "This skill helps you to …" has two leads.
    for _ in range(3):
        lead = _LEAD.match(rest)
        if lead is None or lead.end() == len(rest):
            break
        rest = rest[lead.end() :]
    words = rest.split(" ")
    first = words[0]
    following = words[1].lower() if len(words) > 1 else ""
    bare = _WORD.fullmatch(first.rstrip(","))
    if bare and first.lower().rstrip(",").endswith("ing"):
        return f"help me with {_lowered(first)} {' '.join(words[1:])}".strip()
    if bare and _third_person(first.rstrip(","), following):
        comma = "," if first.endswith(",") else ""
        tail = _JOINED.sub(lambda m: f"{m[1]}{m[2] or ''} {base_form(m[3])}", " ".join(words[1:]))
        return f"{base_form(first.rstrip(',').lower())}{comma} {tail}".strip()
    if bare and rest != sentence:
        return f"{_lowered(first)} {' '.join(words[1:])}".strip()
    if bare and first.lower().rstrip(",") in _words("verbs") and following not in _NO_VERB_BEFORE:
        return f"{_lowered(first)} {' '.join(words[1:])}".strip()
    if bare and first[:1].isupper() and following in ("a", "an", "the", "your", "any", "all", "and", "or"):
        return f"{_lowered(first)} {' '.join(words[1:])}".strip()
    return f"help me with this: {rest}" if rest else "do what it is for"


def _lowered(word: str) -> str:
    """A first word in lower case, unless it is a name or an acronym."""
    return word if sum(letter.isupper() for letter in word) > 1 else word.lower()


def _third_person(word: str, following: str) -> bool:
    lower = word.lower()
    if not lower.endswith("s") or lower.endswith(("ss", "is", "ics", "us")) or len(lower) < 4:
        return False
    return (
        lower not in _words("nouns") and following not in _NOT_OBJECT and sum(c.isupper() for c in word) <= 1
    )


def base_form(verb: str) -> str:
    """The base form of a verb in the third person: `copies` to `copy`, `fetches` to `fetch`."""
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    if verb.endswith(("ches", "shes", "sses", "xes", "zzes")):
        return verb[:-2]
    return verb[:-1]
