"""Carrying out: documented calls and instructions become commands, each done for one directive."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from conjunct.agent.acts import Step, remember_steps, steps_for, subjects_of
from conjunct.agent.arguments import Line, fill, fill_usage
from conjunct.agent.calls import Call
from conjunct.agent.drivers import code_argv, module_argv
from conjunct.agent.objects import Surroundings
from conjunct.agent.output import OUTPUT_LIMIT, facts_in, instructions_in
from conjunct.agent.package import Package, installed_folder, installed_path
from conjunct.agent.protocol import Tools
from conjunct.agent.repair import repair
from conjunct.agent.usage import Usage, usage_of_help
from conjunct.agent.values import Values
from conjunct.battery.fill import OUTPUT_FOLDER
from conjunct.model import Directive, DirectiveKind, Skill
from conjunct.world.spec import Command, CommandResult

LEAST_CONFIDENCE_DERIVED = 0.25
"""The same for what a tool printed: the compiler keeps that at half confidence at most."""
_ARGUMENT_LIMIT = 100_000
"""Characters in one argument; the kernel takes no more than 128 KiB."""
_TAKES_ARGUMENTS = re.compile(r"argv|argparse|optparse|docopt|getopt|click|typer|fire")
_NEAR = 3
"""Lines within which `it` means what the instruction before was about."""
REPAIRS = 2
"""Further tries of one call after its script refused the arguments."""
DERIVED_PER_TURN = 6
"""Instructions from tool output that are followed in one turn."""


@dataclass(slots=True)
class Loaded:
    """A skill whose body is in force."""

    skill: Skill
    package: Package
    calls: tuple[Call, ...]
    directives: tuple[Directive, ...]
    values: Values
    uses: int = 0
    last: tuple[str, ...] = ()
    """What the last instruction was about."""
    last_place: tuple[str, int] = ("", 0)
    """File and line of that instruction."""


@dataclass(frozen=True, slots=True)
class Because:
    """What an action is done for: it becomes the actor of what the action causes."""

    skill: str
    file: str
    line: int
    derived: bool = False


@dataclass(slots=True)
class Deeds:
    """What one agent did in one episode, and how it does it."""

    facts: dict[str, str] = field(default_factory=dict)
    """Names and values found in the output of commands."""
    report: list[str] = field(default_factory=list)
    """What was done in this turn, for the answer to the user."""
    outputs: list[str] = field(default_factory=list)
    followed: set[str] = field(default_factory=set)
    derived: int = 0
    has_output_folder: bool = False
    undone: list[str] = field(default_factory=list)
    """`file:line` of acts that were due and for which nothing could be done."""
    helped: dict[str, Usage] = field(default_factory=dict)
    """What scripts said about their arguments when asked for help."""

    def begin_turn(self) -> None:
        """Forget the report of the last turn."""
        self.report, self.derived = [], 0

    def call(
        self, call: Call, loaded: Loaded, tools: Tools, started: set[tuple[str, ...]], guessed: bool
    ) -> None:
        """Make a documented call, unless the same command was started in this use already."""
        because = Because(loaded.skill.id, call.file, call.line, guessed and not call.member)
        root = installed_folder(loaded.skill, tools.layout)
        cwd = root if call.folder == "skill" else tools.layout.workspace
        environment: tuple[tuple[str, str], ...] = ()
        if call.source == "hook":
            environment = (("CLAUDE_PLUGIN_ROOT", root), ("CLAUDE_PROJECT_DIR", tools.layout.workspace))
        line = self._line(call, loaded, because, tools)
        if line is None or line.argv in started:
            return
        started.add(line.argv)
        self._make_output_folder(tools)
        result = self._run(Step(argv=line.argv, stdin=line.stdin), because, tools, cwd, environment)
        if call.language == "shell" and line.member:
            result = self._until_taken(line, result, loaded, because, tools, cwd, started)
        self.outputs.extend(path for path in line.outputs if path not in self.outputs)
        self.report.append(f"ran {call.text.splitlines()[0][:80]}")
        self._follow(result, because, loaded, tools)

    def _until_taken(
        self,
        line: Line,
        result: CommandResult,
        loaded: Loaded,
        because: Because,
        tools: Tools,
        cwd: str,
        started: set[tuple[str, ...]],
    ) -> CommandResult:
        """Further tries with what the script said it wants, as long as it says something that helps."""
        usage = self.helped.get(line.member) or loaded.package.usage(line.member)
        source = loaded.package.source(line.member)
        for _ in range(REPAIRS):
            if not result.record.status:
                break
            message = (result.stdout[-2000:] + b"\n" + result.stderr[-2000:]).decode("utf-8", "replace")
            better = repair(line, message, usage, loaded.values, source=source)
            if better is None or better.line.argv in started:
                break
            line = better.line
            started.add(line.argv)
            if better.path:
                tools.write(better.path, better.content)
            result = self._run(Step(argv=line.argv, stdin=line.stdin), because, tools, cwd, ())
        return result

    def _line(self, call: Call, loaded: Loaded, because: Because, tools: Tools) -> Line | None:
        """The command for a call; `None` where there is nothing to call."""
        values, layout = loaded.values, tools.layout
        if call.language == "shell":
            line = fill(call.text, values)
            if call.source == "hook":
                return replace(line, stdin=call.stdin.encode())
            return self._asked_for_help(call, line, loaded, because, tools)
        if call.language == "module":
            made = module_argv(
                loaded.package, call.member, call.functions, layout, values.fixtures, values.index
            )
        else:
            made = code_argv(loaded.package, call.text, call.language, layout, values.fixtures, values.index)
        return Line(made, call.text) if made is not None and len(made[2]) < _ARGUMENT_LIMIT else None

    def _asked_for_help(self, call: Call, line: Line, loaded: Loaded, because: Because, tools: Tools) -> Line:
        """A script named without a command line, whose source does not say what it takes, is asked once."""
        source = loaded.package.source(call.member)
        if (
            call.source != "prose"
            or loaded.package.usage(call.member).source
            or not _TAKES_ARGUMENTS.search(source)
        ):
            return line
        if call.member not in self.helped:
            result = self._run(Step(argv=(*line.argv, "--help")), because, tools, tools.layout.workspace, ())
            text = (result.stdout + b"\n" + result.stderr)[:OUTPUT_LIMIT].decode("utf-8", "replace")
            self.helped[call.member] = usage_of_help(text)
        return fill_usage(call.text, self.helped[call.member], loaded.values)

    def carry_out(self, directive: Directive, loaded: Loaded, tools: Tools, guessed: bool) -> None:
        """Do what an instruction that is not a command says."""
        because = Because(loaded.skill.id, directive.file, directive.line, guessed)
        steps = self.steps_of(directive, loaded, tools)
        place = f"{directive.file}:{directive.line}"
        if not steps and directive.kind is DirectiveKind.ACT and place not in self.undone:
            self.undone.append(place)
        self.do(steps, because, loaded, tools)

    def do(self, steps: tuple[Step, ...], because: Because, loaded: Loaded, tools: Tools) -> None:
        for step in steps:
            if step.argv:
                result = self._run(step, because, tools, tools.layout.workspace, ())
                self.report.append(" ".join(step.argv[:1] + step.argv[-2:])[:120])
                own = step.argv[-1].startswith(installed_folder(loaded.skill, tools.layout))
                if step.follow and not own:
                    self._follow(result, because, loaded, tools)
            elif step.path:
                before = tools.read(step.path) or b""
                glue = b"" if not before or before.endswith(b"\n") else b"\n"
                tools.write(
                    step.path,
                    before + glue + step.text.encode(),
                    skill=because.skill,
                    file=because.file,
                    line=because.line,
                )
                self.report.append(f"wrote {step.path}")
            elif step.say:
                self.report.append(step.say)

    def _run(
        self, step: Step, because: Because, tools: Tools, cwd: str, environment: tuple[tuple[str, str], ...]
    ) -> CommandResult:
        command = Command(
            argv=step.argv,
            cwd=cwd,
            turn=0,
            step=0,
            skill=because.skill,
            file=because.file,
            line=because.line,
            stdin=step.stdin,
            environment=environment,
            derived=because.derived,
        )
        return tools.run(command)

    def _make_output_folder(self, tools: Tools) -> None:
        if not self.has_output_folder:
            self.has_output_folder = True
            folder = f"{tools.layout.workspace}/{OUTPUT_FOLDER}"
            tools.run(Command(("mkdir", "-p", folder), tools.layout.workspace, turn=0, step=0))

    def _surroundings(self, loaded: Loaded, tools: Tools) -> Surroundings:
        members = {
            path: installed_path(loaded.skill, tools.layout, path) for path in sorted(loaded.package.files)
        }
        inputs = loaded.values.fixtures.paths
        return Surroundings(tools.layout, inputs, tuple(self.outputs), members, loaded.last)

    def _follow(self, result: CommandResult, because: Because, loaded: Loaded, tools: Tools) -> None:
        """Instructions in what a command printed are followed once; what those print is not read again."""
        self.facts.update(facts_in(result.stdout))
        if because.derived:
            return
        derived = Because(because.skill, because.file, because.line, True)
        for directive in instructions_in(result.stdout, because.file):
            key = f"{directive.kind}:{directive.quote}"
            if key in self.followed or self.derived >= DERIVED_PER_TURN or directive.mention:
                continue
            if directive.confidence < LEAST_CONFIDENCE_DERIVED:
                continue
            self.followed.add(key)
            self.derived += 1
            self.do(self.steps_of(directive, loaded, tools), derived, loaded, tools)

    def steps_of(self, directive: Directive, loaded: Loaded, tools: Tools) -> tuple[Step, ...]:
        """What carries an instruction out."""
        near = loaded.last_place[0] == directive.file and 0 <= directive.line - loaded.last_place[1] <= _NEAR
        if not near:
            loaded.last = ()
        around = self._surroundings(loaded, tools)
        match directive.kind:
            case DirectiveKind.RUN:
                line = fill(directive.command, loaded.values)
                return (Step(argv=line.argv, stdin=line.stdin),) if line.text else ()
            case DirectiveKind.REMEMBER:
                return remember_steps(directive, around)
            case DirectiveKind.ACT:
                steps = steps_for(directive, around)
                loaded.last = subjects_of(directive, around) or loaded.last
                loaded.last_place = (directive.file, directive.line)
                return steps
            case _:
                return ()
