"""Static programs are told from dynamic ones, and from files that only look like programs."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conjunct.world.binaries import HEAD_BYTES, is_static


def elf(*kinds: int, kind: int = 2, offset: int = 64) -> bytes:
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", kind, 62, 1, 0, offset, 0, 0, 64, 56, len(kinds), 0, 0, 0)
    return head + b"".join(struct.pack("<I", one) + bytes(52) for one in kinds)


@pytest.mark.parametrize("path", ["/usr/bin/python3", "/usr/bin/sh", "/usr/bin/env"])
def test_the_systems_programs_are_dynamic(path: str) -> None:
    assert not is_static(Path(path).read_bytes()[:HEAD_BYTES])


def test_a_program_without_an_interpreter_is_static() -> None:
    assert is_static(elf(1, 1, 4))
    assert is_static(elf(1, 2, 6, kind=3))


@pytest.mark.parametrize(
    "head",
    [
        elf(1, 3, 1),
        elf(1, 1, kind=1),
        elf(1, offset=1 << 40),
        elf(1)[:40],
        b"#!/bin/sh\nexit\n" * 10,
        b"",
        b"\x7fELF\x01\x01" + bytes(100),
    ],
)
def test_everything_else_is_not(head: bytes) -> None:
    assert not is_static(head)


@given(st.binary(max_size=200))
def test_no_bytes_are_too_odd(tail: bytes) -> None:
    assert is_static(b"\x7fELF\x02\x01" + tail) in (True, False)
