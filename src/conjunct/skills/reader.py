"""Reading a registry: one bad package never hides another."""

# Paths are bytes here, so that a package is the same package under every locale.

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import platformdirs

from conjunct.errors import IntakeError
from conjunct.model import Registry, Severity, Skill
from conjunct.skills.archive import archive_kind, unpack
from conjunct.skills.bounds import DEFAULT_BOUNDS, Bounds
from conjunct.skills.bytecode import check_bytecode
from conjunct.skills.declaration import declare
from conjunct.skills.digest import path_text
from conjunct.skills.discover import MANIFEST, SKILL_ARCHIVE, Discovery, Follow, Found, discover
from conjunct.skills.front_matter import decode, parse_front_matter
from conjunct.skills.hidden_text import check_hidden_text
from conjunct.skills.naming import with_unique_ids
from conjunct.skills.notes import Notes, printable
from conjunct.skills.package import read_regular
from conjunct.skills.plugins import Plugin, plugin_of, read_plugins
from conjunct.skills.staging import stage_package
from conjunct.skills.static_manifest import refuse_static_manifests

_OUR_TROUBLE = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO}
)
"""What goes wrong on this machine says nothing about a package, and must not look as if it did."""


_SCRATCH_PREFIXES = (".incoming-", ".unpacked-", ".inert-", ".broken-")
_LEFTOVER_SECONDS = 86_400


def default_staging() -> Path:
    """Where clean copies go by default: readable by the unprivileged user that runs them, root's too."""
    if os.geteuid() == 0:
        return Path("/var/cache/conjunct/staged")
    return platformdirs.user_cache_path("conjunct") / "staged"


@dataclass(slots=True)
class _Source:
    """A folder to read skills from, and how to speak of what is in it."""

    root: bytes
    shown: str
    label: str = ""
    bits: Mapping[bytes, bool | None] | None = None
    notes: Mapping[bytes, Notes] = field(default_factory=dict)
    """What unpacking noted, by path below `root`; empty path for the archive as a whole."""
    root_name: str = ""


def read_registry(
    path: Path,
    *,
    staging: Path | None = None,
    follow: Follow = Follow.SKILLS,
    bounds: Bounds = DEFAULT_BOUNDS,
) -> Registry:
    """Read the skills at `path`: a skill folder, a folder of skills at any depth, or an archive of either.

    Each skill is staged as a clean copy in `staging/<digest>/` (by default in the cache folder). Whatever is
    odd becomes a finding on its skill, or on the registry where it belongs to none. Raises `IntakeError`
    where there is nothing to vet, and `StaticManifestError` for a pre-compiled tool manifest.
    """
    path = Path(path)
    area = staging if staging is not None else default_staging()
    _make_staging(area)
    if path.name.lower() == "skill.md" and path.is_file():
        path = path.parent
    notes = Notes(limit=100_000)
    skills = _read_path(path, area, notes, bounds, follow)
    if not skills:
        raise IntakeError(_nothing(path, notes))
    return Registry(printable(str(path)), with_unique_ids(skills), notes.findings(""))


def _make_staging(area: Path) -> None:
    """Create the staging folder, passable for everybody whatever the umask: another user reads it later."""
    missing = [folder for folder in (area, *area.parents) if not folder.exists()]
    try:
        for folder in reversed(missing):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)
        if not area.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        _remove_leftovers(area)
    except OSError as error:
        raise IntakeError(
            f"cannot create the staging folder {area}: {error.strerror}; name another"
        ) from error


def _remove_leftovers(area: Path) -> None:
    """Remove what runs that were killed left half-made; a day is longer than any copy takes."""
    before = time.time() - _LEFTOVER_SECONDS
    with os.scandir(area) as listing:
        old = [
            item.path
            for item in listing
            if item.name.startswith(_SCRATCH_PREFIXES) and _is_older(item, before)
        ]
    for path in old:
        shutil.rmtree(path, ignore_errors=True)


def _is_older(item: os.DirEntry[str], before: float) -> bool:
    try:
        return item.is_dir(follow_symlinks=False) and item.stat(follow_symlinks=False).st_mtime < before
    except OSError:
        return False


