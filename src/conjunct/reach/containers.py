"""Archives in memory to their members: bounded in number, size and memory, whatever the headers announce."""

from __future__ import annotations

import bz2
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from conjunct.skills.tar_members import TarTrouble, tar_members

LARGEST_CONTAINER = 16 * 1024 * 1024
"""Bytes of one archive that are looked at; a larger one is opaque."""

MOST_UNPACKED = 32 * 1024 * 1024
"""Bytes that come out of all archives of a package together."""

MOST_MEMBERS = 2_000
"""Members of all archives of a package together."""

DEEPEST = 3
"""Archives within archives."""

_MAGIC = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "rar"),
    (b"%PDF-", "pdf"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"),
)
_XZ_MEMORY = 64 * 1024 * 1024
_CENTRAL_ENTRY = b"PK\x01\x02"
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError, ValueError)


class Unreadable(Exception):
    """Why the rest of a container was not read, as the name of an opaque action."""


@dataclass(slots=True)
class Allowance:
    """What may still come out of the archives of one package."""

    octets: int = MOST_UNPACKED
    members: int = MOST_MEMBERS

    def take_member(self) -> None:
        """Count one member. Raises `Unreadable` where there were too many."""
        self.members -= 1
        if self.members < 0:
            raise Unreadable("oversized:archive")

    def take(self, octets: int) -> None:
        """Count bytes that came out. Raises `Unreadable` where there were too many."""
        self.octets -= octets
        if self.octets < 0:
            raise Unreadable("oversized:archive")


def container_kind(head: bytes) -> str | None:
    """`zip`, `tar`, `gzip`, `bzip2`, `xz`, `7z`, `rar`, `pdf` or `ole` by the first 512 bytes, whatever the
    name says; `None` for anything else."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    return "tar" if head[257:262] == b"ustar" else None


def is_script_with_zip(data: bytes) -> bool:
    """Whether a zip stands behind the `#!` line of a file (`.pyz`): Python runs `__main__.py` in it."""
    return _CENTRAL_ENTRY in data


def members(kind: str, data: bytes, allowance: Allowance, largest: int) -> Iterator[tuple[str, bytes]]:
    """(path, at most `largest` bytes) of every member that can be read.

    Raises `Unreadable` at the first bound and where the rest cannot be read; what came before stands.
    """
    if kind == "zip":
        yield from _zip(data, allowance, largest)
    elif kind == "tar":
        yield from _tar(data, allowance, largest)
    elif kind in ("gzip", "bzip2", "xz"):
        plain = _decompressed(kind, data, allowance)
        if container_kind(plain[:512]) == "tar":
            yield from _tar(plain, allowance, largest)
        else:
            allowance.take_member()
            yield "", plain[:largest]
    else:
        raise Unreadable(f"archive:{kind}")


def _zip(data: bytes, allowance: Allowance, largest: int) -> Iterator[tuple[str, bytes]]:
    if data.count(_CENTRAL_ENTRY) > 4 * MOST_MEMBERS:
        raise Unreadable("oversized:archive")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except _DAMAGED as error:
        raise Unreadable("unreadable:zip") from error
    unread = ""
    with archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            allowance.take_member()
            if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                unread = "encrypted:zip" if info.flag_bits & 1 else "unreadable:zip"
                continue
            try:
                with archive.open(info) as stream:
                    content = stream.read(min(largest, max(0, allowance.octets) + 1))
            except _DAMAGED:
                unread = "unreadable:zip"
                continue
            allowance.take(len(content))
            yield info.filename, content
    if unread:
        raise Unreadable(unread)


def _tar(data: bytes, allowance: Allowance, largest: int) -> Iterator[tuple[str, bytes]]:
    try:
        for member in tar_members(io.BytesIO(data)):
            allowance.take_member()
            if member.kind in (b"0", b"\0", b"7"):
                content = data[member.offset : member.offset + min(member.size, largest)]
                allowance.take(len(content))
                yield member.name.decode("utf-8", "replace"), content
    except TarTrouble as trouble:
        raise Unreadable("unreadable:tar") from trouble


def _decompressed(kind: str, data: bytes, allowance: Allowance) -> bytes:
    """What a compressed stream holds, up to the allowance."""
    most = max(0, allowance.octets) + 1
    try:
        if kind == "gzip":
            plain = zlib.decompressobj(31).decompress(data, most)
        elif kind == "bzip2":
            plain = bz2.BZ2Decompressor().decompress(data, most)
        else:
            plain = lzma.LZMADecompressor(memlimit=_XZ_MEMORY).decompress(data, most)
    except (*_DAMAGED, lzma.LZMAError) as error:
        raise Unreadable(f"unreadable:{kind}") from error
    allowance.take(len(plain))
    return plain
