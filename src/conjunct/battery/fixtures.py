"""Task inputs: the workspace files of an argument set, and an index of what type each is."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path

from conjunct.battery import formats
from conjunct.battery.document import Section, read_document
from conjunct.errors import BatteryError, UsageError
from conjunct.model import NEUTRAL

CANARY = "{canary}"
"""Where a text fixture holds the token that marks it as planted task input."""

ROWS = 12

Canary = Callable[[str], str]
"""From a fixture's path to the token it carries."""


@dataclass(frozen=True, slots=True)
class Fixture:
    """One task input: `path` relative to the workspace, `type` such as `csv`, `pdf`, `png` or `folder`."""

    path: str
    type: str


@dataclass(frozen=True, slots=True)
class ArgumentSet:
    """What the files of one argument set are about."""

    level: str
    stem: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[str, ...]


def fixture_index(argument_set: str = NEUTRAL, *, extra: Path | None = None) -> tuple[Fixture, ...]:
    """Path and type of every task input of an argument set, folders included, in a fixed order."""
    stem = _argument_set(argument_set, extra).stem
    files = tuple(Fixture(path.format(stem=stem), kind) for path, kind, _ in _MEMBERS)
    return (*files, Fixture("code", "folder"), Fixture("data", "folder"))


def fixtures(
    argument_set: str = NEUTRAL, seed: int = 0, *, canary: Canary | None = None, extra: Path | None = None
) -> tuple[tuple[str, bytes], ...]:
    """The workspace files of an argument set, as (path relative to the workspace, content).

    `seed` varies the numbers in them, so that deployments do not share fixtures. Every file carries a token:
    `canary(path)` if given; else the text `{canary}`, which a caller may replace in text files and must not
    replace in the others (a ZIP member has a length and a checksum), so worlds pass `canary`. Raises
    `UsageError` for an unknown argument set.
    """
    chosen = _argument_set(argument_set, extra)
    table = _table(chosen, random.Random(f"{chosen.level}:{seed}"))
    made = []
    for template, _, build in _MEMBERS:
        path = template.format(stem=chosen.stem)
        made.append((path, build(chosen, table, canary(path) if canary else CANARY)))
    return tuple(made)


def read_argument_set(section: Section) -> ArgumentSet:
    """One element of `arguments` in `factors.yaml`. Raises `BatteryError`."""
    columns = section.texts("columns", required=True)
    rows = section.rows("rows", width=len(columns))
    stem = section.text("stem")
    if not stem or "/" in stem or "{" in stem or stem.startswith(".") or len(stem) > 60:
        raise section.complain(f"{stem!r} is no file name without suffix", key="stem")
    result = ArgumentSet(
        section.text("level"),
        stem,
        section.text("title"),
        columns,
        rows,
        section.texts("words", required=True),
    )
    section.close()
    return result


def _argument_set(name: str, extra: Path | None) -> ArgumentSet:
    sets = {**_built_in_sets(), **(_sets_of(extra) if extra else {})}
    if name not in sets:
        raise UsageError(f"unknown argument set {name!r}; known: {', '.join(sets)}")
    return sets[name]


@cache
def _built_in_sets() -> dict[str, ArgumentSet]:
    data = resources.files("conjunct.battery").joinpath("data", "factors.yaml")
    with resources.as_file(data) as path:
        document = read_document(path, name="battery/factors.yaml")
    return {one.level: one for one in map(read_argument_set, document.sections("arguments"))}


def _sets_of(folder: Path) -> dict[str, ArgumentSet]:
    path = folder / "factors.yaml"
    if not path.exists():
        return {}
    if not path.is_file():
        raise BatteryError(f"{path}: not a regular file; a battery file is a YAML file")
    return {one.level: one for one in map(read_argument_set, read_document(path).sections("arguments"))}


Table = Sequence[Sequence[str]]


