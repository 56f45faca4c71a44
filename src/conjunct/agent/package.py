"""What a package ships that can be started: paths as its prose spells them, sources, languages, usage."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from conjunct.agent.kinds import kinds
from conjunct.agent.usage import SOURCE_LIMIT, Usage
from conjunct.agent.usage_python import read_python
from conjunct.agent.usage_script import read_javascript, read_shell
from conjunct.model import Skill
from conjunct.world.spec import Layout

_LANGUAGES = {
    ".py": "python", ".pyw": "python", ".sh": "shell", ".bash": "shell", ".zsh": "shell", ".js": "javascript",
    ".mjs": "javascript", ".cjs": "javascript", ".ts": "javascript", ".mts": "javascript",
}  # fmt: skip
_SHEBANGS = (
    ("python", "python"),
    ("bash", "shell"),
    ("/sh", "shell"),
    ("zsh", "shell"),
    (" sh", "shell"),
    ("node", "javascript"),
)
_BRACED = re.compile(r"\$\{[^}]*\}|\{[^}]*\}|<[^>]*>|\$\w+")


@dataclass(frozen=True, slots=True)
class Package:
    """One skill's files by their POSIX paths; sources are read from the staged copy, bounded."""

    skill: Skill
    files: frozenset[str]
    folders: frozenset[str]

    @property
    def names(self) -> frozenset[str]:
        """What prose calls the package's folder, in lower case: its name, and the folder it was found in."""
        return frozenset({self.skill.name.lower(), self.skill.path.rstrip("/").rpartition("/")[2].lower()})

    @classmethod
    def of(cls, skill: Skill) -> Package:
        """The package of a skill."""
        files = frozenset(entry.path for entry in skill.entries if entry.kind == "file")
        folders = {
            "/".join(parts[:n]) for parts in (path.split("/") for path in files) for n in range(1, len(parts))
        }
        return cls(skill, files, frozenset(folders))

    def source(self, path: str) -> str:
        """Text of a member; empty if it is not a file, not there, or cannot be read."""
        if path not in self.files:
            return ""
        return _read(self.skill.root / path, self.skill.digest)

    def language(self, path: str) -> str:
        """`python`, `shell` or `javascript`; empty for what is not a script."""
        suffix = "." + path.rpartition(".")[2].lower() if "." in path.rpartition("/")[2] else ""
        if suffix in _LANGUAGES:
            return _LANGUAGES[suffix]
        if suffix:
            return ""
        first = self.source(path).split("\n", 1)[0][:200]
        return next(
            (language for mark, language in _SHEBANGS if first.startswith("#!") and mark in first), ""
        )

    def usage(self, path: str) -> Usage:
        """What arguments a script of the package takes."""
        return _usage(self.language(path), self.source(path))

    def resolve(self, word: str) -> str | None:
        """The member that a path in prose means: `skills/x/scripts/a.py`, `{skill_dir}/a.py`, `./a.py`.

        The longest trailing part of the word that is a member wins; a bare file name is looked for everywhere
        and taken if it is unique.
        """
        return self._resolve(word, self.files)

    def resolve_folder(self, word: str) -> str | None:
        """The folder of the package that a path in prose means; an empty string is the package itself."""
        parts = _parts(word)
        if not parts:
            return "" if _BRACED.search(word) and kinds().names_skill_folder(word) else None
        if parts[-1].lower() in self.names and "/".join(parts) not in self.folders:
            return ""
        for start in range(len(parts)):
            candidate = "/".join(parts[start:])
            if candidate in self.folders and (start == 0 or self._prefix_is_own(parts[:start])):
                return candidate
        return None

    def _resolve(self, word: str, members: frozenset[str]) -> str | None:
        parts = _parts(word)
        for start in range(len(parts)):
            candidate = "/".join(parts[start:])
            if candidate in members:
                return candidate
        if parts and "." in parts[-1]:
            same = sorted(path for path in members if path.rpartition("/")[2] == parts[-1])
            if len(same) == 1:
                return same[0]
        return None

    def _prefix_is_own(self, parts: list[str]) -> bool:
        return parts[-1].lower() in self.names


def installed_folder(skill: Skill, layout: Layout) -> str:
    """Where a skill is installed in the world."""
    return f"{layout.skills}/{skill.name}"


def installed_path(skill: Skill, layout: Layout, member: str) -> str:
    """Where a member of a package is in the world; an empty member is the package itself."""
    return f"{installed_folder(skill, layout)}/{member}".rstrip("/")


def _parts(word: str) -> list[str]:
    bare = _BRACED.sub("", word.strip("\"'`"))
    return [part for part in bare.split("/") if part not in ("", ".", "..", "~")][:40]


@lru_cache(maxsize=256)
def _read(path: Path, digest: str) -> str:
    # The digest is part of the key: a staged copy may be replaced by another version at the same path.
    try:
        with path.open("rb") as file:
            return file.read(SOURCE_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""


@lru_cache(maxsize=512)
def _usage(language: str, source: str) -> Usage:
    match language:
        case "python":
            return read_python(source)
        case "shell":
            return read_shell(source)
        case "javascript":
            return read_javascript(source)
        case _:
            return Usage()
