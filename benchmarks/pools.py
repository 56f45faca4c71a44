"""Gates side by side on simulated reference batches: `python -m benchmarks.pools [--only NAME]`.

Writes `benchmarks/results/pools.json`, from which the tables in `docs/pools.md` are made (`--page`).
Tuning used seeds from 9000 on; published seeds start at 0.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pool_batches import (
    BYTE_EXACT,
    HARDER,
    JUDGES,
    NONE,
    REFERENCE,
    SMALL_SETS,
    THIRD_ORDER,
    WORSE_JUDGES,
    Batch,
    Evidence,
    Mix,
)
from benchmarks.pool_gates import aggregate_gate, pairs_gate, published_gate
from conjunct.delta.evidence import wilson_interval
from conjunct.delta.intervals import exact_interval
from conjunct.delta.pooled import Finding, PooledSearch
from conjunct.delta.rows import e_bh_rows, margin_e_values
from conjunct.plan.bisect import Conjunction
from conjunct.plan.pools import NO_HISTORY, PoolScope

RESULTS = Path(__file__).parent / "results" / "pools.json"
PAGE = Path(__file__).parent.parent / "docs" / "pools.md"
A_A_RUNS = 2000
"""Runs that measure the judges' base rates; counted in every budget with judges."""
NEVER = 1 << 40


def drive(search: PooledSearch, batch: Batch) -> None:
    """Give the search the outcomes that the batch draws, until it ends."""
    work = search.run()
    try:
        runs = next(work)
        while True:
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


@dataclass(slots=True)
class Tallied:
    """What happened to all planted triggers of one procedure."""

    batches: int = 0
    planted: int = 0
    found_at: list[int] = field(default_factory=list)
    exact: int = 0
    blamed: int = 0
    benign: int = 0
    spent: int = 0
    spent_on: dict[str, int] = field(default_factory=dict)
    by_kind: dict[str, list[int]] = field(default_factory=dict)
    """Kind of trigger to (found, planted)."""

    def add(self, batch: Batch, search: PooledSearch, rows: tuple[int, ...], extra: int) -> None:
        """Judge one search by the truth."""
        found = {finding.candidate: finding for finding in search.findings()}
        effects = batch.effects
        self.batches += 1
        self.spent += search.spent + extra
        for purpose, episodes in search.spent_on.items():
            self.spent_on[purpose] = self.spent_on.get(purpose, 0) + episodes
        self.benign += len(set(found) - set(batch.adversaries))
        for row in rows:
            finding = found.get(int(effects.candidate[row]))
            self.planted += 1
            self.found_at.append(NEVER if finding is None else finding.found_at + extra)
            if finding is not None:
                self.exact += exactly_right(batch, row, finding.conjunction)
                self.blamed += right_bodies(batch, row, finding)
            order = int((effects.partners[row] != NONE).sum()) + int(effects.history[row] != NO_HISTORY)
            turn = int(effects.turn[row])
            for kind in (f"order {order}", f"{'call' if effects.by_call[row] else 'turn'} {turn}"):
                counts = self.by_kind.setdefault(kind, [0, 0])
                counts[0] += finding is not None
                counts[1] += 1

    def rows(self, budgets: tuple[int, ...]) -> dict[str, Any]:
        """As plain data, with recall at each budget."""
        curve = []
        for budget in budgets:
            hits = sum(at <= budget for at in self.found_at)
            curve.append({"episodes": budget, "found": hits} | _rate(hits, self.planted))
        found = sum(at != NEVER for at in self.found_at)
        return {
            "batches": self.batches,
            "planted": self.planted,
            "curve": curve,
            "found": found,
            "exact": self.exact,
            "blamed": self.blamed,
            "benign_reviewed": self.benign,
            "benign_per_batch": self.benign / max(self.batches, 1),
            "episodes_per_batch": self.spent / max(self.batches, 1),
            "spent_on": {k: v / max(self.batches, 1) for k, v in sorted(self.spent_on.items())},
            "by_kind": dict(sorted(self.by_kind.items())),
        }


