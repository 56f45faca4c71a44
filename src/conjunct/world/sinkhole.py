"""The sinkhole: inside an episode's network namespace every name resolves and every address and port answers.

It runs in threads of the supervisor. The kernel redirects every connection to its one port (`nft_rules`) and
tells where one was meant to go. What arrives is recorded whole, within limits; nothing leaves the machine.
Loopback is left alone: an episode's own listeners are reached as on any machine.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from conjunct.errors import WorldError
from conjunct.world.answers import LEVELS
from conjunct.world.arrivals import Arrival, Recorder
from conjunct.world.conversation import Conversation, Special
from conjunct.world.destinations import datagram_destination, place
from conjunct.world.fixture_repository import RepositoryServer
from conjunct.world.redirection import DEFAULT_PORT, nft_rules, refused
from conjunct.world.sinkhole_dns import Names
from conjunct.world.sinkhole_tls import Authority, Certificates
from conjunct.world.spec import WorldSpec

__all__ = ["DEFAULT_PORT", "Arrival", "Sinkhole", "nft_rules"]

MAXIMUM_CONNECTIONS = 512
"""Open at the same time; further ones are recorded and reset."""


class Sinkhole:
    """The sinkhole of one episode. `start`, then `arrivals` at any time, `settle` and `stop` at the end."""

    def __init__(
        self,
        spec: WorldSpec,
        *,
        authority: Authority,
        port: int = DEFAULT_PORT,
        special: Sequence[Special] = (),
        keys: Sequence[str] = (),
        always_known: Sequence[str] = (),
    ) -> None:
        """`special` are asked before the level's own answer; `keys` are JSON keys that programs here read.

        `always_known`: names that resolve at the level `known-names` beside `spec.known_names` (the index).
        Raises `WorldError` for an unknown level.
        """
        if spec.network not in LEVELS:
            raise WorldError(f"network level {spec.network!r} is not one of {', '.join(LEVELS)}")
        self._spec = spec
        self._port = port
        known = {*spec.known_names, *always_known} if spec.network == "known-names" else None
        start = datetime.fromisoformat(spec.clock)
        self.names = Names(salt=spec.salt, known=known)
        self._recorder = Recorder()
        self._conversation = Conversation(
            spec,
            names=self.names,
            certificates=Certificates(authority, now=start),
            recorder=self._recorder,
            special=(*special, RepositoryServer(spec, seconds=int(start.timestamp()) - 90 * 86400)),
            keys=keys,
        )
        self._lock = threading.Lock()
        self._listeners: list[socket.socket] = []
        self._open: dict[int, tuple[socket.socket, threading.Thread]] = {}
        self._running = False

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the record is not whole; the episode is undetermined if there are any."""
        return tuple(self._recorder.problems)

    @property
    def dropped(self) -> bool:
        """Whether something that arrived is not in the record, or not whole."""
        return bool(self._recorder.problems)

    def start(self) -> None:
        """Bind and serve. Raises `WorldError` if the ports are taken or loopback is not up."""
        if self._spec.network == "none":
            return
        self._running = True
        try:
            for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
                # Bound to loopback itself: an answer from another address would be redirected once more.
                tcp = self._bind(family, socket.SOCK_STREAM, address, self._port)
                tcp.listen(128)
                names = self._bind(family, socket.SOCK_DGRAM, address, self._port)
                other = self._bind(family, socket.SOCK_DGRAM, address, self._port + 1)
                self._serve(self._accept, tcp)
                self._serve(self._answer_names, names)
                self._serve(self._record_datagrams, other)
        except OSError as error:
            self.stop()
            raise WorldError(f"the sinkhole cannot listen on port {self._port}: {error}") from error

    def arrivals(self) -> tuple[Arrival, ...]:
        """Everything that has arrived so far, in order of completion."""
        kernel = refused(self.names) if self._spec.network == "refused" and self._running else ()
        return self._recorder.all() + kernel

    def settle(self, *, quiet: float = 0.05, limit: float = 2.0) -> None:
        """Wait until nothing has arrived or ended for `quiet` seconds, `limit` seconds at most."""
        end = time.monotonic() + limit
        while self._recorder.idle < quiet and time.monotonic() < end:
            time.sleep(0.005)

    def stop(self) -> tuple[Arrival, ...]:
        """Stop listening, end all conversations, and give everything that had arrived by then."""
        last = refused(self.names) if self._spec.network == "refused" and self._running else ()
        self._running = False
        for listener in self._listeners:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        with self._lock:
            conversations = list(self._open.values())
        for connection, _ in conversations:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for _, thread in conversations:
            thread.join(2.0)
        for connection, _ in conversations:
            connection.close()
        return self._recorder.all() + last

    # ---- listening

    def _bind(self, family: int, kind: int, address: str, port: int) -> socket.socket:
        listener = socket.socket(family, kind)
        self._listeners.append(listener)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        return listener

    def _serve(self, work: Callable[[socket.socket], None], listener: socket.socket) -> None:
        threading.Thread(target=work, args=(listener,), name="sinkhole", daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        while self._running:
            try:
                connection, source = listener.accept()
            except OSError:
                if self._running:
                    time.sleep(0.01)
                continue
            self._recorder.touch()
            # A second descriptor, by which `stop` reaches it whatever the conversation made of the first.
            handle = connection.dup()
            thread = threading.Thread(target=self._conduct, args=(connection, source, handle), daemon=True)
            with self._lock:
                busy = len(self._open) >= MAXIMUM_CONNECTIONS
                if not busy:
                    self._open[id(handle)] = (handle, thread)
            if busy:
                self._recorder.add(self._conversation.arrival(connection, source), b"")
                handle.close()
                _reset(connection)
            else:
                thread.start()

    def _conduct(self, connection: socket.socket, source: Sequence[object], handle: socket.socket) -> None:
        self._conversation.conduct(connection, source)
        with self._lock:
            self._open.pop(id(handle), None)
        handle.close()

    def _answer_names(self, listener: socket.socket) -> None:
        for query, source in self._datagrams(listener):
            reply = self._conversation.answer_name(query, place(source))
            if reply:
                with contextlib.suppress(OSError):
                    listener.sendto(reply, tuple(source))

    def _record_datagrams(self, listener: socket.socket) -> None:
        for data, source in self._datagrams(listener):
            address, port = datagram_destination(source)
            host = self.names.name(address)
            self._recorder.add(Arrival(host, address, port, "udp", place(source), time.time()), data)

    def _datagrams(self, listener: socket.socket) -> Iterator[tuple[bytes, Sequence[object]]]:
        while self._running:
            try:
                data, source = listener.recvfrom(1 << 16)
            except OSError:
                continue
            if source:
                yield data, source


def _reset(connection: socket.socket) -> None:
    """Close with RST instead of a polite end."""
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()
