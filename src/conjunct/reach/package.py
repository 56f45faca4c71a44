"""A whole package to its reach: each file goes to the reader of its language, none is skipped in silence."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from conjunct.model import Entry, Skill
from conjunct.reach.bytecode import read_bytecode
from conjunct.reach.containers import (
    DEEPEST,
    LARGEST_CONTAINER,
    Allowance,
    Unreadable,
    container_kind,
    is_script_with_zip,
    members,
)
from conjunct.reach.documents import read_document_member, read_macros, read_pdf
from conjunct.reach.foreign_fetch import read_foreign_fetch
from conjunct.reach.found import Place, Sightings
from conjunct.reach.javascript import read_javascript
from conjunct.reach.python import read_python
from conjunct.reach.shell import read_shell
from conjunct.skills import language_of
from conjunct.skills.notes import printable

LARGEST_SOURCE = 1024 * 1024
"""Bytes of one source file that are read; a larger one is opaque beyond that."""

MOST_SOURCE = 24 * 1024 * 1024
"""Bytes of source read per package; beyond it the rest is opaque."""

_HEAD = 512

_TEXT_ONLY = frozenset(
    {".md", ".txt", ".json", ".yaml", ".yml", ".csv", ".tsv", ".toml", ".html", ".css", ".svg", ".png",
     ".jpg", ".xsd", ".xml", ".ttf", ".woff2", ".lock", ".cfg", ".ini", ".mdx", ".rst", ".tex", ".gif",
     ".jpeg", ".webp"}
)  # fmt: skip
"""Suffixes that are not opened to look for a `#!` line unless the file is executable."""

_MORE_LANGUAGES = {
    ".ipynb": "notebook", ".envrc": "shell", ".command": "shell", ".pkl": "pickle", ".pickle": "pickle",
    ".joblib": "pickle", ".psm1": "powershell", ".vbs": "vbscript", ".applescript": "applescript",
    ".scpt": "applescript", ".fish": "fish", ".go": "go", ".rs": "rust", ".java": "java", ".swift": "swift",
}  # fmt: skip


def _language(path: str, head: bytes) -> str | None:
    name = posixpath.basename(path).lower()
    suffix = ".envrc" if name == ".envrc" else posixpath.splitext(name)[1]
    language = _MORE_LANGUAGES.get(suffix) or language_of(path, head)
    return "javascript" if language == "typescript" else language


def read_scripts(skill: Skill, seen: Sightings) -> None:
    """Every script, notebook and program of the package, those in archives and documents included."""
    reader = _Files(seen)
    for entry in skill.entries:
        if entry.kind == "file" and _may_be_code(entry):
            head = _bytes(skill.root, entry.path, _HEAD)
            reader.file(entry.path, head, entry.size, partial(_bytes, skill.root, entry.path))
    if reader.python:
        read_python(reader.python, seen)


@dataclass(slots=True)
class _Files:
    """The files of one package while they are read, and what may still be read of them."""

    seen: Sightings
    left: int = MOST_SOURCE
    allowance: Allowance = field(default_factory=Allowance)
    python: dict[str, str] = field(default_factory=dict)

    def file(self, path: str, head: bytes, size: int, read: Callable[[int], bytes], depth: int = 0) -> None:
        """Send one file to the reader of its kind. `read` gives at most so many of its bytes."""
        kind = container_kind(head)
        if kind is None and head.startswith(b"#!") and is_script_with_zip(read(LARGEST_SOURCE)):
            kind = "zip"
        if kind is not None:
            self.container(path, kind, size, read, depth)
            return
        language = _language(path, head)
        if language is None:
            return
        if language == "bytecode":
            read_bytecode(path, read(LARGEST_SOURCE), self.seen)
            return
        place = Place(path, 1, _source(language))
        if self.left <= 0:
            self.seen.opaque(place, f"oversized:{language}")
        elif language in ("native", "pickle"):
            self.seen.opaque(place, f"binary:{language}", 0.8)
        else:
            self.source(language, read(LARGEST_SOURCE), size, place)

    def source(self, language: str, raw: bytes, size: int, place: Place) -> None:
        """One text in a programming language."""
        self.left -= len(raw)
        if size > LARGEST_SOURCE:
            self.seen.opaque(place, f"oversized:{language}")
        text = _decoded(raw)
        if language == "python":
            self.python[place.file] = text
        elif language == "notebook":
            _read_notebook(text, place, self.seen)
        else:
            read_code(language, text, place, self.seen)

    def container(self, path: str, kind: str, size: int, read: Callable[[int], bytes], depth: int) -> None:
        """An archive or document: its members are read as files of the package, to a bounded depth."""
        place = Place(path, 1, "other")
        if depth >= DEEPEST or size > LARGEST_CONTAINER:
            self.seen.opaque(place, f"oversized:{kind}")
            return
        data = read(LARGEST_CONTAINER)
        if kind == "pdf":
            read_pdf(data, place, self.seen)
            return
        if kind == "ole":
            if b"V\0B\0A\0" in data:
                read_macros(data, place, self.seen)
            return
        try:
            for name, content in members(kind, data, self.allowance, LARGEST_SOURCE):
                inner = f"{path}!/{_plain_name(name)}" if name else f"{path}!"
                read_document_member(name, content, Place(inner, 1, "other"), self.seen)
                head = content[:_HEAD]
                if (name and not _is_text_only(name)) or container_kind(head) is not None:
                    self.file(inner, head, len(content), partial(_first, content), depth + 1)
        except Unreadable as reason:
            self.seen.opaque(place, str(reason))


def _first(content: bytes, limit: int) -> bytes:
    return content[:limit]


def _plain_name(name: str) -> str:
    """A member's name that is safe to show and cannot be taken for a path of the package."""
    return printable(posixpath.normpath("/" + name.replace("\\", "/")).lstrip("/"), 200)


