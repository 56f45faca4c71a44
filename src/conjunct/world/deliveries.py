"""What arrived at the sinkhole, as actions of who sent it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from conjunct.model import Action, ActionKind, ResourceClass
from conjunct.world.actors import directive
from conjunct.world.arrivals import Arrival
from conjunct.world.facts import Connection
from conjunct.world.recogniser import Recogniser
from conjunct.world.spec import Command

_EXCERPT_CHARACTERS = 2000
_PARTS = 4096
_REFUSED = "refused"


@dataclass(slots=True)
class Deliveries:
    """Attributes arrivals to the processes of one episode, command by command."""

    recogniser: Recogniser
    name_of: Callable[[str], str]
    """The name that was resolved to an address, or the address."""
    connections: list[Connection] = field(default_factory=list)
    taken: int = 0
    """Arrivals told so far."""
    refused: set[tuple[str, int]] = field(default_factory=set)
    """Destinations whose refusal was told: the kernel keeps them without order."""
    datagrams: int = 0
    """Datagrams told so far whose destination only the trace knows."""
    parts: list[bytes] = field(default_factory=list)

    def actions(
        self, arrivals: Sequence[Arrival], connections: Iterable[Connection], command: Command
    ) -> tuple[Action, ...]:
        """The arrivals that are new. `command`: the one that ran, for what no trace attributes."""
        self.connections += connections
        received = [arrival for arrival in arrivals if arrival.answer != _REFUSED]
        fresh = received[self.taken :]
        self.taken = len(received)
        for arrival in arrivals:
            place = (arrival.address, arrival.port)
            if arrival.answer == _REFUSED and place not in self.refused:
                self.refused.add(place)
                fresh.append(arrival)
        actions = [self._action(arrival, command) for arrival in fresh]
        sent = [arrival.text for arrival in fresh]
        self.parts += sent
        del self.parts[:-_PARTS]
        return tuple(self._with_split(actions, sent))

    def named(self, actions: Iterable[Action]) -> tuple[Action, ...]:
        """Traced connections with the name that the address was resolved from."""
        return tuple(map(self._named, actions))

    def _named(self, action: Action) -> Action:
        source = action.fact("fetched_from")
        if source:
            action = replace(action, detail=_replaced(action.detail, "fetched_from", self._host_of(source)))
        if action.resource_class is not ResourceClass.NETWORK or ":" not in action.resource:
            return action
        address, _, port = action.resource.rpartition(":")
        name = self.name_of(address.strip("[]"))
        if name in ("", address.strip("[]")):
            return action
        return replace(action, resource=f"{name}:{port}", detail=(*action.detail, ("address", address)))

    def _host_of(self, source: str) -> str:
        """`address:port` with the name that the address was resolved from, where there is one."""
        address, _, port = source.rpartition(":")
        name = self.name_of(address.strip("[]"))
        return f"{name}:{port}" if name else source

    def _action(self, arrival: Arrival, command: Command) -> Action:
        connection = self._connection(arrival)
        resolve = arrival.protocol == "dns"
        text = arrival.text
        detail = {
            "protocol": arrival.protocol,
            "method": arrival.method,
            "path": arrival.path,
            "address": arrival.address,
            "sni": arrival.sni,
            "claimed": arrival.named,
            "answer": arrival.answer,
            "recipients": " ".join(value for name, value in arrival.headers if name == "to"),
            "content": "unknown" if arrival.protocol == "tls" else "" if arrival.complete else "incomplete",
            "attributed": "" if connection is not None or resolve else "by time",
            "program": connection.program if connection is not None else "",
        }
        refused = arrival.answer == _REFUSED
        sends = ActionKind.CONNECT if refused else ActionKind.SEND
        return Action(
            kind=ActionKind.RESOLVE if resolve else sends,
            completed=not refused,
            resource=arrival.host if resolve else self._told_destination(arrival, connection),
            resource_class=ResourceClass.NETWORK,
            actor=connection.actor if connection is not None else directive(command),
            turn=connection.turn if connection is not None else command.turn,
            step=connection.step if connection is not None else command.step,
            canaries=self.recogniser.find(text),
            size=arrival.size or len(text),
            sha256=_digest(arrival),
            excerpt=text[:_EXCERPT_CHARACTERS].decode("utf-8", "replace"),
            detail=tuple((name, value) for name, value in detail.items() if value),
        )

    def _told_destination(self, arrival: Arrival, connection: Connection | None) -> str:
        if arrival.host or arrival.address or connection is None:
            return _destination(arrival)
        address, _, port = connection.destination.rpartition(":")
        name = self.name_of(address.strip("[]")) or address
        return f"{name}:{port}"

    def _connection(self, arrival: Arrival) -> Connection | None:
        """The traced use of the socket: by its inode, else the client's address, else the destination."""
        places = (f"{arrival.address}:{arrival.port}", f"[{arrival.address}]:{arrival.port}")
        tests: tuple[Callable[[Connection], bool], ...] = (
            lambda one: arrival.socket != 0 and one.socket == arrival.socket,
            lambda one: one.source != "" and one.source == arrival.source,
            lambda one: one.destination in places,
        )
        for test in tests:
            for connection in reversed(self.connections):
                if test(connection):
                    return connection
        return self._next_datagram() if arrival.protocol == "udp" and not arrival.address else None

    def _next_datagram(self) -> Connection | None:
        """The next use of a datagram socket: arrivals come in the order of sending, and the kernel's table of
        redirected datagrams can be read by root only.
        """
        sent = [one for one in self.connections if one.protocol == "udp" and one.sent]
        if not sent:
            return None
        self.datagrams += 1
        return sent[min(self.datagrams, len(sent)) - 1]

    def _with_split(self, actions: list[Action], sent: list[bytes]) -> list[Action]:
        """Planted data that left in pieces belongs to the action that carried the last of them."""
        if not sent or len(self.parts) < 2:
            return actions
        known = {path for action in actions for path in action.canaries}
        pieced = [path for path in self.recogniser.find_parts(self.parts) if path not in known]
        before = self.parts[: len(self.parts) - len(sent)]
        already = set(self.recogniser.find_parts(before)) if pieced else set()
        fresh = tuple(path for path in pieced if path not in already)
        if fresh:
            last = actions[-1]
            actions[-1] = replace(
                last, canaries=(*last.canaries, *fresh), detail=(*last.detail, ("pieces", "yes"))
            )
        return actions


def _digest(arrival: Arrival) -> str:
    """Of all that the client chose: data leaves in a query or a header as well as in a body."""
    if not (arrival.path or arrival.headers) and arrival.sha256:
        return arrival.sha256
    head = replace(arrival, body=b"").text
    return hashlib.sha256(head + (arrival.sha256.encode() or arrival.body)).hexdigest()


def _destination(arrival: Arrival) -> str:
    host = arrival.host or arrival.address
    return f"[{host}]:{arrival.port}" if ":" in host else f"{host}:{arrival.port}"


def _replaced(detail: tuple[tuple[str, str], ...], name: str, value: str) -> tuple[tuple[str, str], ...]:
    return tuple((key, value if key == name else old) for key, old in detail)
