"""How a line of JavaScript is reached: the tests above it decided, by the tree-sitter grammar.

Decided are `if`, `while`, `switch`, `catch`, conditional expressions, `&&`, `||` and `??`; `return`, `throw`,
`break`, `continue` and `process.exit` before the line do nothing; then the same for a call of the function
that holds the line, in any file of the package. A look-up of a file that is not there, right before the call,
tells in the trace that it was reached.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from zlib import crc32

import tree_sitter_javascript
from tree_sitter import Language, Node, Parser

from conjunct.reach.forcing import Edit, Forcing, NotForced, Place, apply_edits, compatible, fitted

LARGEST = 128 * 1024
"""Characters of one file that is rewritten."""
MOST_NODES = 120_000
MOST_WAYS = 300
"""Calls and mentions looked through for a way from a line to the top of a file."""
MARKER = "/tmp/.reached"
"""Start of the path that is looked up before a forced line."""

_FUNCTIONS = frozenset(
    {"function_declaration", "function_expression", "arrow_function", "method_definition",
     "generator_function_declaration", "generator_function"}
)  # fmt: skip
_LOOPS = frozenset({"while_statement", "do_statement", "for_statement", "for_in_statement"})
_CALLS = frozenset({"call_expression", "new_expression"})
_ONCE = "(!globalThis.{name}&&(globalThis.{name}=1,({text}),true))"


@lru_cache(maxsize=1)
def _parser() -> Parser:
    return Parser(Language(tree_sitter_javascript.language()))


class _File:
    """One parsed file."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.content = file, text.encode("utf-8")
        self.root = _parser().parse(self.content).root_node
        self.parents: dict[int, Node] = {}
        self.nodes = [self.root]
        for node in self.nodes:
            below = node.named_children
            self.parents.update((child.id, node) for child in below)
            self.nodes += below
            if len(self.nodes) >= MOST_NODES:
                break

    @property
    def readable(self) -> bool:
        """Whether the whole file was understood."""
        return not self.root.has_error and len(self.nodes) < MOST_NODES

    def text(self, node: Node) -> str:
        """The source of a node."""
        return self.content[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def above(self, node: Node) -> Iterator[tuple[Node, Node]]:
        """(node, its parent) pairs from a node up to the file."""
        while (parent := self.parents.get(node.id)) is not None:
            yield node, parent
            node = parent

    def replaced(self, node: Node, by: str) -> Edit:
        """A node replaced by one expression or statement, its line ends kept."""
        return Edit(self.file, node.start_byte, node.end_byte, fitted(by, self.text(node), ""))


class JavaScriptSources:
    """The JavaScript files of one package, ready to tell how their lines are reached."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        read = (_File(file, text) for file, text in texts.items() if len(text) <= LARGEST)
        self._files = {one.file: one for one in read if one.readable}
        self._uses: dict[str, list[tuple[_File, Node]]] = {}
        for one in self._files.values():
            for node in one.nodes:
                if node.type in ("identifier", "property_identifier"):
                    self._uses.setdefault(one.text(node), []).append((one, node))

    def force(
        self, place: Place, ran: Collection[Place], *, stuck: Collection[Place] = ()
    ) -> Forcing | NotForced:
        """How `place` is reached once its file is loaded. Which lines ran is not known: `ran` is unused."""
        source = self._files.get(place[0])
        if source is None:
            return NotForced(place, "the file cannot be read as JavaScript, or is too large to be rewritten")
        target = _target(source, place[1])
        if target is None:
            return NotForced(place, "no call starts on this line")
        queue: deque[tuple[_File, Node, list[Edit], list[str]]] = deque([(source, target, [], [])])
        seen: set[tuple[str, int]] = set()
        for _ in range(MOST_WAYS):
            if not queue:
                break
            here, node, edits, tests = queue.popleft()
            function = _climb(here, node, edits, tests)
            if function is None:
                return self._finished(source, place, target, edits, tests)
            if (here.file, function.id) not in seen:
                seen.add((here.file, function.id))
                queue.extend((other, use, [*edits], [*tests]) for other, use in self._uses_of(here, function))
        return NotForced(place, "nothing in the package calls its function")

    def stopped(self, place: Place, ran: Collection[Place]) -> Place | None:
        """Unknown: which lines of a script ran is not recorded."""
        return None

    def _uses_of(self, source: _File, function: Node) -> list[tuple[_File, Node]]:
        name = _name_of(source, function)
        inside = range(function.start_byte, function.end_byte)
        uses = [
            (other, node)
            for other, node in self._uses.get(name, [])[:200]
            if not (other is source and node.start_byte in inside) and not _is_definition(other, node)
        ]
        return sorted(uses, key=lambda use: not _is_called(*use))[:40]

    def _finished(
        self, source: _File, place: Place, target: Node, edits: list[Edit], tests: list[str]
    ) -> Forcing | NotForced:
        marker = f"{MARKER}.{crc32(repr(place).encode()):08x}"
        made = tuple(dict.fromkeys((*edits, *_marks(source, target, marker))))
        files = {edit.file for edit in made}
        for file in files:
            mine = [edit for edit in made if edit.file == file]
            text = self._files[file].content.decode("utf-8")
            if not compatible(mine):
                return NotForced(place, "its tests overlap and cannot be replaced one by one")
            forced = apply_edits(text, mine)
            if forced.count("\n") != text.count("\n") or not _File(file, forced).readable:
                return NotForced(place, "its tests could not be replaced without changing the lines below")
        return Forcing(place, made, tuple(dict.fromkeys(tests)), marker)


# ---- climbing


def _climb(source: _File, node: Node, edits: list[Edit], tests: list[str]) -> Node | None:
    """Decide every test above a node; gives the named function it ends at, `None` at the top of the file."""
    for child, parent in source.above(node):
        kind = parent.type
        condition = parent.child_by_field_name("condition")
        if kind in ("if_statement", "ternary_expression") and condition is not None and child != condition:
            taken = child == parent.child_by_field_name("consequence")
            edits.append(_decided(source, condition, taken, tests))
        elif kind == "while_statement" and condition is not None and child != condition:
            tests.append(_told(source, condition))
            once = _ONCE.format(name=f"_forced_{condition.start_byte}", text=source.text(condition))
            edits.append(Edit(source.file, condition.start_byte, condition.end_byte, f"({once})"))
        elif kind == "binary_expression" and child == parent.child_by_field_name("right"):
            edits += _short_circuit(source, parent, tests)
        elif kind in ("switch_case", "switch_default"):
            edits += _case(source, parent, tests)
        elif kind == "catch_clause":
            edits += _raised(source, parent, tests)
        edits += _leaves_before(source, parent, child)
        if kind in _FUNCTIONS and child == parent.child_by_field_name("body") and _name_of(source, parent):
            return parent
    return None


def _told(source: _File, test: Node, value: bool = True) -> str:
    text = " ".join(source.text(test).strip("()" if test.type == "parenthesized_expression" else "").split())
    return (text if value else f"not ({text})")[:300]


def _decided(source: _File, test: Node, value: bool, tests: list[str]) -> Edit:
    tests.append(_told(source, test, value))
    word = "true" if value else "false"
    # Without parentheses of its own: a line that starts with one goes on with the line before it.
    return source.replaced(test, f"({word})" if test.type == "parenthesized_expression" else word)


def _short_circuit(source: _File, parent: Node, tests: list[str]) -> list[Edit]:
    left, operator = parent.child_by_field_name("left"), parent.child_by_field_name("operator")
    word = {"&&": "true", "||": "false", "??": "null"}.get(source.text(operator) if operator else "")
    if left is None or word is None:
        return []
    tests.append(_told(source, left, word == "true"))
    return [source.replaced(left, word)]


def _case(source: _File, case: Node, tests: list[str]) -> list[Edit]:
    body = source.parents.get(case.id)
    statement = source.parents.get(body.id) if body is not None else None
    subject = statement.child_by_field_name("value") if statement is not None else None
    if body is None or subject is None:
        return []
    tests.append(f"switch {_told(source, subject)}")
    found = [source.replaced(subject, "(true)")]
    for other in body.named_children:
        value = other.child_by_field_name("value")
        if value is not None:
            found.append(source.replaced(value, " true" if other == case else " false"))
    return found


def _raised(source: _File, clause: Node, tests: list[str]) -> list[Edit]:
    statement = source.parents.get(clause.id)
    body = statement.child_by_field_name("body") if statement is not None else None
    if body is None:
        return []
    tests.append("catch")
    end = body.end_byte - 1
    return [Edit(source.file, end, end, ";throw new Error('forced');")]


def _leaves_before(source: _File, parent: Node, child: Node) -> list[Edit]:
    """What leaves the function, the loop or the process before a statement of the same block."""
    if parent.type not in ("program", "statement_block", "switch_case", "switch_default"):
        return []
    found: list[Edit] = []
    stack = [(node, False) for node in parent.named_children if node.end_byte <= child.start_byte]
    while stack:
        node, inside = stack.pop()
        ends = ("return_statement", "throw_statement")
        if node.type in (ends if inside else (*ends, "break_statement", "continue_statement")):
            found.append(source.replaced(node, ";"))
        elif node.type == "call_expression" and source.text(node).startswith("process.exit("):
            found.append(source.replaced(node, "void 0"))
        elif node.type not in _FUNCTIONS and node.type != "class_declaration":
            loop = inside or node.type in _LOOPS or node.type == "switch_statement"
            stack += [(below, loop) for below in node.named_children]
    return found


# ---- names and targets


def _name_of(source: _File, function: Node) -> str:
    """Name by which a function is called; empty for one that is written where it is used."""
    name = function.child_by_field_name("name")
    if name is not None:
        text = source.text(name)
        if text != "constructor":
            return text
        holder = next((up for _, up in source.above(function) if up.type.startswith("class")), None)
        name = holder.child_by_field_name("name") if holder is not None else None
        return source.text(name) if name is not None else ""
    parent = source.parents.get(function.id)
    if parent is None:
        return ""
    field = {"variable_declarator": "name", "assignment_expression": "left", "pair": "key"}.get(parent.type)
    given = parent.child_by_field_name(field) if field else None
    return source.text(given).rsplit(".", 1)[-1] if given is not None else ""


def _is_definition(source: _File, node: Node) -> bool:
    parent = source.parents.get(node.id)
    if parent is None:
        return False
    return parent.type in _FUNCTIONS or (
        parent.type in ("variable_declarator", "class_declaration")
        and parent.child_by_field_name("name") == node
    )


def _is_called(source: _File, node: Node) -> bool:
    parent = source.parents.get(node.id)
    if parent is not None and parent.type == "member_expression":
        node, parent = parent, source.parents.get(parent.id)
    return parent is not None and (
        parent.child_by_field_name("function") == node or parent.child_by_field_name("constructor") == node
    )


def _target(source: _File, line: int) -> Node | None:
    """The call on a line that lies under the most tests."""
    best, most = None, -1
    for node in source.nodes:
        if node.type in _CALLS and node.start_point[0] + 1 == line:
            weight = sum(
                (up.type == "binary_expression" and child == up.child_by_field_name("right"))
                or (
                    up.type in ("if_statement", "ternary_expression", "while_statement")
                    and child != up.child_by_field_name("condition")
                )
                for child, up in source.above(node)
            )
            if weight > most:
                best, most = node, weight
    return best


def _marks(source: _File, target: Node, marker: str) -> list[Edit]:
    """The look-up that tells that the call is about to be made."""
    module = source.file.endswith(".mjs") or any(
        node.type in ("import_statement", "export_statement") for node in source.root.named_children
    )
    look = f"_forced_look({marker!r})" if module else f"require('fs').existsSync({marker!r})"
    start, end = target.start_byte, target.end_byte
    statement = next((up for _, up in source.above(target) if up.type == "expression_statement"), None)
    if statement is not None and statement.start_byte == start:
        found = [Edit(source.file, start, start, f"void {look},")]
    else:
        found = [Edit(source.file, start, start, f"({look},"), Edit(source.file, end, end, ")")]
    if module:
        first = next(
            (n for n in source.root.named_children if n.type not in ("hash_bang_line", "comment")), None
        )
        at = first.start_byte if first is not None else 0
        if at == start:
            return []
        found.append(Edit(source.file, at, at, "import {existsSync as _forced_look} from 'fs';"))
    return found
