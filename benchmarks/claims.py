"""Share of skills with a review from their claims alone, and skills per second of one core.

    python benchmarks/claims.py PATH [PATH …]      each a registry, a skill or an archive

Nothing of the packages is run. Prints one line per skill with a review, then one line of totals per path.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from conjunct.directives import compile_skill
from conjunct.model import Severity
from conjunct.provenance import check_claims, neighbourhood_of
from conjunct.reach import reachable_actions
from conjunct.skills import read_registry


def measure(path: Path, staging: Path) -> None:
    """Read one registry and print what its claims alone lead to."""
    compiled = [(skill, compile_skill(skill)) for skill in read_registry(path, staging=staging).skills]
    before = time.process_time()
    reached = [(skill, reachable_actions(skill, compilation)) for skill, compilation in compiled]
    registry = neighbourhood_of(reached)
    found = [(skill, check_claims(skill, reach, neighbours=registry)) for skill, reach in reached]
    seconds = time.process_time() - before
    codes: Counter[str] = Counter()
    flagged = 0
    for skill, findings in found:
        reviews = [finding for finding in findings if finding.severity is Severity.REVIEW]
        codes.update({finding.code for finding in reviews})
        if reviews:
            flagged += 1
            print(f"{skill.path}: {reviews[0].code} {reviews[0].message}")
    print(
        f"{path}: {len(found)} skills, {flagged} with a review ({flagged / max(1, len(found)):.1%}), "
        f"{len(found) / max(seconds, 1e-9):.0f} skills per second and core; {dict(codes.most_common())}"
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for argument in sys.argv[1:] or ["examples/registry"]:
            measure(Path(argument), Path(folder))