def _rate(hits: int, runs: int) -> dict[str, Any]:
    return {
        "recall": hits / runs if runs else 0.0,
        "wilson": [round(end, 4) for end in wilson_interval(hits, runs)],
        "exact_interval": [round(end, 4) for end in exact_interval(hits, runs)],
    }


def in_band(
    mix: Mix, evidence: Evidence, batches: int, budgets: tuple[int, ...], **scope: Any
) -> dict[str, Any]:
    """The 47 in-band skills of each batch against the whole registry."""
    tallied = Tallied()
    extra = A_A_RUNS if max(evidence.base) > 0 else 0
    for seed in range(batches):
        batch = Batch(seed, mix, evidence)
        search = PooledSearch(
            PoolScope(batch.skills, batch.band, batch.histories, **scope),
            batch.measured_noise(A_A_RUNS),
            seed,
            budgets[-1] - extra,
        )
        drive(search, batch)
        tallied.add(batch, search, tuple(range(batch.adversarial)), extra)
    return tallied.rows(budgets)


def whole_registry(batches: int, budgets: tuple[int, ...]) -> dict[str, Any]:
    """Every skill a candidate: nothing is taken on trust from single probes."""
    tallied = Tallied()
    for seed in range(batches):
        batch = Batch(seed, REFERENCE, BYTE_EXACT)
        scope = PoolScope(batch.skills, tuple(range(batch.skills)), batch.histories)
        search = PooledSearch(scope, batch.measured_noise(), seed, budgets[-1])
        drive(search, batch)
        tallied.add(batch, search, tuple(range(batch.adversarial)), 0)
    return tallied.rows(budgets)


def one_new(batches: int, budgets: tuple[int, ...], *, acts: bool) -> dict[str, Any]:
    """One new skill against the registry: it acts beside an old one, or an old one acts beside it."""
    tallied = Tallied()
    for seed in range(batches):
        batch = Batch(seed, REFERENCE, BYTE_EXACT)
        for row in range(batch.adversarial):
            actor, partner = int(batch.effects.candidate[row]), int(batch.effects.partners[row, 0])
            if acts:
                scope = PoolScope(batch.skills, (actor,), batch.histories)
            else:
                others = tuple(s for s in range(batch.skills) if s != partner)
                scope = PoolScope(
                    batch.skills, others, batch.histories, partners=(partner,), sizes=((8, 0.9), (24, 0.1))
                )
            search = PooledSearch(scope, batch.measured_noise(), seed, budgets[-1])
            drive(search, batch)
            tallied.add(batch, search, (row,), 0)
    return tallied.rows(budgets)


def other_gates(mix: Mix, evidence: Evidence, batches: int) -> dict[str, Any]:
    """Aggregate gate, published S, brute-force pairs with BH, on the same batches."""
    gates: dict[str, Callable[[Batch, np.random.Generator], Any]] = {"aggregate": aggregate_gate}
    for repeats in (1, 3, 10, 30):
        gates[f"published S, {repeats} repeats"] = partial(published_gate, repeats=repeats)
    gates["all pairs, BH with minimal effect"] = pairs_gate
    found: dict[str, list[int]] = {name: [0, 0, 0, 0] for name in gates}
    for seed in range(batches):
        batch = Batch(seed, mix, evidence)
        bad = set(batch.adversaries)
        for name, gate in gates.items():
            result = gate(batch, np.random.default_rng([seed, 3]))
            counts = found[name]
            counts[0] += len(bad & result.flagged)
            counts[1] += len(bad)
            counts[2] += len((set(batch.band) - bad) & result.flagged)
            counts[3] += result.episodes
    return {
        name: {
            "batches": batches,
            "found": hits,
            "planted": planted,
            "benign_per_batch": benign / batches,
            "episodes_per_batch": episodes / batches,
        }
        | _rate(hits, planted)
        for name, (hits, planted, benign, episodes) in found.items()
    }


