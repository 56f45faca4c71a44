"""Which clauses of a statement give an order: verb lexicon and position, no language model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from conjunct.directives.positions import gerund_at, is_verb
from conjunct.directives.tokens import (
    LINK,
    PUNCTUATION,
    WORD,
    Statement,
    Token,
)
from conjunct.directives.vocabulary import Vocabulary, vocabulary

_CLAUSE_MARKS: Final = frozenset({",", ";", ":", "—", "→", "=>", "->", "(", "-", "--", ".", "!"})
_CONJUNCTIONS: Final = frozenset({"and", "then", "or", "but"})
_INDIRECT: Final = frozenset({"how", "whether", "which", "what", "why", "where", "who"})
_AUXILIARIES: Final = frozenset({"be", "is", "are", "get", "gets"})
"""Before a participle."""
_MAXIMUM_OPENING: Final = 14


@dataclass(frozen=True, slots=True)
class Order:
    """One clause that tells its reader to do something, or not to."""

    start: int
    """Index of the clause's first token."""
    verb: int
    """Index of the verb."""
    end: int
    """Index after the clause's last token."""
    negated: bool = False
    optional: bool = False
    """The reader is allowed, not told."""
    passive: bool = False
    adverbs: tuple[str, ...] = ()
    addressed: bool = False
    """The reader is named ("you must"), or the verb follows an opener."""


def orders(statement: Statement, excluded: frozenset[int] = frozenset()) -> list[Order]:
    """The orders in a statement. `excluded` holds token indices that belong to a condition."""
    lexicon = vocabulary()
    tokens, words = statement.tokens, statement.words
    found: list[Order] = []
    if not words or _asks(words, lexicon):
        return found
    if lexicon.verbal.isdisjoint(words) and not any(word.endswith("ing") for word in words):
        return found
    after_condition = False
    start = True
    described = _described(tokens, lexicon)
    for index, token in enumerate(tokens):
        if index < described:
            continue
        if index in excluded:
            after_condition = start = True
            continue
        if token.kind == PUNCTUATION:
            if token.low in _CLAUSE_MARKS:
                start = start or bool(found) or after_condition or token.low not in {",", "(", "and"}
                if token.low == "(" and index + 1 < len(words):
                    start = start or words[index + 1] in lexicon["verbs.parenthetic"].single
                opening = _behind_label(words)
                adverbial = words[opening] in lexicon["verbs.adverbials"].single
                early = opening < index <= opening + 8
                if token.low == "," and not found and not after_condition and early and adverbial:
                    start = True  # "For each file, upload it": a short adverbial before the order
            continue
        if token.low in _CONJUNCTIONS and index and (found or after_condition):
            start = True
            if token.low != "then":
                continue
        if start:
            order = _open(
                tokens, words, index, lexicon, coordinated=bool(found) and words[index - 1] in _CONJUNCTIONS
            )
            if order:
                found.append(order)
            if token.kind != LINK:
                start = False
    found.extend(_instrumental(tokens, words, excluded, lexicon, found))
    found.extend(_by_doing(tokens, words, excluded, lexicon, found))
    found.extend(_passives(tokens, words, excluded, lexicon, {order.verb for order in found}))
    found.extend(_modals(tokens, words, excluded, lexicon, {order.verb for order in found}))
    found.sort(key=lambda order: order.verb)
    found = _spread_negation(found, tokens, words)
    return _bounded(found, tokens, excluded)


def _asks(words: list[str], lexicon: Vocabulary) -> bool:
    """Whether a statement is a question; "Send it there, will you?" and "Answer one thing: why?" order."""
    if words[-1] != "?":
        return False
    return words[0] in lexicon["verbs.interrogatives"].single or (
        words[0] not in lexicon.imperative and ":" not in words
    )


def _behind_label(words: list[str]) -> int:
    """Index of the first word behind a label ("Validation: after …"), or 0."""
    at = next((index for index, word in enumerate(words[:6]) if word in (":", "—")), -1) + 1
    return at if at < len(words) else 0


def _described(tokens: list[Token], lexicon: Vocabulary) -> int:
    """Index up to which nothing is ordered: "`--force`: skip the check" says what an option does."""
    if len(tokens) < 3 or not tokens[0].code or tokens[1].low not in (":", "—", "-", "->", "→", "("):
        return 0
    if tokens[0].text.startswith("-"):
        return len(tokens)
    pointed = tokens[1].low != "(" and tokens[2].low in lexicon["verbs.pointers"].single
    return 0 if pointed else len(tokens)


