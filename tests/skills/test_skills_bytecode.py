"""Compiled Python against the source beside it."""

from __future__ import annotations

import contextlib
import importlib.util
import marshal
import py_compile
import struct
import sys
from pathlib import Path

import pytest
from hostile import plain
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.model import Severity, Skill
from conjunct.skills import read_registry
from conjunct.skills.marshal_form import CodeForm, MarshalTrouble

MAGIC = int.from_bytes(importlib.util.MAGIC_NUMBER[:2], "little")
SOURCE = '''"""Doc."""
import os

NUMBERS = (1, -2, 3.5, 2j, 1 << 70, b"x", None, ..., frozenset({"a", "b"}))


class Thing:
    def words(self, *names: str, **more: int) -> list[str]:
        return [f"{name}-{os.sep}" for name in names if name in {"a", "b", "c"}]


def outer(value):
    def inner():
        return value
    return inner
'''


def _skill(tmp_path: Path, source: str = SOURCE) -> Path:
    folder = plain(tmp_path, "say")
    (folder / "scripts" / "say.py").write_text(source, "utf-8")
    return folder


def _read(folder: Path, tmp_path: Path) -> Skill:
    (skill,) = read_registry(folder, staging=tmp_path / "staging").skills
    return skill


def _cached(folder: Path, tag: str = sys.implementation.cache_tag, level: str = "") -> Path:
    return folder / "scripts" / "__pycache__" / f"say.{tag}{level}.pyc"


def test_what_python_compiled_from_the_source_is_no_finding(tmp_path: Path) -> None:
    folder = _skill(tmp_path)
    source = str(folder / "scripts" / "say.py")
    py_compile.compile(source, cfile=str(_cached(folder)), dfile="/elsewhere/say.py", doraise=True)
    for level in (1, 2):
        py_compile.compile(
            source, cfile=str(_cached(folder, level=f".opt-{level}")), optimize=level, doraise=True
        )
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(source, cfile=source + "c", invalidation_mode=mode, doraise=True)
    assert _read(folder, tmp_path).findings == ()


@pytest.mark.parametrize("change", [("3.5", "3.6"), ("os.sep", "os.name"), ('"c"', '"d"'), ("-2", "2")])
def test_any_difference_in_code_is_found(change: tuple[str, str], tmp_path: Path) -> None:
    folder = _skill(tmp_path, SOURCE.replace(*change))
    py_compile.compile(str(folder / "scripts" / "say.py"), cfile=str(_cached(folder)), doraise=True)
    (folder / "scripts" / "say.py").write_text(SOURCE, "utf-8")
    (finding,) = _read(folder, tmp_path).findings
    assert (finding.code, finding.severity) == ("integrity.bytecode-unlike-source", Severity.REVIEW)
    assert finding.file == f"scripts/__pycache__/say.{sys.implementation.cache_tag}.pyc"


def _old_code(names: tuple[str, ...], constants: tuple[str, ...]) -> bytes:
    """A module of CPython 3.10, by hand."""

    def text(value: str) -> bytes:
        return b"z" + bytes([len(value)]) + value.encode()

    def row(values: tuple[str, ...]) -> bytes:
        return b")" + bytes([len(values)]) + b"".join(map(text, values))

    numbers = struct.pack("<6i", 0, 0, 0, 0, 2, 64)
    code = b"s" + struct.pack("<i", 2) + b"S\0"
    empty = row(())
    parts = (code, row(constants), row(names), empty, empty, empty, text("say.py"), text("<module>"))
    return b"c" + numbers + b"".join(parts) + struct.pack("<i", 1) + b"s" + struct.pack("<i", 0)


@pytest.mark.parametrize(
    ("names", "constants", "code", "severity"),
    [
        (("print",), ("word",), "integrity.bytecode-not-compared", Severity.NOTE),
        (("print",), ("other",), "integrity.bytecode-unlike-source", Severity.REVIEW),
        (("system",), ("word",), "integrity.bytecode-unlike-source", Severity.REVIEW),
    ],
)
def test_bytecode_of_another_python_can_only_name_what_the_source_names(
    names: tuple[str, ...], constants: tuple[str, ...], code: str, severity: Severity, tmp_path: Path
) -> None:
    folder = plain(tmp_path, "say")
    _cached(folder, "cpython-310").parent.mkdir()
    header = struct.pack("<H", 3439) + b"\r\n" + bytes(12)
    _cached(folder, "cpython-310").write_bytes(header + _old_code(names, constants))
    (finding,) = _read(folder, tmp_path).findings
    assert (finding.code, finding.severity) == (code, severity)


def test_a_source_that_does_not_compile_cannot_be_compared(tmp_path: Path) -> None:
    folder = _skill(tmp_path)
    py_compile.compile(str(folder / "scripts" / "say.py"), cfile=str(_cached(folder)), doraise=True)
    (folder / "scripts" / "say.py").write_text("(" * 5_000, "utf-8")
    (finding,) = _read(folder, tmp_path).findings
    assert (finding.code, finding.severity) == ("integrity.bytecode-not-compared", Severity.REVIEW)


def test_the_form_ignores_sharing_and_the_file_name() -> None:
    one = compile(SOURCE, "/one.py", "exec")
    first = CodeForm(marshal.dumps(one), MAGIC)
    other = CodeForm(marshal.dumps(compile(SOURCE, "/other.py", "exec"), 2), MAGIC)
    assert first.digest == other.digest
    assert {"Thing", "words", "os", "Doc."} <= first.texts
    assert "/one.py" not in first.texts


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"(\xff\xff\xff\x7f",
        b")\x01" * 5_000,
        b"r\0\0\0\0",
        b"\xa9\x01r\0\0\0\0",
        b"l\xff\xff\xff\x7f",
        b"?",
    ],
)
def test_hostile_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(MarshalTrouble):
        CodeForm(data, MAGIC)


@given(st.binary(max_size=200), st.integers(0, 400), st.binary(min_size=1, max_size=3))
@settings(max_examples=150, deadline=None)
def test_damaged_code_is_read_or_refused(noise: bytes, place: int, change: bytes) -> None:
    data = bytearray(marshal.dumps(compile("def f(x, *y):\n    return [x + i for i in y]\n", "f", "exec")))
    data[place : place + len(change)] = change
    for candidate in (noise, bytes(data)):
        with contextlib.suppress(MarshalTrouble):
            assert len(CodeForm(candidate, MAGIC).digest) == 32
