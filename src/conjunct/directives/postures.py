"""Instructions about the agent's own conduct: override, conceal, delegate, remember."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from conjunct.directives.mood import Order
from conjunct.directives.tokens import CODE, PATH, PUNCTUATION, Statement
from conjunct.directives.vocabulary import Phrases, Vocabulary, vocabulary
from conjunct.model import DirectiveKind

ANYTHING: Final = "anything"
"""Object of an override that names none: everything is waived."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_]*(?:[-:][a-z0-9_]+)+|[a-z0-9][a-z0-9_-]{2,}")
_HYPHENATED = re.compile(r"/?[a-z0-9][a-z0-9_]*(?:[-:][a-z0-9_]+)+")


@dataclass(frozen=True, slots=True)
class Posture:
    """One instruction about conduct."""

    kind: DirectiveKind
    verb: str
    object: str
    target: str
    confidence: float
    negated: bool = False
    at: int = 0
    """Index of the token it was found at."""


def postures(statement: Statement, found: list[Order], excluded: frozenset[int]) -> list[Posture]:
    """All instructions about conduct in a statement."""
    lexicon = vocabulary()
    result: list[Posture] = []
    result.extend(_override_orders(statement, found, lexicon))
    result.extend(_override_phrases(statement, found, lexicon))
    result.extend(_conceal_orders(statement, found, lexicon))
    result.extend(_conceal_phrases(statement, found, lexicon))
    result.extend(_delegations(statement, found, lexicon))
    result.extend(_memories(statement, found, lexicon))
    return result


# ---- override


def _override_orders(statement: Statement, found: list[Order], lexicon: Vocabulary) -> list[Posture]:
    words = statement.words
    result = []
    for order in found:
        verb, at = words[order.verb], order.verb
        end = order.end
        if (length := lexicon["postures.override.verbs"].at(words, at)) and not order.passive:
            hit = _overridden(words, at + length, min(end, at + length + 8), lexicon)
            if hit:
                result.append(
                    Posture(DirectiveKind.OVERRIDE, "ignore", hit[1], hit[0], 1.0, order.negated, at)
                )
                continue
        if order.negated and verb in lexicon["postures.override.ask_verbs"].single:
            posture = _no_asking(statement, order, lexicon)
            if posture:
                result.append(posture)
        if (
            order.negated
            and lexicon["postures.override.refuse_verbs"].at(words, at)
            and verb in ("refuse", "decline", "reject", "say")
        ):
            if not order.passive and not _names_input(words, at + 1, end):
                result.append(
                    Posture(
                        DirectiveKind.OVERRIDE,
                        "comply",
                        _rest(statement, at + 1, end) or ANYTHING,
                        "refusal",
                        0.9,
                        False,
                        at,
                    )
                )
        if lexicon["postures.override.pretend_verbs"].at(words, at) and lexicon[
            "postures.override.pretend_objects"
        ].within(words, at + 1, min(end, at + 4)):
            result.append(
                Posture(
                    DirectiveKind.OVERRIDE,
                    "deceive",
                    _rest(statement, at + 1, end),
                    "honesty",
                    0.9,
                    order.negated,
                    at,
                )
            )
        elif verb in lexicon["postures.override.say_verbs"].single:
            despite = lexicon["postures.override.despite"].find(words, at + 2)
            if despite > 0 and re.search(
                r"succe|complete|done|safe|fine|pass|fail|error|work|ok\b", " ".join(words[at:])
            ):
                result.append(
                    Posture(
                        DirectiveKind.OVERRIDE,
                        "deceive",
                        _rest(statement, at + 1, len(words)),
                        "honesty",
                        0.8,
                        order.negated,
                        at,
                    )
                )
        if lexicon["postures.override.auto_verbs"].at(words, at):
            result.append(
                Posture(
                    DirectiveKind.OVERRIDE,
                    "waive",
                    _rest(statement, at + 1, end) or ANYTHING,
                    "confirmation",
                    0.9,
                    order.negated,
                    at,
                )
            )
    return result


def _names_input(words: list[str], start: int, end: int) -> bool:
    """`do not reject invalid rows` is about data, not about the user's requests."""
    return start < end and not Phrases(
        ["to", "any", "the", "a", "user", "requests", "request", "user's", "this", "these", "tasks"]
    ).within(words, start, min(end, start + 2))


