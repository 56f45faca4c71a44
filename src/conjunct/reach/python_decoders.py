"""Values of Python expressions, and the decoding functions that are applied to known ones."""

from __future__ import annotations

import base64
import binascii
import codecs
import urllib.parse
import zlib
from collections.abc import Callable

from conjunct.reach.found import UNKNOWN

Value = str | bytes | int | tuple["Value", ...]
"""A string with `*` for unknown parts, bytes, an integer, or a sequence of these."""

Values = tuple[Value, ...]
"""The alternatives an expression can evaluate to; `("*",)` where nothing is known."""

NOTHING_KNOWN: Values = (UNKNOWN,)


def decode(name: str, value: Value) -> Value:
    """What a function of `DECODERS` gives for a known value; `*` for an unknown one or one it refuses."""
    if value == UNKNOWN or isinstance(value, int | tuple):
        return UNKNOWN
    raw = value.encode("utf-8", "replace") if isinstance(value, str) else value
    try:
        return DECODERS[name](raw)
    except (binascii.Error, ValueError, zlib.error, OverflowError):
        return UNKNOWN


def _inflate(raw: bytes) -> bytes:
    """At most 1 MiB: a compressed constant can be a bomb."""
    return zlib.decompressobj().decompress(raw, 1 << 20)


def _gunzip(raw: bytes) -> bytes:
    return zlib.decompressobj(31).decompress(raw, 1 << 20)


def decode_as(value: Value, codec: str) -> Value:
    """`codecs.decode` for rot13, base64 and hex."""
    if isinstance(value, str) and codec.replace("-", "").replace("_", "").lower() == "rot13":
        return codecs.decode(value, "rot13")
    if isinstance(value, str | bytes) and codec == "base64":
        return decode("base64.b64decode", value)
    if isinstance(value, str | bytes) and codec == "hex":
        return decode("bytes.fromhex", value)
    return UNKNOWN


def as_bytes(value: Value) -> Value:
    """`bytes([104, 105])`."""
    if isinstance(value, tuple) and all(isinstance(item, int) and 0 <= item < 256 for item in value):
        return bytes(item for item in value if isinstance(item, int))
    return value if isinstance(value, bytes) else UNKNOWN


DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "base64.b64decode": base64.b64decode,
    "base64.standard_b64decode": base64.b64decode,
    "base64.urlsafe_b64decode": base64.urlsafe_b64decode,
    "base64.b32decode": base64.b32decode,
    "base64.b85decode": base64.b85decode,
    "base64.a85decode": base64.a85decode,
    "base64.decodebytes": base64.decodebytes,
    "binascii.a2b_base64": binascii.a2b_base64,
    "binascii.unhexlify": binascii.unhexlify,
    "base64.b16decode": base64.b16decode,
    "bytes.fromhex": lambda raw: bytes.fromhex(raw.decode()),
    "bytearray.fromhex": lambda raw: bytes.fromhex(raw.decode()),
    "zlib.decompress": _inflate,
    "gzip.decompress": _gunzip,
    "urllib.parse.unquote": lambda raw: urllib.parse.unquote_to_bytes(raw),
}
