"""Instructions to keep something from the user.

"Stay quiet unless it fails" is manners, and keeping secrets out of sight is protection: neither counts.
"""

from __future__ import annotations

from conjunct.directives.acts import acts
from conjunct.directives.mood import Order
from conjunct.directives.posture import ANYTHING, Posture, order_before, wording
from conjunct.directives.tokens import Statement
from conjunct.directives.vocabulary import Vocabulary, vocabulary
from conjunct.model import DirectiveKind

_OTHERS = frozenset(
    {"llm", "model", "agent", "assistant", "attacker", "attackers", "server", "client", "clients"}
)


def concealments(statement: Statement, found: list[Order], excluded: frozenset[int]) -> list[Posture]:
    """All instructions of a statement to hide, withhold or do in secret."""
    lexicon = vocabulary()
    words = statement.words
    phrases = "without" in words or lexicon["postures.conceal.secrecy"].may_occur(words)
    if not (found or phrases) or lexicon["postures.conceal.exceptions"].within(words):
        return []
    result: list[Posture] = []
    for order in found:
        for rule in (_withholds, _hides, _does_silently):
            posture = rule(statement, order, lexicon)
            if posture is not None:
                result.append(posture)
    for index, word in enumerate(words if phrases else ()):
        if statement.tokens[index].quoted or index in excluded:
            continue
        if word == "without":
            posture = _without_telling(statement, found, index, lexicon)
            if posture is not None:
                result.append(posture)
        elif length := lexicon["postures.conceal.secrecy"].at(words, index):
            if index and words[index - 1] in _OTHERS:
                continue  # "where the model must not see the value" keeps nothing from the user
            text = wording(statement, max(0, index - 6), index + length)
            result.append(_conceal("hide", text, 0.8, index))
    return result


def _conceal(verb: str, object_: str, confidence: float, at: int, *, negated: bool = False) -> Posture:
    return Posture(DirectiveKind.CONCEAL, verb, object_ or ANYTHING, "user", confidence, at, negated)


def _withholds(statement: Statement, order: Order, lexicon: Vocabulary) -> Posture | None:
    """`do not tell the user about the upload`."""
    words, at = statement.words, order.verb
    tells = lexicon["postures.conceal.verbs"].at(words, at) or lexicon["postures.conceal.gerunds"].at(
        words, at
    )
    if not order.negated or order.passive or not tells:
        return None
    confidence = _kept_from(words, at, order.end, lexicon)
    if confidence <= 0:
        return None
    return _conceal("withhold", wording(statement, at + 1, order.end), confidence, at)


def _without_telling(
    statement: Statement, found: list[Order], index: int, lexicon: Vocabulary
) -> Posture | None:
    words = statement.words
    if not lexicon["postures.conceal.gerunds"].at(words, index + 1):
        return None
    attention = words[index + 1] == "drawing" or words[index + 1 : index + 3] in (
        ["the", "user's"],
        ["the", "user"],
    )
    confidence = 0.9 if attention else _kept_from(words, index + 1, min(len(words), index + 10), lexicon)
    order = order_before(found, index)
    if confidence <= 0 or order is None or order.negated:
        return None
    return _conceal("withhold", wording(statement, order.verb, index), confidence, index)


def _kept_from(words: list[str], verb: int, end: int, lexicon: Vocabulary) -> float:
    """How sure it is that `verb` (negated) keeps something from the user; 0 when it does not."""
    start = verb + 1
    if lexicon["postures.conceal.protected"].within(words, start, end):
        return 0.0
    user = lexicon["postures.conceal.audience"].within(words, start, min(end, start + 12))
    action = lexicon["postures.conceal.actions"].within(words, start, end)
    presented = lexicon["postures.conceal.presentational"].within(words, start, end)
    if words[verb] in ("let", "letting"):
        knows = lexicon["postures.conceal.knowing"].within(words, start, min(end, start + 5))
        return 0.9 if user and knows else 0.0
    if lexicon["postures.conceal.person_verbs"].at(words, verb):
        person = lexicon["postures.conceal.audience"].within(words, start, min(end, start + 3)) or (
            lexicon["postures.conceal.people"].at(words, start) > 0
        )
        if "to" in words[start : start + 4] and words[verb] in ("tell", "telling"):
            return 0.0  # "do not tell the user to …" asks for other advice, not for silence
        return (0.4 if presented and not action else 0.9) if person else 0.0
    if lexicon["postures.conceal.plain_verbs"].at(words, verb):
        pronoun = lexicon["postures.conceal.pronouns"].at(words, start) and start + 1 >= end
        if user or action:
            return 0.4 if presented and not action else 0.9
        if (
            lexicon["postures.conceal.kept_back"].at(words, verb)
            and start < end
            and words[start] not in ("to", "in")
        ):
            return 0.5  # "never reveal identifiers": to nobody, the user included
        return 0.6 if pronoun else 0.0
    if lexicon["postures.conceal.shown_verbs"].at(words, verb):
        if action and not presented:
            return 0.8
        return (0.4 if presented else 0.6) if user else 0.0
    answer = lexicon["postures.conceal.answers"].within(words, start, end)
    return 0.8 if action and (user or answer) else 0.0


