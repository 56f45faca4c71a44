"""Kinds of arguments (a CSV, a URL, a date, …): recognised by extension and name, filled from data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_EXTENSION = re.compile(r"\.([A-Za-z][A-Za-z0-9]{0,7}|7z|3mf)$")
_WORD_LIMIT = 64


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of argument. File kinds have no `values`: they are filled from the fixtures."""

    name: str
    is_file: bool
    extensions: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    values: tuple[str, ...] = ()

    def value(self, index: int) -> str:
        """The example value for argument set `index`; only for kinds that are not files."""
        return self.values[index % len(self.values)]


@dataclass(frozen=True, slots=True)
class Kinds:
    """The table of kinds, as loaded from `data/kinds.yaml`."""

    by_name: Mapping[str, Kind]
    by_extension: Mapping[str, str]
    by_word: Mapping[str, str]
    last_only: frozenset[str]
    """Words that name a kind only at the end of a name: `start` is a date, `start_bp` is not."""
    vague: frozenset[str]
    """Words that name a kind only where no other word of the name does."""
    output_words: frozenset[str]
    credential_words: frozenset[str]
    skill_folder_words: frozenset[str]
    shell_variables: frozenset[str]
    placeholder_words: frozenset[str]
    default: str

    def __getitem__(self, name: str) -> Kind:
        return self.by_name[name]

    def of_extension(self, path: str) -> Kind | None:
        """The file kind that a path's extension stands for, or `None`."""
        name = self.by_extension.get(_extension(path))
        return self.by_name[name] if name else None

    def of_words(self, text: str) -> Kind | None:
        """The kind that a name stands for: the last word that names one decides (`input_csv` is a CSV)."""
        vague: Kind | None = None
        for number, word in enumerate(reversed(words_of(text))):
            if number and word in self.last_only:
                continue
            name = self.by_word.get(word) or self.by_word.get(word.removesuffix("s"))
            if name and word not in self.vague:
                return self.by_name[name]
            vague = vague or (self.by_name[name] if name else None)
        return vague

    def names_output(self, text: str) -> bool:
        """Whether a name speaks of something to be written."""
        return any(word in self.output_words for word in words_of(text))

    def names_credential(self, text: str) -> bool:
        """Whether a name speaks of a credential."""
        return any(word in self.credential_words for word in words_of(text))

    def names_skill_folder(self, text: str) -> bool:
        """Whether a placeholder stands for the folder in which the skill is installed."""
        return re.sub(r"[^a-z]", "", text.lower()) in self.skill_folder_words


def words_of(text: str) -> list[str]:
    """Lower-case words of an identifier or phrase, camel case and separators split."""
    return [word.lower() for word in _WORD.findall(text[:400])][:_WORD_LIMIT]


@cache
def kinds() -> Kinds:
    """The table of kinds that comes with the package."""
    text = resources.files("conjunct.agent").joinpath("data/kinds.yaml").read_text(encoding="utf-8")
    raw = yaml.safe_load(text)
    table: dict[str, Kind] = {}
    for name, entry in raw["files"].items():
        table[name] = Kind(
            name, True, _strings(entry["extensions"]), _strings(entry["words"]), _strings(entry["near"])
        )
    for name, entry in raw["values"].items():
        table[name] = Kind(name, False, (), _strings(entry["words"]), (), _strings(entry["values"]))
    return Kinds(
        by_name=table,
        by_extension=_first_wins((ext, kind.name) for kind in table.values() for ext in kind.extensions),
        by_word=_first_wins((word, kind.name) for kind in table.values() for word in kind.words),
        last_only=frozenset(_strings(raw["last_only"])),
        vague=frozenset(_strings(raw["vague"])),
        output_words=frozenset(_strings(raw["output_words"])),
        credential_words=frozenset(_strings(raw["credential_words"])),
        skill_folder_words=frozenset(_strings(raw["skill_folder_words"])),
        shell_variables=frozenset(_strings(raw["shell_variables"])),
        placeholder_words=frozenset(_strings(raw["placeholder_words"])),
        default=str(raw["default"]),
    )


@dataclass(frozen=True, slots=True)
class Fixtures:
    """The files an argument set offers, by kind. Order is the order given: nothing here depends on time."""

    paths: tuple[str, ...]
    folder: str
    """What fills a folder argument: the workspace."""

    def pick(
        self, kind: Kind, index: int = 0, taken: Sequence[str] = (), *, extension: str = ""
    ) -> str | None:
        """A fixture of that kind or a near one, not in `taken` where there is a choice; else `None`.

        Those with the wanted extension go first; `index` rotates among equals.
        """
        if kind.name == "folder":
            return self.folder
        for name in (kind.name, *kind.near):
            extensions = kinds()[name].extensions
            found = [path for path in self.paths if _extension(path) in extensions]
            if found:
                fresh = [path for path in found if path not in taken] or found
                exact = [path for path in fresh if _extension(path) == extension.lower()] or fresh
                return exact[index % len(exact)]
        if kind.name == "file" and self.paths:
            return self.paths[index % len(self.paths)]
        return None


def _extension(path: str) -> str:
    """The extension in lower case; what is packed (`.vcf.gz`) counts as what is inside."""
    found = _EXTENSION.search(re.sub(r"\.(?:gz|bz2|xz|zst)$", "", path)) or _EXTENSION.search(path)
    return found[1].lower() if found else ""


def _strings(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(str(value) for value in values)


def _first_wins(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    table: dict[str, str] = {}
    for key, value in pairs:
        table.setdefault(key, value)
    return table
