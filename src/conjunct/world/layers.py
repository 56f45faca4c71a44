"""The files a world starts with: read-only layers, built once by digest and shared by all episodes.

Files are copied, never linked, because a link count is visible. Owner, mode and times are the same in every
layer, and folders and files are created in sorted order, so that listings do not differ between contexts.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from conjunct.errors import WorldError
from conjunct.model import Skill

_FILES = "files"
_KEPT = 400
_UNUSED_SECONDS = 1800.0
"""Far longer than an episode may last."""
_BUILDS_BETWEEN_LOOKS = 100
"""Looking through all layers for old ones takes longer than building one."""
_PRIVATE_FOLDERS = frozenset({".ssh", ".gnupg"})


@dataclass(frozen=True, slots=True)
class LayerEntry:
    """One file or link of a layer."""

    path: str
    """Relative to the root of the layer, POSIX."""
    content: bytes = b""
    """Bytes of the file, or target of the link."""
    mode: int = 0o644
    link: bool = False
    folder: bool = False
    """A folder that would otherwise not be there; other folders follow from the paths."""
    modified_ns: int = 0
    """Time of its last change; 0 stands for the time of the whole layer."""


def package_folders(skills: Iterable[Skill]) -> dict[str, str]:
    """Folder name below the skills folder to skill id: the skill's name, or its id where two share a name."""
    ordered = sorted(skills, key=lambda skill: skill.id)
    names = [skill.name for skill in ordered]
    return {skill.name if names.count(skill.name) == 1 else skill.id: skill.id for skill in ordered}


def skill_entries(
    skills: Iterable[Skill], folder: str, *, folders: Mapping[str, str] | None = None
) -> Iterator[LayerEntry]:
    """The packages below `folder` (relative), each in a folder of its own.

    `folders`: skill id to the name of its folder, where more skills than these are installed.
    Raises `WorldError` if a staged package changed on disk since it was read.
    """
    by_id = {skill.id: skill for skill in skills}
    yield LayerEntry(folder, folder=True)
    names = {skill_id: name for name, skill_id in package_folders(by_id.values()).items()}
    names |= {skill_id: name for skill_id, name in (folders or {}).items() if skill_id in by_id}
    for skill_id, name in names.items():
        skill = by_id[skill_id]
        for entry in skill.entries:
            path = f"{folder}/{name}/{entry.path}"
            if entry.kind == "link":
                yield LayerEntry(path, os.fsencode(entry.target or ""), 0o777, link=True)
                continue
            try:
                content = _read_regular(skill.root / entry.path)
            except OSError as error:
                raise WorldError(
                    f"{skill.path}: {entry.path} is gone from the staged package ({error.strerror}); "
                    "vet it again"
                ) from error
            yield LayerEntry(path, content, 0o755 if entry.executable else 0o644)


def _read_regular(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as stream:
        return stream.read()


_builds = itertools.count()
"""Layers built by this process."""


class LayerStore:
    """Layers on disk, by the digest of what they hold."""

    def __init__(self, folder: Path, *, owner: tuple[int, int] | None = None) -> None:
        """`owner`: (uid, gid) that the files get; `None` keeps the caller's."""
        self._folder = folder
        self._owner = owner

    def build(self, key: str, entries: Iterable[LayerEntry], *, modified: int) -> Path:
        """The folder of the layer named by `key`, built from `entries` unless it is there already.

        `key` must determine the entries and `modified` (seconds since the epoch). Raises `WorldError`.
        """
        name = hashlib.sha256(f"{key}\0{modified}".encode("utf-8", "surrogateescape")).hexdigest()[:40]
        place = self._folder / name
        if (place / _FILES).is_dir():
            with contextlib.suppress(OSError):
                os.utime(place)
                return place / _FILES
        self._folder.mkdir(parents=True, exist_ok=True)
        if next(_builds) % _BUILDS_BETWEEN_LOOKS == 0:
            self._prune()
        fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=self._folder))
        try:
            (fresh / _FILES).mkdir()
            self._fill(fresh / _FILES, entries, modified)
            for folder in (fresh, fresh / _FILES):
                folder.chmod(0o755)
            with contextlib.suppress(OSError):  # another worker was faster: its layer is the same
                fresh.rename(place)
        except OSError as error:
            raise WorldError(f"cannot build a layer below {self._folder}: {error}") from error
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        return place / _FILES

    def _prune(self) -> None:
        """Remove layers that no episode can still be using, the least recently used first."""
        layers = []
        for place in self._folder.iterdir():
            with contextlib.suppress(OSError):  # another worker has renamed or removed it
                layers.append((place.stat().st_mtime, place))
        now = time.time()
        for used, place in sorted(layers)[: max(0, len(layers) - _KEPT)]:
            if now - used > _UNUSED_SECONDS:
                shutil.rmtree(place, ignore_errors=True)

    def _fill(self, root: Path, entries: Iterable[LayerEntry], modified: int) -> None:
        by_path = {safe_relative(entry.path): entry for entry in entries}
        folders = {path for path, entry in by_path.items() if entry.folder}
        for path in by_path:
            folders.update(str(parent) for parent in PurePosixPath(path).parents if str(parent) != ".")
        for folder in sorted(folders):
            place = root / folder
            place.mkdir()
            place.chmod(0o700 if place.name in _PRIVATE_FOLDERS else 0o755)
        for path in sorted(by_path):
            if path in folders:
                continue
            self._write(root / path, by_path[path], modified)
        for folder in sorted(folders, reverse=True):
            os.utime(root / folder, (modified, modified))
            self._own(root / folder)
        os.utime(root, (modified, modified))
        self._own(root)

    def _write(self, place: Path, entry: LayerEntry, modified: int) -> None:
        if entry.link:
            os.symlink(entry.content, os.fsencode(place))
        else:
            place.write_bytes(entry.content)
            place.chmod(entry.mode)
        changed = entry.modified_ns or modified * 1_000_000_000
        os.utime(place, ns=(changed, changed), follow_symlinks=False)
        self._own(place)

    def _own(self, place: Path) -> None:
        if self._owner is not None:
            os.chown(place, *self._owner, follow_symlinks=False)


def safe_relative(path: str) -> str:
    """`path` without `.` parts. Raises `WorldError` for an absolute path or one with `..`: never from us."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts or not parts or "\0" in path:
        raise WorldError(f"{path!r} is no path inside a layer")
    return "/".join(parts)


def digest_of(entries: Iterable[LayerEntry]) -> str:
    """A digest of entries, length-delimited."""
    state = hashlib.sha256()
    for entry in entries:
        for part in (
            os.fsencode(entry.path),
            entry.content,
            f"{entry.mode} {entry.link} {entry.folder} {entry.modified_ns}".encode(),
        ):
            state.update(len(part).to_bytes(8, "big"))
            state.update(part)
    return state.hexdigest()
