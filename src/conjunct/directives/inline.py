"""Commands in inline code: ordered by a verb before them or standing alone, else mentioned."""

from __future__ import annotations

import itertools
from dataclasses import replace

from conjunct.directives.command_shape import program_shaped
from conjunct.directives.commands import inline_command
from conjunct.directives.context import Context
from conjunct.directives.downloads import downloads, fetches
from conjunct.directives.mood import Order
from conjunct.directives.output import MENTION_CONFIDENCE, Output, quote
from conjunct.directives.posture import order_before
from conjunct.directives.structure import CELL, Block
from conjunct.directives.tokens import CODE, PATH, PUNCTUATION, Statement
from conjunct.directives.vocabulary import vocabulary
from conjunct.model import Condition, Directive, DirectiveKind


def inline_commands(
    output: Output,
    statement: Statement,
    found: list[Order],
    context: Context,
    conditions: tuple[Condition, ...],
    block: Block,
) -> None:
    """Commands in inline code: ordered by a verb before them or standing alone, else mentioned."""
    if "`" not in statement.text:
        return
    spans: list[tuple[int, str]] = []
    _downloads(output, statement, found, context, conditions, block)
    written = {d.command for d in output.directives[-6:] if d.line == statement.line}
    for index, token in enumerate(statement.tokens):
        if token.code and token.kind in (CODE, PATH):
            command = inline_command(token.text, output.package)
            command = command or _started(statement, index, spans)
            if command and not (token.kind == PATH and any(command in entry for entry in written)):
                spans.append((index, command))
    words = statement.words
    joined = any("or" in words[a + 1 : b] for (a, _), (b, _) in itertools.pairwise(spans))
    group = output.group(statement.line) if joined else ""
    for index, command in spans:
        confidence, mention = _how_meant(statement, found, index, block)
        directive = run_directive(output, statement.line, quote(statement), command, confidence=confidence)
        output.emit(context, replace(directive, conditions=conditions, mention=mention, alternative=group))


def _started(statement: Statement, index: int, spans: list[tuple[int, str]]) -> str:
    """Inline code right behind "run" is a command, also of a program nobody knows: "Run `mewt --help`"."""
    token, words = statement.tokens[index], statement.words
    starting = vocabulary()["verbs.run.starting"].at(words, index - 1) > 0 if index else False
    another = bool(spans) and spans[-1][0] == index - 2 and words[index - 1] in ("or", "and", ",", "then")
    if not (starting or another) or token.kind != CODE or " " not in token.text or len(token.text) > 1000:
        return ""
    first = token.text.split(None, 1)[0]
    return token.text if first.islower() and program_shaped(token.text) and "(" not in first else ""


def _downloads(
    output: Output,
    statement: Statement,
    found: list[Order],
    context: Context,
    conditions: tuple[Condition, ...],
    block: Block,
) -> None:
    """PowerShell that fetches, in inline code: ordered, or alone behind a label; else mentioned."""
    for index, token in enumerate(statement.tokens):
        if not token.code or not fetches(token.text):
            continue
        _, mention = _how_meant(statement, found, index, block)
        labelled = statement.words[index - 1] in (":", "—", "-", "→") if index else True
        mention = mention and not (labelled and block.kind != CELL)
        for directive in downloads(token.text, output.file, statement.line, output.folder, mention=mention):
            output.emit(context, replace(directive, conditions=conditions))


def _how_meant(statement: Statement, found: list[Order], index: int, block: Block) -> tuple[float, bool]:
    """Confidence of an inline command, and whether it is only mentioned."""
    lexicon = vocabulary()
    tokens, words = statement.tokens, statement.words
    order = order_before(found, index)
    negated = (order is not None and order.negated) or lexicon["verbs.refusals"].within(
        words, max(0, index - 3), index
    )
    told = (
        order is not None
        and index < order.end + 3
        and (
            lexicon["verbs.run.base"].at(words, order.verb)
            or lexicon["verbs.run.gerund"].at(words, order.verb)
        )
        > 0
    )
    if block.kind == CELL:
        return MENTION_CONFIDENCE, True
    if told:
        return 0.9, negated
    if tokens[index].kind == PATH:
        return MENTION_CONFIDENCE, True
    if (
        index >= 2
        and words[index - 1] in (":", "—", "-", "→", "->")
        and lexicon["resources.command_labels"].within(words, 0, index)
    ):
        return 0.9, negated
    if index == 0 and all(token.kind == PUNCTUATION for token in tokens[1:]):
        return 0.8, False
    return 0.4, True


def run_directive(output: Output, line: int, text: str, command: str, *, confidence: float) -> Directive:
    return Directive(
        DirectiveKind.RUN,
        output.file,
        line,
        text[:300],
        verb="run",
        command=command,
        language="shell",
        folder=output.folder,
        confidence=confidence,
    )
