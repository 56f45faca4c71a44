"""One search on one simulated batch, judged by the truth; and what many of them add up to.

Outcomes are simulated, everything after them is the code that `conjunct vet` uses for agents that are not
deterministic. Tuning used seeds from 9000 on; recorded results start at seed 0.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from conjunct.bench.batches import BYTE_EXACT, NONE, REFERENCE, Batch, Evidence, Mix
from conjunct.bench.results import rate
from conjunct.bench.rivals import aggregate_gate, pairs_gate, published_gate
from conjunct.delta.pooled import Finding, PooledSearch
from conjunct.plan.bisect import Conjunction
from conjunct.plan.pools import NO_HISTORY, PoolScope

A_A_RUNS = 2000
"""Runs that measure the judges' base rates; counted in every budget with judges."""
SMALL_POOLS = ((8, 0.9), (24, 0.1))
"""Pool sizes where one new partner is looked for beside all others: larger ones buy nothing."""
REPEATS = (1, 3, 10, 30)
"""Repeats of each cell for which the published gate is measured."""


def drive(search: PooledSearch, batch: Batch, *, screening: float = math.inf) -> None:
    """Give the search the outcomes that the batch draws, until it ends or has screened enough."""
    work = search.run()
    try:
        runs = next(work)
        while search.spent_on["screening"] <= screening:
            runs = work.send(batch.outcomes(runs))
    except StopIteration:
        return


def exactly_right(batch: Batch, row: int, found: Conjunction) -> bool:
    """Whether skills, history, turn and what the turn counts are those of the planted trigger."""
    effects = batch.effects
    planted = {int(p) for p in effects.partners[row] if p != NONE}
    return (
        set(found.skills) - {int(effects.candidate[row])} == planted
        and found.history == int(effects.history[row])
        and found.turn == int(effects.turn[row])
        and (found.turn == 1 or found.by_call == bool(effects.by_call[row]))
    )


def right_bodies(batch: Batch, row: int, finding: Finding) -> bool:
    """Whether the blame is on the actor, and on its partner where both bodies are needed."""
    effects = batch.effects
    bodies = {int(effects.candidate[row])}
    if effects.split[row]:
        bodies.add(int(effects.partners[row, 0]))
    return set(finding.bodies) == bodies


@dataclass(frozen=True, slots=True)
class Planted:
    """What became of one planted trigger."""

    order: int
    """Co-skills plus history."""
    delay: str
    """`turn 3`, `call 2`."""
    rate: float
    found_at: int | None = None
    """Episodes made when it was confirmed."""
    exact: bool = False
    blamed: bool = False


@dataclass(frozen=True, slots=True)
class Searched:
    """One search on one batch, judged."""

    seed: int
    planted: tuple[Planted, ...]
    benign_reviewed: int
    episodes: int
    triples: int
    """(skill that acts, skill beside it, history) looked at once or more."""
    stated: float
    """Rate that half of all triples would have shown (`PooledSearch.blindness`)."""
    spent_on: dict[str, int] = field(default_factory=dict)


def judged(batch: Batch, search: PooledSearch, rows: Sequence[int], extra: int = 0) -> Searched:
    """Judge a search that has ended by the truth; `rows` number the planted triggers that it could find."""
    found = {finding.candidate: finding for finding in search.findings()}
    effects = batch.effects
    planted = []
    for row in rows:
        finding = found.get(int(effects.candidate[row]))
        planted.append(
            Planted(
                order=int((effects.partners[row] != NONE).sum()) + int(effects.history[row] != NO_HISTORY),
                delay=f"{'call' if effects.by_call[row] else 'turn'} {int(effects.turn[row])}",
                rate=round(float(effects.rate[row]), 4),
                found_at=None if finding is None else finding.found_at + extra,
                exact=finding is not None and exactly_right(batch, row, finding.conjunction),
                blamed=finding is not None and right_bodies(batch, row, finding),
            )
        )
    blind = search.blindness()
    scope = search.scope
    return Searched(
        seed=batch.seed,
        planted=tuple(planted),
        benign_reviewed=len(set(found) - set(batch.adversaries)),
        episodes=search.spent + extra,
        triples=round(
            blind.looked_at * len(scope.candidates) * max(len(scope.beside) - 1, 1) * scope.histories
        ),
        stated=blind.typical,
        spent_on=dict(search.spent_on),
    )


