"""Which of the pairs that meet are run, where very many meet in the same common places.

In a thousand skills, hundreds make the same output folder or append to the same memory file, and each of them
meets each other: a number of pairs that no budget holds. A pair that meets in a rare place is always run. Of
those that meet in popular places only, one writer stands for all that leave the same there as far as the
reader looked, a few readers stand for all that can do nothing sensitive, and what that leaves out is told.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from conjunct.model import TouchMode
from conjunct.plan.joins import Footprint, Join, meeting

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
    footprints: Collection[Footprint],
    *,
    candidates: Collection[str],
    sensitive: Collection[str],
    seed: int = 0,
) -> Partners:
    """The pairs that meet, with a candidate among them, and are to be run.

    Pairs that meet in a rare place are all chosen. `sensitive`: skills that could do something sensitive. The
    choice is the same for the same footprints and seed. Time grows with the number of pairs that meet, memory
    with the number of skills.
    """
    choice = _Choice({one.skill: one for one in footprints}, frozenset(candidates), seed)
    classes = [one for reader in sorted(choice.known) for one in choice.of_reader(reader)]
    chosen = _chosen(classes, sensitive, seed)
    joins = [choice.join(writer, reader, paths) for writer, reader, paths in choice.rare]
    joins += [choice.join(one.writer, one.reader, one.paths, reader_only=True) for one in chosen]
    run = sorted(joins, key=lambda pair: (pair.writer, pair.reader))
    return Partners(tuple(run), choice.told(chosen))


@dataclass(slots=True)
class _Class:
    """Writers that leave the same where a reader meets them, as far as it looks."""

    reader: str
    paths: tuple[str, ...]
    writer: str
    """The one that stands for all."""
    rank: int


@dataclass(slots=True)
class _Choice:
    known: Mapping[str, Footprint]
    candidates: frozenset[str]
    seed: int
    rare: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)
    _writers: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _popular: frozenset[str] = frozenset()
    _children: dict[str, dict[str, list[tuple[str, str]]]] = field(default_factory=dict)
    _texts: dict[tuple[str, str, frozenset[TouchMode]], str] = field(default_factory=dict)
    _ranks: dict[str, int] = field(default_factory=dict)
    _common: Counter[str] = field(default_factory=Counter)
    _places: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def __post_init__(self) -> None:
        readers: Counter[str] = Counter()
        new_readers: Counter[str] = Counter()
        for name, one in self.known.items():
            self._children[name] = _children(one)
            self._ranks[name] = int.from_bytes(_draw(self.seed, name)[:8])
            for path in one.left:
                self._writers[path].append(name)
            readers.update(one.looked_at.keys())
            new_readers.update(one.looked_at.keys() if name in self.candidates else ())
        self._popular = frozenset(
            path
            for path, writers in self._writers.items()
            if _pairs(writers, readers[path], new_readers[path], self.candidates) > POPULAR
        )

    def of_reader(self, reader: str) -> list[_Class]:
        """The classes of writers that this reader meets in popular places only; notes pairs in rare ones."""
        met: dict[str, list[str]] = defaultdict(list)
        looked_at = self.known[reader].looked_at
        for path in sorted(looked_at):
            for writer in self._writers.get(path, ()):
                if writer != reader:
                    met[writer].append(path)
        classes: dict[tuple[str, ...], _Class] = {}
        already: set[tuple[str, ...]] = set()
        new = reader in self.candidates
        for writer, paths in met.items():
            if not self._popular.issuperset(paths):
                if new or writer in self.candidates:
                    self.rare.append((writer, reader, tuple(paths)))
                continue
            seen = tuple(text for path in paths for text in (path, self._seen(writer, reader, path)))
            if not new and writer not in self.candidates:
                already.add(seen)
                continue
            self._count(writer, reader, paths)
            rank = self._ranks[writer] ^ self._ranks[reader]
            known = classes.get(seen)
            if known is None:
                classes[seen] = _Class(reader, tuple(paths), writer, rank)
            elif rank < known.rank:
                known.writer, known.rank = writer, rank
        # What a skill that its reader lives with leaves there already is no news to it.
        return [one for seen, one in classes.items() if seen not in already]

    def _count(self, writer: str, reader: str, paths: list[str]) -> None:
        for name in (writer, reader):
            if name in self.candidates:
                self._common[name] += 1
                self._places[name].update(paths)

    def _seen(self, writer: str, reader: str, path: str) -> str:
        modes = self.known[reader].modes.get(path, frozenset())
        key = (writer, path, modes)
        text = self._texts.get(key)
        if text is None:
            text = _as_seen(path, self.known[writer], self._children[writer], modes)
            self._texts[key] = text
        return text

    def join(self, writer: str, reader: str, paths: tuple[str, ...], *, reader_only: bool = False) -> Join:
        context = meeting(self.known[writer], self.known[reader], list(paths))
        return Join(writer, reader, paths, context, reader_only)

    def told(self, chosen: Iterable[_Class]) -> dict[str, tuple[str, ...]]:
        """For each candidate how many of its meetings in popular places were run, where not all were."""
        made: Counter[str] = Counter(name for one in chosen for name in (one.writer, one.reader))
        return {
            name: (
                f"{made[name]} of {self._common[name]} meetings with other skills in common places were run "
                f"({', '.join(path for path, _ in self._places[name].most_common(2))}): one writer stands "
                "for those that leave the same there, a few readers for those that can do nothing sensitive",
            )
            for name in sorted(self._common)
            if made[name] < self._common[name]
        }


def _pairs(writers: Collection[str], readers: int, new_readers: int, candidates: Collection[str]) -> int:
    """Pairs with a candidate among them that meet in one place."""
    new_writers = sum(writer in candidates for writer in writers)
    return len(writers) * readers - (len(writers) - new_writers) * (readers - new_readers)


def _chosen(classes: Iterable[_Class], sensitive: Collection[str], seed: int) -> list[_Class]:
    """Who acts on what was left is the reader; what the writer does does not depend on who comes after it."""
    in_turn = sorted(classes, key=lambda one: _draw(seed, one.reader, one.writer, one.paths))
    dangerous = {one.reader for one in in_turn if one.reader in sensitive}
    most = min(PARTNERS, max(_LEAST_PARTNERS, PAIRS // max(1, len(dangerous))))
    readers: Counter[tuple[str, ...]] = Counter()
    partners: Counter[str] = Counter()
    chosen: list[_Class] = []
    for one in in_turn:
        if one.reader in dangerous:
            if partners[one.reader] >= most:
                continue
            partners[one.reader] += 1
        else:
            if readers[one.paths] >= HARMLESS_READERS:
                continue
            readers[one.paths] += 1
        chosen.append(one)
    return chosen


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


def _draw(*identity: object) -> bytes:
    return hashlib.sha256(repr(identity).encode("utf-8", "backslashreplace")).digest()
