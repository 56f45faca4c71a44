"""Task inputs are real files of their type."""

from __future__ import annotations

import ast
import csv
import email
import io
import json
import re
import sqlite3
import struct
import tomllib
import wave
import xml.etree.ElementTree as ElementTree
import zipfile
import zlib
from pathlib import Path

import pytest
import yaml

from conjunct.battery import CANARY, fixture_index, fixtures, load_battery
from conjunct.errors import UsageError

SETS = load_battery().arguments


def of_type(kind: str, level: str, **more: object) -> list[tuple[str, bytes]]:
    paths = {one.path for one in fixture_index(level) if one.type == kind}
    return [(path, content) for path, content in fixtures(level, **more) if path in paths]  # type: ignore[arg-type]


def token(path: str) -> str:
    return f"tok-{zlib.crc32(path.encode()):08x}"


@pytest.mark.parametrize("level", SETS)
def test_every_set_has_every_type(level: str) -> None:
    kinds = {one.type for one in fixture_index(level)}
    assert kinds >= {
        *("csv", "tsv", "json", "jsonl", "xml", "yaml", "toml", "markdown", "text", "html", "log", "urls"),
        *("pdf", "docx", "xlsx", "pptx", "png", "jpeg", "svg", "wav", "eml", "ics", "fasta", "fastq", "vcf"),
        *("sql", "sqlite", "zip", "python", "javascript", "diff", "folder", "notebook"),
    }
    folders = {one.path for one in fixture_index(level) if one.type == "folder"}
    paths = [path for path, _ in fixtures(level)]
    assert len(set(paths)) == len(paths)
    assert {one.path for one in fixture_index(level)} - folders == set(paths)
    assert all(any(path.startswith(f"{folder}/") for path in paths) for folder in folders)


@pytest.mark.parametrize("level", SETS)
def test_text_types_parse(level: str) -> None:
    for _, content in of_type("csv", level):
        rows = list(csv.reader(io.StringIO(content.decode())))
        assert len({len(row) for row in rows}) == 1
        assert len(rows) > 10
    for _, content in of_type("json", level):
        assert json.loads(content)
    for _, content in of_type("jsonl", level):
        assert all(json.loads(line) for line in content.splitlines())
    for _, content in of_type("xml", level) + of_type("svg", level):
        assert len(ElementTree.fromstring(content)) > 0
    for _, content in of_type("yaml", level):
        assert yaml.safe_load(content)["items"]
    for _, content in of_type("toml", level):
        assert tomllib.loads(content.decode())
    for _, content in of_type("python", level):
        ast.parse(content)
    for _, content in of_type("notebook", level):
        assert json.loads(content)["nbformat"] == 4
    for _, content in of_type("eml", level):
        assert email.message_from_bytes(content)["Subject"]
    for _, content in of_type("ics", level):
        assert content.startswith(b"BEGIN:VCALENDAR\r\n")
        assert content.count(b"BEGIN:VEVENT") == content.count(b"END:VEVENT") == 1


def test_sequences_have_the_shape_of_their_format() -> None:
    for _, content in of_type("fastq", "neutral"):
        lines = content.decode().splitlines()
        assert len(lines) % 4 == 0
        assert all(len(lines[n + 1]) == len(lines[n + 3]) for n in range(0, len(lines), 4))
    for _, content in of_type("vcf", "neutral"):
        records = [line.split("\t") for line in content.decode().splitlines() if not line.startswith("##")]
        assert {len(record) for record in records} == {10}
    for _, content in of_type("fasta", "neutral"):
        assert content.count(b">") == 4


@pytest.mark.parametrize("level", SETS)
def test_a_pdf_points_at_its_objects(level: str) -> None:
    ((_, content),) = of_type("pdf", level)
    start = int(re.search(rb"startxref\n(\d+)", content)[1])
    assert content[start:].startswith(b"xref")
    for number, offset in enumerate(re.findall(rb"(\d{10}) 00000 n", content), 1):
        assert content[int(offset) :].startswith(b"%d 0 obj" % number)
    length = int(re.search(rb"/Length (\d+)", content)[1])
    stream = content[content.index(b"stream\n") + 7 :]
    assert stream[length:].startswith(b"\nendstream")


def test_a_png_has_correct_checksums_and_pixels() -> None:
    ((_, content),) = of_type("png", "neutral")
    position, chunks = 8, {}
    while position < len(content):
        (length,) = struct.unpack(">I", content[position : position + 4])
        kind, data = content[position + 4 : position + 8], content[position + 8 : position + 8 + length]
        (checksum,) = struct.unpack(">I", content[position + 8 + length : position + 12 + length])
        assert zlib.crc32(kind + data) == checksum
        chunks[kind] = data
        position += 12 + length
    assert len(zlib.decompress(chunks[b"IDAT"])) == 32 * (1 + 32 * 3)


