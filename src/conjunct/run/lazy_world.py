"""A world that is started at its first use: an episode whose commands all have records needs none.

Until then what agent and memo ask about files is answered from what the world would start with, and what they
change is kept in memory. Whatever cannot be told for certain starts the world, which is first brought to the
same state.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from conjunct.model import Action
from conjunct.world.first_state import CannotTell, FirstState
from conjunct.world.spec import (
    Command,
    CommandResult,
    FileEffect,
    Layout,
    Observation,
    Planted,
    WorldRecord,
)
from conjunct.world.unstarted import UnstartedWorld

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from conjunct.world.world import World

Step = Callable[["World"], object]


class LazyWorld:
    """The world of one episode, started by the first call that needs it. Close it, or use it in `with`."""

    def __init__(
        self,
        layout: Layout,
        opener: Callable[[], AbstractContextManager[World]],
        first_state: Callable[[], FirstState] | None = None,
    ) -> None:
        """`first_state`: what the world would start with; without it every question starts the world."""
        self.layout = layout
        self._opener = opener
        self._first_state = first_state
        self._stack = ExitStack()
        self._world: World | None = None
        self._files: UnstartedWorld | None = None
        self._planted: tuple[Planted, ...] = ()
        self._steps: list[tuple[Step, Callable[[UnstartedWorld], object] | None]] = []
        """What was done before the start: in the world, and (where it changed files) in memory."""

    def __enter__(self) -> LazyWorld:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _open(self) -> World:
        if self._world is None:
            self._world = self._stack.enter_context(self._opener())
            self._planted = self._world.planted
            for step, _ in self._steps:
                step(self._world)
            self._files = None
        return self._world

    def _unstarted(self) -> UnstartedWorld:
        """The files so far. Raises `CannotTell`."""
        if self._world is not None or self._first_state is None:
            raise CannotTell
        if self._files is None:
            first = self._first_state()
            files = UnstartedWorld(first)
            for _, change in self._steps:
                if change is not None:
                    change(files)
            self._files, self._planted = files, first.plan.planted
        return self._files

    @property
    def planted(self) -> tuple[Planted, ...]:
        """Planted data; empty where nobody asked for anything."""
        return self._planted

    def run(self, command: Command) -> CommandResult:
        """Run one command."""
        return self._open().run(command)

    def read(self, path: str) -> bytes | None:
        """Content of a file."""
        try:
            content = self._unstarted().read(path)
        except CannotTell:
            return self._open().read(path)
        self._steps.append((lambda world: world.read(path), None))
        return content

    def write(self, path: str, content: bytes, action: Action | None = None) -> bool:
        """Write a file as the agent, for the skill that `action` names; whether that could be done."""
        try:
            self._unstarted().write(path, content)
        except CannotTell:
            return self._open().write(path, content, action)
        self._steps.append(
            (lambda world: world.write(path, content, action), lambda files: files.write(path, content))
        )
        return True

    def exists(self, path: str) -> bool:
        """Whether a path exists."""
        try:
            return self._unstarted().exists(path)
        except CannotTell:
            return self._open().exists(path)

    def fingerprint(self, observed: tuple[Observation, ...]) -> tuple[str, ...]:
        """State of each observed object now."""
        try:
            return self._unstarted().fingerprint(observed)
        except CannotTell:
            return self._open().fingerprint(observed)

    def apply(self, effects: tuple[FileEffect, ...], actions: tuple[Action, ...]) -> None:
        """Make recorded file changes again; `actions` tell who made them."""
        if not effects:
            return
        try:
            self._unstarted().apply(effects)
        except CannotTell:
            self._open().apply(effects, actions)
            return
        self._steps.append((lambda world: world.apply(effects, actions), lambda files: files.apply(effects)))

    def end_turn(self, turn: int, user_text: str, agent_text: str) -> None:
        """Append a turn to the agent's session file."""
        if self._world is not None:
            self._world.end_turn(turn, user_text, agent_text)
            return
        try:
            if self._files is not None:
                self._files.end_turn(turn, user_text, agent_text)
        except CannotTell:
            self._open().end_turn(turn, user_text, agent_text)
            return
        self._steps.append(
            (
                lambda world: world.end_turn(turn, user_text, agent_text),
                lambda files: files.end_turn(turn, user_text, agent_text),
            )
        )

    def finish(self) -> WorldRecord:
        """What is known only when the episode has ended."""
        return self._world.finish() if self._world else WorldRecord()
