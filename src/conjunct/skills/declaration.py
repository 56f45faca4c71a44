"""From front matter to `Declaration`: the specification's fields, and what registries add to them."""

from __future__ import annotations

import importlib.resources
import re
import unicodedata
from collections.abc import Iterator
from functools import cache

import yaml

from conjunct.model import Declaration
from conjunct.skills.allowed_tools import parse_allowed_tools
from conjunct.skills.front_matter import FrontMatter
from conjunct.skills.notes import Notes, has_hidden, printable
from conjunct.skills.yaml_subset import Node

NAME_LIMIT = 64
DESCRIPTION_LIMIT = 1024
METADATA_LIMIT = 1_000
METADATA_TEXT_LIMIT = 4_096
_KEY_DEPTH = 12

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_VARIABLE_IN_TEXT = re.compile(r"\b[A-Z][A-Z0-9]{0,63}(?:_[A-Z0-9]{1,63}){1,8}\b")
_PROGRAM = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.+-]{0,127}")
_SPLIT = re.compile(r"[\s,;]+")


def declare(front: FrontMatter, folder: str, file: str, notes: Notes) -> Declaration:
    """What the manifest declares. `folder` is the name of the folder the skill was found in."""
    tools, troubles = parse_allowed_tools(_list_or_raw(front, "allowed-tools"))
    for trouble in troubles:
        notes.add(
            "front-matter.allowed-tools",
            f"`allowed-tools`: {trouble}",
            file=file,
            line=front.lines.get("allowed-tools"),
        )
    if "hooks" in front.values:
        notes.add(
            "declares.hooks",
            "registers hooks: commands that the agent runs by itself",
            file=file,
            line=front.lines.get("hooks"),
        )
    other = {key: value for key, value in front.values.items() if key not in _OWN_FIELDS}
    flat = tuple(_flatten(other))
    if len(flat) >= METADATA_LIMIT:
        notes.add(
            "front-matter.too-many-fields",
            f"more than {METADATA_LIMIT} fields; the rest is ignored",
            file=file,
        )
    compatibility = front.text("compatibility")
    return Declaration(
        name=_name(front, folder, file, notes),
        description=_description(front, file, notes),
        allowed_tools=tools,
        compatibility=compatibility,
        license=front.text("license"),
        requires_environment=_requires("environment", flat, compatibility),
        requires_programs=_requires("programs", flat, None),
        metadata=flat,
        line_of=tuple(front.lines.items()),
    )


_OWN_FIELDS = frozenset({"name", "description", "allowed-tools", "compatibility", "license"})


def _list_or_raw(front: FrontMatter, key: str) -> Node:
    return front.values.get(key)


def _name(front: FrontMatter, folder: str, file: str, notes: Notes) -> str:
    line = front.lines.get("name")
    declared = front.text("name")
    if not declared:
        if front.present:
            notes.add(
                "front-matter.no-name",
                f"no `name`; the folder's name {folder!r} is used",
                file=file,
                line=line,
            )
        return safe_name(folder)
    if not _is_standard(declared):
        notes.add(
            "front-matter.name-form",
            f"name {declared!r} is not 1 to {NAME_LIMIT} lower-case letters, digits and single hyphens",
            file=file,
            line=line,
        )
    if folder and unicodedata.normalize("NFC", declared) != unicodedata.normalize("NFC", folder):
        notes.add(
            "front-matter.name-unlike-folder",
            f"name {declared!r}, but folder {folder!r}",
            file=file,
            line=line,
        )
    return safe_name(declared)


def _is_standard(name: str) -> bool:
    """The specification's form; its reference reader takes letters of every script."""
    parts = unicodedata.normalize("NFC", name).split("-")
    return len(name) <= NAME_LIMIT and all(part.isalnum() and part == part.lower() for part in parts)


