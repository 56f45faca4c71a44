"""Links of a package: where they end, told without following any of them."""

from __future__ import annotations

import os
from collections.abc import Mapping

from conjunct.model import Entry, Severity
from conjunct.skills.digest import path_bytes, path_text
from conjunct.skills.notes import Notes

_STEPS = 256
"""Path elements looked at to resolve one link; what needs more is taken for a loop."""


def judge_links(
    folder: bytes,
    links: list[tuple[bytes, bytes]],
    entries: list[Entry],
    notes: Notes,
    registry: bytes | None,
) -> list[tuple[bytes, bytes]]:
    """The links that stay inside. Resolution is lexical over the package's own entries."""
    kept: list[tuple[bytes, bytes]] = []
    table = dict(links)
    files = {path_bytes(entry.path) for entry in entries if entry.kind == "file"}
    folders = {b""}
    for path in (*files, *table):
        while path := os.path.dirname(path):
            folders.add(path)
    for path, target in links:
        resolved = resolve_inside(path, target, table)
        name, shown = path_text(path), path_text(target)
        if resolved is None:
            outside = not _within_registry(folder, path, target, registry)
            notes.add(
                "integrity.link-outside",
                f"links to {shown!r}, outside the {'registry' if outside else 'package'}; not followed",
                file=name,
                severity=Severity.REVIEW if outside else Severity.NOTE,
            )
            continue
        if resolved == b"." or _is_ancestor(resolved, path):
            notes.add(
                "integrity.link-loop",
                f"links to {shown!r}, a loop; left out",
                file=name,
                severity=Severity.REVIEW,
            )
            continue
        if resolved not in files and resolved not in folders:
            notes.add("integrity.link-dangling", f"links to {shown!r}, which is not there", file=name)
        kept.append((path, target))
    return kept


def resolve_inside(path: bytes, target: bytes, links: Mapping[bytes, bytes]) -> bytes | None:
    """Where a link at `path` ends, below the package root; `.` for the root or a loop, `None` for outside."""
    if target.startswith(b"/"):
        return None
    done: list[bytes] = os.path.dirname(path).split(b"/") if os.path.dirname(path) else []
    todo = target.split(b"/")[::-1]
    for _ in range(_STEPS):
        if not todo:
            return b"/".join(done) or b"."
        part = todo.pop()
        if part in {b"", b"."}:
            continue
        if part == b"..":
            if not done:
                return None
            done.pop()
            continue
        here = b"/".join([*done, part])
        if here in links:
            if links[here].startswith(b"/"):
                return None
            todo += links[here].split(b"/")[::-1]
        else:
            done.append(part)
    return b"."


def _is_ancestor(resolved: bytes, path: bytes) -> bool:
    return path == resolved or path.startswith(resolved + b"/")


def _within_registry(folder: bytes, path: bytes, target: bytes, registry: bytes | None) -> bool:
    if registry is None or target.startswith(b"/"):
        return False
    end = os.path.normpath(os.path.join(os.path.realpath(folder), os.path.dirname(path), target))
    # By path component: a string prefix would take `foo-evil` for a part of `foo`.
    return end == registry or end.startswith(registry.rstrip(b"/") + b"/")


def make_folders(root: bytes, below: bytes) -> None:
    """Create the folders of `below` under `root`, readable by everybody whatever the umask."""
    path = root
    for part in below.split(b"/") if below else ():
        path = os.path.join(path, part)
        if not os.path.isdir(path):
            os.mkdir(path)
            os.chmod(path, 0o755)
