"""Which files of a package are programs, and in which language: by suffix, else by the `#!` line."""

from __future__ import annotations

import os
import re
from pathlib import Path

from conjunct.model import Entry, Skill
from conjunct.skills.digest import path_bytes
from conjunct.skills.package import read_regular

_BY_SUFFIX = {
    "py": "python", "pyw": "python", "pyi": "python", "pyc": "bytecode", "pyo": "bytecode",
    "sh": "shell", "bash": "shell", "zsh": "shell", "ksh": "shell", "bats": "shell",
    "js": "javascript", "mjs": "javascript", "cjs": "javascript", "jsx": "javascript",
    "ts": "typescript", "mts": "typescript", "cts": "typescript", "tsx": "typescript",
    "rb": "ruby", "pl": "perl", "php": "php", "lua": "lua", "r": "r", "jl": "julia", "ps1": "powershell",
    "bat": "batch", "cmd": "batch", "awk": "awk", "so": "native", "dylib": "native", "dll": "native",
    "exe": "native", "node": "native", "wasm": "native", "jar": "native",
}  # fmt: skip
_BY_INTERPRETER = (
    (re.compile(r"python[0-9.]*|pypy[0-9.]*|uv|pipx"), "python"),
    (re.compile(r"(?:ba|da|z|k|a)?sh"), "shell"),
    (re.compile(r"node(?:js)?|bun"), "javascript"),
    (re.compile(r"deno|ts-node|tsx"), "typescript"),
    (re.compile(r"ruby"), "ruby"),
    (re.compile(r"perl"), "perl"),
    (re.compile(r"php"), "php"),
    (re.compile(r"Rscript"), "r"),
    (re.compile(r"lua[0-9.]*"), "lua"),
    (re.compile(r"[gm]?awk"), "awk"),
    (re.compile(r"pwsh"), "powershell"),
)
_NATIVE = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xca\xfe\xba\xbe", b"\0asm")
_FIRST_MAGIC, _LAST_MAGIC = 3000, 4000
"""Magic numbers of Python 3; as text they would be control characters."""
HEAD_BYTES = 256
"""How much of a file `language_of` wants to see."""


def language_of(path: str, head: bytes) -> str | None:
    """The language of a program, or `None` for what is none. `head` is the start of the file.

    One of `python`, `bytecode`, `shell`, `javascript`, `typescript`, `native`, or another language's name in
    lower case; `other` for a `#!` line with an unknown interpreter.
    """
    if head.startswith(_NATIVE) and not path.endswith(".class"):
        return "native"
    if is_bytecode(head):
        return "bytecode"
    name = path.rsplit("/", 1)[-1]
    suffix = name.rsplit(".", 1)[-1].casefold() if "." in name.lstrip(".") else ""
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    text = head[3:] if head.startswith(b"\xef\xbb\xbf") else head
    if not text.startswith(b"#!"):
        return None
    return _interpreter(text[2:HEAD_BYTES].split(b"\n", 1)[0].decode("latin-1"))


def is_bytecode(head: bytes) -> bool:
    """Whether a file is compiled Python by its first bytes: Python runs such a file whatever its name."""
    return head[2:4] == b"\r\n" and _FIRST_MAGIC <= int.from_bytes(head[:2], "little") < _LAST_MAGIC


def _interpreter(line: str) -> str:
    words = [word for word in line.split() if not word.startswith("-") and "=" not in word]
    if words and words[0].rsplit("/", 1)[-1] == "env":
        words = words[1:]
    program = words[0].rsplit("/", 1)[-1] if words else ""
    return next((language for form, language in _BY_INTERPRETER if form.fullmatch(program)), "other")


def head_of(root: Path, entry: Entry) -> bytes:
    """The start of a staged file; empty where it is not staged or is no regular file."""
    return read_regular(os.path.join(os.fsencode(root), path_bytes(entry.path)), HEAD_BYTES) or b""


def scripts_of(skill: Skill) -> tuple[tuple[str, str], ...]:
    """(path, language) of every program in the package, extensionless ones included."""
    found: list[tuple[str, str]] = []
    for entry in skill.entries:
        if entry.kind == "file":
            language = language_of(entry.path, head_of(skill.root, entry))
            if language is not None:
                found.append((entry.path, language))
    return tuple(found)