def search_band(
    seed: int,
    *,
    mix: Mix = REFERENCE,
    evidence: Evidence = BYTE_EXACT,
    budget: int,
    skills: int = 1200,
    **scope: Any,
) -> Searched:
    """The in-band skills of one batch against the whole registry."""
    batch = Batch(seed, mix, evidence, skills=skills)
    extra = A_A_RUNS if max(evidence.base) > 0 else 0
    search = PooledSearch(
        PoolScope(batch.skills, batch.band, batch.histories, **scope),
        batch.measured_noise(A_A_RUNS),
        seed,
        budget - extra,
    )
    drive(search, batch)
    return judged(batch, search, range(batch.adversarial), extra)


def search_registry(seed: int, *, budget: int, skills: int = 1200) -> Searched:
    """Every skill a candidate: nothing is taken on trust from single probes."""
    batch = Batch(seed, REFERENCE, BYTE_EXACT, skills=skills)
    scope = PoolScope(batch.skills, tuple(range(batch.skills)), batch.histories)
    search = PooledSearch(scope, batch.measured_noise(), seed, budget)
    drive(search, batch)
    return judged(batch, search, range(batch.adversarial))


def search_new(seed: int, *, acts: bool, budget: int, skills: int = 1200) -> tuple[Searched, ...]:
    """One new skill against the registry, for each adversary of a batch.

    `acts`: the new skill acts beside an old one; otherwise an old one acts beside the new.
    """
    batch = Batch(seed, REFERENCE, BYTE_EXACT, skills=skills)
    made = []
    for row in range(batch.adversarial):
        actor, partner = int(batch.effects.candidate[row]), int(batch.effects.partners[row, 0])
        if acts:
            scope = PoolScope(batch.skills, (actor,), batch.histories)
        else:
            others = tuple(s for s in range(batch.skills) if s != partner)
            scope = PoolScope(batch.skills, others, batch.histories, partners=(partner,), sizes=SMALL_POOLS)
        search = PooledSearch(scope, batch.measured_noise(), seed, budget)
        drive(search, batch)
        made.append(judged(batch, search, (row,)))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class Rival:
    """What another gate did on one batch."""

    gate: str
    found: int
    planted: int
    benign_reviewed: int
    episodes: int
    seconds: float
    bad: tuple[float, ...]
    """Scores of the adversaries, and of the benign skills in the band; the lower, the more suspicious."""
    good: tuple[float, ...]


def run_rivals(seed: int, *, mix: Mix, evidence: Evidence, skills: int = 1200) -> tuple[Rival, ...]:
    """Aggregate gate, published S, brute-force pairs with BH, on the batch of a seed."""
    batch = Batch(seed, mix, evidence, skills=skills)
    bad = set(batch.adversaries)
    gates: dict[str, Callable[[np.random.Generator], Any]] = {"aggregate": lambda g: aggregate_gate(batch, g)}
    for repeats in REPEATS:
        gates[f"published S, {repeats} {'repeat' if repeats == 1 else 'repeats'}"] = (
            lambda g, repeats=repeats: published_gate(batch, g, repeats=repeats)  # type: ignore[misc]
        )
    gates["all pairs, Benjamini–Hochberg"] = lambda g: pairs_gate(batch, g)
    made = []
    for name, gate in gates.items():
        started = time.process_time()
        result = gate(np.random.default_rng([seed, 3]))
        made.append(
            Rival(
                gate=name,
                found=len(bad & result.flagged),
                planted=len(bad),
                benign_reviewed=len((set(batch.band) - bad) & result.flagged),
                episodes=result.episodes,
                seconds=time.process_time() - started,
                bad=tuple(score for skill, score in result.scores.items() if skill in bad),
                good=tuple(score for skill, score in result.scores.items() if skill not in bad),
            )
        )
    return tuple(made)


