"""The table of scanners in `docs/bench-packages.md`, from recorded results.

python -m conjunct.bench.peer_page benchmarks/results/peers.json docs/bench-packages.md
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from conjunct.bench.scoring import FLAGGED
from conjunct.delta.evidence import wilson_interval

START, END = "<!-- peers: made from results -->", "<!-- end of peers -->"
Package = Mapping[str, Any]


def peers_table(recorded: Mapping[str, Any]) -> str:
    """One row for each tool: recall on adversaries, flagged twins, other benign ones, and the examples."""
    columns: tuple[tuple[str, str, Callable[[Package], bool]], ...] = (
        ("built", "adversaries flagged", lambda one: bool(one["harmful"])),
        ("built", "their twins flagged", lambda one: one["source"] == "twins"),
        ("built", "other benign flagged", lambda one: not one["harmful"] and one["source"] != "twins"),
        ("examples", "examples: adversaries", lambda one: bool(one["harmful"])),
        ("examples", "examples: benign", lambda one: not one["harmful"]),
    )
    lines = ["| tool | " + " | ".join(title for _, title, _ in columns) + " |", "|---" * 6 + "|"]
    for tool in recorded["built"]["tools"]:
        cells = [_cell([p for p in recorded[of]["tools"][tool] if chosen(p)]) for of, _, chosen in columns]
        lines.append(f"| {tool.replace('==', ' ')} | " + " | ".join(cells) + " |")
    public = recorded["public"]
    lines += [
        "",
        f"On {public['set']}:",
        "",
        "| tool | malicious flagged | benign flagged |",
        "|---" * 3 + "|",
    ]
    for tool, counts in public["tools"].items():
        cells = [_rate(*counts[kind]) for kind in ("harmful", "benign")]
        lines.append(f"| {tool.replace('==', ' ')} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(packages: Sequence[Package]) -> str:
    return _rate(sum(package["verdict"] in FLAGGED for package in packages), len(packages))


def _rate(hits: int, runs: int) -> str:
    low, high = wilson_interval(hits, runs)
    return f"{hits} of {runs} [{low:.2f}, {high:.2f}]"


def with_table(page: str, table: str) -> str:
    """The page with the table between its marks."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{table}\n{END}{after}"


def main(results: Path, page: Path) -> None:
    """Renew the table of a page."""
    recorded = json.loads(results.read_text(encoding="utf-8"))
    page.write_text(with_table(page.read_text(encoding="utf-8"), peers_table(recorded)), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
