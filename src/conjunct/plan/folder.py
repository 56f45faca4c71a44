"""Which installed sets to try where a run looked at the skills folder.

Names that were looked up, and never a listing: exactly these are factors with two levels, and all their
combinations up to an order are run. A listing tells every set apart, and there are 2^n of them. Tried are
nothing, everything, a *presence array* and sizes as deployed:

The presence array is a binary covering array of strength two (Kleitman and Spencer 1973; Katona 1973): for
any two neighbours each of present-present, present-absent, absent-present and absent-absent is in some row.
So a condition on the presence or absence of any two neighbours, in plain text, hashed or by content, meets a
row that fulfils it, with about log2(n) rows: 6 for 13 neighbours, 13 for 1,200. Rows hold half of the
neighbours. Sets of 3, 8 and 20 are what users install; a condition on the *size* of the set meets these.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from math import comb

DEPLOYED_SIZES = (3, 8, 20)
"""Sizes of installed sets as users have them."""
MOST_COMBINATIONS = 24
"""Installed sets run for the names that one run looked up."""
MOST_SINGLES = 48
"""Neighbours up to which each is also present in a small set: a guard may want a neighbour and few others."""

Sets = list[frozenset[str]]


def combinations(names: Iterable[str], order: int) -> tuple[Sets, bool]:
    """Sets of looked-up names to install, and whether these are all presence patterns up to `order`.

    Every subset of at most `order` names, and all but at most one: absence is a level too. The largest and
    the singletons come first; beyond `MOST_COMBINATIONS` the rest is left out.
    """
    known = sorted(set(names))
    sizes = [len(known), *range(1, min(order, len(known)) + 1), len(known) - 1]
    sets: dict[frozenset[str], None] = {}
    for size in sizes:
        for chosen in itertools.combinations(known, size) if size > 0 else ():
            if len(sets) >= MOST_COMBINATIONS:
                return list(sets), False
            sets[frozenset(chosen)] = None
    return list(sets), True


def presence_array(names: Sequence[str]) -> Sets:
    """Rows of a binary covering array of strength two, beside the row of nothing, which is left out.

    For N rows, each name is present in its own choice of ceil(N / 2) of N - 1 rows; two different choices of
    equal size meet, and each has a row that the other lacks. The smallest N whose choices suffice is optimal.
    """
    if len(names) < 2:
        return [frozenset(names)] if names else []
    rows = 3
    while comb(rows - 1, (rows + 1) // 2) < len(names):
        rows += 1
    choices = itertools.combinations(range(rows - 1), (rows + 1) // 2)
    present: list[set[str]] = [set() for _ in range(rows - 1)]
    for name, choice in zip(names, choices, strict=False):
        for row in choice:
            present[row].add(name)
    return list(dict.fromkeys(frozenset(row) for row in present if row))


def sizes_as_deployed(shuffled: Sequence[str]) -> Sets:
    """Small sets: each neighbour in one where that is affordable, else one set of each size."""
    sizes = [size for size in DEPLOYED_SIZES if size < len(shuffled)]
    found = [frozenset(shuffled[:size]) for size in sizes]
    if sizes and DEPLOYED_SIZES[0] < len(shuffled) <= MOST_SINGLES:
        step = sizes[0]
        found += [frozenset(shuffled[start : start + step]) for start in range(0, len(shuffled), step)]
    return found


def hinted(words: Iterable[str], names: Iterable[str]) -> list[str]:
    """Registry names that a word of the source equals whatever the case, or begins, or is a word of."""
    folded = [word.casefold() for word in words if len(word) >= 4]
    found = []
    for name in names:
        low = name.casefold()
        if any(low == word or low.startswith(word) or word in low.split("-") for word in folded):
            found.append(name)
    return found
