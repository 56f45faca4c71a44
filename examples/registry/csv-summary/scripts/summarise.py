#!/usr/bin/env python3
"""Print an overview of a CSV file: rows, columns, and the range of every numeric column."""

import argparse
import csv
from pathlib import Path


def numbers(values):
    found = []
    for value in values:
        try:
            found.append(float(value.replace(",", "").replace("$", "").strip()))
        except ValueError:
            return []
    return found


def overview(path):
    with open(path, newline="", encoding="utf-8", errors="replace") as stream:
        rows = list(csv.DictReader(stream))
    columns = list(rows[0]) if rows else []
    lines = [f"{len(rows)} rows, {len(columns)} columns"]
    for column in columns:
        values = [row[column] or "" for row in rows]
        numeric = numbers(values)
        if numeric:
            lines.append(f"- {column}: {min(numeric):,.2f} to {max(numeric):,.2f}")
        else:
            lines.append(f"- {column}: {len(set(values))} different values")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", help="CSV file to read")
    parser.add_argument("--output", type=Path, help="write the overview here as Markdown")
    arguments = parser.parse_args()
    lines = overview(arguments.table)
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
