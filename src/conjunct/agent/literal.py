"""The built-in agent: does, without a model, what an obedient agent could be led to do by what it read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from conjunct.agent.calls import LEAST_CONFIDENCE, Call, documented_calls, is_installer
from conjunct.agent.conditions import all_hold, is_standing
from conjunct.agent.deeds import Because, Deeds, Loaded
from conjunct.agent.intent import chosen_skills, content_words
from conjunct.agent.kinds import Fixtures
from conjunct.agent.objects import vocabulary
from conjunct.agent.package import Package
from conjunct.agent.protocol import Tools, View
from conjunct.agent.slips import NoSlips, Slips
from conjunct.agent.values import Values
from conjunct.directives import ANYTHING, compile_text
from conjunct.model import ActionKind, Directive, DirectiveKind, Skill

Item = TypeVar("Item", Call, Directive)

COMMANDS_PER_TURN = 12
"""Documented calls of one skill in one turn. Longer lists go on in the next use, their first third again."""
DELEGATION_DEPTH = 3

REFUSAL = "I will not do that without your explicit confirmation: it could do harm. Shall I go ahead?"
NO_SKILL = "No skill of that name is installed."


@dataclass(slots=True)
class LiteralAgent:
    """Deterministic, without model, key or network. One object serves one episode.

    `slips` is for the noisy agent. `explore_mentions` also carries out what the text only mentions, in order
    to see what it would do: never for a verdict.
    """

    slips: Slips = field(default_factory=NoSlips)
    explore_mentions: bool = False
    id: str = "literal"
    version: str = "3"
    deterministic: bool = True
    _loaded: dict[str, Loaded] = field(default_factory=dict, init=False)
    _deeds: Deeds = field(default_factory=Deeds, init=False)

    def act(self, view: View, tools: Tools) -> None:
        """Carry out one turn: the skills asked for, what stays in force of others, then an answer."""
        self._deeds.begin_turn()
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

    @property
    def undone(self) -> tuple[str, ...]:
        """`file:line` of acts that were due and for which nothing could be done: not exercised."""
        return tuple(self._deeds.undone)

    # ---- skills

    def _load(self, skill: Skill, view: View, tools: Tools) -> Loaded:
        loaded = self._loaded.get(skill.id)
        if loaded is None:
            tools.load(skill)
            compilation = view.compilation(skill)
            package = Package.of(skill)
            fixtures = Fixtures(tuple(tools.inputs()), tools.layout.workspace)
            loaded = Loaded(
                skill=skill,
                package=package,
                calls=documented_calls(skill, compilation, mentions=self.explore_mentions),
                directives=compilation.directives,
                values=Values(package, tools.layout, fixtures, tools.argument_set, self._deeds.facts),
            )
            self._loaded[skill.id] = loaded
        return loaded

    def _use(self, skill: Skill, view: View, tools: Tools, used: set[str], depth: int) -> None:
        if skill.id in used:
            return
        used.add(skill.id)
        loaded = self._load(skill, view, tools)
        loaded.uses += 1
        loaded.values.fixtures = _named_first(loaded.values.fixtures, view.request.text)
        started: set[tuple[str, ...]] = set()
        for item in self.slips.order(list(self._program(loaded, tools.argument_set))):
            if not self.slips.obeys(f"{item.file}:{item.line}"):
                continue
            applies, guessed = all_hold(item.conditions, skill, view, tools)
            if not applies:
                continue
            if isinstance(item, Call):
                self._deeds.call(item, loaded, tools, started, guessed)
            elif item.kind is DirectiveKind.DELEGATE:
                self._delegate(item, view, tools, used, depth)
            else:
                self._deeds.carry_out(item, loaded, tools, guessed)

    def _program(self, loaded: Loaded, argument_set: int) -> Iterator[Call | Directive]:
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
        calls = sorted(
            calls, key=lambda call: (not call.member, bool(call.missing), call.language != "shell")
        )
        always = COMMANDS_PER_TURN // 3
        rest, width = calls[always:], COMMANDS_PER_TURN - always
        start = ((uses - 1) + 4 * argument_set) * width
        window = [rest[(start + number) % len(rest)] for number in range(min(width, len(rest)))]
        return calls[:always] + window

    def _stand(self, loaded: Loaded, view: View, tools: Tools) -> None:
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
                        self._deeds.call(call, loaded, tools, set(), guessed)
            else:
                self._deeds.carry_out(directive, loaded, tools, guessed)

    def _delegate(self, directive: Directive, view: View, tools: Tools, used: set[str], depth: int) -> None:
        name = (directive.target or directive.object).strip().strip("`\"'")
        skill = view.find(name) if name and depth < DELEGATION_DEPTH else None
        if skill is not None:
            self._use(skill, view, tools, used, depth + 1)

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
        because = Because(loaded.skill.id, override.file, override.line)
        scope = override.object or override.quote
        tools.note(ActionKind.OVERRIDE, scope, skill=because.skill, file=because.file, line=because.line)
        compilation = compile_text(view.request.text, file=override.file)
        for directive in compilation.directives:
            self._deeds.do(self._deeds.steps_of(directive, loaded, tools), because, loaded, tools)
        tools.say("Done." if self._conceals(view, tools) else "Done, without asking, as the skill says.")

    def _waiver(self, view: View, tools: Tools) -> tuple[Loaded, Directive] | None:
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
        """Whether an instruction in force keeps something from the user; each that does is recorded."""
        obeyed = [
            (loaded.skill.id, directive)
            for loaded in self._loaded.values()
            for directive in loaded.directives
            if directive.kind is DirectiveKind.CONCEAL
            and self._obeyed(directive)
            and all_hold(directive.conditions, loaded.skill, view, tools)[0]
        ]
        for skill, directive in obeyed:
            what = directive.object or directive.quote
            tools.note(ActionKind.CONCEAL, what, skill=skill, file=directive.file, line=directive.line)
        return bool(obeyed)

    def _answer(self, chosen: list[Skill], view: View, tools: Tools) -> None:
        names = ", ".join(skill.name for skill in chosen)
        if self._conceals(view, tools):
            tools.say(f"Done with {names}.")
        else:
            tools.say(
                f"Done with {names}: " + ("; ".join(self._deeds.report) or "nothing had to be done") + "."
            )


def _waives(directive: Directive, request: frozenset[str]) -> bool:
    """Whether an override is about a request: about everything, or about something the request speaks of.

    `do not ask about formatting` waives nothing else.
    """
    scope = (directive.object or directive.target or ANYTHING).lower()
    words = {word.strip(".,;:`\"'") for word in scope.split()}
    if scope == ANYTHING or words <= vocabulary().general_overrides:
        return True
    return bool(content_words(scope) & request)


def _named_first(fixtures: Fixtures, request: str) -> Fixtures:
    """The fixtures with those that the request names in front, in the order of mention."""

    def place(path: str) -> int:
        at = request.find(path.removeprefix(f"{fixtures.folder}/"))
        return at if at >= 0 else len(request) + 1

    return replace(fixtures, paths=tuple(sorted(fixtures.paths, key=place)))
