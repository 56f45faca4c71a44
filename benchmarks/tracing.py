"""What the trace costs: the same script bare and traced in the episode's sandbox, in turn."""

from __future__ import annotations

import statistics
import subprocess
import time

from conjunct.world.runtime import ensure_runtime
from conjunct.world.spec import Command, WorldSpec
from conjunct.world.world import open_world

SCRIPT = """
import argparse, csv, json, pathlib, re, sys
rows = [[str(i * j) for j in range(8)] for i in range(4000)]
text = "\\n".join(",".join(row) for row in rows)
total = sum(int(cell) for row in csv.reader(text.splitlines()) for cell in row)
print(json.dumps({"total": total}))
"""


def trace_costs(*, rounds: int) -> dict[str, float | str]:
    """Median seconds of a bare and a traced run of one Python script, and the median ratio of pairs."""
    runtime = ensure_runtime()
    bare: list[float] = []
    traced: list[float] = []
    with open_world(WorldSpec(), runtime=runtime) as world:
        command = Command(("python3", "-c", SCRIPT), world.layout.workspace, 1, 0)
        world.run(command)
        for _ in range(rounds):
            started = time.perf_counter()
            subprocess.run(["/usr/bin/python3", "-c", SCRIPT], check=True, capture_output=True)
            bare.append(time.perf_counter() - started)
            started = time.perf_counter()
            result = world.run(command)
            traced.append(time.perf_counter() - started)
            if result.record.status != 0:
                raise SystemExit(f"the traced script failed: {result.stderr.decode()}")
    ratios = [one / other for one, other in zip(traced, bare, strict=True)]
    return {
        "bare script, seconds": statistics.median(bare),
        "traced script, seconds": statistics.median(traced),
        "traced against bare, ratio": statistics.median(ratios),
    }
