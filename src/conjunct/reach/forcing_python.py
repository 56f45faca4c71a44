"""How a line of Python is reached: every test above it decided, from the line up to where a run came by.

Decided are `if`, `while`, `for` over nothing, `match`, exception handlers, conditional expressions, `and`/`or`
and the conditions of comprehensions; what leaves the function before the line (`return`, `raise`, `sys.exit`,
`assert`) is switched off; then the same for a call of the function, up to code that ran.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from posixpath import basename, dirname

from conjunct.reach.forcing import Edit, Forcing, NotForced, Place, fitted
from conjunct.reach.python_modules import parse_python
from conjunct.reach.python_trees import children

MOST_NODES = 150_000
"""Nodes of one file's syntax tree; a larger one is not rewritten."""
MOST_FUNCTIONS = 200
"""Functions looked through for a way from a line up to code that ran."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_EXITS = frozenset({"exit", "_exit", "quit", "abort"})
_KEPT = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
"""Where a test holds one of these, it is evaluated all the same: a name is bound, a generator stays one."""


class SourceFile:
    """One parsed file, with the parent of every node."""

    def __init__(self, file: str, text: str, tree: ast.Module) -> None:
        self.file = file
        self.content = text.encode("utf-8")
        self.starts = [0]
        for line in self.content.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.tree = tree
        self.parents: dict[int, ast.AST] = {}
        self.nodes: list[ast.AST] = [tree]
        for node in self.nodes:
            below = children(node)
            self.parents.update((id(child), node) for child in below)
            self.nodes += below
            if len(self.nodes) > MOST_NODES:
                break

    @property
    def complete(self) -> bool:
        """Whether the whole tree was taken in."""
        return len(self.nodes) <= MOST_NODES

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Start and end of a node in the bytes of the file."""
        start = self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return start, end

    def text(self, node: ast.AST) -> str:
        """The source of a node."""
        start, end = self.span(node)
        return self.content[start:end].decode("utf-8", "replace")


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

    def _index(self, source: SourceFile) -> None:
        called: set[int] = set()
        for node in source.nodes:
            for name in _names_used(node, called):
                self.uses.setdefault(name, []).append((source, node))

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
        target = _node_at(source, place[1])
        if target is None:
            return NotForced(place, "no code starts on this line")
        files = {file for file, _ in ran}
        queue = deque([(source, target, _Climb(stuck))])
        seen: set[int] = set()
        while queue and len(seen) < MOST_FUNCTIONS:
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
        target = _node_at(source, place[1]) if source else None
        if source is None or target is None:
            return None
        queue: deque[tuple[SourceFile, ast.AST]] = deque([(source, target)])
        seen: set[int] = set()
        while queue and len(seen) < MOST_FUNCTIONS:
            here, node = queue.popleft()
            top: ast.AST = node
            while (parent := here.parents.get(id(top))) is not None:
                block = _block_of(parent, top)
                if block is not None:
                    at = _last_that_ran(here, block, top, parent, ran)
                    if at is not None:
                        return (here.file, at)
                top = parent
                if isinstance(parent, _FUNCTIONS):
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
        if isinstance(top, _FUNCTIONS):
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
            if not inside & {id(node) for node in _above(other, site)}:
                yield other, site

    # ---- climbing

    def _climb(
        self, source: SourceFile, node: ast.AST, ran: Collection[Place], climb: _Climb
    ) -> ast.AST | None:
        """Decide every test above a node; gives the function or module it ends at, `None` where a run was."""
        while True:
            parent = source.parents.get(id(node))
            if parent is None or (isinstance(parent, _FUNCTIONS) and node not in parent.body):
                return parent if parent is not None else node
            if isinstance(parent, ast.Module | ast.stmt | ast.ExceptHandler | ast.match_case):
                block = _block_of(parent, node)
                if block is not None:
                    if _first_line(node) != _header(parent) and (source.file, _first_line(node)) in ran:
                        return None
                    self._leaves_before(source, block, node, climb)
            if isinstance(parent, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef):
                return parent
            self._decide(source, parent, node, climb)
            node = parent

    def _decide(self, source: SourceFile, parent: ast.AST, node: ast.AST, climb: _Climb) -> None:
        if isinstance(parent, ast.If) and node is not parent.test:
            if not _is_main(parent.test):
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
        if any(isinstance(above, ast.JoinedStr) for above in _above(source, node)):
            return  # positions inside f-strings are not those of the file
        start, end = source.span(node)
        text = fitted(opening, source.text(node), closing)
        climb.edits.append(Edit(source.file, start, end, text))

    def _test(self, source: SourceFile, test: ast.expr, value: bool, climb: _Climb) -> None:
        text = source.text(test)
        climb.tests.append(" ".join((text if value else f"not ({text})").split())[:300])
        if any(isinstance(inner, _KEPT) for inner in ast.walk(test)):
            if not any(isinstance(above, ast.JoinedStr) for above in _above(source, test)):
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
            Edit(source.file, start, end, f"(({source.text(loop.iter)}) or [{_shape(loop.target)}])")
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
        if isinstance(last, _COMPOUND) or _leaves(last):
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
            for leaf in _leaves(statement):
                decided = _branch_off(source, statement, leaf)
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
        elif not isinstance(statement, (*_FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom)):
            self._replace(source, statement, "(None", ")", climb)


