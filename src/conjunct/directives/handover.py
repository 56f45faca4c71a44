"""Instructions to use another skill, and to write into an agent's memory or configuration."""

from __future__ import annotations

import re

from conjunct.directives.acts import resources_in
from conjunct.directives.mood import Order
from conjunct.directives.package import Package
from conjunct.directives.posture import Posture, wording
from conjunct.directives.tokens import CODE, HOST, PATH, PUNCTUATION, URL, WORD, Statement, Token
from conjunct.directives.vocabulary import Vocabulary, vocabulary
from conjunct.model import DirectiveKind

_NAME = re.compile(r"[a-z0-9][a-z0-9_]*(?:[-:][a-z0-9_]+)+|[a-z0-9][a-z0-9_-]{2,}")
_COMPOUND = re.compile(r"[a-z0-9][a-z0-9_]*(?:[-:][a-z0-9_]+)+")


def delegations(statement: Statement, found: list[Order], package: Package) -> list[Posture]:
    """`use the pdf-maker skill`, `ask ledger-export to …`; a skill that names itself delegates nothing."""
    lexicon = vocabulary()
    result = []
    for order in found:
        if order.passive:
            continue
        for index in range(order.verb + 1, order.end):
            if statement.tokens[index].kind == PUNCTUATION and statement.words[index] not in (",", "("):
                break
            several = _several(statement, order, index, lexicon)
            posture = _delegation(statement, order, index, lexicon) or _sibling(
                statement, order, index, package
            )
            if posture is not None and posture.target != package.name.lower():
                several.append(posture)
            result.extend(several)
            if several or posture is not None:
                break
    return result


def _several(statement: Statement, order: Order, index: int, lexicon: Vocabulary) -> list[Posture]:
    """`use draw/paint skills`: several names in one word."""
    token, at = statement.tokens[index], order.verb
    parts = token.low.split("/")
    following = statement.words[index + 1] if index + 1 < len(statement.words) else ""
    if len(parts) < 2 or following not in lexicon["postures.delegate.nouns"].single:
        return []
    if not lexicon["postures.delegate.verbs"].at(statement.words, at) or not all(map(_NAME.fullmatch, parts)):
        return []
    object_ = wording(statement, index + 2, order.end)
    return [
        Posture(DirectiveKind.DELEGATE, statement.words[at], object_, part, 0.7, at, order.negated)
        for part in parts[:4]
    ]


def _sibling(statement: Statement, order: Order, index: int, package: Package) -> Posture | None:
    """`use chart-maker for the plot`, where text or registry know a skill of that name."""
    token, words, at = statement.tokens[index], statement.words, order.verb
    name = token.low.strip("/`$@*")
    if name not in package.skills or not vocabulary()["postures.delegate.naming"].at(words, at):
        return None
    if "-" not in name and not token.code:
        return None  # `use pdf` may mean the format; `use `pdf`` and `use the pdf skill` mean the skill
    if index > at + 3 and words[index - 1] not in ("and", "or", ","):
        return None
    return Posture(
        DirectiveKind.DELEGATE,
        words[at],
        wording(statement, index + 1, order.end),
        name,
        0.7,
        at,
        order.negated,
    )


def _delegation(statement: Statement, order: Order, index: int, lexicon: Vocabulary) -> Posture | None:
    """The skill named by token `index`, if it names one."""
    tokens, words, at = statement.tokens, statement.words, order.verb
    token = tokens[index]
    name = token.low.strip("/`$@*")
    nouns = lexicon["postures.delegate.nouns"].single
    if token.kind not in (WORD, CODE) or name in lexicon["postures.delegate.not_names"].single:
        return None
    if name in nouns or not _NAME.fullmatch(name):
        return None
    compound = bool(_COMPOUND.fullmatch(name))
    means = _by_means_of(words, index, lexicon)
    if not means and not lexicon["postures.delegate.verbs"].at(words, at):
        return None
    following = words[index + 1] if index + 1 < len(words) else ""
    start, confidence = index + 1, 0.0
    if following in nouns or (words[index - 1] in nouns and (token.code or compound)):
        plain = not (token.code or compound)
        usual = following == "skill" and (words[index - 1] == "the" or (index - 1 == at and _proper(token)))
        verb = (
            means
            or lexicon["postures.delegate.plain_verbs"].at(words, at)
            or (words[index - 2] == "to" and lexicon["postures.delegate.handing"].at(words, at))
        )
        if not plain or (usual and verb):
            start, confidence = index + 2, 0.9
    if not confidence and compound:
        if lexicon["postures.delegate.ask"].at(words, at) and index <= at + 2 and following == "to":
            start, confidence = index + 2, 0.8
        elif ":" in name and index <= at + 3 and lexicon["postures.delegate.qualified"].at(words, at):
            confidence = 0.7
        elif lexicon["postures.delegate.handing"].at(words, at) and words[index - 1] == "to":
            confidence = 0.8
    if not confidence:
        return None
    object_ = wording(statement, start, order.end)
    return Posture(DirectiveKind.DELEGATE, words[at], object_, name, confidence, at, order.negated)


