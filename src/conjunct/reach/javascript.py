"""JavaScript and TypeScript to reachable actions, by tree-sitter grammars. Nothing is executed."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from tree_sitter import Node

from conjunct.model import ActionKind, Guard, ResourceClass
from conjunct.reach.commands import list_command, remote_code
from conjunct.reach.downloads import Downloads
from conjunct.reach.found import PACKAGE, UNKNOWN, Place, Sightings
from conjunct.reach.javascript_trees import (
    decoded_base64,
    inside,
    module_name,
    operator_of,
    parser_of,
    text_of,
    unescaped,
)
from conjunct.reach.tables import table

LARGEST = 256 * 1024
_MOST_NODES = 300_000
_DEEPEST = 20
_ALIASING = frozenset(
    {"call_expression", "member_expression", "subscript_expression", "identifier", "await_expression",
     "new_expression"}
)  # fmt: skip
_WHOLE = frozenset({"JSON.stringify", "Object.entries", "Object.keys", "Object.values", "Object.assign"})
_FETCHES = frozenset({"fetch", "node-fetch", "axios", "axios.get", "http.get", "https.get", "got"})
_COUNT_NAMES = re.compile(
    r"\b(?:count|turn|calls?|runs?|step|length|size|getDate|getDay|getMonth|uses|n)\b", re.I
)


def calls_table() -> dict[str, Any]:
    """The table of JavaScript calls. Treat it as read-only."""
    calls: dict[str, Any] = table("javascript")
    return calls


def read_javascript(text: str, place: Place, seen: Sightings) -> None:
    """List what a JavaScript or TypeScript file does. Text beyond 256 KiB is opaque."""
    source = text.encode("utf-8", "surrogateescape")
    if len(source) > LARGEST:
        seen.opaque(place, "oversized:javascript")
        source = source[:LARGEST]
    suffix = posixpath.splitext(place.file)[1].lower()
    grammar = {".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "tsx"}.get(
        suffix, "javascript"
    )
    _Walk(place, seen).run(parser_of(grammar).parse(source).root_node)


class _Walk:
    """One pass over one file, in order."""

    def __init__(self, place: Place, seen: Sightings) -> None:
        self.place, self.seen = place, seen
        self.table = calls_table()
        self.aliases: dict[str, str] = {}
        self.values: dict[str, str] = {}
        self.nodes: dict[str, Node] = {}
        self.downloads = Downloads()

    def run(self, root: Node) -> None:
        stack: list[tuple[Node, tuple[Guard, ...]]] = [(root, self.place.guards)]
        for _ in range(_MOST_NODES):
            if not stack:
                return
            node, guards = stack.pop()
            stack.extend(reversed(self.visit(node, guards)))
        self.seen.opaque(self.place, "oversized:javascript")

    def visit(self, node: Node, guards: tuple[Guard, ...]) -> list[tuple[Node, tuple[Guard, ...]]]:
        kind = node.type
        if kind == "import_statement":
            self.imported(node)
        elif kind == "variable_declarator":
            self.declared(node)
        elif kind == "assignment_expression":
            self.assigned(node)
        elif kind in ("call_expression", "new_expression"):
            self.call(node, guards)
        elif kind in ("member_expression", "subscript_expression"):
            self.member(node, guards)
        elif kind in ("if_statement", "while_statement", "ternary_expression"):
            return self.branch(node, guards)
        elif kind == "switch_case":
            value = node.child_by_field_name("value")
            if value is not None:
                self.seen.constant(self.fold(value))
        elif kind == "binary_expression" and operator_of(node) == "&&":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is not None and right is not None:
                return [(left, guards), (right, (*guards, self.guard(left)))]
        return [(child, guards) for child in node.named_children]

    def branch(self, node: Node, guards: tuple[Guard, ...]) -> list[tuple[Node, tuple[Guard, ...]]]:
        condition = node.child_by_field_name("condition")
        if condition is None:
            return [(child, guards) for child in node.named_children]
        guard = self.guard(condition)
        rest = [(child, (*guards, guard)) for child in node.named_children if child != condition]
        return [(condition, guards), *rest]

    # ---- names

    def imported(self, node: Node) -> None:
        source = node.child_by_field_name("source")
        module = module_name(self.fold(source)) if source is not None else ""
        for clause in inside(node, ("identifier", "import_specifier", "namespace_import")):
            if clause.type == "import_specifier":
                names = [text_of(child) for child in clause.named_children]
                self.aliases[names[-1]] = f"{module}.{names[0]}"
            elif clause.parent is not None and clause.parent.type in ("import_clause", "namespace_import"):
                self.aliases[text_of(clause)] = module

    def declared(self, node: Node) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or value is None:
            return
        dotted = self.dotted(value)
        if name.type == "object_pattern":
            for child in name.named_children:
                names = [text_of(item) for item in child.named_children] or [text_of(child)]
                if dotted:
                    self.aliases[names[-1]] = f"{dotted}.{names[0]}"
            return
        key = text_of(name)
        self.nodes[key] = value
        if dotted and value.type in _ALIASING:
            self.aliases[key] = dotted
        folded = self.fold(value)
        if folded != UNKNOWN:
            self.values[key] = folded

    def assigned(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None and left.type == "identifier":
            self.nodes.setdefault(text_of(left), right)
            folded = self.fold(right)
            if folded != UNKNOWN:
                self.values.setdefault(text_of(left), folded)

    def dotted(self, node: Node | None, depth: int = 0) -> str:
        """`require("fs").promises.readFile` is fs.promises.readFile; `promises` and `default` are dropped."""
        if node is None or depth > _DEEPEST:
            return ""
        kind = node.type
        if kind == "identifier":
            return self.aliases.get(text_of(node), text_of(node))
        if kind in ("member_expression", "subscript_expression"):
            base = self.dotted(node.child_by_field_name("object"), depth + 1)
            prop = node.child_by_field_name("property") or node.child_by_field_name("index")
            name = ""
            if prop is not None:
                name = text_of(prop) if kind == "member_expression" else self.fold(prop)
            if name in ("promises", "default"):
                return base
            return f"{base}.{name}" if base else ""
        if kind in ("await_expression", "parenthesized_expression", "as_expression"):
            return self.dotted(node.named_children[0], depth + 1) if node.named_children else ""
        if kind == "call_expression":
            function = self.dotted(node.child_by_field_name("function"), depth + 1)
            arguments = self.arguments(node)
            if function in ("require", "import", "module.require") and arguments:
                return module_name(self.fold(arguments[0]))
            if self.returns_module(function) and arguments:
                return module_name(self.fold(arguments[0]))
            return function
        if kind == "import":
            return "import"
        return ""

    def returns_module(self, name: str) -> bool:
        """Whether a function of this file only hands its argument to `require`."""
        node = self.nodes.get(name)
        if node is None or node.type not in ("arrow_function", "function_expression"):
            return False
        return (
            re.search(r"(?:=>|return)\s*(?:require|import)\s*\(\s*\w+\s*\)", text_of(node)[:300]) is not None
        )

    # ---- calls

    def call(self, node: Node, guards: tuple[Guard, ...]) -> None:
        function = node.child_by_field_name("function") or node.child_by_field_name("constructor")
        name = self.dotted(function).removeprefix("globalThis.").removeprefix("window.")
        place = self.place.at(self.line(node), guards)
        arguments = self.arguments(node)
        if name in self.table["clock"] and not (name == "Date" and arguments):
            self.seen.reads_clock = True
        if name in self.table["calls"]:
            self.row(self.table["calls"][name], arguments, place)
        elif name in self.table["shell"]:
            self.shell(arguments, place)
        elif name in self.table["processes"]:
            words = [self.fold(arguments[0])] if arguments else []
            if len(arguments) > 1 and arguments[1].type == "array":
                words += [self.fold(item) for item in arguments[1].named_children]
            list_command(words, place, self.seen, self.downloads)
        elif name in self.table["opaque"]:
            self.dynamic(self.table["opaque"][name], arguments, place)
        elif name in ("require", "import") and arguments and self.fold(arguments[0]) == UNKNOWN:
            self.seen.opaque(place, "dynamic:import", 0.6)
        elif name in _WHOLE and arguments and self.dotted(arguments[0]) == "process.env":
            self.seen.add(place, ActionKind.READ, "env:*", ResourceClass.SECRET)

    def row(self, row: dict[str, Any], arguments: list[Node], place: Place) -> None:
        kind = ActionKind(row["kind"])
        if "text" in row:
            self.seen.add(place, kind, row["text"], ResourceClass.PROCESS)
            return
        index = row.get("path", row.get("url", 0))
        value = self.fold(arguments[index]) if index < len(arguments) else UNKNOWN
        if "path" in row:
            self.seen.path(place, kind, value)
            return
        options = row.get("options")
        if (
            options is not None
            and options < len(arguments)
            and re.search(
                r"\b(?:method\s*:\s*['\"](?:POST|PUT|PATCH)|body\s*:|data\s*:)",
                text_of(arguments[options])[:2000],
            )
        ):
            kind = ActionKind.SEND
        if value == UNKNOWN and arguments:
            found = re.search(r"\b(?:host|hostname|url)\s*:\s*['\"]([^'\"]+)", text_of(arguments[0])[:2000])
            value = found.group(1) if found else value
        self.seen.network(place, kind, value)

    def shell(self, arguments: list[Node], place: Place) -> None:
        text = self.fold(arguments[0]) if arguments else UNKNOWN
        if text.strip(" *"):
            self.seen.snippet("shell", text, place)
        else:
            self.seen.add(place, ActionKind.EXEC, UNKNOWN, ResourceClass.PROCESS)
            self.seen.opaque(place, "dynamic:shell", 0.6)

    def dynamic(self, what: str, arguments: list[Node], place: Place) -> None:
        if what != "dynamic:eval" or not arguments:
            self.seen.opaque(place, what)
            return
        code = arguments[-1]
        url = self.fetched(code)
        if url is not None:
            remote_code(url, place, self.seen)
            return
        text = self.fold(code)
        if text.strip(" *"):
            self.seen.snippet("javascript", text, place)
            self.seen.opaque(place, "constant:eval", 0.5)
        elif re.search(r"\batob\b|Buffer\.from|decipher|fromCharCode", self.definition(code)):
            self.seen.opaque(place, "encoded:javascript")
        else:
            self.seen.opaque(place, what, 0.8)

    def definition(self, node: Node) -> str:
        text = text_of(node)[:2000]
        for name in re.findall(r"[A-Za-z_$][\w$]*", text)[:8]:
            if name in self.nodes:
                text += " " + text_of(self.nodes[name])[:2000]
        return text

    def fetched(self, node: Node) -> str | None:
        """The URL whose content an expression contains, through one level of names."""
        stack, looked = [node], 0
        while stack and looked < 300:
            looked += 1
            item = stack.pop()
            if item.type == "call_expression":
                name = self.dotted(item.child_by_field_name("function"))
                head = name.removesuffix(".text").removesuffix(".then")
                arguments = self.arguments(item)
                if head in _FETCHES and arguments:
                    return self.fold(arguments[0])
            elif item.type == "identifier" and text_of(item) in self.nodes:
                stack.append(self.nodes[text_of(item)])
            stack.extend(item.named_children)
        return None

    def member(self, node: Node, guards: tuple[Guard, ...]) -> None:
        """`process.env.NAME` and `process.env["NAME"]`."""
        base = node.child_by_field_name("object")
        if base is None or base.type != "member_expression" or self.dotted(base) != "process.env":
            return
        name = self.dotted(node).removeprefix("process.env.")
        self.seen.variable(self.place.at(self.line(node), guards), name)

    # ---- values

    def arguments(self, node: Node) -> list[Node]:
        found = node.child_by_field_name("arguments")
        if found is None:
            return []
        return found.named_children if found.type == "arguments" else [found]

    def fold(self, node: Node, depth: int = 0) -> str:
        """The text of an expression as far as it is fixed; unknown parts are `*`."""
        if depth > _DEEPEST:
            return UNKNOWN
        kind = node.type
        if kind == "string":
            return unescaped(text_of(node)[1:-1])
        if kind == "number":
            return text_of(node)
        if kind == "template_string":
            return self.template(node, depth)
        if kind == "identifier":
            name = text_of(node)
            if name in ("__dirname",):
                return posixpath.join(PACKAGE, posixpath.dirname(self.place.file))
            return self.values.get(name, UNKNOWN)
        if kind == "binary_expression" and operator_of(node) == "+":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is not None and right is not None:
                return (self.fold(left, depth + 1) + self.fold(right, depth + 1))[:65536]
        if kind == "binary_expression" and operator_of(node) in ("||", "??"):
            right = node.child_by_field_name("right")
            return self.fold(right, depth + 1) if right is not None else UNKNOWN
        if kind in ("await_expression", "parenthesized_expression", "as_expression", "new_expression"):
            arguments = self.arguments(node) if kind == "new_expression" else node.named_children
            return self.fold(arguments[0], depth + 1) if arguments else UNKNOWN
        if kind == "member_expression" and self.dotted(node) in (
            "process.env.HOME",
            "process.env.USERPROFILE",
        ):
            return "~"
        if kind == "call_expression":
            return self.fold_call(node, depth)
        return UNKNOWN

    def template(self, node: Node, depth: int) -> str:
        parts: list[str] = []
        for child in node.named_children[:64]:
            if child.type == "template_substitution":
                parts.append(
                    self.fold(child.named_children[0], depth + 1) if child.named_children else UNKNOWN
                )
            else:
                parts.append(unescaped(text_of(child)))
        return "".join(parts)[:65536]

    def fold_call(self, node: Node, depth: int) -> str:
        name = self.dotted(node.child_by_field_name("function"))
        arguments = self.arguments(node)
        if name == "os.homedir":
            return "~"
        if name == "os.tmpdir":
            return "/tmp"
        if name == "process.cwd":
            return "."
        if name in ("path.join", "path.resolve"):
            parts = [self.fold(item, depth + 1) for item in arguments[:12]]
            return posixpath.join(*parts) if parts else "."
        first = self.fold(arguments[0], depth + 1) if arguments else UNKNOWN
        if name == "atob" or (
            name.startswith("Buffer.from") and len(arguments) > 1 and self.fold(arguments[1]) == "base64"
        ):
            return decoded_base64(first)
        if name.startswith("Buffer.from") and len(arguments) > 1 and self.fold(arguments[1]) == "hex":
            try:
                return bytes.fromhex(first).decode("utf-8", "replace")
            except ValueError:
                return UNKNOWN
        if name.endswith(".fromCharCode"):
            codes = [self.fold(item, depth + 1) for item in arguments[:4096]]
            return "".join(chr(int(item)) if item.isdigit() and len(item) < 7 else UNKNOWN for item in codes)
        function = node.child_by_field_name("function")
        if function is not None and text_of(function).endswith(".join"):
            return self.joined(function, first, depth)
        if name.endswith((".toString", ".trim", ".text")):
            function = node.child_by_field_name("function")
            base = function.child_by_field_name("object") if function is not None else None
            return self.fold(base, depth + 1) if base is not None else UNKNOWN
        return UNKNOWN

    def joined(self, function: Node, separator: str, depth: int) -> str:
        """`["a", "b"].join("")`, directly or through a name, with `.map(c => String.fromCharCode(c))`."""
        base = function.child_by_field_name("object")
        codes = False
        if base is not None and base.type == "call_expression" and "fromCharCode" in text_of(base)[-80:]:
            inner = base.child_by_field_name("function")
            base, codes = (inner.child_by_field_name("object") if inner is not None else None), True
        if base is not None and base.type == "identifier":
            base = self.nodes.get(text_of(base))
        if base is None or base.type != "array":
            return UNKNOWN
        items = [self.fold(item, depth + 1) for item in base.named_children[:4096]]
        if codes:
            items = [chr(int(item)) if item.isdigit() and len(item) < 7 else UNKNOWN for item in items]
        return ("" if separator == UNKNOWN else separator).join(items)

    def guard(self, node: Node) -> Guard:
        text = text_of(node)[:300]
        constants = tuple(
            dict.fromkeys(self.fold(item) for item in inside(node, ("string",)) if text_of(item)[1:-1])
        )[:8]
        for value in constants:
            self.seen.constant(value)
        for item in inside(node, ("identifier",)):
            if text_of(item) in self.values:
                self.seen.constant(self.values[text_of(item)])
        if _COUNT_NAMES.search(text):
            for number in inside(node, ("number",)):
                if text_of(number).isdigit() and len(text_of(number)) < 7:
                    self.seen.count(int(text_of(number)))
        return Guard(text, self.line(node), constants)

    def line(self, node: Node) -> int:
        return self.place.line + node.start_point[0]
