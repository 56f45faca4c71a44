"""Filling a documented command: every placeholder and example file becomes something that exists.

Arguments come from the fixtures of the episode's argument set, from samples that the package ships, from
what earlier commands produced, and from the example values in `data/kinds.yaml`. A path is taken from
anywhere else only if the text names it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
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
from conjunct.agent.kinds import Fixtures, Kind, kinds, words_of
from conjunct.agent.package import Package, installed_folder, installed_path
from conjunct.agent.placeholders import Placeholder, example_name, is_ellipsis, mark, unmark
from conjunct.agent.program import Program, identify
from conjunct.agent.usage import Parameter, Usage
from conjunct.world.spec import Layout

_SYSTEM = ("etc", "usr", "bin", "sbin", "dev", "proc", "sys", "var", "lib", "root", "run", "opt", "boot")
_FORMATS = frozenset(
    {
        "json",
        "csv",
        "tsv",
        "text",
        "txt",
        "md",
        "markdown",
        "html",
        "xml",
        "yaml",
        "table",
        "summary",
        "plain",
    }
    | {"pdf", "png", "svg", "console", "both", "all"}
)
_SAMPLE_FOLDERS = frozenset(
    {
        "examples",
        "example",
        "demo",
        "demos",
        "data",
        "sample",
        "samples",
        "assets",
        "fixtures",
        "test_data",
        "testdata",
        "test-data",
    }
)
_BARE_FILES = frozenset(
    {"input", "file", "infile", "data", "document", "dir", "directory", "folder", "project"}
)
_FOLDER_PROGRAMS = frozenset({"cd", "ls", "find", "tree", "du", "pushd"})


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


@dataclass(slots=True)
class Filler:
    """Fills the commands of one skill in one episode; remembers what earlier commands were told to write."""

    package: Package
    layout: Layout
    fixtures: Fixtures
    index: int = 0
    """Argument set: rotates fixtures, choices and example values. Odd sets prefer the package's samples."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Names and values found in the output of earlier commands."""
    produced: dict[str, str] = field(default_factory=dict)
    """Output paths as documented, and where they are."""

    def fill(self, text: str) -> Line:
        """The command with all its words filled."""
        marked, placeholders = mark(text, optional=self.index % 3 == 2)
        return _Filling(self, marked, placeholders).line()

    def output_folder(self) -> str:
        """Where output paths are put."""
        return f"{self.layout.workspace}/output"


