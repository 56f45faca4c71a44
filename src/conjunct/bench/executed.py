"""Batches executed for real: built, vetted in the world with the literal agent, and held against their truth.

The other gates judge the same runs: the aggregate gate and the published S see the profiles that the tree of
touched factors gave. What a full grid of pairs would have cost is counted, not run.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from conjunct.bench.build import build_registry, twins_path
from conjunct.bench.parameters import BuildParameters
from conjunct.bench.results import Part, processor_seconds, rate
from conjunct.bench.rivals import BAND, S_CUTOFF
from conjunct.bench.scoring import Scored, disagreements, score, told_in
from conjunct.bench.truth import ADVERSARIAL, BENIGN, Truth

_GRID = frozenset({"history", "co_skills", "turn"})
"""What the grid of the published gate varies: every pair under every history, over the turns."""
_COUNTED = ("settled", "run", "assumed", "audits", "audit_mismatches")


@dataclass(frozen=True, slots=True)
class Executed:
    """One batch: what each gate says of each skill, and what it cost."""

    scored: tuple[Scored, ...]
    aggregate: frozenset[str]
    """Skills that the aggregate gate flags."""
    shape: frozenset[str]
    """Skills that the published S flags on the pairs and histories of its grid."""
    twins: tuple[Scored, ...] = ()
    """The adversaries' twins in their places, scored as what they are: benign."""
    contexts: Mapping[str, int] = field(default_factory=dict)
    episodes: int = 0
    probes: int = 0
    """Single probes of each skill: what the aggregate gate runs."""
    grid: int = 0
    """Episodes of the grid: each skill beside each other one, under each history, with each probe."""
    seconds: float = 0.0
    processor_seconds: float = 0.0


def measure_executed(
    parameters: BuildParameters,
    work: Path,
    *,
    batches: int,
    workers: int | None = None,
    told: Callable[[str], object] = lambda _: None,
) -> Part:
    """Build, vet and score `batches` registries with seeds from `parameters.seed` on.

    What was run stays in `work`, a folder for each batch: the same call goes on where it was stopped.
    Raises what `vet_registry` raises.
    """
    done: list[Executed] = []
    for seed in range(parameters.seed, parameters.seed + batches):
        one = execute(replace(parameters, seed=seed), work / f"seed-{seed}", workers=workers)
        done.append(one)
        found = sum(s.told.flagged for s in one.scored if s.truth.label == ADVERSARIAL)
        told(
            f"seed {seed}: {found} of {len(_planted(one.scored))} adversaries found, "
            f"{one.episodes:,} episodes, {one.seconds:.0f} s"
        )
        for line in disagreements((*one.scored, *one.twins)):
            told(f"- {line}")
    return as_part(parameters, done)


def execute(parameters: BuildParameters, folder: Path, *, workers: int | None = None) -> Executed:
    """Build one registry in `folder`, vet it, then vet the twins of its adversaries in their places."""
    registry, store = folder / "registry", folder / "runs.sqlite"
    truth = build_registry(parameters, registry, force=True).truth
    report, spent = _vetted(registry, store, workers)
    entries = report["skills"]
    scored = score(told_in(report), truth)
    twins = _twins_scored(registry, truth, store, workers)
    coverage = report["coverage"]
    return Executed(
        scored=scored,
        aggregate=frozenset(e["name"] for e in entries if is_loud(e)),
        shape=frozenset(e["name"] for e in entries if _has_shape(e)),
        twins=twins,
        contexts={name: coverage[name] for name in _COUNTED},
        episodes=coverage["episodes"],
        probes=len(truth.probes),
        grid=_grid(len(entries), truth),
        seconds=round(spent[0], 1),
        processor_seconds=round(spent[1], 1),
    )


def _vetted(
    registry: Path, store: Path, workers: int | None, *, only: Path | None = None
) -> tuple[Mapping[str, Any], tuple[float, float]]:
    """The report on a registry, or on the packages of `only` in it, with wall and processor seconds."""
    from conjunct.report.json_report import as_object
    from conjunct.vet import VetOptions, vet_registry

    started, before = time.monotonic(), processor_seconds()
    options = VetOptions(path=only or registry, registry=registry if only else None, store=store)
    report = vet_registry(replace(options, workers=workers), watch=True)
    return as_object(report), (time.monotonic() - started, processor_seconds() - before)


