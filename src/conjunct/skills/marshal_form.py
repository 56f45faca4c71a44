"""A canonical form of marshalled Python code, read without `marshal`.

`marshal.loads` is not made for hostile bytes: it can crash the interpreter. And two dumps of one code object
need not be the same bytes, because reference flags depend on who else holds the constants. So the format is
read here, and every object becomes a digest that ignores references and the file name.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass

_DEPTH_LIMIT = 120
_MOST_TEXTS = 2_000
"""Names or constants of one collection that are told."""
_FLAG_REFERENCE = 0x80
_SINGLETONS = b"NFTS.0"
_NEW_LAYOUT_FROM = 3450
"""Magic number of the first CPython 3.11."""
_OLD_LAYOUT_FROM = 3400


class MarshalTrouble(ValueError):
    """The bytes are no marshalled code of a layout known here."""


@dataclass(frozen=True, slots=True)
class CodeNames:
    """What one code object (a module, function or class body) names."""

    line: int
    """First line in the source it was made from, as it says itself."""
    names: tuple[str, ...]
    """Globals, attributes and imported modules, in the order of their first use."""
    texts: tuple[str, ...]
    """Text constants, those in tuples included."""


class CodeForm:
    """One marshalled code object.

    `digest` is equal for equal code, whatever the file name and the sharing of constants; `texts` holds every
    name and text constant in it, white space normalised; `codes` tells them for each code object in it, inner
    ones first.
    """

    def __init__(self, data: bytes, magic: int) -> None:
        if magic < _OLD_LAYOUT_FROM:
            raise MarshalTrouble(f"bytecode of an old Python (magic number {magic})")
        self._data = data
        self._position = 0
        self._new_layout = magic >= _NEW_LAYOUT_FROM
        self._references: list[bytes | None] = []
        self._depth = 0
        self.texts: set[str] = set()
        self.codes: list[CodeNames] = []
        self._text_of: dict[bytes, str] = {}
        self._elements: dict[bytes, list[bytes]] = {}
        try:
            self.digest = self._object()
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise MarshalTrouble(f"damaged at byte {self._position}") from error

    def _take(self, size: int) -> bytes:
        end = self._position + size
        if size < 0 or end > len(self._data):
            raise MarshalTrouble(f"ends early at byte {self._position}")
        taken = self._data[self._position : end]
        self._position = end
        return taken

    def _int(self) -> int:
        return int(struct.unpack("<i", self._take(4))[0])

    def _object(self) -> bytes:
        kind_byte = self._take(1)[0]
        kind = bytes([kind_byte & ~_FLAG_REFERENCE])
        slot: int | None = None
        if kind_byte & _FLAG_REFERENCE:
            slot = len(self._references)
            self._references.append(None)
        self._depth += 1
        if self._depth > _DEPTH_LIMIT:
            raise MarshalTrouble(f"nested more than {_DEPTH_LIMIT} levels deep")
        form = self._form(kind)
        self._depth -= 1
        if slot is not None:
            self._references[slot] = form
        return form

    def _form(self, kind: bytes) -> bytes:
        if kind == b"r":
            number = self._int()
            known = self._references[number] if 0 <= number < len(self._references) else None
            if known is None:
                raise MarshalTrouble("a reference to nothing, or to what contains it")
            return known
        if kind in {b"i", b"I", b"l"}:
            return _digest(b"int", hex(self._number(kind)).encode())
        if kind in {b"g", b"y", b"f", b"x"}:
            return _digest(b"float" + kind, self._float(kind))
        if kind == b"s":
            return _digest(b"bytes", self._take(self._int()))
        if kind in {b"t", b"u", b"a", b"A", b"z", b"Z"}:
            return self._text(kind)
        if kind in {b"(", b"[", b"<", b">", b")"}:
            size = self._take(1)[0] if kind == b")" else self._int()
            return self._collection(b"(" if kind == b")" else kind, size)
        if kind == b"c":
            return self._code()
        if kind == b":":
            return _digest(b"slice", *(self._object() for _ in range(3)))
        if kind in {bytes([byte]) for byte in _SINGLETONS}:
            return _digest(kind)
        raise MarshalTrouble(f"unknown element {kind!r} at byte {self._position}")

    def _number(self, kind: bytes) -> int:
        if kind == b"i":
            return self._int()
        if kind == b"I":
            return int(struct.unpack("<q", self._take(8))[0])
        digits = self._int()
        if abs(digits) > 2_000:
            raise MarshalTrouble("a number of more than 9,000 decimal digits")
        raw = self._take(abs(digits) * 2)
        value = 0
        for index in range(len(raw) - 2, -2, -2):
            value = value << 15 | int.from_bytes(raw[index : index + 2], "little")
        return -value if digits < 0 else value

    def _float(self, kind: bytes) -> bytes:
        if kind == b"g":
            return self._take(8)
        if kind == b"y":
            return self._take(16)
        parts = [self._take(self._take(1)[0]) for _ in range(2 if kind == b"x" else 1)]
        return b" ".join(parts)

    def _text(self, kind: bytes) -> bytes:
        size = self._take(1)[0] if kind in {b"z", b"Z"} else self._int()
        raw = self._take(size)
        form, text = _digest(b"text", raw), raw.decode("utf-8", "replace")
        self.texts.add(" ".join(text.split()))
        self._text_of[form] = text
        return form

    def _collection(self, kind: bytes, size: int) -> bytes:
        if size < 0 or size > len(self._data) - self._position:
            raise MarshalTrouble(f"a collection of {size} elements")
        elements = [self._object() for _ in range(size)]
        form = _digest(kind, *(sorted(elements) if kind in {b"<", b">"} else elements))
        self._elements[form] = elements
        return form

    def _code(self) -> bytes:
        numbers = self._take(4 * (5 if self._new_layout else 6))
        parts = [self._object() for _ in range(5 if self._new_layout else 6)]
        before = set(self.texts)
        self._object()  # the file name
        self.texts = before
        parts += [self._object() for _ in range(2 if self._new_layout else 1)]
        line = self._take(4)
        self.codes.append(
            CodeNames(
                int.from_bytes(line, "little", signed=True),
                tuple(self._flat(parts[2], 0)),
                tuple(self._flat(parts[1], 1)),
            )
        )
        parts += [self._object() for _ in range(2 if self._new_layout else 1)]
        return _digest(b"code", numbers, line, *parts)

    def _flat(self, form: bytes, depth: int) -> Iterator[str]:
        """The texts in a collection, and in collections in it down to `depth`."""
        for element in self._elements.get(form, ())[:_MOST_TEXTS]:
            if element in self._text_of:
                yield self._text_of[element]
            elif depth:
                yield from self._flat(element, depth - 1)


def _digest(*parts: bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()