@dataclass(slots=True)
class _Filling:
    """One command text on its way."""

    filler: Filler
    text: str
    placeholders: tuple[Placeholder, ...]
    changes: list[tuple[Word, str]] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    unfilled: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    member: str = ""
    missing: str = ""
    prompts: tuple[str, ...] = ()
    reads: str = ""

    def line(self) -> Line:
        words = lex(self.text)
        commands = simple_commands(words)
        for command in commands:
            self._redirects(command)
            program = identify([self._plain(word) for word in command], self.filler.package)
            if program is not None:
                self._command(program)
        text = unmark(replace_words(self.text, self.changes), self.placeholders, self._left())
        text = text.strip()
        argv = direct_argv(text)
        stdin = answers(self.prompts, self.filler)
        if self.reads and not stdin and len(commands) == 1 and not any(is_redirect(word) for word in words):
            source = self.filler.fixtures.pick(kinds()[self.reads], self.filler.index)
            if source is not None:
                text, argv = f"{text} < {quote(source)}", None
        return Line(
            argv=argv or ("bash", "-c", text),
            text=text,
            member=self.member,
            outputs=tuple(self.outputs),
            unfilled=tuple(self.unfilled),
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
        """Values for marks inside words that were kept, such as quoted text."""
        return {number: self._choose(item.name, None, item) for number, item in enumerate(self.placeholders)}

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
                self._change(target, self._input(target.value, None, target.value))
            else:
                self._change(target, self._output(target.value, ""))

    def _command(self, program: Program) -> None:
        usage = Usage()
        if program.member is not None and program.script_at is not None:
            word = program.words[program.script_at]
            self.member = self.member or program.member
            usage = self.filler.package.usage(program.member)
            self.prompts = self.prompts or usage.prompts
            self.reads = self.reads or usage.reads_stdin
            if program.module:
                self._module(program, word)
            else:
                path = installed_path(self.filler.package.skill, self.filler.layout, program.member)
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
        entry = next(item for item in self.filler.package.skill.entries if item.path == member)
        if entry.executable:
            return quote(path)
        interpreter = {"python": "python3", "shell": "bash", "javascript": "node"}.get(
            self.filler.package.language(member), ""
        )
        return f"{interpreter} {quote(path)}".strip()

    def _module(self, program: Program, word: Word) -> None:
        member = program.member or ""
        path = installed_path(
            self.filler.package.skill, self.filler.layout, member.removesuffix("/__main__.py")
        )
        option = program.words[(program.script_at or 1) - 1]
        if "/" not in member or member.endswith("/__main__.py"):
            self.changes.append((option, ""))
            self.changes.append((word, quote(path)))
        else:  # a package-relative module: imported by name from the skill's folder
            folder = installed_folder(self.filler.package.skill, self.filler.layout)
            dotted = member.removesuffix(".py").replace("/", ".")
            loader = (
                f"import runpy,sys;sys.path.insert(0,{folder!r});"
                f"runpy.run_module({dotted!r},run_name='__main__',alter_sys=True)"
            )
            self.changes.append((option, "-c"))
            self.changes.append((word, quote(loader)))

    def _change_folder(self, word: Word) -> None:
        folder = self.filler.package.resolve_folder(word.value)
        if folder is not None:
            self._change(word, installed_path(self.filler.package.skill, self.filler.layout, folder))
        elif word.value in self.filler.produced:
            self._change(word, self.filler.produced[word.value])
        elif not word.value.startswith(("/tmp", "-", "~")) and word.value not in (".", ".."):
            self._change(word, self.filler.layout.workspace)

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
                    filled = self._value(rest, expecting, flag, program.name)
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
            self._change(word, self._value(value, parameter, flag, program.name))
            expecting, flag = None, ""
        if program.member is not None and not {"--help", "-h", "--version"} & {
            word.value for word in arguments
        }:
            last = program.words[-1]
            self._append(last, missing_arguments(active, given, positional))

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
                        self._output(f"<{item.name}>", item.kind)
                        if item.output
                        else self._choose(item.name, item, None)
                    )
                    extra.append(quote(value))
        if not extra:
            return
        for number, (word, raw) in enumerate(self.changes):
            if word.start == last.start:
                self.changes[number] = (word, " ".join([raw, *extra]))
                return
        self.changes.append((last, " ".join([last.raw, *extra])))

    def _value(self, value: str, parameter: Parameter | None, flag: str, program: str) -> str:
        """What stands for one word of the text."""
        name = flag.lstrip("-") or (parameter.name if parameter else "")
        if (
            value.startswith(("http://", "https://", "ftp://", "git@"))
            and "<" not in value
            and "{" not in value
        ):
            return value
        marked = bool(re.search(r"<[^<>]+>|\{[^{}]+\}|\$\w+|\$\{", value)) and bool(self.placeholders)
        if value in self.filler.produced and not (parameter and parameter.output):
            return self.filler.produced[value]
        member = self.filler.package.resolve(value) if _names_member(value, self.filler.package) else None
        if member is not None:
            return installed_path(self.filler.package.skill, self.filler.layout, member)
        if parameter is not None and parameter.choices and not marked:
            return (
                value
                if value in parameter.choices or not example_name(value)
                else self._pick(parameter.choices)
            )
        is_output = parameter.output if parameter is not None else kinds().names_output(name)
        if is_output and value.lower() not in _FORMATS and not (parameter and parameter.choices):
            return self._output(value, parameter.kind if parameter else "")
        if marked:
            return self._marked(value, name, parameter)
        if example := example_name(value):
            return self._choose(f"{example}", parameter, None, near=name, example=value)
        if self._is_path(value, parameter, program):
            if not flag and parameter is None and kinds().names_output(value) and self.taken:
                return self._output(value, "")
            return self._input(value, parameter, name)
        return self._typed(value, parameter)

    def _marked(self, value: str, name: str, parameter: Parameter | None) -> str:
        """A word with placeholders in it: filled whole if it is a path, else in place."""
        folder = self.filler.package.resolve_folder(value)
        if folder is not None:
            return installed_path(self.filler.package.skill, self.filler.layout, folder)
        whole = next((item for item in self.placeholders if item.raw == value), None)
        if whole is not None:
            return self._choose(whole.name, parameter, whole, near=name)
        if kinds().of_extension(re.sub(r"[<>{}$]", "", value)) is not None and "://" not in value:
            return self._input(value, parameter, name)
        for item in self.placeholders:
            if item.raw in value:
                value = value.replace(item.raw, self._choose(item.name, None, item, near=name))
        return value

    def _typed(self, value: str, parameter: Parameter | None) -> str:
        """An example value is kept as documented unless the script cannot take it."""
        if parameter is not None and parameter.kind in ("integer", "number") and not re.search(r"\d", value):
            return kinds()[parameter.kind].value(self.filler.index)
        return value

    def _is_path(self, value: str, parameter: Parameter | None, program: str) -> bool:
        if not value or value in (".", "..", "-") or "://" in value or value.startswith("~") or "*" in value:
            return False
        if value.startswith("/"):
            return value.split("/")[1] not in _SYSTEM
        if "@" in value or "$" in value or " " in value.strip():
            return False
        if kinds().of_extension(value) is not None and not re.fullmatch(r"[\d.]+", value):
            return not value.startswith(".") or "/" in value
        if value.startswith(("./", "../")) or value.endswith("/") or program in _FOLDER_PROGRAMS:
            return True
        # A bare word is a file name only where the name says no more than that: `tool.py input`.
        is_file = parameter is not None and bool(parameter.kind) and kinds()[parameter.kind].is_file
        return is_file and value.lower() in _BARE_FILES

    def _pick(self, options: Sequence[str]) -> str:
        return options[self.filler.index % len(options)]

    def _choose(
        self,
        name: str,
        parameter: Parameter | None,
        placeholder: Placeholder | None,
        near: str = "",
        example: str = "",
    ) -> str:
        """A value for something known only by its name and by the parameter it belongs to."""
        table = kinds()
        if parameter is not None and parameter.choices:
            return self._pick(parameter.choices)
        if placeholder is not None and placeholder.alternatives:
            return self._pick(placeholder.alternatives)
        if table.names_skill_folder(name):
            return installed_folder(self.filler.package.skill, self.filler.layout)
        for key in (re.sub(r"[^a-z0-9]", "", name.lower()), "".join(words_of(name)[-1:])):
            if key in self.filler.facts:
                return self.filler.facts[key]
        declared = parameter.kind if parameter is not None else ""
        kind = table.of_extension(name) or table.of_extension(example)
        if kind is None and declared and table[declared].name not in ("user", "sentence", "title", "command"):
            kind = table[declared]
        kind = kind or table.of_words(name) or table.of_words(near) or table[declared or table.default]
        if (
            table.names_output(name)
            and (kind.is_file or kind.name in (table.default, "date"))
            and not (parameter and not parameter.output)
        ):
            return self._output(f"<{name}>", kind.name if kind.is_file else "")
        if kind.name == "file" and declared and table[declared].is_file:
            kind = table[declared]
        if not kind.is_file:
            return kind.value(self.filler.index)
        return self._file(kind, name, near) or name

    def _input(self, value: str, parameter: Parameter | None, name: str) -> str:
        """The file that stands for an example path."""
        table = kinds()
        plain = value.rstrip("/")
        for key in (value, plain, f"{plain}/", f"./{plain}"):
            if key in self.filler.produced:
                return self.filler.produced[key]
        folder = self.filler.package.resolve_folder(value)
        if folder:
            return installed_path(self.filler.package.skill, self.filler.layout, folder)
        kind = table.of_extension(value)
        if (
            kind is None
            and parameter is not None
            and parameter.kind in table.by_name
            and table[parameter.kind].is_file
        ):
            kind = table[parameter.kind]
        if kind is None:
            kind = table["folder"]
        found = self._file(kind, f"{value} {name}", name)
        if found is None:
            self.unfilled.append(value)
            return value
        return found

    def _file(self, kind: Kind, name: str, near: str) -> str | None:
        """A sample of the package or a fixture, as the argument set says."""
        sample = self._sample(kind, f"{name} {near}")
        named = re.search(r"\.([A-Za-z][A-Za-z0-9]{0,7})(?:\.gz)?(?=\s|$)", name)
        extension = named[1] if named else ""
        fixture = self.filler.fixtures.pick(kind, self.filler.index, self.taken, extension=extension)
        exact = fixture is not None and (
            kind.name in ("folder", "file") or kinds().of_extension(fixture) == kind
        )
        chosen = sample if sample is not None and (self.filler.index % 3 == 1 or not exact) else fixture
        if chosen is not None and kind.name != "folder":
            self.taken.append(chosen)
        return chosen

    def _sample(self, kind: Kind, name: str) -> str | None:
        """The package's own example file of that kind whose name shares most words with the argument."""
        wanted = set(words_of(name))
        extension = name.strip().partition(" ")[0].rpartition(".")[2].lower()
        best: tuple[int, int, str] | None = None
        for path in sorted(self.filler.package.files):
            folders = set(path.split("/")[:-1])
            if kinds().of_extension(path) != kind or not folders & _SAMPLE_FOLDERS or kind.name == "code":
                continue
            where = installed_path(self.filler.package.skill, self.filler.layout, path)
            score = (
                2 * len(wanted & set(words_of(path)))
                + (path.lower().endswith("." + extension))
                - 4 * (where in self.taken)
            )
            key = (-score, len(path), path)
            best = key if best is None or key < best else best
        return installed_path(self.filler.package.skill, self.filler.layout, best[2]) if best else None

    def _output(self, value: str, kind: str) -> str:
        """Where something documented as written to `value` is written."""
        if value in self.filler.produced:
            return self.filler.produced[value]
        bare = re.sub(r"[<>{}$\[\]\"']", "", value).strip()
        if bare.startswith("/tmp/"):
            path = bare
        elif bare.startswith("~"):
            path = bare.replace("~", self.filler.layout.home, 1)
        else:
            parts = [
                part for part in re.sub(r"[^\w./-]+", "_", bare).split("/") if part not in ("", ".", "..")
            ]
            if bare.startswith("/"):
                parts = parts[-1:]
            if parts and parts[0] in ("output", "path"):
                parts = parts[1:] if parts[0] == "output" else parts[-1:]
            name = "/".join(parts)
            extensions = kinds()[kind].extensions if kind in kinds().by_name else ()
            if name and extensions and value.startswith("<") and kinds().of_extension(name) is None:
                name = f"{name}.{extensions[0]}"
            path = f"{self.filler.output_folder()}/{name}".rstrip("/")
        self.filler.produced[value] = path
        self.outputs.append(path)
        return path


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


