"""Values of the model to bytes and back, for the store and between processes."""

from __future__ import annotations

import dataclasses
import zlib
from typing import Any, TypeVar

import msgspec

Value = TypeVar("Value")


def encode(value: object) -> bytes:
    """Compressed MessagePack of a dataclass value. Text that is not valid Unicode keeps its escapes."""
    try:
        packed = msgspec.msgpack.encode(value)
    except UnicodeEncodeError:
        packed = msgspec.msgpack.encode(_printable(value))
    return zlib.compress(packed, 1)


def decode(data: bytes, kind: type[Value]) -> Value:
    """The value of type `kind` that `encode` made `data` from. Raises `msgspec.DecodeError` otherwise."""
    return msgspec.msgpack.decode(zlib.decompress(data), type=kind)


def _printable(value: Any) -> Any:
    """The same value with lone surrogates (bytes of hostile names) written as backslash escapes."""
    if type(value) is str:
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, tuple | list):
        return [_printable(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _printable(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return value
