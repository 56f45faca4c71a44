"""A pooled search as a plan of episodes, for any executor."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

import numpy as np

from conjunct.delta.pooled import PooledSearch
from conjunct.model import MINIMUM_HORIZON, Episode, EpisodeSpec
from conjunct.plan.pools import Flags, PoolRuns, specs_of, words_of


def pooled_plan(
    search: PooledSearch,
    *,
    skills: Sequence[str],
    histories: Sequence[str],
    probe: str,
    invariants: Sequence[str],
    retries: int = 3,
    fingerprint: str = "",
    enough: Callable[[], bool] = lambda: False,
    seen: Callable[[int, Episode], None] = lambda _row, _episode: None,
) -> Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], int]:
    """Yield specs, be sent their episodes in order; read the findings from `search`, at any time.

    `skills`, `histories` and `invariants` name what the search numbers. An undetermined episode is no
    observation: the same context is run again, freshly, up to `retries` times. Conversations shorter than
    the world allows are made in that length, and what happens after the turn asked for is left out. Before
    each request for screening `enough` may end the search; `seen` is told invariant and episode of every
    violation that counts. Returns how many rows stayed undetermined even so; they count as clean, so say so
    in the coverage. Raises `ValueError` where names and numbers do not match.
    """
    scope = search.scope
    if (len(skills), len(histories), len(invariants)) != (
        scope.skills,
        scope.histories,
        len(search.noise.base),
    ):
        raise ValueError(
            f"got {len(skills)} skills, {len(histories)} histories, {len(invariants)} invariants; the search "
            f"numbers {scope.skills}, {scope.histories}, {len(search.noise.base)}"
        )
    column = {name: position for position, name in enumerate(invariants)}
    seed, lost = search.seed << 32, 0
    work = search.run()
    runs = next(work, None)
    while runs is not None:
        if search.screening and enough():
            work.close()
            break
        outcomes: Flags = np.zeros((len(runs), len(invariants)), dtype=np.bool_)
        words, open_rows = words_of(runs), np.arange(len(runs))
        for _ in range(retries + 1):
            asked = runs.take(open_rows)
            made = specs_of(
                asked,
                skills=skills,
                histories=histories,
                probe=probe,
                first_seed=seed,
                words=[words[row] for row in open_rows.tolist()],
            )
            specs = tuple(_long_enough(spec, fingerprint) for spec in made)
            seed += len(specs)
            episodes = yield specs
            for row, episode in zip(open_rows.tolist(), episodes, strict=True):
                for name in _violated(episode, last_turn=_last_turn(runs, row)) & column.keys():
                    outcomes[row, column[name]] = True
                    seen(column[name], episode)
            failed = [bool(episode.trace.undetermined) for episode in episodes]
            open_rows = open_rows[np.array(failed, dtype=np.bool_)]
            if not open_rows.size:
                break
        lost += int(open_rows.size)
        try:
            runs = work.send(outcomes)
        except StopIteration:
            runs = None
    return lost


def _long_enough(spec: EpisodeSpec, fingerprint: str) -> EpisodeSpec:
    horizon = max(spec.context.horizon, MINIMUM_HORIZON)
    return replace(spec, context=replace(spec.context, horizon=horizon), fingerprint=fingerprint)


def _last_turn(runs: PoolRuns, row: int) -> int:
    return int(runs.horizon[row])


def _violated(episode: Episode, *, last_turn: int) -> set[str]:
    """Invariants violated up to a turn; none where the episode is no observation.

    The first turns of a conversation do not depend on how many follow.
    """
    if episode.trace.undetermined:
        return set()
    return {violation.invariant for violation in episode.violations if violation.turn <= last_turn}
