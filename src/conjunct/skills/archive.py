"""Unpacking an archive within bounds: no member leaves the folder, and no bomb goes off.

Two passes over the list of members: files first, links last, so that no file can be written through a link
that the same archive brought along. Unpacking stops at the first bound; what came out until then is kept and
vetted, and the finding says that the rest is missing.
"""

from __future__ import annotations

import gzip
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from conjunct.errors import IntakeError
from conjunct.model import Severity
from conjunct.skills.bounds import Bounds
from conjunct.skills.digest import path_text
from conjunct.skills.notes import Notes, printable
from conjunct.skills.package import open_regular
from conjunct.skills.tar_members import TarMember, TarTrouble, tar_members

_CHUNK = 1 << 20
_DRIVE = re.compile(rb"[A-Za-z]:")
_ZIP_END = b"PK\x05\x06"
_ZIP64_END = b"PK\x06\x06"
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
"""What unpackers everywhere read; LZMA members could ask for gigabytes of memory in their header."""
_TARGET_LIMIT = 4_096
_NOTED_LIMIT = 1_000
"""Members with findings of their own; what is noted on more is told of the archive as a whole."""
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError)
"""What the readers raise on one damaged or unsupported member."""


@dataclass(slots=True)
class Unpacked:
    """What came out: the executable bit of every file, by path, and what was odd, by path."""

    bits: dict[bytes, bool | None] = field(default_factory=dict)
    notes: dict[bytes, Notes] = field(default_factory=dict)
    total: int = 0

    def note(self, path: bytes, code: str, message: str, severity: Severity = Severity.REVIEW) -> None:
        """Note something about a member; `path` is its cleaned path, or empty for the archive as a whole."""
        place = path if len(self.notes) < _NOTED_LIMIT else b""
        self.notes.setdefault(place, Notes()).add(
            code, message, file=path_text(path) or None, severity=severity
        )


class _Stop(Exception):
    """A bound is reached; the message says which."""


@dataclass(frozen=True, slots=True)
class _Member:
    name: bytes
    kind: str
    """`file`, `folder`, `link`, `hard link`, `special`, or why it cannot be read."""
    bit: bool | None
    chunks: Callable[[], Iterator[bytes]] = lambda: iter(())
    target: bytes = b""


def archive_kind(path: Path) -> str | None:
    """`zip`, `tar` or `gzip` by content, whatever the name says; `None` for anything else."""
    descriptor = open_regular(os.fsencode(path))
    if descriptor is None:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        head = stream.read(512)
    if head[:4] in {b"PK\x03\x04", _ZIP_END}:
        return "zip"
    if head[:2] == b"\x1f\x8b":
        return "gzip"
    return "tar" if head[257:262] == b"ustar" else None


def unpack(path: Path, kind: str, folder: Path, bounds: Bounds) -> Unpacked:
    """Unpack `path` into the empty `folder`. Raises `IntakeError` where the archive is broken throughout."""
    result = Unpacked()
    descriptor = open_regular(os.fsencode(path))
    if descriptor is None:
        raise IntakeError(f"{printable(str(path))} cannot be opened as a regular file")
    try:
        with os.fdopen(descriptor, "rb") as packed:
            if kind == "zip":
                _unpack_zip(packed, folder, result, bounds)
            elif kind == "gzip":
                with (folder.parent / f"{folder.name}.tar").open("w+b") as plain:
                    _gunzip(packed, plain, result, bounds)
                    _unpack_tar(plain, folder, result, bounds)
            else:
                _unpack_tar(packed, folder, result, bounds)
    except _Stop as stop:
        result.note(b"", "integrity.archive-bomb", f"{stop}; unpacking stopped, the rest was not read")
    except (*_DAMAGED, ValueError) as error:
        result.note(b"", "intake.archive-broken", f"{type(error).__name__}: {error}; the rest was not read")
    finally:
        (folder.parent / f"{folder.name}.tar").unlink(missing_ok=True)
    return result


def _gunzip(packed: BinaryIO, plain: BinaryIO, result: Unpacked, bounds: Bounds) -> None:
    """Decompress into a file first, so that members can be found by their offset."""
    made = 0
    try:
        with gzip.GzipFile(fileobj=packed) as stream:
            # `read1` gives what came out before a damaged place; `read` would lose it.
            while chunk := stream.read1(_CHUNK):
                plain.write(chunk)
                made += len(chunk)
                _look_at_ratio(made, packed.tell(), bounds)
    except _Stop as stop:
        result.note(b"", "integrity.archive-bomb", f"{stop}; unpacking stopped, the rest was not read")
    except _DAMAGED as error:
        result.note(b"", "intake.archive-broken", f"{error}; what came out before was read")
    plain.flush()