_COMPOUND = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match,
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef,
)  # fmt: skip


def _names_used(node: ast.AST, called: set[int]) -> Iterator[str]:
    """Names by which a node uses a function, class or module. A call speaks for the name it calls."""
    if isinstance(node, ast.Call):
        called.add(id(node.func))
        if isinstance(node.func, ast.Name):
            yield node.func.id
        elif isinstance(node.func, ast.Attribute):
            yield node.func.attr
    elif id(node) in called:
        return
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        yield node.attr
    elif isinstance(node, ast.Import | ast.ImportFrom):
        named = [alias.name for alias in node.names]
        named += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        yield from dict.fromkeys(name.rsplit(".", 1)[-1] for name in named)


def _node_at(source: SourceFile, line: int) -> ast.AST | None:
    """The call on a line that lies under the most tests; failing that, a statement."""
    found: ast.AST | None = None
    most = -1
    for node in source.nodes:
        if getattr(node, "lineno", 0) != line or not isinstance(node, ast.Call | ast.stmt):
            continue
        above = [node, *_above(source, node)]
        if any(isinstance(one, ast.JoinedStr) for one in above):
            continue
        tests = sum(_is_tested(below, one) for below, one in zip(above, above[1:], strict=False))
        weight = tests + (100_000 if isinstance(node, ast.Call) else 0)
        if weight > most:
            found, most = node, weight
    return found


def _is_tested(node: ast.AST, parent: ast.AST) -> bool:
    """Whether an expression is evaluated only if a test beside it says so."""
    if isinstance(parent, ast.IfExp):
        return node is not parent.test
    if isinstance(parent, ast.BoolOp):
        return node is not parent.values[0]
    return isinstance(parent, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)


def _header(parent: ast.AST) -> int:
    """Line on which a compound statement starts: a statement beside it may not have run although its line did."""
    return _first_line(parent.pattern if isinstance(parent, ast.match_case) else parent)


def _last_that_ran(
    source: SourceFile, block: list[ast.stmt], node: ast.AST, parent: ast.AST, ran: Collection[Place]
) -> int | None:
    """First line of the last statement of a block, `node` included, that ran before the way ended."""
    last = None
    for statement in block:
        line = statement.lineno
        if line != _header(parent) and (source.file, line) in ran:
            last = line
        if statement is node:
            break
    return last


def _above(source: SourceFile, node: ast.AST) -> list[ast.AST]:
    found = []
    parent = source.parents.get(id(node))
    while parent is not None:
        found.append(parent)
        parent = source.parents.get(id(parent))
    return found


def _block_of(parent: ast.AST, node: ast.AST) -> list[ast.stmt] | None:
    """The list of statements of `parent` that holds `node` as a statement."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and any(one is node for one in block):
            return block
    return None


def _first_line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def _leaves(root: ast.stmt) -> list[ast.stmt]:
    """Statements below `root` after which what follows `root` is not reached."""
    found: list[ast.stmt] = []
    stack: list[tuple[ast.AST, bool]] = [(root, False)]
    while stack:
        node, looping = stack.pop()
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.Lambda)):
            continue
        if (
            isinstance(node, ast.Return | ast.Raise | ast.Assert)
            or (isinstance(node, ast.Continue | ast.Break) and not looping)
            or (isinstance(node, ast.Expr) and _is_exit(node.value))
        ):
            found.append(node)
        if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            inside = looping or isinstance(node, ast.For | ast.AsyncFor | ast.While)
            below = chain(
                getattr(node, "body", ()) or (),
                getattr(node, "handlers", ()) or (),
                getattr(node, "cases", ()) or (),
                getattr(node, "orelse", ()) or (),
                getattr(node, "finalbody", ()) or (),
            )
            stack += [(child, inside) for child in below if isinstance(child, ast.AST)]
    return found


def _is_exit(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in _EXITS


def _branch_off(source: SourceFile, root: ast.stmt, leaf: ast.stmt) -> tuple[ast.expr, bool] | None:
    """The nearest `if` around a leaf, and the value of its test that avoids it; `None` if neither does."""
    node: ast.AST = leaf
    while node is not root:
        parent = source.parents.get(id(node))
        if parent is None:
            return None
        if isinstance(parent, ast.If) and not any(isinstance(i, _KEPT) for i in ast.walk(parent.test)):
            inside = any(one is node for one in parent.body)
            others = parent.orelse if inside else parent.body
            if not any(_leaves(other) for other in others):
                return parent.test, not inside
            return None
        if not isinstance(parent, ast.stmt):
            return None
        node = parent
    return None


def _is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _shape(target: ast.expr) -> str:
    """An element that fits the names a loop binds."""
    depth = 0
    while isinstance(target, ast.Tuple | ast.List) and depth < 4:
        parts = [("('', '')" if isinstance(e, ast.Tuple) and len(e.elts) == 2 else "''") for e in target.elts]
        return f"({', '.join(parts)},)"
    return "''"