def safe_name(name: str) -> str:
    """`name` as one path component that is safe to show: NFC, no separators, nothing invisible.

    `~` is kept for ids: a package must not be able to take the id of another one.
    """
    text = unicodedata.normalize("NFC", name)
    kept = "".join("_" if character in "/\\:~" or has_hidden(character) else character for character in text)
    kept = kept.replace("\n", "_").replace("\r", "_").replace("\t", "_").strip().lstrip(".-~")
    kept = kept.encode("utf-8", "replace")[: NAME_LIMIT * 3].decode("utf-8", "ignore")[: NAME_LIMIT * 2]
    return kept or "unnamed"


def _description(front: FrontMatter, file: str, notes: Notes) -> str:
    line = front.lines.get("description")
    text = front.text("description")
    if text:
        if len(text) > DESCRIPTION_LIMIT:
            notes.add(
                "front-matter.description-length",
                f"description has {len(text)} characters; the specification allows {DESCRIPTION_LIMIT}",
                file=file,
                line=line,
            )
        return text
    notes.add(
        "front-matter.no-description", "no `description`; the first paragraph is used", file=file, line=line
    )
    return _first_paragraph(front.body)


def _first_paragraph(body: str) -> str:
    taken: list[str] = []
    for line in body.split("\n", 400)[:400]:
        text = line.strip()
        if text.startswith(("#", "```", "---", "<!--", "|", "![")):
            text = ""
        if text:
            taken.append(text)
        elif taken:
            break
    return printable(" ".join(taken), DESCRIPTION_LIMIT)


def _flatten(values: dict[str, Node]) -> Iterator[tuple[str, str]]:
    """Dotted keys and text values; depth is bounded by the parser, number and length here."""
    stack: list[tuple[str, Node]] = [(key, value) for key, value in reversed(values.items())]
    made = 0
    while stack and made < METADATA_LIMIT:
        key, value = stack.pop()
        if isinstance(value, dict):
            stack += [(f"{key}.{inner}", value[inner]) for inner in reversed(value)]
        elif isinstance(value, list):
            stack += [(f"{key}.{index}", value[index]) for index in reversed(range(len(value)))]
        else:
            made += 1
            yield key[:METADATA_TEXT_LIMIT], (value or "")[:METADATA_TEXT_LIMIT]


@cache
def _keys() -> dict[str, list[str]]:
    text = importlib.resources.files(__package__).joinpath("declaration_keys.yaml").read_text("utf-8")
    keys: dict[str, list[str]] = yaml.safe_load(text)
    return keys


@cache
def _pattern(kind: str) -> re.Pattern[str]:
    element = r"[^.]{1,128}"
    forms = (
        re.escape(key).replace(r"\*\*\.", rf"(?:{element}\.){{0,4}}").replace(r"\*", element)
        for key in _keys()[kind]
    )
    return re.compile("|".join(f"(?:{form})" for form in forms))


def _requires(kind: str, flat: tuple[tuple[str, str], ...], compatibility: str | None) -> tuple[str, ...]:
    form = _VARIABLE if kind == "environment" else _PROGRAM
    found: dict[str, None] = {}
    for key, value in flat:
        for candidate in _candidates(kind, key, value):
            if form.fullmatch(candidate):
                found[candidate] = None
    if compatibility and kind == "environment":
        found |= dict.fromkeys(_VARIABLE_IN_TEXT.findall(compatibility[:METADATA_TEXT_LIMIT]))
    return tuple(found)


def _candidates(kind: str, key: str, value: str) -> list[str]:
    """Names that one flattened field adds: elements of a list, keys of a mapping, words of a text."""
    parts = key.split(".", _KEY_DEPTH + 1)
    if len(parts) > _KEY_DEPTH:
        return []
    plain = [part.casefold().replace("-", "").replace("_", "") for part in parts]
    for depth in range(1, len(parts) + 1):
        if not _pattern(kind).fullmatch(".".join(plain[:depth])):
            continue
        rest = parts[depth:]
        if not rest or (len(rest) == 1 and rest[0].isdigit()):
            return [] if value.casefold() in {"true", "false"} else _SPLIT.split(value)
        if len(rest) == 2 and rest[0].isdigit():
            return [value] if rest[1].casefold() in _keys()["name_keys"] else []
        return [rest[0]] if not rest[0].isdigit() else []
    return []
