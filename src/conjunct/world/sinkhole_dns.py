"""Names of the world: every name has a stable address, and an address that was given out leads back to it."""

from __future__ import annotations

import hashlib
import ipaddress
import threading
from collections.abc import Collection
from typing import Any

from dnslib import MX, NS, PTR, QTYPE, RCODE, RR, SOA, TXT, A, DNSRecord  # type: ignore[import-untyped]

# Blocks of large hosting companies, as names resolve to in practice; nothing sent there leaves the machine.
_BLOCKS = (
    (13, 224),
    (18, 155),
    (23, 185),
    (34, 117),
    (35, 190),
    (52, 84),
    (54, 230),
    (99, 86),
    (104, 18),
    (151, 101),
)
_MAXIMUM_NAMES = 20_000
_LIFETIME = 60


class Names:
    """The table of names and addresses. Thread-safe; the same salt gives the same addresses."""

    def __init__(self, *, salt: str, known: Collection[str] | None = None) -> None:
        """`known`: names and parents of names that resolve; `None` means every name does."""
        self._salt = salt
        self._known = None if known is None else {name.lower().rstrip(".") for name in known}
        self._name_of: dict[str, str] = {}
        self._address_of: dict[str, str] = {}
        self._lock = threading.Lock()

    def resolves(self, name: str) -> bool:
        """Whether the name exists in this world."""
        if self._known is None:
            return True
        plain = name.lower().rstrip(".")
        parts = plain.split(".")
        return any(".".join(parts[i:]) in self._known for i in range(len(parts)))

    def learn(self, name: str) -> None:
        """From now on the name resolves: it was found in an earlier answer."""
        with self._lock:
            if self._known is not None and len(self._known) < _MAXIMUM_NAMES:
                self._known.add(name.lower().rstrip("."))

    def address(self, name: str) -> str:
        """The address of a name."""
        plain = name.lower().rstrip(".")
        with self._lock:
            known = self._address_of.get(plain)
            if known is not None:
                return known
            for attempt in range(1000):
                digest = hashlib.sha256(f"{self._salt}\0{plain}\0{attempt}".encode()).digest()
                first, second = _BLOCKS[digest[0] % len(_BLOCKS)]
                address = f"{first}.{second}.{digest[1]}.{digest[2] % 254 + 1}"
                if address not in self._name_of:
                    break
            if len(self._address_of) < _MAXIMUM_NAMES:
                self._address_of[plain] = address
                self._name_of[address] = plain
            return address

    def name(self, address: str) -> str:
        """The name that was resolved to this address, or the address itself."""
        return self._name_of.get(address, address)


def answer(query: bytes, names: Names, *, texts: str = "") -> tuple[str, str, bytes]:
    """(name asked for, type of record, answer) for one DNS message; an empty answer for what is no query.

    IPv4 only: with both families clients race them, and the trace would depend on who won. `texts` is what
    TXT records say.
    """
    try:
        record = DNSRecord.parse(query)
        question = record.q
        name = str(question.qname).rstrip(".")
    except Exception:  # dnslib raises whatever a broken message makes it stumble over
        return "", "", b""
    kind = str(QTYPE.get(question.qtype) or question.qtype)
    reply = record.reply()
    if not names.resolves(name) and kind != "PTR":
        reply.header.rcode = RCODE.NXDOMAIN
        reply.add_auth(RR(question.qname, QTYPE.SOA, rdata=SOA(), ttl=_LIFETIME))
    else:
        for kind_given, data in _records(name, kind, names, texts):
            reply.add_answer(RR(question.qname, getattr(QTYPE, kind_given), rdata=data, ttl=_LIFETIME))
    return name, kind, bytes(reply.pack())


def _records(name: str, kind: str, names: Names, texts: str) -> list[tuple[str, Any]]:
    if kind in ("A", "ANY"):
        return [("A", A(names.address(name)))]
    if kind == "MX":
        return [("MX", MX(f"mail.{name}", 10))]
    if kind == "NS":
        return [("NS", NS(f"ns{number}.{name}")) for number in (1, 2)]
    if kind == "TXT":
        return [("TXT", TXT(texts or "v=spf1 -all"))]
    if kind == "PTR" and name.endswith(".in-addr.arpa"):
        labels = name.removesuffix(".in-addr.arpa").split(".")[::-1]
        try:
            address = str(ipaddress.ip_address(".".join(labels)))
        except ValueError:
            return []
        found = names.name(address)
        return [("PTR", PTR(found if found != address else f"host-{address.replace('.', '-')}.example"))]
    return []