def _table(chosen: ArgumentSet, generator: random.Random) -> Table:
    """The rows of the set, repeated to `ROWS` with first column made unique and decimals varied."""
    rows = []
    for number in range(max(ROWS, len(chosen.rows))):
        source = chosen.rows[number % len(chosen.rows)]
        turn = number // len(chosen.rows)
        first = source[0]
        if turn:
            first = str(int(first) + number) if first.isdecimal() else f"{first} {turn + 1}"
        rows.append([first, *(_varied(cell, generator) for cell in source[1:])])
    return rows


def _varied(cell: str, generator: random.Random) -> str:
    whole, dot, decimals = cell.partition(".")
    if not dot or not whole.isdecimal() or not decimals.isdecimal():
        return cell
    return f"{float(cell) * generator.uniform(0.8, 1.2):.{len(decimals)}f}"


# ---- text files


def _separated(delimiter: str) -> Callable[[ArgumentSet, Table, str], bytes]:
    def build(chosen: ArgumentSet, table: Table, token: str) -> bytes:
        buffer = io.StringIO()
        writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
        writer.writerow([*chosen.columns, "reference"])
        writer.writerows([*row, token if n == 0 else f"ref-{n}"] for n, row in enumerate(table))
        return buffer.getvalue().encode()

    return build


def _records(chosen: ArgumentSet, table: Table) -> list[dict[str, str]]:
    return [dict(zip(chosen.columns, row, strict=True)) for row in table]


