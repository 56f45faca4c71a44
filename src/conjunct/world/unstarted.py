"""The files of a world that has not been started: what a process in it would find, without starting it.

A command whose record can be used again needs no world, only the answer whether everything that it touched is
as it was. That answer is read here from the layers that the world would be mounted from, with the changes of
the episode so far kept in memory. Whatever cannot be told for certain raises `CannotTell`; the world is then
started and asked itself. Texts are those of `Fingerprints`, character for character.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass

from conjunct.model import TouchMode
from conjunct.world.effects import MAXIMUM_READ, Seen
from conjunct.world.episode import session_lines
from conjunct.world.fingerprint import (
    ABSENT,
    LINKS,
    change_entries,
    content_digest,
    describe,
    describe_file,
    joined,
    listing_digest,
)
from conjunct.world.first_state import WRITABLE, CannotTell, FirstState, Known, digest_of_file, folder_look
from conjunct.world.spec import EffectKind, FileEffect, Observation

_MOST_CHANGES = 2000
"""Changes kept in memory: far below the number of files that the disk of an episode holds."""
_SHARE_OF_DISK = 8


class UnstartedWorld:
    """The files of one episode that has needed no process yet."""

    def __init__(self, first: FirstState) -> None:
        self._first = first
        self._changes: dict[str, Seen | None] = {}
        self._contents: dict[str, bytes] = {}
        self._targets: dict[str, str] = {}
        self._parents: set[str] = set()
        self._freshened: set[str] = set()
        """Folders in which something was made or removed."""
        self._bytes = 0
        for path, content, modified in first.placed:
            self._plain(path)
            self._make_folders(path.rpartition("/")[0])
            self._put(path, content, 0o644, modified)

    # ---- looking

    def read(self, path: str) -> bytes | None:
        """Content of a regular file, links followed; `None` if there is none. Raises `CannotTell`."""
        found = self._followed(path)
        if found is None or not stat.S_ISREG(self._must(found).kind):
            return None
        if found in self._changes:
            return self._contents[found]
        lower = self._first.lower(found)
        assert lower is not None
        try:
            with open(lower.place, "rb") as stream:
                return stream.read(MAXIMUM_READ)
        except OSError as error:
            raise CannotTell(path) from error

    def exists(self, path: str) -> bool:
        """Whether there is something at `path`, links followed. Raises `CannotTell`."""
        return self._followed(path) is not None

    def fingerprint(self, observations: Sequence[Observation]) -> tuple[str, ...]:
        """The text for each object as it is now. Raises `CannotTell`."""
        return tuple(self._text(one) for one in observations)

    def _text(self, observation: Observation) -> str:
        path, mode = observation
        if path.startswith("env:"):
            return self._first.environment
        if mode is TouchMode.EVERYTHING:
            raise CannotTell(path)
        if not path.startswith("/"):
            return "constant"
        known = self._first.known.get(observation)
        if (
            known is not None
            and known.consulted.isdisjoint(self._changes)
            and known.listed.isdisjoint(self._parents)
        ):
            return known.text
        reading = _Reading(set(), set())
        text = self._state(path, mode, LINKS, reading)
        if reading.consulted.isdisjoint(self._changes) and reading.listed.isdisjoint(self._parents):
            self._first.known[observation] = Known(
                text, frozenset(reading.consulted), frozenset(reading.listed)
            )
        return text

    def _state(self, path: str, mode: TouchMode, links: int, reading: _Reading) -> str:
        place = self._resolved(path, reading)
        look = None if place is None else self._look(place, reading)
        if place is None or look is None:
            return ABSENT
        if stat.S_ISLNK(look.kind):
            target = self._target(place)
            further = self._state(joined(path, target), mode, links - 1, reading) if links else "loop"
            return f"link {target} -> {further}"
        if stat.S_ISDIR(look.kind):
            names = self._entries(place, look, reading)
            if place in self._freshened:
                look = folder_look(stat.S_IMODE(look.mode))
            return describe(look, listing_digest(names.items(), self._made_in(place)))
        return describe_file(look, mode, lambda: self._content(place, look))

    def _content(self, place: str, look: Seen) -> str:
        if place in self._changes:
            return content_digest(self._contents[place])
        lower = self._first.lower(place)
        assert lower is not None
        return digest_of_file(lower.place, look)

    def _entries(self, place: str, look: Seen, reading: _Reading) -> dict[str, bool]:
        reading.listed.add(place)
        names = {} if look.hides or self._is_fresh_folder(place) else self._first.entries(place)
        if place in self._parents:
            change_entries(names, place, self._changes)
        return names

    def _made_in(self, place: str) -> list[str]:
        """Names in a folder that the layers do not have, in the order in which they were made."""
        prefix = place.rstrip("/") + "/"
        return [
            changed[len(prefix) :]
            for changed, look in self._changes.items()
            if look is not None
            and changed.startswith(prefix)
            and "/" not in changed[len(prefix) :]
            and self._first.lower(changed) is None
        ]

    def _is_fresh_folder(self, place: str) -> bool:
        """Whether a folder was made in this episode where the layers show none."""
        return place in self._changes and (self._hidden(place) or self._first.lower(place) is None)

    def _look(self, path: str, reading: _Reading | None = None) -> Seen | None:
        """What is at a path whose parents are all folders. Raises `CannotTell`."""
        if reading is not None:
            reading.consulted.add(path)
        if path in self._changes:
            return self._changes[path]
        if self._hidden(path):
            return None
        lower = self._first.lower(path)
        return None if lower is None else lower.look

    def _hidden(self, path: str) -> bool:
        """Whether a change above `path` hides what the layers hold there."""
        ancestor = path.rpartition("/")[0]
        while ancestor:
            if ancestor in self._changes:
                look = self._changes[ancestor]
                if look is None or look.hides or not stat.S_ISDIR(look.kind):
                    return True
            ancestor = ancestor.rpartition("/")[0]
        return False

    def _must(self, path: str) -> Seen:
        look = self._look(path)
        if look is None:
            raise CannotTell(path)
        return look

    def _target(self, path: str) -> str:
        if path in self._changes:
            return self._targets[path]
        lower = self._first.lower(path)
        if lower is None or not lower.place:
            raise CannotTell(path)
        return os.readlink(lower.place)

    def _resolved(self, path: str, reading: _Reading | None = None) -> str | None:
        """`path` with every link but a last one followed; `None` where that leads nowhere."""
        waiting = _steps(path)
        here = ""
        links = LINKS
        while waiting:
            part = waiting.pop()
            if part == "..":
                here = here.rpartition("/")[0]
                continue
            inner = f"{here}/{part}"
            if waiting:
                look = self._look(inner, reading)
                if look is None:
                    return None
                if stat.S_ISLNK(look.kind):
                    links -= 1
                    if links < 0:
                        return None
                    target = self._target(inner)
                    waiting += _steps(target)
                    here = "" if target.startswith("/") else here
                    continue
                if not stat.S_ISDIR(look.kind):
                    return None
            here = inner
        return here or "/"

    def _followed(self, path: str) -> str | None:
        """Where `path` leads, its last link followed too; `None` for nowhere. Raises `CannotTell`."""
        for _ in range(LINKS):
            place = self._resolved(path)
            look = None if place is None else self._look(place)
            if place is None or look is None:
                return None
            if not stat.S_ISLNK(look.kind):
                return place
            path = joined(place, self._target(place))
        return None

    # ---- changing

    def write(self, path: str, content: bytes) -> None:
        """A file written by the agent. Raises `CannotTell` where that may fail, or follows a link."""
        self._plain(path)
        look = self._look(path)
        if look is not None and not stat.S_ISREG(look.kind):
            raise CannotTell(path)
        self._make_folders(path.rpartition("/")[0])
        self._put(path, content, 0o644, 0)

    def end_turn(self, turn: int, user_text: str, agent_text: str) -> None:
        """Append the turn to the agent's session file. Raises `CannotTell`."""
        path = self._first.session_file
        self.write(path, (self.read(path) or b"") + session_lines(turn, user_text, agent_text))

    def apply(self, effects: Sequence[FileEffect]) -> None:
        """Make recorded changes again, in order. After `CannotTell` this object is of no use."""
        for effect in effects:
            path = effect.path
            self._plain(path)
            look = self._look(path)
            if effect.kind is EffectKind.DELETED:
                self._remove(path)
            elif effect.kind is EffectKind.WRITTEN:
                if look is not None and not stat.S_ISREG(look.kind):
                    self._remove(path)
                self._make_folders(path.rpartition("/")[0])
                self._put(path, effect.content, effect.mode, effect.modified_ns)
            elif effect.kind is EffectKind.FOLDER:
                if look is not None and not stat.S_ISDIR(look.kind):
                    raise CannotTell(path)
                self._make_folders(path)
                self._note(path, folder_look(effect.mode, hides=self._hides(path)))
                self._freshened.add(path)
                if effect.modified_ns:
                    self._freshened.discard(path)
                    mode = stat.S_IFDIR | effect.mode
                    hides = self._hides(path)
                    now = time.time_ns()
                    self._note(path, Seen(stat.S_IFDIR, mode, 0, 0, effect.modified_ns, now, hides))
            else:
                self._remove(path)
                self._make_folders(path.rpartition("/")[0])
                now = time.time_ns()
                size = len(effect.content)
                self._note(path, Seen(stat.S_IFLNK, stat.S_IFLNK | 0o777, size, 0, now, now))
                self._targets[path] = os.fsdecode(effect.content)

    def _plain(self, path: str) -> None:
        """Refuse what is not simply a file below folders that commands can change."""
        parts = path.split("/")
        if not self._first.changeable(path) or path in (self._first.home, *WRITABLE):
            raise CannotTell(path)
        if not path.startswith("/") or any(part in ("", ".", "..") for part in parts[1:]):
            raise CannotTell(path)
        for number in range(2, len(parts)):
            look = self._look("/".join(parts[:number]))
            if look is not None and not stat.S_ISDIR(look.kind):
                raise CannotTell(path)

    def _make_folders(self, path: str) -> None:
        made = ""
        for part in path.strip("/").split("/"):
            made = f"{made}/{part}"
            if self._look(made) is None:
                self._note(made, folder_look(0o755, hides=self._hides(made)))

    def _hides(self, path: str) -> bool:
        """Whether a folder made at `path` stands where the layers have something that was deleted."""
        known = self._changes.get(path, False)
        if isinstance(known, Seen):
            return known.hides
        return known is None

    def _put(self, path: str, content: bytes, mode: int, modified_ns: int) -> None:
        now = time.time_ns()
        self._bytes += len(content)
        if self._bytes > self._first.plan.spec.limits.disk_bytes // _SHARE_OF_DISK:
            raise CannotTell(path)
        look = Seen(stat.S_IFREG, stat.S_IFREG | mode, len(content), 0, modified_ns or now, now)
        self._note(path, look)
        self._contents[path] = content

    def _note(self, path: str, look: Seen | None) -> None:
        parent = path.rpartition("/")[0] or "/"
        if (self._look(path) is None) != (look is None):
            self._freshened.add(parent)
        self._changes[path] = look
        self._parents.add(parent)
        if len(self._changes) > _MOST_CHANGES:
            raise CannotTell(path)

    def _remove(self, path: str) -> None:
        if self._look(path) is None:
            return
        self._freshened.add(path.rpartition("/")[0] or "/")
        below = [one for one in self._changes if one == path or one.startswith(path + "/")]
        for one in below:
            del self._changes[one]
            self._contents.pop(one, None)
            self._targets.pop(one, None)
        # What the layers hold stays there, and has to be kept from showing again.
        if not self._hidden(path) and self._first.lower(path) is not None:
            self._note(path, None)


@dataclass(slots=True)
class _Reading:
    """What one text was read from."""

    consulted: set[str]
    listed: set[str]


def _steps(path: str) -> list[str]:
    """The parts of a path, last first. Raises `CannotTell` for what only the kernel reads in full."""
    parts = path.strip("/").split("/") if path != "/" else []
    if (path.endswith("/") and path != "/") or "//" in path or "." in parts:
        raise CannotTell(path)
    return parts[::-1]