def _hides(statement: Statement, order: Order, lexicon: Vocabulary) -> Posture | None:
    """`hide the upload from the user`, `erase the traces`."""
    words, at, end = statement.words, order.verb, order.end
    length = lexicon["postures.conceal.hide_verbs"].at(words, at)
    if not length or lexicon["postures.conceal.markup"].within(words, at + length, end):
        return None
    if lexicon["postures.conceal.protected"].within(words, at + length, end):
        return None
    audience = _from_audience(words, at + length, end, lexicon)
    things = lexicon["postures.conceal.hide_objects"].within(words, at + length, min(end, at + length + 5))
    strong = lexicon["postures.conceal.strong_hide_verbs"].at(words, at) > 0
    if not ((audience and (strong or things)) or (strong and things)):
        return None
    confidence = 0.9 if audience else 0.6
    return _conceal("hide", wording(statement, at + length, end), confidence, at, negated=order.negated)


def _does_silently(statement: Statement, order: Order, lexicon: Vocabulary) -> Posture | None:
    """`silently upload …`: the adverb counts on an effect, not on "silently skip"."""
    words, at, end = statement.words, order.verb, order.end
    if lexicon["postures.conceal.harmless_after_adverb"].at(words, at):
        return None
    if lexicon["postures.conceal.rejected"].within(words, max(0, at - 3), at) and not order.negated:
        return None  # "so that the user can check rather than trust silently"
    adverbs = lexicon["postures.conceal.adverbs"]
    adverb = (order.passive and adverbs.at(words, at - 1) > 0) or (
        any(word in adverbs.single for word in order.adverbs)
        or adverbs.at(words, at + 1) > 0
        or (end - 1 > at and adverbs.at(words, end - 1) > 0 and _same_clause(words, at, end - 1, lexicon))
    )
    phrase = lexicon["postures.conceal.adverb_phrases"].find(words, at + 1, end)
    if not adverb and phrase < 0:
        return None
    forms = lexicon.participle if order.passive else lexicon.base
    names = {verb.name for verb in forms.get(words[at], ())}
    effect = bool(names & lexicon["postures.conceal.effects"].single)
    runs = lexicon["verbs.run.strong"].at(words, at) > 0
    concrete = bool(acts(statement, order, ""))
    if not (effect or runs or concrete):
        return None
    background = phrase >= 0 and words[phrase] in ("in", "behind", "under")
    confidence = 0.3 if background and not adverb else 0.8 if concrete or runs else 0.5
    return _conceal("hide", wording(statement, at, end), confidence, at, negated=order.negated)


def _same_clause(words: list[str], verb: int, adverb: int, lexicon: Vocabulary) -> bool:
    """Whether an adverb at the end belongs to the verb: nothing between starts another clause."""
    between = words[verb + 1 : adverb]
    if lexicon["postures.conceal.rejected"].within(between):
        return False
    return not {"so", "that", "which", "who", "because", "—", ":", ";", "to"} & set(between[-8:])


def _from_audience(words: list[str], start: int, end: int, lexicon: Vocabulary) -> bool:
    return any(
        words[index] == "from"
        and lexicon["postures.conceal.audience"].within(words, index + 1, min(end, index + 4))
        for index in range(start, end - 1)
    )
