"""The files of an episode: what is there, what changed, and making recorded changes again.

All paths are absolute in the world and resolved as a process inside would resolve them: a symbolic link that
a skill planted leads to where it leads inside, never to the host.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conjunct.world.kernel import open_in_root
from conjunct.world.spec import EffectKind, FileEffect
from conjunct.world.standins import RECORDS
from conjunct.world.system import WRITABLE_FOLDERS

MAXIMUM_READ = 64 << 20
"""Bytes of one file that are read at most."""
_FRESH_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Seen:
    """What tells one version of a file from the next."""

    kind: int
    mode: int
    size: int
    inode: int
    modified_ns: int
    changed_ns: int
    hides: bool = False
    """A folder made anew where the layers below had one: what they hold there is gone."""
    names: int = 1
    """Hard links of a file."""

    @classmethod
    def of(cls, look: os.stat_result, *, hides: bool = False) -> Seen:
        """From what `stat` says. The size of a folder says nothing: what is in it is told by itself."""
        kind = stat.S_IFMT(look.st_mode)
        if stat.S_ISDIR(look.st_mode):
            return cls(kind, look.st_mode, 0, 0, look.st_mtime_ns, look.st_ctime_ns, hides)
        return cls(
            kind,
            look.st_mode,
            look.st_size,
            look.st_ino,
            look.st_mtime_ns,
            look.st_ctime_ns,
            names=look.st_nlink,
        )


def is_fresh(look: Seen) -> bool:
    """Whether the time of its last change is simply the moment at which that change was made."""
    return abs(look.modified_ns - look.changed_ns) < _FRESH_NS


Snapshot = Mapping[str, Seen | None]
"""Absolute path in the world to what is there; `None` where a file of the layers below was deleted."""


class WorldFiles:
    """The files of one episode, seen from the supervisor."""

    def __init__(self, root: Path, *, home: str, upper: Path | None, layers: Sequence[Path]) -> None:
        """`root`: the tree of the world; `upper`: the overlay's changes to `home`, `None` for a copied home.

        `layers`: what is below `upper`, uppermost first.
        """
        self._layers = tuple(layers)
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._home = home
        self._upper = upper
        self._writable = {f"/{name}": root / name for name in WRITABLE_FOLDERS}
        self._home_place = root / home.lstrip("/")
        self._base: dict[str, Seen | None] = {}
        if upper is None:
            _scan(self._home_place, home, self._base)

    # ---- single objects

    def read(self, path: str) -> bytes | None:
        """Content of a regular file, at most 64 MB of it; `None` if there is none."""
        try:
            descriptor = open_in_root(self._root, path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        except OSError:
            return None
        # Python refuses to make a stream of a folder's descriptor, so it is looked at first.
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            return None
        with open(descriptor, "rb") as stream:
            return stream.read(MAXIMUM_READ)

    def head(self, path: str, size: int) -> bytes:
        """The first bytes of a regular file; empty if there is none."""
        try:
            descriptor = open_in_root(self._root, path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        except OSError:
            return b""
        with open(descriptor, "rb") as stream:
            return stream.read(size) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""

    def exists(self, path: str) -> bool:
        """Whether there is something, following links."""
        return self._look(path, follow=True) is not None

    def write(self, path: str, content: bytes, *, mode: int = 0o644, modified_ns: int = 0) -> None:
        """Write a file, its folders included. Raises `OSError`."""
        self._make_folders(path.rpartition("/")[0])
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_NOCTTY
        descriptor = open_in_root(self._root, path, flags, mode)
        with open(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchmod(descriptor, mode)
            if modified_ns:
                os.utime(descriptor, ns=(modified_ns, modified_ns))

    def _make_folders(self, path: str) -> None:
        made = ""
        for part in path.strip("/").split("/"):
            if not part:
                continue
            parent, made = made, f"{made}/{part}"
            if self._look(made, follow=True) is None:
                with self._folder(parent) as descriptor:
                    os.mkdir(part, 0o755, dir_fd=descriptor)

    @contextlib.contextmanager
    def _folder(self, path: str) -> Iterator[int]:
        descriptor = open_in_root(self._root, path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _look(self, path: str, *, follow: bool) -> os.stat_result | None:
        flags = os.O_PATH if follow else os.O_PATH | os.O_NOFOLLOW
        try:
            descriptor = open_in_root(self._root, path, flags)
        except OSError:
            return None
        try:
            return os.fstat(descriptor)
        finally:
            os.close(descriptor)

    def look(self, path: str) -> Seen | None:
        """What is at `path`, a last link not followed; `None` for nothing."""
        look = self._look(path, follow=False)
        return None if look is None else Seen.of(look)

    def target(self, path: str) -> str:
        """Where a link leads; `?` for what is none."""
        parent, _, name = path.rstrip("/").rpartition("/")
        try:
            with self._folder(parent) as descriptor:
                return os.readlink(name, dir_fd=descriptor)
        except OSError:
            return "?"

    def entries(self, path: str) -> list[tuple[str, bool]]:
        """(name, whether it is a folder) of everything in a folder; empty for one that cannot be read."""
        try:
            with self._folder(path) as descriptor, os.scandir(descriptor) as entries:
                # The stand-ins' records are ours: taken away after each command, so in no snapshot either.
                return [
                    (entry.name, entry.is_dir(follow_symlinks=False))
                    for entry in entries
                    if f"{path}/{entry.name}" != RECORDS
                ]
        except OSError:
            return []

    def content(self, path: str) -> bytes | None:
        """Content of a regular file whose last part is no link; `None` if there is none."""
        parent, _, name = path.rpartition("/")
        try:
            with self._folder(parent) as descriptor:
                inner = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=descriptor)
        except OSError:
            return None
        with open(inner, "rb") as stream:
            return stream.read(MAXIMUM_READ)

    def changeable(self, path: str) -> bool:
        """Whether commands can change what is at `path`: it lies in the home folder or another writable
        one.
        """
        return any(path == place or path.startswith(place + "/") for place in (self._home, *self._writable))

    def is_place(self, path: str) -> bool:
        """Whether `path` is the home folder or another writable one itself."""
        return path in (self._home, *self._writable)

    # ---- changes

    def snapshot(self) -> Snapshot:
        """Everything that differs from the layers the world started with."""
        seen: dict[str, Seen | None] = {}
        if self._upper is not None:
            _scan(self._upper, self._home, seen)
        else:
            now: dict[str, Seen | None] = {}
            _scan(self._home_place, self._home, now)
            seen.update({path: look for path, look in now.items() if self._base.get(path) != look})
            seen.update({path: None for path in self._base if path not in now})
        for place, folder in self._writable.items():
            _scan(folder, place, seen)
        for place in (self._home, *self._writable):
            look = self._look(place, follow=True)
            if look is not None:
                seen[place] = Seen.of(look)
        return seen

    def changed(self, before: Snapshot, after: Snapshot) -> tuple[FileEffect, ...]:
        """The effects that lead from one snapshot to the next, in an order in which they can be applied."""
        removals, additions = [], []
        changed_in: set[str] = set()
        # In the order in which things were made, which a listing shows: it has to be so again after a replay.
        for path in (*sorted(set(before) - set(after)), *after):
            old, new = before.get(path, self._base.get(path)), after.get(path)
            if (path in before and path in after and old == new) or self.is_place(path):
                continue
            if new is None or _replaced(old, new) or (new.hides and not (old and old.hides)):
                removals.append(FileEffect(path, EffectKind.DELETED))
                changed_in.add(path.rpartition("/")[0])
            if new is not None and not self._was_there(path, old, new):
                additions += self._addition(path, new)
                if old is None and self.original_look(path) is None:
                    changed_in.add(path.rpartition("/")[0])
        return (*removals, *additions, *self._retimed(before, after, changed_in))

    def _retimed(self, before: Snapshot, after: Snapshot, changed_in: set[str]) -> Iterator[FileEffect]:
        """Folders whose time was set, or in which something was made and removed again for the first time."""
        for path, new in after.items():
            if new is None or not stat.S_ISDIR(new.kind):
                continue
            old = before.get(path, self._base.get(path)) or self.original_look(path)
            if is_fresh(new):
                changed = path not in changed_in and old is not None and not is_fresh(old)
            else:
                changed = old is None or old.modified_ns != new.modified_ns
            if changed:
                mode, moment = stat.S_IMODE(new.mode), 0 if is_fresh(new) else new.modified_ns
                yield FileEffect(path, EffectKind.FOLDER, mode=mode, modified_ns=moment)

    def original_look(self, path: str) -> Seen | None:
        """What the layers have at a path of the home folder, a last link not followed."""
        for layer in self._layers if path.startswith(self._home + "/") else ():
            with contextlib.suppress(OSError):
                return Seen.of(os.lstat(layer / path[len(self._home) + 1 :]))
        return None

    def special(self, before: Snapshot, after: Snapshot) -> tuple[str, ...]:
        """What is new and cannot be made again from a record: sockets, named pipes, files of two names."""
        kinds = (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK)
        return tuple(
            path
            for path, look in sorted(after.items())
            if look is not None
            and (look.kind not in kinds or (look.kind == stat.S_IFREG and look.names > 1))
            and before.get(path) != look
        )

    def original(self, path: str) -> bytes | None:
        """Content of a file of the home folder as the world started; `None` if there was none."""
        relative = path.removeprefix(self._home + "/")
        if relative == path or ".." in relative.split("/"):
            return None
        for layer in self._layers:
            with contextlib.suppress(OSError):
                return (layer / relative).read_bytes()
        return None

    def _was_there(self, path: str, old: Seen | None, new: Seen) -> bool:
        """Whether it is as before: a folder (what is in it is told by itself), or a mere copy of a layer's
        file.
        """
        if old is not None:
            same = old.kind == new.kind and old.mode == new.mode and old.hides == new.hides
            return same and stat.S_ISDIR(new.kind)
        relative = path.removeprefix(self._home + "/")
        if relative == path or new.hides:
            return False
        for layer in self._layers:
            try:
                below = Seen.of(os.lstat(layer / relative))
            except OSError:
                continue
            if (below.mode, below.size, below.modified_ns) != (new.mode, new.size, new.modified_ns):
                return False
            return stat.S_ISDIR(new.kind) or self.content(path) == self.original(path)
        return False

    def _addition(self, path: str, new: Seen) -> list[FileEffect]:
        permissions = stat.S_IMODE(new.mode)
        if stat.S_ISDIR(new.kind):
            return [FileEffect(path, EffectKind.FOLDER, mode=permissions)]
        if stat.S_ISLNK(new.kind):
            return [FileEffect(path, EffectKind.LINK, content=os.fsencode(self.target(path)))]
        if not stat.S_ISREG(new.kind):
            return []
        content = self.content(path) or b""
        return [
            FileEffect(
                path, EffectKind.WRITTEN, content, permissions, 0 if is_fresh(new) else new.modified_ns
            )
        ]

    def apply(self, effects: Sequence[FileEffect]) -> None:
        """Make the recorded changes again, in order. Raises `OSError`."""
        for effect in effects:
            if effect.kind is EffectKind.WRITTEN:
                if not self._is_file(effect.path):
                    self._remove(effect.path)
                self.write(effect.path, effect.content, mode=effect.mode, modified_ns=effect.modified_ns)
            elif effect.kind is EffectKind.DELETED:
                self._remove(effect.path)
            elif effect.kind is EffectKind.FOLDER:
                self._make_folders(effect.path)
                with self._folder(effect.path) as descriptor:
                    os.fchmod(descriptor, effect.mode)
                    moment = effect.modified_ns or time.time_ns()
                    os.utime(descriptor, ns=(moment, moment))
            else:
                self._remove(effect.path)
                parent, _, name = effect.path.rpartition("/")
                self._make_folders(parent)
                with self._folder(parent) as descriptor:
                    os.symlink(os.fsdecode(effect.content), name, dir_fd=descriptor)

    def _is_file(self, path: str) -> bool:
        look = self._look(path, follow=False)
        return look is not None and stat.S_ISREG(look.st_mode)

    def _remove(self, path: str) -> None:
        """Remove what is at `path`, a folder with all it holds, without following links and without
        recursion.
        """
        waiting = [path]
        while waiting:
            here = waiting[-1]
            look = self._look(here, follow=False)
            parent, _, name = here.rpartition("/")
            if look is None:
                waiting.pop()
                continue
            inside: list[str] = []
            if stat.S_ISDIR(look.st_mode):
                with self._folder(here) as descriptor, os.scandir(descriptor) as entries:
                    inside = [f"{here}/{entry.name}" for entry in entries]
            if inside:
                waiting += inside
                continue
            with self._folder(parent) as descriptor:
                if stat.S_ISDIR(look.st_mode):
                    os.rmdir(name, dir_fd=descriptor)
                else:
                    os.unlink(name, dir_fd=descriptor)
            waiting.pop()


def _replaced(old: Seen | None, new: Seen) -> bool:
    """Whether something else stands where `old` stood: of another kind, or another file of that name."""
    if old is None or old.kind != new.kind:
        return old is not None
    return stat.S_ISREG(new.kind) and bool(old.inode and new.inode) and old.inode != new.inode


def _scan(folder: Path, place: str, into: dict[str, Seen | None]) -> None:
    """Note everything below `folder`, without following links; a whiteout is a deletion."""
    waiting = [(os.fspath(folder), place)]
    while waiting:
        real, shown = waiting.pop()
        try:
            with os.scandir(real) as entries:
                # The disk of an episode lists what was made last first.
                found = list(entries)[::-1]
        except OSError:
            # Nested beyond what a path can name: told as something that cannot be made again.
            into[f"{shown}/..."] = Seen(0, 0, 0, 0, 0, 0)
            continue
        for entry in found:
            path = f"{shown}/{entry.name}"
            if path == RECORDS:
                continue
            try:
                look = entry.stat(follow_symlinks=False)
            except OSError:
                into[path] = Seen(0, 0, 0, 0, 0, 0)
                continue
            if stat.S_ISCHR(look.st_mode) and look.st_rdev == 0:
                into[path] = None
                continue
            if stat.S_ISDIR(look.st_mode):
                inner = f"{real}/{entry.name}"
                into[path] = Seen.of(look, hides=_hides(inner))
                waiting.append((inner, path))
            else:
                into[path] = Seen.of(look)


def _hides(folder: str) -> bool:
    try:
        return os.getxattr(folder, "user.overlay.opaque") == b"y"
    except OSError:
        return False
