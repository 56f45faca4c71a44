"""Opening data into views: decoded, decompressed, unescaped, reversed, members of archives and office files.

Work is bounded by depth, number of views and total bytes, never by the clock: the same data always opens the
same way.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import codecs
import contextlib
import hashlib
import io
import lzma
import re
import urllib.parse
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Iterator

MAXIMUM_DEPTH = 5
"""Encodings inside each other that are opened."""
MAXIMUM_VIEWS = 400
"""Views of one piece of data; further ones are not opened."""
MAXIMUM_BYTES = 64 << 20
"""Bytes of all views together, however large the data."""
BASE_BYTES = 4 << 20
BYTES_FACTOR = 8
"""Bytes of all views together: `BASE_BYTES` plus this many times the data."""
MAXIMUM_MEMBER = 16 << 20
"""Bytes taken out of one compressed member."""
MAXIMUM_MEMBERS = 128
"""Members opened of one view."""


def views(data: bytes, limits: list[str]) -> Iterator[bytes]:
    """`data` and everything it opens into, breadth first; a limit that was met is added to `limits`."""
    queue = deque([(data, 0, True)])
    seen = {hashlib.sha256(data).digest()}
    spent, limit = 0, min(MAXIMUM_BYTES, BASE_BYTES + BYTES_FACTOR * len(data))
    while queue:
        view, depth, turnable = queue.popleft()
        yield view
        if depth >= MAXIMUM_DEPTH:
            continue
        inner = [(one, True) for one in _opened(view)]
        if turnable and depth <= 2 and (depth == 0 or _is_text(view)):
            inner.append((view[::-1], False))
        for one, can_turn in inner:
            if len(one) < 4:
                continue
            if spent + len(one) > limit or len(seen) >= MAXIMUM_VIEWS:
                limits.append("size" if len(seen) < MAXIMUM_VIEWS else "number")
                continue
            identity = hashlib.sha256(one).digest()
            if identity not in seen:
                seen.add(identity)
                spent += len(one)
                queue.append((one, depth + 1, can_turn))


_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\x0b\x0c")) + b"\x7f"


def _is_text(view: bytes) -> bool:
    """Whether few bytes are control characters. Zeros do not count: they pad UTF-16 and UTF-32."""
    plain = view.replace(b"\0", b"")
    return len(plain) - len(plain.translate(None, _CONTROL)) <= len(plain) // 20


def _opened(view: bytes) -> Iterator[bytes]:
    yield from _members(view)
    yield from _streams(view)
    yield from _pdf(view)
    # Encodings of text inside other bytes: only the long printable runs, else chance finds cost a view each.
    text = view.replace(b"\0", b"") if _is_text(view) else b"\n".join(limited(_PRINTABLE, view))
    if text:
        for opener in _TEXT_OPENERS:
            yield from opener(text)


_PRINTABLE = re.compile(rb"[\t\n\r -~]{16,}")


def _members(view: bytes) -> Iterator[bytes]:
    """Members of a zip, which docx, xlsx, pptx, jar, whl and odt are."""
    if b"PK\x03\x04" not in view:
        return
    try:
        with zipfile.ZipFile(io.BytesIO(view)) as archive:
            yield b"\n".join(info.filename.encode("utf-8", "replace") for info in archive.infolist()[:4096])
            yield archive.comment
            for info in archive.infolist()[:MAXIMUM_MEMBERS]:
                try:
                    with archive.open(info) as member:
                        yield member.read(MAXIMUM_MEMBER)
                except (OSError, RuntimeError, NotImplementedError, ValueError, zlib.error, EOFError):
                    continue
                except zipfile.BadZipFile:
                    continue
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        # Cut short or damaged on purpose: the deflated members are still found by their local headers.
        for match in list(re.finditer(rb"PK\x03\x04", view))[:MAXIMUM_MEMBERS]:
            start = match.start()
            name = int.from_bytes(view[start + 26 : start + 28], "little")
            extra = int.from_bytes(view[start + 28 : start + 30], "little")
            yield _inflate(view[start + 30 + name + extra :], -15)


def _inflate(data: bytes, window: int) -> bytes:
    try:
        return zlib.decompressobj(window).decompress(data, MAXIMUM_MEMBER)
    except zlib.error:
        return b""


def _bunzip(data: bytes) -> bytes:
    try:
        return bz2.BZ2Decompressor().decompress(data, MAXIMUM_MEMBER)
    except (OSError, ValueError, EOFError):
        return b""


def _unlzma(data: bytes) -> bytes:
    try:
        decoder = lzma.LZMADecompressor(memlimit=128 << 20)
        return decoder.decompress(data, MAXIMUM_MEMBER)
    except (lzma.LZMAError, EOFError, ValueError):
        return b""


_COMPRESSED = re.compile(
    rb"(?P<gzip>\x1f\x8b\x08)|(?P<zlib>\x78[\x01\x5e\x9c\xda])|(?P<bzip>BZh[1-9]1AY&SY)"
    rb"|(?P<xz>\xfd7zXZ\x00)|(?P<lzma>\x5d\x00\x00[\x00-\xff]{2}[\x00\xff]{8})",
    re.DOTALL,
)


def _streams(view: bytes) -> Iterator[bytes]:
    """Compressed streams that start anywhere: gzip, zlib (PNG text too), bzip2, xz; raw deflate at 0."""
    for count, match in enumerate(_COMPRESSED.finditer(view)):
        if count >= MAXIMUM_MEMBERS:
            break
        data = view[match.start() :]
        kind = match.lastgroup
        if kind == "gzip":
            yield _inflate(data, 31)
        elif kind == "zlib":
            yield _inflate(data, 15)
        elif kind == "bzip":
            yield _bunzip(data)
        else:
            yield _unlzma(data)
    if len(view) < MAXIMUM_MEMBER:
        yield _inflate(view, -15)


def _percent(view: bytes) -> Iterator[bytes]:
    if re.search(rb"%[0-9A-Fa-f]{2}", view):
        yield urllib.parse.unquote_to_bytes(view.replace(b"+", b" "))
        yield urllib.parse.unquote_to_bytes(view)
    if re.search(rb"=[0-9A-F]{2}", view):
        yield binascii.a2b_qp(view)


_ESCAPE = re.compile(rb"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([0-7]{3})|([nrt\"'\\/]))")


def _escapes(view: bytes) -> Iterator[bytes]:
    """JSON, shell and C escapes."""
    if b"\\" not in view:
        return

    def plain(match: re.Match[bytes]) -> bytes:
        wide, narrow, octal, short = match.groups()
        if short is not None:
            return {b"n": b"\n", b"r": b"\r", b"t": b"\t"}.get(short, short)
        number = int(octal, 8) if octal is not None else int(wide or narrow, 16)
        return chr(number).encode("utf-8", "surrogatepass")

    yield _ESCAPE.sub(plain, view)


def _entities(view: bytes) -> Iterator[bytes]:
    if b"&#" in view:

        def plain(match: re.Match[bytes]) -> bytes:
            number = int(match[1][1:], 16) if match[1][:1] in b"xX" else int(match[1])
            return chr(number).encode("utf-8", "surrogatepass") if number < 0x110000 else b""

        yield re.sub(rb"&#([xX][0-9A-Fa-f]{1,6}|[0-9]{1,7});", plain, view)


def _markup(view: bytes) -> Iterator[bytes]:
    """Text runs joined: office formats split one word over several elements."""
    if b"<" in view and b">" in view:
        yield re.sub(rb"<[^<>]{0,4096}>", b"", view)


def _pdf(view: bytes) -> Iterator[bytes]:
    """Strings of text operators joined, kerning numbers dropped."""
    if b"TJ" in view or b"Tj" in view:
        yield re.sub(rb"\)\s{0,8}-?[0-9.]{0,12}\s{0,8}\(", b"", view)
        texts = re.findall(rb"\(((?:[^()\\]|\\.){0,4096})\)\s{0,8}(?:Tj|'|\")", view)
        yield b"".join(texts)


_HEX = re.compile(rb"(?:[0-9A-Fa-f]{2}){8,}")


def _hexadecimal(view: bytes) -> Iterator[bytes]:
    for match in limited(_HEX, view):
        yield binascii.unhexlify(match)
    squeezed = re.sub(rb"0x|\\x|[\s,:.-]+", b"", view)
    if squeezed != view:
        for match in limited(_HEX, squeezed):
            yield binascii.unhexlify(match)
            yield binascii.unhexlify(match[1 : -1 if len(match) % 2 == 0 else None])


_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{12,}")


def _base64(view: bytes) -> Iterator[bytes]:
    """Runs at each of the four alignments, as they stand and with line breaks taken out."""
    unwrapped = re.sub(rb"(?:\\[nr]|[\s\"',])+", b"", view)
    for text in (view,) if unwrapped == view else (view, unwrapped):
        for match in limited(_BASE64, text):
            run = match.translate(bytes.maketrans(b"-_", b"+/"))
            for start in range(4):
                part = run[start : start + (len(run) - start) // 4 * 4]
                rest = run[start + len(part) :]
                if len(rest) > 1:
                    part += rest + b"=" * (4 - len(rest))
                yield base64.b64decode(part)


_BASE32 = re.compile(rb"[A-Z2-7]{20,}|[a-z2-7]{20,}")


def _base32(view: bytes) -> Iterator[bytes]:
    """Runs of one case at each of the eight alignments, over dots too: names in look-ups are made so."""
    for match in limited(_BASE32, re.sub(rb"[\s.=-]+", b"", view)):
        if match.isalpha():
            continue  # words: of 20 letters of this encoding one in 64 has no digit
        run = match.upper()
        for start in range(8):
            part = run[start : start + (len(run) - start) // 8 * 8]
            rest = run[start + len(part) :]
            # A last group may have 2, 4, 5 or 7 letters; one more is not of this encoding.
            rest = rest if len(rest) in (2, 4, 5, 7) else rest[:-1]
            rest = rest if len(rest) in (2, 4, 5, 7) else b""
            yield base64.b32decode(part + rest + b"=" * (-len(rest) % 8))


def _base85(view: bytes) -> Iterator[bytes]:
    """Ascii85 as in PDF streams, and Python's base 85 where a whole view is one."""
    end, members = view.find(b"~>"), 0
    while end >= 0 and members < MAXIMUM_MEMBERS:
        start = max(view.rfind(b"stream", 0, end) + 6, view.rfind(b"<~", 0, end) + 2)
        if 5 < start < end:
            with contextlib.suppress(ValueError):
                yield base64.a85decode(view[start:end])
        end, members = view.find(b"~>", end + 2), members + 1
    if len(view) < 64 << 10 and not re.search(rb"\s", view.strip()):
        with contextlib.suppress(ValueError):
            yield base64.b85decode(view.strip())


def _rotated(view: bytes) -> Iterator[bytes]:
    """The Caesar shift that every scripting language has at hand."""
    if len(view) < 64 << 10:
        yield codecs.encode(view.decode("latin-1"), "rot13").encode("latin-1")


_TEXT_OPENERS: tuple[Callable[[bytes], Iterator[bytes]], ...] = (
    _base64,
    _hexadecimal,
    _percent,
    _escapes,
    _entities,
    _markup,
    _base32,
    _base85,
    _rotated,
)


def limited(pattern: re.Pattern[bytes], view: bytes) -> Iterator[bytes]:
    for count, match in enumerate(pattern.finditer(view)):
        if count >= MAXIMUM_MEMBERS:
            return
        yield match[0]
