"""How a line of a shell script is reached: the tests above it decided, by the tree-sitter grammar for bash.

Decided are `if` and `elif`, `while` and `until`, `case`, `&&` and `||`; `exit` and `return` before the line
and `set -e` do nothing; then the same for a call of the function that holds the line. A look-up of a file
that is not there, right before the line, tells in the trace that it was reached.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from functools import lru_cache
from zlib import crc32

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from conjunct.reach.forcing import Edit, Forcing, NotForced, Place, fitted

LARGEST = 48 * 1024
"""Characters of one script: the grammar takes quadratic time on some texts."""
MOST_NODES = 60_000
MARKER = "/tmp/.reached"
"""Start of the path that is looked up before a forced line."""

_BLOCKS = frozenset(
    {"program", "compound_statement", "do_group", "else_clause", "elif_clause", "case_item", "subshell",
     "command_substitution", "if_statement"}
)  # fmt: skip
_STATEMENTS = frozenset(
    {"command", "pipeline", "list", "if_statement", "while_statement", "for_statement", "case_statement",
     "c_style_for_statement", "redirected_statement", "variable_assignment", "variable_assignments",
     "declaration_command", "compound_statement", "subshell", "test_command", "negated_command",
     "unset_command"}
)  # fmt: skip


@lru_cache(maxsize=1)
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def _parsed(text: str) -> Node:
    return _parser().parse(text.encode("utf-8")).root_node


class ShellSources:
    """The shell scripts of one package, ready to tell how their lines are reached."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = {file: text for file, text in texts.items() if len(text) <= LARGEST}
        self._scripts: dict[str, _Script | None] = {}

    def force(
        self, place: Place, ran: Collection[Place], *, stuck: Collection[Place] = ()
    ) -> Forcing | NotForced:
        """How `place` is reached once its script runs. Which lines ran is not known: the rest is unused."""
        script = self._script(place[0])
        if script is None:
            return NotForced(place, "the script cannot be read as shell, or is too large to be rewritten")
        return script.force(place)

    def stopped(self, place: Place, ran: Collection[Place]) -> Place | None:
        """Unknown: which lines of a script ran is not recorded."""
        return None

    def _script(self, file: str) -> _Script | None:
        if file not in self._scripts:
            text = self.texts.get(file)
            root = None if text is None else _parsed(text)
            script = None if text is None or root is None or root.has_error else _Script(file, text, root)
            self._scripts[file] = script if script is not None and len(script.nodes) < MOST_NODES else None
        return self._scripts[file]


