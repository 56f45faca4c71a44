"""Measure and print a table: `python -m benchmarks [--rounds N] [--registry DIR] [--output FILE]`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from pathlib import Path

from benchmarks.analysis import analysis_costs
from benchmarks.episodes import episode_costs
from benchmarks.statics import size_costs, static_costs
from benchmarks.tracing import trace_costs
from benchmarks.vetting import vetting_costs

EXAMPLES = Path(__file__).parent.parent / "examples" / "registry"


def main() -> None:
    """Run every benchmark and print one line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each pair measured side by side")
    parser.add_argument(
        "--registry", type=Path, action="append", default=[], help="further registries to vet"
    )
    parser.add_argument("--output", type=Path, help="also write the figures as JSON")
    arguments = parser.parse_args()
    figures: dict[str, float | str] = {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    }
    figures |= analysis_costs()
    figures |= size_costs()
    with tempfile.TemporaryDirectory() as folder:
        figures |= trace_costs(rounds=arguments.rounds)
        figures |= episode_costs(EXAMPLES, Path(folder), rounds=arguments.rounds)
        for registry in (EXAMPLES, *arguments.registry):
            figures |= static_costs(registry)
            figures |= vetting_costs(registry, Path(folder))
    for name, value in figures.items():
        print(f"{name:<52} {value if isinstance(value, str) else f'{value:,.3f}'}")
    if arguments.output:
        arguments.output.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
