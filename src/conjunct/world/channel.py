"""Messages between a worker and the supervisor of its episode: length, then a pickle of known types only.

The supervisor handles hostile bytes as an unprivileged user, the worker may be root: so what comes back may
name the plain values of `conjunct.model` and `conjunct.world.spec`, and nothing else.
"""

from __future__ import annotations

import io
import pickle
import socket
import struct
from enum import Enum
from typing import Any

from conjunct.errors import WorldError

_MAXIMUM = 1 << 30
_ALLOWED_MODULES = ("conjunct.model", "conjunct.world.spec")


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module in _ALLOWED_MODULES and "." not in name and name[:1].isupper():
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} may not cross the boundary of the world")


class _PlainPickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        # The default asks `getattr` for the member, which the reader would have to allow for everything.
        if isinstance(value, Enum):
            return type(value), (value.value,)
        return NotImplemented


def _packed(message: Any) -> bytes:
    buffer = io.BytesIO()
    _PlainPickler(buffer, protocol=5).dump(message)
    return buffer.getvalue()


class Channel:
    """One end of the conversation. Not shared between threads."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def fileno(self) -> int:
        """The descriptor, for waiting."""
        return self._end.fileno()

    def send(self, message: Any) -> None:
        """Send one value. Raises `WorldError` when the other end is gone."""
        body = _packed(message)
        try:
            self._end.sendall(struct.pack("!Q", len(body)) + body)
        except OSError as error:
            raise WorldError(
                f"the episode's supervisor is gone ({error.strerror}); run the episode again"
            ) from error

    def receive(self) -> Any:
        """The next value. Raises `EOFError` at the end, `WorldError` for what is not ours."""
        size = struct.unpack("!Q", self._exactly(8))[0]
        if size > _MAXIMUM:
            raise WorldError(f"a message of {size} bytes from the episode's supervisor: refused")
        try:
            return _PlainUnpickler(io.BytesIO(self._exactly(size))).load()
        except (pickle.UnpicklingError, AttributeError, ImportError, IndexError) as error:
            raise WorldError(f"a message from the episode's supervisor cannot be read: {error}") from error

    def close(self) -> None:
        """Close this end; the other end sees the end of the conversation."""
        self._end.close()

    def _exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            try:
                part = self._end.recv(min(size - len(parts), 1 << 20))
            except ConnectionResetError:
                part = b""
            if not part:
                raise EOFError("the other end of the world's channel closed")
            parts += part
        return bytes(parts)
