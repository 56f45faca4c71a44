"""Stored things that prose names without a path: `the reference file`, `each source`, `test file`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from conjunct.directives.tokens import PUNCTUATION, WORD, Token
from conjunct.directives.vocabulary import Vocabulary

_LENGTH: Final = 8
_READING: Final = frozenset({"read", "load", "open", "view", "reading", "loading", "opening", "viewing"})
_CHANGING: Final = frozenset({"edit", "append", "copy", "move", "delete", "upload", "share"})


@dataclass(frozen=True, slots=True)
class Stored:
    """A noun phrase for something stored; `definite` when one particular thing is meant."""

    definite: bool


def stored_thing(verb: str, word: str, tokens: list[Token], lexicon: Vocabulary) -> Stored | None:
    """The stored thing that is the object of canonical `verb`, written as `word`; `None` if it is none."""
    if tokens and tokens[0].low == "for":
        return None  # "look for files"
    if verb == "read" and word in ("check", "look", "checking"):
        return None
    if verb == "read":
        nouns = lexicon["resources.stored_nouns" if word in _READING else "resources.file_nouns"]
    elif verb == "write":
        nouns = lexicon["resources.made_nouns"]
    elif verb in _CHANGING:
        nouns = lexicon["resources.stored_nouns"]
    else:
        return None
    words = [token.low for token in tokens[:_LENGTH]]
    for index, token in enumerate(tokens[:_LENGTH]):
        if verb == "read" and index and words[index] in (",", "and", "or"):
            continue  # "read relevant HTML, CSS, and JS files"
        if token.kind == PUNCTUATION or (token.kind != WORD and not token.code):
            return None
        if index and words[index] in lexicon["verbs.behind_objects"].single:
            return None
        length = nouns.at(words, index)
        if not length:
            continue
        following = words[index + length] if index + length < len(words) else ""
        last = (
            not following
            or tokens[index + length].kind == PUNCTUATION
            or following in lexicon["verbs.behind_objects"].single
            or following in lexicon["resources.behind_stored"].single
        )
        if last:
            return Stored(not lexicon["resources.definite"].single.isdisjoint(words[:index]))
    return None
