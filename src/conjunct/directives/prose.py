"""Paragraphs, list items and cells to directives."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from conjunct.directives.acts import Act, acts, resources_in
from conjunct.directives.commands import inline_command, usage_command
from conjunct.directives.conceal import concealments
from conjunct.directives.conditions import Conditioned, read_conditions
from conjunct.directives.context import Context
from conjunct.directives.foreign import is_foreign
from conjunct.directives.handover import delegations, memories
from conjunct.directives.inline import inline_commands, run_directive
from conjunct.directives.mood import Order, orders
from conjunct.directives.output import Output, quote
from conjunct.directives.override import overrides
from conjunct.directives.package import script_command
from conjunct.directives.structure import Block
from conjunct.directives.tokens import CONCRETE, EMAIL, HOST, PATH, PUNCTUATION, URL, Statement, statements
from conjunct.directives.vocabulary import vocabulary
from conjunct.model import Condition, Directive, DirectiveKind, FactorKind

_QUOTED_TOKENS: Final = 3
_DOCUMENTS: Final = (".md", ".mdx", ".txt", ".markdown", ".rst")
_ARROWS: Final = frozenset({"→", "->", "=>"})
_CONDUCT: Final = (DirectiveKind.OVERRIDE, DirectiveKind.CONCEAL)
_MEANS: Final = frozenset({"using", "following", "per", "via", "against"})
_POINTERS: Final = frozenset(
    ["so", "not", "that case", "this case", "such cases", "these cases", "this happens", "that happens"]
)
"""What is left of "if so" and "in that case" behind their opener."""
_WRITING: Final = frozenset({"append", "edit", "write", "schedule", "set"})


def compile_prose(output: Output, block: Block, context: Context) -> tuple[Condition, ...]:
    """Compile one block; returns the conditions that hold for what it introduces."""
    if block.item < 0:
        output.conditions = ()
    for line, command in _usage_lines(output, block):
        output.emit(context, run_directive(output, line, command, command, confidence=0.8))
    inherited: tuple[Condition, ...] = ()
    for statement in statements(block.text, block.line):
        inherited = _statement(output, statement, context, block)
    introduces = block.text.rstrip().rstrip("*_").endswith((":", "："))
    return inherited if introduces or block.item >= 0 else ()


def _usage_lines(output: Output, block: Block) -> list[tuple[int, str]]:
    if "sage:" not in block.text:
        return []
    lines = enumerate(block.text.split("\n"), start=block.line)
    found = ((line, usage_command(text.strip("`* "), output.package)) for line, text in lines)
    return [(line, command) for line, command in found if command]


def _statement(output: Output, statement: Statement, context: Context, block: Block) -> tuple[Condition, ...]:
    output.next_statement()
    if is_foreign(statement):
        output.count(context, False, statement)
        return ()
    _notice_folder(output, statement)
    conditioned = read_conditions(statement)
    found = orders(statement, conditioned.excluded)
    own = _continued(output, statement, tuple(condition for condition, _, _ in conditioned.conditions))
    read = {condition for condition, _, _ in conditioned.conditions}
    earlier = tuple(condition for condition in own if condition not in read) if read else ()
    before = len(output.directives)
    remembered = _conduct(output, statement, found, conditioned, context, own)
    understood = False
    for order in found:
        conditions = conditioned.of(order.start, order.end) if conditioned.conditions else own
        if earlier:
            conditions = (*earlier, *(c for c in conditions if c in own and c not in earlier))
        understood |= _order(output, statement, order, context, conditions, remembered)
    if not found and _placed(output, statement, context, own):
        return own
    inline_commands(output, statement, found, context, own, block)
    _quoted(output, statement, context)
    resource = next((token.text for token in statement.tokens if token.kind in CONCRETE), "")
    if resource:
        output.refer(resource)
    new = len(output.directives) > before
    obeyed = any(not directive.mention for directive in output.directives[before:])
    if (context.descriptive and not obeyed) or _is_activation(statement, found):
        return own
    if found or obeyed:
        output.count(context, new or understood, statement)
    return own


def _placed(
    output: Output, statement: Statement, context: Context, conditions: tuple[Condition, ...]
) -> bool:
    """`totals → totals.md` behind "Save as follows:": an item without a verb has that of its lead-in.

    Without such a lead-in, an arrow to an address is an instruction that was not understood.
    """
    lexicon = vocabulary()
    tokens = statement.tokens
    if _ARROWS.isdisjoint(statement.words):
        return False
    at = next((index for index, token in enumerate(tokens[:40]) if token.low in _ARROWS), 0)
    if not at or at + 1 >= len(tokens):
        return False
    behind = resources_in(tokens[at + 1 :])
    if not behind:
        return False
    outside = any(token.kind in (URL, HOST, EMAIL) for token in tokens[at + 1 :])
    verb = context.verb if context.verb in lexicon["verbs.placing"].single else ""
    if not verb:
        if outside and not context.descriptive:
            output.count(context, False, statement)
        return outside
    start, end = tokens[0].start, tokens[at - 1].end
    directive = Directive(
        DirectiveKind.ACT,
        output.file,
        statement.line,
        quote(statement),
        verb="send" if outside else "append",
        object=statement.text[: end - start][:200],
        target=behind[0][:200],
        conditions=conditions,
        confidence=0.8,
    )
    output.emit(context, directive)
    output.count(context, True, statement)
    return True


def _quoted(output: Output, statement: Statement, context: Context) -> None:
    """What a quotation inside a statement orders is a mention: red flags, sample requests."""
    inner = [token for token in statement.tokens if token.quoted and not token.code]
    if len(inner) < _QUOTED_TOKENS:
        return
    tokens = [replace(token, quoted=False) for token in inner]
    offset = statement.tokens[0].start
    text = statement.text[tokens[0].start - offset : tokens[-1].end - offset]
    shown = Statement(tokens, [token.low for token in tokens], text, statement.line)
    conditioned = read_conditions(shown)
    found = orders(shown, conditioned.excluded)
    if not found:
        return
    mention = replace(context, mention=True)
    _conduct(output, shown, found, conditioned, mention, ())
    for order in found:
        _order(output, shown, order, mention, (), False)


def _notice_folder(output: Output, statement: Statement) -> None:
    """Remember in which folder the text says that commands run."""
    lexicon = vocabulary()
    if lexicon["resources.skill_folder_names"].within(statement.words):
        output.folder = "skill"
    elif lexicon["resources.workspace_names"].within(statement.words):
        output.folder = "workspace"


def _continued(output: Output, statement: Statement, own: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """`In that case, …`, `If so, …`, `Otherwise …` refer to the condition before."""
    lexicon = vocabulary()
    further = tuple(c for c in own if c.operator != "unknown" or c.value not in _POINTERS)
    if lexicon["conditions.same"].at(statement.words, 0):
        own = (*output.conditions, *further)
    elif lexicon["conditions.opposite"].at(statement.words, 0):
        own = (*_opposite(output.conditions), *further)
    output.conditions = own
    return own


def _opposite(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """What "otherwise" means; behind several conditions that any one of them failed: not understood."""
    if len(conditions) < 2:
        return tuple(replace(c, negated=not c.negated) for c in conditions)
    quote_ = " and ".join(c.quote for c in conditions)[:240]
    return (Condition(FactorKind.ARGUMENTS, "unknown", "", quote=f"otherwise: {quote_}"),)


def _is_activation(statement: Statement, found: list[Order]) -> bool:
    """`Use this skill when …` says when to load the skill, and orders nothing."""
    lexicon = vocabulary()
    if len(found) != 1 or not lexicon["verbs.activation"].at(statement.words, found[0].verb):
        return False
    following = statement.words[found[0].verb + 1 : found[0].verb + 4]
    return (
        not following
        or following[0] in ("when", "it", "proactively")
        or (following[0] in ("this", "the") and "skill" in following)
    )


def _conduct(
    output: Output,
    statement: Statement,
    found: list[Order],
    conditioned: Conditioned,
    context: Context,
    conditions: tuple[Condition, ...],
) -> bool:
    """Directives about conduct; returns whether one of them writes to memory."""
    excluded = conditioned.excluded
    if context.prohibits:
        # "Don't:" above a list: what an item asks for is asked not to be done
        found = [replace(order, negated=True) for order in found]
        context = replace(context, mention=False)
    postures = [
        *overrides(statement, found, excluded),
        *concealments(statement, found, excluded),
        *delegations(statement, found, output.package),
        *memories(statement, found),
    ]
    if context.prohibits:
        postures = [posture for posture in postures if posture.kind in _CONDUCT]
    for posture in postures:
        output.emit(
            context,
            Directive(
                posture.kind,
                output.file,
                statement.line,
                quote(statement),
                verb=posture.verb,
                object=posture.object,
                target=posture.target,
                conditions=conditions,
                mention=posture.negated,
                confidence=posture.confidence,
            ),
        )
    return any(posture.kind is DirectiveKind.REMEMBER for posture in postures)


def _order(
    output: Output,
    statement: Statement,
    order: Order,
    context: Context,
    conditions: tuple[Condition, ...],
    remembered: bool,
) -> bool:
    """The script or the acts of one order; true when it was understood, even as no directive."""
    script = _script(output, statement, order)
    if script:
        directive = run_directive(output, statement.line, quote(statement), script, confidence=0.9)
        output.emit(context, replace(directive, conditions=conditions, mention=order.negated))
        return True
    before = resources_in(statement.tokens[: order.verb])
    found = acts(statement, order, before[-1] if before else output.antecedent)
    for act in found:
        if act.object and ("/" in act.object or "." in act.object):
            output.refer(act.object)
        written_out = (
            act.verb == "install" and " " in act.object and inline_command(act.object, output.package)
        )
        if written_out or (remembered and act.verb in _WRITING) or _installs_itself(output, statement, act):
            continue
        output.emit(
            context,
            Directive(
                DirectiveKind.ACT,
                output.file,
                statement.line,
                quote(statement),
                verb=act.verb,
                object=act.object[:200],
                target=act.target[:200],
                conditions=conditions,
                mention=order.negated,
                confidence=act.confidence * (0.5 if order.optional else 1.0),
            ),
            definite=act.definite,
        )
    consulted = _consults(output, statement, order, context, conditions)
    return bool(found) or consulted


def _consults(
    output: Output, statement: Statement, order: Order, context: Context, conditions: tuple[Condition, ...]
) -> bool:
    """`write the packet using references/format.md`: the named document is read first."""
    lexicon = vocabulary()
    tokens, words = statement.tokens, statement.words
    consulted = False
    for index in range(order.verb + 1, order.end):
        token = tokens[index]
        if token.kind != PATH or not token.low.endswith(_DOCUMENTS):
            continue
        means = any(words[at] in _MEANS for at in range(max(order.verb + 1, index - 6), index))
        if not means or lexicon["verbs.run.strong"].at(words, order.verb) or order.negated:
            continue
        if any(d.line == statement.line and d.object == token.text for d in output.directives[-4:]):
            continue
        consulted = True
        output.emit(
            context,
            Directive(
                DirectiveKind.ACT, output.file, statement.line, quote(statement), verb="read",
                object=token.text[:200], conditions=conditions, confidence=0.8,
            ),
        )  # fmt: skip
    return consulted


def _installs_itself(output: Output, statement: Statement, act: Act) -> bool:
    """`copy this folder to ~/.claude/skills` installs the package; fetching anything does not count."""
    lexicon = vocabulary()
    if act.verb not in ("copy", "move", "write") or "://" in statement.text:
        return False
    head, found, tail = act.target.rstrip("/").rpartition("skills")
    if not found or (head and not head.endswith("/")) or tail.strip("/") not in ("", output.package.name):
        return False
    return lexicon["resources.own_package"].within(act.object.lower().split()) or not act.object


def _script(output: Output, statement: Statement, order: Order) -> str:
    """The command for a script that an order names without writing the command out."""
    lexicon = vocabulary()
    words, tokens = statement.words, statement.tokens
    if order.passive:
        if not lexicon["verbs.run.participle"].at(words, order.verb):
            return ""
    elif not lexicon["verbs.run.base"].at(words, order.verb):
        return ""
    strong = order.passive or lexicon["verbs.run.strong"].at(words, order.verb) > 0
    for index in range(order.start if order.passive else order.verb + 1, order.end):
        if tokens[index].kind != PATH:
            continue
        if not strong and words[index - 1] not in ("with", "using", "via", "by"):
            continue
        located = output.package.locate(tokens[index].text)
        if (
            not located
            and "/" not in tokens[index].text
            and not lexicon["verbs.run.starting"].at(words, order.verb)
        ):
            continue  # "use Auth.js" names a library
        command = script_command(located or tokens[index].text)
        if command:
            return command + _argument(statement, index + 1, order.end)
    following = words[order.verb + 1 : order.verb + 4]
    if (
        not order.passive
        and lexicon["verbs.run.starting"].at(words, order.verb)
        and (following[:1] == ["it"] or following[:2] == ["the", "script"])
    ):
        before = resources_in(statement.tokens[: order.verb], frozenset({PATH}))
        meant = before[-1] if before else output.antecedent
        return script_command(meant) if meant and "://" not in meant else ""
    return ""


def _argument(statement: Statement, start: int, end: int) -> str:
    """` input.csv` for "on input.csv", ` <the-file>` for "on the file"; else nothing."""
    lexicon = vocabulary()
    tokens = statement.tokens
    for index in range(start, min(end, start + 6)):
        if tokens[index].low not in ("on", "over", "against", "with"):
            continue
        following = tokens[index + 1 : min(end, index + 6)]
        for token in following:
            if token.kind in (PATH, URL):
                return f" {token.text}"
        if tokens[index].low == "with":
            return ""
        words = [
            token.low
            for token in following
            if token.kind != PUNCTUATION and not lexicon["resources.articles"].at([token.low], 0)
        ]
        return f" <{'-'.join(words[:3]) or 'file'}>"
    return ""
