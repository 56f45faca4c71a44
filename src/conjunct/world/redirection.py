"""Leading every connection of an episode's network namespace to the sinkhole, in the words of nftables."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess

from conjunct.world.arrivals import Arrival
from conjunct.world.sinkhole_dns import Names

DEFAULT_PORT = 46137
"""TCP: everything; UDP: name queries. UDP datagrams to other ports go to the next port."""


def nft_rules(port: int = DEFAULT_PORT, *, network: str = "plausible") -> str:
    """Rules that lead everything to the sinkhole, for `nft -f -` in the episode's network namespace.

    The namespace also needs `local` routes for 0.0.0.0/0 and ::/0 on `lo`. The sinkhole's own ports look
    closed to whoever connects to them directly. At level `refused` the kernel refuses connections, as on a
    real machine, and notes them in a set; at `none` there is nothing to redirect.
    """
    if network == "none":
        return ""
    tcp = f"    meta l4proto tcp redirect to :{port}\n"
    refuse = ""
    if network == "refused":
        tcp = f"    tcp dport 53 redirect to :{port}\n"
        refuse = (
            "    ip daddr != 127.0.0.0/8 tcp flags & (syn | ack) == syn "
            "add @refused4 { ip daddr . tcp dport } reject with tcp reset\n"
            "    ip6 daddr != ::1 tcp flags & (syn | ack) == syn "
            "add @refused6 { ip6 daddr . tcp dport } reject with tcp reset\n"
        )
    return (
        "table inet world {\n"
        "  set refused4 { type ipv4_addr . inet_service; flags dynamic; size 4096; }\n"
        "  set refused6 { type ipv6_addr . inet_service; flags dynamic; size 4096; }\n"
        "  chain output {\n"
        "    type nat hook output priority -100; policy accept;\n"
        "    ip daddr 127.0.0.0/8 return\n"
        "    ip6 daddr ::1 return\n"
        f"    udp dport 53 redirect to :{port}\n{tcp}"
        f"    meta l4proto udp redirect to :{port + 1}\n"
        "  }\n"
        "  chain guard {\n"
        "    type filter hook output priority 0; policy accept;\n"
        "    ct status dnat accept\n"
        f"    tcp dport {port} tcp flags & (syn | ack) == syn reject with tcp reset\n"
        f"    udp dport {{ {port}, {port + 1} }} reject\n{refuse}"
        "  }\n"
        "}\n"
    )


def refused(names: Names) -> tuple[Arrival, ...]:
    """Connections that the kernel refused at the level `refused`, from its sets: without source or order."""
    program = shutil.which("nft", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    found: list[Arrival] = []
    for name in ("refused4", "refused6") if program else ():
        argv = [str(program), "-j", "list", "set", "inet", "world", name]
        done = subprocess.run(argv, capture_output=True, timeout=10, check=False)
        for address, port in _elements(done.stdout):
            host = names.name(address)
            found.append(Arrival(host, address, port, "tcp", "", 0.0, answer="refused", sha256=_EMPTY))
    return tuple(found)


_EMPTY = hashlib.sha256(b"").hexdigest()


def _elements(listing: bytes) -> list[tuple[str, int]]:
    """(address, port) pairs of a set as `nft -j` lists it."""
    try:
        parts = json.loads(listing)["nftables"]
    except (ValueError, KeyError):
        return []
    pairs: list[tuple[str, int]] = []
    for part in parts:
        for element in part.get("set", {}).get("elem", ()):
            inner = element.get("elem", {}).get("val", element) if "elem" in element else element
            address, port = inner["concat"]
            pairs.append((str(address), int(port)))
    return sorted(pairs)