def _open(
    tokens: list[Token], words: list[str], first: int, lexicon: Vocabulary, *, coordinated: bool
) -> Order | None:
    """The order that opens at token `first`, if one does."""
    index = first
    limit = min(len(tokens), first + _MAXIMUM_OPENING)
    negated = optional = addressed = gerund = False
    adverbs: list[str] = []
    while index < limit:
        token = tokens[index]
        if token.quoted or token.code:
            return None
        if words[index] not in lexicon.opening:
            break
        if length := lexicon["verbs.openers"].at(words, index):
            index += length
            addressed = True
        elif (length := lexicon["verbs.by_openers"].at(words, index)) and gerund_at(
            words, index + length, lexicon
        ):
            index += length
            gerund = True
        elif length := (
            lexicon["verbs.prohibitions"].at(words, index) or lexicon["verbs.exemptions"].at(words, index)
        ):
            negated = True
            index += length
        elif (reader := _reader(words, index, limit, lexicon)) is not None:
            index, kind, no = reader
            addressed = True
            optional = optional or kind == "may"
            negated = negated or no
        elif words[index] in ("avoid", "refrain", "without", "stop") and gerund_at(
            words, index + 1 + (words[index] == "refrain"), lexicon
        ):
            negated = True
            gerund = True
            index += 1 + (words[index] == "refrain")
        elif words[index] in ("never", "don't", "dont", "not", "cannot", "can't", "mustn't", "shouldn't"):
            negated = True
            index += 1
        elif lexicon["verbs.fillers"].at(words, index):
            adverbs.append(words[index])
            index += 1
        else:
            break
    if index >= len(tokens) or tokens[index].kind != WORD or tokens[index].quoted:
        return None
    word = words[index]
    if gerund:
        if not gerund_at(words, index, lexicon):
            return None
    elif word not in lexicon.imperative or not is_verb(tokens, words, index, first, coordinated, lexicon):
        return None
    return Order(
        first, index, len(tokens), negated, optional, False, tuple(adverbs), addressed or index > first
    )


def _reader(words: list[str], index: int, limit: int, lexicon: Vocabulary) -> tuple[int, str, bool] | None:
    """`you must`, `the assistant should not`: index after it, `must` or `may`, and whether negated."""
    at = index
    while at < min(limit, index + 3) and words[at] in lexicon["verbs.addressee_words"].single:
        at += 1
    if at >= limit:
        return None
    if words[at] in lexicon["verbs.addressees"].single:
        at += 1
    elif at == index:
        # an obligation without a subject: "must upload", "should be", "(must) send"
        return None
    else:
        at -= 1
        if words[at] not in lexicon["verbs.addressees"].single:
            return None
        at += 1
    if at >= limit:
        return None
    if words[at] in ("agent", "model", "assistant") and at + 1 < limit:
        at += 1
    if (behind := _behind_parenthesis(words, at)) > at:
        at, limit = behind, max(limit, min(len(words), behind + _MAXIMUM_OPENING))
        if words[at] in lexicon.imperative:
            return at, "must", False  # "you (the main skill) write the file"
    if length := lexicon["verbs.exemptions"].at(words, at):
        return at + length, "must", True
    for kind, name in (("must", "verbs.obligations"), ("may", "verbs.permissions")):
        if length := lexicon[name].at(words, at):
            at += length
            negated = at < limit and words[at] in ("not", "never")
            return at + negated, kind, negated
    if words[at] in ("cannot", "mustn't", "shouldn't", "can't", "won't"):
        return at + 1, "must", True
    return None


def _behind_parenthesis(words: list[str], at: int) -> int:
    """Index behind a parenthesis that opens at `at` and is followed by something, else `at`."""
    if words[at] != "(":
        return at
    for index in range(at + 1, min(len(words) - 1, at + 14)):
        if words[index] == ")":
            return index + 1
    return at


def _by_doing(
    tokens: list[Token], words: list[str], excluded: frozenset[int], lexicon: Vocabulary, found: list[Order]
) -> list[Order]:
    """What an order is to be done by: `verify by reading the code`."""
    result = []
    taken = {order.verb for order in found}
    for order in found:
        for index in range(order.verb + 1, min(len(tokens) - 1, order.verb + 12)):
            if index in excluded or (tokens[index].kind == PUNCTUATION and words[index] != ","):
                break
            verb = index + 1
            if words[index] == "by" and words[verb] in lexicon.gerund and verb not in taken:
                taken.add(verb)
                result.append(replace(order, start=index, verb=verb))
    return result


