"""Reading a battery file: YAML with line numbers, bounded in size, depth and shape.

A battery folder comes from a user, so it is treated like any other input: no aliases (they multiply), no
deep nesting (it overflows the stack), no tags (they build objects), no unknown or repeated keys (they are
typing errors that would otherwise change what is asked without a word).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

import yaml

from conjunct.errors import BatteryError

MAXIMUM_BYTES = 4 << 20
MAXIMUM_DEPTH = 12

_Choice = TypeVar("_Choice", bound=StrEnum)
_IDENTIFIER = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")

_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(slots=True)
class Section:
    """One mapping of a battery file, whose keys are taken one by one; `close` complains about the rest."""

    file: str
    trail: str
    line: int
    nodes: dict[str, yaml.Node]
    taken: set[str] = field(default_factory=set)

    def complain(self, message: str, *, key: str = "", node: yaml.Node | None = None) -> BatteryError:
        """An error that names file, line and place."""
        where = ".".join(part for part in (self.trail, key) if part)
        line = node.start_mark.line + 1 if node is not None else self.line
        return BatteryError(f"{self.file}:{line}: {where or 'the document'}: {message}")

    def has(self, key: str) -> bool:
        """Whether the key is present."""
        return key in self.nodes

    def text(self, key: str, default: str | None = None) -> str:
        """A text value. Numbers and dates are taken as they are written."""
        node = self._node(key, default is None)
        if node is None:
            return default or ""
        return self._scalar(key, node)

    def identifier(self, seen: set[str], key: str = "id") -> str:
        """A short name that nothing else in this file's list has; it is added to `seen`."""
        name = self.text(key)
        if not _IDENTIFIER.match(name):
            raise self.complain(f"{name!r} is no identifier; use a-z, 0-9, '.', '_' and '-'", key=key)
        if name in seen:
            raise self.complain(f"{name!r} is given twice in this file; rename one", key=key)
        seen.add(name)
        return name

    def one_of(self, key: str, kind: type[_Choice]) -> _Choice:
        """A member of an enumeration by its value."""
        value = self.text(key)
        known = {str(member.value): member for member in kind}
        if value not in known:
            raise self.complain(f"{value!r} is not known; expected one of {', '.join(known)}", key=key)
        return known[value]

    def flag(self, key: str) -> bool:
        """A yes/no value, false where absent."""
        node = self._node(key, False)
        if node is None:
            return False
        value = self._scalar(key, node).lower()
        if value not in ("true", "false"):
            raise self.complain(f"found {value!r}, expected true or false", key=key, node=node)
        return value == "true"

    def texts(self, key: str, *, required: bool = False) -> tuple[str, ...]:
        """A list of text values, empty where absent."""
        return tuple(self._scalar(key, node) for node in self._items(key, required))

    def pairs(self, key: str) -> tuple[tuple[str, str], ...]:
        """A mapping of text to text, in the order of the file."""
        node = self._node(key, False)
        if node is None:
            return ()
        section = _section(node, self.file, f"{self.trail}.{key}" if self.trail else key)
        return tuple((name, section.text(name)) for name in section.nodes)

    def sections(self, key: str, *, required: bool = False) -> Iterator[Section]:
        """A list of mappings."""
        for index, node in enumerate(self._items(key, required)):
            trail = f"{self.trail}.{key}[{index}]" if self.trail else f"{key}[{index}]"
            yield _section(node, self.file, trail)

    def rows(self, key: str, *, width: int) -> tuple[tuple[str, ...], ...]:
        """A list of lists of text, each of the same length."""
        found = []
        for node in self._items(key, True):
            if not isinstance(node, yaml.SequenceNode) or len(node.value) != width:
                raise self.complain(f"expected a list of {width} cells, one a column", key=key, node=node)
            found.append(tuple(self._scalar(key, cell) for cell in node.value))
        return tuple(found)

    def inner(self, key: str) -> Section:
        """A mapping below this one."""
        node = self._node(key, True)
        if node is None:  # pragma: no cover - `_node` raises first
            raise self.complain(f"key {key!r} is missing")
        return _section(node, self.file, f"{self.trail}.{key}" if self.trail else key)

    def close(self) -> None:
        """Raise `BatteryError` for a key that nothing asked for."""
        for key, node in self.nodes.items():
            if key not in self.taken:
                known = ", ".join(sorted(self.taken))
                raise self.complain(f"unknown key; known here: {known}", key=key, node=node)

    def _node(self, key: str, required: bool) -> yaml.Node | None:
        self.taken.add(key)
        node = self.nodes.get(key)
        if node is None and required:
            raise self.complain(f"key {key!r} is missing; add it")
        return node

    def _items(self, key: str, required: bool) -> list[yaml.Node]:
        node = self._node(key, required)
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise self.complain(f"found a {_kind(node)}, expected a list", key=key, node=node)
        if required and not node.value:
            raise self.complain("the list is empty; give at least one element", key=key, node=node)
        return list(node.value)

    def _scalar(self, key: str, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self.complain(f"found a {_kind(node)}, expected text", key=key, node=node)
        return str(node.value)


def read_document(path: Path, *, name: str | None = None) -> Section:
    """The top mapping of one battery file. `name` is how messages call the file.

    Raises `BatteryError` where the file cannot be read, is too large or too deep, is not YAML, holds an
    alias or a repeated key, or is not a mapping.
    """
    shown = name or str(path)
    try:
        if not path.is_file():
            raise BatteryError(f"{shown}: not a regular file; a battery file is a YAML file")
        if path.stat().st_size > MAXIMUM_BYTES:
            raise BatteryError(f"{shown}: larger than {MAXIMUM_BYTES} bytes; split the battery")
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BatteryError(f"{shown}: cannot be read as UTF-8 text: {error}") from error
    return parse_document(text, shown)


def parse_document(text: str, name: str) -> Section:
    """The top mapping of the text of a battery file; see `read_document`."""
    try:
        _check_shape(text, name)
        node = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        problem = getattr(error, "problem", None) or "a character that YAML does not allow"
        raise BatteryError(f"{name}:{line}: not valid YAML: {problem}; correct it") from error
    if node is None:
        raise BatteryError(f"{name}:1: the file is empty; expected a mapping")
    return _section(node, name, "")


def _check_shape(text: str, name: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1 if event.start_mark is not None else 1
        if isinstance(event, yaml.AliasEvent):
            raise BatteryError(f"{name}:{line}: aliases are not allowed in a battery; write the value out")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAXIMUM_DEPTH:
            raise BatteryError(f"{name}:{line}: nested deeper than {MAXIMUM_DEPTH}; flatten it")


def _kind(node: yaml.Node) -> str:
    """What a node is, in the words of YAML."""
    return {"ScalarNode": "text", "SequenceNode": "list"}.get(type(node).__name__, "mapping")


def _section(node: yaml.Node, file: str, trail: str) -> Section:
    line = node.start_mark.line + 1
    if not isinstance(node, yaml.MappingNode):
        place = trail or "the document"
        raise BatteryError(f"{file}:{line}: {place}: found a {_kind(node)}, expected a mapping")
    nodes: dict[str, yaml.Node] = {}
    section = Section(file, trail, line, nodes)
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise section.complain("a key is not text", node=key_node)
        key = str(key_node.value)
        if key in nodes:
            raise section.complain("the key is given twice; keep one", key=key, node=key_node)
        nodes[key] = value_node
    return section