def million_rows() -> dict[str, Any]:
    """One million matched rows of 4,000 candidates with two elements each: seconds and memory."""
    generator = np.random.default_rng(1)
    rows = 1_000_000
    candidate = generator.integers(0, 4_000, rows)
    element = generator.integers(0, 2, rows)
    whole = generator.random(rows) < np.where(candidate < 100, 0.8, 0.05)
    lacking = generator.random(rows) < 0.05
    started = time.perf_counter()
    _, evidence = margin_e_values(candidate, element, whole, lacking)
    rejected = int(e_bh_rows(evidence).sum())
    return {
        "rows": rows,
        "candidates": 4_000,
        "seconds": round(time.perf_counter() - started, 3),
        "peak_megabytes_of_the_process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "rejected": rejected,
    }


def parts(scale: float) -> dict[str, Callable[[], dict[str, Any]]]:
    """Everything that is measured, by name; `scale` multiplies the numbers of batches."""

    def batches(count: int) -> int:
        return max(1, round(count * scale))

    exact, noisy = (10_000, 20_000, 32_000, 51_000, 60_000), (50_000, 107_000, 184_000)
    return {
        "million rows": million_rows,
        "gates: reference, judges": lambda: other_gates(REFERENCE, JUDGES, batches(60)),
        "gates: reference, byte-exact": lambda: other_gates(REFERENCE, BYTE_EXACT, batches(200)),
        "gates: harder, byte-exact": lambda: other_gates(HARDER, BYTE_EXACT, batches(200)),
        "pools: one new skill acts": lambda: one_new(batches(20), (1_000, 2_000, 4_000, 8_300), acts=True),
        "pools: one new skill is the partner": lambda: one_new(
            batches(10), (2_000, 4_000, 8_300, 12_800), acts=False
        ),
        "pools: reference, judges": lambda: in_band(REFERENCE, JUDGES, batches(12), noisy[:2]),
        "pools: reference, byte-exact": lambda: in_band(REFERENCE, BYTE_EXACT, batches(100), exact),
        "pools: harder, byte-exact": lambda: in_band(HARDER, BYTE_EXACT, batches(60), exact),
        "pools: harder, judges": lambda: in_band(HARDER, JUDGES, batches(12), noisy),
        "pools: reference, byte-exact, 2 used": lambda: in_band(
            REFERENCE, BYTE_EXACT, batches(12), exact, used=2
        ),
        "pools: order 3, byte-exact": lambda: in_band(THIRD_ORDER, BYTE_EXACT, batches(6), (60_000, 200_000)),
        "pools: small sets only, byte-exact": lambda: in_band(SMALL_SETS, BYTE_EXACT, batches(6), exact),
        "pools: reference, worse judges": lambda: in_band(REFERENCE, WORSE_JUDGES, batches(4), noisy[:2]),
        "pools: whole registry, byte-exact": lambda: whole_registry(batches(2), (100_000, 200_000, 400_000)),
    }


def table(results: dict[str, Any]) -> str:
    """The measured table of `docs/pools.md`."""
    lines = [
        "| procedure | batches | evidence | episodes → recall (95 %) | benign of 41 | exact |",
        "|---|---|---|---|---|---|",
    ]
    for name, part in results["parts"].items():
        kind, _, rest = name.partition(": ")
        if kind == "gates":
            for gate, row in part.items():
                low, high = row["wilson"]
                lines.append(
                    f"| {gate} | {row['batches']} | {rest} "
                    f"| {row['episodes_per_batch']:.1e} → {row['recall']:.3f} ({low:.3f}–{high:.3f}) "
                    f"| {row['benign_per_batch']:.2f} | – |"
                )
        elif kind == "pools":
            curve = "; ".join(
                f"{point['episodes'] / 1000:g}k → {point['recall']:.3f} "
                f"({point['wilson'][0]:.3f}–{point['wilson'][1]:.3f})"
                for point in part["curve"]
            )
            lines.append(
                f"| pools | {part['batches']} | {rest} | {curve} | {part['benign_per_batch']:.2f} "
                f"| {part['exact']} of {part['found']} |"
            )
    return "\n".join(lines)


