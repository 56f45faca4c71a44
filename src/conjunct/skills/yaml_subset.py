"""YAML as text: mappings, lists and scalars exactly as written, read from the event stream within bounds.

No tags are obeyed, no scalar is given a type, aliases of collections are not expanded, and nothing recurses,
so neither a bomb of aliases, nor a document that contains itself, nor one ten thousand levels deep costs
anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
)

from conjunct.skills.bounds import DEFAULT_BOUNDS, Bounds

Node = str | None | list["Node"] | dict[str, "Node"]
"""A scalar as text, an empty value, a list, or a mapping with text keys."""

_KNOWN_TAGS = ("tag:yaml.org,2002:",)
_CORE_TAGS = frozenset({"str", "int", "float", "bool", "null", "seq", "map", "timestamp", "binary"})


class YamlTrouble(ValueError):
    """The text is not YAML, or goes beyond the bounds. `line` is 1-based within the text."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(slots=True)
class YamlText:
    """A parsed mapping with what was odd about it."""

    values: dict[str, Node] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    """Top-level key to its line, 1-based within the text."""
    raw: dict[str, str] = field(default_factory=dict)
    """Top-level key to the source text of its value."""
    oddities: list[tuple[str, int, str]] = field(default_factory=list)
    """(code, line, what), code one of `alias`, `tag`, `duplicate-key`, `second-document`."""


@dataclass(slots=True)
class _Open:
    node: list[Node] | dict[str, Node]
    key: str | None = None


def parse_mapping(text: str, bounds: Bounds = DEFAULT_BOUNDS) -> YamlText:
    """`text` as a mapping. Raises `YamlTrouble` where it is none, is invalid, or exceeds the bounds."""
    try:
        return _build(text, bounds)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise YamlTrouble(str(problem), mark.line + 1 if mark else 1) from error


def _build(text: str, bounds: Bounds) -> YamlText:
    result = YamlText()
    stack: list[_Open] = []
    anchors: dict[str, str | None] = {}
    documents = 0
    value_start = 0
    for number, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
        line, start, end = _place(event)
        if number >= bounds.yaml_events:
            raise YamlTrouble(f"more than {bounds.yaml_events} elements", line)
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                result.oddities.append(("second-document", line, "a second YAML document follows"))
                break
            continue
        if isinstance(event, CollectionEndEvent):
            stack.pop()
            if len(stack) == 1 and isinstance(event, MappingEndEvent | yaml.SequenceEndEvent):
                _keep_raw(result, stack[0], text[value_start:end])
            continue
        if not isinstance(event, AliasEvent | ScalarEvent | MappingStartEvent | SequenceStartEvent):
            continue
        _look_at_tag(event, line, result)
        if not stack:
            if not isinstance(event, MappingStartEvent):
                raise YamlTrouble("the front matter is not a mapping of keys to values", line)
            stack.append(_Open(result.values))
            continue
        if len(stack) >= bounds.yaml_depth:
            raise YamlTrouble(f"nested more than {bounds.yaml_depth} levels deep", line)
        holder = stack[-1]
        if isinstance(holder.node, dict) and holder.key is None:
            holder.key = _key(event, anchors, line)
            if holder.key in holder.node:
                result.oddities.append(("duplicate-key", line, f"key {holder.key!r} appears twice"))
            if len(stack) == 1:
                result.lines[holder.key] = line
            continue
        value_start = start if len(stack) == 1 else value_start
        node = _value(event, anchors, line, result)
        top_level_key = holder.key if len(stack) == 1 else None
        _attach(holder, node)
        if top_level_key is not None and not isinstance(node, list | dict):
            result.raw[top_level_key] = text[start:end]
        if isinstance(node, list | dict):
            holder.key = top_level_key if top_level_key is not None else holder.key
            stack.append(_Open(node))
    if documents == 0:
        raise YamlTrouble("the front matter is empty", 1)
    return result


def _place(event: Event) -> tuple[int, int, int]:
    """Line (1-based), and first and last index in the text."""
    if event.start_mark is None or event.end_mark is None:
        return 1, 0, 0
    return event.start_mark.line + 1, event.start_mark.index, event.end_mark.index


def _keep_raw(result: YamlText, top: _Open, raw: str) -> None:
    if top.key is not None:
        result.raw[top.key] = raw
        top.key = None


def _look_at_tag(event: Event, line: int, result: YamlText) -> None:
    tag = getattr(event, "tag", None)
    if not tag:
        return
    name = tag.removeprefix(_KNOWN_TAGS[0])
    if tag != "!" and name not in _CORE_TAGS:
        result.oddities.append(("tag", line, f"tag {tag!r} asks the reader to build an object"))


def _key(event: Event, anchors: dict[str, str | None], line: int) -> str:
    if isinstance(event, ScalarEvent):
        if event.anchor:
            anchors[event.anchor] = event.value
        return event.value
    if isinstance(event, AliasEvent) and (name := anchors.get(event.anchor or "")) is not None:
        return name
    raise YamlTrouble("a key is not plain text", line)


def _value(event: Event, anchors: dict[str, str | None], line: int, result: YamlText) -> Node:
    if isinstance(event, ScalarEvent):
        empty = event.style is None and event.value in {"", "~", "null", "Null", "NULL"}
        text = None if empty else event.value
        if event.anchor:
            anchors[event.anchor] = text
        return text
    if isinstance(event, AliasEvent):
        if event.anchor is not None and event.anchor in anchors:
            return anchors[event.anchor]
        result.oddities.append(("alias", line, f"alias *{event.anchor} of a collection is not expanded"))
        return f"*{event.anchor}"
    return {} if isinstance(event, MappingStartEvent) else []


def _attach(holder: _Open, node: Node) -> None:
    if isinstance(holder.node, list):
        holder.node.append(node)
    elif holder.key is not None:
        holder.node.setdefault(holder.key, node)
        holder.key = None