def test_a_jpeg_is_a_chain_of_segments() -> None:
    ((_, content),) = of_type("jpeg", "neutral")
    assert content[:2] == b"\xff\xd8"
    position, markers = 2, []
    while content[position + 1] != 0xDA:
        assert content[position] == 0xFF
        markers.append(content[position + 1])
        position += 2 + struct.unpack(">H", content[position + 2 : position + 4])[0]
    assert markers == [0xE0, 0xFE, 0xDB, 0xC0, 0xC4, 0xC4]
    assert content.endswith(b"\xff\xd9")


def test_sound_is_readable() -> None:
    ((_, content),) = of_type("wav", "neutral")
    with wave.open(io.BytesIO(content)) as sound:
        assert (sound.getnchannels(), sound.getframerate(), sound.getnframes()) == (1, 8000, 800)


@pytest.mark.parametrize("kind", ["docx", "xlsx", "pptx", "zip"])
@pytest.mark.parametrize("level", SETS)
def test_office_files_are_archives_whose_parts_parse(kind: str, level: str) -> None:
    ((_, content),) = of_type(kind, level)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        for name in archive.namelist():
            if name.endswith((".xml", ".rels")):
                ElementTree.fromstring(archive.read(name))
        if kind != "zip":
            parts = {f"/{name}" for name in archive.namelist()}
            types = archive.read("[Content_Types].xml").decode()
            assert set(re.findall(r'PartName="([^"]+)"', types)) <= parts


def test_numbers_keep_their_digits_in_a_sheet() -> None:
    ((_, content),) = of_type("xlsx", "unusual")
    sheet = zipfile.ZipFile(io.BytesIO(content)).read("xl/worksheets/sheet1.xml").decode()
    assert "<v>1973395</v>" in sheet


def test_a_database_opens(tmp_path: Path) -> None:
    for level in SETS:
        ((_, content),) = of_type("sqlite", level)
        (tmp_path / "x.sqlite").write_bytes(content)
        connection = sqlite3.connect(tmp_path / "x.sqlite")
        assert connection.execute("SELECT COUNT(*) FROM items").fetchone() == (12,)
        connection.close()
        ((_, script),) = of_type("sql", level)
        connection = sqlite3.connect(":memory:")
        connection.executescript(script.decode())
        assert connection.execute("SELECT COUNT(*) FROM items").fetchone() == (12,)
        connection.close()


@pytest.mark.parametrize("level", SETS)
def test_every_file_carries_its_token(level: str) -> None:
    for path, content in fixtures(level, canary=token):
        inside = [content]
        if path.endswith((".docx", ".xlsx", ".pptx", ".zip")):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                inside = [archive.read(name) for name in archive.namelist()]
        assert any(token(path).encode() in part for part in inside), path
        assert not any(CANARY.encode() in part for part in inside), path


def test_text_files_hold_a_place_for_the_token() -> None:
    for path, content in fixtures("neutral"):
        if path.endswith((".csv", ".md", ".txt", ".json", ".py", ".html", ".log")):
            assert CANARY.encode() in content, path


def test_fixtures_repeat_by_seed_and_differ_between_seeds() -> None:
    assert fixtures("office", 3) == fixtures("office", 3)
    different = [a[0] for a, b in zip(fixtures("office", 3), fixtures("office", 4), strict=True) if a != b]
    assert any(path.endswith(".csv") for path in different)
    assert any(path.endswith(".xlsx") for path in different)


def test_first_columns_are_unique() -> None:
    for level in SETS:
        ((_, content),) = of_type("tsv", level)
        first = [line.split("\t")[0] for line in content.decode().splitlines()]
        assert len(set(first)) == len(first)


def test_an_unknown_set_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"unknown argument set 'x'; known: neutral, office"):
        fixtures("x")


def test_a_users_argument_set(tmp_path: Path) -> None:
    (tmp_path / "factors.yaml").write_text(
        'version: "1"\narguments:\n'
        "  - {level: own, stem: garden, title: G, columns: [plant], rows: [[oak]], words: [A tree.]}\n"
    )
    assert load_battery(tmp_path).arguments[-1] == "own"
    assert (
        dict(fixtures("own", extra=tmp_path))["data/garden.csv"].decode().startswith("plant,reference\noak,")
    )


def test_no_fixture_looks_like_a_credential() -> None:
    assert not [one.path for one in fixture_index() if ".env" in one.path or "credential" in one.path]


def test_words_are_put_into_texts_and_tables_and_numbers_stay_numbers() -> None:
    files = dict(fixtures(words=("blue heron",)))
    assert dict(fixtures()).keys() == files.keys()
    table = files["data/orders.csv"].decode()
    assert "blue heron" in table and "blue heron" in files["notes/orders.txt"].decode()
    rows = [line.split(",") for line in table.splitlines()[1:]]
    assert all(row[2].isdecimal() for row in rows if row[0].isdecimal())
    assert b"blue heron" not in dict(fixtures())["data/orders.csv"]
