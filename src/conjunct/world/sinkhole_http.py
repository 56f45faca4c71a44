"""One HTTP/1.1 conversation of the sinkhole: reads requests whole, records them, answers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

import h11

from conjunct.world.answers import Request, Response
from conjunct.world.destinations import Stream

RECORDED_BYTES = 64 << 20
"""Bytes of one body that are kept; the rest is counted and digested."""
ACCEPTED_BYTES = 256 << 20
"""Bytes of one body after which the connection is closed."""
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it arrived."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    size: int
    sha256: str
    complete: bool


Answer = Callable[[Received], Response]
"""Records a request and gives the answer."""


def looks_like_http(start: bytes) -> bool:
    """Whether these first bytes of a connection are a request line."""
    method, space, _ = start.partition(b" ")
    return bool(space) and 3 <= len(method) <= 10 and method.isalpha() and method.isupper()


def converse(connection: Stream, on_request: Answer) -> str:
    """Serve one connection until it ends. Gives the target of a `CONNECT` that was accepted, else empty text.

    Raises `OSError` when the connection breaks. What is no HTTP is recorded as a request with method `?`.
    """
    machine = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 18)
    while True:
        received = _read(connection, machine)
        if received is None:
            return ""
        response = on_request(received)
        if received.method == "CONNECT":
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            return received.target
        if not received.complete:
            return ""
        _write(connection, machine, received, response)
        if machine.our_state is not h11.DONE or machine.their_state is not h11.DONE:
            return ""
        machine.start_next_cycle()


def _read(connection: Stream, machine: h11.Connection) -> Received | None:
    request: h11.Request | None = None
    kept, size, digest = bytearray(), 0, hashlib.sha256()
    complete, raw = False, bytearray()
    while True:
        try:
            event = machine.next_event()
            if event is h11.NEED_DATA:
                if machine.they_are_waiting_for_100_continue:
                    going_on = h11.InformationalResponse(status_code=100, headers=[])
                    connection.sendall(machine.send(going_on) or b"")
                data = connection.recv(_CHUNK)
                if request is None:
                    raw += data[: max(0, _CHUNK - len(raw))]
                machine.receive_data(data)
                continue
        except (h11.RemoteProtocolError, OSError):
            break
        if isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.Data):
            size += len(event.data)
            digest.update(event.data)
            kept += event.data[: max(0, RECORDED_BYTES - len(kept))]
            if size > ACCEPTED_BYTES:
                break
        elif isinstance(event, h11.EndOfMessage):
            complete = True
            break
        else:
            break
    if request is None:
        if not raw:
            return None
        data = bytes(raw)
        return Received("?", "", (), data, len(data), hashlib.sha256(data).hexdigest(), False)
    headers = tuple((key.decode("latin-1"), value.decode("latin-1")) for key, value in request.headers)
    method, target = request.method.decode("latin-1"), request.target.decode("latin-1")
    return Received(method, target, headers, bytes(kept), size, digest.hexdigest(), complete)


def _write(connection: Stream, machine: h11.Connection, received: Received, response: Response) -> None:
    headers = [("Server", "nginx"), *response.headers, ("Content-Length", str(len(response.body)))]
    if response.kind:
        headers.insert(1, ("Content-Type", response.kind))
    reason = HTTPStatus(response.status).phrase
    out = machine.send(h11.Response(status_code=response.status, headers=headers, reason=reason)) or b""
    if received.method != "HEAD" and response.body:
        out += machine.send(h11.Data(data=response.body)) or b""
    out += machine.send(h11.EndOfMessage()) or b""
    connection.sendall(out)


def as_request(received: Received, host: str) -> Request:
    """What the answer is chosen by; `host` as the client named it, else as it was reached."""
    named: str = next((value for key, value in received.headers if key.lower() == "host"), host)
    return Request(received.method, _without_port(named), received.target, received.headers, received.body)


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host
