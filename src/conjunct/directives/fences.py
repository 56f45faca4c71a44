"""Code blocks to directives: shell commands, code samples, usage text, and prose shown in a fence."""

from __future__ import annotations

from typing import Final

from conjunct.directives.block_commands import MAXIMUM_COMMANDS, fence_commands
from conjunct.directives.commands import copies_itself, looks_like_commands, usage_command
from conjunct.directives.context import Context
from conjunct.directives.downloads import downloads
from conjunct.directives.fence_marks import nested_blocks
from conjunct.directives.output import QUOTE_LENGTH, Output
from conjunct.directives.posture import ANYTHING
from conjunct.directives.prose import compile_prose
from conjunct.directives.structure import FENCE, PROSE, Block
from conjunct.directives.tokens import Statement, tokenize
from conjunct.directives.vocabulary import vocabulary
from conjunct.model import Directive, DirectiveKind

_COMMAND_LENGTH: Final = 4000
_TEMPLATE_LENGTH: Final = 100_000
_TEMPLATE_LINES: Final = 2000
_MAXIMUM_DROPPED: Final = 100


def compile_fence(output: Output, block: Block, context: Context) -> None:
    """Compile one code block."""
    lexicon = vocabulary()
    language = block.language
    unnamed = language in ("", "text", "plaintext") and looks_like_commands(block.text, output.package)
    if unnamed or language in lexicon["resources.shell_languages"].single:
        _shell(output, block, context, confidence=0.8 if unnamed else 1.0)
    elif language in lexicon["resources.python_languages"].single:
        _sample(output, block, context, "python")
    elif language in lexicon["resources.javascript_languages"].single:
        _sample(output, block, context, "javascript")
    elif language in lexicon["resources.windows_languages"].single:
        _windows(output, block, context)
    else:
        _template(output, block, context)


def _shell(output: Output, block: Block, context: Context, *, confidence: float) -> None:
    flags = vocabulary()["postures.override.flags"]
    commands, dropped = fence_commands(block.text, block.line)
    for line, text in dropped[:_MAXIMUM_DROPPED]:
        output.count(context, False, _statement(text, line))
    if len(dropped) > _MAXIMUM_DROPPED:
        output.too_long(dropped[_MAXIMUM_DROPPED][0], "further lines of a code block that were not run")
    if len(commands) > MAXIMUM_COMMANDS:
        output.too_long(commands.pop().line, f"commands after the first {MAXIMUM_COMMANDS} of a code block")
    for command in commands:
        if copies_itself(command.text, output.package):
            continue
        usage = usage_command(command.text, output.package)
        group = f"{output.file}:{block.line}:{command.alternative}" if command.alternative else ""
        directive = Directive(
            DirectiveKind.RUN,
            output.file,
            command.line,
            command.text[:QUOTE_LENGTH],
            verb="run",
            command=(usage or command.text)[:_COMMAND_LENGTH],
            language="shell",
            folder=output.folder,
            mention=command.bad,
            confidence=confidence,
            alternative=group,
        )
        output.emit(context, directive)
        for fetch in downloads(command.text, output.file, command.line, output.folder, mention=command.bad)[
            1:
        ]:
            output.emit(context, fetch)
        if not (context.mention or command.bad):
            output.instructions += 1
            output.compiled += 1
        if flags.within(command.text.split()):
            waived = Directive(
                DirectiveKind.OVERRIDE,
                output.file,
                command.line,
                command.text[:QUOTE_LENGTH],
                verb="waive",
                object=ANYTHING,
                target="confirmation",
                mention=command.bad,
                confidence=0.6,
            )
            output.emit(context, waived)


def _statement(text: str, line: int) -> Statement:
    tokens = tokenize(text[:_COMMAND_LENGTH])
    return Statement(tokens, [token.low for token in tokens], text, line)


def _windows(output: Output, block: Block, context: Context) -> None:
    """PowerShell and batch: downloads compile, the block as a whole counts as not understood."""
    for offset, line in enumerate(block.text.split("\n")[:_TEMPLATE_LINES]):
        for directive in downloads(line, output.file, block.line + offset, output.folder):
            output.emit(context, directive)
    output.count(context, False, _statement(block.text, block.line))


def _sample(output: Output, block: Block, context: Context, language: str) -> None:
    """A code sample is shown, unless the text before it says to run it."""
    if not block.text.strip():
        return
    directive = Directive(
        DirectiveKind.RUN,
        output.file,
        block.line,
        " ".join(block.text[:2000].split())[:QUOTE_LENGTH],
        verb="run",
        command=block.text,
        language=language,
        folder=output.folder,
        mention=not context.ordered,
        confidence=0.6,
    )
    output.emit(context, directive)
    if context.ordered and not context.mention:
        output.instructions += 1
        output.compiled += 1


def _template(output: Output, block: Block, context: Context) -> None:
    """Prose in a fence is quoted text: what it orders is a mention, unless the text before it orders it."""
    if "sage:" in block.text:
        for offset, line in enumerate(block.text.split("\n")[:_TEMPLATE_LINES]):
            command = usage_command(line, output.package)
            if command:
                usage = Directive(
                    DirectiveKind.RUN,
                    output.file,
                    block.line + offset,
                    line.strip()[:QUOTE_LENGTH],
                    verb="run",
                    command=command,
                    language="shell",
                    folder=output.folder,
                    confidence=0.8,
                )
                output.emit(context, usage)
    if block.language not in vocabulary()["resources.prose_languages"].single and block.language:
        return
    if len(block.text) > _TEMPLATE_LENGTH:
        output.too_long(block.line, f"a code block of more than {_TEMPLATE_LENGTH} characters")
        return
    shown = Context(mention=context.mention or not context.followed, conditions=context.conditions)
    nested: set[int] = set()
    lines = block.text.split("\n")[:_TEMPLATE_LINES]
    for start, end, language in nested_blocks(block.text):
        if language in vocabulary()["resources.shell_languages"].single:
            nested.update(range(start - 1, end + 1))
            inner = Block(
                FENCE, "\n".join(lines[start:end]), block.line + start, block.headings, -1, language
            )
            _shell(output, inner, shown, confidence=1.0)
    for offset, line in enumerate(lines):
        if line.strip() and offset not in nested:
            compile_prose(output, Block(PROSE, line, block.line + offset, block.headings, -1), shown)
