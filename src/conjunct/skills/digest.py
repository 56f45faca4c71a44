"""The package digest, as defined in `docs/digest.md`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from conjunct.model import Entry

_HEADER = b"conjunct.package/1\n"


def package_digest(entries: Iterable[Entry], *, complete: bool = True) -> str:
    """The digest of a package as 64 hexadecimal digits.

    Covers every entry's path, kind, executable bit, and content or link target; independent of the order of
    `entries`. `complete` is false where limits kept part of the package from being listed. Raises
    `ValueError` where two entries have the same path or one has an unknown kind.
    """
    members = sorted(entries, key=lambda entry: path_bytes(entry.path))
    digest = hashlib.sha256(_HEADER)
    digest.update(b"\x01" if complete else b"\x00")
    digest.update(len(members).to_bytes(8, "big"))
    previous: bytes | None = None
    for entry in members:
        path = path_bytes(entry.path)
        if path == previous:
            raise ValueError(f"two entries have the path {entry.path!r}; a package lists each path once")
        previous = path
        for value in (path, *_fields(entry)):
            digest.update(len(value).to_bytes(8, "big"))
            digest.update(value)
    return digest.hexdigest()


def path_bytes(path: str) -> bytes:
    """The bytes of a path in its package: what `Entry.path` was decoded from."""
    return path.encode("utf-8", "surrogateescape")


def path_text(path: bytes) -> str:
    """A path as `Entry.path` holds it, the same under every locale."""
    return path.decode("utf-8", "surrogateescape")


def _fields(entry: Entry) -> tuple[bytes, ...]:
    if entry.kind == "link":
        return (b"link", path_bytes(entry.target or ""))
    if entry.kind != "file":
        raise ValueError(f"{entry.path!r} is a {entry.kind!r}; a package holds files and links only")
    bit = b"not recorded" if entry.executable is None else (b"1" if entry.executable else b"0")
    content = bytes.fromhex(entry.sha256) if entry.sha256 else b"not read"
    return (b"file", bit, str(entry.size).encode(), content)
