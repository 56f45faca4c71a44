"""Which files are programs."""

from __future__ import annotations

import pytest

from conjunct.skills import language_of


@pytest.mark.parametrize(
    ("path", "head", "language"),
    [
        ("a.py", b"", "python"),
        ("A.PY", b"", "python"),
        ("run", b"#!/usr/bin/env python3\n", "python"),
        ("run", b"#!/usr/bin/env -S uv run --script\n", "python"),
        ("run", b"#! /usr/bin/python3.12 -u\n", "python"),
        ("run", b"#!/usr/bin/env FOO=1 bash\n", "shell"),
        ("run", b"\xef\xbb\xbf#!/bin/sh\n", "shell"),
        ("run", b"#!/bin/dash", "shell"),
        ("run", b"#!/usr/bin/env node\n", "javascript"),
        ("run", b"#!/opt/unheard-of\n", "other"),
        ("run", b"#!\n", "other"),
        ("run", b"\x7fELF\x02", "native"),
        ("say.py", b"\xa7\r\r\n\0\0", "bytecode"),
        ("data.txt", b"\xa7\r\r\n\0\0", "bytecode"),
        ("mod.mts", b"", "typescript"),
        ("notes.md", b"# python\n", None),
        ("README", b"!#/bin/sh\n", None),
        (".py", b"", None),
        ("py", b"", None),
        ("notes.txt", b"ab\r\ncd", None),
    ],
)
def test_language(path: str, head: bytes, language: str | None) -> None:
    assert language_of(path, head) == language
