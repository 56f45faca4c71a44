"""Finding the skills of a registry: folders with a `SKILL.md`, at any depth, links bounded."""

# Paths are bytes here, so that a package is the same package under every locale.

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice

from conjunct.model import Severity
from conjunct.skills.bounds import Bounds
from conjunct.skills.digest import path_text
from conjunct.skills.notes import Notes

MANIFEST = b"skill.md"
"""Compared without regard to case."""
_NOT_SEARCHED = frozenset({b".git", b".hg", b".svn", b".venv", b"__pycache__"})
SKILL_ARCHIVE = b".skill"
"""Ending of an archive that says itself that it is a skill."""
_ARCHIVES = (SKILL_ARCHIVE, b".zip", b".tar", b".tgz", b".tar.gz", b".whl")


class Follow(StrEnum):
    """Which linked folders of a registry count as skills. Links within a package are never followed out."""

    SKILLS = "skills"
    """A link to a folder that is itself a skill, wherever it is; nothing below it is searched."""
    INSIDE = "inside"
    """Only where the folder lies inside the registry."""
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Found:
    """One skill folder."""

    folder: bytes
    """Where its files are."""
    shown: bytes
    """Where it was found, below the registry; empty for the registry's own folder."""
    manifest: bytes
    linked: bool = False


@dataclass(slots=True)
class Discovery:
    """What a search of one folder came to."""

    skills: list[Found] = field(default_factory=list)
    archives: list[bytes] = field(default_factory=list)
    aliases: dict[bytes, list[bytes]] = field(default_factory=dict)
    """Resolved folder to the links by which it was found again."""
    manifests: list[bytes] = field(default_factory=list)
    """Plugin, marketplace and tool manifests seen on the way, below the registry."""


_PLUGIN_FILES = frozenset({b"plugin.json", b"marketplace.json"})


def discover(root: bytes, notes: Notes, bounds: Bounds, follow: Follow = Follow.SKILLS) -> Discovery:
    """Every skill below `root`, in the order of their paths. Bounded, without recursion, without loops."""
    result = Discovery()
    stack: list[tuple[bytes, int]] = [(b"", 0)]
    """(folder, number of skills that it lies in)"""
    looked = 0
    while stack:
        below, within = stack.pop()
        looked += 1
        if looked > bounds.registry_folders or len(result.skills) >= bounds.registry_skills:
            notes.add(
                "intake.registry-too-large",
                f"search ended after {looked} folders and {len(result.skills)} skills",
                severity=Severity.REVIEW,
            )
            break
        try:
            with os.scandir(os.path.join(root, below)) as listing:
                some = islice(listing, bounds.registry_folders)
                items = sorted((item.name, item.stat(follow_symlinks=False).st_mode) for item in some)
        except OSError as error:
            if not within:
                notes.add(
                    "intake.unreadable",
                    f"cannot list: {error.strerror}",
                    file=path_text(below or b"."),
                    severity=Severity.REVIEW,
                )
            continue
        names = [name for name, mode in items if not stat.S_ISDIR(mode)]
        manifest = _manifest(os.path.join(root, below), names)
        if manifest is None and any(name.lower() == MANIFEST for name in names):
            notes.add(
                "integrity.special-file",
                "the manifest is a pipe, socket or device; never opened",
                file=path_text(os.path.join(below, b"SKILL.md")),
                severity=Severity.REVIEW,
            )
        if manifest is not None and within > bounds.nested_skills:
            notes.add(
                "intake.nested-too-deep",
                f"lies in more than {bounds.nested_skills} other skills; read as part of them only",
                file=path_text(below),
                severity=Severity.REVIEW,
            )
        elif manifest is not None:
            result.skills.append(Found(os.path.join(root, below) if below else root, below, manifest))
        inside = within + (manifest is not None)
        for name, mode in reversed(items):
            path = os.path.join(below, name) if below else name
            if stat.S_ISDIR(mode) and name not in _NOT_SEARCHED:
                if path.count(b"/") < bounds.depth:
                    stack.append((path, inside))
            elif stat.S_ISLNK(mode) and not inside and follow is not Follow.NEVER:
                _follow(root, path, result, notes, follow)
            elif stat.S_ISREG(mode):
                _remember(path, name, bool(inside), result, notes, bounds)
    result.skills.sort(key=lambda found: found.shown)
    result.archives.sort()
    return result


def _remember(
    path: bytes, name: bytes, inside: bool, result: Discovery, notes: Notes, bounds: Bounds
) -> None:
    if name in _PLUGIN_FILES:
        result.manifests.append(path)
    elif name.lower().endswith(_ARCHIVES) and not inside:
        if len(result.archives) < bounds.registry_archives:
            result.archives.append(path)
            return
        notes.add(
            "intake.archive-not-read",
            f"only the first {bounds.registry_archives} archives of a registry are opened; pass its path",
            file=path_text(path),
            severity=Severity.REVIEW,
        )


def _manifest(folder: bytes, names: list[bytes]) -> bytes | None:
    """The manifest's name; `SKILL.md` wins where there are several. A link counts, a pipe does not."""
    named = [name for name in names if name.lower() == MANIFEST]
    usable = [name for name in named if _is_file_or_link(os.path.join(folder, name))]
    return min(usable, key=lambda name: (name != b"SKILL.md", name), default=None)


def _is_file_or_link(path: bytes) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _follow(root: bytes, path: bytes, result: Discovery, notes: Notes, follow: Follow) -> None:
    """A link in the registry, outside of any package."""
    full = os.path.join(root, path)
    target = os.path.realpath(full)
    if not os.path.isdir(target):
        if not os.path.exists(target):
            notes.add("intake.link-not-followed", "links to nothing", file=path_text(path))
        return
    try:
        manifest = _manifest(target, os.listdir(target))
    except OSError:
        return
    within = target == root or target.startswith(root.rstrip(b"/") + b"/")
    if manifest is None:
        if not within:
            notes.add(
                "intake.link-not-followed",
                "links to a folder outside the registry that is no skill",
                file=path_text(path),
            )
        return
    if within:
        result.aliases.setdefault(target, []).append(path)
    elif follow is Follow.SKILLS:
        result.skills.append(Found(target, path, manifest, linked=True))
    else:
        notes.add("intake.link-not-followed", "links to a skill outside the registry", file=path_text(path))
