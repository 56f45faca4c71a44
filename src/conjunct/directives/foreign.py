"""Whether a sentence is in a language the compiler does not read."""

from __future__ import annotations

from typing import Final

from conjunct.directives.tokens import WORD, Statement
from conjunct.directives.vocabulary import vocabulary

_MINIMUM_LETTERS: Final = 4
_MINIMUM_WORDS: Final = 4
_LATIN: Final = 0x24F


def is_foreign(statement: Statement) -> bool:
    """Whether most letters are not Latin, or function words are those of another language."""
    if not statement.text.isascii():
        text = "".join(token.text for token in statement.tokens if token.kind == WORD)
        letters = sum(character.isalpha() for character in text)
        other = sum(character.isalpha() and ord(character) > _LATIN for character in text)
        if other >= _MINIMUM_LETTERS and other * 3 > letters:
            return True
    words = [token.low for token in statement.tokens if token.kind == WORD]
    if len(words) < _MINIMUM_WORDS:
        return False
    lexicon = vocabulary()
    if not lexicon["languages.english"].single.isdisjoint(words):
        return False
    return sum(word in lexicon["languages.other"].single for word in words) >= 2
