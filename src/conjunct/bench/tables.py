"""Tables of rates for people: one line a row, with interval."""

from __future__ import annotations

import json
from collections.abc import Sequence

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
