"""The changes of one episode's files from command to command: what each changed, and what it found before."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from conjunct.model import Touch, TouchMode
from conjunct.world.clock import PRELOAD, START
from conjunct.world.effects import Snapshot, WorldFiles
from conjunct.world.fingerprint import Fingerprints
from conjunct.world.spec import EffectKind, FileEffect, Observation

_KNOWN_BYTES = 256 << 10
"""Larger files are not kept to tell what changed in them."""
_CONSTANT = (
    "/usr/",
    "/bin/",
    "/lib/",
    "/lib64/",
    "/sbin/",
    "/proc/",
    "/dev/null",
    "/dev/zero",
    "/dev/urandom",
    START,
    PRELOAD,
)
"""Places that no carrier can be in: the same in every world of a host; the clock is in the memo's key."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one command changed, and the state in which it found what it touched."""

    effects: tuple[FileEffect, ...]
    before: tuple[tuple[str, TouchMode, str], ...]
    contents: Mapping[str, bytes | None]
    """Content of the changed files before it, `None` where there was none (or it was too large to keep)."""
    special: tuple[str, ...]
    """Sockets and named pipes that it left."""


class ChangeLog:
    """Compares the files of one episode with what they were after the last change that was told."""

    def __init__(
        self,
        files: WorldFiles,
        *,
        layers: Sequence[Path],
        home: str,
        environment: Mapping[str, str],
        placed: Mapping[str, bytes],
    ) -> None:
        """`placed`: contents that were put into writable folders without layers before the episode."""
        self._files = files
        self._prints = Fingerprints(files, layers=layers, home=home, environment=environment)
        self._known: dict[str, bytes | None] = dict(placed)
        self._snapshot: Snapshot = {}
        self._targets: dict[str, str] = {}
        self._look()

    def fingerprint(self, observations: Iterable[Observation]) -> tuple[str, ...]:
        """The present state of what was touched."""
        return tuple(self._prints.now(observation, self._snapshot) for observation in observations)

    def head(self, path: str, size: int) -> bytes:
        """The first bytes of a file as it is now."""
        return self._files.head(path, size)

    def write(self, path: str, content: bytes) -> None:
        """A change made by the agent itself."""
        self._files.write(path, content)
        self._remember(path, content)
        self._look()

    def apply(self, effects: Sequence[FileEffect]) -> None:
        """Recorded changes made again."""
        self._files.apply(effects)
        self._remember_all(effects)
        self._look()

    def take(self, touches: Iterable[Touch], *, replaced: Set[str] = frozenset()) -> Change:
        """What changed since the last call, and the state in which `touches` found things.

        `replaced`: files whose former content nobody saw: their state is that they were there.
        """
        before, after = self._snapshot, self._files.snapshot()
        effects = self._files.changed(before, after)
        change = Change(
            effects=effects,
            before=self._observed(
                touches,
                # Where no effect tells of it, the record made again would not write it.
                replaced={e.path for e in effects if e.kind is EffectKind.WRITTEN and e.path in replaced},
                changed=before != after,
            ),
            contents={effect.path: self._content_before(effect.path) for effect in effects},
            special=self._files.special(before, after),
        )
        self._remember_all(effects)
        self._look()
        return change

    def _observed(
        self, touches: Iterable[Touch], *, replaced: Set[str], changed: bool
    ) -> tuple[tuple[str, TouchMode, str], ...]:
        # The environment is no path, but the values of minted variables differ between comparisons.
        asked: dict[Observation, None] = {("env:", TouchMode.READ): None}
        for touch in touches:
            if touch.mode is TouchMode.EVERYTHING:
                asked["/", TouchMode.EVERYTHING] = None
            elif touch.path.startswith("/") and not touch.path.startswith(_CONSTANT):
                mode = TouchMode.LIST if touch.mode is TouchMode.LIST else TouchMode.READ
                asked[touch.path, TouchMode.WRITE if touch.path in replaced else mode] = None
        if not changed:
            return tuple((*one, self._prints.now(one, self._snapshot)) for one in asked)
        return tuple((*one, self._prints.before(one, self._snapshot, self._targets)) for one in asked)

    def _content_before(self, path: str) -> bytes | None:
        return self._known[path] if path in self._known else self._files.original(path)

    def _remember_all(self, effects: Iterable[FileEffect]) -> None:
        for effect in effects:
            if effect.kind is not EffectKind.FOLDER:
                self._remember(effect.path, effect.content if effect.kind is EffectKind.WRITTEN else None)

    def _remember(self, path: str, content: bytes | None) -> None:
        self._known[path] = content if content is not None and len(content) <= _KNOWN_BYTES else None

    def _look(self) -> None:
        """Note the present state of all changes: the next command is compared with it."""
        self._snapshot = self._files.snapshot()
        self._prints.remember(self._snapshot)
        self._targets = {
            path: self._files.target(path)
            for path, look in self._snapshot.items()
            if look is not None and stat.S_ISLNK(look.kind)
        }
