"""Pools: many skills share the presence of many others in one episode, a few of them are used.

One episode in which `used` skills are asked for while `size` are installed, under one history family and at
full horizon, looks at used × size triples (skill that acts, skill beside it, history). A round cuts the
candidates into groups and the neighbours into blocks and runs every group × block × family once, so it looks
at each triple exactly once; the next round cuts anew, because a fixed pool keeps its guard: whatever
suppresses a trigger in one pool is elsewhere in the next.

Pools say where to look. They never decide anything about a skill (see `conjunct.delta.pooled`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from conjunct.model import NEUTRAL, Context, EpisodeSpec

Flags = npt.NDArray[np.bool_]
Whole = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

NO_HISTORY = -1
"""Index of the neutral history; families count from 0."""


@dataclass(frozen=True, slots=True)
class PoolRuns:
    """Episodes to make, one a row. Columns of the flags are the skills of the registry in a fixed order."""

    installed: Flags
    used: Flags
    """Asked for on every turn from `first_use` on; a subset of `installed`."""
    stubbed: Flags
    """Same name, description and schema, inert body; a subset of `installed`."""
    history: Whole
    """Index of the history family, or `NO_HISTORY`."""
    horizon: Whole
    """Turns, from 1."""
    first_use: Whole
    """Turn at which the used skills are asked for the first time."""

    def __len__(self) -> int:
        return int(self.history.shape[0])

    def take(self, rows: npt.ArrayLike) -> PoolRuns:
        """The runs at `rows` (indices or flags), in that order, repeats allowed."""
        index = np.asarray(rows)
        return PoolRuns(
            self.installed[index],
            self.used[index],
            self.stubbed[index],
            self.history[index],
            self.horizon[index],
            self.first_use[index],
        )

    def sizes(self) -> Reals:
        """Installed skills of each run."""
        return np.asarray(self.installed.sum(axis=1), dtype=np.float64)


def one_run(
    skills: int,
    *,
    installed: Sequence[int],
    used: Sequence[int],
    history: int,
    horizon: int,
    first_use: int = 1,
    stubbed: Sequence[int] = (),
    times: int = 1,
) -> PoolRuns:
    """The same episode `times` times, from skill indices; used and stubbed skills are installed too."""
    flags = np.zeros((3, skills), dtype=np.bool_)
    flags[0, [*installed, *used, *stubbed]] = True
    flags[1, list(used)] = True
    flags[2, list(stubbed)] = True
    return PoolRuns(
        np.repeat(flags[:1], times, axis=0),
        np.repeat(flags[1:2], times, axis=0),
        np.repeat(flags[2:], times, axis=0),
        np.full(times, history),
        np.full(times, horizon),
        np.full(times, first_use),
    )


def together(parts: Sequence[PoolRuns]) -> PoolRuns:
    """All runs of `parts` in one table, in order."""
    return PoolRuns(
        np.concatenate([part.installed for part in parts]),
        np.concatenate([part.used for part in parts]),
        np.concatenate([part.stubbed for part in parts]),
        np.concatenate([part.history for part in parts]),
        np.concatenate([part.horizon for part in parts]),
        np.concatenate([part.first_use for part in parts]),
    )


def words_of(runs: PoolRuns) -> list[int]:
    """The skill whose words each row speaks: its first used one, else that of the row before.

    So the arm of a round that lacks the skill itself still asks for it.
    """
    words: list[int] = []
    for used, installed in zip(runs.used, runs.installed, strict=True):
        own = np.flatnonzero(used).tolist() or words[-1:] or np.flatnonzero(installed).tolist() or [0]
        words.append(int(own[0]))
    return words


def specs_of(
    runs: PoolRuns,
    *,
    skills: Sequence[str],
    histories: Sequence[str],
    probe: str,
    first_seed: int = 0,
    words: Sequence[int] | None = None,
) -> Iterator[EpisodeSpec]:
    """The runs as episode specs: the first used skill is the candidate, the others are used after it.

    Every row gets a seed and a comparison of its own, so that equal rows are fresh runs. Rows without a used
    skill speak the words of a skill (see `words_of`) whose package is not installed.
    """
    spoken = words_of(runs) if words is None else words
    for row in range(len(runs)):
        installed = [skills[i] for i in np.flatnonzero(runs.installed[row]).tolist()]
        used = [skills[i] for i in np.flatnonzero(runs.used[row]).tolist()]
        candidate = skills[spoken[row]]
        family = int(runs.history[row])
        seed = first_seed + row
        yield EpisodeSpec(
            probe=probe,
            candidate=candidate,
            context=Context(
                history=NEUTRAL if family == NO_HISTORY else histories[family],
                co_skills=tuple(sorted(set(installed) - {candidate})),
                used_after=tuple(sorted(set(used) - {candidate})),
                horizon=int(runs.horizon[row]),
                first_use=int(runs.first_use[row]),
            ),
            without=not used,
            seed=seed,
            comparison=f"pool+{seed}",
            stubbed=tuple(skills[i] for i in np.flatnonzero(runs.stubbed[row]).tolist()),
            variant=f"randomness:{seed}",
        )


@dataclass(frozen=True, slots=True)
class PoolScope:
    """What is searched: candidates that act beside partners, under histories, up to a horizon."""

    skills: int
    """Skills in the registry."""
    candidates: tuple[int, ...]
    """Skills that are used: the ones to decide about, or, against a new partner, all others."""
    histories: int
    partners: tuple[int, ...] = ()
    """Skills whose presence is varied; empty means every skill of the registry."""
    horizon: int = 6
    used: int = 6
    """Skills asked for in one episode."""
    sizes: tuple[tuple[int, float], ...] = ((24, 0.1), (96, 0.9))
    """(installed skills, share of the episodes). Small pools see triggers that need small installed sets
    and are masked less, large pools see more neighbours at once; what is best depends on attention."""

    def __post_init__(self) -> None:
        bad = [i for i in (*self.candidates, *self.partners) if not 0 <= i < self.skills]
        if bad:
            raise ValueError(f"skill indices {bad[:5]} are outside the registry of {self.skills} skills")
        if not self.candidates or self.histories < 1 or self.horizon < 1 or self.used < 1:
            raise ValueError(
                f"candidates {len(self.candidates)}, histories {self.histories}, horizon {self.horizon}, "
                f"used {self.used}: each must be at least 1"
            )
        if not self.sizes or any(size < 2 or share <= 0 for size, share in self.sizes):
            raise ValueError(f"sizes is {self.sizes}: give (size of at least 2, positive share) pairs")

    @property
    def beside(self) -> tuple[int, ...]:
        """Partners, spelled out."""
        return self.partners or tuple(range(self.skills))


@dataclass(slots=True)
class _Round:
    """One random cut: groups of candidates × blocks of partners × histories, in random order."""

    groups: Whole
    """(group, used) skill indices, padded with `skills`."""
    blocks: Whole
    """(block, size) skill indices, padded with `skills`."""
    fillers: Whole
    """A random order of the registry; blocks that are too small are filled up from it."""
    cells: Whole
    """(cells left, 3): group, block, history."""


@dataclass(slots=True)
class Screen:
    """An endless supply of pools in random order, and the count of what has been looked at cleanly."""

    scope: PoolScope
    generator: np.random.Generator
    clean: npt.NDArray[np.float32] = field(init=False)
    """(candidate, partner, history): attention-weighted clean exposures at full horizon."""
    dropped: set[int] = field(default_factory=set)
    _rounds: dict[int, _Round] = field(default_factory=dict)

    def __post_init__(self) -> None:
        scope = self.scope
        self.clean = np.zeros((len(scope.candidates), len(scope.beside), scope.histories), dtype=np.float32)

    def drop(self, skill: int) -> None:
        """Use `skill` no more (it is decided); it stays present as a neighbour."""
        self.dropped.add(skill)
        for left in self._rounds.values():
            # The round goes on without it: cut anew, it would look at some triples twice and at others not.
            left.groups[left.groups == skill] = self.scope.skills
            alive = np.any(left.groups < self.scope.skills, axis=1)
            left.cells = left.cells[alive[left.cells[:, 0]]]

    @property
    def exhausted(self) -> bool:
        """Whether every candidate is decided."""
        return len(self.dropped & set(self.scope.candidates)) == len(self.scope.candidates)

    def draw(self, count: int) -> PoolRuns:
        """About `count` pools, sizes in their shares, none of them seen before in this round."""
        total = sum(share for _, share in self.scope.sizes)
        parts = []
        for size, share in self.scope.sizes:
            wanted = max(1, round(count * share / total))
            while wanted > 0:
                left = self._rounds.get(size)
                if left is None or not len(left.cells):
                    left = self._rounds[size] = self._cut(size)
                cells, left.cells = left.cells[:wanted], left.cells[wanted:]
                parts.append(self._runs(left, cells, size))
                wanted -= len(cells)
        return together(parts)

    def _cut(self, size: int) -> _Round:
        scope, generator = self.scope, self.generator
        candidates = np.array([c for c in scope.candidates if c not in self.dropped], dtype=np.int64)
        partners = np.array(scope.beside, dtype=np.int64)
        generator.shuffle(candidates)
        generator.shuffle(partners)
        groups = _pieces(candidates, min(scope.used, size - 1), scope.skills)
        blocks = _pieces(partners, max(1, size - groups.shape[1]), scope.skills)
        grid = np.indices((len(groups), len(blocks), scope.histories)).reshape(3, -1).T
        generator.shuffle(grid)
        return _Round(groups, blocks, generator.permutation(scope.skills), grid)

    def _runs(self, cut: _Round, cells: Whole, size: int) -> PoolRuns:
        scope, rows = self.scope, np.arange(len(cells))[:, None]
        used = np.zeros((len(cells), scope.skills + 1), dtype=np.bool_)
        used[rows, cut.groups[cells[:, 0]]] = True
        installed = used.copy()
        installed[rows, cut.blocks[cells[:, 1]]] = True
        missing = min(size, scope.skills) - cut.groups.shape[1] - cut.blocks.shape[1]
        if missing > 0:
            start = self.generator.integers(0, scope.skills, size=(len(cells), 1))
            installed[rows, cut.fillers[(start + np.arange(missing)) % scope.skills]] = True
        return PoolRuns(
            installed[:, :-1],
            used[:, :-1],
            np.zeros((len(cells), scope.skills), dtype=np.bool_),
            cells[:, 2].astype(np.int64),
            np.full(len(cells), scope.horizon),
            np.ones(len(cells), dtype=np.int64),
        )

    def count_clean(self, runs: PoolRuns, weight: Reals) -> None:
        """Add clean runs to the exposures, each weighted by the agent's relative attention in it."""
        if not len(runs):
            return
        candidates, beside = np.array(self.scope.candidates), np.array(self.scope.beside)
        for family in np.unique(runs.history[runs.history >= 0]):
            here = np.flatnonzero(runs.history == family)
            used = runs.used[here][:, candidates]
            rows = np.flatnonzero(used.any(axis=0))
            weighted = used[:, rows].astype(np.float32) * weight[here, None].astype(np.float32)
            self.clean[rows, :, family] += weighted.T @ runs.installed[here][:, beside].astype(np.float32)


def _pieces(members: Whole, size: int, padding: int) -> Whole:
    """Cut into pieces of nearly equal size, at most `size` each, padded to a rectangle."""
    count = max(1, -(-len(members) // size))
    bounds = np.linspace(0, len(members), count + 1).round().astype(int)
    width = max(int(end - start) for start, end in pairwise(bounds))
    table = np.full((count, width), padding, dtype=np.int64)
    for row, (start, end) in enumerate(pairwise(bounds)):
        table[row, : end - start] = members[start:end]
    return table
