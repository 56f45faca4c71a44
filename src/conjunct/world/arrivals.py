"""What arrives at the sinkhole, and keeping it within limits."""

from __future__ import annotations

import hashlib
import threading
import time
from dataclasses import dataclass, replace

MAXIMUM_ARRIVALS = 50_000
TOTAL_BYTES = 256 << 20
"""Bytes kept of one episode; of later bodies only size and digest remain."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One thing that arrived: a request, a message, a datagram, a name query, or a whole raw connection."""

    host: str
    """The name that was resolved to the address, else the address: where it was really sent."""
    address: str
    port: int
    protocol: str
    """`http`, `https`, `smtp`, `tcp`, `tls`, `udp` or `dns`. `tls`: the handshake failed, content unknown."""
    source: str
    """`address:port` of the client."""
    time: float
    """Seconds since 1970, of the host's clock."""
    method: str = ""
    """HTTP method, or the type of record asked for."""
    path: str = ""
    """HTTP target, or the name asked for."""
    headers: tuple[tuple[str, str], ...] = ()
    """HTTP headers; for mail `from` and each `to`."""
    body: bytes = b""
    size: int = 0
    """Bytes of the body that were sent, also those not kept."""
    sha256: str = ""
    tls: bool = False
    sni: str = ""
    named: str = ""
    """Host that the client claimed in the request (`Host` header), where it differs from `host`."""
    socket: int = 0
    """Inode of the client's socket; 0 where unknown."""
    answer: str = ""
    """Level and type of the answer, such as `plausible application/json`, `provided 404`."""
    complete: bool = True
    """Whether all of it arrived and is kept in `body`."""

    @property
    def text(self) -> bytes:
        """Everything the client chose: target, headers and body, to look for canaries in."""
        lines = [f"{self.method} {self.path}".encode("latin-1", "replace")]
        lines += [f"{name}: {value}".encode("latin-1", "replace") for name, value in self.headers]
        return b"\n".join(lines) + b"\n\n" + self.body


class Recorder:
    """Everything that has arrived in one episode. Thread-safe."""

    def __init__(self) -> None:
        self._arrivals: list[Arrival] = []
        self._kept = 0
        self._lock = threading.Lock()
        self._last = time.monotonic()
        self.problems: list[str] = []
        """Why the record is not whole: too much arrived, or an error of ours. The episode is undetermined."""

    def add(self, arrival: Arrival, body: bytes) -> None:
        """Record one arrival with the part of its body that is kept."""
        if not arrival.sha256:
            arrival = replace(arrival, size=len(body), sha256=hashlib.sha256(body).hexdigest())
        with self._lock:
            self._last = time.monotonic()
            if len(self._arrivals) >= MAXIMUM_ARRIVALS:
                self._note(f"more than {MAXIMUM_ARRIVALS} arrivals at the sinkhole")
                return
            if self._kept + len(body) > TOTAL_BYTES:
                arrival, body = replace(arrival, complete=False), b""
                self._note(f"more than {TOTAL_BYTES >> 20} MiB arrived at the sinkhole")
            self._kept += len(body)
            self._arrivals.append(replace(arrival, body=body))

    def fail(self, error: Exception) -> None:
        """Record an error of ours in a conversation."""
        with self._lock:
            self._note(f"sinkhole: {type(error).__name__}: {error}")

    def touch(self) -> None:
        """Something went on: the episode has not settled."""
        self._last = time.monotonic()

    @property
    def idle(self) -> float:
        """Seconds since something went on."""
        return time.monotonic() - self._last

    def all(self) -> tuple[Arrival, ...]:
        """Everything recorded so far, in order of completion."""
        with self._lock:
            return tuple(self._arrivals)

    def _note(self, problem: str) -> None:
        if problem not in self.problems and len(self.problems) < 100:
            self.problems.append(problem)