def _by_means_of(words: list[str], index: int, lexicon: Vocabulary) -> bool:
    """`… using the pdf-maker skill`: the name stands behind a word of means."""
    before = index - 1 - (words[index - 1] in ("the", "a", "an"))
    return before > 0 and lexicon["postures.delegate.means"].at(words, before) > 0


def _proper(token: Token) -> bool:
    return token.text[:1].isupper()


def memories(statement: Statement, found: list[Order]) -> list[Posture]:
    """`add this to CLAUDE.md`, `remember this for all future sessions`, `from now on, always …`."""
    lexicon = vocabulary()
    words = statement.words
    scope = lexicon["postures.remember.scopes"].find(words)
    leading = lexicon["postures.remember.leading_scopes"].find(words)
    result = []
    for order in found:
        at, end = order.verb, order.end
        server = _server(statement, order, lexicon)
        if server:
            result.append(
                Posture(DirectiveKind.REMEMBER, words[at], server, "MCP servers", 0.8, at, order.negated)
            )
            continue
        target, where = _agent_file(statement, at + 1, end, lexicon)
        if target in ("in memory", "into memory") and lexicon["postures.remember.volatile"].within(
            words, at + 1, where
        ):
            continue  # "keep the buffer in memory" is about a program
        verb = order.passive or lexicon["postures.remember.verbs"].at(words, at) > 0
        if target and verb and _is_destination(words, at, where, lexicon):
            object_ = wording(statement, at + 1, max(at + 1, where - 1))
            posture = (object_, target, 0.9)
        elif at <= scope < end and lexicon["postures.remember.mind_verbs"].at(words, at):
            posture = (wording(statement, at + 1, end), "memory", 0.8)
        elif 0 <= leading < at:
            posture = (wording(statement, at, end), "memory", 0.6)
        else:
            continue
        result.append(
            Posture(DirectiveKind.REMEMBER, words[at], posture[0], posture[1], posture[2], at, order.negated)
        )
    return result


def _server(statement: Statement, order: Order, lexicon: Vocabulary) -> str:
    """The address or name of a tool server that an order adds to the agent's configuration."""
    words = statement.words
    at, end = order.verb, order.end
    if not lexicon["postures.remember.server_verbs"].at(words, at):
        return ""
    if not lexicon["postures.remember.servers"].within(words, at + 1, end):
        return ""
    addresses = resources_in(statement.tokens[at + 1 : end], frozenset({URL, HOST}))
    if addresses:
        return addresses[0]
    named = lexicon["postures.remember.clients"].within(words, at + 1, end)
    return wording(statement, at + 1, end) if named else ""


def _is_destination(words: list[str], verb: int, target: int, lexicon: Vocabulary) -> bool:
    """Whether the target is written to: behind a preposition, or the object of a verb of editing."""
    if lexicon["postures.remember.direct"].at(words, verb) and target <= verb + 5:
        return True
    if lexicon["postures.remember.into"].at(words, target):
        return True
    for index in range(target - 1, max(verb, target - 5), -1):
        if lexicon["postures.remember.into"].at(words, index):
            return True
        if words[index] in lexicon.imperative:
            return False  # "to match your agent's memory location"
    return False


def _agent_file(statement: Statement, start: int, end: int, lexicon: Vocabulary) -> tuple[str, int]:
    """The agent configuration or memory that a clause names, and its index; empty when it names none."""
    tokens, words = statement.tokens, statement.words
    files, folders = lexicon["resources.agent_files"].single, lexicon["resources.agent_folders"].single
    for index in range(start, end):
        token = tokens[index]
        if token.kind == PATH or token.code:
            parts = token.low.rstrip("/").split("/")
            inside = any(part in folders for part in parts)
            settings = parts[-1] in lexicon["postures.remember.settings"].single
            deep = any(part in lexicon["postures.remember.parts"].single for part in parts)
            named = parts[-1] in files and (
                inside
                or "memory" in words
                or parts[-1] not in lexicon["postures.remember.generic_files"].single
            )
            if named or (inside and (settings or deep)):
                return token.text, index
        if length := lexicon["postures.remember.memory_targets"].at(words, index):
            return " ".join(words[index : index + length]), index
    return "", -1
