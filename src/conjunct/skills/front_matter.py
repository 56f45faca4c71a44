"""`SKILL.md` into front matter and body: forgiving about form, and every forgiveness is noted."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from conjunct.model import Severity
from conjunct.skills.bounds import DEFAULT_BOUNDS, Bounds
from conjunct.skills.notes import Notes, has_hidden, printable
from conjunct.skills.yaml_subset import Node, YamlText, YamlTrouble, parse_mapping

BLANK_LINES_HARMLESS = 100
"""Blank lines before the text, or within it, that no longer look like formatting but like hiding."""

_TOP_KEY = re.compile(r"([A-Za-z_][\w.-]{0,63})[ \t]{0,8}:(?:[ \t]|$)")
_BLOCK_SCALAR = re.compile(r"[|>][+-]?[0-9]?[+-]?[ \t]*(?:#.*)?$")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The parts of a manifest. Keys are as the specification spells them; lines count in the file, from 1."""

    values: dict[str, Node] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    raw: dict[str, str] = field(default_factory=dict)
    body: str = ""
    body_line: int = 1
    present: bool = False

    def text(self, key: str) -> str | None:
        """A text field on one line; its source text where YAML made it something else."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            value = self.raw.get(key, "")
        return " ".join(value.split())


def decode(data: bytes, file: str, notes: Notes) -> str:
    """The text of a manifest under any locale, newlines as LF; what had to be forgiven is noted."""
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(mark):
            notes.add("encoding.utf-16", "is UTF-16, which most agents cannot read", file=file, line=1)
            return _unix(data[2:].decode(encoding, "replace"))
    if data.startswith(b"\xef\xbb\xbf"):
        notes.add("encoding.bom", "begins with a byte-order mark", file=file, line=1)
        data = data[3:]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        notes.add(
            "encoding.invalid-utf-8", f"byte {data[error.start]:#04x} is not UTF-8", file=file, line=line
        )
        text = data.decode("utf-8", "replace")
    if "\r" in text:
        notes.add("encoding.crlf", "has carriage returns at line ends", file=file, line=1)
    return _unix(text)


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_front_matter(text: str, file: str, notes: Notes, bounds: Bounds = DEFAULT_BOUNDS) -> FrontMatter:
    """Split a decoded manifest. Never raises: what cannot be read is noted and the rest is kept."""
    lines = text.split("\n")
    start = next((index for index, line in enumerate(lines) if line.strip()), len(lines))
    if start == len(lines) or lines[start].rstrip() != "---":
        notes.add("front-matter.missing", "no front matter: the first line is not `---`", file=file, line=1)
        return FrontMatter(body=text, body_line=1)
    if start:
        notes.add(
            "front-matter.leading-blank-lines",
            f"{start} blank lines before the front matter; most agents then see none",
            file=file,
            line=1,
            severity=Severity.REVIEW if start > BLANK_LINES_HARMLESS else Severity.NOTE,
        )
    end = _closing_line(lines, start, bounds)
    if end is None:
        notes.add(
            "front-matter.unclosed", "the front matter is not closed by `---`", file=file, line=start + 1
        )
        end = _end_of_keys(lines, start)
        parsed = _recover(lines[start + 1 : end], start + 1, file, notes, bounds)
        return _finish(parsed, start + 1, lines[end:], end + 1, file, notes)
    block = lines[start + 1 : end]
    try:
        parsed = parse_mapping("\n".join(block) + "\n", bounds)
    except YamlTrouble as trouble:
        notes.add(
            "front-matter.invalid-yaml",
            f"not valid YAML ({trouble}); fields were recovered one by one",
            file=file,
            line=start + 1 + trouble.line,
            quote=block[trouble.line - 1] if 0 < trouble.line <= len(block) else None,
        )
        parsed = _recover(block, start + 1, file, notes, bounds)
    return _finish(parsed, start + 1, lines[end + 1 :], end + 2, file, notes)


def _closing_line(lines: list[str], start: int, bounds: Bounds) -> int | None:
    size = 0
    for index in range(start + 1, len(lines)):
        if lines[index].rstrip() in {"---", "..."}:
            return index
        size += len(lines[index]) + 1
        if size > bounds.front_matter_bytes:
            return None
    return None


def _end_of_keys(lines: list[str], start: int) -> int:
    """First line after an unclosed front matter: the first blank one, or the first that cannot belong."""
    for index in range(start + 1, len(lines)):
        line = lines[index]
        if not line.strip() or not (_TOP_KEY.match(line) or line[0] in " \t-#"):
            return index
    return len(lines)


def _recover(block: list[str], offset: int, file: str, notes: Notes, bounds: Bounds) -> YamlText:
    """Read each top-level key with the lines indented below it by itself, as YAML where that works."""
    result = YamlText()
    starts = [index for index, line in enumerate(block) if _TOP_KEY.match(line)]
    for number, index in enumerate(starts):
        following = starts[number + 1] if number + 1 < len(starts) else len(block)
        part = block[index:following]
        try:
            parsed = parse_mapping("\n".join(part) + "\n", bounds)
        except YamlTrouble:
            key, _, first = part[0].partition(":")
            key = key.strip()
            raw = _raw_value(first, part[1:])
            parsed = YamlText({key: raw}, {key: 1}, {key: raw})
            notes.add(
                "front-matter.recovered",
                f"`{key}` is taken as plain text (quote it to make it valid YAML)",
                file=file,
                line=offset + index + 1,
                quote=part[0],
            )
        for key, value in parsed.values.items():
            if key in result.values:
                result.oddities.append(("duplicate-key", index + 1, f"key {key!r} appears twice"))
                continue
            result.values[key] = value
            result.raw[key] = parsed.raw.get(key, "")
            result.lines[key] = index + parsed.lines.get(key, 1)
        result.oddities += [(code, index + line, what) for code, line, what in parsed.oddities]
    return result


def _raw_value(first: str, more: list[str]) -> str:
    first = first.strip()
    if _BLOCK_SCALAR.match(first):
        first = ""
    text = " ".join([first, *(line.strip() for line in more)]).strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text


def _finish(
    parsed: YamlText, offset: int, body: list[str], body_line: int, file: str, notes: Notes
) -> FrontMatter:
    for code, line, what in parsed.oddities:
        severity = Severity.REVIEW if code == "tag" else Severity.NOTE
        notes.add(f"front-matter.{code}", what, file=file, line=offset + line, severity=severity)
    values: dict[str, Node] = {}
    lines: dict[str, int] = {}
    raw: dict[str, str] = {}
    for key, value in parsed.values.items():
        line = offset + parsed.lines.get(key, 1)
        known = _standard_key(key)
        if known != key:
            notes.add("front-matter.key-spelling", f"`{key}` is read as `{known}`", file=file, line=line)
        if known in values:
            notes.add("front-matter.duplicate-key", f"`{key}` repeats `{known}`", file=file, line=line)
            continue
        if isinstance(value, str) and has_hidden(value):
            notes.add(
                "integrity.hidden-characters",
                f"`{printable(known, 64)}` contains control or invisible characters",
                file=file,
                line=line,
                severity=Severity.REVIEW,
                quote=value,
            )
        values[known], lines[known], raw[known] = value, line, parsed.raw.get(key, "")
    return FrontMatter(values, lines, raw, "\n".join(body), body_line, present=True)


_STANDARD = {
    "name": "name",
    "description": "description",
    "license": "license",
    "licence": "license",
    "compatibility": "compatibility",
    "metadata": "metadata",
    "allowedtools": "allowed-tools",
    "requires": "requires",
    "version": "version",
    "hooks": "hooks",
}


def _standard_key(key: str) -> str:
    return _STANDARD.get(key.casefold().replace("-", "").replace("_", ""), key)
