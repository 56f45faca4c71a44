"""Recognising canaries in bytes that leave, are written or are run, whatever was done to them.

Data is opened into *views*: decoded, decompressed, unescaped, reversed, with the members of archives and
office files taken out. Each view is searched for each needle with everything but letters and digits removed
from both, so separators, line breaks, escapes and UTF-16 padding do not hide it. Work is bounded by depth,
number of views and total bytes, never by the clock: the same data always gives the same answer.
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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from conjunct.world.spec import Planted

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
FRAGMENT = 6
"""Shortest piece of a needle that counts when it left in pieces that are not beside each other."""
FRAGMENT_COVERAGE = 0.8
"""Share of a needle that has to be there in such pieces."""
FRAGMENT_NEEDLE = 20
"""Shorter needles, numbers and word lists have pieces that occur by chance: they have to be whole."""
FRAGMENT_BYTES = 512 << 10
"""Data beyond this is searched for whole needles only."""

_NOISE = bytes(set(range(256)) - set(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))


def _bare(data: bytes) -> bytes:
    """Letters and digits only."""
    return data.translate(None, _NOISE)


@dataclass(frozen=True, slots=True)
class Recognition:
    """What was recognised in one piece of data."""

    paths: tuple[str, ...]
    """Paths, or `env:NAME`, in planted order."""
    whole: bool
    """Whether the limits on views and bytes were not met. More than `MAXIMUM_MEMBERS` runs of one encoding in
    one view, and members beyond `MAXIMUM_MEMBER` bytes, are cut without being told here."""


class Recogniser:
    """Finds the planted data of one world in bytes."""

    def __init__(self, planted: Sequence[Planted]) -> None:
        """`planted` in the order in which results are to be given. Values under 8 letters are not sought."""
        needles: dict[bytes, list[str]] = {}
        for one in planted:
            bare = _bare(one.value.encode())
            if len(bare) >= 8:
                needles.setdefault(bare, []).append(one.path)
        self._needles = needles
        self._order = {path: rank for rank, path in enumerate(dict.fromkeys(p.path for p in planted))}
        self._shortest = min(map(len, needles), default=0)
        self._splittable = frozenset(
            bare
            for bare in needles
            if len(bare) >= FRAGMENT_NEEDLE and not bare.isdigit() and not bare.isalpha()
        )
        self._needles_of: dict[bytes, list[bytes]] = {}
        for bare in needles:
            for piece in _pieces(bare):
                self._needles_of.setdefault(piece, []).append(bare)

    def find(self, data: bytes) -> tuple[str, ...]:
        """Paths (or `env:NAME`) of all planted data in `data`, in planted order; empty if there is none."""
        return self.examine(data).paths

    def examine(self, data: bytes) -> Recognition:
        """The same, and whether everything in `data` was opened: what was not is not known to be clean."""
        found: set[bytes] = set()
        limits: list[str] = []
        if self._needles and len(data) >= self._shortest // 2:
            for view in _views(data, limits):
                self._search(view, found)
        return Recognition(self._paths(found), whole=not limits)

    def find_parts(self, parts: Sequence[bytes]) -> tuple[str, ...]:
        """The same for data that left in several pieces (requests, names looked up, files), in their order.

        Each part alone, all together, and the parts that differ: what all have in common is dropped, the
        columns of what remains are read downward, ordered by a column of numbers if there is one.
        """
        found: set[bytes] = set()
        if not self._needles:
            return ()
        streams = [*parts[:4096], b"".join(parts)]
        if len(parts) > 1:
            streams += _columns(parts[:4096])
        for stream in streams:
            for view in _views(stream, []):
                self._search(view, found)
        return self._paths(found)

    def _search(self, view: bytes, found: set[bytes]) -> None:
        bare = _bare(view)
        if len(bare) > FRAGMENT_BYTES:
            found.update(needle for needle in self._needles if needle in bare)
            return
        # One pass over the view, however many needles: most views hold no piece of any.
        pieces = _pieces(bare) & self._needles_of.keys()
        for needle in {needle for piece in pieces for needle in self._needles_of[piece]} - found:
            if needle in bare or (needle in self._splittable and _covers(pieces, needle)):
                found.add(needle)

    def _paths(self, found: set[bytes]) -> tuple[str, ...]:
        paths = {path for needle in found for path in self._needles[needle]}
        return tuple(sorted(paths, key=self._order.__getitem__))


def _pieces(text: bytes) -> set[bytes]:
    """All pieces of `FRAGMENT` letters."""
    return {text[i : i + FRAGMENT] for i in range(len(text) - FRAGMENT + 1)}


def _covers(pieces: set[bytes], needle: bytes) -> bool:
    """Whether the pieces make up enough of the needle."""
    covered = bytearray(len(needle))
    for index in range(len(needle) - FRAGMENT + 1):
        if needle[index : index + FRAGMENT] in pieces:
            covered[index : index + FRAGMENT] = b"\1" * FRAGMENT
    return sum(covered) >= FRAGMENT_COVERAGE * len(needle)


# ---- views


def _views(data: bytes, limits: list[str]) -> Iterator[bytes]:
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
    text = view.replace(b"\0", b"") if _is_text(view) else b"\n".join(_limited(_PRINTABLE, view))
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
    for match in _limited(_HEX, view):
        yield binascii.unhexlify(match)
    squeezed = re.sub(rb"0x|\\x|[\s,:.-]+", b"", view)
    if squeezed != view:
        for match in _limited(_HEX, squeezed):
            yield binascii.unhexlify(match)
            yield binascii.unhexlify(match[1 : -1 if len(match) % 2 == 0 else None])


_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{12,}")


def _base64(view: bytes) -> Iterator[bytes]:
    """Runs at each of the four alignments, as they stand and with line breaks taken out."""
    unwrapped = re.sub(rb"(?:\\[nr]|[\s\"',])+", b"", view)
    for text in (view,) if unwrapped == view else (view, unwrapped):
        for match in _limited(_BASE64, text):
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
    for match in _limited(_BASE32, re.sub(rb"[\s.=-]+", b"", view)):
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


def _limited(pattern: re.Pattern[bytes], view: bytes) -> Iterator[bytes]:
    for count, match in enumerate(pattern.finditer(view)):
        if count >= MAXIMUM_MEMBERS:
            return
        yield match[0]


# ---- pieces


def _columns(parts: Sequence[bytes]) -> Iterator[bytes]:
    """What differs between the parts, read downward."""
    start = _common(parts)
    end = _common([part[start:][::-1] for part in parts])
    yield b"".join(part[start : len(part) - end if end else None] for part in parts)
    rows = [re.findall(rb"[A-Za-z0-9+/_%-]+={0,2}", part[:65536])[:64] for part in parts]
    width = min(map(len, rows))
    numbers = [c for c in range(width) if all(row[c].isdigit() and len(row[c]) < 10 for row in rows)]
    numbers = [c for c in numbers if len({int(row[c]) for row in rows}) == len(rows)]
    orders = [rows] + [sorted(rows, key=lambda row, c=c: int(row[c])) for c in numbers[:2]]  # type: ignore[misc]
    for ordered in orders:
        for column in range(width):
            if len({row[column] for row in ordered}) > 1:
                yield b"".join(row[column] for row in ordered)


def _common(parts: Sequence[bytes]) -> int:
    """Length of the common prefix."""
    low, high = min(parts), max(parts)
    for index, (a, b) in enumerate(zip(low, high, strict=False)):
        if a != b:
            return index
    return min(len(low), len(high))
