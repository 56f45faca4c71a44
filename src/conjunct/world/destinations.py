"""Where a redirected connection or datagram was meant to go, and whose it is, as the kernel tells."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path

_SO_ORIGINAL_DST = 80
_SOL_IPV6 = 41
_FAMILIES = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}


class Stream:
    """A connection, plain or encrypted, whose next bytes can be looked at."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._ahead = b""

    def peek(self, timeout: float) -> bytes:
        """The next bytes (at most 64) without taking them; empty at the end. Raises `OSError`."""
        before = self.connection.gettimeout()
        self.connection.settimeout(timeout)
        try:
            if isinstance(self.connection, ssl.SSLSocket):
                self._ahead = self._ahead or self.connection.recv(64)
                return self._ahead
            return self.connection.recv(64, socket.MSG_PEEK)
        finally:
            with contextlib.suppress(OSError):
                self.connection.settimeout(before)

    def recv(self, size: int) -> bytes:
        """The next bytes; empty at the end. Raises `OSError`."""
        if self._ahead:
            data, self._ahead = self._ahead[:size], self._ahead[size:]
            return data
        return self.connection.recv(size)

    def sendall(self, data: bytes) -> None:
        """Send everything. Raises `OSError`."""
        self.connection.sendall(data)


def place(address: Sequence[object]) -> str:
    """`address:port` of a socket address; IPv6 in brackets."""
    host, port = str(address[0]), address[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def original_destination(connection: socket.socket) -> tuple[str, int]:
    """(address, port) that the client of a redirected connection asked for; where it came to if unknown."""
    try:
        if connection.family == socket.AF_INET:
            raw = connection.getsockopt(socket.SOL_IP, _SO_ORIGINAL_DST, 16)
            return socket.inet_ntop(socket.AF_INET, raw[4:8]), int.from_bytes(raw[2:4], "big")
        raw = connection.getsockopt(_SOL_IPV6, _SO_ORIGINAL_DST, 28)
        return socket.inet_ntop(socket.AF_INET6, raw[8:24]), int.from_bytes(raw[2:4], "big")
    except OSError:
        with contextlib.suppress(OSError):
            name = connection.getsockname()
            return str(name[0]), int(name[1])
        return "", 0


def datagram_destination(source: Sequence[object]) -> tuple[str, int]:
    """(address, port) that a redirected datagram from `source` was sent to; empty and 0 where not to be had.

    The connection tracker knows it; its table is open to the owner of the network namespace only.
    """
    wanted = (f"src={_expanded(str(source[0]))}", f"sport={source[1]}")
    try:
        with Path("/proc/self/net/nf_conntrack").open(encoding="ascii") as table:
            for line in table:
                words = line.split()
                if len(words) > 8 and words[2] == "udp" and all(word in words for word in wanted):
                    facts = dict(reversed([word.split("=", 1) for word in words if "=" in word]))
                    packed = socket.inet_pton(_FAMILIES[words[0]], facts["dst"])
                    return socket.inet_ntop(_FAMILIES[words[0]], packed), int(facts["dport"])
    except (OSError, KeyError, ValueError):
        pass
    return "", 0


def _expanded(address: str) -> str:
    """An address as the connection tracker's table prints it."""
    if ":" not in address:
        return address
    raw = socket.inet_pton(socket.AF_INET6, address).hex()
    return ":".join(raw[i : i + 4] for i in range(0, 32, 4))


def socket_inode(source: Sequence[object]) -> int:
    """Inode of the socket that is bound to `source`, from the table of TCP sockets; 0 where it is gone."""
    host, port = str(source[0]), int(str(source[1]))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    packed = socket.inet_pton(family, host)
    words = [packed[i : i + 4][::-1].hex() for i in range(0, len(packed), 4)]
    wanted = f"{''.join(words)}:{port:04x}".upper()
    mapped = f"0000000000000000FFFF0000{wanted}"
    try:
        for name in ("tcp", "tcp6"):
            with Path(f"/proc/self/net/{name}").open(encoding="ascii") as table:
                for line in table:
                    fields = line.split()
                    if fields[1] in (wanted, mapped):
                        return int(fields[9])
    except (OSError, IndexError, ValueError):
        pass
    return 0
