"""Clean copies of packages: whole or not at all, readable by everybody, and checked when met again."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from conjunct.model import Entry
from conjunct.skills.bounds import Bounds
from conjunct.skills.digest import path_bytes
from conjunct.skills.links import make_folders
from conjunct.skills.notes import Notes
from conjunct.skills.package import Bits, Listing, chunks_of, list_package


@dataclass(frozen=True, slots=True)
class Package:
    """A staged package."""

    root: Path
    digest: str
    entries: tuple[Entry, ...]


def stage_package(
    folder: bytes,
    staging: Path,
    notes: Notes,
    bounds: Bounds,
    *,
    registry: bytes | None = None,
    bits: Bits | None = None,
) -> Package:
    """List the package in `folder` and copy it to `staging/<digest>/`, unless an intact copy is there.

    Parameters and notes as for `list_package`. Raises `ValueError` where a file changed meanwhile.
    """
    listing = list_package(folder, notes, bounds, registry=registry, bits=bits)
    final = staging / listing.digest
    if not is_intact(final, listing):
        scratch = Path(tempfile.mkdtemp(prefix=".incoming-", dir=staging))
        try:
            _copy(folder, scratch, listing)
            _publish(scratch, final, listing)
        finally:
            if scratch.exists():
                shutil.rmtree(scratch, ignore_errors=True)
    return Package(final, listing.digest, listing.entries)


def _copy(folder: bytes, scratch: Path, listing: Listing) -> None:
    base = os.fsencode(scratch)
    for entry in listing.entries:
        if entry.kind == "file" and entry.sha256:
            _copy_file(folder, base, entry)
    for path, target in listing.links:
        make_folders(base, os.path.dirname(path))
        os.symlink(target, os.path.join(base, path))


def _copy_file(folder: bytes, base: bytes, entry: Entry) -> None:
    path = path_bytes(entry.path)
    make_folders(base, os.path.dirname(path))
    target = os.path.join(base, path)
    content = hashlib.sha256()
    head = b""
    with open(target, "wb") as copy:
        for chunk in chunks_of(os.path.join(folder, path), entry.size + 1):
            head = head or chunk[:2]
            content.update(chunk)
            copy.write(chunk)
    if content.hexdigest() != entry.sha256:
        raise ValueError(f"{entry.path!r} changed while it was read; vet it when nothing writes to it")
    # Where no bit was recorded a script with `#!` is made runnable: what could run should be seen running.
    runnable = entry.executable if entry.executable is not None else head == b"#!"
    os.chmod(target, 0o755 if runnable else 0o644)


def _publish(scratch: Path, final: Path, listing: Listing) -> None:
    """Move the finished copy into place; whoever comes second keeps the first one's if it is intact."""
    os.chmod(scratch, 0o755)
    for attempt in range(3):
        try:
            scratch.rename(final)
            return
        except OSError:
            if attempt == 2 or not final.is_dir():
                raise
        if is_intact(final, listing):
            return
        broken = final.with_name(f".broken-{final.name[:16]}-{os.getpid()}-{attempt}")
        try:
            final.rename(broken)
        except OSError:
            continue
        shutil.rmtree(broken, ignore_errors=True)


def is_intact(root: Path, listing: Listing) -> bool:
    """Whether a staged copy is there and holds exactly the files and links of the listing."""
    base = os.fsencode(root)
    files = {path_bytes(entry.path): entry for entry in listing.entries if entry.sha256}
    links = dict(listing.links)
    found = 0
    for folder, folders, names in os.walk(base):
        linked = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        for name in (*names, *linked):
            full = os.path.join(folder, name)
            path = os.path.relpath(full, base)
            if os.path.islink(full):
                if links.get(path) != os.readlink(full):
                    return False
            elif path not in files or _sha256(full) != files[path].sha256:
                return False
            found += 1
    return found == len(files) + len(links) and os.path.isdir(base)


def _sha256(path: bytes) -> str:
    content = hashlib.sha256()
    try:
        for chunk in chunks_of(path, os.lstat(path).st_size + 1):
            content.update(chunk)
    except OSError:
        return ""
    return content.hexdigest()