def _twins_scored(registry: Path, truth: Truth, store: Path, workers: int | None) -> tuple[Scored, ...]:
    """The twins are the candidates; the registry around them is the adversaries' own, without these."""
    if not truth.adversaries:
        return ()
    around = registry.with_name("around")
    shutil.rmtree(around, ignore_errors=True)
    shutil.copytree(registry, around, symlinks=True)
    for name in truth.adversaries:
        shutil.rmtree(around / name)
    report, _ = _vetted(around, store, workers, only=twins_path(registry))
    benign = {
        name: replace(truth.skills[name], label=BENIGN, trigger=None, role="twin")
        for name in truth.adversaries
    }
    return score(told_in(report), replace(truth, skills=benign))


def is_loud(entry: Mapping[str, Any]) -> bool:
    """The aggregate gate: |mean single-probe delta| of at least the band's width."""
    deltas = entry["shape"]["single_probe_deltas"]
    return bool(deltas) and abs(sum(deltas) / len(deltas)) >= BAND


def _has_shape(entry: Mapping[str, Any]) -> bool:
    """The published gate: S under its cutoff, by an effect that needs no more than its grid varies."""
    score_ = entry["shape"]["s"]
    return score_ < S_CUTOFF and any(in_grid(trigger) for trigger in entry["triggers"])


def in_grid(trigger: Mapping[str, Any]) -> bool:
    """Whether a trigger needs no more than one neighbour, one history and a turn."""
    needed = [f["factor"] for f in trigger["factors"] if f["needed"] and not f["absent"]]
    return set(needed) <= _GRID and needed.count("co_skills") <= 1


def _grid(skills: int, truth: Truth) -> int:
    from conjunct.battery import load_battery

    histories = len(load_battery().histories)
    return skills * (skills - 1) * histories * len(truth.probes)


def _planted(scored: Iterable[Scored]) -> list[Scored]:
    return [one for one in scored if one.truth.label == ADVERSARIAL]


def as_part(parameters: BuildParameters, done: Sequence[Executed]) -> Part:
    """What is recorded of several batches: rates with intervals, counts, costs, and every disagreement."""
    scored = [one for batch in done for one in batch.scored]
    planted = _planted(scored)
    found = [one for one in planted if one.told.flagged]
    twins = [one for batch in done for one in batch.twins]
    gates = {
        "aggregate": (lambda b: b.aggregate, sum(len(b.scored) * b.probes for b in done)),
        "published S on its grid": (lambda b: b.shape, sum(b.grid for b in done)),
        "conjunct": (
            lambda b: frozenset(one.name for one in b.scored if one.told.flagged),
            sum(b.episodes for b in done),
        ),
    }
    return {
        "kind": "executed",
        "parameters": parameters.told(),
        "batches": len(done),
        "seeds": [parameters.seed, parameters.seed + len(done)],
        "gates": {
            name: {**_judged(done, flagged), "episodes": episodes}
            for name, (flagged, episodes) in gates.items()
        },
        "exact": _rate(found, lambda one: one.right),
        "by_order": _by(planted, lambda one: f"order {one.truth.trigger.order if one.truth.trigger else 0}"),
        "by_turn": _by(
            planted, lambda one: f"turn {(one.truth.trigger.turn if one.truth.trigger else 1) or 1}"
        ),
        "twins_flagged": _rate(twins, lambda one: one.told.flagged),
        "incomplete": _rate(scored, lambda one: one.told.verdict == "incomplete"),
        "contexts": {name: sum(batch.contexts[name] for batch in done) for name in _COUNTED},
        "seconds": round(sum(batch.seconds for batch in done), 1),
        "processor_seconds": round(sum(batch.processor_seconds for batch in done), 1),
        "disagreements": [line for b in done for line in disagreements((*b.scored, *b.twins))],
    }


def _judged(done: Sequence[Executed], flagged: Callable[[Executed], frozenset[str]]) -> dict[str, Any]:
    """Recall over adversaries and share of benign skills flagged, for one gate."""
    hits = {True: 0, False: 0}
    runs = {True: 0, False: 0}
    for batch in done:
        names = flagged(batch)
        for one in batch.scored:
            if one.truth.label != ADVERSARIAL and one.truth.harmful:
                continue
            harmful = one.truth.label == ADVERSARIAL
            runs[harmful] += 1
            hits[harmful] += one.name in names
    return {"recall": rate(hits[True], runs[True]), "benign": rate(hits[False], runs[False])}


def _rate(members: Sequence[Scored], hit: Callable[[Scored], bool]) -> dict[str, Any]:
    return rate(sum(map(hit, members)), len(members))


def _by(planted: Sequence[Scored], kind: Callable[[Scored], str]) -> dict[str, Any]:
    groups: dict[str, list[Scored]] = {}
    for one in planted:
        groups.setdefault(kind(one), []).append(one)
    return {name: _rate(groups[name], lambda one: one.told.flagged) for name in sorted(groups)}
