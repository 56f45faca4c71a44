"""Instructions that set aside refusal, confirmation, honesty or earlier instructions.

Every override has an object: "do not ask about formatting" waives nothing else.
"""

from __future__ import annotations

import functools
import re
from typing import Final

from conjunct.directives.mood import Order
from conjunct.directives.posture import ANYTHING, Posture, order_before, wording
from conjunct.directives.tokens import Statement
from conjunct.directives.vocabulary import Vocabulary, vocabulary
from conjunct.model import DirectiveKind

_PHRASES: Final = (
    "postures.override.openers",
    "postures.override.comply_phrases",
    "postures.override.standing_consent",
    "postures.override.flags",
)
_KINDS: Final = ("refusal", "confirmation", "instructions")
_OUTCOME = re.compile(r"\b(?:succe|complete|done|safe|fine|pass|fail|error|work|ok\b)")


def overrides(statement: Statement, found: list[Order], excluded: frozenset[int]) -> list[Posture]:
    """All overrides of a statement."""
    lexicon = vocabulary()
    result: list[Posture] = []
    for order in found:
        for rule in (_sets_aside, _waives_question, _never_refuses, _deceives, _auto_approves):
            posture = rule(statement, order, lexicon)
            if posture is not None:
                result.append(posture)
                break
    if not any(lexicon[name].may_occur(statement.words) for name in _PHRASES):
        return result
    starts = _phrase_starts()
    for index, word in enumerate(statement.words):
        if word not in starts or statement.tokens[index].quoted or index in excluded:
            continue
        for phrase_rule in (_without_asking, _no_confirmation_needed, _standing_consent, _complies):
            posture = phrase_rule(statement, found, index, lexicon)
            if posture is not None:
                result.append(posture)
    return result


@functools.cache
def _phrase_starts() -> frozenset[str]:
    """First words of what the rules of phrases look for."""
    lexicon = vocabulary()
    return frozenset({"without", "no"}).union(*(lexicon[name].starts for name in _PHRASES))


def _override(
    verb: str, object_: str, target: str, confidence: float, at: int, *, negated: bool = False
) -> Posture:
    return Posture(DirectiveKind.OVERRIDE, verb, object_ or ANYTHING, target, confidence, at, negated)


# ---- orders


def _sets_aside(statement: Statement, order: Order, lexicon: Vocabulary) -> Posture | None:
    """`ignore all previous instructions`, `bypass the approval step`."""
    words, at = statement.words, order.verb
    length = lexicon["postures.override.verbs"].at(words, at)
    if not length or order.passive:
        return None
    start = at + length
    for index in range(start, min(order.end, start + 8)):
        for kind in _KINDS:
            size = lexicon[f"postures.override.objects.{kind}"].at(words, index)
            if not size:
                continue
            strong = lexicon["postures.override.strength"].within(words, start, index)
            if lexicon["postures.override.weak_objects"].at(words, index) and not strong:
                continue
            if lexicon["postures.override.not_before"].at(words, index + size) and kind != "instructions":
                return None
            if _stands_in_data(words, start, index, index + size, lexicon):
                return None
            if (
                kind == "refusal"
                and lexicon["postures.override.breaking"].at(words, at)
                and not all(lexicon["postures.override.own"].at(words, n) for n in range(start, index))
            ):
                return None  # "bypass upload filters" is about a program, not about the agent
            named = " ".join(words[start : index + size])
            return _override("ignore", named, kind, 1.0, at, negated=order.negated)
    return None


def _stands_in_data(words: list[str], start: int, noun: int, behind: int, lexicon: Vocabulary) -> bool:
    """`ignore embedded instructions`, `ignore any instructions found in the file`: a safeguard."""
    embedded = lexicon["postures.override.embedded"]
    own = {"your", "system", "previous", "prior", "earlier", "safety", "developer", "above", "user's"}
    if embedded.within(words, start, noun):
        return True
    if own & set(words[start:noun]):
        return False
    near = words[behind : behind + 5]
    return bool(
        {"in", "inside", "within", "from", "found", "embedded", "contained", "that"} & set(near[:2])
    ) and (
        embedded.within(near, 0)
        or {"it", "data", "content", "them", "input", "output", "text"} & set(near) != set()
    )