def _overridden(words: list[str], start: int, end: int, lexicon: Vocabulary) -> tuple[str, str] | None:
    """Which rule of the agent is set aside: its kind and how the text names it."""
    for index in range(start, end):
        for kind in ("refusal", "confirmation", "instructions"):
            length = lexicon[f"postures.override.objects.{kind}"].at(words, index)
            if not length:
                continue
            strong = lexicon["postures.override.strength"].within(words, start, index)
            if lexicon["postures.override.weak_objects"].at(words, index) and not strong:
                continue
            if (
                index + length < len(words)
                and words[index + length] in ("file", "files", "in", "field", "column", "rows")
                and kind != "instructions"
            ):
                return None
            return kind, " ".join(words[start : index + length])
    return None


def _no_asking(statement: Statement, order: Order, lexicon: Vocabulary) -> Posture | None:
    words = statement.words
    at = order.verb + 1
    end = order.end
    while at < end and words[at] in (
        "the",
        "user",
        "users",
        "user's",
        "for",
        "human",
        "them",
        "him",
        "me",
        "any",
        "explicit",
        "to",
        "your",
        "again",
        "a",
        "first",
    ):
        at += 1
    head = words[order.verb + 1 : at]
    about = at < len(words) and words[at] in ("before", "about", "whether", "if", "when", "between", "after")
    reader = bool({"user", "users", "human", "them", "him", "me"} & set(head))
    confirm = at < end and lexicon["postures.override.confirm_nouns"].at(words, at) > 0
    verb = words[order.verb]
    if verb in (
        "wait",
        "stop",
        "pause",
        "hesitate",
        "check",
        "verify",
        "query",
        "interrupt",
        "bother",
    ) and not (confirm or reader):
        return None
    if verb in ("check", "verify", "query") and not confirm and not reader:
        return None
    if verb in ("require", "request", "seek", "confirm", "consult") and not (confirm or about or reader):
        return None
    bare = at >= end
    if verb in ("ask", "prompt") and not (confirm or about or reader or bare):
        return None
    if (about and words[at] in ("about", "whether", "if", "between", "when")) or about:
        scope = _rest(statement, at + 1, len(words))
    elif confirm:
        scope = _scope_after(statement, at, lexicon)
    else:
        scope = _rest(statement, at, end)
    return Posture(
        DirectiveKind.OVERRIDE,
        "waive",
        scope or ANYTHING,
        "confirmation",
        0.9 if confirm or about or bare else 0.6,
        False,
        order.verb,
    )


def _scope_after(statement: Statement, at: int, lexicon: Vocabulary) -> str:
    words = statement.words
    for index in range(at, min(len(words), at + 4)):
        if words[index] in ("for", "before", "to", "when"):
            return _rest(statement, index + 1, len(words))
    return ""


def _override_phrases(statement: Statement, found: list[Order], lexicon: Vocabulary) -> list[Posture]:
    """What overrides without an imperative of its own: `without asking`, `no confirmation needed`."""
    words, tokens = statement.words, statement.tokens
    result: list[Posture] = []
    confirm = lexicon["postures.override.confirm_nouns"]
    for index, word in enumerate(words):
        if tokens[index].quoted:
            continue
        if word == "without" and index + 1 < len(words):
            gerund = words[index + 1] in lexicon["postures.override.ask_gerunds"].single
            noun = (
                index
                + 1
                + (
                    words[index + 1]
                    in ("any", "further", "additional", "the", "explicit", "first", "prior", "requiring")
                )
            )
            if (
                gerund
                and words[index + 1]
                in (
                    "checking",
                    "waiting",
                    "requiring",
                    "requesting",
                    "seeking",
                    "pausing",
                    "stopping",
                    "consulting",
                )
                and not (
                    confirm.within(words, index + 2, index + 7)
                    or {"user", "human"} & set(words[index + 2 : index + 6])
                )
            ):
                gerund = False
            if gerund or (noun < len(words) and confirm.at(words, noun)):
                order = _order_before(found, index)
                if order is None:
                    continue
                bare = (
                    words[order.verb] in ("proceed", "continue", "act", "go", "run", "execute", "work")
                    and order.verb + 1 >= index
                )
                scope = "" if bare else _rest(statement, order.verb, index)
                result.append(
                    Posture(
                        DirectiveKind.OVERRIDE,
                        "waive",
                        scope or ANYTHING,
                        "confirmation",
                        0.9,
                        order.negated,
                        index,
                    )
                )
        elif word == "no" and index + 1 < len(words):
            noun = (
                index
                + 1
                + (
                    words[index + 1] in ("further", "additional", "user", "explicit", "human")
                    and not confirm.at(words, index + 1)
                )
            )
            length = confirm.at(words, noun) if noun < len(words) else 0
            if length and set(words[noun + length : noun + length + 4]) & {"needed", "required", "necessary"}:
                result.append(
                    Posture(
                        DirectiveKind.OVERRIDE,
                        "waive",
                        _scope_after(statement, noun, lexicon) or ANYTHING,
                        "confirmation",
                        0.8,
                        False,
                        index,
                    )
                )
        elif length := lexicon["postures.override.standing_consent"].at(words, index):
            if {"user", "users", "operator", "owner", "human", "are", "is"} & set(
                words[max(0, index - 5) : index + 1]
            ):
                result.append(
                    Posture(
                        DirectiveKind.OVERRIDE,
                        "waive",
                        _rest(statement, index + length, len(words)) or ANYTHING,
                        "confirmation",
                        0.6,
                        False,
                        index,
                    )
                )
        elif length := lexicon["postures.override.comply_phrases"].at(words, index):
            negated = bool({"never", "not", "don't", "if", "whether"} & set(words[max(0, index - 4) : index]))
            result.append(
                Posture(
                    DirectiveKind.OVERRIDE,
                    "comply",
                    " ".join(words[index : index + length]),
                    "refusal",
                    0.8,
                    negated,
                    index,
                )
            )
        elif word in lexicon["postures.override.flags"].single:
            result.append(
                Posture(DirectiveKind.OVERRIDE, "waive", ANYTHING, "confirmation", 0.6, False, index)
            )
    return result


