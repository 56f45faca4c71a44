"""Small valid files of binary formats, the same bytes for the same arguments, written by hand."""

from __future__ import annotations

import io
import re
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Sequence
from html import escape

_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?\Z")
_EPOCH = (2026, 2, 27, 10, 0, 0)


def pdf(lines: Sequence[str], *, title: str) -> bytes:
    """One page of text in Helvetica, with a correct cross-reference table."""
    shown = "".join(f"({_pdf_text(line)}) Tj T*\n" for line in lines)
    content = f"BT /F1 11 Tf 14 TL 60 780 Td\n{shown}ET\n".encode("latin-1", "replace")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Title (%s) >>" % _pdf_text(title).encode("latin-1", "replace"),
    ]
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info 6 0 R >>\n" % (len(objects) + 1)
    out += b"startxref\n%d\n%%%%EOF\n" % start
    return bytes(out)


def _pdf_text(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def png(shade: int, *, comment: str) -> bytes:
    """A 32 × 32 colour gradient; `comment` is a text chunk."""
    side = 32
    rows = b"".join(
        b"\0" + bytes(value for x in range(side) for value in ((x * 7) % 256, (y * 7) % 256, shade % 256))
        for y in range(side)
    )
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = (
        (b"IHDR", header),
        (b"tEXt", b"Comment\0" + comment.encode("latin-1", "replace")),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def jpeg(*, comment: str) -> bytes:
    """A 16 × 16 grey baseline JPEG: every block has DC difference 0 and no AC coefficients.

    Both Huffman tables hold one code of one bit, `0`; four blocks of two codes make the eight bits 0.
    """
    text = comment.encode()

    def segment(marker: int, data: bytes) -> bytes:
        return struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data

    one_code = bytes([1] + [0] * 15) + b"\0"
    return (
        b"\xff\xd8"
        + segment(0xE0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0")
        + segment(0xFE, text)
        + segment(0xDB, b"\0" + bytes([16] * 64))
        + segment(0xC0, struct.pack(">BHHB", 8, 16, 16, 1) + b"\x01\x11\0")
        + segment(0xC4, b"\0" + one_code)
        + segment(0xC4, b"\x10" + one_code)
        + segment(0xDA, b"\x01\x01\0\0\x3f\0")
        + b"\0"
        + b"\xff\xd9"
    )


def wav(*, comment: str) -> bytes:
    """A tenth of a second of a square tone, 8 kHz, mono, 16 bit; `comment` is an information chunk."""
    samples = b"".join(struct.pack("<h", 6000 if (n // 9) % 2 else -6000) for n in range(800))
    note = comment.encode() + b"\0"
    note += b"\0" * (len(note) % 2)
    information = b"INFO" + b"ICMT" + struct.pack("<I", len(note)) + note
    body = (
        b"WAVE"
        b"fmt "
        + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
        + b"data"
        + struct.pack("<I", len(samples))
        + samples
        + b"LIST"
        + struct.pack("<I", len(information))
        + information
    )
    return b"RIFF" + struct.pack("<I", len(body)) + body


def archive(members: Sequence[tuple[str, bytes]]) -> bytes:
    """A ZIP file with fixed times."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in members:
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            target.writestr(info, content)
    return buffer.getvalue()


def sqlite(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    """A database with one table `items` of text columns."""
    names = ", ".join('"' + name.replace('"', '""') + '" TEXT' for name in columns)
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(f"CREATE TABLE items ({names})")
        connection.executemany(f"INSERT INTO items VALUES ({', '.join('?' * len(columns))})", rows)
        connection.commit()
        return connection.serialize()
    finally:
        connection.close()


_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = "application/vnd.openxmlformats-officedocument"


def _relationships(*targets: tuple[str, str]) -> bytes:
    parts = "".join(
        f'<Relationship Id="rId{n}" Type="{kind}" Target="{target}"/>'
        for n, (kind, target) in enumerate(targets, 1)
    )
    return f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">{parts}</Relationships>'.encode()


def _content_types(*parts: tuple[str, str]) -> bytes:
    overrides = "".join(f'<Override PartName="{name}" ContentType="{kind}"/>' for name, kind in parts)
    return (
        f'{_XML}<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>'
    ).encode()


def _core(title: str) -> bytes:
    return (
        f'{_XML}<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{escape(title)}</dc:title><dc:creator>Sam</dc:creator></cp:coreProperties>"
    ).encode()


_CORE_TYPE = "application/vnd.openxmlformats-package.core-properties+xml"


def docx(paragraphs: Sequence[str], *, title: str) -> bytes:
    """A Word document; `title` is a document property."""
    body = "".join(
        f'<w:p><w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>' for text in paragraphs
    )
    document = (
        f'{_XML}<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        f'<w:body>{body}<w:sectPr><w:pgSz w:w="11906" w:h="16838"/></w:sectPr></w:body></w:document>'
    )
    main = f"{_TYPES}.wordprocessingml.document.main+xml"
    return archive(
        [
            (
                "[Content_Types].xml",
                _content_types(("/word/document.xml", main), ("/docProps/core.xml", _CORE_TYPE)),
            ),
            ("_rels/.rels", _root_relationships("word/document.xml")),
            ("word/document.xml", document.encode()),
            ("docProps/core.xml", _core(title)),
        ]
    )


_SLIDE = "application/vnd.openxmlformats-officedocument.presentationml"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_SHOW = "http://schemas.openxmlformats.org/presentationml/2006/main"
_COLOURS = ("dk1", "lt1", "dk2", "lt2", *(f"accent{n}" for n in range(1, 7)), "hlink", "folHlink")


def pptx(lines: Sequence[str], *, title: str) -> bytes:
    """A presentation with one slide of text, with the layout, master and theme that readers insist on."""
    text = "".join(f"<a:p><a:r><a:t>{escape(line)}</a:t></a:r></a:p>" for line in lines)
    shape = (
        '<p:sp><p:nvSpPr><p:cNvPr id="2" name="Text"/><p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr><p:spPr/>'
        f"<p:txBody><a:bodyPr/><a:lstStyle/>{text}</p:txBody></p:sp>"
    )
    master = f"{_OFFICE}/slideMaster"
    layout, page = f"{_OFFICE}/slideLayout", "slideLayouts/slideLayout1.xml"
    return archive(
        [
            ("[Content_Types].xml", _presentation_types()),
            ("_rels/.rels", _root_relationships("ppt/presentation.xml")),
            ("ppt/presentation.xml", _presentation()),
            (
                "ppt/_rels/presentation.xml.rels",
                _relationships(
                    (master, "slideMasters/slideMaster1.xml"), (f"{_OFFICE}/slide", "slides/slide1.xml")
                ),
            ),
            ("ppt/slides/slide1.xml", _page("sld", shape)),
            (
                "ppt/slides/_rels/slide1.xml.rels",
                _relationships((layout, "../slideLayouts/slideLayout1.xml")),
            ),
            (f"ppt/{page}", _page("sldLayout")),
            (
                "ppt/slideLayouts/_rels/slideLayout1.xml.rels",
                _relationships((master, "../slideMasters/slideMaster1.xml")),
            ),
            ("ppt/slideMasters/slideMaster1.xml", _page("sldMaster", after=_master())),
            (
                "ppt/slideMasters/_rels/slideMaster1.xml.rels",
                _relationships((layout, f"../{page}"), (f"{_OFFICE}/theme", "../theme/theme1.xml")),
            ),
            ("ppt/theme/theme1.xml", _theme()),
            ("docProps/core.xml", _core(title)),
        ]
    )


def _presentation_types() -> bytes:
    return _content_types(
        ("/ppt/presentation.xml", f"{_SLIDE}.presentation.main+xml"),
        ("/ppt/slides/slide1.xml", f"{_SLIDE}.slide+xml"),
        ("/ppt/slideLayouts/slideLayout1.xml", f"{_SLIDE}.slideLayout+xml"),
        ("/ppt/slideMasters/slideMaster1.xml", f"{_SLIDE}.slideMaster+xml"),
        ("/ppt/theme/theme1.xml", f"{_TYPES}.theme+xml"),
        ("/docProps/core.xml", _CORE_TYPE),
    )


def _presentation() -> bytes:
    return (
        f'{_XML}<p:presentation xmlns:r="{_OFFICE}" xmlns:p="{_SHOW}">'
        '<p:sldMasterIdLst><p:sldMasterId id="2147483648" r:id="rId1"/></p:sldMasterIdLst>'
        '<p:sldIdLst><p:sldId id="256" r:id="rId2"/></p:sldIdLst>'
        '<p:sldSz cx="9144000" cy="6858000"/><p:notesSz cx="6858000" cy="9144000"/></p:presentation>'
    ).encode()


def _page(name: str, content: str = "", *, after: str = "") -> bytes:
    group = '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
    tree = f"<p:cSld><p:spTree>{group}{content}</p:spTree></p:cSld>"
    spaces = f'xmlns:a="{_DRAWING}" xmlns:r="{_OFFICE}" xmlns:p="{_SHOW}"'
    return f"{_XML}<p:{name} {spaces}>{tree}{after}</p:{name}>".encode()


def _master() -> str:
    pairs = {name: name for name in _COLOURS[4:]} | {"bg1": "lt1", "tx1": "dk1", "bg2": "lt2", "tx2": "dk2"}
    colours = " ".join(f'{name}="{value}"' for name, value in pairs.items())
    layouts = '<p:sldLayoutIdLst><p:sldLayoutId id="2147483649" r:id="rId1"/></p:sldLayoutIdLst>'
    return f"<p:clrMap {colours}/>{layouts}"


def _theme() -> bytes:
    colours = "".join(f'<a:{name}><a:srgbClr val="336699"/></a:{name}>' for name in _COLOURS)
    font = '<a:latin typeface="Arial"/><a:ea typeface=""/><a:cs typeface=""/>'
    fill = '<a:solidFill><a:schemeClr val="phClr"/></a:solidFill>'
    effect = "<a:effectStyle><a:effectLst/></a:effectStyle>"
    return (
        f'{_XML}<a:theme xmlns:a="{_DRAWING}" name="Plain"><a:themeElements>'
        f'<a:clrScheme name="Plain">{colours}</a:clrScheme><a:fontScheme name="Plain">'
        f"<a:majorFont>{font}</a:majorFont><a:minorFont>{font}</a:minorFont></a:fontScheme>"
        f'<a:fmtScheme name="Plain"><a:fillStyleLst>{fill * 3}</a:fillStyleLst>'
        f"<a:lnStyleLst>{f'<a:ln>{fill}</a:ln>' * 3}</a:lnStyleLst>"
        f"<a:effectStyleLst>{effect * 3}</a:effectStyleLst><a:bgFillStyleLst>{fill * 3}</a:bgFillStyleLst>"
        "</a:fmtScheme></a:themeElements></a:theme>"
    ).encode()


def xlsx(rows: Sequence[Sequence[str]], *, title: str) -> bytes:
    """A workbook with one sheet `Data`: numbers as numbers, the rest as inline text."""
    cells = "".join(
        f'<row r="{r}">' + "".join(_cell(r, c, value) for c, value in enumerate(row)) + "</row>"
        for r, row in enumerate(rows, 1)
    )
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    sheet = f'{_XML}<worksheet xmlns="{space}"><sheetData>{cells}</sheetData></worksheet>'
    book = (
        f'{_XML}<workbook xmlns="{space}" xmlns:r="{_OFFICE}"><sheets>'
        '<sheet name="Data" sheetId="1" r:id="rId1"/></sheets></workbook>'
    )
    types = _content_types(
        ("/xl/workbook.xml", f"{_TYPES}.spreadsheetml.sheet.main+xml"),
        ("/xl/worksheets/sheet1.xml", f"{_TYPES}.spreadsheetml.worksheet+xml"),
        ("/docProps/core.xml", _CORE_TYPE),
    )
    return archive(
        [
            ("[Content_Types].xml", types),
            ("_rels/.rels", _root_relationships("xl/workbook.xml")),
            ("xl/workbook.xml", book.encode()),
            ("xl/_rels/workbook.xml.rels", _relationships((f"{_OFFICE}/worksheet", "worksheets/sheet1.xml"))),
            ("xl/worksheets/sheet1.xml", sheet.encode()),
            ("docProps/core.xml", _core(title)),
        ]
    )


def _root_relationships(main: str) -> bytes:
    core = f"{_PACKAGE}/relationships/metadata/core-properties"
    return _relationships((f"{_OFFICE}/officeDocument", main), (core, "docProps/core.xml"))


def _cell(row: int, column: int, value: str) -> str:
    reference = f"{chr(ord('A') + column)}{row}"
    if _NUMBER.match(value):
        return f'<c r="{reference}"><v>{value}</v></c>'
    return f'<c r="{reference}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
