"""Bytes of decoys that are not plain text; the same text always gives the same bytes."""

from __future__ import annotations

import io
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable
from xml.sax.saxutils import escape

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_P = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "application/vnd.openxmlformats-officedocument"


def text(content: str) -> bytes:
    """The content itself."""
    return content.encode()


def sqlite(content: str) -> bytes:
    """A database made by the statements in `content`."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(content)
        return connection.serialize()
    finally:
        connection.close()


def docx(content: str) -> bytes:
    """A document with a paragraph per line."""
    paragraphs = "".join(f"<w:p><w:r><w:t>{escape(line)}</w:t></w:r></w:p>" for line in content.splitlines())
    body = f'<w:document xmlns:w="{_W}"><w:body>{paragraphs}</w:body></w:document>'
    kind = f"{_OFFICE}.wordprocessingml.document.main+xml"
    return _package("word/document.xml", kind, {"word/document.xml": body})


def xlsx(content: str) -> bytes:
    """A workbook with one sheet: a row per line, cells between tabs."""
    rows = ""
    for line in content.splitlines():
        cells = "".join(f'<c t="inlineStr"><is><t>{escape(c)}</t></is></c>' for c in line.split("\t"))
        rows += f"<row>{cells}</row>"
    book = (
        f'<workbook xmlns="{_S}" xmlns:r="{_R}"><sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/>'
        "</sheets></workbook>"
    )
    relations = (
        f'<Relationships xmlns="{_P}/relationships"><Relationship Id="rId1" Type="{_R}/worksheet" '
        'Target="worksheets/sheet1.xml"/></Relationships>'
    )
    parts = {
        "xl/workbook.xml": book,
        "xl/_rels/workbook.xml.rels": relations,
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_S}"><sheetData>{rows}</sheetData></worksheet>',
    }
    sheet = f"{_OFFICE}.spreadsheetml.worksheet+xml"
    return _package("xl/workbook.xml", f"{_OFFICE}.spreadsheetml.sheet.main+xml", parts, {"worksheet": sheet})


def _package(main: str, kind: str, parts: dict[str, str], more: dict[str, str] | None = None) -> bytes:
    overrides = f'<Override PartName="/{main}" ContentType="{kind}"/>'
    for name in parts:
        for fragment, content_type in (more or {}).items():
            if fragment in name and name != main:
                overrides += f'<Override PartName="/{name}" ContentType="{content_type}"/>'
    types = (
        f'<Types xmlns="{_P}/content-types"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>'
    )
    relations = (
        f'<Relationships xmlns="{_P}/relationships"><Relationship Id="rId1" Type="{_R}/officeDocument" '
        f'Target="{main}"/></Relationships>'
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in {"[Content_Types].xml": types, "_rels/.rels": relations, **parts}.items():
            info = zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>' + content)
    return buffer.getvalue()


def pdf(content: str) -> bytes:
    """A page with a line of text per line."""
    lines = [
        line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for line in content.splitlines()
    ]
    drawn = "BT /F1 11 Tf 14 TL 72 760 Td " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
    stream = drawn.encode("latin-1", "replace")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def png(content: str) -> bytes:
    """A small grey picture with the content as its comment."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 64, 48, 8, 0, 0, 0, 0))
    rows = b"".join(b"\0" + bytes((x * 3 + y * 2) % 256 for x in range(64)) for y in range(48))
    comment = chunk(b"tEXt", b"Comment\0" + content.encode("latin-1", "replace"))
    data = chunk(b"IDAT", zlib.compress(rows, 9))
    return b"\x89PNG\r\n\x1a\n" + header + comment + data + chunk(b"IEND", b"")


BUILDERS: dict[str, Callable[[str], bytes]] = {
    "text": text,
    "sqlite": sqlite,
    "docx": docx,
    "xlsx": xlsx,
    "pdf": pdf,
    "png": png,
}
"""Formats by name."""