def _read_path(path: Path, staging: Path, notes: Notes, bounds: Bounds, follow: Follow) -> list[Skill]:
    if path.is_dir():
        root = os.path.realpath(os.fsencode(path))
        source = _Source(root, str(path), root_name=path_text(os.path.basename(root)))
        skills, found = _read_source(source, staging, notes, bounds, follow)
        for archive in found.archives:
            skills += _read_inner(Path(os.fsdecode(os.path.join(root, archive))), staging, notes, bounds)
        if not skills:
            refuse_static_manifests(path)
        return skills
    kind = archive_kind(path)
    if kind is not None:
        return _read_archive(path, kind, staging, notes, bounds)
    refuse_static_manifests(path)
    raise IntakeError(
        f"{printable(str(path))} is no folder with skills and no zip or tar archive; "
        "pass a skill folder, a folder of skills, or an archive of either"
    )


def _read_inner(path: Path, staging: Path, notes: Notes, bounds: Bounds) -> list[Skill]:
    """An archive that lies in a registry folder: a skill or several, or nothing of ours.

    Only a `.skill` promises to be one; any other archive without a skill in it is told, and no more.
    """
    promised = os.fsencode(path.name).lower().endswith(SKILL_ARCHIVE)
    severity = Severity.REVIEW if promised else Severity.NOTE
    kind = archive_kind(path)
    if kind is None:
        notes.add("intake.archive-broken", "is no zip or tar archive", file=path.name, severity=severity)
        return []
    unpacking = Notes(limit=100_000)
    skills = _read_archive(path, kind, staging, unpacking, bounds)
    if skills or promised:
        notes.made += unpacking.made
    if not skills:
        notes.add("intake.archive-empty", "holds no skill", file=path.name, severity=severity)
    return skills


def _read_archive(path: Path, kind: str, staging: Path, notes: Notes, bounds: Bounds) -> list[Skill]:
    with tempfile.TemporaryDirectory(prefix=".unpacked-", dir=staging, ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch) / "archive"
        folder.mkdir()
        unpacked = unpack(path, kind, folder, bounds)
        stem = path.name.removesuffix(".gz").rsplit(".", 1)[0]
        source = _Source(
            os.path.realpath(os.fsencode(folder)),
            f"{path}!",
            label=f"archive {printable(path.name)}",
            bits=unpacked.bits,
            notes=unpacked.notes,
            root_name=stem,
        )
        # An archive brings links of its own making: none of them may lead to a skill of this machine.
        skills, found = _read_source(source, staging, notes, bounds, Follow.INSIDE)
    places = [place.shown for place in found.skills]
    rest = [
        finding
        for member, noted in unpacked.notes.items()
        if not any(_lies_in(member, place) for place in places)
        for finding in noted.findings("")
    ]
    if len(skills) == 1:
        return [replace(skills[0], findings=(*skills[0].findings, *rest))]
    notes.made += rest
    return skills


def _lies_in(path: bytes, folder: bytes) -> bool:
    return not folder or path.startswith(folder + b"/")


def _nothing(path: Path, notes: Notes) -> str:
    told = "; ".join(finding.message for finding in notes.made[:5])
    return f"{printable(str(path))} holds no skill: no folder in it has a SKILL.md" + (
        f" ({told})" if told else ""
    )


def _read_source(
    source: _Source, staging: Path, notes: Notes, bounds: Bounds, follow: Follow
) -> tuple[list[Skill], Discovery]:
    found = discover(source.root, notes, bounds, follow)
    folders = {place.folder for place in found.skills}
    own = [place for place in found.skills if not _manifest_elsewhere(place, folders, source, found, notes)]
    plugins = read_plugins(source.root, found.manifests, notes)
    places = {place.shown for place in own}
    skills: list[Skill] = []
    for place in own:
        skill_notes = Notes()
        _note_surroundings(place, places, found, plugins, skill_notes)
        try:
            skills.append(_read_skill(place, plugins, source, staging, skill_notes, bounds))
        except (OSError, ValueError, RecursionError, MemoryError) as error:
            if isinstance(error, OSError) and error.errno in _OUR_TROUBLE:
                raise IntakeError(f"cannot stage skills in {staging}: {error.strerror}") from error
            notes.add(
                "intake.failed",
                f"this skill could not be read: {type(error).__name__}: {error}",
                file=path_text(place.shown) or ".",
                severity=Severity.REVIEW,
            )
    return skills, found


