"""How many contexts of the scope a set of runs settles, and how many rest on an assumption.

The scope of one candidate is every user history × every installed set out of {nothing else, each single
neighbour, all neighbours} × every turn up to the horizon. A context is `run` if an episode was made in it;
`settled` if some episode asked nothing whose answer differs between the two; `assumed` otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

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


def settled_by(
    run: Context,
    asked: frozenset[Question],
    *,
    history: str,
    co_skills: frozenset[str],
    ids_by_folder: dict[str, str],
) -> bool:
    """Whether a run of context `run` that asked `asked` could not have told these from its own."""
    return in_scope(run) and _settles(_summarise(run, asked, ids_by_folder), history, co_skills)


def _groups(
    runs: Sequence[tuple[EpisodeSpec, frozenset[Question]]], ids_by_folder: dict[str, str]
) -> list[list[_Run]]:
    """Runs by what their probe asked in its neutral run; each group holds those that asked at least as much.

    A probe that asked nothing settles everything for itself, but nothing for a probe that read the history:
    a context counts as settled only if it is so for every group.
    """
    asks: dict[str, frozenset[FactorKind]] = {}
    for spec, asked in runs:
        kinds = frozenset(question.factor for question in asked) & _COUNTED
        asks[spec.probe] = asks.get(spec.probe, frozenset()) | (
            kinds if is_neutral(spec.context) else frozenset()
        )
    found = []
    for kinds in sorted({frozenset(k) for k in asks.values()}, key=sorted):
        members = [(spec, asked) for spec, asked in runs if asks[spec.probe] >= kinds]
        found.append(
            list(dict.fromkeys(_summarise(spec.context, asked, ids_by_folder) for spec, asked in members))
        )
    return found


_COUNTED = frozenset({FactorKind.HISTORY, FactorKind.CO_SKILLS})


def in_scope(context: Context) -> bool:
    """Whether only history and installed set differ from the reference context.

    A run under another date, variable or input may leave out a question that the counted contexts ask, so it
    settles none of them.
    """
    return is_neutral(replace(context, history=NEUTRAL, phrasing=0, co_skills=())) and (
        context.arguments == NEUTRAL
    )


def is_neutral(context: Context) -> bool:
    """Whether nothing but the horizon and the first use differ from the reference context."""
    return replace(context, horizon=6, first_use=1, arguments=NEUTRAL) == Context()


def count_contexts(
    runs: Iterable[tuple[EpisodeSpec, frozenset[Question]]],
    *,
    histories: Sequence[str],
    neighbours: Sequence[str],
    horizon: int,
    ids_by_folder: dict[str, str],
) -> ContextCount:
    """Count contexts run, settled and assumed; `runs` pairs each spec with what its run asked."""
    groups = _groups([one for one in runs if in_scope(one[0].context)], ids_by_folder)
    sets = _sets(neighbours, groups)
    done = [{(summary.history, summary.co_skills) for summary in group} for group in groups]
    run = settled = assumed = 0
    for history in (NEUTRAL, *histories):
        able = [[s for s in group if not s.asks_history or s.history == history] for group in groups]
        for co_skills, alike in sets:
            made = [(history, co_skills) in one for one in done]
            if all(
                was_made or any(_settles(summary, history, co_skills) for summary in candidates)
                for was_made, candidates in zip(made, able, strict=True)
            ):
                run += alike * any(made)
                settled += alike * (not any(made))
            else:
                assumed += alike
    return ContextCount(run=run * horizon, settled=settled * horizon, assumed=assumed * horizon)


def _sets(neighbours: Sequence[str], groups: Sequence[Sequence[_Run]]) -> list[tuple[frozenset[str], int]]:
    """The installed sets of the scope, each with how many are decided alike.

    Neighbours that no run looked for and none had as its only one are told apart by nothing: among a thousand
    they are nearly all.
    """
    runs = [one for group in groups for one in group]
    special = {skill for one in runs for skill in one.asked_skills}
    special |= {skill for one in runs if len(one.co_skills) == 1 for skill in one.co_skills}
    plain = [skill for skill in neighbours if skill not in special]
    sets: list[tuple[frozenset[str], int]] = [(frozenset(), 1)]
    sets += [(frozenset({skill}), 1) for skill in neighbours if skill in special]
    if plain:
        sets.append((frozenset({plain[0]}), len(plain)))
    if len(neighbours) > 1:
        sets.append((frozenset(neighbours), 1))
    return sets
