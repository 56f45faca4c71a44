"""Fingerprints of what a command touched: the state now, and the state before the command ran.

Equal texts mean equal answers to a process that looks. A time that is merely the moment of writing is left
out, because it differs in every run; one that was set is kept, because it can carry a message: a process can
set the time of a change, not the time at which it did so.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from conjunct.model import TouchMode
from conjunct.world.effects import Seen, Snapshot, WorldFiles, is_fresh
from conjunct.world.spec import Observation

ABSENT = "absent"
LINKS = 40
"""Links followed before a path counts as a loop, as in the kernel."""


def describe(look: Seen, content: str) -> str:
    """The text for one object that is no link."""
    age = "fresh" if is_fresh(look) else str(look.modified_ns)
    if stat.S_ISDIR(look.kind):
        return f"folder {stat.S_IMODE(look.mode):o} {age} {content}"
    return f"{look.kind:o} {stat.S_IMODE(look.mode):o} {age} {content}"


def describe_file(look: Seen, mode: TouchMode, content: Callable[[], str]) -> str:
    """The text for one object that is neither link nor folder, as far as it was looked at.

    `WRITE` is a file that was emptied before anybody looked at it: only that it was there counts.
    """
    if not stat.S_ISREG(look.kind):
        return describe(look, "special")
    if mode is TouchMode.WRITE:
        return f"{look.kind:o} {stat.S_IMODE(look.mode):o} replaced"
    return describe(look, str(look.size) if mode is TouchMode.STAT else content())


def listing_digest(names: Iterable[tuple[str, bool]], made: Sequence[str] = ()) -> str:
    """The text for the entries of a folder: (name, whether it is a folder), in any order.

    `made`: those of them that the episode made, in the order in which it did: a listing shows it.
    """
    return hashlib.sha256(repr((sorted(names), list(made))).encode("utf-8", "surrogateescape")).hexdigest()


def change_entries(names: dict[str, bool], folder: str, changes: Snapshot) -> None:
    """Bring the entries of a folder, by name whether each is a folder, to what they are after the changes."""
    prefix = folder.rstrip("/") + "/"
    for path, seen in changes.items():
        if path.startswith(prefix) and "/" not in path[len(prefix) :]:
            name = path[len(prefix) :]
            if seen is None:
                names.pop(name, None)
            else:
                names[name] = stat.S_ISDIR(seen.kind)


def content_digest(content: bytes | None) -> str:
    """The text for the content of a file; `None` for one that cannot be read."""
    return "unreadable" if content is None else hashlib.sha256(content).hexdigest()


def environment_digest(environment: Mapping[str, str]) -> str:
    """The text for the variables that every command of an episode is given."""
    return hashlib.sha256(repr(sorted(environment.items())).encode()).hexdigest()


def joined(path: str, target: str) -> str:
    """Where a link at `path` leads, its target not yet resolved."""
    return target if target.startswith("/") else f"{path.rpartition('/')[0]}/{target}"


class Fingerprints:
    """Takes fingerprints in one episode."""

    def __init__(
        self, files: WorldFiles, *, layers: Sequence[Path], home: str, environment: Mapping[str, str]
    ) -> None:
        """`layers`: what the home folder started with, uppermost first; `environment`: of every command."""
        self._files = files
        self._layers = tuple(layers)
        self._home = home
        self._environment = environment_digest(environment)
        self._digests: dict[str, tuple[Seen, str]] = {}
        """Content of changed files, as of the snapshot in which it was seen."""

    def now(self, observation: Observation, snapshot: Snapshot) -> str:
        """The present state of one object. `snapshot` is the present one."""
        path, mode = observation
        if path.startswith("env:"):
            return self._environment
        if mode is TouchMode.EVERYTHING:
            return self._everything(snapshot)
        if not path.startswith("/"):
            return "constant"
        return self._present(path, mode, LINKS, snapshot)

    def _present(self, path: str, mode: TouchMode, links: int, snapshot: Snapshot) -> str:
        look = self._files.look(path)
        if look is None:
            return ABSENT
        if stat.S_ISLNK(look.kind):
            target = self._files.target(path)
            further = self._present(joined(path, target), mode, links - 1, snapshot) if links else "loop"
            return f"link {target} -> {further}"
        if stat.S_ISDIR(look.kind):
            return describe(look, listing_digest(self._files.entries(path), self.made_in(path, snapshot)))
        return describe_file(look, mode, lambda: content_digest(self._files.read(path)))

    def made_in(self, path: str, snapshot: Snapshot) -> list[str]:
        """Names in a folder that the layers do not have, in the order in which they were made."""
        prefix = path.rstrip("/") + "/"
        return [
            changed[len(prefix) :]
            for changed, look in snapshot.items()
            if look is not None
            and changed.startswith(prefix)
            and "/" not in changed[len(prefix) :]
            and not self._files.is_place(changed)
            and self._files.original_look(changed) is None
        ]

    def _everything(self, snapshot: Snapshot) -> str:
        """The state of all that can differ between two worlds: layers by their digest, and every change."""
        state = hashlib.sha256(self._environment.encode())
        for layer in self._layers:
            state.update(os.fsencode(layer.parent.name))
        for path, look in sorted(snapshot.items()):
            text = ABSENT if look is None else describe(look, self._digest(path, look, snapshot))
            state.update(f"{path}\0{text}\0".encode("utf-8", "surrogateescape"))
        return state.hexdigest()

    # ---- before

    def remember(self, snapshot: Snapshot) -> None:
        """Note the content of every changed file: after the next command it may be gone."""
        for path in [path for path in self._digests if snapshot.get(path) is None]:
            del self._digests[path]
        for path, look in snapshot.items():
            if look is not None and stat.S_ISREG(look.kind):
                self._digest(path, look, snapshot)

    def _digest(self, path: str, look: Seen, snapshot: Snapshot) -> str:
        if not stat.S_ISREG(look.kind):
            return "" if not stat.S_ISLNK(look.kind) else self._files.target(path)
        known = self._digests.get(path)
        if known is None or known[0] != look:
            known = (look, content_digest(self._files.content(path)))
            self._digests[path] = known
        return known[1]

    def before(self, observation: Observation, earlier: Snapshot, targets: Mapping[str, str]) -> str:
        """The state of one object at `earlier`, of which `remember` was told.

        `targets`: where the links among the changes of `earlier` led.
        """
        path, mode = observation
        if path.startswith("env:") or mode is TouchMode.EVERYTHING or not path.startswith("/"):
            return self.now(observation, earlier)
        return _Earlier(self, earlier, targets).state(path, mode)

    def digest_at(self, path: str) -> str:
        """What `remember` noted for a changed file."""
        known = self._digests.get(path)
        return known[1] if known is not None else "unreadable"

    @property
    def files(self) -> WorldFiles:
        """The files these fingerprints are of."""
        return self._files

    def layer_places(self, path: str) -> list[Path]:
        """Where the layers would hold `path`; empty for what is not in the home folder."""
        if path != self._home and not path.startswith(self._home + "/"):
            return []
        return [layer / path[len(self._home) + 1 :] for layer in self._layers]


class _Earlier:
    """The file tree as it was at a snapshot: changes over layers, read without the kernel's help."""

    def __init__(self, prints: Fingerprints, snapshot: Snapshot, targets: Mapping[str, str]) -> None:
        self._prints = prints
        self._snapshot = snapshot
        self._targets = targets

    def state(self, path: str, mode: TouchMode) -> str:
        """The text for the object at `path`."""
        resolved = self._parent_resolved(path)
        if resolved is None:
            return ABSENT
        return self._at(resolved, mode, LINKS)

    def _at(self, path: str, mode: TouchMode, links: int) -> str:
        if not self._prints.files.changeable(path):
            return self._prints.now((path, mode), self._snapshot)
        look = self._look(path)
        if look is None:
            return ABSENT
        if stat.S_ISLNK(look.kind):
            target = self._target(path)
            inner = self._parent_resolved(joined(path, target)) if links else None
            further = "loop" if not links else ABSENT if inner is None else self._at(inner, mode, links - 1)
            return f"link {target} -> {further}"
        if stat.S_ISDIR(look.kind):
            made = self._prints.made_in(path, self._snapshot)
            return describe(look, listing_digest(self._entries(path), made))
        return describe_file(look, mode, lambda: self._content(path))

    def _content(self, path: str) -> str:
        if path in self._snapshot:
            return self._prints.digest_at(path)
        place = self._layer_place(path)
        return content_digest(place.read_bytes() if place is not None else None)

    def _parent_resolved(self, path: str) -> str | None:
        """`path` with every link but a last one followed; `None` where that leads nowhere."""
        waiting = [part for part in path.split("/") if part not in ("", ".")]
        waiting.reverse()
        here = ""
        links = LINKS
        while waiting:
            part = waiting.pop()
            if part == "..":
                here = here.rpartition("/")[0]
                continue
            inner = f"{here}/{part}"
            if waiting and self._prints.files.changeable(inner):
                look = self._look(inner)
                if look is None:
                    return None
                if stat.S_ISLNK(look.kind):
                    links -= 1
                    if links < 0:
                        return None
                    target = self._target(inner)
                    waiting += [step for step in reversed(target.split("/")) if step not in ("", ".")]
                    here = "" if target.startswith("/") else here
                    continue
            here = inner
        return here or "/"

    def _look(self, path: str) -> Seen | None:
        if path in self._snapshot:
            return self._snapshot[path]
        place = self._layer_place(path)
        if place is None:
            return self._prints.files.look(path) if self._prints.files.is_place(path) else None
        return Seen.of(place.lstat())

    def _layer_place(self, path: str) -> Path | None:
        """The layer's file at `path`, unless a change above it hides what the layers hold there."""
        places = self._prints.layer_places(path)
        ancestor = path.rpartition("/")[0]
        while places and ancestor:
            if ancestor in self._snapshot:
                look = self._snapshot[ancestor]
                if look is None or look.hides or not stat.S_ISDIR(look.kind):
                    return None
            ancestor = ancestor.rpartition("/")[0]
        for place in places:
            try:
                place.lstat()
            except OSError:
                continue
            return place
        return None

    def _target(self, path: str) -> str:
        if path in self._snapshot:
            return self._targets.get(path, "?")
        place = self._layer_place(path)
        return os.readlink(place) if place is not None else "?"

    def _entries(self, path: str) -> list[tuple[str, bool]]:
        names: dict[str, bool] = {}
        look = self._snapshot.get(path)
        if look is None or not look.hides:
            for place in reversed(self._prints.layer_places(path)):
                if self._layer_place(f"{path}/.") is None:
                    break
                try:
                    with os.scandir(place) as entries:
                        names |= {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
                except OSError:
                    continue
        change_entries(names, path, self._snapshot)
        return list(names.items())
