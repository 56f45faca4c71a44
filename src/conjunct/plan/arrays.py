"""Covering arrays for factors of many levels: every pair of levels in some run, without every combination."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeVar

Level = TypeVar("Level", bound=Hashable)
MOST_LEVELS = 24
"""Levels of one factor that enter an array."""


def covering_rows(
    factors: Mapping[str, Sequence[Level]], *, strength: int = 2, done: Collection[Mapping[str, Level]] = ()
) -> list[dict[str, Level]]:
    """Rows that hold every combination of levels of every `strength` factors, without those `done` hold.

    `done` are rows that were run already; they come out of the array's cost. The same arguments give the
    same rows. Without two factors there is nothing to combine.
    """
    known = {name: list(dict.fromkeys(levels))[:MOST_LEVELS] for name, levels in factors.items()}
    known = {name: levels for name, levels in known.items() if len(levels) > 1}
    if len(known) < 2:
        return []
    from covertable import make

    numbered = {name: list(range(len(levels))) for name, levels in known.items()}
    presets = [
        {name: known[name].index(row[name]) for name in known}
        for row in done
        if all(name in row and row[name] in known[name] for name in known)
    ]
    rows = make(numbered, strength=min(strength, len(known)), presets=presets)
    made = [{name: known[name][row[name]] for name in known} for row in rows]
    return [row for row in made if not any(all(one.get(n) == v for n, v in row.items()) for one in done)]
