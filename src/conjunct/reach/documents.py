"""What office documents and PDF files do by themselves when a person opens them: macros, links, actions."""

from __future__ import annotations

import re
import zlib

from conjunct.model import ActionKind, ResourceClass
from conjunct.reach.commands import remote_code
from conjunct.reach.found import UNKNOWN, Place, Sightings
from conjunct.reach.resources import is_inert_host

_MACRO_MEMBER = re.compile(r"(?:^|/)(?:vbaProject\.bin$|macrosheets/|Basic/.*\.xml$)", re.IGNORECASE)
_RELATIONS = re.compile(r"\.rels$", re.IGNORECASE)
_RELATION = re.compile(rb"<Relationship\b[^>]{0,4000}>")
_EXTERNAL = re.compile(rb"""TargetMode\s*=\s*["']External["']""", re.IGNORECASE)
_LOADED = re.compile(
    rb"""Type\s*=\s*["'][^"']*/(?:attachedTemplate|oleObject|frame|subDocument|externalLink)["']""", re.I
)
_TARGET = re.compile(rb"""Target\s*=\s*["']([^"']{1,400})["']""")
_FIELD = re.compile(rb"\bDDE(?:AUTO)?\b[^<]{0,200}")
_INSTRUCTION = re.compile(rb"<w:instrText[^>]*>([^<]{0,400})")
_EMBEDDED = re.compile(r"(?:^|/)(?:embeddings/.*\.bin|activeX/.*\.bin)$", re.IGNORECASE)

_BY_ITSELF = re.compile(
    r"\b(?:Auto_?Open|Auto_?Exec|Auto_?Close|Document_Open|Document_Close|Workbook_Open|Workbook_Activate)\b",
    re.IGNORECASE,
)
_STARTS = re.compile(r"\b(?:Shell|ShellExecute\w*|CreateObject|GetObject|WinExec|Powershell|Wscript)\b", re.I)
_URL = re.compile(r"https?://[^\s'\"<>|;)`\\\0]{3,300}", re.IGNORECASE)
_VBA_START = re.compile(rb"\x00Attribut[\x00e]")

_LONGEST_MACRO = 1 << 20
_CHUNK = 4096
"""Bytes that one compressed chunk of a VBA module stands for."""

_PDF_STREAM = re.compile(rb"stream\r?\n")
_PDF_ACTION = re.compile(rb"/(JavaScript|JS|Launch|EmbeddedFile|RichMedia|SubmitForm|ImportData)\b")
_PDF_ESCAPE = re.compile(rb"#([0-9a-fA-F]{2})")
_PDF_FILTERED = 4 * 1024 * 1024
_MOST_STREAMS = 500


def read_document_member(path: str, data: bytes, place: Place, seen: Sightings) -> None:
    """One member of an office document, where it is something that acts."""
    if _MACRO_MEMBER.search(path):
        read_macros(data, place, seen)
    elif _RELATIONS.search(path):
        _relations(data, place, seen)
    elif _EMBEDDED.search(path):
        seen.opaque(place, "binary:embedded-object", 0.7)
    elif path.endswith("word/document.xml"):
        # The text of one field is split over several elements.
        fields = b"".join(_INSTRUCTION.findall(data))
        if _FIELD.search(fields):
            seen.add(place, ActionKind.EXEC, "document field DDE", ResourceClass.PROCESS)
            seen.opaque(place, "macro:dde")


def _relations(data: bytes, place: Place, seen: Sightings) -> None:
    """Templates, frames and objects that the office program loads from elsewhere on opening."""
    for found in _RELATION.findall(data)[:200]:
        target = _TARGET.search(found)
        if target is None or not _EXTERNAL.search(found) or not _LOADED.search(found):
            continue
        address = target[1].decode("utf-8", "replace")
        if _URL.match(address) and b"attachedTemplate" in found:
            remote_code(address, place, seen)
        elif _URL.match(address):
            seen.network(place, ActionKind.CONNECT, address)


