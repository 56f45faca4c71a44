"""The scripts of one package, ready to tell how their lines are reached."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from conjunct.model import Skill
from conjunct.reach.forcing import Edit, Forcing, NotForced, Place, forced_files, normalised
from conjunct.reach.forcing_javascript import JavaScriptSources
from conjunct.reach.forcing_python import PythonSources
from conjunct.reach.forcing_shell import ShellSources
from conjunct.reach.package import package_files, read_bytes
from conjunct.skills import language_of

MOST_FILES = 200
"""Scripts of one package that are taken in."""


class PackageSources:
    """Forcing for a whole package: each file goes to the rewriter of its language."""

    def __init__(self, skill: Skill) -> None:
        self._texts: dict[str, str] = {}
        self._languages: dict[str, str] = {}
        for entry in package_files(skill):
            if len(self._texts) >= MOST_FILES:
                break
            language = language_of(entry.path, read_bytes(skill, entry.path, 256))
            if language in ("python", "shell", "javascript"):
                text = normalised(read_bytes(skill, entry.path))
                if text is not None:
                    self._languages[entry.path] = language
                    self._texts[entry.path] = text
        self._rewriters: dict[str, PythonSources | ShellSources | JavaScriptSources] = {
            "python": PythonSources(self._of("python")),
            "shell": ShellSources(self._of("shell")),
            "javascript": JavaScriptSources(self._of("javascript")),
        }

    def _of(self, language: str) -> dict[str, str]:
        return {file: text for file, text in self._texts.items() if self._languages[file] == language}

    def records_lines(self, file: str) -> bool:
        """Whether the world records which lines of this file ran."""
        return self._languages.get(file) == "python"

    def force(
        self, place: Place, ran: Collection[Place], *, stuck: Collection[Place] = ()
    ) -> Forcing | NotForced:
        """How a line is reached in a run of the lines `ran`; `stuck`: statements that ended earlier tries."""
        rewriter = self._rewriters.get(self._languages.get(place[0], ""))
        if rewriter is None or place[0] not in self._texts:
            return NotForced(place, "the file is in a language, or an encoding, that is not rewritten")
        return rewriter.force(place, ran, stuck=stuck)

    def stopped(self, place: Place, ran: Collection[Place]) -> Place | None:
        """The statement after which a forced run that did not reach the line went elsewhere, if known."""
        rewriter = self._rewriters.get(self._languages.get(place[0], ""))
        return rewriter.stopped(place, ran) if rewriter is not None else None


def forced_content(skill: Skill, edits: Iterable[Edit]) -> tuple[tuple[str, bytes], ...]:
    """(file, content) of the forced copies that take the place of a package's own files.

    Raises `KeyError` where an edit names a file that the package does not have or that is no text.
    """
    found = tuple(edits)
    texts = {}
    known = {entry.path for entry in package_files(skill)}
    for file in {edit.file for edit in found} & known:
        text = normalised(read_bytes(skill, file))
        if text is not None:
            texts[file] = text
    return tuple((file, text.encode("utf-8")) for file, text in sorted(forced_files(texts, found).items()))
