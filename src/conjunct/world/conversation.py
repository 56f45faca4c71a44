"""One connection of the sinkhole: finds out what the client speaks, speaks it, records what it says."""

from __future__ import annotations

import hashlib
import re
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from conjunct.world import sinkhole_dns, sinkhole_http, sinkhole_mail
from conjunct.world.answers import (
    Request,
    Response,
    answer,
    marker_instruction,
    marker_path,
    marker_script,
)
from conjunct.world.arrivals import Arrival, Recorder
from conjunct.world.destinations import Stream, original_destination, place, socket_inode
from conjunct.world.sinkhole_tls import Certificates, ServerSocket
from conjunct.world.spec import WorldSpec

IDLE_SECONDS = 30.0
"""A connection on which nothing happens for so long is closed."""
SILENT_SECONDS = 3.0
"""A client that says nothing for so long waits for the server to speak first."""
RECORDED_BYTES = 64 << 20
"""Bytes kept of one connection that is not HTTP."""

_BANNERS = {
    21: b"220 (vsFTPd 3.0.5)\r\n",
    22: b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n",
    23: b"login: ",
    110: b"+OK POP3 ready\r\n",
    143: b"* OK [CAPABILITY IMAP4rev1 STARTTLS] IMAP ready\r\n",
    3306: b"\x4a\x00\x00\x00\x0a8.0.36\x00\x08\x00\x00\x00ABCDEFGH\x00\xff\xff\xff\x02\x00\xff\xdf\x15"
    + bytes(10)
    + b"IJKLMNOPQRST\x00caching_sha2_password\x00",
    5900: b"RFB 003.008\n",
    6667: b":irc.example NOTICE * :*** Looking up your hostname...\r\n",
}
_MAIL_PORTS = (25, 587, 2525)


Special = Callable[[Request], Response | None]
"""Answers a request itself (a package index, a repository), or leaves it with `None`."""


