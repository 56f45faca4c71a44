"""Deltas of one skill: violation with it minus violation without it, by probe and context."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from conjunct.model import NEUTRAL, Context, Episode, SkillDeltaProfile


def is_single(context: Context) -> bool:
    """Whether a context holds no other skill and no history: what a single probe sees at its first turn."""
    return not context.co_skills and context.history == NEUTRAL


def delta_profile(skill: str, episodes: Iterable[Episode], baselines: Iterable[Episode]) -> SkillDeltaProfile:
    """Match each episode with the baseline of the same words, context and seed, and take differences.

    A single-probe delta is the first turn's outcome alone in the neutral context, averaged over seeds; a
    compositional delta is the outcome of the whole episode in any other context (later turns included).
    Cells whose trace is undetermined are left out. Deltas lie in [-1, 1], one per (invariant, probe) or
    (invariant, probe, context), in sorted order of these.
    """
    without: dict[tuple[str, Context], frozenset[str]] = {}
    for episode in baselines:
        without[(episode.spec.probe, episode.spec.context)] = frozenset(
            v.invariant for v in episode.violations
        )
    single: dict[tuple[str, str], list[float]] = defaultdict(list)
    compositional: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    listed = list(episodes)
    invariants = sorted({v.invariant for episode in listed for v in episode.violations})
    for episode in listed:
        if episode.trace.undetermined or episode.spec.stubbed:
            continue
        spec = episode.spec
        base = without.get((spec.probe, spec.context), frozenset())
        mine = [v for v in episode.violations if skill in v.actors]
        whole = {v.invariant for v in mine}
        for invariant in invariants:
            outcome = float(invariant in whole) - float(invariant in base)
            if is_single(spec.context):
                at_first_use = any(
                    v.invariant == invariant and v.turn <= spec.context.first_use for v in mine
                )
                single[(invariant, spec.probe)].append(float(at_first_use) - float(invariant in base))
                compositional[(invariant, spec.probe, "later turns")].append(outcome)
            else:
                compositional[(invariant, spec.probe, repr(spec.context))].append(outcome)
    return SkillDeltaProfile(
        skill_id=skill,
        single_probe_deltas=tuple(_mean(single[cell]) for cell in sorted(single)),
        compositional_deltas=tuple(_mean(compositional[cell]) for cell in sorted(compositional)),
    )


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
