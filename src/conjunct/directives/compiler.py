"""Prose to directives: one text, or the Markdown of one package."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final

from conjunct.directives.acts import acts, resources_in
from conjunct.directives.commands import (
    copies_itself,
    fence_commands,
    inline_command,
    looks_like_commands,
    usage_command,
)
from conjunct.directives.conditions import read_conditions
from conjunct.directives.context import Context, Surroundings
from conjunct.directives.foreign import is_foreign
from conjunct.directives.hidden import HiddenText, encoded_prose, hidden_in_prose, reveal, without_hidden
from conjunct.directives.mood import Order, orders
from conjunct.directives.package import Package, script_command
from conjunct.directives.postures import postures
from conjunct.directives.sensitive import is_sensitive
from conjunct.directives.structure import CELL, FENCE, HTML, MAXIMUM_CHARACTERS, Block, blocks
from conjunct.directives.tokens import CODE, PATH, PUNCTUATION, URL, Statement, statements
from conjunct.directives.vocabulary import vocabulary
from conjunct.model import Compilation, Condition, Directive, DirectiveKind, Sentence

_QUOTE_LENGTH: Final = 300
_HIDDEN_DEPTH: Final = 2
_MENTION_CONFIDENCE: Final = 0.3
_SKILL_FOLDER = re.compile(
    r"\b(?:skill(?:'s)?|package|plugin)(?: root| base)? (?:directory|folder|root|dir)\b|baseDir|CLAUDE_SKILL_DIR|CLAUDE_PLUGIN_ROOT|SKILL_DIR",
    re.IGNORECASE,
)
_WORKSPACE = re.compile(
    r"\b(?:project|repo|repository|workspace|working|current|user's)(?: root)? (?:directory|folder|root|dir)\b|\bfrom the (?:root of the )?(?:repo|repository|project)\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Text:
    """State of one text while it is compiled."""

    file: str
    package: Package
    derived: bool
    depth: int = 0
    last_line: int = 1
    directives: list[Directive] = field(default_factory=list)
    uncompiled: list[Sentence] = field(default_factory=list)
    instructions: int = 0
    compiled: int = 0
    antecedent: str = ""
    folder: str = ""
    previous_conditions: tuple[Condition, ...] = ()
    groups: int = 0


def compile_text(
    text: str,
    *,
    file: str,
    first_line: int = 1,
    derived: bool = False,
    package: Package | None = None,
) -> Compilation:
    """Compile one Markdown or plain text whose first line is `first_line` of `file`.

    `derived` marks text that a tool printed: its directives are kept at no more than half confidence. `package`
    names the files that scripts in the text may mean.
    """
    state = _Text(file, package or Package(), derived)
    _compile(state, text, first_line)
    return Compilation(tuple(state.directives), state.instructions, state.compiled, tuple(state.uncompiled))


def merge(parts: list[Compilation]) -> Compilation:
    """One compilation of several texts, in order."""
    return Compilation(
        tuple(directive for part in parts for directive in part.directives),
        sum(part.instructions for part in parts),
        sum(part.compiled for part in parts),
        tuple(sentence for part in parts for sentence in part.uncompiled),
    )


def _compile(state: _Text, text: str, first_line: int) -> None:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > MAXIMUM_CHARACTERS:
        rest = first_line + text.count("\n", 0, MAXIMUM_CHARACTERS)
        state.instructions += 1
        state.uncompiled.append(
            Sentence(f"text after {MAXIMUM_CHARACTERS} characters was not compiled", state.file, rest, True)
        )
        text = text[:MAXIMUM_CHARACTERS]
    state.last_line = first_line + text.count("\n")
    visible, hidden = reveal(text, first_line)
    for piece in hidden:
        _hidden(state, piece)
    found = blocks(visible, first_line)
    surroundings = Surroundings(found)
    for index, block in enumerate(found):
        block.line = min(block.line, state.last_line)
        context = surroundings.of(index)
        if block.kind == FENCE:
            _fence(state, block, context, found)
            continue
        for piece in hidden_in_prose(block.text, block.line):
            _hidden(state, piece)
        if block.kind == HTML:
            block.text = re.sub(r"<[^<>]{0,400}>", _spaces, without_hidden(block.text))
        elif "<!--" in block.text or "<" in block.text or "]:" in block.text:
            block.text = without_hidden(block.text)
        if block.heading:
            surroundings.conditions[index] = _heading_conditions(block)
            continue
        surroundings.conditions[index] = _prose(state, block, context)


def _spaces(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _heading_conditions(block: Block) -> tuple[Condition, ...]:
    return ()


# ---- prose


def _prose(state: _Text, block: Block, context: Context) -> tuple[Condition, ...]:
    """Compile a paragraph or cell; returns the conditions that hold for what it introduces."""
    inherited: tuple[Condition, ...] = ()
    if block.item < 0:
        state.previous_conditions = ()
    if _SKILL_FOLDER.search(block.text):
        state.folder = "skill"
    elif _WORKSPACE.search(block.text):
        state.folder = "workspace"
    for line, command in _usage_lines(block, state.package):
        _emit(
            state,
            context,
            Directive(
                DirectiveKind.RUN,
                state.file,
                line,
                command,
                verb="run",
                command=command,
                language="shell",
                confidence=0.8,
            ),
        )
    for statement in statements(block.text, block.line):
        statement.line = min(statement.line, state.last_line)
        inherited = _statement(state, statement, context, block)
    return inherited if block.text.rstrip().endswith((":", "：")) or block.item >= 0 else ()


def _usage_lines(block: Block, package: Package) -> list[tuple[int, str]]:
    if "sage:" not in block.text:
        return []
    found = []
    for offset, line in enumerate(block.text.split("\n")):
        command = usage_command(line.strip("`* "), package)
        if command:
            found.append((block.line + offset, command))
    return found


def _statement(state: _Text, statement: Statement, context: Context, block: Block) -> tuple[Condition, ...]:
    if is_foreign(statement):
        _count(state, context, False, statement)
        return ()
    conditioned = read_conditions(statement)
    found = orders(statement, conditioned.excluded)
    own = tuple(condition for condition, _, _ in conditioned.conditions)
    own = _continue_condition(state, statement, own)
    before = len(state.directives)
    ordered = _postures(state, statement, found, conditioned.excluded, context, own)
    remembered = len(state.directives) > before and state.directives[-1].kind is DirectiveKind.REMEMBER
    for order in [] if remembered else found:
        conditions = conditioned.of(order.start, order.end) or (own if not conditioned.conditions else ())
        ordered |= _order(state, statement, order, context, conditions)
    ordered |= _inline(state, statement, found, context, own, block)
    resources = resources_in(statement.tokens)
    if resources:
        state.antecedent = resources[0]
    if found and not context.descriptive and not _is_activation(statement, found):
        _count(state, context, ordered or len(state.directives) > before, statement)
    elif len(state.directives) > before and not context.mention:
        _count(state, context, True, statement)
    return own


def _continue_condition(
    state: _Text, statement: Statement, own: tuple[Condition, ...]
) -> tuple[Condition, ...]:
    """`In that case, …`, `If so, …`, `Otherwise …` refer to the condition before."""
    head = " ".join(statement.words[:3])
    if head.startswith(
        (
            "in that case",
            "if so",
            "in this case",
            "then ",
            "in such cases",
            "in these cases",
            "when this happens",
            "also ",
        )
    ):
        own = state.previous_conditions + tuple(c for c in own if c.operator != "unknown")
    elif head.startswith(("otherwise", "if not", "else ")) and state.previous_conditions:
        own = tuple(replace(c, negated=not c.negated) for c in state.previous_conditions)
    state.previous_conditions = own
    return own


def _is_activation(statement: Statement, found: list[Order]) -> bool:
    """`Use this skill when …`: says when to load the skill, orders nothing."""
    words = statement.words
    verb = found[0].verb
    return (
        len(found) == 1
        and words[verb] in ("use", "invoke", "apply", "trigger", "activate")
        and (
            verb + 1 >= len(words)
            or (
                verb + 2 < len(words)
                and words[verb + 1] in ("this", "the", "it", "when", "for", "proactively")
                and (
                    "skill" in words[verb + 1 : verb + 4] or words[verb + 1] in ("when", "it", "proactively")
                )
            )
        )
    )


def _count(state: _Text, context: Context, compiled: bool, statement: Statement) -> None:
    if context.mention and not compiled:
        return
    if context.mention:
        return
    state.instructions += 1
    if compiled:
        state.compiled += 1
        return
    text = " ".join(statement.text.split())[:_QUOTE_LENGTH]
    state.uncompiled.append(Sentence(text, state.file, statement.line, is_sensitive(statement)))


def _postures(
    state: _Text,
    statement: Statement,
    found: list[Order],
    excluded: frozenset[int],
    context: Context,
    conditions: tuple[Condition, ...],
) -> bool:
    emitted = False
    for posture in postures(statement, found, excluded):
        directive = Directive(
            posture.kind,
            state.file,
            statement.line,
            _quote(statement),
            verb=posture.verb,
            object=posture.object,
            target=posture.target,
            conditions=conditions,
            mention=posture.negated,
            confidence=posture.confidence,
        )
        emitted |= _emit(state, context, directive)
    return emitted


def _order(
    state: _Text, statement: Statement, order: Order, context: Context, conditions: tuple[Condition, ...]
) -> bool:
    """Act directives of one order, or the script it names."""
    script = _script(state, statement, order)
    if script:
        return _emit(
            state,
            context,
            Directive(
                DirectiveKind.RUN,
                state.file,
                statement.line,
                _quote(statement),
                verb="run",
                command=script,
                language="shell",
                folder=_folder(state, statement),
                conditions=conditions,
                mention=order.negated,
                confidence=0.9,
            ),
        )
    emitted = False
    for act in acts(statement, order, state.antecedent):
        confidence = act.confidence * (0.5 if order.optional else 1.0)
        emitted |= _emit(
            state,
            context,
            Directive(
                DirectiveKind.ACT,
                state.file,
                statement.line,
                _quote(statement),
                verb=act.verb,
                object=act.object[:200],
                target=act.target[:200],
                conditions=conditions,
                mention=order.negated,
                confidence=confidence,
            ),
        )
        if act.object:
            state.antecedent = act.object if "/" in act.object or "." in act.object else state.antecedent
    return emitted


def _script(state: _Text, statement: Statement, order: Order) -> str:
    """The command for a script that an order names without writing the command out."""
    lexicon = vocabulary()
    words, tokens = statement.words, statement.tokens
    if not lexicon["verbs.run.base"].at(words, order.verb) and not (
        order.passive and words[order.verb] in lexicon["verbs.run.participle"].single
    ):
        return ""
    strong = lexicon["verbs.run.strong"].at(words, order.verb) > 0 or order.passive
    start = order.start if order.passive else order.verb + 1
    for index in range(start, order.end):
        token = tokens[index]
        if token.kind != PATH:
            continue
        located = state.package.locate(token.text)
        path = located or (token.text if "/" in token.text else "")
        command = script_command(path) if path else ""
        if not command or not (
            strong or words[index - 1 : index] == ["with"] or words[index - 1 : index] == ["using"]
        ):
            continue
        return command + _arguments(statement, index + 1, order.end)
    return ""


def _arguments(statement: Statement, start: int, end: int) -> str:
    """` input.csv` for "on input.csv", ` <the-file>` for "on the file"; else nothing."""
    tokens = statement.tokens
    for index in range(start, min(end, start + 6)):
        if tokens[index].low in ("on", "over", "against", "with") and index + 1 < end:
            for token in tokens[index + 1 : min(end, index + 6)]:
                if token.kind in (PATH, URL):
                    return f" {token.text}"
            words = [
                token.low for token in tokens[index + 1 : min(end, index + 5)] if token.kind != PUNCTUATION
            ]
            words = [
                word
                for word in words
                if word not in ("the", "a", "an", "your", "each", "user's", "this", "any", "every", "it")
            ]
            if tokens[index].low in ("on", "over", "against"):
                return f" <{'-'.join(words[:3]) or 'file'}>"
            return ""
    return ""


def _inline(
    state: _Text,
    statement: Statement,
    found: list[Order],
    context: Context,
    conditions: tuple[Condition, ...],
    block: Block,
) -> bool:
    """Commands in inline code: ordered by a verb before them or standing alone, else mentioned."""
    lexicon = vocabulary()
    tokens, words = statement.tokens, statement.words
    emitted = False
    spans: list[tuple[int, str]] = []
    for index, token in enumerate(tokens):
        if not token.code or (token.kind not in (CODE, PATH)):
            continue
        command = inline_command(token.text, state.package)
        if command and not (
            token.kind == PATH
            and any(
                directive.line == statement.line and command in directive.command
                for directive in state.directives[-4:]
            )
        ):
            spans.append((index, command))
    group = ""
    if len(spans) > 1 and _joined_by_or(words, spans):
        state.groups += 1
        group = f"{state.file}:{statement.line}:{state.groups}"
    for index, command in spans:
        order = _ordering(found, index)
        negated = order is not None and order.negated
        told = (
            order is not None
            and bool(lexicon["verbs.run.base"].at(words, order.verb))
            and index < order.end + 3
        )
        alone = index == 0 and all(token.kind == PUNCTUATION for token in tokens[1:])
        labelled = (
            index >= 2
            and words[index - 1] == ":"
            and bool(
                {
                    "run",
                    "usage",
                    "command",
                    "install",
                    "execute",
                    "using",
                    "via",
                    "with",
                    "cli",
                    "then",
                    "test",
                    "example",
                }
                & set(words[:index])
            )
        )
        if tokens[index].kind == PATH and not told:
            confidence, mention = _MENTION_CONFIDENCE, True
        elif told or labelled:
            confidence, mention = 0.9, negated
        elif alone:
            confidence, mention = 0.8, negated
        else:
            confidence, mention = 0.4, True
        if block.kind == CELL:
            mention = True
        emitted |= _emit(
            state,
            context,
            Directive(
                DirectiveKind.RUN,
                state.file,
                statement.line,
                _quote(statement),
                verb="run",
                command=command,
                language="shell",
                folder=_folder(state, statement),
                conditions=conditions,
                mention=mention,
                confidence=confidence,
                alternative=group,
            ),
        )
    return emitted


def _joined_by_or(words: list[str], spans: list[tuple[int, str]]) -> bool:
    return any(
        "or" in words[first + 1 : second] for (first, _), (second, _) in zip(spans, spans[1:], strict=False)
    )


def _ordering(found: list[Order], index: int) -> Order | None:
    best = None
    for order in found:
        if order.verb < index:
            best = order
    return best


def _folder(state: _Text, statement: Statement) -> str:
    if _SKILL_FOLDER.search(statement.text):
        return "skill"
    if _WORKSPACE.search(statement.text):
        return "workspace"
    return state.folder


# ---- fences


def _fence(state: _Text, block: Block, context: Context, found: list[Block]) -> None:
    lexicon = vocabulary()
    language = block.language
    for piece in encoded_prose(block.text, block.line) if len(block.text) < 200_000 else []:
        _hidden(state, piece)
    if language in lexicon["resources.shell_languages"].single or (
        language in ("", "text", "plaintext") and looks_like_commands(block.text, state.package)
    ):
        _shell(state, block, context, confidence=1.0 if language else 0.8)
    elif language in lexicon["resources.python_languages"].single:
        _code(state, block, context, "python")
    elif language in lexicon["resources.javascript_languages"].single:
        _code(state, block, context, "javascript")
    elif language in lexicon["resources.windows_languages"].single:
        state.instructions += not context.mention
        if not context.mention:
            statement = Statement([], block.text.lower().split(), block.text, block.line)
            state.uncompiled.append(
                Sentence(
                    " ".join(block.text.split())[:_QUOTE_LENGTH],
                    state.file,
                    block.line,
                    is_sensitive(statement),
                )
            )
    else:
        _template(state, block, context)


def _shell(state: _Text, block: Block, context: Context, confidence: float) -> None:
    for command in fence_commands(block.text, block.line):
        line = min(command.line, state.last_line)
        usage = usage_command(command.text, state.package)
        group = f"{state.file}:{block.line}:{command.alternative}" if command.alternative else ""
        directive = Directive(
            DirectiveKind.RUN,
            state.file,
            line,
            command.text[:2000],
            verb="run",
            command=usage or command.text,
            language="shell",
            folder=state.folder,
            conditions=context.conditions,
            mention=command.bad,
            confidence=confidence,
            alternative=group,
        )
        if copies_itself(command.text):
            continue
        if _emit(state, context, directive) and not context.mention:
            state.instructions += 1
            state.compiled += 1
        if any(flag in command.text for flag in vocabulary()["postures.override.flags"].single):
            _emit(
                state,
                context,
                Directive(
                    DirectiveKind.OVERRIDE,
                    state.file,
                    line,
                    command.text[:_QUOTE_LENGTH],
                    verb="waive",
                    object="anything",
                    target="confirmation",
                    confidence=0.6,
                    mention=command.bad,
                ),
            )


def _code(state: _Text, block: Block, context: Context, language: str) -> None:
    """A code sample is shown unless the text before it says to run it."""
    if not block.text.strip():
        return
    directive = Directive(
        DirectiveKind.RUN,
        state.file,
        block.line,
        " ".join(block.text.split())[:_QUOTE_LENGTH],
        verb="run",
        command=block.text,
        language=language,
        folder=state.folder,
        conditions=context.conditions,
        mention=not context.ordered,
        confidence=0.6 if context.ordered else 0.4,
    )
    if _emit(state, context, directive) and context.ordered and not context.mention:
        state.instructions += 1
        state.compiled += 1


def _template(state: _Text, block: Block, context: Context) -> None:
    """Prose in a fence is quoted text: its directives are mentions."""
    for offset, line in enumerate(block.text.split("\n")[:2000]):
        command = usage_command(line, state.package) if "sage:" in line else ""
        if command:
            _emit(
                state,
                context,
                Directive(
                    DirectiveKind.RUN,
                    state.file,
                    min(block.line + offset, state.last_line),
                    line.strip()[:_QUOTE_LENGTH],
                    verb="run",
                    command=command,
                    language="shell",
                    confidence=0.8,
                ),
            )
    if block.language not in vocabulary()["resources.prose_languages"].single or len(block.text) > 100_000:
        return
    shown = Context(mention=not context.ordered or context.mention, conditions=context.conditions)
    prose = Block("prose", block.text, block.line, block.headings, -1)
    _prose(state, prose, shown)


# ---- hidden text


def _hidden(state: _Text, piece: HiddenText) -> None:
    """Compile hidden text; that it is hidden is a directive of its own when it orders anything."""
    if state.depth >= _HIDDEN_DEPTH:
        return
    inner = _Text(state.file, state.package, state.derived, state.depth + 1)
    _compile(inner, piece.text[:20_000], piece.line)
    last = state.last_line
    found = [replace(directive, line=min(directive.line, last)) for directive in inner.directives]
    state.directives.extend(found)
    state.instructions += inner.instructions
    state.compiled += inner.compiled
    state.uncompiled.extend(replace(sentence, line=min(sentence.line, last)) for sentence in inner.uncompiled)
    ordered = any(not directive.mention for directive in found) or (
        piece.means != "comment" and (inner.instructions > 0 or not piece.text)
    )
    if ordered:
        text = " ".join(piece.text.split())[:_QUOTE_LENGTH]
        state.directives.append(
            Directive(
                DirectiveKind.CONCEAL,
                state.file,
                min(piece.line, last),
                text or piece.means,
                verb="hide",
                object=f"instructions in {piece.means}",
                target="user",
                confidence=0.9,
            )
        )


# ---- output


def _emit(state: _Text, context: Context, directive: Directive) -> bool:
    """Add a directive with what its surroundings say about it."""
    mention = directive.mention or context.mention or context.descriptive
    confidence = directive.confidence
    if mention:
        confidence = min(confidence, _MENTION_CONFIDENCE)
    if state.derived:
        confidence *= 0.5
    conditions = tuple(dict.fromkeys((*context.conditions, *directive.conditions)))
    state.directives.append(
        replace(
            directive,
            line=max(1, directive.line),
            mention=mention,
            confidence=round(confidence, 3),
            conditions=conditions,
            alternative=directive.alternative
            or (context.alternative if directive.kind is DirectiveKind.RUN else ""),
        )
    )
    return True


def _quote(statement: Statement) -> str:
    return " ".join(statement.text.split())[:_QUOTE_LENGTH]