class Conversation:
    """Conducts the connections of one episode, each in a thread of its caller."""

    def __init__(
        self,
        spec: WorldSpec,
        *,
        names: sinkhole_dns.Names,
        certificates: Certificates,
        recorder: Recorder,
        special: Sequence[Special] = (),
        keys: Sequence[str] = (),
    ) -> None:
        self._spec = spec
        self._names = names
        self._certificates = certificates
        self._recorder = recorder
        self._special = tuple(special)
        self._keys = tuple(keys)

    def arrival(self, connection: socket.socket, source: Sequence[object]) -> Arrival:
        """What is known of a connection before a word was said."""
        address, port = original_destination(connection)
        return Arrival(
            host=self._names.name(address),
            address=address,
            port=port,
            protocol="tcp",
            source=place(source),
            time=time.time(),
            socket=socket_inode(source),
        )

    def conduct(self, connection: socket.socket, source: Sequence[object]) -> None:
        """Speak with the client until the end, and close."""
        arrival = self.arrival(connection, source)
        stream = Stream(connection)
        try:
            connection.settimeout(IDLE_SECONDS)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._speak(stream, arrival)
        except (OSError, ValueError):
            pass  # the client went away; what it had said is recorded
        except Exception as error:  # an error of ours must not pass for a quiet client
            self._recorder.fail(error)
        finally:
            stream.connection.close()
            connection.close()
            self._recorder.touch()

    def answer_name(self, query: bytes, source: str) -> bytes:
        """Record one DNS query and give its answer; empty for what is none."""
        texts = {
            "marker-script": f"echo ready > {marker_path(self._spec)}",
            "marker-instruction": marker_instruction(marker_path(self._spec)),
        }.get(self._spec.network, "")
        name, kind, reply = sinkhole_dns.answer(query, self._names, texts=texts)
        arrival = Arrival(name, "", 53, "dns", source, time.time(), method=kind, path=name)
        self._recorder.add(arrival, query)
        return reply

    def _speak(self, stream: Stream, arrival: Arrival) -> None:
        """Find out what the client speaks, and speak it."""
        if arrival.port == 53 and not arrival.tls:
            self._speak_names(stream, arrival)
            return
        if arrival.port in _MAIL_PORTS or (arrival.port == 465 and arrival.tls):
            self._speak_mail(stream, arrival, greet=True)
            return
        banner = _BANNERS.get(arrival.port)
        if banner:
            stream.sendall(banner)
        start = self._first_bytes(stream, arrival)
        if start[:1] == b"\x16" and not arrival.tls:
            self._speak_tls(stream, arrival)
        elif sinkhole_http.looks_like_http(start):
            self._speak_http(stream, arrival)
        elif start[:5].upper() in (b"EHLO ", b"HELO "):
            self._speak_mail(stream, arrival, greet=False)
        else:
            self._speak_raw(stream, arrival)

    def _first_bytes(self, stream: Stream, arrival: Arrival) -> bytes:
        """The first bytes, left in the stream. A connection without any is recorded, and an error."""
        try:
            try:
                start = stream.peek(SILENT_SECONDS)
            except TimeoutError:
                stream.sendall(b"220 ready\r\n")
                start = stream.peek(IDLE_SECONDS)
            if len(start) < 16 and start[:1] != b"\x16" and not arrival.tls:
                time.sleep(0.002)  # a request line sent in two pieces
                start = stream.peek(IDLE_SECONDS)
        except OSError:
            start = b""
        if not start:
            self._recorder.add(arrival, b"")
            raise ConnectionError("the client ended without a word")
        return start

    def _speak_tls(self, stream: Stream, arrival: Arrival) -> None:
        encrypted = self._encrypt(stream, arrival)
        self._speak(encrypted, replace(arrival, tls=True, sni=_asked(encrypted)))

    def _encrypt(self, stream: Stream, arrival: Arrival) -> Stream:
        plain = stream.connection
        hello = plain.recv(4096, socket.MSG_PEEK)
        context = self._certificates.server_context(arrival.host)
        try:
            encrypted = context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
        except (OSError, ValueError) as error:
            raise ConnectionError("the client ended before the handshake") from error
        stream.connection = encrypted
        encrypted.settimeout(IDLE_SECONDS)
        try:
            encrypted.do_handshake()
        except (OSError, ValueError) as error:
            reason = f"handshake failed: {error}"
            self._recorder.add(
                replace(arrival, protocol="tls", tls=True, answer=reason, complete=False), hello
            )
            raise
        return stream

    def _speak_http(self, stream: Stream, arrival: Arrival) -> None:
        protocol = "https" if arrival.tls else "http"

        def on_request(received: sinkhole_http.Received) -> Response:
            request = sinkhole_http.as_request(received, arrival.host)
            response, source = self._answer(request)
            one = replace(
                arrival,
                protocol=protocol,
                time=time.time(),
                method=received.method,
                path=received.target,
                headers=received.headers,
                size=received.size,
                sha256=received.sha256,
                named=request.host if request.host != arrival.host else "",
                answer=f"{source} {response.status} {response.kind}".strip(),
                complete=received.complete and received.size == len(received.body),
            )
            self._recorder.add(one, received.body)
            return response

        target = sinkhole_http.converse(stream, on_request)
        if target:
            host, _, port = target.rpartition(":")
            inner = replace(arrival, host=host.strip("[]"), port=int(port) if port.isdigit() else 443)
            self._speak(stream, inner)

    def _answer(self, request: Request) -> tuple[Response, str]:
        if self._spec.network != "error":
            for special in self._special:
                response = special(request)
                if response is not None:
                    return response, "provided"
        response = answer(request, self._spec, keys=self._keys)
        if self._spec.network == "known-names":
            for name in re.findall(rb"https?://([A-Za-z0-9.-]{3,253})", response.body)[:100]:
                self._names.learn(name.decode())
        return response, self._spec.network

    def _speak_mail(self, stream: Stream, arrival: Arrival, *, greet: bool) -> None:
        def on_mail(mail: sinkhole_mail.Mail) -> None:
            addresses = (("from", mail.sender), *(("to", one) for one in mail.recipients))
            encrypted = isinstance(stream.connection, ServerSocket)
            one = replace(arrival, protocol="smtp", time=time.time(), headers=addresses, tls=encrypted)
            self._recorder.add(replace(one, method="MAIL" if mail.recipients else ""), mail.data)

        start_tls = None if arrival.tls else lambda plain: self._encrypt(plain, arrival)
        sinkhole_mail.converse(stream, arrival.host, on_mail, start_tls=start_tls, greet=greet)

    def _speak_names(self, stream: Stream, arrival: Arrival) -> None:
        """DNS over TCP: messages with their length before them."""
        buffer = b""
        while data := stream.recv(1 << 16):
            buffer += data
            while len(buffer) > 2 and len(buffer) >= 2 + int.from_bytes(buffer[:2], "big"):
                end = 2 + int.from_bytes(buffer[:2], "big")
                reply = self.answer_name(buffer[2:end], arrival.source)
                buffer = buffer[end:]
                if not reply:
                    self._recorder.add(arrival, data)
                    return
                stream.sendall(len(reply).to_bytes(2, "big") + reply)

    def _speak_raw(self, stream: Stream, arrival: Arrival) -> None:
        """Anything else: recorded to its end; the first piece gets a word back, or the level's marker."""
        path = marker_path(self._spec)
        word = {
            "marker-script": marker_script(path).encode(),
            "marker-instruction": marker_instruction(path).encode() + b"\n",
            "empty": b"",
            "error": b"",
        }.get(self._spec.network, b"OK\r\n")
        kept, size, digest = bytearray(), 0, hashlib.sha256()
        try:
            while data := stream.recv(1 << 16):
                if not size and word:
                    stream.sendall(word)
                elif not size:
                    stream.connection.shutdown(socket.SHUT_WR)  # nothing to say, still listening
                size += len(data)
                digest.update(data)
                kept += data[: max(0, RECORDED_BYTES - len(kept))]
                if size > sinkhole_http.ACCEPTED_BYTES:
                    break
        finally:
            whole = replace(arrival, size=size, sha256=digest.hexdigest(), complete=size == len(kept))
            self._recorder.add(whole, bytes(kept))


def _asked(stream: Stream) -> str:
    connection = stream.connection
    return connection.asked if isinstance(connection, ServerSocket) else ""
