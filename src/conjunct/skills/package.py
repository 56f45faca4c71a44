"""One package folder: listed without following anything out of it, hashed and staged in one reading.

Paths are bytes until they are shown or put into an `Entry`: the same package must be the same package under
every locale.
"""

# Paths are bytes here, so that a package is the same package under every locale.

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from conjunct.model import Entry, Severity
from conjunct.skills.bounds import Bounds
from conjunct.skills.digest import package_digest, path_bytes, path_text
from conjunct.skills.links import make_folders, stage_links
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
class Package:
    """A staged package."""

    root: Path
    digest: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class PackageMember:
    path: bytes
    status: os.stat_result


def stage_package(
    folder: bytes,
    staging: Path,
    notes: Notes,
    bounds: Bounds,
    *,
    registry: bytes | None = None,
    bits: Bits | None = None,
) -> Package:
    """Copy the package in `folder` to `staging/<digest>/` and list it.

    `registry` is the resolved folder of the registry: a link that leaves the package but not the registry is
    odd, one that leaves both is an integrity question. `bits` gives executable bits for folders unpacked from
    an archive, where the file system's own say nothing.
    """
    staging.mkdir(parents=True, exist_ok=True, mode=0o755)
    scratch = Path(tempfile.mkdtemp(prefix=".incoming-", dir=staging))
    try:
        complete, entries = _copy(folder, scratch, notes, bounds, registry, bits)
        digest = package_digest(entries, complete=complete)
        return Package(_publish(scratch, staging / digest, entries), digest, tuple(entries))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _copy(
    folder: bytes,
    scratch: Path,
    notes: Notes,
    bounds: Bounds,
    registry: bytes | None,
    bits: Bits | None,
) -> tuple[bool, list[Entry]]:
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
        copied = _copy_file(folder, member.path, scratch, bit, notes, bounds)
        if copied is not None:
            total += copied.size
            entries.append(copied)
    stage_links(folder, scratch, links, entries, notes, registry)
    entries.sort(key=lambda entry: path_bytes(entry.path))
    _note_collisions(entries, notes)
    return not any(finding.code in _PARTS_MISSING for finding in notes.made), entries


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


def _copy_file(
    folder: bytes, path: bytes, scratch: Path, bit: bool | None, notes: Notes, bounds: Bounds
) -> Entry | None:
    name = path_text(path)
    descriptor = open_regular(os.path.join(folder, path))
    if descriptor is None:
        notes.add("intake.unreadable", "cannot be opened; left out", file=name, severity=Severity.REVIEW)
        return None
    target = os.path.join(os.fsencode(scratch), path)
    make_folders(os.fsencode(scratch), os.path.dirname(path))
    content = hashlib.sha256()
    size, head = 0, b""
    with os.fdopen(descriptor, "rb") as source, open(target, "wb") as copy:
        while chunk := source.read(min(_CHUNK, bounds.file_bytes - size + 1)):
            head = head or chunk[:2]
            size += len(chunk)
            if size > bounds.file_bytes:
                break
            content.update(chunk)
            copy.write(chunk)
    if size > bounds.file_bytes:
        os.unlink(target)
        notes.add("intake.file-too-large", "grew while it was read", file=name, severity=Severity.REVIEW)
        return Entry(name, "file", size, "", bit)
    # Where no bit was recorded a script with `#!` is made runnable: what could run should be seen running.
    runnable = bit if bit is not None else head == b"#!"
    os.chmod(target, 0o755 if runnable else 0o644)
    return Entry(name, "file", size, content.hexdigest(), bit)


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


def _publish(scratch: Path, final: Path, entries: list[Entry]) -> Path:
    """Move the finished copy into place; whoever comes second keeps the first one's if it is intact."""
    os.chmod(scratch, 0o755)
    for attempt in range(3):
        try:
            scratch.rename(final)
            return final
        except OSError:
            if attempt == 2 or not final.is_dir():
                raise
        if is_intact(final, entries):
            return final
        broken = final.with_name(f".broken-{final.name[:16]}-{os.getpid()}-{attempt}")
        try:
            final.rename(broken)
        except OSError:
            continue
        shutil.rmtree(broken, ignore_errors=True)
    return final


def is_intact(root: Path, entries: list[Entry]) -> bool:
    """Whether a staged copy still holds exactly the bytes that its entries say."""
    base = os.fsencode(root)
    expected = {path_bytes(entry.path): entry for entry in entries if entry.sha256}
    found = 0
    for folder, _, names in os.walk(base):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                continue
            entry = expected.get(os.path.relpath(path, base))
            if entry is None or _sha256(path) != entry.sha256:
                return False
            found += 1
    return found == len(expected)


def _sha256(path: bytes) -> str:
    descriptor = open_regular(path)
    if descriptor is None:
        return ""
    content = hashlib.sha256()
    with os.fdopen(descriptor, "rb") as stream:
        while chunk := stream.read(_CHUNK):
            content.update(chunk)
    return content.hexdigest()