def answers(prompts: Sequence[str], filler: Filler) -> bytes:
    """What is typed when a program asks: a line for each question, then a few more to end loops."""
    lines: list[str] = []
    for prompt in prompts:
        if re.search(r"\(?\b[yY](?:es)?\s*/\s*[nN]", prompt):
            lines.append("y")
        elif option := re.search(r"[\[(]\s*(\d+)\s*[-–/,]", prompt):
            lines.append(option[1])
        else:
            kind = kinds().of_words(prompt) or kinds()[kinds().default]
            value = filler.fixtures.pick(kind, filler.index) if kind.is_file else kind.value(filler.index)
            lines.append(value or "1")
    return ("\n".join([*lines, "q", "exit", "y", "1", ""]) if lines else "").encode()


def _names_member(value: str, package: Package) -> bool:
    """Whether an argument means a member of the package: its exact path, or one below the skill's folder."""
    plain = value.removeprefix("./")
    if plain in package.files:
        return True
    head, _, rest = plain.partition("/")
    if not rest:
        return False
    if re.search(r"[<{$]", head) and kinds().names_skill_folder(head):
        return True
    parts = plain.split("/")
    names = {package.skill.name, package.skill.root.name}
    return any(
        part in names and "/".join(parts[at + 1 :]) in package.files for at, part in enumerate(parts[:-1])
    )