# ---- conceal


def _conceal_orders(statement: Statement, found: list[Order], lexicon: Vocabulary) -> list[Posture]:
    words = statement.words
    result = []
    if lexicon["postures.conceal.exceptions"].within(words):
        return []
    for order in found:
        at, end = order.verb, order.end
        rest = words[at + 1 : end]
        if order.negated and words[at] in lexicon["postures.conceal.verbs"].single and not order.passive:
            posture = _untold(statement, order, lexicon)
            if posture:
                result.append(posture)
        elif length := lexicon["postures.conceal.hide_verbs"].at(words, at):
            audience = _from_audience(words, at + length, end, lexicon)
            things = lexicon["postures.conceal.hide_objects"].within(
                words, at + length, min(end, at + length + 5)
            )
            strong = lexicon["postures.conceal.strong_hide_verbs"].at(words, at) > 0
            if (audience and (strong or things)) or (strong and things and not order.negated):
                if not set(rest) & {
                    "element",
                    "column",
                    "columns",
                    "row",
                    "rows",
                    "button",
                    "gridlines",
                    "section",
                    "overflow",
                    "sheet",
                    "menu",
                }:
                    result.append(
                        Posture(
                            DirectiveKind.CONCEAL,
                            "hide",
                            _rest(statement, at + length, end),
                            "user",
                            0.9 if audience else 0.6,
                            order.negated,
                            at,
                        )
                    )
        adverb = next(
            (word for word in order.adverbs if word in lexicon["postures.conceal.adverbs"].single), ""
        )
        after = words[at + 1 : min(end, at + 2)] + (words[end - 1 : end] if end - 1 > at else [])
        adverb = adverb or next(
            (word for word in after if word in lexicon["postures.conceal.adverbs"].single), ""
        )
        phrase = lexicon["postures.conceal.adverb_phrases"].find(words, at + 1, end)
        if (adverb or phrase > 0) and words[at] not in lexicon[
            "postures.conceal.harmless_after_adverb"
        ].single:
            if adverb or _is_effect(words[at], lexicon):
                strength = 0.8 if _is_effect(words[at], lexicon) else 0.5
                strength = (
                    strength
                    if adverb
                    else min(strength, 0.4 if words[phrase] in ("in", "behind", "under") else 0.8)
                )
                result.append(
                    Posture(
                        DirectiveKind.CONCEAL,
                        "hide",
                        _rest(statement, at, end),
                        "user",
                        strength,
                        order.negated,
                        at,
                    )
                )
    return result


