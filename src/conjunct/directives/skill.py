"""Which texts of a package are compiled: description, body, and the Markdown it points to."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Final

from conjunct.directives.compiler import compile_text, merge
from conjunct.directives.package import package_of
from conjunct.directives.structure import MAXIMUM_CHARACTERS
from conjunct.model import Compilation, Registry, Sentence, Skill

MAXIMUM_FILES: Final = 400
MAXIMUM_TOTAL: Final = 8_000_000
"""Characters of all texts of one package together; what is beyond is reported, not compiled."""

_EXTENSIONS: Final = (".md", ".markdown", ".mdx")
_NAMED = re.compile(r"[\w./@+-]{1,300}\.(?:md|markdown|mdx|txt)\b", re.IGNORECASE)
_FOLDERS: Final = ("references/", "reference/")


def compile_registry(registry: Registry) -> dict[str, Compilation]:
    """What the prose of every skill of a registry says, by id; each knows the names of all others."""
    names = frozenset(skill.name.lower() for skill in registry.skills)
    return {skill.id: compile_skill(skill, siblings=names) for skill in registry.skills}


def compile_skill(skill: Skill, *, siblings: frozenset[str] = frozenset()) -> Compilation:
    """Everything the prose of a skill tells an agent to do.

    `siblings` are names of other skills of the registry: "use chart-maker" then hands over to one.

    Compiled are the description, the body, every Markdown file under `references/`, and every Markdown or
    text file that one of these names. A file that cannot be read counts as one sensitive instruction that was
    not compiled.
    """
    members = {entry.path: entry.size for entry in skill.entries if entry.kind == "file"}
    package = package_of(members, skill.name, siblings)
    parts = [
        compile_text(
            skill.declaration.description,
            file=skill.manifest,
            first_line=dict(skill.declaration.line_of).get("description", 1),
            package=package,
        ),
        compile_text(skill.body, file=skill.manifest, first_line=skill.body_line, package=package),
    ]
    total = len(skill.body)
    queue = [
        path for path in sorted(members) if path.startswith(_FOLDERS) and path.lower().endswith(_EXTENSIONS)
    ]
    queue = [*_named(skill.body, skill.manifest, members), *queue]
    seen = {skill.manifest}
    while queue:
        path = queue.pop(0)
        if path in seen:
            continue
        seen.add(path)
        if len(seen) > MAXIMUM_FILES or total + members[path] > MAXIMUM_TOTAL:
            parts.append(_unread(path, "the package holds more prose than is compiled"))
            continue
        text = _read(skill.root / path)
        if text is None:
            parts.append(_unread(path, "it cannot be read as a regular file"))
            continue
        total += len(text)
        parts.append(compile_text(text, file=path, package=package))
        queue.extend(_named(text, path, members))
    return merge(parts)


def _named(text: str, file: str, members: dict[str, int]) -> list[str]:
    """Members that a text names, by path from the package root or from the naming file."""
    found = []
    for match in _NAMED.finditer(text[:MAXIMUM_CHARACTERS]):
        for base in ("", posixpath.dirname(file)):
            path = posixpath.normpath(posixpath.join(base, match[0]))
            if path in members and not posixpath.basename(path).lower().startswith(("license", "changelog")):
                found.append(path)
                break
    return list(dict.fromkeys(found))


def _read(path: Path) -> str | None:
    if path.is_symlink() or not path.is_file():
        return None
    try:
        with path.open("rb") as handle:
            data = handle.read(4 * MAXIMUM_CHARACTERS)
    except OSError:
        return None
    return data.decode("utf-8-sig", errors="replace")


def _unread(path: str, reason: str) -> Compilation:
    return Compilation((), 1, 0, (Sentence(f"{path} was not compiled: {reason}", path, 1, True),))
