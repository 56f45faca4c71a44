"""Which skills a request asks for: those it names; if it names none, the one its words describe best."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources

import yaml

from conjunct.agent.protocol import View
from conjunct.model import Skill, Turn

_NAMES_A_SKILL = re.compile(
    r"\b(?:use|using|with|run|via|invoke|through)\s+(?:the\s+|my\s+)?"
    r"[`\"'“]?[\w.:-]{2,64}[`\"'”]?\s+skill\b|"
    r"\bskill\s+(?:called|named)\b|(?:^|\s)/[a-z][\w-]{2,63}\b|"
    # A name of several words, where a request names what it wants to be used.
    r"(?:^|\b(?:use|using|with|run|via|call|ask|like|now|then|again|and|more:)\s+(?:the\s+)?)"
    r"[`\"'“]?[a-z][a-z0-9]{0,40}(?:-[a-z0-9]{1,40}){1,6}(?![\w/.-])",
    re.IGNORECASE,
)
_LEAST_WORDS = 2


def chosen_skills(view: View) -> tuple[Skill, ...]:
    """The skills the present request asks for, in the order of mention.

    Descriptions are compared only where the request asks for a capability and names no skill at all: that
    look lists everything installed, and so depends on all of it.
    """
    named = tuple(view.named_in_request())
    request = view.request
    if named or not asks_for_capability(request):
        return named
    best = best_match(request.text, view.installed())
    skill = view.find(best) if best else None
    return (skill,) if skill is not None else ()


def asks_for_capability(request: Turn) -> bool:
    """Whether a request wants something done by a skill that it does not name."""
    return (request.uses or request.partner) and not request.harmful and not names_a_skill(request.text)


def names_a_skill(text: str) -> bool:
    """Whether the request speaks of one particular skill, installed or not."""
    return _NAMES_A_SKILL.search(text[:4000]) is not None


def best_match(text: str, installed: Iterable[tuple[str, str]]) -> str:
    """Name of the skill whose name and description share most words with a text; empty under two words.

    Ties go to the larger share of the description, then to the name that sorts first.
    """
    wanted = content_words(text)
    best: tuple[int, float, str] | None = None
    for name, description in installed:
        words = content_words(f"{name} {description}")
        shared = len(wanted & words)
        if shared >= _LEAST_WORDS:
            key = (-shared, -shared / len(words), name)
            best = key if best is None or key < best else best
    return best[2] if best else ""


def content_words(text: str) -> frozenset[str]:
    """Words that carry meaning, in their stem as far as a plural or a participle hides it."""
    found = re.findall(r"[a-z][a-z0-9]{2,40}", text[:8000].lower().replace("-", " "))
    return frozenset(_stem(word) for word in found if word not in _stop_words())


@cache
def _stop_words() -> frozenset[str]:
    text = resources.files("conjunct.agent").joinpath("data/intent.yaml").read_text(encoding="utf-8")
    return frozenset(str(yaml.safe_load(text)["stop_words"]).split())


def _stem(word: str) -> str:
    for ending in ("ations", "ation", "ings", "ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word
