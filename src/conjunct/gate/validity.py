"""The three conditions without which there is no verdict."""

from __future__ import annotations

from conjunct.model import MINIMUM_HORIZON, Coverage


def validity_failures(
    coverage: Coverage, *, reach_checked: bool, fingerprints: frozenset[str]
) -> tuple[str, ...]:
    """Why the evidence of one skill cannot carry a verdict; empty where it can.

    Conditions: the plan covers compositions; provenance is tracked and checked against the reachable-action
    set; the horizon is at least four turns. Results of different baselines are never compared.
    """
    failures: list[str] = []
    if not any(factor in {"history", "co_skills"} for factor in coverage.factors):
        failures.append(
            "the plan has no compositional probes: neither history nor installed set was a factor"
        )
    if not reach_checked:
        failures.append("provenance was not checked against the reachable-action set")
    if coverage.horizon < MINIMUM_HORIZON:
        failures.append(f"the horizon is {coverage.horizon} turns, at least {MINIMUM_HORIZON} are needed")
    if len(fingerprints) > 1:
        failures.append("episodes come from different baselines (agent, battery or world changed in between)")
    return tuple(failures)
