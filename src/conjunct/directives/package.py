"""Which files a package has, for naming the script that prose means."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from conjunct.directives.vocabulary import vocabulary

INTERPRETERS: Final[Mapping[str, str]] = {
    "py": "python",
    "sh": "bash",
    "bash": "bash",
    "js": "node",
    "mjs": "node",
    "cjs": "node",
    "ts": "npx tsx",
    "rb": "ruby",
    "pl": "perl",
    "R": "Rscript",
    "r": "Rscript",
}

_SKILL_NAME = re.compile(
    r"[`*]{1,2}([A-Za-z0-9]{2,40}(?:-[A-Za-z0-9]{1,40}){1,6})[`*]{1,2} skills?\b"
    r"|\bskill [`*]{1,2}([A-Za-z0-9]{2,40}(?:-[A-Za-z0-9]{1,40}){1,6})[`*]{1,2}"
    r"|\.\./([A-Za-z0-9]{2,40}(?:-[A-Za-z0-9]{1,40}){0,6})/SKILL\.md"
)


@dataclass(frozen=True, slots=True)
class Package:
    """Name and paths of a package; the paths also by base name."""

    name: str = ""
    paths: frozenset[str] = frozenset()
    by_name: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    skills: frozenset[str] = frozenset()
    """Names of other skills that the registry or the text itself knows as skills."""

    def locate(self, name: str) -> str:
        """The member that `name` means, or an empty string: exact path first, then a unique base name."""
        cleaned = posixpath.normpath(name.removeprefix("./"))
        for prefix in vocabulary()["resources.skill_placeholders"].written:
            cleaned = cleaned.removeprefix(prefix)
        if cleaned in self.paths:
            return cleaned
        found = self.by_name.get(posixpath.basename(cleaned), ())
        return found[0] if len(found) == 1 else ""


def skills_named(text: str) -> frozenset[str]:
    """Names that a text calls skills: "the `chart-maker` skill", "../chart-maker/SKILL.md"."""
    found = _SKILL_NAME.finditer(text)
    return frozenset(next(filter(None, match.groups())).lower() for match in itertools.islice(found, 400))


def package_of(paths: Iterable[str], name: str = "", skills: Iterable[str] = ()) -> Package:
    """A package with these members, among `skills`."""
    members = frozenset(paths)
    names: dict[str, list[str]] = {}
    for path in sorted(members):
        names.setdefault(posixpath.basename(path), []).append(path)
    return Package(name, members, {name: tuple(group) for name, group in names.items()}, frozenset(skills))


def script_command(path: str) -> str:
    """The command that starts a script, or an empty string when it does not look like one."""
    extension = posixpath.basename(path).rpartition(".")[2] if "." in posixpath.basename(path) else ""
    if extension in INTERPRETERS:
        return f"{INTERPRETERS[extension]} {path}"
    if not extension and path.startswith(("scripts/", "bin/", "./")):
        return path if path.startswith("./") else f"./{path}"
    return ""