def read_macros(data: bytes, place: Place, seen: Sightings) -> None:
    """A VBA project (or a whole OLE file): opaque, and its text as far as it can be decompressed."""
    text = macro_text(data)
    if not text and data.lstrip()[:5] == b"<?xml":
        text = data[:_LONGEST_MACRO].decode("utf-8", "replace")
    seen.opaque(place, "macro:vba" if b"VBA" in data or text else "macro:office", 0.9)
    if not text:
        return
    runs = _BY_ITSELF.search(text)
    if runs:
        seen.opaque(place, f"macro:autorun {runs[0]}")
    starts = _STARTS.search(text)
    if starts:
        seen.add(place, ActionKind.EXEC, UNKNOWN, ResourceClass.PROCESS, 0.8)
    for address in dict.fromkeys(_URL.findall(text)[:20]):
        if is_inert_host(address):
            continue
        if starts and runs:
            remote_code(address, place, seen, 0.8)
        else:
            seen.network(place, ActionKind.CONNECT, address, 0.7)


def macro_text(data: bytes, most: int = _LONGEST_MACRO) -> str:
    """The source text of VBA modules, found by how each of them begins; empty where there is none.

    Modules are compressed as MS-OVBA 2.4.1 says. The streams of the surrounding OLE file are not followed: a
    module that is scattered over the file is read up to its first gap.
    """
    parts: list[str] = []
    left = most
    for found in list(_VBA_START.finditer(data))[:100]:
        text = _decompress_vba(data[max(0, found.start() - 2) :], left)
        left -= len(text)
        parts.append(text.decode("latin-1"))
        if left <= 0:
            break
    return "\n".join(parts)


def _decompress_vba(data: bytes, most: int) -> bytes:
    out = bytearray()
    at = 0
    while at + 2 <= len(data) and len(out) < most:
        header = int.from_bytes(data[at : at + 2], "little")
        if header >> 12 & 7 != 3:
            break
        end = min(at + (header & 0xFFF) + 3, len(data))
        chunk, at = at + 2, end
        if not header & 0x8000:
            out += data[chunk:end]
        else:
            _decompress_chunk(data, chunk, end, out)
    return bytes(out[:most])


def _decompress_chunk(data: bytes, at: int, end: int, out: bytearray) -> None:
    start = len(out)
    while at < end and len(out) - start < _CHUNK:
        flags = data[at]
        at += 1
        for bit in range(8):
            if at >= end:
                return
            if not flags >> bit & 1:
                out.append(data[at])
                at += 1
                continue
            if at + 2 > end:
                return
            token = int.from_bytes(data[at : at + 2], "little")
            at += 2
            width = max(4, (len(out) - start - 1).bit_length())
            length = (token & (0xFFFF >> width)) + 3
            offset = (token >> (16 - width)) + 1
            if offset > len(out) - start:
                return
            for _ in range(length):
                out.append(out[-offset])


def read_pdf(data: bytes, place: Place, seen: Sightings) -> None:
    """Actions of a PDF file: scripts, programs to start, forms that send, files inside. Text is not read."""
    found: dict[str, None] = {}
    left = _PDF_FILTERED
    _pdf_actions(data, found)
    for stream in list(_PDF_STREAM.finditer(data))[:_MOST_STREAMS]:
        if left <= 0:
            break
        try:
            plain = zlib.decompressobj().decompress(data[stream.end() :], min(left, 1 << 20))
        except zlib.error:
            continue
        left -= len(plain)
        # Only structure is in object streams; a page's own text may say anything.
        if b"/Type" in plain or b"/S/" in plain or b"/S /" in plain:
            _pdf_actions(plain, found)
    for name in found:
        seen.opaque(place, f"document:pdf {name}", 0.8)
        if name == "Launch":
            seen.add(place, ActionKind.EXEC, UNKNOWN, ResourceClass.PROCESS, 0.8)
        elif name in ("SubmitForm", "ImportData"):
            seen.network(place, ActionKind.SEND if name == "SubmitForm" else ActionKind.CONNECT, UNKNOWN, 0.5)


def _pdf_actions(data: bytes, found: dict[str, None]) -> None:
    if b"#" in data:
        data = _PDF_ESCAPE.sub(lambda code: bytes([int(code[1], 16)]), data)
    for name in _PDF_ACTION.findall(data)[:200]:
        found.setdefault("JavaScript" if name == b"JS" else name.decode())
