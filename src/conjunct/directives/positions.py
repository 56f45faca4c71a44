"""Whether a word is a verb where it stands: nouns stand before a copula, a colon or alone."""

from __future__ import annotations

from typing import Final

from conjunct.directives.tokens import CODE, CONCRETE, EMAIL, HOST, LINK, PUNCTUATION, URL, WORD, Token
from conjunct.directives.vocabulary import Vocabulary

COPULAS: Final = frozenset(
    {"is", "are", "was", "were", "has", "should", "must", "can", "will", "may", "=", "vs"}
)


def is_verb(
    tokens: list[Token], words: list[str], index: int, first: int, coordinated: bool, lexicon: Vocabulary
) -> bool:
    """Whether the word at `index` is a verb there: nouns stand before a copula, a colon or alone."""
    if index + 1 >= len(tokens):
        return (
            index > first
            or coordinated
            or words[index] in ("commit", "push", "proceed", "stop", "continue", "repeat", "wait")
        )
    following = tokens[index + 1]
    if lexicon["verbs.noun_pairs"].at(words, index):
        return False
    if following.low in COPULAS or following.low == ":":
        return following.low == ":" and words[index] in ("run", "install", "execute")
    if words[index] not in lexicon["verbs.ambiguous"].single:
        return True
    if (
        following.text[:1].isdigit()
        or following.kind in CONCRETE
        or following.kind in (CODE, LINK)
        or following.code
        or following.quoted
    ):
        return True
    if index > first and not coordinated:
        return True
    if following.low in ("and", "then") and not coordinated and index + 2 < len(words):
        return words[index + 2] in lexicon.imperative  # "stop and invoke …"
    if following.low in lexicon["verbs.followers"].single or following.low in ("not", "and", ",", "."):
        return following.low not in (",", ".", "and") or words[index] in ("commit", "push")
    if _reaches(tokens, words, index, lexicon, at_start=index == first and not coordinated):
        return True
    if words[index] in lexicon["verbs.mostly_nouns"].single:
        return False
    if index + 2 < len(words) and words[index + 2] in COPULAS:
        return False
    if following.low in lexicon["verbs.following_nouns"].single:
        return True
    plural = following.low.endswith("s") and not following.low.endswith("ss")
    return not coordinated and (plural or following.text[:1].isupper()) and index == first == 0


def _reaches(
    tokens: list[Token], words: list[str], index: int, lexicon: Vocabulary, *, at_start: bool
) -> bool:
    """`report counts to metrics.example.com`: with a place behind its preposition the word is a verb.

    Inside a sentence only an address counts; a word that opens one is a verb before a path too, and before an
    object of at most six words that is followed by nothing finite ("Read plan file").
    """
    for verb in lexicon.base.get(words[index], ()):
        kinds = CONCRETE if at_start else frozenset({URL, HOST, EMAIL})
        if verb.needs != "outward" and not at_start:
            continue
        for at in range(index + 1, min(len(tokens) - 1, index + 12)):
            if (tokens[at].kind == PUNCTUATION and words[at] != ",") or words[at] in COPULAS:
                break
            behind = tokens[at + 1 : at + 3]
            if words[at] in verb.to and any(
                token.kind in kinds or (at_start and token.code) for token in behind
            ):
                return True
    if not at_start or index or words[index] in lexicon["verbs.mostly_nouns"].single:
        return False
    return words[index] in lexicon.base and _bare_object(tokens, words, index + 1, lexicon)


def _bare_object(tokens: list[Token], words: list[str], start: int, lexicon: Vocabulary) -> bool:
    """Whether words from `start` are a short noun phrase that ends in something stored ("plan file")."""
    nouns = lexicon["resources.stored_nouns"]
    for index in range(start, min(len(tokens), start + 6)):
        if tokens[index].kind in CONCRETE and index > start:
            return True
        if tokens[index].kind != WORD or words[index] in COPULAS:
            return False
        if nouns.at(words, index):
            behind = words[index + 1] if index + 1 < len(words) else "."
            ends = index + 1 >= len(words) or tokens[index + 1].kind == PUNCTUATION
            if ends or behind in lexicon["verbs.behind_objects"].single:
                return True
    return False


def gerund_at(words: list[str], index: int, lexicon: Vocabulary) -> bool:
    return index < len(words) and (
        words[index] in lexicon.gerund
        or words[index] in lexicon["verbs.run.gerund"].single
        or words[index].endswith("ing")
    )