def _look_at_ratio(made: int, eaten: int, bounds: Bounds) -> None:
    if made > bounds.archive_bytes:
        raise _Stop(f"unpacks to more than {bounds.archive_bytes} bytes")
    if made > bounds.archive_ratio_from and made > eaten * bounds.archive_ratio:
        raise _Stop(f"unpacks to more than {bounds.archive_ratio} times its size")


# ---- zip


def _unpack_zip(packed: BinaryIO, folder: Path, result: Unpacked, bounds: Bounds) -> None:
    size = packed.seek(0, os.SEEK_END)
    _look_at_directory(packed, size, bounds)
    with zipfile.ZipFile(packed) as archive:
        members = [_zip_member(archive, info) for info in archive.infolist()]
        _write(members, folder, result, bounds, size)


def _look_at_directory(packed: BinaryIO, size: int, bounds: Bounds) -> None:
    """The list of members is read into memory as a whole, so its announced size is looked at first."""
    packed.seek(max(0, size - 65_557))
    tail = packed.read()
    end = tail.rfind(_ZIP_END)
    zip64 = tail.rfind(_ZIP64_END)
    announced = int.from_bytes(tail[end + 12 : end + 16], "little") if end >= 0 else 0
    if zip64 >= 0:
        announced = max(announced % 0xFFFFFFFF, int.from_bytes(tail[zip64 + 40 : zip64 + 48], "little"))
    if announced > bounds.archive_members * 256:
        raise _Stop(f"its list of members has {announced} bytes")
    packed.seek(0)


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> _Member:
    # The bytes as they stand in the archive, whatever the encoding flag makes of them: macOS writes UTF-8
    # without setting it.
    name = info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437", "replace")
    mode = info.external_attr >> 16 if info.create_system == 3 else 0
    bit = bool(mode & stat.S_IXUSR) if mode else None
    if name.endswith(b"/"):
        return _Member(name, "folder", None)
    if info.flag_bits & 1:
        return _Member(name, "encrypted", bit)
    if info.compress_type not in _METHODS:
        return _Member(name, "compressed by an uncommon method", bit)
    if stat.S_ISLNK(mode):
        return _Member(name, "link", None, target=_zip_link_target(archive, info))
    if stat.S_IFMT(mode) not in {0, stat.S_IFREG}:
        return _Member(name, "special", bit)
    return _Member(name, "file", bit, lambda: _zip_chunks(archive, info))


