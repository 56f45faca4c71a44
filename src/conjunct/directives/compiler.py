"""One text to a compilation: structure first, then every block in its surroundings."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from conjunct.directives.conditions import heading_conditions
from conjunct.directives.context import Surroundings
from conjunct.directives.fence_marks import Difference, difference
from conjunct.directives.fences import compile_fence
from conjunct.directives.hidden import HiddenText, encoded_prose, hidden_in_prose, reveal, without_hidden
from conjunct.directives.output import MENTION_CONFIDENCE, QUOTE_LENGTH, Output
from conjunct.directives.package import Package, skills_named
from conjunct.directives.prose import compile_prose
from conjunct.directives.sensitive import is_sensitive
from conjunct.directives.structure import FENCE, HTML, MAXIMUM_CHARACTERS, Block, blocks
from conjunct.directives.tokens import Statement, tokenize
from conjunct.model import Compilation, Directive, DirectiveKind, Sentence

_HIDDEN_DEPTH: Final = 2
_HIDDEN_LENGTH: Final = 20_000
_ORDERED: Final = 0.25
"""Below this confidence what hidden text asks for is a reminder ("update this file"), not an order."""
_DIFFERING_LINES: Final = 2000
_DIFFERING_LENGTH: Final = 50_000
_ELEMENT = re.compile(r"<[^<>]{0,400}>")


def compile_text(
    text: str,
    *,
    file: str,
    first_line: int = 1,
    derived: bool = False,
    package: Package | None = None,
) -> Compilation:
    """Compile one Markdown or plain text whose first line is line `first_line` of `file`.

    `derived` marks text that a tool printed: its directives keep at most half their confidence. `package`
    names the files that scripts in the text may mean. Never raises on the text's account; takes time linear
    in it.
    """
    package = package or Package()
    package = replace(package, skills=package.skills | skills_named(text[:MAXIMUM_CHARACTERS]))
    output = Output(file, package, derived)
    _compile(output, text, first_line)
    return Compilation(
        tuple(output.directives), output.instructions, output.compiled, tuple(output.uncompiled)
    )


def merge(parts: list[Compilation]) -> Compilation:
    """One compilation of several texts, in order."""
    return Compilation(
        tuple(directive for part in parts for directive in part.directives),
        sum(part.instructions for part in parts),
        sum(part.compiled for part in parts),
        tuple(sentence for part in parts for sentence in part.uncompiled),
    )


def _compile(output: Output, text: str, first_line: int) -> None:
    text = _bounded(output, text.replace("\r\n", "\n").replace("\r", "\n"), first_line)
    output.last_line = first_line + text.count("\n")
    visible, hidden = reveal(text, first_line)
    for piece in hidden:
        _hidden(output, piece)
    found = blocks(visible, first_line)
    differs = difference(visible, found, first_line)
    before = len(output.directives)
    _compile_blocks(output, found)
    if differs is not None:
        _other_reading(output, differs, visible, first_line, before)


def _compile_blocks(output: Output, found: list[Block], only: frozenset[int] | None = None) -> None:
    """Compile blocks in order; with `only`, those that reach into these lines."""
    surroundings = Surroundings(found, output.file)
    for index, block in enumerate(found):
        if only is not None and not block.heading:
            span = range(block.line, block.line + block.text.count("\n") + 1)
            if only.isdisjoint(span):
                continue
        context = surroundings.of(index)
        if block.kind == FENCE:
            for piece in encoded_prose(block.text, block.line):
                _hidden(output, piece)
            compile_fence(output, block, context)
            continue
        for piece in hidden_in_prose(block.text, block.line):
            _hidden(output, piece)
        block.text = without_hidden(block.text)
        if block.kind == HTML:
            block.text = _ELEMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), block.text)
        if block.heading:
            surroundings.set_heading(block.text, heading_conditions(block.text))
        else:
            surroundings.conditions[index] = compile_prose(output, block, context)


def _other_reading(output: Output, differs: Difference, text: str, first_line: int, before: int) -> None:
    """Add what the tolerant reading of block marks finds beyond CommonMark's, and report that they differ."""
    inner = Output(output.file, output.package, output.derived, output.depth, output.last_line)
    _compile_blocks(inner, blocks(differs.text, first_line), differs.lines)
    for position in range(before, len(output.directives)):
        directive = output.directives[position]
        if directive.line in differs.templates and not directive.mention:
            shown = min(directive.confidence, MENTION_CONFIDENCE)
            output.directives[position] = replace(directive, mention=True, confidence=shown)
    known = {_identity(directive) for directive in output.directives[before:]}
    for directive in inner.directives:
        reach = range(directive.line, directive.line + directive.command.count("\n") + 1)
        if differs.lines.isdisjoint(reach) or _identity(directive) in known:
            continue
        output.directives.append(directive)
        if not directive.mention:
            output.instructions += 1
            output.compiled += 1
    listed = {(entry.line, entry.text) for entry in output.uncompiled}
    for entry in inner.uncompiled:
        if entry.line in differs.lines and (entry.line, entry.text) not in listed:
            output.uncompiled.append(entry)
            output.instructions += 1
    lines = text.split("\n")
    first, last = min(differs.lines), max(differs.lines)
    touched = "\n".join(lines[at - first_line] for at in sorted(differs.lines)[:_DIFFERING_LINES])
    tokens = tokenize(touched[:_DIFFERING_LENGTH])
    output.instructions += 1
    output.uncompiled.append(
        Sentence(
            f"the marks of code blocks between lines {first} and {last} can be paired in two ways; both were "
            "compiled",
            output.file,
            min(first, output.last_line),
            is_sensitive(Statement(tokens, [token.low for token in tokens], touched, first)),
        )
    )


def _identity(directive: Directive) -> tuple[object, ...]:
    """What makes two directives of one text the same; shown and ordered are two."""
    d = directive
    return (d.line, d.kind, d.verb, d.object, d.target, d.command, d.mention)


def _bounded(output: Output, text: str, first_line: int) -> str:
    if len(text) <= MAXIMUM_CHARACTERS:
        return text
    line = first_line + text.count("\n", 0, MAXIMUM_CHARACTERS)
    output.last_line = line
    output.too_long(line, f"what follows the first {MAXIMUM_CHARACTERS} characters")
    return text[:MAXIMUM_CHARACTERS]


def _hidden(output: Output, piece: HiddenText) -> None:
    """Compile hidden text; that it is hidden is a directive of its own when it orders anything."""
    if output.depth >= _HIDDEN_DEPTH:
        return
    inner = Output(output.file, output.package, output.derived, output.depth + 1)
    _compile(inner, piece.text[:_HIDDEN_LENGTH], piece.line)
    last = output.last_line
    found = [replace(directive, line=min(directive.line, last)) for directive in inner.directives]
    output.directives.extend(found)
    output.instructions += inner.instructions
    output.compiled += inner.compiled
    output.uncompiled.extend(replace(entry, line=min(entry.line, last)) for entry in inner.uncompiled)
    ordered = any(not directive.mention and directive.confidence >= _ORDERED for directive in found)
    if ordered or (piece.means != "comment" and (inner.instructions or not piece.text)):
        text = " ".join(piece.text.split())[:QUOTE_LENGTH]
        output.directives.append(
            Directive(
                DirectiveKind.CONCEAL,
                output.file,
                min(piece.line, last),
                text or piece.means,
                verb="hide",
                object=f"instructions in {piece.means}",
                target="user",
                confidence=0.45 if output.derived else 0.9,
            )
        )
