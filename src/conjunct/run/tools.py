"""What an agent can do in one episode: every call leaves its actions, and commands go through the memo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from conjunct.model import (
    Action,
    ActionKind,
    Actor,
    ActorLink,
    CommandRecord,
    ResourceClass,
    Skill,
    Touch,
    TouchMode,
    Utterance,
)
from conjunct.run.memo import TIME_LIMIT, Memo, replayed
from conjunct.world.resources import classify_path
from conjunct.world.spec import OUTLIVES, Command, CommandResult, FileEffect, Layout, Observation, WorldRecord

EXCERPT = 2000
"""Characters of a command's output kept in the trace."""


class LastCommandEnded(Exception):
    """The command after which an episode was to end has ended."""


class RunningWorld(Protocol):
    """What the tools need of an open world."""

    @property
    def layout(self) -> Layout:
        """Paths of the world."""

    def run(self, command: Command) -> CommandResult:
        """Run one command."""

    def read(self, path: str) -> bytes | None:
        """Content of a file."""

    def write(self, path: str, content: bytes, action: Action | None = None) -> bool:
        """Write a file as the agent; whether that could be done."""

    def exists(self, path: str) -> bool:
        """Whether a path exists."""

    def fingerprint(self, observed: tuple[Observation, ...]) -> tuple[str, ...]:
        """State of each observed object now."""

    def apply(self, effects: tuple[FileEffect, ...], actions: tuple[Action, ...]) -> None:
        """Make recorded file changes again."""


class EpisodeTools:
    """The tools of one episode; collects what goes into the trace."""

    def __init__(
        self,
        world: RunningWorld,
        *,
        memo: Memo | None,
        inputs: Sequence[str],
        argument_set: int,
        last_step: int | None = None,
    ) -> None:
        """`last_step`: command, from 0, after which `run` raises `LastCommandEnded`."""
        self._world = world
        self._memo = memo
        self._inputs = tuple(inputs)
        self._argument_set = argument_set
        self._last_step = last_step
        self._turn = 0
        self._step = 0
        self._for_real = memo is None
        self.actions: list[Action] = []
        self.touches: dict[Touch, None] = {}
        self.commands: list[CommandRecord] = []
        self.utterances: list[Utterance] = []
        self.activated: dict[str, None] = {}
        self.undetermined: list[str] = []

    def begin(self, turn: int) -> None:
        """Start a turn."""
        self._turn = turn

    @property
    def layout(self) -> Layout:
        """Paths of the world."""
        return self._world.layout

    @property
    def argument_set(self) -> int:
        """Index of this episode's argument set, from 0."""
        return self._argument_set

    def load(self, skill: Skill) -> None:
        """Record that the agent loaded the skill's body."""
        self.activated[skill.id] = None

    def run(self, command: Command) -> CommandResult:
        """Run a command in the world, or reuse its recorded result where nothing it touched differs."""
        command = replace(command, turn=self._turn, step=self._step)
        self._step += 1
        result = self._run(command)
        self.actions += [_marked_derived(a) for a in result.actions] if command.derived else result.actions
        self.touches.update(dict.fromkeys(result.touches))
        self.commands.append(
            replace(
                result.record,
                stdout=result.stdout[:EXCERPT].decode("utf-8", "backslashreplace"),
                stderr=result.stderr[-EXCERPT:].decode("utf-8", "backslashreplace"),
            )
        )
        if result.record.ended != TIME_LIMIT:
            # A command that met its limit was watched until then; what it would have done is "not exercised".
            self.undetermined += result.undetermined
        if self._last_step is not None and command.step >= self._last_step:
            raise LastCommandEnded
        return result

    def _run(self, command: Command) -> CommandResult:
        if self._memo is None or self._for_real:
            return self._world.run(command)
        answer = self._memo.ask(command, self._world)
        if answer.result is not None:
            self._world.apply(answer.result.effects, answer.result.actions)
            return replayed(answer.result, command)
        result = self._world.run(command)
        self._memo.learn(command, result, answer)
        # What stays behind (a process, a socket) can influence every later command of this episode.
        self._for_real = bool(result.uncut)
        return result

    def end(self, record: WorldRecord) -> None:
        """Take in what was known only when the episode had ended."""
        self.actions += record.actions
        self.touches.update(dict.fromkeys(record.touches))
        self.undetermined += record.undetermined
        if not record.outlived:
            return
        for index, command in enumerate(self.commands):
            if command.outlived:
                self.commands[index] = replace(command, assumed=(*command.assumed, OUTLIVES))
                # It may look at anything later, so no other context is settled by this one.
                unseen = Touch("process:outlived", TouchMode.EVERYTHING, True, command.turn, command.step)
                self.touches[unseen] = None

    def _actor(self, skill: str, file: str, line: int) -> Actor:
        agent = ActorLink("agent", "agent")
        return (agent, ActorLink("skill", skill, file or None, line or None)) if skill else (agent,)

    def read(self, path: str) -> bytes | None:
        """Read a file with the agent's own tool."""
        content = self._world.read(path)
        self.touches[Touch(path, TouchMode.READ, content is not None, self._turn, -1)] = None
        if content is not None:
            self.actions.append(
                Action(
                    ActionKind.READ,
                    path,
                    classify_path(path, self.layout),
                    self._actor("", "", 0),
                    self._turn,
                    -1,
                    size=len(content),
                )
            )
        return content

    def write(self, path: str, content: bytes, *, skill: str = "", file: str = "", line: int = 0) -> None:
        """Write a file with the agent's own tool, because of a directive of `skill`."""
        action = Action(
            ActionKind.WRITE,
            path,
            classify_path(path, self.layout, own=frozenset({skill} if skill else ())),
            self._actor(skill, file, line),
            self._turn,
            -1,
            size=len(content),
            excerpt=content[:400].decode("utf-8", "backslashreplace"),
        )
        if not self._world.write(path, content, action):
            action = replace(action, completed=False)
        self.touches[Touch(path, TouchMode.WRITE, True, self._turn, -1)] = None
        self.actions.append(action)

    def exists(self, path: str) -> bool:
        """Whether a path exists in the world."""
        found = self._world.exists(path)
        self.touches[Touch(path, TouchMode.STAT, found, self._turn, -1)] = None
        return found

    def inputs(self) -> Sequence[str]:
        """Paths of the fixtures of this episode's argument set."""
        return self._inputs

    def note(self, kind: ActionKind, what: str, *, skill: str, file: str, line: int) -> None:
        """Record an instruction about conduct that the agent obeys, once a turn."""
        actor = self._actor(skill, file, line)
        action = Action(kind, what, ResourceClass.CONVERSATION, actor, self._turn, -1)
        if action not in self.actions:
            self.actions.append(action)

    def say(self, text: str) -> None:
        """Answer the user."""
        self.utterances.append(Utterance(self._turn, "agent", text))


def _marked_derived(action: Action) -> Action:
    """The action, marked as resting on tool output: it leads to a review at most."""
    return replace(action, detail=(*action.detail, ("derived", "yes")))
