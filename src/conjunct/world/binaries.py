"""Programs that no library can be put into: the clock of the level does not reach them."""

from __future__ import annotations

import struct

HEAD_BYTES = 4096
_INTERPRETER = 3
_HEADER = 64


def is_static(head: bytes) -> bool:
    """Whether a file that starts with `head` is a static program: an ELF that names no interpreter."""
    if len(head) < _HEADER or head[:4] != b"\x7fELF" or head[4] != 2 or head[5] != 1:
        return False
    kind = struct.unpack_from("<H", head, 16)[0]
    (offset,) = struct.unpack_from("<Q", head, 32)
    size, count = struct.unpack_from("<HH", head, 54)
    if kind not in (2, 3) or size < 4 or count > 64:
        return False
    places = [offset + number * size for number in range(count)]
    if any(place + 4 > len(head) for place in places):
        return False
    return all(struct.unpack_from("<I", head, place)[0] != _INTERPRETER for place in places)
