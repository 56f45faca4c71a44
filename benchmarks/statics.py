"""What reading, compiling and listing reach cost, without running anything."""

from __future__ import annotations

import time
from pathlib import Path

from conjunct.directives import compile_skill
from conjunct.provenance import check_claims, neighbourhood_of
from conjunct.reach import reachable_actions
from conjunct.skills import read_registry


def static_costs(path: Path) -> dict[str, float | str]:
    """Skills a second on one core: intake; compiling, reach and claims."""
    started = time.perf_counter()
    skills = read_registry(path).skills
    read = time.perf_counter() - started
    started = time.perf_counter()
    sets = [(skill, reachable_actions(skill, compile_skill(skill))) for skill in skills]
    neighbourhood = neighbourhood_of(sets)
    for skill, reach in sets:
        check_claims(skill, reach, neighbours=neighbourhood)
    analysed = time.perf_counter() - started
    return {
        f"{path.name}: skills read a second": len(skills) / read,
        f"{path.name}: skills analysed a second": len(skills) / analysed,
    }
