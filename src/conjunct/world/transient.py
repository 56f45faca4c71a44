"""Names that a program chose at random and gave up again: equal runs must give equal facts.

A file or folder that a command created exclusively (so it was not there before) and that is gone when the
command ends has no effect of its own. Where its name is one of the random kinds, actions tell its number
instead. Touches keep every path as it is: creating a file exclusively is a way to ask whether it was there,
and who left it there may be another skill.
"""

from __future__ import annotations

from dataclasses import replace

from conjunct.model import Action, Touch
from conjunct.world.resources import may_be_random

_NAMES = 20_000


class TransientNames:
    """The random names of one command."""

    def __init__(self) -> None:
        self._created: dict[str, None] = {}
        self._gone: set[str] = set()
        self._ports: dict[str, None] = {}
        self._masks: dict[str, str] = {}

    def created(self, path: str) -> None:
        """Note a file or folder that this command created and nobody before it."""
        if may_be_random(path) and len(self._created) < _NAMES:
            self._created[path] = None
            self._gone.discard(path)

    def gone(self, path: str) -> None:
        """Note that a path was deleted or renamed away."""
        if path in self._created:
            self._gone.add(path)

    def listens(self, address: str) -> None:
        """Note `address:port` where the system chose the port."""
        self._ports[address] = None

    def settle(self) -> None:
        """Fix the replacements, in the order of creation. Call once, when the command has been read."""
        number = 0
        for path in self._created:
            if path in self._gone:
                number += 1
                self._masks[path] = f"{path.rpartition('/')[0]}/(temporary {number})"
        for number, address in enumerate(self._ports, 1):
            self._masks[address] = f"{address.rpartition(':')[0]}:(any port {number})"

    def shown(self, name: str) -> str:
        """A path or address as it is to be reported."""
        if not self._masks:
            return name
        if name.startswith("network:"):
            return f"network:{self.shown(name[8:])}"
        known = self._masks.get(name)
        if known is not None or not name.startswith("/"):
            return known or name
        end = name.rfind("/")
        while end > 0:
            folder = self._masks.get(name[:end])
            if folder is not None:
                return folder + name[end:]
            end = name.rfind("/", 0, end)
        return name

    def of_action(self, action: Action) -> Action:
        """An action with its names as they are to be reported."""
        detail = tuple((key, self.shown(value)) for key, value in action.detail)
        return replace(action, resource=self.shown(action.resource), detail=detail)

    def of_touch(self, touch: Touch) -> Touch:
        """A touch of an address as it is to be reported; paths stay as they are."""
        return touch if touch.path.startswith("/") else replace(touch, path=self.shown(touch.path))

    @property
    def any(self) -> bool:
        """Whether there is anything to replace."""
        return bool(self._masks)