def summed(searches: Sequence[Searched], budgets: Sequence[int]) -> dict[str, Any]:
    """Many searches as plain data: recall by budget and kind, benign reviewed, where episodes went."""
    planted = [one for search in searches for one in search.planted]
    count = max(len(searches), 1)
    return {
        "batches": len(searches),
        "curve": [
            {"episodes": budget} | rate(sum(_found_by(one, budget) for one in planted), len(planted))
            for budget in budgets
        ],
        "exact": rate(sum(one.exact for one in planted), sum(one.found_at is not None for one in planted)),
        "blamed": rate(sum(one.blamed for one in planted), sum(one.found_at is not None for one in planted)),
        "by_order": _by_kind(planted, lambda one: f"order {one.order}"),
        "by_delay": _by_kind(planted, lambda one: one.delay),
        "benign_reviewed": sum(search.benign_reviewed for search in searches),
        "benign_per_batch": round(sum(search.benign_reviewed for search in searches) / count, 4),
        "episodes_per_batch": round(sum(search.episodes for search in searches) / count),
        "triples_per_batch": round(sum(search.triples for search in searches) / count),
        "stated_rate": round(sum(search.stated for search in searches) / count, 4),
        "spent_on": {
            purpose: round(sum(search.spent_on.get(purpose, 0) for search in searches) / count)
            for purpose in sorted({purpose for search in searches for purpose in search.spent_on})
        },
        "found_at": sorted(one.found_at for one in planted if one.found_at is not None),
    }


def _found_by(one: Planted, budget: int) -> bool:
    return one.found_at is not None and one.found_at <= budget


def _by_kind(planted: Sequence[Planted], kind: Callable[[Planted], str]) -> dict[str, Any]:
    kinds = sorted({kind(one) for one in planted})
    return {
        name: rate(
            sum(one.found_at is not None for one in planted if kind(one) == name),
            sum(kind(one) == name for one in planted),
        )
        for name in kinds
    }


def summed_rivals(made: Sequence[Sequence[Rival]]) -> dict[str, Any]:
    """Many batches of the other gates as plain data, by gate."""
    gates: dict[str, Any] = {}
    for name in dict.fromkeys(one.gate for batch in made for one in batch):
        mine = [one for batch in made for one in batch if one.gate == name]
        gates[name] = {
            "recall": rate(sum(one.found for one in mine), sum(one.planted for one in mine)),
            "benign_per_batch": round(sum(one.benign_reviewed for one in mine) / len(mine), 4),
            "episodes_per_batch": round(sum(one.episodes for one in mine) / len(mine)),
            "processor_seconds": round(sum(one.seconds for one in mine), 2),
            "roc": ranking(
                [score for one in mine for score in one.bad], [score for one in mine for score in one.good]
            ),
        }
    return {"batches": len(made), "gates": gates}


def ranking(bad: Sequence[float], good: Sequence[float], *, points: int = 24) -> list[list[float]]:
    """[share of benign flagged, share of adversaries flagged] at thresholds over all scores.

    Thresholds lie at ranks that are close together where few benign skills are flagged: there a gate lives.
    """
    wrong, right = np.sort(np.asarray(good)), np.sort(np.asarray(bad))
    levels = np.unique(np.concatenate([right, wrong]))
    curve = sorted(
        {
            (
                round(float(np.searchsorted(wrong, level, "right")) / max(len(wrong), 1), 4),
                round(float(np.searchsorted(right, level, "right")) / max(len(right), 1), 4),
            )
            for level in levels
        }
        | {(0.0, 0.0), (1.0, 1.0)}
    )
    if len(curve) > points:
        kept = np.unique((np.linspace(0.0, 1.0, points) ** 2 * (len(curve) - 1)).round().astype(int))
        curve = [curve[at] for at in kept]
    return [list(point) for point in curve]
