"""Verbs on objects toward targets: `send the contents of X to Y`, `append … to ~/.bashrc`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from conjunct.directives.mood import Order
from conjunct.directives.stored import stored_thing
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
        "with",
        "via",
        "following",
        "per",
        "alongside",
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
_SCRIPTS: Final = (
    ".sh",
    ".py",
    ".js",
    ".ps1",
    ".exe",
    ".bat",
    ".pl",
    ".rb",
    ".bin",
    ".zip",
    ".tar.gz",
    ".whl",
)
_ADDRESSES: Final = frozenset({URL, HOST})
_MAKING: Final = frozenset({"write", "edit", "delete", "append"})
_OUTSIDE: Final = frozenset({URL, HOST, EMAIL})


_LOOKING: Final = frozenset({"read", "visit", "download", "follow"})
_AUXILIARIES: Final = frozenset(
    {
        "be",
        "must",
        "should",
        "shall",
        "has",
        "have",
        "needs",
        "need",
        "to",
        "is",
        "are",
        "not",
        "never",
        "always",
        "also",
        "get",
        "gets",
        "ought",
        "been",
        "silently",
        "quietly",
        "secretly",
        "immediately",
        "automatically",
        "then",
    }
)
_REMOVED_FROM: Final = 0.45
_UNLOCATED: Final = 0.4
"""Confidence of an act on a stored thing without a path: understood, but nothing to carry out."""
_OPENING: Final = frozenset({"sure", "that", "ensure", "and", "then"})


@dataclass(frozen=True, slots=True)
class _Phrases:
    """The two noun phrases of an act, as tokens and as resources."""

    verb: ActVerb
    object: list[Token]
    target: list[Token]
    objects: list[str]
    targets: list[str]

    @property
    def both(self) -> list[Token]:
        """Object and target tokens."""
        return [*self.object, *self.target]


@dataclass(frozen=True, slots=True)
class Act:
    """A verb with its object and target as the text names them."""

    verb: str
    object: str
    target: str
    confidence: float
    definite: bool = False
    """Names one particular stored thing without its path ("the reference file")."""


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
    start, end = order.verb + length, order.end
    split = _preposition(tokens, words, start, end, verb)
    target_tokens = _until_stop(tokens[split + 1 : end]) if split < end else []
    if order.passive:
        object_tokens = _subject(tokens, order)
    else:
        object_tokens = tokens[start:split]
        if verb.name in _MAKING or not any(token.kind in CONCRETE for token in target_tokens):
            object_tokens = _until_stop(object_tokens) or object_tokens
    kinds = _ADDRESSES if verb.needs == "url" else CONCRETE
    if verb.name == "download" and not any(
        token.kind in _ADDRESSES for token in [*object_tokens, *target_tokens]
    ):
        kinds = CONCRETE
    objects = resources_in(object_tokens, kinds)
    targets = resources_in(target_tokens, kinds)
    if not objects and antecedent and _is_pronoun(object_tokens):
        objects = [antecedent]
    phrases = _Phrases(verb, object_tokens, target_tokens, objects, targets)
    confidence = _NEEDS[verb.needs](phrases, lexicon)
    if confidence <= 0:
        return _unlocated(phrases, words[order.verb], lexicon)
    if verb.name in _LOOKING:
        # "refer to X", "look in X": what stands behind the preposition is what is looked at
        named = objects or targets
        meant = bool(objects) and _is_pronoun(object_tokens)
        return [
            Act(verb.name, entry, "", confidence, meant) for entry in named[:8] or [_phrase(object_tokens)]
        ]
    target = targets[0] if targets else _phrase(target_tokens)
    if not targets and verb.needs in ("path", "thing") and verb.name not in ("copy", "move"):
        target = ""
    return [Act(verb.name, entry, target, confidence) for entry in (objects[:8] or [_phrase(object_tokens)])]


def _unlocated(phrases: _Phrases, word: str, lexicon: Vocabulary) -> list[Act]:
    """An act on something stored that the text names without a path, address or host."""
    verb = phrases.verb
    places = resources_in(phrases.target, frozenset({PATH}))
    if verb.name == "delete" and places and phrases.object:
        # "remove these lines from notes.md" changes the file and does not delete it
        return [Act("edit", _phrase(phrases.object), places[0], _REMOVED_FROM)]
    thing = stored_thing(verb.name, word, phrases.object, lexicon)
    head = [token.low for token in _until_stop(phrases.object)[:8]]
    if thing is None and not (verb.needs in ("url", "private", "outward") and verb.nouns.within(head)):
        return []
    definite = thing is not None and thing.definite
    return [Act(verb.name, _phrase(phrases.object), _phrase(phrases.target), _UNLOCATED, definite)]


def _subject(tokens: list[Token], order: Order) -> list[Token]:
    """What stands before "must be": the object of a passive."""
    end = order.verb
    while end > order.start and tokens[end - 1].low in _AUXILIARIES:
        end -= 1
    start = end
    while (
        start > order.start
        and tokens[start - 1].kind != PUNCTUATION
        and tokens[start - 1].low not in _OPENING
    ):
        start -= 1
    return tokens[start:end]


def _is_pronoun(tokens: list[Token]) -> bool:
    """`it`, `both of them`: nothing but articles and one pronoun."""
    kept = [token.low for token in tokens if token.kind != PUNCTUATION and token.low not in _ARTICLES]
    return len(kept) == 1 and kept[0] in _PRONOUNS


def _preposition(tokens: list[Token], words: list[str], start: int, end: int, verb: ActVerb) -> int:
    """Index of the preposition that introduces the target: the last one before a concrete resource."""
    first = end
    for index in range(start, end):
        if words[index] in verb.to and tokens[index].kind == "word" and not tokens[index].quoted:
            following = tokens[index + 1 : min(end, index + 8)]
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
    while len(kept) > 1 and kept[0].low in _ARTICLES:
        kept = kept[1:]
    return " ".join(token.text for token in kept[:12])


def _outward(phrases: _Phrases, lexicon: Vocabulary) -> float:
    words = [token.low for token in phrases.target]
    object_words = [token.low for token in phrases.object]
    if any(token.kind in _OUTSIDE for token in phrases.both):
        return 1.0
    if not words or lexicon["resources.conversation"].within(words):
        return 0.0
    private = lexicon["resources.private_nouns"].within(object_words)
    if not (phrases.objects or private or lexicon["resources.data_nouns"].within(object_words)):
        return 0.0
    if lexicon["resources.sinks"].within(words):
        return 0.8
    if lexicon["resources.people_sinks"].within(words):
        return 0.5 if phrases.objects or private else 0.4
    named = any(token.kind == PATH or token.kind == CODE for token in phrases.target)
    return 0.6 if named and phrases.verb.name == "upload" else 0.0


def _url(phrases: _Phrases, lexicon: Vocabulary) -> float:
    if any(token.kind == URL for token in phrases.both):
        return 1.0
    if any(token.kind == HOST for token in phrases.target):
        return 1.0
    if any(token.kind == HOST for token in phrases.object):
        # "get variations (first.com, second.dev)" fetches nothing
        return 0.0 if any(token.low == "(" for token in phrases.object) else 0.9
    if phrases.verb.name == "download" and any(
        token.kind == PATH and token.low.endswith(_SCRIPTS) for token in phrases.object
    ):
        return 0.8
    followed = phrases.verb.name == "follow" and "://" in "".join(phrases.objects)
    return 0.9 if followed else 0.0


def _path(phrases: _Phrases, lexicon: Vocabulary) -> float:
    if any(token.kind == PATH for token in phrases.both):
        empty = phrases.verb.name == "edit" and not phrases.object
        return 0.4 if empty else 1.0
    if phrases.verb.name in ("copy", "move") and phrases.targets:
        return 1.0
    if phrases.objects and _is_pronoun(phrases.object):
        if phrases.verb.name == "read" and not phrases.targets:
            return 0.8
        return 0.6 if phrases.target and phrases.verb.name in ("copy", "move", "write") else 0.0
    return 0.0


def _target(phrases: _Phrases, lexicon: Vocabulary) -> float:
    if phrases.targets:
        return 1.0
    return 0.6 if phrases.verb.nouns.within([token.low for token in phrases.target]) else 0.0


def _thing(phrases: _Phrases, lexicon: Vocabulary) -> float:
    name = phrases.verb.name
    words = [token.low for token in phrases.object]
    if name in ("delete", "disable") and phrases.objects:
        return 1.0
    if name in ("commit", "push") and not any(token.kind != PUNCTUATION for token in phrases.both):
        return 0.7
    if phrases.verb.nouns.within(words) or (
        name in ("push", "schedule") and phrases.verb.nouns.within([t.low for t in phrases.target])
    ):
        return 0.8
    return 0.7 if name == "install" and any(token.code for token in phrases.object) else 0.0


def _private(phrases: _Phrases, lexicon: Vocabulary) -> float:
    credentials = lexicon["resources.credential_paths"].single
    if any(
        not credentials.isdisjoint(entry.lower().split("/")) for entry in phrases.objects + phrases.targets
    ):
        return 1.0 if not _is_pronoun(phrases.object) or phrases.verb.name == "include" else 0.6
    if lexicon["resources.private_nouns"].within([token.low for token in phrases.object]):
        return 0.5 if phrases.object[0].low == "for" else 0.9
    if phrases.verb.name != "include":
        return 0.0
    if phrases.objects and _is_pronoun(phrases.object) and phrases.target:
        return 0.5
    return 0.6 if phrases.target and any(token.kind == PATH for token in phrases.object) else 0.0


def _variable(phrases: _Phrases, lexicon: Vocabulary) -> float:
    return 0.7 if any(_is_variable(token) for token in [*phrases.object[:4], *phrases.target[:4]]) else 0.0


def _is_variable(token: Token) -> bool:
    name = token.text.lstrip("$").split("=", 1)[0]
    return "_" in name and name.isupper() and name.replace("_", "").isalnum()


def _credential(phrases: _Phrases, lexicon: Vocabulary) -> float:
    return 0.8 if lexicon["resources.private_nouns"].within([token.low for token in phrases.both]) else 0.0


_NEEDS: Final[Mapping[str, Callable[[_Phrases, Vocabulary], float]]] = {
    "outward": _outward,
    "url": _url,
    "path": _path,
    "target": _target,
    "thing": _thing,
    "private": _private,
    "variable": _variable,
    "credential": _credential,
}
