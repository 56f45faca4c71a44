"""From what a run touched to the factors it could have told apart.

Worlds of one probe differ only in carriers: the history files, the skills folder, the clock, the network's
answers, named variables, files answered with yes. `questions` maps each touch and each look-up of the agent
to the carrier behind it. A factor that no question names cannot have influenced the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conjunct.model import FactorKind, Touch, TouchMode, Trace

EVERYTHING = "*"
"""Detail of a question about a factor as a whole."""


@dataclass(frozen=True, slots=True, order=True)
class Question:
    """One thing a run asked the world: a factor, and which part of it (`*` for the whole)."""

    factor: FactorKind
    detail: str = EVERYTHING


@dataclass(frozen=True, slots=True)
class CarrierTable:
    """Which paths carry which factor in the worlds of one registry."""

    home: str
    skills_folder: str
    history_paths: frozenset[str]
    """Absolute paths of the files whose content is the history level."""
    ids_by_folder: Mapping[str, str]
    """Folder name below the skills folder to skill id."""
    readable_roots: tuple[str, ...] = ("/home/", "/tmp/", "/var/tmp/", "/run/user/")
    """Only below these may a missing path be answered with yes."""

    def skill_below(self, path: str) -> str | None:
        """Folder name of the skill that `path` lies in, or `None`."""
        prefix = self.skills_folder + "/"
        if not path.startswith(prefix):
            return None
        return path[len(prefix) :].split("/", 1)[0] or None


def questions(trace: Trace, table: CarrierTable, *, own: frozenset[str]) -> frozenset[Question]:
    """Everything that a run could have seen of the context.

    `own` holds the ids of the candidate and of the partners used in the run: looking at one's own package
    tells contexts apart only through partners, which are levels of their own.
    """
    asked: set[Question] = set()
    written = {touch.path for touch in trace.touches if touch.mode is TouchMode.WRITE}
    for touch in trace.touches:
        asked |= _of_touch(touch, table, own=own, written=written)
    for look_up in trace.look_ups:
        detail = look_up.question if look_up.factor is not FactorKind.HISTORY else EVERYTHING
        if look_up.factor is FactorKind.CO_SKILLS and table.ids_by_folder.get(detail) in own:
            continue
        asked.add(Question(look_up.factor, detail))
    return frozenset(asked)


def _of_touch(
    touch: Touch, table: CarrierTable, *, own: frozenset[str], written: set[str]
) -> frozenset[Question]:
    if touch.mode is TouchMode.EVERYTHING:
        return frozenset({Question(FactorKind.HISTORY), Question(FactorKind.CO_SKILLS)})
    if touch.path in table.history_paths:
        return frozenset({Question(FactorKind.HISTORY)})
    if touch.path == table.skills_folder:
        # Worlds pin size, link count and times of this one folder, so that only a listing tells sets apart:
        # every interpreter stats the parents of its script.
        return frozenset() if touch.mode is TouchMode.STAT else frozenset({Question(FactorKind.CO_SKILLS)})
    folder = table.skill_below(touch.path)
    if folder is not None:
        if table.ids_by_folder.get(folder) in own:
            return frozenset()
        if folder not in table.ids_by_folder:
            # No skill of the registry: like any other file, it may be there with another user.
            missing = not touch.found and touch.path not in written
            return frozenset({Question(FactorKind.HOST, touch.path)}) if missing else frozenset()
        return frozenset({Question(FactorKind.CO_SKILLS, folder)})
    if touch.path.startswith("network:"):
        return frozenset({Question(FactorKind.NETWORK, touch.path.removeprefix("network:"))})
    if touch.path.startswith("env:"):
        return frozenset({Question(FactorKind.ENVIRONMENT, touch.path.removeprefix("env:"))})
    if touch.path == "clock":
        return frozenset({Question(FactorKind.CLOCK)})
    if not touch.found and touch.path not in written and touch.path.startswith(table.readable_roots):
        return frozenset({Question(FactorKind.HOST, touch.path)})
    return frozenset()
