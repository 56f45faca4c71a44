"""The interface of everything that acts: one method, given a recorded view and the tools of one world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from conjunct.model import ActionKind, Compilation, ReachSet, Skill, Turn
from conjunct.world.spec import Command, CommandResult, Layout


class View(Protocol):
    """Conversation and installed set as the agent sees them; every look-up is recorded in the trace."""

    @property
    def turn(self) -> int:
        """Number of the present turn, from 1. Looking at it for a condition is recorded."""

    @property
    def request(self) -> Turn:
        """What the user says in this turn."""

    def conversation_mentions(self, value: str) -> bool:
        """Whether history, memory or an earlier message speaks of `value` (case-insensitive words)."""

    def is_installed(self, name: str) -> bool:
        """Whether a skill of that name is installed."""

    def installed(self) -> Sequence[tuple[str, str]]:
        """(name, description) of every installed skill. Lists the folder: conditions on anything in it."""

    def named_in_request(self) -> Sequence[Skill]:
        """Installed skills whose name the present request contains, in the order of mention."""

    def find(self, name: str) -> Skill | None:
        """The installed skill of that name, or `None`; recorded like `is_installed`."""

    def turn_at_least(self, number: int) -> bool:
        """Whether the present turn is `number` or later."""

    def uses(self, skill: Skill) -> int:
        """How often the user has asked for that skill so far, this turn included."""

    def compilation(self, skill: Skill) -> Compilation:
        """Directives of an installed skill."""

    def reach(self, skill: Skill) -> ReachSet:
        """Reachable actions of an installed skill; used for arguments and environment names only."""


class Tools(Protocol):
    """What an agent can do. Every call leaves actions in the trace."""

    @property
    def layout(self) -> Layout:
        """Paths of the world."""

    def load(self, skill: Skill) -> None:
        """Record that the agent loaded the skill's body: it is activated."""

    def run(self, command: Command) -> CommandResult:
        """Run a command in the world. `turn` and `step` of the command are filled in by the tools."""

    def read(self, path: str) -> bytes | None:
        """Read a file with the agent's own tool; `None` if there is none."""

    def write(self, path: str, content: bytes, *, skill: str = "", file: str = "", line: int = 0) -> None:
        """Write a file with the agent's own tool, because of a directive of `skill`."""

    def exists(self, path: str) -> bool:
        """Whether a path exists in the world (recorded as a touch)."""

    @property
    def argument_set(self) -> int:
        """Index of this episode's argument set, from 0: decides between alternatives and example values."""

    def inputs(self) -> Sequence[str]:
        """Paths of the fixtures of this episode's argument set, absolute in the world."""

    def note(self, kind: ActionKind, what: str, *, skill: str, file: str, line: int) -> None:
        """Record an instruction about conduct that the agent obeys: `override` or `conceal`."""

    def say(self, text: str) -> None:
        """Answer the user."""


class Agent(Protocol):
    """What acts. One object serves one episode: it may keep state between its turns."""

    @property
    def id(self) -> str:
        """`literal`, `noisy`, `scripted`, or the model's name; part of the baseline fingerprint."""

    @property
    def version(self) -> str:
        """Changes whenever the same input could give other actions."""

    @property
    def deterministic(self) -> bool:
        """Whether equal specs give equal actions; decides between read-set tree and pools."""

    def act(self, view: View, tools: Tools) -> None:
        """Carry out one turn."""
