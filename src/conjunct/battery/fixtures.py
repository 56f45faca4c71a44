"""Task inputs: the workspace files of an argument set, and an index of what type each is."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path

from conjunct.battery import fixture_texts as texts
from conjunct.battery import formats
from conjunct.battery.document import Section, read_document
from conjunct.battery.fixture_texts import CANARY, ArgumentSet, Table
from conjunct.errors import BatteryError, UsageError
from conjunct.model import NEUTRAL

ROWS = 12

Canary = Callable[[str], str]
"""From a fixture's path to the token it carries."""


@dataclass(frozen=True, slots=True)
class Fixture:
    """One task input: `path` relative to the workspace, `type` such as `csv`, `pdf`, `png` or `folder`."""

    path: str
    type: str


def fixture_index(argument_set: str = NEUTRAL, *, extra: Path | None = None) -> tuple[Fixture, ...]:
    """Path and type of every task input of an argument set, folders included, in a fixed order."""
    stem = _argument_set(argument_set, extra).stem
    files = tuple(Fixture(path.format(stem=stem), kind) for path, kind, _ in _MEMBERS)
    return (*files, Fixture("code", "folder"), Fixture("data", "folder"))


def fixtures(
    argument_set: str = NEUTRAL,
    seed: int = 0,
    *,
    canary: Canary | None = None,
    extra: Path | None = None,
    words: Sequence[str] = (),
) -> tuple[tuple[str, bytes], ...]:
    """The workspace files of an argument set, as (path relative to the workspace, content).

    `seed` varies the numbers in them, so that deployments do not share fixtures. Every file carries a token:
    `canary(path)` if given; else the text `{canary}`, which a caller may replace in text files and must not
    replace in the others (a ZIP member has a length and a checksum), so worlds pass `canary`. `words` are put
    in the running text and the text columns of all files. Raises `UsageError` for an unknown argument set.
    """
    chosen = _with_words(_argument_set(argument_set, extra), words)
    table = _table(chosen, random.Random(f"{chosen.level}:{seed}"))
    made = []
    for template, _, build in _MEMBERS:
        path = template.format(stem=chosen.stem)
        made.append((path, build(chosen, table, canary(path) if canary else CANARY)))
    return tuple(made)


def _with_words(chosen: ArgumentSet, words: Sequence[str]) -> ArgumentSet:
    """The set with one more sentence and one more row for each word; columns of numbers stay such."""
    if not words:
        return chosen
    first, *others = chosen.rows[0]
    rows = tuple(
        (_numbered(first, len(chosen.rows) + count), *(cell if _is_number(cell) else word for cell in others))
        for count, word in enumerate(words)
    )
    sentences = tuple(f"One of the topics is {word}." for word in words)
    return replace(chosen, rows=(*chosen.rows, *rows), words=(*chosen.words, *sentences))


def _numbered(first: str, count: int) -> str:
    return str(int(first) + count) if first.isdecimal() else f"{first} {count}"


def _is_number(cell: str) -> bool:
    return cell.replace(".", "", 1).replace("-", "", 1).isdecimal()


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


def _table(chosen: ArgumentSet, generator: random.Random) -> Table:
    """The rows of the set, repeated to `ROWS` with first column made unique and decimals varied."""
    rows = []
    for number in range(max(ROWS, len(chosen.rows))):
        source = chosen.rows[number % len(chosen.rows)]
        turn = number // len(chosen.rows)
        first = source[0]
        if turn:
            first = str(int(first) + turn * len(chosen.rows)) if first.isdecimal() else f"{first} {turn + 1}"
        rows.append([first, *(_varied(cell, generator) for cell in source[1:])])
    return rows


def _varied(cell: str, generator: random.Random) -> str:
    whole, dot, decimals = cell.partition(".")
    if not dot or not whole.isdecimal() or not decimals.isdecimal():
        return cell
    return f"{float(cell) * generator.uniform(0.8, 1.2):.{len(decimals)}f}"


def _pdf(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return formats.pdf(
        [chosen.title, *chosen.words, *(" ".join(row) for row in table[:4]), token], title=chosen.title
    )


def _png(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return formats.png(texts.number_of(table[0][-1]) % 200, comment=token)


def _jpeg(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return formats.jpeg(comment=token)


def _wav(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return formats.wav(comment=token)


def _xlsx(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return formats.xlsx([chosen.columns, *table], title=token)


def _docx(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return formats.docx([chosen.title, *chosen.words], title=token)


def _pptx(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return formats.pptx([chosen.title, *chosen.words], title=token)


def _sqlite(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return formats.sqlite([*chosen.columns, "reference"], [[*row, token] for row in table])


def _zip(chosen: ArgumentSet, table: Table, token: str) -> bytes:
    return formats.archive(
        [
            ("readme.txt", texts.text(chosen, table, token)),
            ("table.csv", texts.separated(",")(chosen, table, token)),
        ]
    )


_MEMBERS: Sequence[tuple[str, str, Callable[[ArgumentSet, Table, str], bytes]]] = (
    ("data/{stem}.csv", "csv", texts.separated(",")),
    ("data/{stem}.tsv", "tsv", texts.separated("\t")),
    ("data/{stem}.json", "json", texts.json_document),
    ("data/{stem}.jsonl", "jsonl", texts.json_lines),
    ("data/{stem}.xml", "xml", texts.xml),
    ("notes/{stem}.md", "markdown", texts.markdown),
    ("notes/{stem}.ipynb", "notebook", texts.notebook),
    ("notes/{stem}.txt", "text", texts.text),
    ("notes/links.txt", "urls", texts.urls),
    ("site/{stem}.html", "html", texts.html),
    ("config/{stem}.yaml", "yaml", texts.yaml),
    ("config/{stem}.toml", "toml", texts.toml),
    ("logs/{stem}.log", "log", texts.log),
    ("documents/{stem}.pdf", "pdf", _pdf),
    ("documents/{stem}.docx", "docx", _docx),
    ("documents/{stem}.xlsx", "xlsx", _xlsx),
    ("documents/{stem}.pptx", "pptx", _pptx),
    ("images/{stem}.png", "png", _png),
    ("images/{stem}.jpg", "jpeg", _jpeg),
    ("images/{stem}.svg", "svg", texts.svg),
    ("audio/{stem}.wav", "wav", _wav),
    ("audio/{stem}.srt", "subtitles", texts.subtitles),
    ("mail/{stem}.eml", "eml", texts.mail),
    ("calendar/{stem}.ics", "ics", texts.calendar),
    ("sequences/{stem}.fasta", "fasta", texts.fasta),
    ("sequences/{stem}.fastq", "fastq", texts.fastq),
    ("sequences/{stem}.vcf", "vcf", texts.vcf),
    ("database/{stem}.sql", "sql", texts.sql),
    ("database/{stem}.sqlite", "sqlite", _sqlite),
    ("archive/{stem}.zip", "zip", _zip),
    ("code/README.md", "markdown", texts.source(texts.README)),
    ("code/main.py", "python", texts.source(texts.PYTHON)),
    ("code/tests/test_main.py", "python", texts.source(texts.PYTHON_TEST)),
    ("code/pyproject.toml", "toml", texts.source(texts.PYPROJECT)),
    ("code/package.json", "json", texts.source(texts.PACKAGE)),
    ("code/src/total.js", "javascript", texts.source(texts.JAVASCRIPT)),
    ("code/.gitignore", "text", texts.source("__pycache__/\nnode_modules/\n# {canary}\n")),
    ("changes.diff", "diff", texts.difference),
)
"""(path, type, writer) of every file of an argument set; `{stem}` is the set's own file name."""
