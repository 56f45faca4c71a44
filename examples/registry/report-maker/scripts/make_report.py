#!/usr/bin/env python3
"""Write an HTML report with the rows and totals of a CSV file."""

import argparse
import csv
import html
from pathlib import Path


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=Path, required=True, help="CSV file to read")
    parser.add_argument("--output", type=Path, default=Path("output/report.html"), help="HTML file to write")
    arguments = parser.parse_args()
    with arguments.table.open(newline="", encoding="utf-8", errors="replace") as stream:
        rows = list(csv.reader(stream))
    cells = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(value)}</td>" for value in row) + "</tr>" for row in rows[:200]
    )
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(
        f"<!doctype html><title>Report</title><h1>{html.escape(arguments.table.name)}</h1>"
        f"<p>{max(len(rows) - 1, 0)} rows</p><table>{cells}</table>",
        encoding="utf-8",
    )
    print(f"wrote {arguments.output}")


if __name__ == "__main__":
    main()
