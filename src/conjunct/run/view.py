"""What the agent sees of one episode; each look is recorded, because it can tell contexts apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from conjunct.model import Compilation, FactorKind, LookUp, ReachSet, Skill, Turn
from conjunct.plan.carriers import EVERYTHING


class EpisodeView:
    """The recorded view of one episode; `begin` moves it to the next turn."""

    def __init__(
        self,
        *,
        installed: Sequence[Skill],
        registry_names: Sequence[str],
        history_text: str,
        compilations: Mapping[str, Compilation],
        reach: Mapping[str, ReachSet],
    ) -> None:
        self._installed = {skill.name: skill for skill in installed}
        self._registry_names = tuple(registry_names)
        self._history_text = history_text.casefold()
        self._said = ""
        self._compilations = compilations
        self._reach = reach
        self._turn = 0
        self._request = Turn(text="", uses=False)
        self._uses: dict[str, int] = {}
        self.look_ups: list[LookUp] = []

    def begin(self, turn: int, request: Turn) -> None:
        """Start a turn: count which skills the request asks for."""
        self._turn, self._request = turn, request
        self._said += "\n" + request.text.casefold()
        for name in self._names_in(request.text):
            self._uses[name] = self._uses.get(name, 0) + 1

    def _record(self, factor: FactorKind, question: str, answer: object) -> None:
        look = LookUp(factor, question, str(answer), self._turn)
        if look not in self.look_ups:
            self.look_ups.append(look)

    @property
    def turn(self) -> int:
        """Number of the present turn, from 1."""
        self._record(FactorKind.TURN, EVERYTHING, self._turn)
        return self._turn

    @property
    def request(self) -> Turn:
        """What the user says in this turn."""
        return self._request

    def conversation_mentions(self, value: str) -> bool:
        """Whether this conversation, or failing that the history, has all words of `value` in one piece."""
        pattern = re.compile(rf"(?<!\w){re.escape(value.casefold().strip())}(?!\w)")
        if pattern.search(self._said):
            return True
        found = bool(pattern.search(self._history_text))
        self._record(FactorKind.HISTORY, value, found)
        return found

    def is_installed(self, name: str) -> bool:
        """Whether a skill of that name is installed."""
        found = name in self._installed
        self._record(FactorKind.CO_SKILLS, name, found)
        return found

    def find(self, name: str) -> Skill | None:
        """The installed skill of that name, or `None`."""
        self.is_installed(name)
        return self._installed.get(name)

    def installed(self) -> Sequence[tuple[str, str]]:
        """(name, description) of every installed skill."""
        cards = [(name, self._installed[name].declaration.description) for name in sorted(self._installed)]
        self._record(FactorKind.CO_SKILLS, EVERYTHING, len(cards))
        return cards

    def named_in_request(self) -> Sequence[Skill]:
        """Installed skills whose name the present request contains, in the order of mention."""
        return [
            skill for name in self._names_in(self._request.text) if (skill := self.find(name)) is not None
        ]

    def turn_at_least(self, number: int) -> bool:
        """Whether the present turn is `number` or later."""
        self._record(FactorKind.TURN, f">={number}", self._turn >= number)
        return self._turn >= number

    def uses(self, skill: Skill) -> int:
        """How often the user has asked for that skill so far, this turn included."""
        self._record(FactorKind.TURN, f"uses:{skill.name}", self._uses.get(skill.name, 0))
        return self._uses.get(skill.name, 0)

    def compilation(self, skill: Skill) -> Compilation:
        """Directives of an installed skill."""
        return self._compilations[skill.id]

    def reach(self, skill: Skill) -> ReachSet:
        """Reachable actions of an installed skill."""
        return self._reach[skill.id]

    def _names_in(self, text: str) -> list[str]:
        return list(names_in(text, self._registry_names))


@lru_cache(maxsize=1024)
def names_in(text: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Which names the text uses as those of skills: hyphenated words, quoted, or next to "skill".

    The same requests come again in every context, and a registry may have a thousand names.
    """
    found: list[tuple[int, str]] = []
    folded = text.casefold()
    for name in names:
        start = folded.find(name.casefold())
        if start < 0:
            continue
        pattern = rf"(?<![\w-]){re.escape(name.casefold())}(?![\w-])"
        if "-" not in name:
            pattern = rf"[`\"']{re.escape(name.casefold())}[`\"']|{pattern}(?= skill)|(?<=skill ){pattern}"
        match = re.search(pattern, folded)
        if match:
            found.append((match.start(), name))
    return tuple(name for _, name in sorted(found))
