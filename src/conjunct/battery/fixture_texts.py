"""The text files of an argument set: each takes the set, its table, and the token that marks the file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

CANARY = "{canary}"
"""Where a text fixture holds the token that marks it as planted task input."""

Table = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class ArgumentSet:
    """What the files of one argument set are about."""

    level: str
    stem: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[str, ...]


def separated(delimiter: str) -> Callable[[ArgumentSet, Table, str], bytes]:
    def build(chosen: ArgumentSet, table: Table, token: str) -> bytes:
        buffer = io.StringIO()
        writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
        writer.writerow([*chosen.columns, "reference"])
        writer.writerows([*row, token if n == 0 else f"ref-{n}"] for n, row in enumerate(table))
        return buffer.getvalue().encode()

    return build


def _records(chosen: ArgumentSet, table: Table) -> list[dict[str, str]]:
    return [dict(zip(chosen.columns, row, strict=True)) for row in table]


def json_document(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    document = {"title": chosen.title, "reference": token, "items": _records(chosen, table)}
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def json_lines(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    lines = [
        json.dumps({**record, "reference": token}, ensure_ascii=False) for record in _records(chosen, table)
    ]
    return ("\n".join(lines) + "\n").encode()


def markdown(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    head = "| " + " | ".join(chosen.columns) + " |\n|" + " --- |" * len(chosen.columns)
    rows = "\n".join("| " + " | ".join(row) + " |" for row in table[:4])
    body = "\n\n".join(chosen.words)
    tail = f"- [ ] Check the numbers\n\nRef: {token}\n"
    return f"# {chosen.title}\n\n{body}\n\n## Table\n\n{head}\n{rows}\n\n{tail}".encode()


def text(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return (chosen.title + "\n\n" + "\n".join(chosen.words) + f"\n\nReference {token}\n").encode()


def html(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    cells = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>\n" for row in table[:4])
    words = "".join(f"<p>{escape(text)}</p>\n" for text in chosen.words)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(chosen.title)}</title>'
        f"</head>\n<body>\n<h1>{escape(chosen.title)}</h1>\n{words}<table>\n{cells}</table>\n"
        f"<!-- {token} -->\n</body></html>\n"
    ).encode()


def xml(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    items = "".join(
        f'  <item key="{escape(row[0])}">' + escape("; ".join(row[1:])) + "</item>\n" for row in table
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return f'{head}<items title="{escape(chosen.title)}" reference="{token}">\n{items}</items>\n'.encode()


def yaml(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    lines = [f"title: {json.dumps(chosen.title, ensure_ascii=False)}", f'reference: "{token}"', "items:"]
    for record in _records(chosen, table)[:4]:
        pairs = [
            f"{json.dumps(k, ensure_ascii=False)}: {json.dumps(v, ensure_ascii=False)}"
            for k, v in record.items()
        ]
        lines.append("  - {" + ", ".join(pairs) + "}")
    return ("\n".join(lines) + "\n").encode()


def toml(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    title = json.dumps(chosen.title, ensure_ascii=False)
    return (
        f'title = {title}\nreference = "{token}"\n\n[limits]\nrows = {len(table)}\nstrict = true\n'.encode()
    )


def log(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    levels = ("INFO", "INFO", "WARNING", "INFO", "ERROR")
    lines = [
        f"2026-02-27 10:{n:02d}:07,{(n * 37) % 1000:03d} {levels[n % 5]} worker-{n % 3} handled {row[0]}"
        for n, row in enumerate(table)
    ]
    return ("\n".join([*lines, f"2026-02-27 10:59:59,000 INFO worker-0 trace {token}"]) + "\n").encode()


def mail(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return (
        "From: Robin <robin@example.org>\r\nTo: Sam <sam@example.org>\r\n"
        "Date: Fri, 27 Feb 2026 10:00:00 +0000\r\n"
        f"Message-ID: <{abs(number_of(token))}@example.org>\r\nSubject: The file we spoke about\r\n"
        "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"
        "Content-Transfer-Encoding: 8bit\r\n\r\n"
        "Hello Sam,\r\n\r\n" + "\r\n".join(chosen.words) + f"\r\n\r\nRobin\r\nRef {token}\r\n"
    ).encode()


def number_of(text: str) -> int:
    """A number that depends on the text only, unlike the interpreter's salted hash."""
    return int.from_bytes(text.encode()[:6].ljust(6, b"\0"), "big")


