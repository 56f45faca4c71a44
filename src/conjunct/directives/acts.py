"""Verbs on objects toward targets: `send the contents of X to Y`, `append … to ~/.bashrc`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from conjunct.directives.mood import Order
from conjunct.directives.tokens import (
    CODE,
    CONCRETE,
    EMAIL,
    HOST,
    LINK,
    PATH,
    PUNCTUATION,
    URL,
    Statement,
    Token,
)
from conjunct.directives.vocabulary import ActVerb, Vocabulary, vocabulary

_PRONOUNS: Final = frozenset({"it", "them", "this", "that", "these", "those"})
_STOPS: Final = frozenset(
    {
        "before",
        "after",
        "when",
        "if",
        "so",
        "because",
        "while",
        "unless",
        "which",
        "where",
        "who",
        "until",
        "without",
        "for",
        "using",
        "by",
        "along",
    }
)
_ARTICLES: Final = frozenset(
    {
        "the",
        "contents",
        "content",
        "file",
        "a",
        "an",
        "all",
        "any",
        "your",
        "their",
        "its",
        "our",
        "my",
        "both",
        "of",
        "each",
        "every",
        "user's",
        "users'",
        "also",
        "then",
    }
)
_OUTSIDE: Final = frozenset({URL, HOST, EMAIL})


@dataclass(frozen=True, slots=True)
class Act:
    """A verb with its object and target as the text names them."""

    verb: str
    object: str
    target: str
    confidence: float


def acts(statement: Statement, order: Order, antecedent: str) -> list[Act]:
    """What an order does to resources; empty when it names none. `antecedent` is what `it` means."""
    lexicon = vocabulary()
    words = statement.words
    if order.passive:
        candidates = lexicon.participle.get(words[order.verb], ())
    else:
        candidates = lexicon.base.get(words[order.verb], ()) or lexicon.gerund.get(words[order.verb], ())
    for verb in candidates:
        length = verb.base.at(words, order.verb)
        if not length:
            continue
        found = _match(statement, order, verb, length, antecedent, lexicon)
        if found:
            return found
    return []


def resources_in(tokens: list[Token], kinds: frozenset[str] = CONCRETE) -> list[str]:
    """Paths, addresses and hosts named by tokens, in order, without repetition."""
    return list(dict.fromkeys(token.text for token in tokens if token.kind in kinds))


def _match(
    statement: Statement, order: Order, verb: ActVerb, length: int, antecedent: str, lexicon: Vocabulary
) -> list[Act]:
    tokens, words = statement.tokens, statement.words
    start = order.verb + length
    end = order.end
    split = _preposition(tokens, words, start, end, verb)
    object_tokens = tokens[start:split]
    if order.passive:
        object_tokens = tokens[order.start : order.verb]
    target_tokens = _until_stop(tokens[split + 1 : end]) if split < end else []
    if not order.passive and not any(token.kind in CONCRETE for token in target_tokens):
        object_tokens = _until_stop(object_tokens) or object_tokens
    objects = resources_in(object_tokens)
    targets = resources_in(target_tokens)
    phrase = _phrase(object_tokens)
    if not objects and antecedent and _is_pronoun(object_tokens):
        objects = [antecedent]
    test = _NEEDS[verb.needs]
    confidence = test(verb, object_tokens, target_tokens, objects, targets, lexicon)
    if confidence <= 0:
        return []
    target = targets[0] if targets else _phrase(target_tokens)
    return [Act(verb.name, entry, target, confidence) for entry in (objects[:8] or [phrase])]


def _is_pronoun(tokens: list[Token]) -> bool:
    """`it`, `both of them`: nothing but articles and one pronoun."""
    kept = [token.low for token in tokens if token.kind != PUNCTUATION and token.low not in _ARTICLES]
    return len(kept) == 1 and kept[0] in _PRONOUNS


def _preposition(tokens: list[Token], words: list[str], start: int, end: int, verb: ActVerb) -> int:
    """Index of the preposition that introduces the target: the last one before a concrete resource."""
    first = end
    for index in range(start, end):
        if words[index] in verb.to and tokens[index].kind == "word" and not tokens[index].quoted:
            following = [token for token in tokens[index + 1 : min(end, index + 8)]]
            if any(token.kind in CONCRETE for token in following):
                return index
            first = min(first, index)
    return first


def _until_stop(tokens: list[Token]) -> list[Token]:
    for index, token in enumerate(tokens):
        if index and (
            token.low in _STOPS
            or (token.kind == PUNCTUATION and token.low in (";", ":", "—", ")", ".", "->", "→"))
        ):
            return tokens[:index]
    return tokens


def _phrase(tokens: list[Token]) -> str:
    kept = [token for token in tokens if token.kind != PUNCTUATION and token.kind != LINK]
    while kept and kept[0].low in _ARTICLES:
        kept = kept[1:]
    return " ".join(token.text for token in kept[:12])


def _outward(
    verb: ActVerb,
    object_: list[Token],
    target: list[Token],
    objects: list[str],
    targets: list[str],
    lexicon: Vocabulary,
) -> float:
    words = [token.low for token in target]
    object_words = [token.low for token in object_]
    if any(token.kind in _OUTSIDE for token in [*target, *object_]):
        return 1.0
    if not words or lexicon["resources.conversation"].within(words):
        return 0.0
    data = (
        bool(objects)
        or lexicon["resources.data_nouns"].within(object_words)
        or lexicon["resources.private_nouns"].within(object_words)
    )
    if not data:
        return 0.0
    if lexicon["resources.sinks"].within(words):
        return 0.8
    if lexicon["resources.people_sinks"].within(words):
        return 0.5 if objects or lexicon["resources.private_nouns"].within(object_words) else 0.4
    if any(token.kind == PATH or token.kind == CODE for token in target) and verb.name == "upload":
        return 0.6
    return 0.0


def _url(
    verb: ActVerb,
    object_: list[Token],
    target: list[Token],
    objects: list[str],
    targets: list[str],
    lexicon: Vocabulary,
) -> float:
    return 1.0 if any(token.kind in (URL, HOST) for token in [*object_, *target]) else 0.0


def _path(
    verb: ActVerb,
    object_: list[Token],
    target: list[Token],
    objects: list[str],
    targets: list[str],
    lexicon: Vocabulary,
) -> float:
    everything = [*object_, *target]
    if any(token.kind == PATH for token in everything):
        return 1.0
    if any(token.kind == LINK and "://" not in token.text for token in everything) and verb.name in ("read",):
        return 0.8
    if objects and verb.name in ("copy", "move", "write", "read") and _is_pronoun(object_):
        return 0.6 if target else 0.0
    return 0.0


def _target(
    verb: ActVerb,
    object_: list[Token],
    target: list[Token],
    objects: list[str],
    targets: list[str],
    lexicon: Vocabulary,
) -> float:
    if targets:
        return 1.0
    return 0.6 if verb.nouns.within([token.low for token in target]) else 0.0


def _thing(
    verb: ActVerb,
    object_: list[Token],
    target: list[Token],
    objects: list[str],
    targets: list[str],
    lexicon: Vocabulary,
) -> float:
    words = [token.low for token in object_]
    if verb.name in ("delete", "disable") and objects:
        return 1.0
    if verb.name in ("commit", "push") and not [token for token in object_ if token.kind != PUNCTUATION]:
        return 0.7
    if verb.nouns.within(words):
        return 0.8
    if verb.name == "install" and any(token.code for token in object_):
        return 0.7
    return 0.0


def _private(
    verb: ActVerb,
    object_: list[Token],
    target: list[Token],
    objects: list[str],
    targets: list[str],
    lexicon: Vocabulary,
) -> float:
    words = [token.low for token in object_]
    credentials = lexicon["resources.credential_paths"].single
    if any(any(part in credentials for part in entry.split("/")) for entry in objects):
        return 1.0
    if lexicon["resources.private_nouns"].within(words):
        return 0.9
    if objects and _is_pronoun(object_):
        return 0.6
    if verb.name == "include" and any(token.kind == PATH for token in object_) and target:
        return 0.6
    return 0.0


def _variable(
    verb: ActVerb,
    object_: list[Token],
    target: list[Token],
    objects: list[str],
    targets: list[str],
    lexicon: Vocabulary,
) -> float:
    return 0.7 if any(_is_variable(token) for token in [*object_[:4], *target[:4]]) else 0.0


def _is_variable(token: Token) -> bool:
    name = token.text.lstrip("$").split("=", 1)[0]
    return "_" in name and name.isupper() and name.replace("_", "").isalnum()


def _credential(
    verb: ActVerb,
    object_: list[Token],
    target: list[Token],
    objects: list[str],
    targets: list[str],
    lexicon: Vocabulary,
) -> float:
    return (
        0.8
        if lexicon["resources.private_nouns"].within([token.low for token in [*object_, *target]])
        else 0.0
    )


_NEEDS: Final = {
    "outward": _outward,
    "url": _url,
    "path": _path,
    "target": _target,
    "thing": _thing,
    "private": _private,
    "variable": _variable,
    "credential": _credential,
}
