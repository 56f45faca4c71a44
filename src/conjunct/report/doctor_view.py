"""`conjunct doctor`: each promise of the world, tried on this machine, with the remedy."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from conjunct.report.summary import EXIT_ADMITTED, EXIT_FAILED
from conjunct.world.doctor import examine


def show_doctor(form: str) -> int:
    """Try everything and print it; returns the exit status: 0 if every promise holds, else 4."""
    checks = examine()
    good = all(check.ok for check in checks)
    if form == "json":
        entries = [asdict(check) for check in checks]
        sys.stdout.write(
            json.dumps({"schema": "conjunct.doctor/1", "ok": good, "checks": entries}, indent=2) + "\n"
        )
        return EXIT_ADMITTED if good else EXIT_FAILED
    console = Console(highlight=False, emoji=False)
    for check in checks:
        mark = ("  ok  ", "green") if check.ok else (" FAIL ", "bold white on red")
        console.print(Text.assemble(mark, f" {check.promise}", (f"  {check.detail}", "dim")), soft_wrap=True)
        if not check.ok and check.remedy:
            console.print(Text(f"        remedy: {check.remedy}", style="yellow"), soft_wrap=True)
    broken = sum(not check.ok for check in checks)
    console.print("every promise holds" if good else f"{broken} of {len(checks)} promises do not hold here")
    return EXIT_ADMITTED if good else EXIT_FAILED
