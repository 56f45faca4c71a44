"""Whether a sentence is in a language the compiler does not read."""

from __future__ import annotations

from typing import Final

from conjunct.directives.tokens import WORD, Statement

_MINIMUM_LETTERS: Final = 4
_ENGLISH: Final = frozenset(
    ["the", "a", "an", "of", "to", "in", "is", "are", "and", "or", "for", "with", "on", "this", "that", "it", "you", "your", "not", "be", "by", "from", "as", "at", "if", "when", "use", "do", "all", "any", "must", "should", "run", "send", "file", "into", "only", "before", "after", "then", "each"]
)
_OTHER: Final = frozenset(
    ["el", "los", "las", "una", "del", "que", "para", "por", "con", "como", "este", "esta", "debe", "según", "der", "die", "das", "und", "nicht", "ist", "mit", "für", "auf", "den", "dem", "ein", "eine", "einen", "von", "zu", "wenn", "datei", "sie", "les", "des", "une", "est", "pour", "dans", "avec", "vous", "pas", "sur", "aux", "ce", "cette", "fichier", "il", "che", "per", "di", "della", "sono", "non", "gli", "deve", "não", "uma", "os", "seu", "você", "het", "een", "niet", "voor", "zijn", "och", "att", "som", "inte", "är", "jest", "nie", "się", "dla", "och", "ja", "ve", "bir", "için"]
)


def is_foreign(statement: Statement) -> bool:
    """Whether most letters are not Latin, or function words of another language outnumber English ones."""
    text = statement.text
    if not text.isascii():
        letters = sum(character.isalpha() for character in text)
        other = sum(character.isalpha() and ord(character) > 0x24F for character in text)
        if other >= _MINIMUM_LETTERS and other * 3 > letters:
            return True
    words = [token.low for token in statement.tokens if token.kind == WORD]
    if len(words) < 4:
        return False
    foreign = sum(word in _OTHER for word in words)
    return foreign >= 2 and not any(word in _ENGLISH for word in words)
