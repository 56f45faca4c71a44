"""Tables of rates for people: one line a row, with interval."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from conjunct.bench.scoring import Row


def table_lines(rows: Sequence[Row]) -> list[str]:
    """Rows as text, a heading before each table."""
    lines: list[str] = []
    heading = ""
    width = max((len(row.group) for row in rows), default=0)
    for row in rows:
        if row.table != heading:
            heading = row.table
            lines += ["", heading]
        low, high = row.interval()
        lines.append(
            f"  {row.group:<{width}}  {row.hits:>5} of {row.runs:<5} {row.hits / row.runs:6.1%}  "
            f"[{low:.3f}, {high:.3f}]"
        )
    return lines[1:]


def rows_json(rows: Sequence[Row], lines: Sequence[str] = ()) -> str:
    """Rows and remarks as a JSON document."""
    entries = [
        {
            "table": row.table,
            "group": row.group,
            "hits": row.hits,
            "runs": row.runs,
            "interval": [round(bound, 4) for bound in row.interval()],
        }
        for row in rows
    ]
    return json.dumps({"rows": entries, "remarks": list(lines)}, indent=1, ensure_ascii=False)


def markdown_table(head: str, rows: Sequence[str]) -> str:
    """A table in Markdown; `Not recorded.` without rows."""
    if not rows:
        return "Not recorded."
    return "\n".join([head, "|" + "---|" * (head.count("|") - 1), *rows])


def interval(told: Mapping[str, Any]) -> str:
    """`0.950 (0.930–0.965)` of a recorded rate, or a dash for no runs."""
    if not told["of"]:
        return "–"
    return f"{told['rate']:.3f} ({told['wilson'][0]:.3f}–{told['wilson'][1]:.3f})"
