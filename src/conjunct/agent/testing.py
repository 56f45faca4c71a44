"""Doubles of view and tools for unit tests of agents: no world, everything recorded."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from conjunct.model import (
    ActionKind,
    CommandRecord,
    Compilation,
    FactorKind,
    LookUp,
    ReachSet,
    Skill,
    Turn,
)
from conjunct.world.spec import Command, CommandResult, Layout


@dataclass(slots=True)
class FakeView:
    """A view on given skills and turns. `look_ups` holds what was asked."""

    turns: Sequence[Turn]
    skills: Sequence[Skill] = ()
    compilations: Mapping[str, Compilation] = field(default_factory=dict)
    """By skill id; a skill without one has no directives."""
    history: str = ""
    at: int = 1
    """The present turn, from 1."""
    look_ups: list[LookUp] = field(default_factory=list)

    def _record(self, factor: FactorKind, question: str, answer: object) -> None:
        self.look_ups.append(LookUp(factor, question, str(answer), self.at))

    @property
    def turn(self) -> int:
        """The present turn; looking is recorded."""
        self._record(FactorKind.TURN, "turn", self.at)
        return self.at

    @property
    def request(self) -> Turn:
        """What the user says now."""
        return self.turns[self.at - 1]

    def conversation_mentions(self, value: str) -> bool:
        """Whether the history or a message so far has the words of `value` in a row."""
        said = " ".join([self.history, *(turn.text for turn in self.turns[: self.at])])
        answer = re.search(rf"\b{re.escape(value.lower())}\b", said.lower()) is not None
        self._record(FactorKind.HISTORY, f"mentions {value}", answer)
        return answer

    def is_installed(self, name: str) -> bool:
        """Whether a skill of that name is installed."""
        answer = any(skill.name == name for skill in self.skills)
        self._record(FactorKind.CO_SKILLS, f"installed {name}", answer)
        return answer

    def find(self, name: str) -> Skill | None:
        """The installed skill of that name."""
        self.is_installed(name)
        return next((skill for skill in self.skills if skill.name == name), None)

    def installed(self) -> Sequence[tuple[str, str]]:
        """Name and description of all."""
        self._record(FactorKind.CO_SKILLS, "list", len(self.skills))
        return [(skill.name, skill.declaration.description) for skill in self.skills]

    def named_in_request(self) -> Sequence[Skill]:
        """Installed skills whose name the request contains, in the order of mention."""
        text = self.request.text.lower()
        found = [
            (text.find(skill.name.lower()), skill) for skill in self.skills if skill.name.lower() in text
        ]
        return [skill for _, skill in sorted(found, key=lambda pair: pair[0])]

    def turn_at_least(self, number: int) -> bool:
        """Whether the present turn is `number` or later."""
        self._record(FactorKind.TURN, f"turn >= {number}", self.at >= number)
        return self.at >= number

    def uses(self, skill: Skill) -> int:
        """In how many turns so far the request names the skill."""
        count = sum(skill.name.lower() in turn.text.lower() for turn in self.turns[: self.at])
        self._record(FactorKind.TURN, f"uses of {skill.name}", count)
        return count

    def compilation(self, skill: Skill) -> Compilation:
        """The directives given for the skill."""
        return self.compilations.get(skill.id, Compilation((), 0, 0))

    def reach(self, skill: Skill) -> ReachSet:
        """Nothing is reachable."""
        return ReachSet(skill.id, (), ())


Responder = Callable[[Command], str | tuple[int, str, str]]
"""Standard output of a command, or (status, standard output, standard error)."""


@dataclass(slots=True)
class FakeTools:
    """Tools that record what they are asked and do nothing. `respond` plays the commands."""

    respond: Responder = lambda command: ""
    fixtures: Sequence[str] = ()
    argument_set: int = 0
    layout: Layout = field(default_factory=Layout)
    files: dict[str, bytes] = field(default_factory=dict)
    commands: list[Command] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    writes: list[tuple[str, bytes, str, str, int]] = field(default_factory=list)
    """(path, content, skill, file, line)."""
    notes: list[tuple[ActionKind, str, str, str, int]] = field(default_factory=list)
    """(kind, what, skill, file, line)."""

    def load(self, skill: Skill) -> None:
        """Record that a skill was loaded."""
        self.loaded.append(skill.id)

    def run(self, command: Command) -> CommandResult:
        """Record a command and answer as `respond` says."""
        answer = self.respond(command)
        status, out, err = (0, answer, "") if isinstance(answer, str) else answer
        self.commands.append(command)
        record = CommandRecord(
            step=len(self.commands) - 1,
            turn=command.turn,
            argv=command.argv,
            cwd=command.cwd,
            skill=command.skill,
            file=command.file,
            line=command.line,
            ended="exit",
            status=status,
            stdout=out,
            stderr=err,
        )
        return CommandResult(record, out.encode(), err.encode(), (), (), ())

    def read(self, path: str) -> bytes | None:
        """Content of a file that was given or written."""
        return self.files.get(path)

    def write(self, path: str, content: bytes, *, skill: str = "", file: str = "", line: int = 0) -> None:
        """Record a write."""
        self.files[path] = content
        self.writes.append((path, content, skill, file, line))

    def exists(self, path: str) -> bool:
        """Whether a file was given or written."""
        return path in self.files

    def inputs(self) -> Sequence[str]:
        """The fixtures given."""
        return self.fixtures

    def note(self, kind: ActionKind, what: str, *, skill: str, file: str, line: int) -> None:
        """Record conduct."""
        self.notes.append((kind, what, skill, file, line))

    def say(self, text: str) -> None:
        """Record an answer."""
        self.said.append(text)
