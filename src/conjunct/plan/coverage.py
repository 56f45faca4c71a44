"""How many contexts of the scope a set of runs settles, and how many rest on an assumption.

The scope of one candidate is every user history × every installed set out of {nothing else, each single
neighbour, all neighbours} × every turn up to the horizon. A context is `run` if an episode was made in it;
`settled` if some episode asked nothing whose answer differs between the two; `assumed` otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from conjunct.model import NEUTRAL, Context, EpisodeSpec, FactorKind
from conjunct.plan.carriers import EVERYTHING, Question


@dataclass(frozen=True, slots=True)
class ContextCount:
    """Contexts of the scope by how they were decided; the three add up to the scope."""

    run: int
    settled: int
    assumed: int


@dataclass(frozen=True, slots=True)
class _Run:
    history: str
    co_skills: frozenset[str]
    asks_history: bool
    asks_listing: bool
    asked_skills: frozenset[str]


def _summarise(context: Context, asked: frozenset[Question], ids_by_folder: dict[str, str]) -> _Run:
    details = {question.detail for question in asked if question.factor is FactorKind.CO_SKILLS}
    return _Run(
        history=context.history,
        co_skills=frozenset(context.co_skills),
        asks_history=any(question.factor is FactorKind.HISTORY for question in asked),
        asks_listing=EVERYTHING in details,
        asked_skills=frozenset(ids_by_folder[name] for name in details if name in ids_by_folder),
    )


def _settles(run: _Run, history: str, co_skills: frozenset[str]) -> bool:
    if run.asks_history and history != run.history:
        return False
    if run.asks_listing:
        return co_skills == run.co_skills
    return co_skills & run.asked_skills == run.co_skills & run.asked_skills


def count_contexts(
    runs: Iterable[tuple[EpisodeSpec, frozenset[Question]]],
    *,
    histories: Sequence[str],
    neighbours: Sequence[str],
    horizon: int,
    ids_by_folder: dict[str, str],
) -> ContextCount:
    """Count contexts run, settled and assumed; `runs` pairs each spec with what its run asked."""
    summaries = list(dict.fromkeys(_summarise(spec.context, asked, ids_by_folder) for spec, asked in runs))
    sets: list[frozenset[str]] = [frozenset()] + [frozenset({skill}) for skill in neighbours]
    if len(neighbours) > 1:
        sets.append(frozenset(neighbours))
    done = {(summary.history, summary.co_skills) for summary in summaries}
    run = settled = assumed = 0
    for history in (NEUTRAL, *histories):
        candidates = [s for s in summaries if not s.asks_history or s.history == history]
        for co_skills in sets:
            if (history, co_skills) in done:
                run += 1
            elif any(_settles(summary, history, co_skills) for summary in candidates):
                settled += 1
            else:
                assumed += 1
    return ContextCount(run=run * horizon, settled=settled * horizon, assumed=assumed * horizon)