def _decoded(raw: bytes) -> str:
    """Source text: UTF-8 or, as some Windows editors write it, UTF-16 with its mark; one kind of line end."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = raw.decode("utf-16", "replace")
    else:
        text = raw.decode("utf-8-sig", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_code(language: str, text: str, place: Place, seen: Sightings) -> None:
    """One text in a known language; an unknown one is opaque, except for download-and-run one-liners."""
    if language == "shell":
        read_shell(text, place, seen)
    elif language == "javascript":
        read_javascript(text, place, seen)
    elif language == "python":
        read_python({place.file: text}, seen, place=place)
    else:
        seen.opaque(place, f"language:{language}", 0.7)
        read_foreign_fetch(text, place, seen)


def read_pending(seen: Sightings) -> None:
    """Code found inside code, until nothing new appears."""
    done: set[tuple[str, str, str, int]] = set()
    while seen.pending:
        snippet = seen.pending.pop()
        key = (snippet.language, snippet.text, snippet.place.file, snippet.place.line)
        if key in done or len(done) > 2000:
            continue
        done.add(key)
        seen.depth = snippet.depth
        read_code(snippet.language, snippet.text, snippet.place, seen)
    seen.depth = 0


def _read_notebook(text: str, place: Place, seen: Sightings) -> None:
    """Code cells of a Jupyter notebook, shell escapes included; lines are counted within the cells."""
    try:
        cells = json.loads(text).get("cells", [])
    except (ValueError, AttributeError, RecursionError):
        seen.opaque(place, "unparsed:notebook")
        return
    code: list[str] = []
    line = 1
    for cell in cells if isinstance(cells, list) else ():
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", "")
        source = "".join(map(str, source)) if isinstance(source, list) else str(source)
        kept: list[str] = []
        for row in source.split("\n"):
            if row.lstrip().startswith(("!", "%")):
                command = row.lstrip().lstrip("!%")
                if row.lstrip().startswith(("!", "%pip", "%sx")):
                    seen.snippet("shell", command, place.at(line + len(kept)))
                kept.append("pass" if not row[:1].isspace() else row[: len(row) - len(row.lstrip())] + "pass")
            else:
                kept.append(row)
        code.append("\n".join(kept))
        line += len(kept)
    read_python({place.file: "\n".join(code)}, seen, place=place)


def _source(language: str) -> str:
    return (
        language
        if language in ("python", "shell", "javascript")
        else "python"
        if language == "notebook"
        else "other"
    )


def _may_be_code(entry: Entry) -> bool:
    return not _is_text_only(entry.path) or bool(entry.executable)


def _is_text_only(path: str) -> bool:
    return posixpath.splitext(path)[1].lower() in _TEXT_ONLY


def _bytes(root: Path, path: str, limit: int) -> bytes:
    try:
        with (root / path).open("rb") as handle:
            return handle.read(limit)
    except OSError:
        return b""


def package_files(skill: Skill) -> Iterator[Entry]:
    """Regular files of the package."""
    return (entry for entry in skill.entries if entry.kind == "file")


def read_bytes(skill: Skill, path: str, limit: int = LARGEST_SOURCE) -> bytes:
    """At most `limit` bytes of a package file; empty where it cannot be read."""
    return _bytes(skill.root, path, limit)
