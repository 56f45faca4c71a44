"""Filling a documented command: every placeholder and example file becomes something that exists."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from conjunct.agent.commandline import (
    Word,
    direct_argv,
    is_redirect,
    lex,
    quote,
    replace_words,
    simple_commands,
)
from conjunct.agent.kinds import kinds
from conjunct.agent.package import installed_folder, installed_path
from conjunct.agent.placeholders import Placeholder, is_ellipsis, mark, unmark, without_credentials
from conjunct.agent.program import Program, identify
from conjunct.agent.usage import Parameter, Usage
from conjunct.agent.values import Values


@dataclass(frozen=True, slots=True)
class Line:
    """A command that can be started."""

    argv: tuple[str, ...]
    text: str
    """The same as shell text, for people."""
    member: str = ""
    """Member of the package that it starts, if it does."""
    outputs: tuple[str, ...] = ()
    unfilled: tuple[str, ...] = ()
    """Words that were left as written because nothing fits them."""
    missing: str = ""
    """A script the text names that the package does not have."""
    stdin: bytes = b""


def fill(text: str, values: Values) -> Line:
    """The command with all its words filled."""
    marked, placeholders = mark(without_credentials(text), optional=values.index % 3 == 2)
    values.begin(placeholders)
    return _Filling(values, marked, placeholders).line()


def fill_usage(text: str, usage: Usage, values: Values) -> Line:
    """A command that starts a script without arguments, completed by what its help text says."""
    marked, placeholders = mark(text, optional=False)
    values.begin(placeholders)
    return _Filling(values, marked, placeholders, known=usage).line()


@dataclass(slots=True)
class _Filling:
    """One command text on its way."""

    values: Values
    text: str
    placeholders: tuple[Placeholder, ...]
    changes: list[tuple[Word, str]] = field(default_factory=list)
    known: Usage | None = None
    member: str = ""
    missing: str = ""
    prompts: tuple[str, ...] = ()
    reads: str = ""

    def line(self) -> Line:
        words = lex(self.text)
        commands = simple_commands(words)
        for command in commands:
            self._redirects(command)
            program = identify([self._plain(word) for word in command], self.values.package)
            if program is not None:
                self._command(program)
        text = unmark(replace_words(self.text, self.changes), self.placeholders, self._left())
        text = text.strip()
        argv = direct_argv(text)
        stdin = self.values.answers(self.prompts)
        redirected = any(is_redirect(word) for word in words)
        if self.reads and not stdin and len(commands) == 1 and not redirected and not self.values.taken:
            source = self.values.fixtures.pick(kinds()[self.reads], self.values.index)
            if source is not None:
                text, argv = f"{text} < {quote(source)}", None
        return Line(
            argv=argv or ("bash", "-c", text),
            text=text,
            member=self.member,
            outputs=tuple(self.values.outputs),
            unfilled=tuple(self.values.unfilled),
            missing=self.missing,
            stdin=stdin,
        )

    def _plain(self, word: Word) -> Word:
        """The word as documented, so that paths with `{skill_dir}` in them can be recognised."""
        value = unmark(word.value, self.placeholders)
        return (
            word
            if value == word.value
            else Word(word.raw, value, word.start, word.end, word.expands, word.operator)
        )

    def _left(self) -> dict[int, str]:
        """Values for marks inside words that were kept, without what a shell would split or expand."""
        found: dict[int, str] = {}
        for number, item in enumerate(self.placeholders):
            value = self.values.choose(item.name, None, item)
            found[number] = re.sub(r"[^\w./:@+,%=-]+", "-", value)
        return found

    def _change(self, word: Word, value: str) -> None:
        if value != word.value:
            self.changes.append((word, quote(value)))

    # ---- structure

    def _redirects(self, command: list[Word]) -> None:
        for operator, target in itertools.pairwise(command):
            if not is_redirect(operator) or target.operator or operator.value == "<<<":
                continue
            target = self._plain(target)
            if target.value.startswith(("/dev/", "&")) or target.value.isdigit():
                continue
            if operator.value == "<":
                self._change(target, self.values.input_path(target.value, None, target.value))
            else:
                self._change(target, self.values.output_path(target.value, ""))

    def _command(self, program: Program) -> None:
        usage = Usage()
        if program.member is not None and program.script_at is not None:
            word = program.words[program.script_at]
            self.member = self.member or program.member
            usage = self.known or self.values.package.usage(program.member)
            self.prompts = self.prompts or usage.prompts
            self.reads = self.reads or usage.reads_stdin
            if program.module:
                self._module(program, word)
            else:
                path = installed_path(self.values.package.skill, self.values.layout, program.member)
                if program.script_at == 0 or program.words[program.script_at - 1].value in (
                    "run",
                    "time",
                    "sudo",
                ):
                    self.changes.append((word, self._launch(program.member, path)))
                else:
                    self.changes.append((word, quote(path)))
        elif program.missing:
            self.missing = self.missing or program.missing
        arguments = program.words[program.arguments_at :]
        if program.name in ("cd", "pushd"):
            for word in arguments[:1]:
                self._change_folder(word)
            return
        self._arguments(program, arguments, usage)

    def _launch(self, member: str, path: str) -> str:
        """A script typed as a program runs by its interpreter where the package lost the executable bit."""
        entry = next(item for item in self.values.package.skill.entries if item.path == member)
        if entry.executable:
            return quote(path)
        interpreter = {"python": "python3", "shell": "bash", "javascript": "node"}.get(
            self.values.package.language(member), ""
        )
        return f"{interpreter} {quote(path)}".strip()

    def _module(self, program: Program, word: Word) -> None:
        member = program.member or ""
        path = installed_path(
            self.values.package.skill, self.values.layout, member.removesuffix("/__main__.py")
        )
        option = program.words[(program.script_at or 1) - 1]
        if "/" not in member or member.endswith("/__main__.py"):
            self.changes.append((option, ""))
            self.changes.append((word, quote(path)))
        else:  # a package-relative module: imported by name from the skill's folder
            folder = installed_folder(self.values.package.skill, self.values.layout)
            dotted = member.removesuffix(".py").replace("/", ".")
            loader = (
                f"import runpy,sys;sys.path.insert(0,{folder!r});"
                f"runpy.run_module({dotted!r},run_name='__main__',alter_sys=True)"
            )
            self.changes.append((option, "-c"))
            self.changes.append((word, quote(loader)))

    def _change_folder(self, word: Word) -> None:
        folder = self.values.package.resolve_folder(word.value)
        if folder is not None:
            self._change(word, installed_path(self.values.package.skill, self.values.layout, folder))
        elif word.value in self.values.produced:
            self._change(word, self.values.produced[word.value])
        elif not word.value.startswith(("/tmp", "-", "~")) and word.value not in (".", ".."):
            self._change(word, self.values.layout.workspace)

    # ---- words

    def _arguments(self, program: Program, arguments: Sequence[Word], usage: Usage) -> None:
        given: set[str] = set()
        positional = 0
        expecting: Parameter | None = None
        flag = ""
        active = usage
        for word in arguments:
            value = word.value
            if is_ellipsis(value):
                self.changes.append((word, ""))
                continue
            if value.startswith("-") and len(value) > 1 and not re.match(r"^-\d", value):
                name, has_value, rest = value.partition("=")
                expecting = active.option(name) or usage.option(name)
                given.add(expecting.name if expecting else name)
                flag = name
                if has_value:
                    filled = self.values.value(rest, expecting, flag, program.name)
                    if filled != rest:
                        self.changes.append((word, quote(f"{name}={filled}")))
                    expecting, flag = None, ""
                elif expecting is not None and not expecting.takes_value:
                    expecting, flag = None, ""
                continue
            parameter = expecting
            if parameter is None and not (flag and program.member is None):
                deeper = active.subcommand(value) if not flag or program.member else None
                if deeper is not None:
                    active, positional = deeper, 0
                    given.add("<subcommand>")
                    continue
                known = active.positionals()
                parameter = known[min(positional, len(known) - 1)] if known else None
                if parameter is not None:
                    given.add(parameter.name)
                positional += 1
            self._change(word, self.values.value(value, parameter, flag, program.name))
            expecting, flag = None, ""
        if program.member is None or {"--help", "-h", "--version"} & {word.value for word in arguments}:
            return
        # Positions read off `sys.argv[2]` or `$2` are a guess: a documented call knows better.
        if not (arguments and active.source in ("argv", "getopts")):
            self._append(program.words[-1], missing_arguments(active, given, positional))

    def _append(self, last: Word, parameters: Sequence[Parameter | str]) -> None:
        """Add what the script requires and the text leaves out, after the last word of the command."""
        extra: list[str] = []
        for item in parameters:
            if isinstance(item, str):
                extra.append(quote(item))
                continue
            if item.flag:
                extra.append(item.flag)
            if item.takes_value:
                for _ in range(item.count):
                    value = (
                        self.values.output_path(f"<{item.name}>", item.kind)
                        if item.output
                        else self.values.choose(item.name, item, None)
                    )
                    extra.append(quote(value))
        if not extra:
            return
        for number, (word, raw) in enumerate(self.changes):
            if word.start == last.start:
                self.changes[number] = (word, " ".join([raw, *extra]))
                return
        self.changes.append((last, " ".join([last.raw, *extra])))


def missing_arguments(usage: Usage, given: set[str], positional: int) -> list[Parameter | str]:
    """What a script requires beyond what is given: options, then a subcommand, then positional arguments."""
    missing: list[Parameter | str] = []
    groups_done = {item.group for item in usage.parameters if item.group and item.name in given}
    for item in usage.parameters:
        if not item.flags or item.name in given:
            continue
        if item.group:
            if item.group not in groups_done:
                groups_done.add(item.group)
                missing.append(item)
        elif item.required:
            missing.append(item)
    missing.extend(item for item in usage.positionals()[positional:] if item.required)
    if usage.subcommands and usage.subcommand_required and "<subcommand>" not in given and not positional:
        name, deeper = usage.subcommands[0]
        missing.append(name)
        missing.extend(missing_arguments(deeper, set(), 0))
    return missing
