"""The long campaign: `python -m soundness --seed 1` in `tests/`; prints one JSON line at its end."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from soundness.commands import CONTEXTS, examine_command
from soundness.enumeration import Outcome, examine
from soundness.guards import LOOKS
from soundness.recipes import recipe


def main() -> int:
    """Examine generated skills until their number or the time is reached; status 1 where one was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("CONJUNCT_SEED") or 1))
    parser.add_argument("--skills", type=int, default=len(LOOKS))
    parser.add_argument("--start", type=int, default=0, help="number of the first skill")
    parser.add_argument("--seconds", type=float, default=3600.0, help="wall time after which none is begun")
    parser.add_argument("--contexts", type=int, default=0, help="contexts run for real per skill; 0 is all")
    parser.add_argument("--commands", action="store_true", help="single commands, without agent and plan")
    parser.add_argument("--test", default="", help="only skills with this test")
    chosen = parser.parse_args()
    begun, done = time.monotonic(), []
    for number in range(chosen.start, chosen.start + chosen.skills):
        if time.monotonic() - begun > chosen.seconds:
            break
        one = recipe(
            chosen.seed * 100_000 + number,
            only=chosen.test or (LOOKS[number % len(LOOKS)].name if number < len(LOOKS) else ""),
        )
        with tempfile.TemporaryDirectory() as folder:
            if chosen.commands:
                outcome = examine_command(one, Path(folder), most=chosen.contexts or CONTEXTS)
            else:
                outcome = examine(one, Path(folder), most=chosen.contexts)
        done.append(outcome)
        print(line(outcome), flush=True)
        for wrong in outcome.wrong[:4]:
            print(f"    WRONG {wrong}", flush=True)
    used = os.times()
    print(
        json.dumps(
            {
                "seed": chosen.seed,
                "skills": len(done),
                "contexts": sum(o.contexts for o in done),
                "compared": sum(o.compared for o in done),
                "scope": sum(o.scope for o in done),
                "assumed": sum(o.assumed for o in done),
                "firing": sum(o.firing for o in done),
                "missed": [str(o.recipe) for o in done if o.tree_runs and o.firing and not o.found],
                "void": sum(o.void for o in done),
                "tree_runs": sum(o.tree_runs for o in done),
                "memo_hits": sum(o.memo_hits for o in done),
                "wrong": sum(len(o.wrong) for o in done),
                "wrong_skills": [str(o.recipe) for o in done if o.wrong],
                "cpu_seconds": round(sum(used[:4])),
            }
        )
    )
    return any(o.wrong for o in done)


def line(outcome: Outcome) -> str:
    """One outcome in a line."""
    return (
        f"{outcome.recipe}: {outcome.contexts} contexts ({outcome.firing} firing), "
        f"{outcome.compared} compared, {outcome.assumed} of {outcome.scope} assumed, "
        f"{outcome.tree_runs} tree runs, {outcome.memo_hits} memo hits, "
        f"{len(outcome.wrong)} wrong"
        + (", missed" if outcome.tree_runs and outcome.firing and not outcome.found else "")
        + (f", {outcome.void} void" if outcome.void else "")
    )


if __name__ == "__main__":
    sys.exit(main())
