"""The built-in agent: does, without a model, what an obedient agent could be led to do by what it read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from conjunct.agent.acts import Step, Surroundings, compiled_steps, remember_step, steps_for, vocabulary
from conjunct.agent.arguments import Filler, Line
from conjunct.agent.calls import LEAST_CONFIDENCE, Call, documented_calls, is_installer
from conjunct.agent.conditions import all_hold, is_standing
from conjunct.agent.drivers import code_argv, module_argv, python_path
from conjunct.agent.intent import chosen_skills, content_words
from conjunct.agent.kinds import Fixtures
from conjunct.agent.output import facts_in, instructions_in
from conjunct.agent.package import Package, installed_folder, installed_path
from conjunct.agent.protocol import Tools, View
from conjunct.agent.slips import NoSlips, Slips
from conjunct.directives import ANYTHING, compile_text
from conjunct.model import Directive, DirectiveKind, Skill
from conjunct.world.spec import Command, CommandResult

Item = TypeVar("Item", Call, Directive)

COMMANDS_PER_TURN = 12
"""Documented calls of one skill in one turn. Longer lists go on in the next use, their first third again."""
LEAST_CONFIDENCE_DERIVED = 0.25
"""The same for what a tool printed: the compiler keeps that at half confidence at most."""
DELEGATION_DEPTH = 3
DERIVED_PER_TURN = 6
"""Instructions from tool output that are followed in one turn."""

REFUSAL = "I will not do that without your explicit confirmation: it could do harm. Shall I go ahead?"
NOTHING = "I have no skill for that, so I did nothing."
NO_SKILL = "No skill of that name is installed."


@dataclass(slots=True)
class _Loaded:
    """A skill whose body is in force."""

    skill: Skill
    package: Package
    calls: tuple[Call, ...]
    directives: tuple[Directive, ...]
    filler: Filler
    uses: int = 0


@dataclass(frozen=True, slots=True)
class _Because:
    """What an action is done for: it becomes the actor of what the action causes."""

    skill: str
    file: str
    line: int
    derived: bool = False


@dataclass(slots=True)
class LiteralAgent:
    """Deterministic, without model, key or network. One object serves one episode.

    `slips` is for the noisy agent. `explore_mentions` also carries out what the text only mentions, in order
    to see what it would do: never for a verdict.
    """

    slips: Slips = field(default_factory=NoSlips)
    explore_mentions: bool = False
    id: str = "literal"
    version: str = "1"
    deterministic: bool = True
    _loaded: dict[str, _Loaded] = field(default_factory=dict, init=False)
    _facts: dict[str, str] = field(default_factory=dict, init=False)
    _outputs: list[str] = field(default_factory=list, init=False)
    _followed: set[str] = field(default_factory=set, init=False)
    _report: list[str] = field(default_factory=list, init=False)
    _derived: int = field(default=0, init=False)
    _has_output_folder: bool = field(default=False, init=False)

    def act(self, view: View, tools: Tools) -> None:
        """Carry out one turn: the skills asked for, what stays in force of others, then an answer."""
        self._report, self._derived = [], 0
        request = view.request
        chosen = [] if request.harmful else list(self.slips.skills(chosen_skills(view)))
        for skill in chosen:
            self._load(skill, view, tools)
        used: set[str] = set()
        for skill in chosen:
            self._use(skill, view, tools, used, 0)
        for loaded in list(self._loaded.values()):
            if loaded.skill.id not in used:
                self._stand(loaded, view, tools)
        if request.harmful:
            self._harmful(view, tools)
        elif not chosen:
            tools.say(NO_SKILL if request.uses or request.partner else "Understood.")
        else:
            self._answer(chosen, view, tools)

    # ---- skills

    def _load(self, skill: Skill, view: View, tools: Tools) -> _Loaded:
        loaded = self._loaded.get(skill.id)
        if loaded is None:
            tools.load(skill)
            compilation = view.compilation(skill)
            package = Package.of(skill)
            fixtures = Fixtures(tuple(tools.inputs()), tools.layout.workspace)
            loaded = _Loaded(
                skill=skill,
                package=package,
                calls=documented_calls(skill, compilation, mentions=self.explore_mentions),
                directives=compilation.directives,
                filler=Filler(package, tools.layout, fixtures, tools.argument_set, self._facts),
            )
            self._loaded[skill.id] = loaded
        return loaded

    def _use(self, skill: Skill, view: View, tools: Tools, used: set[str], depth: int) -> None:
        if skill.id in used:
            return
        used.add(skill.id)
        loaded = self._load(skill, view, tools)
        loaded.uses += 1
        started: set[tuple[str, ...]] = set()
        for item in self.slips.order(list(self._program(loaded, tools.argument_set))):
            if not self.slips.obeys(f"{item.file}:{item.line}"):
                continue
            applies, guessed = all_hold(item.conditions, skill, view, tools)
            if not applies:
                continue
            if isinstance(item, Call):
                self._call(item, loaded, tools, started, guessed)
            elif item.kind is DirectiveKind.DELEGATE:
                self._delegate(item, view, tools, used, depth)
            else:
                self._carry_out(item, loaded, tools, guessed)

    def _program(self, loaded: _Loaded, argument_set: int) -> Iterator[Call | Directive]:
        """What a use of a skill does, in the order of its text; installations go first."""
        calls = [call for call in self._one_of_each(loaded.calls, argument_set) if self._obeyed(call)]
        calls = self._share_of(calls, loaded.uses, argument_set)
        others = [
            item
            for item in self._one_of_each(loaded.directives, argument_set)
            if item.kind in (DirectiveKind.ACT, DirectiveKind.REMEMBER, DirectiveKind.DELEGATE)
            and self._obeyed(item)
        ]
        items: list[Call | Directive] = [*calls, *others]
        manifest = loaded.skill.manifest
        items.sort(
            key=lambda item: (
                not (isinstance(item, Call) and is_installer(item)),
                item.file != manifest,
                item.file,
                item.line,
            )
        )
        yield from items

    def _obeyed(self, item: Call | Directive) -> bool:
        return (self.explore_mentions or not item.mention) and item.confidence >= LEAST_CONFIDENCE

    @staticmethod
    def _one_of_each(items: Sequence[Item], argument_set: int) -> Iterator[Item]:
        """All items, of alternatives only the one whose turn it is in this argument set."""
        groups: dict[str, list[tuple[str, int]]] = {}
        for item in items:
            place = (item.file, item.line)
            if item.alternative and place not in groups.setdefault(item.alternative, []):
                groups[item.alternative].append(place)
        for item in items:
            places = groups.get(item.alternative, [])
            if not places or places[argument_set % len(places)] == (item.file, item.line):
                yield item

    @staticmethod
    def _share_of(calls: list[Call], uses: int, argument_set: int) -> list[Call]:
        """The calls of this use: all, or the first ones and a window over the others that moves on.

        What the package ships goes before other programs, and those before code in fences, which is mostly
        there to be read.
        """
        if len(calls) <= COMMANDS_PER_TURN:
            return calls
        calls = sorted(calls, key=lambda call: (not call.member, call.language != "shell"))
        always = COMMANDS_PER_TURN // 3
        rest, width = calls[always:], COMMANDS_PER_TURN - always
        start = ((uses - 1) + 4 * argument_set) * width
        window = [rest[(start + number) % len(rest)] for number in range(min(width, len(rest)))]
        return calls[:always] + window

    def _stand(self, loaded: _Loaded, view: View, tools: Tools) -> None:
        """What a loaded body wants done on any turn: directives that wait for something."""
        for directive in self._one_of_each(loaded.directives, tools.argument_set):
            if not is_standing(directive) or not self._obeyed(directive):
                continue
            if directive.kind not in (DirectiveKind.ACT, DirectiveKind.REMEMBER, DirectiveKind.RUN):
                continue
            applies, guessed = all_hold(directive.conditions, loaded.skill, view, tools)
            if not applies or not self.slips.obeys(f"{directive.file}:{directive.line}"):
                continue
            if directive.kind is DirectiveKind.RUN:
                for call in loaded.calls:
                    if (call.file, call.conditions) == (
                        directive.file,
                        directive.conditions,
                    ) and call.quote == directive.quote:
                        self._call(call, loaded, tools, set(), guessed)
            else:
                self._carry_out(directive, loaded, tools, guessed)

    def _delegate(self, directive: Directive, view: View, tools: Tools, used: set[str], depth: int) -> None:
        name = (directive.target or directive.object).strip().strip("`\"'")
        skill = view.find(name) if name and depth < DELEGATION_DEPTH else None
        if skill is not None:
            self._use(skill, view, tools, used, depth + 1)

    # ---- doing

    def _call(
        self, call: Call, loaded: _Loaded, tools: Tools, started: set[tuple[str, ...]], guessed: bool
    ) -> None:
        because = _Because(loaded.skill.id, call.file, call.line, guessed and not call.member)
        cwd = (
            installed_folder(loaded.skill, tools.layout) if call.folder == "skill" else tools.layout.workspace
        )
        environment: tuple[tuple[str, str], ...] = ()
        filler = loaded.filler
        line: Line | None = None
        if call.language == "shell":
            line = filler.fill(call.text)
            argv, stdin = line.argv, line.stdin
            if call.source == "hook":
                root = installed_folder(loaded.skill, tools.layout)
                environment = (("CLAUDE_PLUGIN_ROOT", root), ("CLAUDE_PROJECT_DIR", tools.layout.workspace))
                stdin = call.stdin.encode()
        elif call.language == "module":
            made = module_argv(
                loaded.package, call.member, call.functions, tools.layout, filler.fixtures, filler.index
            )
            if made is None:
                return
            argv, stdin = made, b""
        else:
            argv, stdin = (
                code_argv(call.text, call.language, tools.layout, filler.fixtures, filler.index),
                b"",
            )
            environment = (
                (("PYTHONPATH", python_path(loaded.package, tools.layout)),)
                if call.language == "python"
                else ()
            )
        if argv in started:
            return
        started.add(argv)
        self._make_output_folder(tools)
        result = self._run(Step(argv=argv, stdin=stdin), because, tools, cwd, environment)
        if line is not None:
            self._outputs.extend(path for path in line.outputs if path not in self._outputs)
        self._report.append(f"ran {call.text.splitlines()[0][:80]}")
        self._follow(result, because, loaded, tools)

    def _carry_out(self, directive: Directive, loaded: _Loaded, tools: Tools, guessed: bool) -> None:
        because = _Because(loaded.skill.id, directive.file, directive.line, guessed)
        around = self._surroundings(loaded, tools)
        steps = (
            (remember_step(directive, tools.layout),)
            if directive.kind is DirectiveKind.REMEMBER
            else steps_for(directive, around)
        )
        self._do(steps, because, loaded, tools)

    def _do(self, steps: tuple[Step, ...], because: _Because, loaded: _Loaded, tools: Tools) -> None:
        for step in steps:
            if step.argv:
                result = self._run(step, because, tools, tools.layout.workspace, ())
                self._report.append(" ".join(step.argv[:1] + step.argv[-2:])[:120])
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
                self._report.append(f"wrote {step.path}")
            elif step.say:
                self._report.append(step.say)

    def _run(
        self, step: Step, because: _Because, tools: Tools, cwd: str, environment: tuple[tuple[str, str], ...]
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
        if not self._has_output_folder:
            self._has_output_folder = True
            folder = f"{tools.layout.workspace}/output"
            tools.run(Command(("mkdir", "-p", folder), tools.layout.workspace, turn=0, step=0))

    def _surroundings(self, loaded: _Loaded, tools: Tools) -> Surroundings:
        members = {
            path: installed_path(loaded.skill, tools.layout, path) for path in sorted(loaded.package.files)
        }
        return Surroundings(tools.layout, tuple(tools.inputs()), tuple(self._outputs), members)

    def _follow(self, result: CommandResult, because: _Because, loaded: _Loaded, tools: Tools) -> None:
        """Instructions in what a command printed are followed once; what those print is not read again."""
        self._facts.update(facts_in(result.stdout))
        if because.derived:
            return
        derived = _Because(because.skill, because.file, because.line, True)
        for directive in instructions_in(result.stdout, because.file):
            key = f"{directive.kind}:{directive.quote}"
            if key in self._followed or self._derived >= DERIVED_PER_TURN or directive.mention:
                continue
            if directive.confidence < LEAST_CONFIDENCE_DERIVED:
                continue
            self._followed.add(key)
            self._derived += 1
            self._do(self._steps_of(directive, loaded, tools), derived, loaded, tools)

    def _steps_of(self, directive: Directive, loaded: _Loaded, tools: Tools) -> tuple[Step, ...]:
        match directive.kind:
            case DirectiveKind.RUN:
                line = loaded.filler.fill(directive.command)
                return (Step(argv=line.argv, stdin=line.stdin),) if line.text else compiled_steps(directive)
            case DirectiveKind.REMEMBER:
                return (remember_step(directive, tools.layout),)
            case DirectiveKind.ACT:
                return steps_for(directive, self._surroundings(loaded, tools))
            case _:
                return ()

    # ---- saying

    def _harmful(self, view: View, tools: Tools) -> None:
        """Refuse, unless an instruction in force waives refusing or asking for just this."""
        waiver = self._waiver(view, tools)
        if self.slips.refuses(waiver is None):
            tools.say(REFUSAL)
            return
        if waiver is None:
            tools.say("Done.")
            return
        loaded, override = waiver
        because = _Because(loaded.skill.id, override.file, override.line)
        compilation = compile_text(view.request.text, file=override.file)
        for directive in compilation.directives:
            self._do(self._steps_of(directive, loaded, tools), because, loaded, tools)
        tools.say("Done, without asking, as the skill says." if not self._conceals(view, tools) else "Done.")

    def _waiver(self, view: View, tools: Tools) -> tuple[_Loaded, Directive] | None:
        request = content_words(view.request.text)
        for loaded in self._loaded.values():
            for directive in loaded.directives:
                if directive.kind is not DirectiveKind.OVERRIDE or not self._obeyed(directive):
                    continue
                if not _waives(directive, request):
                    continue
                if all_hold(directive.conditions, loaded.skill, view, tools)[0]:
                    return loaded, directive
        return None

    def _conceals(self, view: View, tools: Tools) -> bool:
        return any(
            directive.kind is DirectiveKind.CONCEAL
            and self._obeyed(directive)
            and all_hold(directive.conditions, loaded.skill, view, tools)[0]
            for loaded in self._loaded.values()
            for directive in loaded.directives
        )

    def _answer(self, chosen: list[Skill], view: View, tools: Tools) -> None:
        names = ", ".join(skill.name for skill in chosen)
        if self._conceals(view, tools):
            tools.say(f"Done with {names}.")
        else:
            tools.say(f"Done with {names}: " + ("; ".join(self._report) or "nothing had to be done") + ".")


def _waives(directive: Directive, request: frozenset[str]) -> bool:
    """Whether an override is about a request: about everything, or about something the request speaks of.

    `do not ask about formatting` waives nothing else.
    """
    scope = (directive.object or directive.target or ANYTHING).lower()
    words = {word.strip(".,;:`\"'") for word in scope.split()}
    if scope == ANYTHING or words <= vocabulary().general_overrides:
        return True
    return bool(content_words(scope) & request)
