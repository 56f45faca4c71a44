"""Which of the pairs that meet are run, where very many meet in the same common places.

In a thousand skills, hundreds make the same output folder or append to the same memory file, and each of them
meets each other: a number of pairs that no budget holds. A pair that meets in a rare place is always run. Of
those that meet in popular places only, one writer stands for all that leave the same there as far as the
reader looked, a few readers stand for all that can do nothing sensitive, and what that leaves out is told.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from conjunct.model import TouchMode
from conjunct.plan.joins import Footprint, Join

POPULAR = 30
"""Pairs that meet in one place before it counts as popular."""
HARMLESS_READERS = 4
"""Readers run in each popular place, where neither side can do anything sensitive."""
PARTNERS = 24
"""Kinds of writers with which a reader that can do something sensitive is run in popular places, at most."""
PAIRS = 200
"""Pairs of such readers in popular places that are aimed at in one registry."""
_LEAST_PARTNERS = 2


@dataclass(frozen=True, slots=True)
class Partners:
    """The pairs to run, and for each skill what was left out, in words."""

    run: tuple[Join, ...]
    told: Mapping[str, tuple[str, ...]]


def worth_running(
    pairs: Sequence[Join],
    footprints: Iterable[Footprint],
    *,
    candidates: Collection[str],
    sensitive: Collection[str],
    seed: int = 0,
) -> Partners:
    """Choose among pairs that meet. `sensitive`: skills that could do something sensitive.

    Pairs in rare places are all chosen. The choice is the same for the same pairs and seed.
    """
    meetings = Counter(path for pair in pairs for path in pair.paths)
    rare = [pair for pair in pairs if any(meetings[path] <= POPULAR for path in pair.paths)]
    common = [pair for pair in pairs if all(meetings[path] > POPULAR for path in pair.paths)]
    if not common:
        return Partners(tuple(rare), {})
    known = {one.skill: one for one in footprints}
    classes = _classes(common, known)
    there = _writers(known.values(), candidates)
    chosen: list[Join] = []
    readers: Counter[tuple[str, ...]] = Counter()
    partners: Counter[str] = Counter()
    dangerous = {reader for reader, _ in classes if reader in sensitive}
    most = min(PARTNERS, max(_LEAST_PARTNERS, PAIRS // max(1, len(dangerous))))
    for (reader, _), members in sorted(classes.items(), key=lambda one: _draw(seed, *one[0])):
        paths = members[0].paths
        if reader not in candidates and _left_already(members[0], known, there):
            continue
        # Who acts on what was left is the reader; what the writer does does not depend on who comes after it.
        if reader in dangerous:
            if partners[reader] >= most:
                continue
            partners[reader] += 1
        else:
            if readers[paths] >= HARMLESS_READERS:
                continue
            readers[paths] += 1
        one = min(members, key=lambda pair: _draw(seed, pair.writer, pair.reader))
        chosen.append(replace(one, reader_only=True))
    run = sorted([*rare, *chosen], key=lambda pair: (pair.writer, pair.reader))
    return Partners(tuple(run), _told(common, chosen, candidates))


def _classes(pairs: Iterable[Join], known: Mapping[str, Footprint]) -> dict[tuple[str, str], list[Join]]:
    """Pairs by reader and by what the writer leaves, as far as that reader looked at it."""
    classes: dict[tuple[str, str], list[Join]] = defaultdict(list)
    for pair in pairs:
        seen = _seen(pair.paths, known[pair.writer], known[pair.reader])
        classes[pair.reader, repr(seen)].append(pair)
    return classes


def _writers(known: Iterable[Footprint], candidates: Collection[str]) -> dict[str, list[Footprint]]:
    """Skills that are there already, by the paths that they leave."""
    found: dict[str, list[Footprint]] = defaultdict(list)
    for one in known:
        if one.skill not in candidates:
            for path in one.left:
                found[path].append(one)
    return found


def _left_already(pair: Join, known: Mapping[str, Footprint], there: Mapping[str, list[Footprint]]) -> bool:
    """Whether a skill that its reader lives with already leaves the same wherever the two meet."""
    reader = known[pair.reader]
    wanted = _seen(pair.paths, known[pair.writer], reader)
    for other in there.get(pair.paths[0], ()):
        if other.skill != reader.skill:
            paths = tuple(sorted(path for path in other.left if path in reader.looked_at))
            if paths == pair.paths and _seen(paths, other, reader) == wanted:
                return True
    return False


def _seen(paths: Iterable[str], writer: Footprint, reader: Footprint) -> list[tuple[str, str]]:
    """What the reader's looks can tell of what the writer left, path by path."""
    children = _children(writer)
    return [(path, _as_seen(path, writer, children, reader.modes.get(path, frozenset()))) for path in paths]


def _children(one: Footprint) -> dict[str, list[tuple[str, str]]]:
    """What a skill left in each folder: (name, state)."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for path, state in one.states.items():
        folder, _, name = path.rpartition("/")
        found[folder].append((name, state))
    return found


def _as_seen(
    path: str,
    writer: Footprint,
    children: Mapping[str, list[tuple[str, str]]],
    modes: frozenset[TouchMode],
) -> str:
    """What a look of these modes can tell of what the writer left at `path`.

    The size and the link count of a folder tell how many files and folders are in it, a listing their names.
    """
    state = writer.states.get(path, "")
    if state != "folder":
        return state
    inside = children.get(path, [])
    if modes <= {TouchMode.STAT, TouchMode.READ}:
        folders = sum(kind == "folder" for _, kind in inside)
        return f"folder with {len(inside) - folders} files and {folders} folders"
    return f"folder with {sorted((name, kind == 'folder') for name, kind in inside)}"


def _told(
    common: Sequence[Join], chosen: Sequence[Join], candidates: Collection[str]
) -> dict[str, tuple[str, ...]]:
    made: Counter[str] = Counter(name for pair in chosen for name in {pair.writer, pair.reader})
    others: Counter[str] = Counter(name for pair in common for name in {pair.writer, pair.reader})
    places: dict[str, Counter[str]] = defaultdict(Counter)
    for pair in common:
        for name in {pair.writer, pair.reader}:
            places[name].update(pair.paths)
    return {
        name: (
            f"{made[name]} of {others[name]} meetings with other skills in common places were run "
            f"({', '.join(path for path, _ in places[name].most_common(2))}): one writer stands for those "
            "that leave the same there, a few readers for those that can do nothing sensitive",
        )
        for name in sorted(others)
        if name in candidates and made[name] < others[name]
    }


def _draw(*identity: object) -> str:
    return hashlib.sha256(repr(identity).encode("utf-8", "backslashreplace")).hexdigest()