def _note_surroundings(
    place: Found, places: set[bytes], found: Discovery, plugins: Sequence[Plugin], notes: Notes
) -> None:
    """What can be said of a package from where it lies."""
    above = place.shown
    while above:
        above = os.path.dirname(above)
        if above in places:
            notes.add(
                "intake.nested", f"lies within the skill at {path_text(above) or '.'!r}, and is part of it"
            )
            break
    if place.linked:
        notes.add("intake.linked", f"the skill is a link to {path_text(place.folder)!r}")
    for alias in found.aliases.get(place.folder, []):
        notes.add("intake.alias", f"is also reached as {path_text(alias)!r}")
    plugin = plugin_of(place.shown, plugins)
    if plugin is not None and plugin.hooks:
        notes.add(
            "declares.plugin-hooks", f"its plugin {plugin.name!r} registers hooks, outside of this package"
        )
    if plugin is not None and plugin.servers:
        notes.add(
            "declares.plugin-servers",
            f"its plugin {plugin.name!r} starts MCP servers, outside of this package",
        )


def _manifest_elsewhere(
    place: Found, folders: set[bytes], source: _Source, found: Discovery, notes: Notes
) -> bool:
    """Whether the manifest is a link out of its folder: to a skill of this registry, or to anything else."""
    folder = os.path.realpath(place.folder)
    end = os.path.realpath(os.path.join(folder, place.manifest))
    if end.startswith(folder.rstrip(b"/") + b"/"):
        return False
    if os.path.dirname(end) in folders and os.path.basename(end).lower() == MANIFEST:
        found.aliases.setdefault(os.path.dirname(end), []).append(place.shown)
        return True
    inside = end.startswith(source.root.rstrip(b"/") + b"/")
    notes.add(
        "integrity.manifest-outside",
        f"the manifest is a link out of its {'folder' if inside else 'registry'}; not followed",
        file=path_text(os.path.join(place.shown, place.manifest)),
        severity=Severity.NOTE if inside else Severity.REVIEW,
    )
    return True


def _read_skill(
    place: Found, plugins: Sequence[Plugin], source: _Source, staging: Path, notes: Notes, bounds: Bounds
) -> Skill:
    bits = None
    if source.bits is not None:
        bits = partial(_bit_below, source.bits, place.shown + b"/" if place.shown else b"")
    package = stage_package(place.folder, staging, notes, bounds, registry=source.root, bits=bits)
    manifest = path_text(place.manifest)
    data = _manifest_bytes(package.root, place.manifest, bounds)
    if data is None:
        raise ValueError(f"{manifest} leads out of the package or cannot be opened")
    if len(data) > bounds.manifest_bytes:
        data = data[: bounds.manifest_bytes]
        notes.add(
            "intake.manifest-too-large",
            f"only the first {bounds.manifest_bytes} bytes were read",
            file=manifest,
            severity=Severity.REVIEW,
        )
    check_hidden_text(package.root, package.entries, manifest, notes, bounds)
    check_bytecode(package.root, package.entries, notes, bounds)
    front = parse_front_matter(decode(data, manifest, notes), manifest, notes, bounds)
    folder = path_text(os.path.basename(place.shown)) or source.root_name
    declaration = declare(front, folder, manifest, notes)
    for member, noted in source.notes.items():
        if _lies_in(member, place.shown):
            notes.made += noted.findings("")
    plugin = plugin_of(place.shown, plugins)
    shown = os.path.join(source.shown, path_text(place.shown)) if place.shown else source.shown
    return Skill(
        id=declaration.name,
        name=declaration.name,
        path=printable(shown),
        root=package.root,
        digest=package.digest,
        declaration=declaration,
        body=front.body,
        body_line=front.body_line,
        entries=package.entries,
        manifest=manifest,
        source=", ".join(filter(None, (source.label, plugin.label() if plugin else ""))),
        findings=notes.findings(""),
    )


def _bit_below(bits: Mapping[bytes, bool | None], prefix: bytes, path: bytes) -> bool | None:
    return bits.get(prefix + path)


def _manifest_bytes(root: Path, manifest: bytes, bounds: Bounds) -> bytes | None:
    """The staged manifest; a link is resolved, since only links that stay inside were staged."""
    path = os.path.realpath(os.path.join(os.fsencode(root), manifest))
    if not path.startswith(os.path.realpath(os.fsencode(root)) + b"/"):
        return None
    return read_regular(path, bounds.manifest_bytes + 1)