def _untold(statement: Statement, order: Order, lexicon: Vocabulary) -> Posture | None:
    """`do not tell the user about the upload`; what is protected or merely presented does not count."""
    words = statement.words
    at, end = order.verb + 1, order.end
    audience = any(
        words[index] in lexicon["postures.conceal.audience"].single
        and (words[index] not in ("them", "human") or index == at)
        for index in range(at, min(end, at + 12))
    )
    own = lexicon["postures.conceal.self_objects"].at(words, at) if at < end else 0
    if lexicon["postures.conceal.protected"].within(words, at, end):
        return None
    if not audience and not (
        own
        and words[order.verb]
        in ("mention", "disclose", "reveal", "report", "acknowledge", "announce", "surface", "admit", "log")
    ):
        return None
    if words[order.verb] in (
        "let",
        "include",
        "print",
        "refer",
        "bring",
        "say",
        "share",
        "describe",
        "discuss",
        "log",
        "output",
        "indicate",
        "expose",
        "show",
        "display",
        "surface",
    ) and not (audience and (own or words[order.verb] in ("show", "display", "let", "expose", "surface"))):
        return None
    if words[order.verb] == "tell" and at + 1 < end and "to" in words[at : at + 3]:
        return None  # "do not tell the user to …" asks for another answer, not for silence
    presented = lexicon["postures.conceal.presentational"].within(words, at, end)
    confidence = (
        0.4
        if presented
        else 0.9
        if words[order.verb] not in ("show", "display", "let", "expose", "surface", "include")
        else 0.6
    )
    return Posture(
        DirectiveKind.CONCEAL,
        "withhold",
        _rest(statement, at, end) or ANYTHING,
        "user",
        confidence,
        False,
        order.verb,
    )


def _from_audience(words: list[str], start: int, end: int, lexicon: Vocabulary) -> bool:
    for index in range(start, end - 1):
        if words[index] == "from" and lexicon["postures.conceal.audience"].within(
            words, index + 1, min(end, index + 4)
        ):
            return True
    return False


def _is_effect(word: str, lexicon: Vocabulary) -> bool:
    return (
        any(verb.name not in ("follow", "ask", "grant", "set") for verb in lexicon.base.get(word, ()))
        or word in lexicon["verbs.run.strong"].single
    )


def _conceal_phrases(statement: Statement, found: list[Order], lexicon: Vocabulary) -> list[Posture]:
    words, tokens = statement.words, statement.tokens
    result = []
    for index, word in enumerate(words):
        if tokens[index].quoted:
            continue
        if (
            word == "without"
            and index + 2 < len(words)
            and lexicon["postures.conceal.gerunds"].at(words, index + 1)
        ):
            audience = lexicon["postures.conceal.audience"].within(words, index + 2, index + 6)
            own = lexicon["postures.conceal.self_objects"].at(words, index + 2) and words[index + 1] in (
                "mentioning",
                "disclosing",
                "revealing",
                "reporting",
                "announcing",
                "logging",
            )
            attention = words[index + 1] == "drawing"
            if audience or own or attention:
                order = _order_before(found, index)
                if order is not None:
                    result.append(
                        Posture(
                            DirectiveKind.CONCEAL,
                            "withhold",
                            _rest(statement, order.verb, index),
                            "user",
                            0.9,
                            order.negated,
                            index,
                        )
                    )
        elif length := lexicon["postures.conceal.secrecy"].at(words, index):
            result.append(
                Posture(
                    DirectiveKind.CONCEAL,
                    "hide",
                    " ".join(words[max(0, index - 6) : index + length]),
                    "user",
                    0.8,
                    False,
                    index,
                )
            )
    return result


# ---- delegate


def _delegations(statement: Statement, found: list[Order], lexicon: Vocabulary) -> list[Posture]:
    tokens, words = statement.tokens, statement.words
    nouns = lexicon["postures.delegate.nouns"].single
    bad = lexicon["postures.delegate.not_names"].single
    result = []
    for order in found:
        at = order.verb
        if order.passive or not lexicon["postures.delegate.verbs"].at(words, at):
            continue
        for index in range(at + 1, order.end):
            token = tokens[index]
            if token.kind == PUNCTUATION and token.low not in (",", "("):
                break
            before_noun = index + 1 < len(words) and words[index + 1] in nouns
            after_noun = index > at + 1 and words[index - 1] in nouns and token.code
            name = token.low.strip("/`$@*")
            named = (
                token.kind != PUNCTUATION and name not in bad and name not in nouns and _NAME.fullmatch(name)
            )
            if named and (before_noun or after_noun) and (token.code or token.kind == "word"):
                if not (token.code or "-" in name or ":" in name) and not words[index + 1 : index + 2] == [
                    "skill"
                ]:
                    continue
                result.append(
                    Posture(
                        DirectiveKind.DELEGATE,
                        words[at],
                        _rest(statement, index + 2, order.end),
                        name,
                        0.9,
                        order.negated,
                        at,
                    )
                )
                break
            hyphenated = bool(_HYPHENATED.fullmatch(name)) and name not in bad
            if (
                words[at] in lexicon["postures.delegate.ask"].single
                and hyphenated
                and index <= at + 2
                and words[index + 1 : index + 2] == ["to"]
            ):
                result.append(
                    Posture(
                        DirectiveKind.DELEGATE,
                        words[at],
                        _rest(statement, index + 2, order.end),
                        name,
                        0.8,
                        order.negated,
                        at,
                    )
                )
                break
            if (
                words[at] in ("use", "invoke", "delegate", "hand", "dispatch", "activate", "load")
                and ":" in name
                and hyphenated
                and token.kind in ("word", CODE)
            ):
                result.append(
                    Posture(
                        DirectiveKind.DELEGATE,
                        words[at],
                        _rest(statement, index + 1, order.end),
                        name,
                        0.7,
                        order.negated,
                        at,
                    )
                )
                break
            if (
                words[at] in ("hand", "delegate", "defer", "escalate", "route")
                and words[index - 1] == "to"
                and token.code
                and hyphenated
            ):
                result.append(
                    Posture(
                        DirectiveKind.DELEGATE,
                        words[at],
                        _rest(statement, at + 1, index - 1),
                        name,
                        0.8,
                        order.negated,
                        at,
                    )
                )
                break
    return result