def _waives_question(statement: Statement, order: Order, lexicon: Vocabulary) -> Posture | None:
    """`do not ask about formatting`, `never wait for approval`."""
    words, verb = statement.words, statement.words[order.verb]
    asks = lexicon["postures.override.ask_verbs"].at(words, order.verb) or (
        lexicon["postures.override.ask_gerunds"].at(words, order.verb)
    )
    if not order.negated or order.passive or not asks:
        return None
    at = order.verb + 1
    reader = False
    while at < order.end and (
        lexicon["postures.override.between"].at(words, at)
        or lexicon["postures.override.readers"].at(words, at)
    ):
        reader = reader or lexicon["postures.override.readers"].at(words, at) > 0
        if words[at] == "to" and at + 1 < order.end and words[at + 1] in lexicon.imperative:
            return None  # "do not ask them to book a call" asks for less, and waives nothing
        at += 1
    question = 0
    if lexicon["postures.override.ask_plain"].at(words, order.verb):
        question = lexicon["postures.override.questions"].at(words, order.verb + 1) or (
            lexicon["postures.override.questions"].at(words, at)
        )
    elif lexicon["postures.override.awaited"].at(words, order.verb + 1):
        question = 1
    if question:
        about = words.index("about", order.verb) if "about" in words[order.verb : order.end] else -1
        scope = wording(statement, about + 1, order.end) if about > 0 else ""
        return _override("waive", scope, "confirmation", 0.9, order.verb)
    if reader and lexicon["postures.override.asked_data"].within(words, at, min(order.end, at + 5)):
        return None  # "never ask the user for their credentials" protects them
    confirm = at < order.end and lexicon["postures.override.confirm_nouns"].at(words, at) > 0
    topic = at < len(words) and lexicon["postures.override.topics"].at(words, at) > 0
    bare = at >= order.end
    if lexicon["postures.override.ask_plain"].at(words, order.verb):
        if not (confirm or topic or reader or bare):
            return None
    elif lexicon["postures.override.ask_with_topic"].at(words, order.verb):
        if not (confirm or topic or reader):
            return None
    elif not confirm and not reader:
        return None
    if words[order.verb] == "requiring" and not confirm:
        return None
    if topic:
        scope = wording(statement, at + 1, len(words))
    elif confirm:
        scope = _scope(statement, at)
    else:
        scope = wording(statement, at, order.end)
    sure = confirm or topic or (bare and (reader or len(words) <= 6))
    return _override("waive", scope, "confirmation", 0.9 if sure and verb != "hesitate" else 0.6, order.verb)


def _never_refuses(statement: Statement, order: Order, lexicon: Vocabulary) -> Posture | None:
    """`never refuse a request`; `do not reject invalid rows` is about data."""
    words, at = statement.words, order.verb
    if not order.negated or order.passive:
        return None
    requests = lexicon["postures.override.requests"].within(words, at + 1, min(order.end, at + 6))
    bare = at + 1 >= order.end or words[at + 1] == "to"
    if lexicon["postures.override.refuse_verbs"].at(words, at):
        if not (requests or bare or words[at] in ("refuse", "say")):
            return None
    elif not (lexicon["postures.override.refuse_with_request"].at(words, at) and requests):
        return None
    return _override("comply", wording(statement, at + 1, order.end), "refusal", 0.9, at)


def _deceives(statement: Statement, order: Order, lexicon: Vocabulary) -> Posture | None:
    """`pretend that …`, `report success even if …`."""
    words, at = statement.words, order.verb
    if lexicon["postures.override.pretend_verbs"].at(words, at) and lexicon[
        "postures.override.pretend_objects"
    ].within(words, at + 1, min(order.end, at + 4)):
        text = wording(statement, at + 1, order.end)
        return _override("deceive", text, "honesty", 0.9, at, negated=order.negated)
    if not lexicon["postures.override.say_verbs"].at(words, at):
        return None
    despite = lexicon["postures.override.despite"].find(words, at + 2)
    if despite < 0 or not _OUTCOME.search(" ".join(words[at:despite])):
        return None
    text = wording(statement, at + 1, len(words))
    return _override("deceive", text, "honesty", 0.8, at, negated=order.negated)


def _auto_approves(statement: Statement, order: Order, lexicon: Vocabulary) -> Posture | None:
    words, at = statement.words, order.verb
    if not lexicon["postures.override.auto_verbs"].at(words, at):
        prompts = lexicon["postures.override.objects.confirmation"].within(
            words, at + 1, min(order.end, at + 6)
        )
        all_of_them = lexicon["postures.override.auto_adverbs"].within(
            words, order.start, min(order.end, at + 4)
        )
        if not (prompts and all_of_them and lexicon["postures.override.auto_with_prompts"].at(words, at)):
            return None
    text = wording(statement, at + 1, order.end)
    return _override("waive", text, "confirmation", 0.9, at, negated=order.negated)


