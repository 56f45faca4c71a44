"""How a line of Python is reached: every test above it decided, from the line up to where a run came by.

Decided are `if`, `while`, `for` over nothing, `match`, exception handlers, conditional expressions, `and`,
`or` and the conditions of comprehensions; what leaves the function before the line (`return`, `raise`,
`sys.exit`, `assert`) is switched off; then the same for a call of the function, up to code that ran.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from posixpath import basename, dirname

from conjunct.reach.forcing import Edit, Forcing, NotForced, Place, fitted
from conjunct.reach.forcing_python_tree import (
    COMPOUND,
    FUNCTIONS,
    KEPT,
    SourceFile,
    block_of,
    branch_off,
    enclosing,
    first_line,
    header_of,
    is_main,
    last_that_ran,
    leaves_of,
    names_used,
    node_at,
    shape_of,
)
from conjunct.reach.python_modules import parse_python

MOST_FUNCTIONS = 200
"""Functions looked through for a way from a line up to code that ran."""
MOST_WAYS = 600
"""Calls and mentions looked through for it."""
_MOST_USES = 40
"""Uses of one name that are followed."""


@dataclass(slots=True)
class _Climb:
    """What one way up needs."""

    stuck: Collection[Place] = ()
    edits: list[Edit] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)


class PythonSources:
    """The Python files of one package, ready to tell how their lines are reached."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.files: dict[str, SourceFile] = {}
        self.uses: dict[str, list[tuple[SourceFile, ast.AST]]] = {}
        """Name to the places that use it; calls before mere mentions."""
        for file, text in texts.items():
            tree = parse_python(text)
            if tree is None:
                continue
            source = SourceFile(file, text, tree)
            if source.complete:
                self.files[file] = source
                self._index(source)
        for sites in self.uses.values():
            sites.sort(key=lambda site: not isinstance(site[1], ast.Call))
            del sites[_MOST_USES:]
        self._leaves: dict[int, list[ast.stmt]] = {}

    def _index(self, source: SourceFile) -> None:
        called: set[int] = set()
        for node in source.nodes:
            for name in names_used(node, called):
                sites = self.uses.setdefault(name, [])
                if len(sites) < 4 * _MOST_USES:
                    sites.append((source, node))

    # ---- ways

    def force(
        self, place: Place, ran: Collection[Place], *, stuck: Collection[Place] = ()
    ) -> Forcing | NotForced:
        """How `place` is reached in a run that otherwise runs the lines `ran`, the shortest way by calls.

        `stuck`: statements at which earlier forced runs came to an end; they are left out.
        """
        source = self.files.get(place[0])
        if source is None:
            return NotForced(place, "the file cannot be read as Python 3, or is too large to be rewritten")
        target = node_at(source, place[1])
        if target is None:
            return NotForced(place, "no code starts on this line")
        files = {file for file, _ in ran}
        queue = deque([(source, target, _Climb(stuck))])
        seen: set[int] = set()
        for _ in range(MOST_WAYS):
            if not queue or len(seen) >= MOST_FUNCTIONS:
                break
            here, node, climb = queue.popleft()
            top = self._climb(here, node, ran, climb)
            if top is None or (isinstance(top, ast.Module) and here.file in files):
                return self._finished(place, climb)
            if id(top) in seen:
                continue
            seen.add(id(top))
            for other, site in self._uses_of(here, top):
                queue.append((other, site, _Climb(stuck, [*climb.edits], [*climb.tests])))
        return NotForced(place, "no documented command leads to it: nothing that ran calls its function")

    def stopped(self, place: Place, ran: Collection[Place]) -> Place | None:
        """The statement on the way to a line after which a run, that did not reach it, went elsewhere."""
        source = self.files.get(place[0])
        target = node_at(source, place[1]) if source else None
        if source is None or target is None:
            return None
        queue: deque[tuple[SourceFile, ast.AST]] = deque([(source, target)])
        seen: set[int] = set()
        for _ in range(MOST_WAYS):
            if not queue or len(seen) >= MOST_FUNCTIONS:
                break
            here, node = queue.popleft()
            top: ast.AST = node
            while (parent := here.parents.get(id(top))) is not None:
                block = block_of(parent, top)
                if block is not None:
                    at = last_that_ran(here, block, top, parent, ran)
                    if at is not None:
                        return (here.file, at)
                top = parent
                if isinstance(parent, FUNCTIONS):
                    break
            if id(top) not in seen:
                seen.add(id(top))
                queue.extend(self._uses_of(here, top))
        return None

    def _finished(self, place: Place, climb: _Climb) -> Forcing | NotForced:
        edits = tuple(dict.fromkeys(climb.edits))
        for file in sorted({edit.file for edit in edits}):
            known = [edit for edit in edits if edit.file == file]
            if not self.still_parses(file, known):
                return NotForced(place, "its tests could not be replaced without changing the lines below")
        return Forcing(place, edits, tuple(dict.fromkeys(climb.tests)))

    def still_parses(self, file: str, edits: list[Edit]) -> bool:
        """Whether the file with these edits is Python and has as many lines as before."""
        content = self.files[file].content
        position, parts = 0, []
        for edit in sorted(edits, key=lambda one: (one.start, one.end)):
            if edit.start < position:
                return False
            parts += [content[position : edit.start], edit.text.encode()]
            position = edit.end
        forced = b"".join((*parts, content[position:]))
        return forced.count(b"\n") == content.count(b"\n") and parse_python(forced.decode()) is not None

    def _uses_of(self, source: SourceFile, top: ast.AST) -> Iterator[tuple[SourceFile, ast.AST]]:
        """Where a function is called or handed on, or a module imported."""
        name = basename(source.file).removesuffix(".py")
        if isinstance(top, FUNCTIONS):
            name = top.name
            parent = source.parents.get(id(top))
            if isinstance(parent, ast.ClassDef) and name.startswith("__"):
                name = parent.name
        elif name == "__init__":
            name = basename(dirname(source.file))
        sites = self.uses.get(name, [])
        inside = {id(top)}
        for other, site in sorted(sites, key=lambda one: one[0] is not source):
            if isinstance(top, ast.Module) and not isinstance(site, ast.Import | ast.ImportFrom):
                continue
            if not inside & {id(node) for node in enclosing(other, site)}:
                yield other, site

    # ---- climbing

    def _climb(
        self, source: SourceFile, node: ast.AST, ran: Collection[Place], climb: _Climb
    ) -> ast.AST | None:
        """Decide every test above a node; gives the function or module it ends at, `None` where a run was."""
        while True:
            parent = source.parents.get(id(node))
            if parent is None or (isinstance(parent, FUNCTIONS) and node not in parent.body):
                return parent if parent is not None else node
            if isinstance(parent, ast.Module | ast.stmt | ast.ExceptHandler | ast.match_case):
                block = block_of(parent, node)
                if block is not None:
                    if first_line(node) != header_of(parent) and (source.file, first_line(node)) in ran:
                        return None
                    self._leaves_before(source, block, node, climb)
            if isinstance(parent, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef):
                return parent
            self._decide(source, parent, node, climb)
            node = parent

    def _decide(self, source: SourceFile, parent: ast.AST, node: ast.AST, climb: _Climb) -> None:
        if isinstance(parent, ast.If) and node is not parent.test:
            if not is_main(parent.test):
                self._test(source, parent.test, node in parent.body, climb)
        elif isinstance(parent, ast.While) and node in parent.body:
            self._once(source, parent, climb)
        elif isinstance(parent, ast.For | ast.AsyncFor) and node in parent.body:
            self._not_empty(source, parent, climb)
        elif isinstance(parent, ast.ExceptHandler):
            above = source.parents[id(parent)]
            if isinstance(above, ast.Try | ast.TryStar):
                self._raises(source, above, parent, climb)
        elif isinstance(parent, ast.match_case) and node in parent.body:
            self._case(source, parent, climb)
        elif isinstance(parent, ast.IfExp) and node is not parent.test:
            self._test(source, parent.test, node is parent.body, climb)
        elif isinstance(parent, ast.BoolOp):
            for value in parent.values:
                if value is node:
                    break
                self._test(source, value, isinstance(parent.op, ast.And), climb)
        elif isinstance(parent, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            for generator in parent.generators:
                for test in generator.ifs:
                    if node is not generator:
                        self._test(source, test, True, climb)
        elif isinstance(parent, ast.Assert) and node is parent.msg:
            self._test(source, parent.test, False, climb)

    def _replace(self, source: SourceFile, node: ast.AST, opening: str, closing: str, climb: _Climb) -> None:
        if any(isinstance(above, ast.JoinedStr) for above in enclosing(source, node)):
            return  # positions inside f-strings are not those of the file
        start, end = source.span(node)
        text = fitted(opening, source.text(node), closing)
        climb.edits.append(Edit(source.file, start, end, text))

    def _test(self, source: SourceFile, test: ast.expr, value: bool, climb: _Climb) -> None:
        text = source.text(test)
        climb.tests.append(" ".join((text if value else f"not ({text})").split())[:300])
        if any(isinstance(inner, KEPT) for inner in ast.walk(test)):
            if not any(isinstance(above, ast.JoinedStr) for above in enclosing(source, test)):
                word = "or True" if value else "and False"
                climb.edits.append(Edit(source.file, *source.span(test), f"(({text}) {word})"))
        else:
            self._replace(source, test, f"({value}", ")", climb)

    def _once(self, source: SourceFile, loop: ast.While, climb: _Climb) -> None:
        """The body of a `while` runs once, and `break`, `continue` and `else` mean what they meant."""
        text = source.text(loop.test)
        climb.tests.append(" ".join(text.split())[:300])
        start, _ = source.span(loop)
        first, end = source.span(loop.test)
        climb.edits.append(Edit(source.file, start, start + len("while"), "for _forced_ in"))
        climb.edits.append(Edit(source.file, first, end, f"[({text})]"))

    def _not_empty(self, source: SourceFile, loop: ast.For | ast.AsyncFor, climb: _Climb) -> None:
        """A list, text or folder without elements gets one empty one; what yields endlessly is left alone."""
        if isinstance(loop, ast.AsyncFor) or (source.file, loop.lineno) not in climb.stuck:
            return
        start, end = source.span(loop.iter)
        climb.edits.append(
            Edit(source.file, start, end, f"(({source.text(loop.iter)}) or [{shape_of(loop.target)}])")
        )

    def _raises(
        self, source: SourceFile, statement: ast.Try | ast.TryStar, handler: ast.ExceptHandler, climb: _Climb
    ) -> None:
        """The guarded block ends with what the handler waits for."""
        kind = handler.type
        if isinstance(kind, ast.Tuple):
            kind = kind.elts[0] if kind.elts else None
        name = "Exception" if kind is None else " ".join(source.text(kind).split())
        climb.tests.append(f"except {name}" if kind is not None else "except")
        last = statement.body[-1]
        raising = f"raise {name}.__new__({name})"
        start, end = source.span(last)
        if isinstance(last, COMPOUND) or leaves_of(last):
            text = source.text(last)
            # A line end inside the parentheses of a comparison changes nothing of what is raised.
            climb.edits.append(
                Edit(source.file, start, end, fitted(f"raise ({name}.__new__({name})", text, ")"))
            )
        else:
            climb.edits.append(Edit(source.file, end, end, f"; {raising}"))

    def _case(self, source: SourceFile, case: ast.match_case, climb: _Climb) -> None:
        above = source.parents.get(id(case))
        if not isinstance(above, ast.Match):
            return
        climb.tests.append(f"match {' '.join(source.text(above.subject).split())[:200]}")
        for other in above.cases:
            start, end = source.span(other.pattern)
            if other.guard is not None:
                end = source.span(other.guard)[1]
            removed = source.content[start:end].decode("utf-8", "replace")
            # A parenthesis keeps line ends of the pattern out of the statement.
            text = fitted("_ if (True" if other is case else "_ if (False", removed, ")")
            climb.edits.append(Edit(source.file, start, end, text))
            if other is case:
                break

    def _leaves_before(self, source: SourceFile, block: list[ast.stmt], node: ast.AST, climb: _Climb) -> None:
        """Switch off what could leave the function or the loop before a statement is reached."""
        for statement in block:
            if statement is node:
                return
            if (source.file, statement.lineno) in climb.stuck:
                self._leave_out(source, statement, climb)
                continue
            if id(statement) not in self._leaves:
                self._leaves[id(statement)] = leaves_of(statement)
            for leaf in self._leaves[id(statement)]:
                decided = branch_off(source, statement, leaf)
                if decided is not None:
                    test, value = decided
                    self._test(source, test, value, climb)
                elif isinstance(leaf, ast.Assert):
                    self._test(source, leaf.test, True, climb)
                elif isinstance(leaf, ast.Continue | ast.Break):
                    self._replace(source, leaf, "pass", "", climb)
                else:
                    self._replace(source, leaf, "(None", ")", climb)

    def _leave_out(self, source: SourceFile, statement: ast.stmt, climb: _Climb) -> None:
        """A statement that ended an earlier run is not run; a name it would bind is empty text."""
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            self._replace(source, statement.value, "(''", ")", climb)
        elif not isinstance(statement, (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom)):
            self._replace(source, statement, "(None", ")", climb)