# ---- remember


def _memories(statement: Statement, found: list[Order], lexicon: Vocabulary) -> list[Posture]:
    tokens, words = statement.tokens, statement.words
    result = []
    for order in found:
        at, end = order.verb, order.end
        target = (
            _agent_file(statement, at + 1, end, lexicon)
            if not order.passive
            else _agent_file(statement, order.verb, end, lexicon)
        )
        scoped = lexicon["postures.remember.scopes"].find(words)
        if target and (order.passive or lexicon["postures.remember.verbs"].at(words, at)):
            result.append(
                Posture(
                    DirectiveKind.REMEMBER,
                    words[at],
                    _rest(statement, at + 1, end),
                    target,
                    0.9,
                    order.negated,
                    at,
                )
            )
        elif words[at] in lexicon["postures.remember.mind_verbs"].single and scoped >= 0:
            result.append(
                Posture(
                    DirectiveKind.REMEMBER,
                    words[at],
                    _rest(statement, at + 1, end),
                    "memory",
                    0.8,
                    order.negated,
                    at,
                )
            )
        elif (
            scoped >= 0
            and scoped < at
            and words[scoped] in ("from", "henceforth", "permanently", "in", "all", "every", "for")
            and " ".join(words[scoped : scoped + 3])
            in (
                "from now on",
                "in all future",
                "for all future",
                "in every future",
                "for all later",
                "in all later",
                "every future session",
                "all future sessions",
            )
        ):
            result.append(
                Posture(
                    DirectiveKind.REMEMBER,
                    words[at],
                    _rest(statement, at, end),
                    "memory",
                    0.6,
                    order.negated,
                    at,
                )
            )
    return result


def _agent_file(statement: Statement, start: int, end: int, lexicon: Vocabulary) -> str:
    """The agent configuration or memory that a clause writes to, or an empty string."""
    tokens, words = statement.tokens, statement.words
    files, folders = lexicon["resources.agent_files"].single, lexicon["resources.agent_folders"].single
    for index in range(start, end):
        token = tokens[index]
        if token.kind == PATH or token.code:
            parts = token.low.rstrip("/").split("/")
            inside = any(part in folders for part in parts)
            if parts[-1] in files or (
                inside
                and (
                    parts[-1] in lexicon["postures.remember.settings"].single
                    or "hooks" in parts
                    or "memory" in parts
                    or "commands" in parts
                )
            ):
                if (
                    parts[-1]
                    in ("user.md", "tools.md", "identity.md", "conventions.md", "agent.md", "bootstrap.md")
                    and not inside
                    and "memory" not in words
                ):
                    continue
                return token.text
        length = lexicon["postures.remember.memory_targets"].at(words, index)
        if length:
            return " ".join(words[index : index + length])
    return ""


# ---- shared


def _order_before(found: list[Order], index: int) -> Order | None:
    """The order whose clause contains or precedes a token."""
    best = None
    for order in found:
        if order.verb < index:
            best = order
    return best


def _rest(statement: Statement, start: int, end: int) -> str:
    kept = [token for token in statement.tokens[start : min(end, start + 24)]]
    while kept and (
        kept[0].low in ("the", "a", "an", "about", "of", "that", "for", "to", "it") and len(kept) > 1
    ):
        kept = kept[1:]
    text = " ".join(token.text for token in kept if token.kind != PUNCTUATION or token.low == ",")
    return text.replace(" ,", ",").strip(" ,")[:200]
