"""What the worlds of one plan start with, read from the layers that they would be mounted from."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from conjunct.world.clock import START
from conjunct.world.effects import MAXIMUM_READ, Seen
from conjunct.world.episode import Plan, outside_home
from conjunct.world.fingerprint import environment_digest
from conjunct.world.spec import Observation
from conjunct.world.standins import RECORDS
from conjunct.world.system import HOST_LINKS, SYSTEM_FOLDERS, WRITABLE_FOLDERS

WRITABLE = tuple(f"/{name}" for name in WRITABLE_FOLDERS)
"""Folders beside the home in which commands can change something."""
_SYSTEM = tuple(f"/{name}" for name in SYSTEM_FOLDERS)
_HOST = ("/usr", *(f"/{name}" for name in HOST_LINKS))


class CannotTell(Exception):
    """Only the running world knows; never leaves this room's callers as an error."""


@dataclass(frozen=True, slots=True)
class Lower:
    """One object as the world starts with it."""

    look: Seen
    place: str
    """Where this host keeps it; empty for a folder that is made at the start."""


@dataclass(frozen=True, slots=True)
class Known:
    """A text, and what it was read from: it holds while nothing of that has changed."""

    text: str
    consulted: frozenset[str]
    listed: frozenset[str]


class FirstState:
    """What the worlds of one plan start with. Shared by all episodes of that plan in one process."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.home = plan.spec.layout.home
        self.session_file = plan.spec.layout.session_file
        self.environment = environment_digest(dict(plan.environment))
        self.made_at = time.monotonic()
        self.known: dict[Observation, Known] = {}
        self._looked: dict[str, Lower | None] = {}
        self._made = {
            "/": self._top(),
            "/home": [(self.home.rpartition("/")[2], True)],
            "/dev": [("shm", True)],
        }
        self.placed = outside_home(plan.spec)

    def _top(self) -> list[tuple[str, bool]]:
        names = {name.split("/")[0] for name in (*SYSTEM_FOLDERS, *WRITABLE_FOLDERS)} | {
            "home",
            "usr",
            "proc",
        }
        links = [(name, False) for name in HOST_LINKS if os.path.islink(f"/{name}")]
        return [*((name, True) for name in names), *links]

    def changeable(self, path: str) -> bool:
        """Whether commands can change what is at `path`."""
        return any(path == place or path.startswith(place + "/") for place in (self.home, *WRITABLE))

    def lower(self, path: str) -> Lower | None:
        """What is at `path`, a last link not followed. Raises `CannotTell`."""
        if path not in self._looked:
            self._looked[path] = self._look(path)
        return self._looked[path]

    def _look(self, path: str) -> Lower | None:
        if path in self._made:
            return Lower(folder_look(0o755), "")
        if path in WRITABLE:
            return Lower(folder_look(0o755 if path == "/run" else 0o1777), "")
        if path.startswith(tuple(f"{place}/" for place in WRITABLE)):
            if path == RECORDS or path.startswith(RECORDS + "/"):
                raise CannotTell(path)
            return None
        for place in self._places(path):
            try:
                return Lower(Seen.of(os.lstat(place)), place)
            except OSError:
                continue
        return None

    def _places(self, path: str) -> Iterator[str]:
        """Where the host keeps what is shown at `path`, the uppermost first. Raises `CannotTell`."""
        if path == self.home or path.startswith(self.home + "/"):
            inner = path[len(self.home) + 1 :]
            for layer in self.plan.layers:
                yield os.path.join(layer, inner)
        elif path.startswith(tuple(f"{place}/" for place in _SYSTEM)) or path in _SYSTEM:
            if path == START:
                raise CannotTell(path)
            yield os.path.join(self.plan.system, path[1:])
        elif path in _HOST or path.startswith("/usr/"):
            yield path
        elif path == "/proc" or path.startswith("/proc/"):
            raise CannotTell(path)

    def entries(self, path: str) -> dict[str, bool]:
        """(name, whether it is a folder) of everything in a folder. Raises `CannotTell`."""
        if path in self._made:
            return dict(self._made[path])
        names: dict[str, bool] = {}
        if path in WRITABLE:
            return names
        for place in self._places(path):
            try:
                with os.scandir(place) as found:
                    for one in found:
                        names.setdefault(one.name, one.is_dir(follow_symlinks=False))
            except NotADirectoryError:
                break
            except OSError:
                continue
        folder, _, name = START.rpartition("/")
        if path == folder and self.plan.clock:
            names[name] = False
        return names


def folder_look(mode: int, *, hides: bool = False) -> Seen:
    """A folder; `hides`: made anew where the layers had one."""
    return Seen(stat.S_IFDIR, stat.S_IFDIR | mode, 0, 0, 0, 0, hides)


def digest_of_file(place: str, look: Seen) -> str:
    """The text for the content of a file of this host that looks so. Raises `CannotTell`."""
    return _digest(place, look.size, look.modified_ns, look.inode)


@lru_cache(maxsize=1 << 14)
def _digest(place: str, size: int, modified_ns: int, inode: int) -> str:
    """Content of a file of a layer, which never changes, or of one of the system."""
    try:
        return sha256(Path(place).read_bytes()[:MAXIMUM_READ]).hexdigest()
    except OSError as error:
        raise CannotTell(place) from error