TARGETS = (
    ("pools: reference, byte-exact", 20_000, 0.95),
    ("pools: reference, byte-exact", 60_000, 0.999),
    ("pools: harder, byte-exact", 32_000, 0.90),
    ("pools: harder, byte-exact", 51_000, 0.95),
    ("pools: harder, judges", 107_000, 0.90),
    ("pools: harder, judges", 184_000, 0.95),
    ("pools: one new skill acts", 8_300, 0.90),
    ("pools: one new skill is the partner", 8_300, 0.90),
    ("pools: one new skill is the partner", 12_800, 0.95),
)
"""(part, episodes, recall) of the prototype."""


def targets(results: dict[str, Any]) -> str:
    """The prototype's numbers beside the measured ones; "open" where the interval holds the target."""
    lines = ["| part | episodes | target | measured (95 %) | |", "|---|---|---|---|---|"]
    for name, episodes, target in TARGETS:
        points = [p for p in results["parts"].get(name, {"curve": ()})["curve"] if p["episodes"] <= episodes]
        if not points:
            continue
        recall, (low, high) = points[-1]["recall"], points[-1]["wilson"]
        state = "met" if recall >= target else f"{target - recall:.3f} short"
        if low < target <= high:
            state += ", open"
        lines.append(
            f"| {name.removeprefix('pools: ')} | {episodes / 1000:g}k | {target:g} "
            f"| {recall:.3f} ({low:.3f}–{high:.3f}) | {state} |"
        )
    return "\n".join(lines)


def kinds(results: dict[str, Any]) -> str:
    """Recall at the largest budget by order and by turn; where episodes went; who was blamed."""
    lines = [
        "| part | found by kind of trigger | blamed rightly | episodes by purpose |",
        "|---|---|---|---|",
    ]
    for name, part in results["parts"].items():
        if name.startswith("pools: "):
            found = ", ".join(f"{kind}: {a} of {b}" for kind, (a, b) in part["by_kind"].items())
            spent = ", ".join(f"{purpose} {count:,.0f}" for purpose, count in part["spent_on"].items())
            lines.append(
                f"| {name.removeprefix('pools: ')} | {found} "
                f"| {part['blamed']} of {part['found']} | {spent} |"
            )
    return "\n".join(lines)


def block(name: str, text: str) -> str:
    """A generated block of `docs/pools.md`."""
    return f"<!-- {name} -->\n{text}\n<!-- end of {name} -->"


def page(text: str, results: dict[str, Any]) -> str:
    """`docs/pools.md` with its generated blocks brought up to date."""
    for name, made in (("table", table(results)), ("targets", targets(results)), ("kinds", kinds(results))):
        start, end = text.index(f"<!-- {name} -->"), text.index(f"<!-- end of {name} -->")
        text = text[:start] + block(name, made) + text[end + len(f"<!-- end of {name} -->") :]
    return text


def main() -> None:
    """Measure the named parts, or all, and keep the rest of the results file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the numbers of batches")
    parser.add_argument("--only", action="append", default=[], help="name of a part; repeat for several")
    parser.add_argument("--page", action="store_true", help="only bring docs/pools.md up to date")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    results: dict[str, Any] = {"parts": {}}
    if arguments.output.exists():
        results = json.loads(arguments.output.read_text(encoding="utf-8"))
    if arguments.page:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
        return
    measured = parts(arguments.scale)
    unknown = sorted(set(arguments.only) - set(measured))
    if unknown:
        parser.error(f"no part is called {unknown[0]!r}; there are: {', '.join(measured)}")
    for name, measure in measured.items():
        if arguments.only and name not in arguments.only:
            continue
        started = time.perf_counter()
        part = measure()
        results["parts"][name] = part
        results["machine"] = (
            f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
        )
        results.setdefault("wall_seconds", {})[name] = round(time.perf_counter() - started, 1)
        results["parts"] = {key: results["parts"][key] for key in measured if key in results["parts"]}
        arguments.output.parent.mkdir(exist_ok=True)
        arguments.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        print(f"{name}: {results['wall_seconds'][name]} s", flush=True)


if __name__ == "__main__":
    main()
