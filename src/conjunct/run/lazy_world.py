"""A world that is made at its first use: an episode in which nobody acts needs none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from conjunct.model import Action
from conjunct.world.spec import (
    Command,
    CommandResult,
    FileEffect,
    Layout,
    Observation,
    Planted,
    WorldRecord,
)

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from conjunct.world.world import World


class LazyWorld:
    """The world of one episode, opened by the first call that needs it. Close it, or use it in `with`."""

    def __init__(self, layout: Layout, opener: Callable[[], AbstractContextManager[World]]) -> None:
        self.layout = layout
        self._opener = opener
        self._stack = ExitStack()
        self._world: World | None = None
        self._turns: list[tuple[int, str, str]] = []

    def __enter__(self) -> LazyWorld:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _open(self) -> World:
        if self._world is None:
            self._world = self._stack.enter_context(self._opener())
            for turn in self._turns:
                self._world.end_turn(*turn)
        return self._world

    @property
    def planted(self) -> tuple[Planted, ...]:
        """Planted data; empty where no world was needed."""
        return self._world.planted if self._world else ()

    def run(self, command: Command) -> CommandResult:
        """Run one command."""
        return self._open().run(command)

    def read(self, path: str) -> bytes | None:
        """Content of a file."""
        return self._open().read(path)

    def write(self, path: str, content: bytes, action: Action | None = None) -> bool:
        """Write a file as the agent, for the skill that `action` names; whether that could be done."""
        return self._open().write(path, content, action)

    def exists(self, path: str) -> bool:
        """Whether a path exists."""
        return self._open().exists(path)

    def fingerprint(self, observed: tuple[Observation, ...]) -> tuple[str, ...]:
        """State of each observed object now."""
        return self._open().fingerprint(observed)

    def apply(self, effects: tuple[FileEffect, ...], actions: tuple[Action, ...]) -> None:
        """Make recorded file changes again; `actions` tell who made them."""
        if effects:
            self._open().apply(effects, actions)

    def end_turn(self, turn: int, user_text: str, agent_text: str) -> None:
        """Append a turn to the agent's session file."""
        if self._world is None:
            self._turns.append((turn, user_text, agent_text))
        else:
            self._world.end_turn(turn, user_text, agent_text)

    def finish(self) -> WorldRecord:
        """What is known only when the episode has ended."""
        return self._world.finish() if self._world else WorldRecord()
