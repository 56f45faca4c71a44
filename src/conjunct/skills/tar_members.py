"""The members of a tar file, read iteratively and within bounds.

The standard library's reader allocates what a header announces, recurses over chains of extended headers, and
takes quadratic time on some of them; an intake that strangers feed can afford none of the three.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

_BLOCK = 512
_EXTENDED_LIMIT = 64 << 10
"""Longest extended header: a path and a link target fit many times over."""


class TarTrouble(ValueError):
    """The bytes are no tar file, or not one that can be read within the bounds."""


@dataclass(frozen=True, slots=True)
class TarMember:
    """One member: `kind` is the type flag of the format, `offset` where its bytes start."""

    name: bytes
    kind: bytes
    mode: int
    size: int
    target: bytes
    offset: int


def tar_members(stream: BinaryIO) -> Iterator[TarMember]:
    """Every member in order. Raises `TarTrouble` at the first header that does not hold together."""
    end = stream.seek(0, os.SEEK_END)
    position, seen = 0, False
    extended: dict[bytes, bytes] = {}
    while position + _BLOCK <= end:
        stream.seek(position)
        header = stream.read(_BLOCK)
        position += _BLOCK
        if not header.strip(b"\0"):
            if seen:
                return
            continue
        if not _checksum_holds(header):
            raise TarTrouble(f"the header at byte {position - _BLOCK} is damaged")
        seen = True
        kind, size = header[156:157], _number(header[124:136])
        if kind in {b"x", b"L", b"K", b"g"}:
            if size > _EXTENDED_LIMIT or position + size > end:
                raise TarTrouble(f"an extended header announces {size} bytes")
            content = stream.read(size)
            position += -(-size // _BLOCK) * _BLOCK
            if kind == b"x":
                extended |= _records(content)
            elif kind in {b"L", b"K"}:
                extended[b"path" if kind == b"L" else b"linkpath"] = content.split(b"\0", 1)[0]
            continue
        if b"size" in extended:
            size = _decimal(extended[b"size"])
        has_content = kind in {b"0", b"\0", b"7", b"S"}
        if has_content and position + size > end:
            raise TarTrouble(f"the archive ends within a member of {size} bytes")
        yield TarMember(
            name=extended.get(b"path", _plain_name(header)),
            kind=b"5" if kind in {b"0", b"\0"} and _plain_name(header).endswith(b"/") else kind,
            mode=_number(header[100:108]) & 0o7777,
            size=size if has_content else 0,
            target=extended.get(b"linkpath", header[157:257].split(b"\0", 1)[0]),
            offset=position,
        )
        extended = {}
        position += -(-size // _BLOCK) * _BLOCK if has_content else 0
    if not seen:
        raise TarTrouble("it holds no tar header")


def _plain_name(header: bytes) -> bytes:
    name = header[:100].split(b"\0", 1)[0]
    # Old GNU headers keep times where POSIX ones keep the first part of the path.
    prefix = header[345:500].split(b"\0", 1)[0] if header[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _checksum_holds(header: bytes) -> bool:
    blanked = header[:148] + b" " * 8 + header[156:]
    try:
        return _number(header[148:156]) == sum(blanked)
    except TarTrouble:
        return False


def _number(field: bytes) -> int:
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    digits = field.split(b"\0", 1)[0].strip()
    if not digits:
        return 0
    if digits.strip(b"01234567"):
        raise TarTrouble(f"{digits!r} is no octal number")
    return int(digits, 8)


def _decimal(digits: bytes) -> int:
    if not digits.isdigit() or len(digits) > 19:
        raise TarTrouble(f"{digits[:32]!r} is no size")
    return int(digits)


def _records(content: bytes) -> dict[bytes, bytes]:
    """The `length key=value` records of an extended header."""
    records: dict[bytes, bytes] = {}
    position = 0
    while position < len(content) and content[position : position + 1] != b"\0":
        space = content.find(b" ", position, position + 12)
        if space < 0:
            raise TarTrouble("an extended header is damaged")
        length = _decimal(content[position:space])
        if length <= space - position + 1 or position + length > len(content):
            raise TarTrouble("an extended header is damaged")
        key, _, value = content[space + 1 : position + length - 1].partition(b"=")
        records[key] = value
        position += length
    return records