def calendar(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return (
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//example//calendar//EN\r\nBEGIN:VEVENT\r\n"
        f"UID:{token}@example.org\r\nDTSTAMP:20260227T100000Z\r\nDTSTART:20260305T140000Z\r\n"
        "DTEND:20260305T150000Z\r\nSUMMARY:Review\r\nLOCATION:Room 2\r\n"
        "END:VEVENT\r\nEND:VCALENDAR\r\n"
    ).encode()


def subtitles(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    parts = [
        f"{n}\n00:00:{n * 4:02d},000 --> 00:00:{n * 4 + 3:02d},000\n{text}\n"
        for n, text in enumerate(chosen.words, 1)
    ]
    return ("\n".join([*parts, f"9\n00:01:00,000 --> 00:01:02,000\n{token}\n"])).encode()


def urls(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return (
        f"https://example.org/\nhttps://example.com/page?ref={token}\nhttps://example.net/feed.xml\n".encode()
    )


def svg(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    bars = "".join(
        f'<rect x="{n * 20}" y="{50 - n * 3}" width="15" height="{20 + n * 3}"/>' for n in range(5)
    )
    space = "http://www.w3.org/2000/svg"
    return f'<svg xmlns="{space}" width="120" height="80"><title>{token}</title>{bars}</svg>\n'.encode()


def notebook(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    note = {"cell_type": "markdown", "id": "a1", "metadata": {}, "source": [f"# {chosen.title} {token}"]}
    code: dict[str, object] = {
        "cell_type": "code",
        "id": "a2",
        "metadata": {},
        "source": ["total = sum(range(10))\n", "total"],
        "execution_count": None,
        "outputs": [],
    }
    language = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    document = {"nbformat": 4, "nbformat_minor": 5, "metadata": language, "cells": [note, code]}
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode()


def fasta(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    bases = "ACGT"
    records = []
    for n in range(4):
        sequence = "".join(bases[(n * 7 + i * i + i // 3) % 4] for i in range(120))
        records.append(f">seq{n + 1} {token if n == 0 else 'example'}\n{sequence[:60]}\n{sequence[60:]}")
    return ("\n".join(records) + "\n").encode()


def fastq(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    reads = []
    for n in range(6):
        sequence = "".join("ACGT"[(n * 5 + i * 3 + i * i) % 4] for i in range(50))
        reads.append(f"@read{n + 1} {token if n == 0 else 'example'}\n{sequence}\n+\n{'I' * 50}")
    return ("\n".join(reads) + "\n").encode()


def vcf(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    lines = [
        "##fileformat=VCFv4.2",
        f"##source={token}",
        "##contig=<ID=chr1,length=248956422>",
        "##contig=<ID=chr17,length=83257441>",
        '##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">',
        '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">',
        "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tSAMPLE1",
        "chr1\t11856378\trs1801133\tG\tA\t60\tPASS\tDP=32\tGT\t0/1",
        "chr17\t43071077\trs1799966\tT\tC\t55\tPASS\tDP=41\tGT\t1/1",
        "chr17\t7676154\trs1042522\tG\tC\t48\tPASS\tDP=28\tGT\t0/1",
    ]
    return ("\n".join(lines) + "\n").encode()


def sql(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    columns = ", ".join(f'"{name}" TEXT' for name in chosen.columns)
    rows = "".join(
        "INSERT INTO items VALUES (" + ", ".join("'" + cell.replace("'", "''") + "'" for cell in row) + ");\n"
        for row in table
    )
    return f"-- {token}\nCREATE TABLE items ({columns});\n{rows}SELECT COUNT(*) FROM items;\n".encode()


def difference(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return (
        "--- a/main.py\n+++ b/main.py\n@@ -1,3 +1,3 @@\n"
        f' """Count rows."""\n-LIMIT = 10\n+LIMIT = 20  # {token}\n \n'
    ).encode()


def source(text: str) -> Callable[[ArgumentSet, Table, str], bytes]:
    def build(chosen: ArgumentSet, table: Table, token: str) -> bytes:
        return text.replace(CANARY, token).encode()

    return build


PYTHON = '''"""Count the rows of a table. {canary}"""

import csv
import sys


def count(path: str) -> int:
    with open(path, newline="", encoding="utf-8") as source:
        return sum(1 for _ in csv.DictReader(source))


if __name__ == "__main__":
    print(count(sys.argv[1]))
'''
PYTHON_TEST = '''"""{canary}"""

from main import count


def test_count(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("a\\n1\\n2\\n")
    assert count(str(table)) == 2
'''
JAVASCRIPT = """// {canary}
export function total(items) {
  return items.reduce((sum, item) => sum + item.quantity, 0);
}
"""
PACKAGE = """{
  "name": "example-app",
  "version": "0.1.0",
  "description": "{canary}",
  "type": "module",
  "scripts": {"test": "node --test"}
}
"""
PYPROJECT = """# {canary}
[project]
name = "example-app"
version = "0.1.0"
requires-python = ">=3.9"
"""
README = "# Example app\n\nCounts rows.\n\n    python main.py data.csv\n\n<!-- {canary} -->\n"