class _Script:
    """One parsed script."""

    def __init__(self, file: str, text: str, root: Node) -> None:
        self.file = file
        self.content = text.encode("utf-8")
        self.parents: dict[int, Node] = {}
        self.nodes = [root]
        for node in self.nodes:
            below = node.children
            self.parents.update((child.id, node) for child in below)
            self.nodes += below
            if len(self.nodes) >= MOST_NODES:
                break

    def text(self, node: Node) -> str:
        """The source of a node."""
        return self.content[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def force(self, place: Place) -> Forcing | NotForced:
        """The edits by which a line is reached from the first line of the script."""
        target = next(
            (n for n in self.nodes if n.start_point[0] + 1 == place[1] and n.type in _STATEMENTS), None
        )
        target = self._innermost(place[1], target)
        if target is None:
            return NotForced(place, "no command starts on this line")
        queue: deque[tuple[Node, list[Edit], list[str]]] = deque([(target, [], [])])
        seen: set[int] = set()
        while queue:
            node, edits, tests = queue.popleft()
            function = self._climb(node, edits, tests)
            if function is None:
                return self._finished(place, target, max(target.start_byte, node.start_byte), edits, tests)
            if function.id in seen:
                continue
            seen.add(function.id)
            for call in self._calls(function):
                queue.append((call, [*edits], [*tests]))
        return NotForced(place, "nothing in the script calls its function")

    def _innermost(self, line: int, target: Node | None) -> Node | None:
        """Of the commands that start on the line, the one under the most tests."""
        best, most = target, -1
        for node in self.nodes:
            if node.start_point[0] + 1 == line and node.type in ("command", "redirected_statement"):
                above = self._above(node)
                weight = sum(
                    parent.type == "list" and child != parent.named_children[0] for child, parent in above
                )
                if weight > most:
                    best, most = node, weight
        return best

    def _above(self, node: Node) -> list[tuple[Node, Node]]:
        found = []
        while (parent := self.parents.get(node.id)) is not None:
            found.append((node, parent))
            node = parent
        return found

    def _calls(self, function: Node) -> list[Node]:
        name = function.child_by_field_name("name")
        wanted = self.text(name) if name is not None else ""
        inside = range(function.start_byte, function.end_byte)
        return [
            node
            for node in self.nodes
            if node.type == "command"
            and node.start_byte not in inside
            and (called := node.child_by_field_name("name")) is not None
            and self.text(called) == wanted
        ]

    def _finished(
        self, place: Place, target: Node, until: int, edits: list[Edit], tests: list[str]
    ) -> Forcing | NotForced:
        start = self._statement_start(target)
        marker = f"{MARKER}.{crc32(repr(place).encode()):08x}"
        leaving = [one for one in self._exits(until) if not any(e.start <= one.start < e.end for e in edits)]
        mark = Edit(self.file, start, start, f"[ -e {marker} ]; ")
        made = tuple(dict.fromkeys((*edits, *leaving, mark)))
        content = self.content
        position, parts = 0, []
        for edit in sorted(made, key=lambda one: (one.start, one.end)):
            if edit.start < position:
                return NotForced(place, "its tests overlap and cannot be replaced one by one")
            parts += [content[position : edit.start], edit.text.encode()]
            position = edit.end
        forced = b"".join((*parts, content[position:]))
        root = _parsed(forced.decode())
        if root.has_error or forced.count(b"\n") != content.count(b"\n"):
            return NotForced(place, "its tests could not be replaced without changing the lines below")
        return Forcing(place, made, tuple(dict.fromkeys(tests)), marker)

    def _statement_start(self, node: Node) -> int:
        for child, parent in self._above(node):
            if parent.type in _BLOCKS and not (
                parent.type in ("if_statement", "elif_clause") and child in _condition(parent)
            ):
                return child.start_byte
        return node.start_byte

    # ---- climbing

    def _climb(self, node: Node, edits: list[Edit], tests: list[str]) -> Node | None:
        """Decide every test above a node; the function definition it ends at, or `None` for the script."""
        for child, parent in self._above(node):
            if parent.type == "function_definition":
                return parent
            if parent.type in ("if_statement", "elif_clause"):
                self._branch(parent, child, edits, tests)
            elif parent.type == "while_statement" and child.type == "do_group":
                self._once(parent, edits, tests)
            elif parent.type == "case_item":
                self._case(parent, edits, tests)
            elif parent.type == "list" and child != parent.named_children[0]:
                self._decide(parent.named_children[:1], _joint(parent) == "&&", edits, tests)
        return None

    def _branch(self, parent: Node, child: Node, edits: list[Edit], tests: list[str]) -> None:
        condition = _condition(parent)
        if not condition or child in condition:
            return
        taken = child.type not in ("else_clause", "elif_clause")
        self._decide(condition, taken, edits, tests)
        if parent.type == "if_statement" and not taken:
            for other in parent.children:
                if other == child:
                    break
                test = _condition(other) if other.type == "elif_clause" else []
                if test:
                    self._decide(test, False, edits, tests)

    def _decide(self, test: list[Node], value: bool, edits: list[Edit], tests: list[str]) -> None:
        start, end = test[0].start_byte, test[-1].end_byte
        text = self.content[start:end].decode("utf-8", "replace")
        tests.append(" ".join((text if value else f"not ({text})").split())[:300])
        opening = "{ true;" if value else "{ false;"
        edits.append(Edit(self.file, start, end, fitted(opening, text, " }")))

    def _once(self, loop: Node, edits: list[Edit], tests: list[str]) -> None:
        """The condition is evaluated once, whatever it says, and then does not hold any more."""
        condition = _condition(loop)
        if not condition:
            return
        start, end = condition[0].start_byte, condition[-1].end_byte
        text = self.content[start:end].decode("utf-8", "replace")
        tests.append(" ".join(text.split())[:300])
        name = f"_forced_{start}"
        until = self.text(loop.children[0]) == "until"
        holds = f'[ -z "${{{name}-}}" ] && {name}=1 && {{ {{ {text}; }} || true; }}'
        edits.append(Edit(self.file, start, end, f"{'! ' if until else ''}{{ {holds}; }}"))

    def _case(self, item: Node, edits: list[Edit], tests: list[str]) -> None:
        statement = self.parents.get(item.id)
        if statement is None or statement.type != "case_statement":
            return
        subject = statement.child_by_field_name("value")
        if subject is None:
            return
        tests.append(f"case {self.text(subject)}"[:300])
        edits.append(Edit(self.file, subject.start_byte, subject.end_byte, "_forced_"))
        for other in statement.named_children:
            if other.type == "case_item":
                values = other.children_by_field_name("value")
                if values:
                    start, end = values[0].start_byte, values[-1].end_byte
                    mine = other == item
                    # A pattern goes on in the next line only after a backslash.
                    rows = self.content[start:end].count(b"\n")
                    text = ("_forced_" if mine else "_other_") + "\\\n" * rows
                    edits.append(Edit(self.file, start, end, text))
                if other == item:
                    return

    def _exits(self, until: int) -> list[Edit]:
        """What could end the script before the line: `exit`, `return`, `set -e`, `set -u`."""
        found = []
        for node in self.nodes:
            if node.type != "command" or node.start_byte >= until:
                continue
            words = self.text(node).split()
            if words and (words[0] in ("exit", "return") or (words[0] == "set" and _stops_at_errors(words))):
                found.append(Edit(self.file, node.start_byte, node.end_byte, ":"))
        return found


def _stops_at_errors(words: list[str]) -> bool:
    return any(word.startswith("-") and ("e" in word or "u" in word) for word in words[1:])


def _condition(parent: Node) -> list[Node]:
    """The commands whose last one decides."""
    marked = [node for node in parent.children_by_field_name("condition") if node.is_named]
    return marked or [node for node in parent.named_children[:1] if node.type != "comment"]


def _joint(node: Node) -> str:
    return next((child.type for child in node.children if child.type in ("&&", "||")), "&&")