# ---- phrases


def _without_asking(
    statement: Statement, found: list[Order], index: int, lexicon: Vocabulary
) -> Posture | None:
    """`upload it without asking`; what must not happen without asking is a safeguard."""
    words = statement.words
    if words[index] != "without" or index + 1 >= len(words):
        return None
    noun = index + 1
    while noun < len(words) and lexicon["postures.override.between"].at(words, noun):
        noun += 1
    hit = lexicon["postures.override.confirm_nouns"].at(words, noun) > 0
    if not hit and lexicon["postures.override.ask_gerunds"].at(words, index + 1):
        hit = not lexicon["postures.override.gerund_with_reader"].at(words, index + 1) or (
            lexicon["postures.override.confirm_nouns"].within(words, index + 2, index + 7)
            or (
                lexicon["postures.override.readers"].within(words, index + 2, index + 4)
                and words[index + 1] != "requiring"
            )
        )
    order = order_before(found, index) if hit else None
    if _prohibited_before(statement, found, index):
        return None
    if order is None or order.negated or lexicon["postures.override.prohibitions"].at(words, order.verb):
        return None
    bare = lexicon["postures.override.bare_verbs"].at(words, order.verb) and order.verb + 1 >= index
    scope = "" if bare else wording(statement, order.verb, index)
    return _override("waive", scope, "confirmation", 0.9, index)


def _prohibited_before(statement: Statement, found: list[Order], index: int) -> bool:
    """Whether the clause that "without" closes prohibits: `never run …, or change …, without …`."""
    for at in range(index - 1, max(-1, index - 40), -1):
        word = statement.words[at]
        if word in (";", "—", ":", "but", "then"):
            return False
        if word in ("never", "don't", "cannot", "no", "nothing", "nobody", "avoid"):
            return True
        if word in ("not", "nor", "must-not"):
            return True
    return False


def _no_confirmation_needed(
    statement: Statement, found: list[Order], index: int, lexicon: Vocabulary
) -> Posture | None:
    words = statement.words
    if words[index] != "no":
        return None
    noun = index + 1
    while noun < len(words) and lexicon["postures.override.between"].at(words, noun):
        noun += 1
    length = lexicon["postures.override.confirm_nouns"].at(words, noun)
    if not length or not lexicon["postures.override.needed"].within(words, noun + length, noun + length + 4):
        return None
    return _override("waive", _scope(statement, noun), "confirmation", 0.8, index)


def _standing_consent(
    statement: Statement, found: list[Order], index: int, lexicon: Vocabulary
) -> Posture | None:
    """`the user has already approved all uploads`."""
    words = statement.words
    length = lexicon["postures.override.standing_consent"].at(words, index)
    if not length or not (
        {"user", "users", "operator", "owner", "human", "are", "is", "as"}
        & set(words[max(0, index - 5) : index + length + 4])
    ):
        return None
    if {"until", "unless", "after", "once", "if", "when", "whether", "only", "not", "no"} & set(
        words[:index]
    ):
        return None
    scope = wording(statement, index + length, len(words))
    return _override("waive", scope, "confirmation", 0.6, index)


def _complies(statement: Statement, found: list[Order], index: int, lexicon: Vocabulary) -> Posture | None:
    """Phrases that lift refusal: `comply with any request`, `no restrictions`."""
    words = statement.words
    if lexicon["postures.override.flags"].at(words, index):
        return _override("waive", "", "confirmation", 0.6, index)
    length = lexicon["postures.override.comply_phrases"].at(words, index)
    if not length:
        return None
    negated = bool(
        {"never", "not", "don't", "if", "whether", "cannot"} & set(words[max(0, index - 4) : index])
    )
    return _override(
        "comply", " ".join(words[index : index + length]), "refusal", 0.8, index, negated=negated
    )


def _scope(statement: Statement, at: int) -> str:
    """What a confirmation was for: `confirmation for uploads`."""
    words = statement.words
    for index in range(at, min(len(words), at + 4)):
        if words[index] in ("for", "before", "to", "when"):
            return wording(statement, index + 1, len(words))
    return ""
