"""What a whole vetting costs, first and again from the store."""

from __future__ import annotations

import time
from pathlib import Path

from conjunct.vet import VetOptions, vet_registry


def vetting_costs(path: Path, folder: Path) -> dict[str, float | str]:
    """Seconds to vet a registry with 2 workers, and again; contexts settled for each episode."""
    options = VetOptions(path=path, store=folder / f"{path.name}.sqlite", workers=2)
    started = time.perf_counter()
    report = vet_registry(options)
    first = time.perf_counter() - started
    started = time.perf_counter()
    vet_registry(options)
    again = time.perf_counter() - started
    settled = sum(verdict.coverage.settled for verdict in report.verdicts)
    run = sum(verdict.coverage.episodes for verdict in report.verdicts)
    return {
        f"{path.name}: skills": float(len(report.verdicts)),
        f"{path.name}: vetting, seconds": first,
        f"{path.name}: vetting again, seconds": again,
        f"{path.name}: episodes": float(run),
        f"{path.name}: contexts settled for each episode": settled / max(run, 1),
    }