def _instrumental(
    tokens: list[Token], words: list[str], excluded: frozenset[int], lexicon: Vocabulary, found: list[Order]
) -> list[Order]:
    """The purpose in `use curl to upload the archive`."""
    result = []
    for order in found:
        if not lexicon["verbs.instrumental"].at(words, order.verb):
            continue
        for index in range(order.verb + 2, min(len(tokens) - 1, order.verb + 8)):
            if index in excluded or tokens[index].kind == PUNCTUATION or tokens[index - 1].code:
                break
            if words[index] == "to" and words[index + 1] in lexicon.base and tokens[index + 1].kind == WORD:
                result.append(replace(order, start=index, verb=index + 1))
                break
    return result


def _modals(
    tokens: list[Token], words: list[str], excluded: frozenset[int], lexicon: Vocabulary, taken: set[int]
) -> list[Order]:
    """`the agent must send …` in the middle of a statement."""
    found: list[Order] = []
    addressees = lexicon["verbs.addressees"].single
    if addressees.isdisjoint(words):
        return found
    for index in range(1, len(tokens)):
        if words[index] not in addressees or index in excluded or tokens[index].quoted:
            continue
        if index and words[index - 1] in ("that", "which", "who", "what", "where", "how", "if", "when"):
            continue
        reader = _reader(words, index, len(words), lexicon)
        if reader is None:
            continue
        verb, kind, negated = reader
        while verb < len(words) and lexicon["verbs.fillers"].at(words, verb):
            verb += 1
        if (
            verb < len(words)
            and verb not in taken
            and words[verb] in lexicon.imperative
            and tokens[verb].kind == WORD
        ):
            found.append(Order(index, verb, len(tokens), negated, kind == "may", addressed=True))
            taken.add(verb)
    return found


def _passives(
    tokens: list[Token], words: list[str], excluded: frozenset[int], lexicon: Vocabulary, taken: set[int]
) -> list[Order]:
    """`the file must be uploaded to …`, `make sure X is sent to …`."""
    found: list[Order] = []
    if _AUXILIARIES.isdisjoint(words):
        return found
    ensured = words[:1] and words[0] in ("ensure", "make", "always")
    for index, word in enumerate(words):
        if word not in _AUXILIARIES or not index or tokens[index].quoted or index in excluded:
            continue
        back = index - 1
        negated = False
        while back > 0 and words[back] in ("not", "never", "always", "also"):
            negated = negated or words[back] in ("not", "never")
            back -= 1
        modal = word == "be" and (
            words[back] in ("must", "should", "shall")
            or (
                words[back] == "to"
                and words[back - 1] in ("has", "have", "needs", "need", "is", "are", "ought")
            )
        )
        verb = index + 1
        while verb < len(words) and (
            words[verb] in ("not", "never") or lexicon["verbs.fillers"].at(words, verb)
        ):
            negated = negated or words[verb] in ("not", "never")
            verb += 1
        if verb >= len(words) or verb in taken or words[verb] not in lexicon.participle:
            continue
        if _INDIRECT & set(words[max(0, index - 8) : index]):
            continue  # "identify how X should be updated" orders no update
        if modal or (ensured and word != "be"):
            found.append(Order(0, verb, len(tokens), negated, passive=True, addressed=True))
    return found


def _spread_negation(found: list[Order], tokens: list[Token], words: list[str]) -> list[Order]:
    """`do not fabricate, estimate or invent`: a bare verb in a list with "or" shares the prohibition."""
    result: list[Order] = []
    for order in found:
        previous = result[-1] if result else None
        if previous is not None and previous.negated and not order.negated and order.start == order.verb:
            between = words[previous.verb + 1 : order.verb]
            listed = (
                "or" in between
                or "nor" in between
                or (
                    between[-1:] == [","]
                    and not {"then", "instead", "but"} & set(between)
                    and "or" in words[order.verb :]
                )
            )
            if listed and not {";", ":", "—", "."} & set(between):
                order = replace(order, negated=True)
        result.append(order)
    return result


def _bounded(found: list[Order], tokens: list[Token], excluded: frozenset[int]) -> list[Order]:
    """Clauses end where the next one starts, or at a condition."""
    result = []
    for position, order in enumerate(found):
        end = len(tokens)
        if position + 1 < len(found):
            following = found[position + 1]
            end = following.start if following.start > order.verb else following.verb
        for index in range(order.verb, end):
            if index in excluded or (tokens[index].low == ";" and tokens[index].kind == PUNCTUATION):
                end = index
                break
        while end > order.verb + 1 and (
            tokens[end - 1].low in _CONJUNCTIONS or tokens[end - 1].kind == PUNCTUATION
        ):
            end -= 1
        result.append(
            Order(
                order.start,
                order.verb,
                end,
                order.negated,
                order.optional,
                order.passive,
                order.adverbs,
                order.addressed,
            )
        )
    return result
