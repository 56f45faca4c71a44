"""A whole package to its reach: each file goes to the reader of its language, none is skipped in silence."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator
from pathlib import Path

from conjunct.model import Entry, Skill
from conjunct.reach.bytecode import read_bytecode
from conjunct.reach.found import Place, Sightings
from conjunct.reach.javascript import read_javascript
from conjunct.reach.python import read_python
from conjunct.reach.shell import read_foreign_fetch, read_shell
from conjunct.skills import language_of

LARGEST_SOURCE = 1024 * 1024
"""Bytes of one source file that are read; a larger one is opaque beyond that."""

MOST_SOURCE = 24 * 1024 * 1024
"""Bytes of source read per package; beyond it the rest is opaque."""

_TEXT_ONLY = frozenset(
    {".md", ".txt", ".json", ".yaml", ".yml", ".csv", ".tsv", ".toml", ".html", ".css", ".svg", ".png",
     ".jpg", ".pdf", ".xsd", ".xml", ".ttf", ".woff2", ".gz", ".zip", ".lock", ".cfg", ".ini", ".docx",
     ".pptx", ".xlsx", ".mdx", ".rst", ".tex", ".gif", ".jpeg", ".webp"}
)  # fmt: skip
"""Suffixes that are not opened to look for a `#!` line unless the file is executable."""

_MORE_LANGUAGES = {
    ".ipynb": "notebook", ".envrc": "shell", ".command": "shell", ".pkl": "pickle", ".pickle": "pickle",
    ".joblib": "pickle", ".psm1": "powershell", ".vbs": "vbscript", ".applescript": "applescript",
    ".scpt": "applescript", ".fish": "fish", ".go": "go", ".rs": "rust", ".java": "java", ".swift": "swift",
}  # fmt: skip


def _language(entry: Entry, head: bytes) -> str | None:
    name = posixpath.basename(entry.path).lower()
    suffix = ".envrc" if name == ".envrc" else posixpath.splitext(name)[1]
    language = _MORE_LANGUAGES.get(suffix) or language_of(entry.path, head)
    return "javascript" if language == "typescript" else language


def read_scripts(skill: Skill, seen: Sightings) -> None:
    """Every script, notebook and program of the package."""
    python: dict[str, str] = {}
    left = MOST_SOURCE
    for entry in skill.entries:
        if entry.kind != "file" or not _may_be_code(entry):
            continue
        head = _bytes(skill.root, entry.path, 256)
        language = _language(entry, head)
        if language is None:
            continue
        if language == "bytecode":
            read_bytecode(entry.path, _bytes(skill.root, entry.path, LARGEST_SOURCE), seen)
            continue
        place = Place(entry.path, 1, _source(language))
        if left <= 0:
            seen.opaque(place, f"oversized:{language}")
            continue
        if language in ("native", "pickle"):
            seen.opaque(place, f"binary:{language}", 0.8)
            continue
        raw = _bytes(skill.root, entry.path, LARGEST_SOURCE)
        left -= len(raw)
        if entry.size > LARGEST_SOURCE:
            seen.opaque(place, f"oversized:{language}")
        text = raw.decode("utf-8-sig", "replace").replace("\r\n", "\n")
        if language == "python":
            python[entry.path] = text
        elif language == "notebook":
            _read_notebook(text, place, seen)
        else:
            read_code(language, text, place, seen)
    if python:
        read_python(python, seen)


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
    suffix = posixpath.splitext(entry.path)[1].lower()
    return suffix not in _TEXT_ONLY or bool(entry.executable)


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
