"""Which value stands for one word of a documented command.

Values come from the fixtures of the episode's argument set, from samples that the package ships, from what
earlier commands produced, and from the example values in `data/kinds.yaml`. A path is taken from anywhere
else only if the text names it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from conjunct.agent.kinds import Fixtures, Kind, kinds, words_of
from conjunct.agent.package import Package, installed_folder, installed_path
from conjunct.agent.placeholders import Placeholder, example_name
from conjunct.agent.usage import Parameter
from conjunct.battery.fill import OUTPUT_FOLDER
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
_WEAK_KINDS = frozenset({"user", "sentence", "title", "command"})
_PATTERN_OPTIONS = frozenset({"-name", "-iname", "-path", "--include", "--exclude", "--glob", "-g", "-e"})
_BARE_FILES = frozenset(
    {"input", "file", "infile", "data", "document", "dir", "directory", "folder", "project"}
)
_FOLDER_PROGRAMS = frozenset({"cd", "ls", "find", "tree", "du", "pushd"})


@dataclass(slots=True)
class Values:
    """Chooses values for the commands of one skill in one episode; remembers what was told to be written."""

    package: Package
    layout: Layout
    fixtures: Fixtures
    index: int = 0
    """Argument set: rotates fixtures, choices and example values. Odd sets prefer the package's samples."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Names and values found in the output of earlier commands."""
    produced: dict[str, str] = field(default_factory=dict)
    """Output paths as documented, and where they are."""
    placeholders: tuple[Placeholder, ...] = ()
    """Those of the present command."""
    outputs: list[str] = field(default_factory=list)
    unfilled: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)

    def begin(self, placeholders: tuple[Placeholder, ...]) -> None:
        """Start another command: nothing is taken yet."""
        self.placeholders = placeholders
        self.outputs, self.unfilled, self.taken = [], [], []

    def output_folder(self) -> str:
        """Where output paths are put."""
        return f"{self.layout.workspace}/{OUTPUT_FOLDER}"

    def value(self, value: str, parameter: Parameter | None, flag: str, program: str) -> str:
        """What stands for one word of the text."""
        name = flag.lstrip("-") or (parameter.name if parameter else "")
        if (
            value.startswith(("http://", "https://", "ftp://", "git@"))
            and "<" not in value
            and "{" not in value
        ):
            return value
        if flag in _PATTERN_OPTIONS:
            return value
        marked = bool(re.search(r"<[^<>]+>|\{[^{}]+\}|\$\w+|\$\{", value)) and bool(self.placeholders)
        if value in self.produced and not (parameter and parameter.output):
            return self.produced[value]
        member = self.package.resolve(value) if _names_member(value, self.package) else None
        if member is not None:
            return installed_path(self.package.skill, self.layout, member)
        if parameter is not None and parameter.choices and not marked:
            return (
                value
                if value in parameter.choices or not example_name(value)
                else self._pick(parameter.choices)
            )
        is_output = parameter.output if parameter is not None else kinds().names_output(name)
        if is_output and value.lower() not in _FORMATS and not (parameter and parameter.choices):
            return self.output_path(value, parameter.kind if parameter else "")
        if marked:
            return self._marked(value, name, parameter)
        if example := example_name(value):
            return self.choose(f"{example}", parameter, None, near=name, example=value)
        if self._is_path(value, parameter, program):
            if not flag and parameter is None and kinds().names_output(value) and self.taken:
                return self.output_path(value, "")
            return self.input_path(value, parameter, name)
        return self._typed(value, parameter)

    def _marked(self, value: str, name: str, parameter: Parameter | None) -> str:
        """A word with placeholders in it: filled whole if it is a path, else in place."""
        folder = self.package.resolve_folder(value)
        if folder is not None:
            return installed_path(self.package.skill, self.layout, folder)
        whole = next((item for item in self.placeholders if item.raw == value), None)
        if whole is not None:
            return self.choose(whole.name, parameter, whole, near=name)
        if kinds().of_extension(re.sub(r"[<>{}$]", "", value)) is not None and "://" not in value:
            return self.input_path(value, parameter, name)
        for item in self.placeholders:
            if item.raw in value:
                value = value.replace(item.raw, self.choose(item.name, None, item, near=name))
        return value

    def _typed(self, value: str, parameter: Parameter | None) -> str:
        """An example value is kept as documented unless the script cannot take it."""
        if parameter is not None and parameter.typed and parameter.kind in ("integer", "number"):
            return value if re.search(r"\d", value) else kinds()[parameter.kind].value(self.index)
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
        return is_file and ("/" in value or value.lower() in _BARE_FILES)

    def _pick(self, options: Sequence[str]) -> str:
        return options[self.index % len(options)]

    def choose(
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
            return installed_folder(self.package.skill, self.layout)
        for key in (re.sub(r"[^a-z0-9]", "", name.lower()), "".join(words_of(name)[-1:])):
            if key in self.facts:
                return self.facts[key]
        declared = table[parameter.kind] if parameter is not None and parameter.kind else None
        named = table.of_words(name)
        kind = table.of_extension(name) or table.of_extension(example)
        if kind is None and declared is not None and declared.name not in _WEAK_KINDS:
            vague = named is None or named.name in _WEAK_KINDS or named.name in ("file", "folder")
            kind = declared if vague or (parameter is not None and parameter.typed) else None
        kind = kind or named or table.of_words(near) or declared or table[table.default]
        if (
            table.names_output(name)
            and (kind.is_file or kind.name in (table.default, "date"))
            and not (parameter and not parameter.output)
        ):
            return self.output_path(f"<{name}>", kind.name if kind.is_file else "")
        if kind.name == "file" and declared is not None and declared.is_file:
            kind = declared
        if not kind.is_file:
            return kind.value(self.index)
        return self._file(kind, name, near) or name

    def input_path(self, value: str, parameter: Parameter | None, name: str) -> str:
        """The file that stands for an example path."""
        table = kinds()
        plain = value.rstrip("/")
        for key in (value, plain, f"{plain}/", f"./{plain}"):
            if key in self.produced:
                return self.produced[key]
        if re.match(r"(?:\./)?outputs?/\w", value):  # what another command or skill is documented to make
            return f"{self.output_folder()}/{value.removeprefix('./').partition('/')[2]}"
        folder = self.package.resolve_folder(value)
        if folder:
            return installed_path(self.package.skill, self.layout, folder)
        kind = table.of_extension(value)
        if kind is None and (value.startswith(("./", "../")) or value.endswith("/")):
            kind = table["folder"]
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
        fixture = self.fixtures.pick(kind, self.index, self.taken, extension=extension)
        exact = fixture is not None and (
            kind.name in ("folder", "file") or kinds().of_extension(fixture) == kind
        )
        chosen = sample if sample is not None and (self.index % 3 == 1 or not exact) else fixture
        if chosen is not None and kind.name != "folder":
            self.taken.append(chosen)
        return chosen

    def _sample(self, kind: Kind, name: str) -> str | None:
        """The package's own example file of that kind whose name shares most words with the argument."""
        wanted = set(words_of(name))
        extension = name.strip().partition(" ")[0].rpartition(".")[2].lower()
        best: tuple[int, int, str] | None = None
        for path in sorted(self.package.files):
            folders = set(path.split("/")[:-1])
            if kinds().of_extension(path) != kind or not folders & _SAMPLE_FOLDERS or kind.name == "code":
                continue
            where = installed_path(self.package.skill, self.layout, path)
            score = (
                2 * len(wanted & set(words_of(path)))
                + (path.lower().endswith("." + extension))
                - 4 * (where in self.taken)
            )
            key = (-score, len(path), path)
            best = key if best is None or key < best else best
        return installed_path(self.package.skill, self.layout, best[2]) if best else None

    def output_path(self, value: str, kind: str) -> str:
        """Where something documented as written to `value` is written."""
        if value in self.produced:
            return self.produced[value]
        bare = re.sub(r"[<>{}$\[\]\"']", "", value).strip()
        if bare.startswith("/tmp/"):
            path = bare
        elif bare.startswith("~"):
            path = bare.replace("~", self.layout.home, 1)
        else:
            parts = [
                part for part in re.sub(r"[^\w./-]+", "_", bare).split("/") if part not in ("", ".", "..")
            ]
            if bare.startswith("/"):
                parts = parts[-1:]
            if parts and parts[0] in ("output", OUTPUT_FOLDER, "path"):
                parts = parts[-1:] if parts[0] == "path" else parts[1:]
            name = "/".join(parts)
            is_folder = bool({"dir", "folder", "directory", "outdir"} & set(words_of(name)))
            extensions = kinds()[kind].extensions if kind in kinds().by_name and not is_folder else ()
            if name and extensions and value.startswith("<") and kinds().of_extension(name) is None:
                name = f"{name}.{extensions[0]}"
            path = f"{self.output_folder()}/{name}".rstrip("/")
        self.produced[value] = path
        self.outputs.append(path)
        return path

    def answers(self, prompts: Sequence[str]) -> bytes:
        """What is typed when a program asks: a line for each question, then a few more to end loops."""
        lines: list[str] = []
        for prompt in prompts:
            if re.search(r"\(?\b[yY](?:es)?\s*/\s*[nN]", prompt):
                lines.append("y")
            elif option := re.search(r"[\[(]\s*(\d+)\s*[-–/,]", prompt):
                lines.append(option[1])
            else:
                kind = kinds().of_words(prompt) or kinds()[kinds().default]
                value = self.fixtures.pick(kind, self.index) if kind.is_file else kind.value(self.index)
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