def _zip_link_target(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    try:
        with archive.open(info) as stream:
            return stream.read(_TARGET_LIMIT + 1)
    except _DAMAGED:
        return b""


def _zip_chunks(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    with archive.open(info) as stream:
        while chunk := stream.read(_CHUNK):
            yield chunk


# ---- tar


def _unpack_tar(plain: BinaryIO, folder: Path, result: Unpacked, bounds: Bounds) -> None:
    size = plain.seek(0, os.SEEK_END)
    members: list[_Member] = []
    try:
        for member in tar_members(plain):
            members.append(_from_tar(plain, member))
            if len(members) > bounds.archive_members:
                break
    except TarTrouble as trouble:
        result.note(b"", "intake.archive-broken", f"{trouble}; the rest was not read")
    _write(members, folder, result, bounds, size)


def _from_tar(plain: BinaryIO, member: TarMember) -> _Member:
    bit = bool(member.mode & stat.S_IXUSR)
    if member.kind == b"5":
        return _Member(member.name, "folder", None)
    if member.kind == b"2":
        return _Member(member.name, "link", None, target=member.target)
    if member.kind == b"1":
        return _Member(member.name, "hard link", bit, target=member.target)
    if member.kind in {b"0", b"\0", b"7"}:
        return _Member(member.name, "file", bit, lambda: _span(plain, member.offset, member.size))
    return _Member(member.name, "special", bit)


def _span(plain: BinaryIO, offset: int, size: int) -> Iterator[bytes]:
    position, end = offset, offset + size
    while position < end:
        plain.seek(position)
        chunk = plain.read(min(_CHUNK, end - position))
        if not chunk:
            raise EOFError("the archive ends within this member")
        position += len(chunk)
        yield chunk


# ---- both


def clean_name(name: bytes) -> bytes | None:
    """A member's name as a path below the folder; `None` where it would lead elsewhere.

    Backslashes are separators: Windows tools write them, and what one unpacker takes for a name another takes
    for a path.
    """
    name = name.replace(b"\\", b"/")
    if b"\0" in name or name.startswith(b"/") or _DRIVE.match(name):
        return None
    parts = [part for part in name.split(b"/") if part not in {b"", b"."}]
    if b".." in parts or any(len(part) > 255 for part in parts):
        return None
    return b"/".join(parts)


def _write(
    members: list[_Member],
    folder: Path,
    result: Unpacked,
    bounds: Bounds,
    packed_size: int,
) -> None:
    root = os.fsencode(folder)
    links: dict[bytes, bytes] = {}
    files: dict[bytes, _Member] = {}
    for number, (path, member) in enumerate(_usable(members, result)):
        if number >= bounds.archive_members:
            raise _Stop(f"has more than {bounds.archive_members} members")
        if member.kind == "folder":
            _make_folders(root, path)
            continue
        if path in files or path in links:
            result.note(path, "integrity.duplicate-member", "is in the archive twice; the last one counts")
        if member.kind == "link":
            links[path] = member.target
            continue
        if member.kind == "hard link":
            original = files.get(clean_name(member.target) or b"")
            if original is None:
                result.note(path, "integrity.link-outside", "is a hard link to nothing in the archive")
                continue
            member = replace(original, name=member.name)
        links.pop(path, None)
        if _write_file(member, root, path, result, bounds, packed_size):
            files[path] = member
            result.bits[path] = member.bit
    for path, target in links.items():
        _write_link(root, path, target, result)


def _usable(members: list[_Member], result: Unpacked) -> Iterator[tuple[bytes, _Member]]:
    for member in members:
        path = clean_name(member.name)
        if path is None:
            result.note(
                b"", "integrity.path-traversal", f"member {path_text(member.name)!r} leads out; left out"
            )
        elif member.kind.startswith(("encrypted", "compressed")):
            result.note(path, "intake.member-unreadable", f"is {member.kind}; left out")
        elif member.kind == "special":
            result.note(path, "integrity.special-file", "is a device, pipe or the like; left out")
        elif path:
            yield path, member


def _make_folders(root: bytes, path: bytes) -> bool:
    """Folders down to `path`; false where something else stands in the way."""
    here = root
    for part in path.split(b"/") if path else ():
        here = os.path.join(here, part)
        try:
            os.mkdir(here)
        except FileExistsError:
            if not stat.S_ISDIR(os.lstat(here).st_mode):
                return False
        except OSError:
            return False
    return True


def _write_file(
    member: _Member, root: bytes, path: bytes, result: Unpacked, bounds: Bounds, packed_size: int
) -> bool:
    """Write one file whole, or note why not and leave nothing of it behind."""
    target = os.path.join(root, path)
    if not _make_folders(root, os.path.dirname(path)) or os.path.isdir(target):
        result.note(path, "integrity.path-collision", "a file and a folder have the same path; left out")
        return False
    whole = False
    try:
        with open(target, "wb") as copy:
            for chunk in member.chunks():
                result.total += len(chunk)
                _look_at_ratio(result.total, packed_size, bounds)
                copy.write(chunk)
        whole = True
    except _DAMAGED as error:
        result.note(
            path, "intake.member-broken", f"cannot be unpacked: {error or type(error).__name__}; left out"
        )
    finally:
        if not whole and os.path.lexists(target):
            os.unlink(target)
    return whole


def _write_link(root: bytes, path: bytes, target: bytes, result: Unpacked) -> None:
    place = os.path.join(root, path)
    if (
        not target
        or b"\0" in target
        or len(target) > _TARGET_LIMIT
        or not _make_folders(root, os.path.dirname(path))
    ):
        result.note(path, "integrity.link-outside", "is a link without a usable target; left out")
        return
    try:
        if os.path.lexists(place):
            os.unlink(place)
        os.symlink(target, place)
    except OSError as error:
        result.note(path, "integrity.path-collision", f"cannot be made: {error.strerror}; left out")