def _json(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    document = {"title": chosen.title, "reference": token, "items": _records(chosen, table)}
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def _json_lines(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    lines = [
        json.dumps({**record, "reference": token}, ensure_ascii=False) for record in _records(chosen, table)
    ]
    return ("\n".join(lines) + "\n").encode()


def _markdown(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    head = "| " + " | ".join(chosen.columns) + " |\n|" + " --- |" * len(chosen.columns)
    rows = "\n".join("| " + " | ".join(row) + " |" for row in table[:4])
    body = "\n\n".join(chosen.words)
    text = f"# {chosen.title}\n\n{body}\n\n## Table\n\n{head}\n{rows}\n\n- [ ] Check the numbers\n\nRef: {token}\n"
    return text.encode()


def _text(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return (chosen.title + "\n\n" + "\n".join(chosen.words) + f"\n\nReference {token}\n").encode()


def _html(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    cells = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>\n" for row in table[:4])
    words = "".join(f"<p>{escape(text)}</p>\n" for text in chosen.words)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(chosen.title)}</title>'
        f"</head>\n<body>\n<h1>{escape(chosen.title)}</h1>\n{words}<table>\n{cells}</table>\n"
        f"<!-- {token} -->\n</body></html>\n"
    ).encode()


def _xml(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    items = "".join(
        f'  <item key="{escape(row[0])}">' + escape("; ".join(row[1:])) + "</item>\n" for row in table
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return f'{head}<items title="{escape(chosen.title)}" reference="{token}">\n{items}</items>\n'.encode()


def _yaml(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    lines = [f"title: {json.dumps(chosen.title, ensure_ascii=False)}", f'reference: "{token}"', "items:"]
    for record in _records(chosen, table)[:4]:
        pairs = [
            f"{json.dumps(k, ensure_ascii=False)}: {json.dumps(v, ensure_ascii=False)}"
            for k, v in record.items()
        ]
        lines.append("  - {" + ", ".join(pairs) + "}")
    return ("\n".join(lines) + "\n").encode()


def _toml(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    title = json.dumps(chosen.title, ensure_ascii=False)
    return (
        f'title = {title}\nreference = "{token}"\n\n[limits]\nrows = {len(table)}\nstrict = true\n'.encode()
    )


def _log(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    levels = ("INFO", "INFO", "WARNING", "INFO", "ERROR")
    lines = [
        f"2026-02-27 10:{n:02d}:07,{(n * 37) % 1000:03d} {levels[n % 5]} worker-{n % 3} handled {row[0]}"
        for n, row in enumerate(table)
    ]
    return ("\n".join([*lines, f"2026-02-27 10:59:59,000 INFO worker-0 trace {token}"]) + "\n").encode()


def _mail(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return (
        "From: Robin <robin@example.org>\r\nTo: Sam <sam@example.org>\r\n"
        "Date: Fri, 27 Feb 2026 10:00:00 +0000\r\n"
        f"Message-ID: <{abs(hash_of(token))}@example.org>\r\nSubject: The file we spoke about\r\n"
        "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"
        "Content-Transfer-Encoding: 8bit\r\n\r\n"
        "Hello Sam,\r\n\r\n" + "\r\n".join(chosen.words) + f"\r\n\r\nRobin\r\nRef {token}\r\n"
    ).encode()


def hash_of(text: str) -> int:
    """A number that depends on the text only, unlike the interpreter's salted hash."""
    return int.from_bytes(text.encode()[:6].ljust(6, b"\0"), "big")


def _calendar(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return (
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//example//calendar//EN\r\nBEGIN:VEVENT\r\n"
        f"UID:{token}@example.org\r\nDTSTAMP:20260227T100000Z\r\nDTSTART:20260305T140000Z\r\n"
        "DTEND:20260305T150000Z\r\nSUMMARY:Review\r\nLOCATION:Room 2\r\n"
        "END:VEVENT\r\nEND:VCALENDAR\r\n"
    ).encode()


def _subtitles(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    parts = [
        f"{n}\n00:00:{n * 4:02d},000 --> 00:00:{n * 4 + 3:02d},000\n{text}\n"
        for n, text in enumerate(chosen.words, 1)
    ]
    return ("\n".join([*parts, f"9\n00:01:00,000 --> 00:01:02,000\n{token}\n"])).encode()


def _urls(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return (
        f"https://example.org/\nhttps://example.com/page?ref={token}\nhttps://example.net/feed.xml\n".encode()
    )


def _fasta(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    bases = "ACGT"
    records = []
    for n in range(4):
        sequence = "".join(bases[(n * 7 + i * i + i // 3) % 4] for i in range(120))
        records.append(f">seq{n + 1} {token if n == 0 else 'example'}\n{sequence[:60]}\n{sequence[60:]}")
    return ("\n".join(records) + "\n").encode()


def _fastq(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    reads = []
    for n in range(6):
        sequence = "".join("ACGT"[(n * 5 + i * 3 + i * i) % 4] for i in range(50))
        reads.append(f"@read{n + 1} {token if n == 0 else 'example'}\n{sequence}\n+\n{'I' * 50}")
    return ("\n".join(reads) + "\n").encode()


def _vcf(chosen: ArgumentSet, table: Table, token: str) -> bytes:
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


def _sql(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    columns = ", ".join(f'"{name}" TEXT' for name in chosen.columns)
    rows = "".join(
        "INSERT INTO items VALUES (" + ", ".join("'" + cell.replace("'", "''") + "'" for cell in row) + ");\n"
        for row in table
    )
    return f"-- {token}\nCREATE TABLE items ({columns});\n{rows}SELECT COUNT(*) FROM items;\n".encode()


def _difference(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return (
        "--- a/main.py\n+++ b/main.py\n@@ -1,3 +1,3 @@\n"
        f' """Count rows."""\n-LIMIT = 10\n+LIMIT = 20  # {token}\n \n'
    ).encode()


def _source(text: str) -> Callable[[ArgumentSet, Table, str], bytes]:
    def build(chosen: ArgumentSet, table: Table, token: str) -> bytes:
        return text.replace(CANARY, token).encode()

    return build


_PYTHON = '''"""Count the rows of a table. {canary}"""

import csv
import sys


def count(path: str) -> int:
    with open(path, newline="", encoding="utf-8") as source:
        return sum(1 for _ in csv.DictReader(source))


if __name__ == "__main__":
    print(count(sys.argv[1]))
'''
_PYTHON_TEST = '''"""{canary}"""

from main import count


def test_count(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("a\\n1\\n2\\n")
    assert count(str(table)) == 2
'''
_JAVASCRIPT = """// {canary}
export function total(items) {
  return items.reduce((sum, item) => sum + item.quantity, 0);
}
"""
_PACKAGE = """{
  "name": "example-app",
  "version": "0.1.0",
  "description": "{canary}",
  "type": "module",
  "scripts": {"test": "node --test"}
}
"""
_PYPROJECT = """# {canary}
[project]
name = "example-app"
version = "0.1.0"
requires-python = ">=3.9"
"""
_README = "# Example app\n\nCounts rows.\n\n    python main.py data.csv\n\n<!-- {canary} -->\n"


def _pdf(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return formats.pdf(
        [chosen.title, *chosen.words, *(" ".join(row) for row in table[:4]), token], title=chosen.title
    )


def _png(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return formats.png(hash_of(table[0][-1]) % 200, comment=token)


def _jpeg(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return formats.jpeg(comment=token)


def _wav(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return formats.wav(comment=token)


def _xlsx(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return formats.xlsx([chosen.columns, *table], title=token)


def _docx(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return formats.docx([chosen.title, *chosen.words], title=token)


def _sqlite(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return formats.sqlite([*chosen.columns, "reference"], [[*row, token] for row in table])


def _zip(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return formats.archive(
        [("readme.txt", _text(chosen, table, token)), ("table.csv", _separated(",")(chosen, table, token))]
    )


_MEMBERS: Sequence[tuple[str, str, Callable[[ArgumentSet, Table, str], bytes]]] = (
    ("data/{stem}.csv", "csv", _separated(",")),
    ("data/{stem}.tsv", "tsv", _separated("\t")),
    ("data/{stem}.json", "json", _json),
    ("data/{stem}.jsonl", "jsonl", _json_lines),
    ("data/{stem}.xml", "xml", _xml),
    ("notes/{stem}.md", "markdown", _markdown),
    ("notes/{stem}.txt", "text", _text),
    ("notes/links.txt", "urls", _urls),
    ("site/{stem}.html", "html", _html),
    ("config/{stem}.yaml", "yaml", _yaml),
    ("config/{stem}.toml", "toml", _toml),
    ("logs/{stem}.log", "log", _log),
    ("documents/{stem}.pdf", "pdf", _pdf),
    ("documents/{stem}.docx", "docx", _docx),
    ("documents/{stem}.xlsx", "xlsx", _xlsx),
    ("images/{stem}.png", "png", _png),
    ("images/{stem}.jpg", "jpeg", _jpeg),
    ("audio/{stem}.wav", "wav", _wav),
    ("audio/{stem}.srt", "subtitles", _subtitles),
    ("mail/{stem}.eml", "eml", _mail),
    ("calendar/{stem}.ics", "ics", _calendar),
    ("sequences/{stem}.fasta", "fasta", _fasta),
    ("sequences/{stem}.fastq", "fastq", _fastq),
    ("sequences/{stem}.vcf", "vcf", _vcf),
    ("database/{stem}.sql", "sql", _sql),
    ("database/{stem}.sqlite", "sqlite", _sqlite),
    ("archive/{stem}.zip", "zip", _zip),
    ("code/README.md", "markdown", _source(_README)),
    ("code/main.py", "python", _source(_PYTHON)),
    ("code/tests/test_main.py", "python", _source(_PYTHON_TEST)),
    ("code/pyproject.toml", "toml", _source(_PYPROJECT)),
    ("code/package.json", "json", _source(_PACKAGE)),
    ("code/src/total.js", "javascript", _source(_JAVASCRIPT)),
    ("code/.gitignore", "text", _source("__pycache__/\nnode_modules/\n# {canary}\n")),
    ("changes.diff", "diff", _difference),
)
"""(path, type, writer) of every file of an argument set; `{stem}` is the set's own file name."""
