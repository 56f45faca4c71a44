"""One package folder: listed and hashed without following anything out of it.

Paths are bytes until they are shown or put into an `Entry`: the same package must be the same package under
every locale.
"""

# Paths are bytes here, so that a package is the same package under every locale.

from __future__ import annotations

import errno
import hashlib
import os
import stat
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from conjunct.model import Entry, Severity
from conjunct.skills.bounds import Bounds
from conjunct.skills.digest import package_digest, path_bytes, path_text
from conjunct.skills.links import judge_links
from conjunct.skills.notes import Notes

_CHUNK = 1 << 20
_PARTS_MISSING = frozenset(
    {"intake.unreadable", "intake.too-deep", "intake.path-too-long", "intake.too-many-files"}
)
"""Findings after which the list of entries is not the whole package."""
_SPECIAL = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


Bits = Callable[[bytes], bool | None]
"""The executable bit of a file by its path in the package, `None` where none was recorded."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What a package folder holds."""

    digest: str
    entries: tuple[Entry, ...]
    links: tuple[tuple[bytes, bytes], ...]
    """(path, target) of the links that stay inside."""


@dataclass(frozen=True, slots=True)
class PackageMember:
    path: bytes
    status: os.stat_result


def list_package(
    folder: bytes,
    notes: Notes,
    bounds: Bounds,
    *,
    registry: bytes | None = None,
    bits: Bits | None = None,
) -> Listing:
    """List and hash the package in `folder`; what is odd about its files is noted.

    `registry` is the resolved folder of the registry: a link that leaves the package but not the registry is
    odd, one that leaves both is an integrity question. `bits` gives executable bits for folders unpacked from
    an archive, where the file system's own say nothing.
    """
    entries: list[Entry] = []
    links: list[tuple[bytes, bytes]] = []
    total = 0
    members = list(package_members(folder, notes, bounds))
    if len(members) > bounds.package_files:
        members = members[: bounds.package_files]
        notes.add(
            "intake.too-many-files",
            f"more than {bounds.package_files} files; only these were read",
            severity=Severity.REVIEW,
        )
    for member in members:
        name = path_text(member.path)
        if stat.S_ISLNK(member.status.st_mode):
            target = os.readlink(os.path.join(folder, member.path))
            entries.append(Entry(name, "link", 0, "", None, path_text(target)))
            links.append((member.path, target))
            continue
        size = member.status.st_size
        bit: bool | None = bool(member.status.st_mode & stat.S_IXUSR)
        if bits is not None:
            bit = bits(member.path)
        if size > bounds.file_bytes or total + size > bounds.package_bytes:
            notes.add(
                "intake.file-too-large",
                f"{size} bytes: listed, but neither read nor run",
                file=name,
                severity=Severity.REVIEW,
            )
            entries.append(Entry(name, "file", size, "", bit))
            continue
        read = _read_file(folder, member.path, bit, notes, bounds)
        if read is not None:
            total += read.size
            entries.append(read)
    kept = judge_links(folder, links, entries, notes, registry)
    entries.sort(key=lambda entry: path_bytes(entry.path))
    _note_collisions(entries, notes)
    complete = not any(finding.code in _PARTS_MISSING for finding in notes.made)
    return Listing(package_digest(entries, complete=complete), tuple(entries), tuple(kept))


def package_members(folder: bytes, notes: Notes, bounds: Bounds) -> Iterator[PackageMember]:
    """Files and links below `folder`, in an order that depends on names only."""
    stack: list[tuple[bytes, int]] = [(b"", 0)]
    made = 0
    while stack:
        below, depth = stack.pop()
        try:
            with os.scandir(os.path.join(folder, below)) as listing:
                some = islice(listing, bounds.package_files + 1)
                found = [(item.name, item.stat(follow_symlinks=False)) for item in some]
        except OSError as error:
            notes.add(
                "intake.unreadable",
                f"cannot list this folder: {error.strerror}",
                file=path_text(below),
                severity=Severity.REVIEW,
            )
            continue
        for name, status in sorted(found, key=lambda item: item[0]):
            path = os.path.join(below, name) if below else name
            if path == b".git":
                notes.add("intake.version-control", "`.git` is not part of the package", file=".git")
            elif len(path) > bounds.path_bytes:
                notes.add(
                    "intake.path-too-long",
                    "path too long; left out",
                    file=path_text(path)[:200],
                    severity=Severity.REVIEW,
                )
            elif stat.S_ISDIR(status.st_mode):
                if depth >= bounds.depth:
                    notes.add(
                        "intake.too-deep",
                        f"more than {bounds.depth} folders deep; left out",
                        file=path_text(path)[:200],
                        severity=Severity.REVIEW,
                    )
                else:
                    stack.append((path, depth + 1))
            elif stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                made += 1
                yield PackageMember(path, status)
                if made > bounds.package_files:
                    return
            else:
                kind = _SPECIAL.get(stat.S_IFMT(status.st_mode), "no regular file")
                notes.add(
                    "integrity.special-file",
                    f"is {kind}; never opened, left out",
                    file=path_text(path),
                    severity=Severity.REVIEW,
                )


def open_regular(path: bytes) -> int | None:
    """A descriptor of a regular file, or `None`: a link or a pipe put there meanwhile is not opened."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def read_regular(path: bytes, limit: int) -> bytes | None:
    """At most `limit` bytes of a regular file; `None` where there is none to read."""
    descriptor = open_regular(path)
    if descriptor is None:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read(limit)


def _read_file(folder: bytes, path: bytes, bit: bool | None, notes: Notes, bounds: Bounds) -> Entry | None:
    name = path_text(path)
    content = hashlib.sha256()
    size = 0
    try:
        for chunk in chunks_of(os.path.join(folder, path), bounds.file_bytes + 1):
            size += len(chunk)
            content.update(chunk)
    except OSError as error:
        why = error.strerror or "it is no regular file any more"
        notes.add(
            "intake.unreadable", f"cannot be read: {why}; left out", file=name, severity=Severity.REVIEW
        )
        return None
    if size > bounds.file_bytes:
        notes.add("intake.file-too-large", "grew while it was read", file=name, severity=Severity.REVIEW)
        return Entry(name, "file", size, "", bit)
    return Entry(name, "file", size, content.hexdigest(), bit)


def chunks_of(path: bytes, limit: int) -> Iterator[bytes]:
    """A regular file piece by piece, `limit` bytes at most. Raises `OSError` where there is none to read."""
    descriptor = open_regular(path)
    if descriptor is None:
        raise OSError(errno.EINVAL, "no regular file, or not readable")
    with os.fdopen(descriptor, "rb") as stream:
        while limit > 0 and (chunk := stream.read(min(_CHUNK, limit))):
            limit -= len(chunk)
            yield chunk


def _note_collisions(entries: list[Entry], notes: Notes) -> None:
    """Paths that are one file on some machines and two on others hide one from whoever reads the other."""
    seen: dict[str, str] = {}
    for entry in entries:
        folded = unicodedata.normalize("NFC", entry.path).casefold()
        if folded in seen:
            notes.add(
                "integrity.path-collision",
                f"is the same path as {seen[folded]!r} on some file systems",
                file=entry.path,
                severity=Severity.REVIEW,
            )
        seen.setdefault(folded, entry.path)
