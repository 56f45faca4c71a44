"""Compiled Python in a package: does it say what the source beside it says?"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from conjunct.model import Entry, Severity
from conjunct.skills.bounds import Bounds
from conjunct.skills.digest import path_bytes
from conjunct.skills.marshal_form import CodeForm, MarshalTrouble
from conjunct.skills.notes import Notes
from conjunct.skills.package import read_regular
from conjunct.skills.scripts import head_of, is_bytecode

_CACHED = re.compile(
    r"(?P<folder>.*/|)__pycache__/(?P<name>[^/]{1,200})\.[a-z]{1,20}-?[0-9]{2,4}(?P<opt>\.opt-[12])?"
)
_WORD = re.compile(r"\w+")
_ESCAPE = re.compile(r"\\[abfnrtv\n]")
_MADE_UP = re.compile(r"<(?:locals|genexpr|listcomp|dictcomp|setcomp|lambda|module)>")
_HEADER = 16
_OWN_MAGIC = int.from_bytes(importlib.util.MAGIC_NUMBER[:2], "little")
_VERSION_TEXTS = frozenset(
    [
        ".0",
        ".defaults",
        ".generic_base",
        ".type_params",
        "__annotate__",
        "__annotate_func__",
        "__annotations__",
        "__class__",
        "__classcell__",
        "__classdict__",
        "__classdictcell__",
        "__conditional_annotations__",
        "__doc__",
        "__firstlineno__",
        "__module__",
        "__name__",
        "__qualname__",
        "__static_attributes__",
        "__type_params__",
        "format",
        "NotImplementedError",
        "None",
        "<genexpr>",
        "<listcomp>",
        "<dictcomp>",
        "<setcomp>",
        "<lambda>",
        "<module>",
    ]
) | {""}
"""Names that some Python versions put into code although no source contains them."""

# Compiling is done in a process of its own: a source can be written to exhaust or crash the compiler.
_COMPILER = """
import marshal, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
source = sys.stdin.buffer.read()
code = compile(source, "source.py", "exec", dont_inherit=True, optimize=int(sys.argv[1]))
sys.stdout.buffer.write(marshal.dumps(code))
"""


def check_bytecode(root: Path, entries: Sequence[Entry], notes: Notes, bounds: Bounds) -> None:
    """Note every compiled file that differs from its source, has none, or cannot be compared."""
    staged = [entry for entry in entries if entry.kind == "file" and entry.sha256]
    known = {entry.path for entry in staged}
    compiled = [entry for entry in staged if entry.path.endswith((".pyc", ".pyo"))]
    for entry in staged:
        if not entry.path.endswith((".pyc", ".pyo")) and is_bytecode(head_of(root, entry)):
            notes.add(
                "integrity.bytecode-disguised",
                "is compiled Python under another name; Python runs it all the same",
                file=entry.path,
                severity=Severity.REVIEW,
            )
    for number, entry in enumerate(compiled):
        source, levels = _source_of(entry.path)
        if source not in known:
            notes.add(
                "integrity.bytecode-without-source",
                f"compiled Python without its source {source!r}",
                file=entry.path,
                severity=Severity.REVIEW,
            )
        elif number >= bounds.bytecode_files:
            _cannot(notes, entry, f"only the first {bounds.bytecode_files} compiled files are compared")
        else:
            _compare(root, entry, source, levels, notes, bounds)


def _source_of(path: str) -> tuple[str, tuple[int, ...]]:
    """The source's path, and the optimisation levels that the compiled file may have."""
    stem = path.rsplit(".", 1)[0]
    cached = _CACHED.fullmatch(stem)
    if cached is None:
        return stem + ".py", (0, 1, 2)
    level = int(cached["opt"][-1]) if cached["opt"] else 0
    return f"{cached['folder']}{cached['name']}.py", (level,)


def _compare(
    root: Path, entry: Entry, source: str, levels: tuple[int, ...], notes: Notes, bounds: Bounds
) -> None:
    base = os.fsencode(root)
    data = read_regular(os.path.join(base, path_bytes(entry.path)), bounds.bytecode_bytes + 1)
    text = read_regular(os.path.join(base, path_bytes(source)), bounds.bytecode_bytes + 1)
    if data is None or text is None or max(len(data), len(text)) > bounds.bytecode_bytes:
        return _cannot(notes, entry, f"larger than {bounds.bytecode_bytes} bytes")
    magic = int.from_bytes(data[:2], "little")
    if data[2:4] != b"\r\n" or len(data) <= _HEADER:
        return _cannot(notes, entry, "it is no compiled Python file")
    try:
        found = CodeForm(data[_HEADER:], magic)
    except MarshalTrouble as trouble:
        return _cannot(notes, entry, str(trouble))
    compiled = [form for level in levels if (form := _compile(text, level, bounds)) is not None]
    if magic != _OWN_MAGIC:
        return _compare_texts(entry, source, magic, found, compiled, text, notes)
    if not compiled:
        return _cannot(notes, entry, f"{source!r} does not compile")
    if all(form.digest != found.digest for form in compiled):
        _unlike(notes, entry, source, "")
    return None


def _compare_texts(
    entry: Entry,
    source: str,
    magic: int,
    found: CodeForm,
    compiled: Sequence[CodeForm],
    text: bytes,
    notes: Notes,
) -> None:
    """Another Python compiled the file: instructions differ, but it can only name what the source names."""
    written = text.decode("utf-8", "replace")
    words = frozenset(_WORD.findall(_ESCAPE.sub(" ", written)))
    flat = " ".join(written.split())
    known = _VERSION_TEXTS.union(*(form.texts for form in compiled))

    def explained(item: str) -> bool:
        if item in known or item in flat:
            return True
        if "<locals>" in item or not compiled:
            return (words | _VERSION_TEXTS).issuperset(_WORD.findall(_MADE_UP.sub(" ", item)))
        return False

    foreign = sorted(repr(item) for item in found.texts if not explained(item))
    if foreign:
        named = ", ".join(foreign[:5])
        _unlike(notes, entry, source, f": it names {named}, the source does not")
        return
    notes.add(
        "integrity.bytecode-not-compared",
        f"compiled by another Python (magic number {magic}): its names and constants are those of "
        f"{source!r}, its instructions cannot be compared",
        file=entry.path,
    )


def _compile(source: bytes, level: int, bounds: Bounds) -> CodeForm | None:
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-B", "-W", "ignore", "-c", _COMPILER, str(level)],
            input=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=bounds.compile_seconds,
            check=True,
            env={},
        )
        return CodeForm(done.stdout, _OWN_MAGIC)
    except (subprocess.SubprocessError, OSError, MarshalTrouble):
        return None


def _unlike(notes: Notes, entry: Entry, source: str, why: str) -> None:
    notes.add(
        "integrity.bytecode-unlike-source",
        f"compiled Python that differs from {source!r} beside it{why}",
        file=entry.path,
        severity=Severity.REVIEW,
    )


def _cannot(notes: Notes, entry: Entry, why: str) -> None:
    notes.add(
        "integrity.bytecode-not-compared",
        f"cannot be compared with its source: {why}",
        file=entry.path,
        severity=Severity.REVIEW,
    )
