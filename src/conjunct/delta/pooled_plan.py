"""A pooled search as a plan of episodes, for any executor."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np

from conjunct.delta.pooled import PooledSearch
from conjunct.model import Episode, EpisodeSpec
from conjunct.plan.pools import Flags, specs_of


def pooled_plan(
    search: PooledSearch,
    *,
    skills: Sequence[str],
    histories: Sequence[str],
    probe: str,
    invariants: Sequence[str],
    retries: int = 3,
) -> Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], int]:
    """Yield specs, be sent their episodes in order; read the findings from `search`, at any time.

    `skills`, `histories` and `invariants` name what the search numbers. An undetermined episode is no
    observation: the same context is run again, freshly, up to `retries` times. Returns how many rows stayed
    undetermined even so; they count as clean, so say so in the coverage. Raises `ValueError` where names and
    numbers do not match.
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
        outcomes: Flags = np.zeros((len(runs), len(invariants)), dtype=np.bool_)
        open_rows = np.arange(len(runs))
        for _ in range(retries + 1):
            specs = tuple(
                specs_of(
                    runs.take(open_rows), skills=skills, histories=histories, probe=probe, first_seed=seed
                )
            )
            seed += len(specs)
            episodes = yield specs
            for row, episode in zip(open_rows.tolist(), episodes, strict=True):
                for violation in episode.violations:
                    if violation.invariant in column and not episode.trace.undetermined:
                        outcomes[row, column[violation.invariant]] = True
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
