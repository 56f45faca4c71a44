"""An agent for tests of probes, invariants and plans: it does exactly what its script says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from conjunct.agent.protocol import Tools, View
from conjunct.errors import UsageError
from conjunct.model import Skill
from conjunct.world.spec import Command


@dataclass(frozen=True, slots=True)
class Run:
    """Start a command in the workspace (or in `cwd`)."""

    argv: tuple[str, ...]
    skill: str = ""
    file: str = ""
    line: int = 0
    cwd: str = ""
    stdin: bytes = b""


@dataclass(frozen=True, slots=True)
class Say:
    """Answer the user."""

    text: str


@dataclass(frozen=True, slots=True)
class Write:
    """Write a file; a relative path is one in the workspace."""

    path: str
    content: bytes
    skill: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """Read a file; a relative path is one in the workspace."""

    path: str


@dataclass(frozen=True, slots=True)
class Load:
    """Load an installed skill by name; one that is not installed is passed over."""

    name: str


Step = Run | Say | Write | Read | Load
Script = Mapping[int, Sequence[Step]] | Sequence[Sequence[Step]] | Callable[[View, Tools], Sequence[Step]]


@dataclass(slots=True)
class ScriptedAgent:
    """Carries out the steps of its script, turn by turn.

    `script` is a list (one list of steps per turn, in order), a mapping (turn number from 1 to steps), or a
    callable that is given the view and the tools and returns the steps of the present turn. Turns that the
    script does not cover do nothing.
    """

    script: Script
    id: str = "scripted"
    version: str = "1"
    deterministic: bool = True
    _turns: int = field(default=0, init=False)

    def act(self, view: View, tools: Tools) -> None:
        """Carry out the steps of the present turn. Raises `UsageError` for a step of an unknown kind."""
        self._turns += 1
        for step in self._steps(view, tools):
            self._do(step, view, tools)

    def _steps(self, view: View, tools: Tools) -> Sequence[Step]:
        if callable(self.script):
            return self.script(view, tools)
        if isinstance(self.script, Mapping):
            return self.script.get(self._turns, ())
        return self.script[self._turns - 1] if self._turns <= len(self.script) else ()

    def _do(self, step: Step, view: View, tools: Tools) -> None:
        workspace = tools.layout.workspace
        match step:
            case Run():
                cwd = step.cwd or workspace
                tools.run(Command(step.argv, cwd, 0, 0, step.skill, step.file, step.line, step.stdin))
            case Say():
                tools.say(step.text)
            case Write():
                tools.write(_absolute(step.path, workspace), step.content, skill=step.skill)
            case Read():
                tools.read(_absolute(step.path, workspace))
            case Load():
                skill: Skill | None = view.find(step.name)
                if skill is not None:
                    tools.load(skill)
            case _:
                raise UsageError(
                    f"scripted agent, turn {self._turns}: {step!r} is not a step; "
                    "use Run, Say, Write, Read or Load of conjunct.agent.scripted"
                )


def _absolute(path: str, workspace: str) -> str:
    return path if path.startswith("/") else f"{workspace}/{path}"
