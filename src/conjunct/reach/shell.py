"""Shell text to reachable actions, by the tree-sitter grammar for bash. Nothing is executed."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from functools import lru_cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from conjunct.model import ActionKind, Guard
from conjunct.reach.commands import (
    fetched_url,
    list_command,
    program_name,
    programs,
    remote_code,
    unwrap,
)
from conjunct.reach.downloads import Downloads
from conjunct.reach.foreign_fetch import read_foreign_fetch
from conjunct.reach.found import PACKAGE, UNKNOWN, Place, Sightings
from conjunct.reach.shell_words import (
    arguments_of_script,
    decoded,
    has_file,
    inline_code,
    runs_its_input,
    unescaped,
)

LARGEST = 256 * 1024
"""Characters of one shell text that are read."""

_PART, _SMALL_PART = 16 * 1024, 1024
_MOST_BROKEN = 64 * 1024
_TOP_LEVEL = re.compile(r"\n(?=[A-Za-z#\n](?!(?:i|one|sac|lse|lif|o|hen)\b))")
_CONTROL = dict.fromkeys((*range(9), *range(11, 32), 127), " ")
_MOST_NODES = 200_000
_DEEPEST_WORD = 8
_LONGEST_WORD = 4000
"""Bytes of a word with substitutions in it that are looked into; a plain string may be longer."""

_WORDS = frozenset(
    {"command_name", "word", "number", "raw_string", "ansi_c_string", "string", "concatenation", "expansion",
     "simple_expansion", "command_substitution", "process_substitution", "brace_expression"}
)  # fmt: skip
_LITERAL = frozenset({"word", "raw_string", "ansi_c_string", "string", "concatenation"})

_PACKAGE_VARIABLES = frozenset(
    {
        "CLAUDE_SKILL_DIR",
        "CLAUDE_PLUGIN_ROOT",
        "SKILL_DIR",
        "SKILL_PATH",
        "SKILL_ROOT",
        "BASEDIR",
        "SKILL_HOME",
    }
)
_QUIET_VARIABLES = frozenset(
    {"PATH", "PWD", "OLDPWD", "IFS", "RANDOM", "SECONDS", "LINENO", "BASH_SOURCE", "OPTARG", "OPTIND",
     "REPLY", "BASH_REMATCH", "FUNCNAME", "EUID", "UID", "PIPESTATUS", "SHELL", "TERM", "LANG", "OSTYPE"}
)  # fmt: skip
_RUNNERS = frozenset({"eval", "source", ".", "iex", "invoke-expression"})
_COUNT = re.compile(r"-(?:ge|gt|le|lt|eq|ne)\s+(\d{1,6})\b|(?:[<>]=?|==)\s*(\d{1,6})\b")


@lru_cache(maxsize=1)
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def read_shell(text: str, place: Place, seen: Sightings, downloads: Downloads | None = None) -> None:
    """List what shell text does. `place.line` is the line of the text's first line.

    `downloads` carries what earlier texts of the same document fetched. Text beyond 256 KiB is opaque.
    """
    if len(text) > LARGEST:
        seen.opaque(place, "oversized:shell")
        text = text[:LARGEST]
    walk = _Walk(place, seen, downloads or Downloads())
    line = 0
    for part in _parts(text.translate(_CONTROL), seen):
        root = _parser().parse(part.encode("utf-8", "replace")).root_node
        if root.has_error:
            seen.broken += len(part)
        walk.first_line = place.line + line
        walk.run(root)
        line += part.count("\n")


def _parts(text: str, seen: Sightings) -> Iterator[str]:
    """The text in pieces that end where a top-level statement can.

    The grammar takes quadratic time on runs like `))))` or `<a><a>`: 16 KiB of them cost most of a second. A
    package that has spent its share of text with errors is read in smaller pieces.
    """
    while text:
        size = _PART if seen.broken < _MOST_BROKEN else _SMALL_PART
        if len(text) <= size:
            yield text
            return
        at = max((found.end() for found in _TOP_LEVEL.finditer(text, size // 2, size)), default=size)
        yield text[:at]
        text = text[at:]


class _Walk:
    """One pass over one shell text, in order, with variables and guards."""

    def __init__(self, place: Place, seen: Sightings, downloads: Downloads) -> None:
        self.place = place
        self.seen = seen
        self.downloads = downloads
        self.first_line = place.line
        self.values: dict[str, str] = {}
        self.origins: dict[str, str] = {}
        """Variables that hold fetched content, with its URL."""

    def run(self, root: Node) -> None:
        stack: list[tuple[Node, tuple[Guard, ...]]] = [(root, self.place.guards)]
        for _ in range(_MOST_NODES):
            if not stack:
                return
            node, guards = stack.pop()
            handler = _HANDLERS.get(node.type)
            inner = handler(self, node, guards) if handler else None
            if inner is None:
                inner = [(child, guards) for child in node.named_children]
            stack.extend(reversed(inner))
        self.seen.opaque(self.place, "oversized:shell")

    # ---- statements

    def branch(self, node: Node, guards: tuple[Guard, ...]) -> list[tuple[Node, tuple[Guard, ...]]]:
        """`if`, `while`: what follows the first child is reached under it."""
        children = node.named_children
        if not children:
            return []
        guard = self.guard(children[0])
        return [(children[0], guards), *((child, (*guards, guard)) for child in children[1:])]

    def case(self, node: Node, guards: tuple[Guard, ...]) -> list[tuple[Node, tuple[Guard, ...]]]:
        guard = Guard(
            _text(node.named_children[0]) if node.named_children else "case",
            self.line(node),
            tuple(
                _text(child.named_children[0]) for child in node.named_children[1:] if child.named_children
            )[:8],
        )
        for value in guard.constants:
            self.seen.constant(value.strip("\"'"))
        return [(child, (*guards, guard)) for child in node.named_children[1:]]

    def both(self, node: Node, guards: tuple[Guard, ...]) -> list[tuple[Node, tuple[Guard, ...]]]:
        """`a && b`: b is reached when a holds, which is a guard where a is a test."""
        children = node.named_children
        inner = [(child, guards) for child in children]
        if len(children) == 2 and children[0].type in ("test_command", "command", "negated_command"):
            words = _text(children[0]).split(None, 1)
            if children[0].type == "test_command" or (words and words[0] in ("test", "[", "grep", "command")):
                inner[1] = (children[1], (*guards, self.guard(children[0])))
        return inner

    def assign(self, node: Node, guards: tuple[Guard, ...]) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is not None and value is not None:
            key = _text(name)
            self.values[key] = self.fold(value)
            origin = self.origin(value)
            if origin:
                self.origins[key] = origin

    def loop(self, node: Node, guards: tuple[Guard, ...]) -> None:
        """`for f in evals/*; do sh $f`: with one word to go through, the variable is that word."""
        name = node.child_by_field_name("variable")
        words = node.children_by_field_name("value")
        if name is not None and words:
            self.values[_text(name)] = self.fold(words[0]) if len(words) == 1 else UNKNOWN

    def redirect(self, node: Node, guards: tuple[Guard, ...]) -> None:
        target = node.child_by_field_name("destination")
        if target is None or target.type == "number":
            return
        operator = _text(node)[:3]
        path = self.fold(target)
        if path.isdigit() or path in ("/dev/null", "-", "/dev/stderr", "/dev/stdout"):
            return
        place = self.place.at(self.line(node), guards)
        if path.startswith(("/dev/tcp/", "/dev/udp/")):
            parts = path.split("/")
            self.seen.network(place, ActionKind.SEND, ":".join(parts[3:5]))
        elif ">" in operator:
            self.seen.path(place, ActionKind.WRITE, path)
        elif operator.startswith("<") and not operator.startswith("<<"):
            self.seen.path(place, ActionKind.READ, path)

    def pipeline(self, node: Node, guards: tuple[Guard, ...]) -> None:
        """`curl … | sh`, `echo … | base64 -d | sh`: what runs is what comes down the pipe."""
        stages = [self.argv(stage) for stage in node.named_children]
        origin: str | None = None
        encoded: str | None = None
        place = self.place.at(self.line(node), guards)
        for stage, argv in zip(node.named_children, stages, strict=True):
            words = unwrap(argv)
            name = program_name(words[0]) if words else ""
            if origin is None:
                origin = fetched_url(argv) or self.origin(stage)
            if name in ("echo", "printf", "cat") and encoded is None and len(words) > 1:
                encoded = words[-1]
            decodes = name in ("base64", "openssl", "xxd") and any(
                word in ("-d", "-D", "--decode", "-r", "-di") for word in words
            )
            if decodes:
                encoded = decoded(encoded) if encoded else "\0"
            elif runs_its_input(words):
                self.run_input(name, origin, encoded, place)

    def run_input(self, name: str, origin: str | None, encoded: str | None, place: Place) -> None:
        if origin is not None:
            remote_code(origin, place, self.seen)
        elif encoded == "\0":
            self.seen.opaque(place, "encoded:shell")
        elif encoded:
            self.seen.snippet(programs()["interpreters"].get(name, "shell"), encoded, place)

    def command(self, node: Node, guards: tuple[Guard, ...]) -> None:
        argv = self.argv(node)
        if not argv:
            return
        place = self.place.at(self.line(node), guards)
        words = unwrap(argv)
        if not words:
            return
        name = program_name(words[0])
        if name in (
            "function",
            "return",
            "echo",
            "printf",
            "test",
            "[",
            "true",
            "false",
            ":",
            "shift",
            "local",
        ):
            return
        if name in ("date", "get-date", "uptime"):
            self.seen.reads_clock = True
        origin = self.origin(node)
        if origin and name in programs()["interpreters"]:
            origin = self.origin_of_code(node, argv, words)
        runs = name in _RUNNERS or (name in programs()["interpreters"] and not has_file(words))
        if (origin and (runs or words[0] == UNKNOWN or name == UNKNOWN)) or (
            origin and name in programs()["interpreters"]
        ):
            remote_code(origin, place, self.seen)
        if name == "eval":
            self.evaluate(" ".join(words[1:]), place)
        code = inline_code(name, words)
        if code is not None:
            language = programs()["interpreters"].get(name, "shell")
            if language == "other":
                self.seen.opaque(place, f"language:{name}")
                read_foreign_fetch(code, place, self.seen)
            elif not origin:
                self.seen.snippet(language, code, place)
        list_command(argv, place, self.seen, self.downloads)

    def origin_of_code(self, node: Node, argv: list[str], words: list[str]) -> str | None:
        """The URL whose content an interpreter runs; what stands behind its script is data."""
        behind = arguments_of_script(words)
        if behind is None:
            return self.origin(node)
        children = [
            child for child in node.named_children if child.type in _WORDS or "redirect" in child.type
        ]
        given = sum(child.type in _WORDS for child in children)
        first = behind + len(argv) - len(words)
        if given != len(argv):
            return self.origin(node)
        plain = [child for child in children if child.type in _WORDS][:first]
        redirects = [child for child in children if child.type not in _WORDS]
        for child in (*plain, *redirects):
            found = self.origin(child)
            if found is not None:
                return found
        return None

    def evaluate(self, text: str, place: Place) -> None:
        if text.strip(" *"):
            self.seen.snippet("shell", text, place)
        else:
            self.seen.opaque(place, "dynamic:eval")

    # ---- words

    def line(self, node: Node) -> int:
        return self.first_line + node.start_point[0]

    def guard(self, node: Node) -> Guard:
        text = _text(node)[:300]
        quoted = [
            self.fold(item)
            for item in _descend(node, ("string", "raw_string", "word", "number"))
            if item.parent is None or item.parent.type not in ("command_name", "concatenation", "string")
        ]
        constants = tuple(dict.fromkeys(item for item in quoted if item.strip("*") and item[0] != "-"))[:8]
        for value in constants:
            self.seen.constant(value)
        for found in _COUNT.findall(text):
            self.seen.count(int(found[0] or found[1]))
        return Guard(text, self.line(node), constants)

    def argv(self, node: Node, depth: int = 0) -> list[str]:
        """The folded words of a command; of a compound stage, those of its first command."""
        for _ in range(8):
            if node.type == "command":
                break
            body = node.child_by_field_name("body") or (
                node.named_children[0] if node.named_children else None
            )
            if body is None or node.type in ("pipeline", "list"):
                return []
            node = body
        words: list[str] = []
        for child in node.named_children:
            if child.type == "variable_assignment":
                continue
            if child.type in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                if child.type == "herestring_redirect" and child.named_children:
                    words.append(self.fold(child.named_children[-1], depth + 1))
                continue
            words.append(self.fold(child, depth + 1))
        return words

    def fold(self, node: Node, depth: int = 0) -> str:
        """The text of a word as far as it is fixed; unknown parts are `*`."""
        kind = node.type
        if depth > _DEEPEST_WORD or (
            kind not in _LITERAL and node.end_byte - node.start_byte > _LONGEST_WORD
        ):
            return UNKNOWN
        if kind in ("word", "number", "variable_name", "test_operator"):
            return re.sub(r"\\(.)", r"\1", _text(node))
        if kind in ("raw_string", "ansi_c_string"):
            text = _text(node).removeprefix("$")[1:-1]
            return unescaped(text) if kind == "ansi_c_string" else text
        if kind in ("simple_expansion", "expansion"):
            return self.variable(node, depth)
        if kind in ("command_substitution", "process_substitution"):
            return self.substituted(node, depth)
        if kind in ("string", "concatenation", "command_name", "string_content", "brace_expression"):
            return self.joined(node, depth)
        return UNKNOWN

    def joined(self, node: Node, depth: int) -> str:
        if not node.named_children:
            return _text(node).strip('"')
        raw = node.text or b""
        parts: list[str] = []
        at = node.start_byte
        for child in node.named_children:
            parts.append(_decode(raw[at - node.start_byte : child.start_byte - node.start_byte]))
            parts.append(_text(child) if child.type == "string_content" else self.fold(child, depth + 1))
            at = child.end_byte
        parts.append(_decode(raw[at - node.start_byte :]))
        text = "".join(parts)
        if node.type == "string" and len(text) >= 2:
            text = text.removeprefix('"').removesuffix('"')
        return re.sub(r"\*{2,}", UNKNOWN, text)[:4000]

    def variable(self, node: Node, depth: int) -> str:
        name = next((_text(child) for child in node.named_children if "variable" in child.type), "")
        if name == "HOME":
            return "~"
        if name.upper() in _PACKAGE_VARIABLES:
            return PACKAGE
        if name in self.values:
            return self.values[name]
        if name and name not in _QUIET_VARIABLES and re.match(r"^[A-Z][A-Z0-9_]+$", name):
            self.seen.variable(self.place.at(self.line(node)), name)
        children = node.named_children
        if node.type == "expansion" and len(children) > 1 and re.match(r"\$\{\w+:?[-=]", _text(node)):
            return self.fold(children[-1], depth + 1)
        return UNKNOWN

    def substituted(self, node: Node, depth: int) -> str:
        text = _text(node)
        if "dirname" in text and ("$0" in text or "BASH_SOURCE" in text or "{0}" in text):
            return posixpath.join(PACKAGE, posixpath.dirname(self.place.file))
        if "mktemp" in text:
            return "/tmp/*"
        if text in ("$(pwd)", "`pwd`"):
            return "."
        argv = self.argv(node.named_children[0], depth) if node.named_children else []
        if argv[:1] == ["echo"] and len(argv) == 2:
            return argv[1]
        if node.named_children and node.named_children[0].type == "pipeline":
            stages = [self.argv(stage, depth) for stage in node.named_children[0].named_children[:8]]
            if len(stages) == 2 and stages[0][:1] == ["echo"] and stages[1][:1] == ["base64"]:
                return decoded(stages[0][-1])
        return UNKNOWN

    def origin(self, node: Node) -> str | None:
        """The URL whose content a word or command embeds by `$(curl …)`, `<(curl …)` or a variable."""
        own = [node] if node.type == "simple_expansion" else []
        for inner in (*own, *_descend(node, ("command", "simple_expansion"))):
            if inner.type == "simple_expansion":
                name = _text(inner).lstrip("$")
                if name in self.origins:
                    return self.origins[name]
            elif _may_fetch(inner):
                url = fetched_url(self.argv(inner, 1))
                if url is not None:
                    return url
        return None


_Inner = list[tuple[Node, tuple[Guard, ...]]]
_HANDLERS: dict[str, Callable[[_Walk, Node, tuple[Guard, ...]], _Inner | None]] = {
    "if_statement": _Walk.branch,
    "elif_clause": _Walk.branch,
    "while_statement": _Walk.branch,
    "case_statement": _Walk.case,
    "list": _Walk.both,
    "variable_assignment": _Walk.assign,
    "for_statement": _Walk.loop,
    "file_redirect": _Walk.redirect,
    "pipeline": _Walk.pipeline,
    "command": _Walk.command,
}


def _descend(node: Node, kinds: tuple[str, ...]) -> Iterator[Node]:
    stack, looked = list(node.named_children), 0
    while stack and looked < 200:
        looked += 1
        child = stack.pop()
        if child.type in kinds:
            yield child
        stack.extend(child.named_children)


def _may_fetch(command: Node) -> bool:
    """Whether a download program stands among the first words of a command, before any of it is folded."""
    table = programs()
    for child in command.named_children[:6]:
        if child.end_byte - child.start_byte <= 64:
            name = program_name(_text(child))
            if name in table["fetch"]:
                return True
    return False


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _text(node: Node) -> str:
    return _decode(node.text or b"")
