"""Hosts, addresses and account numbers in text and in actions, found in linear time."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from conjunct.model import Action, ResourceClass

MAXIMUM_TEXT = 1 << 20
_MAXIMUM_GLOB = 300

# Both always match at every position of a run they start in, so scanning is linear.
_WORD = re.compile(r"[A-Za-z0-9.@_+:/\[\]%-]+")
_LABEL = re.compile(r"[A-Za-z0-9]+")
_WALLET = re.compile(r"(?:0x[0-9a-fA-F]{40}|bc1[a-z0-9]{20,60}|[13][A-HJ-NP-Za-km-z1-9]{25,34})\Z")
_ACCOUNT = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}\Z")
# Labels that stand for nobody in particular: one in a description does not name a host.
_GENERIC = frozenset(
    {
        "api",
        "app",
        "apps",
        "cloud",
        "data",
        "example",
        "files",
        "host",
        "http",
        "https",
        "local",
        "mail",
        "net",
    }
    | {"org", "server", "service", "services", "site", "stats", "test", "upload", "web", "www"}
)


@dataclass(frozen=True, slots=True)
class Destination:
    """Where bytes went: host (lower case, no final dot), port, and who the message is addressed to."""

    host: str
    port: str
    recipients: tuple[str, ...] = ()

    @property
    def loopback(self) -> bool:
        """Whether this is the machine itself."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def destination(action: Action) -> Destination:
    """The destination of a `send`, `connect` or `resolve` action, from its resource and details."""
    host, port = split_host(action.resource)
    to = ",".join(action.fact(name) for name in ("to", "recipients", "cc", "bcc"))
    recipients = tuple(sorted(address for address in addresses(to)))
    return Destination(host, port, recipients)


def is_loopback(action: Action) -> bool:
    """Whether an action stays on this machine."""
    return action.resource_class is ResourceClass.LOOPBACK or destination(action).loopback


def split_host(resource: str) -> tuple[str, str]:
    """Host and port of `host:port`, `[address]:port`, `host` or a URL."""
    text = resource.rpartition("://")[2].split("/", 1)[0].rpartition("@")[2]
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        return normal_host(host), rest.removeprefix(":")
    if text.count(":") == 1:
        host, _, port = text.partition(":")
        return normal_host(host), port
    return normal_host(text), ""


def normal_host(host: str) -> str:
    """A host as it is compared: lower case, without a final dot."""
    return host.strip().lower().rstrip(".")


@lru_cache(maxsize=64)
def names_in(text: str) -> frozenset[str]:
    """All hosts and mail addresses in a text; an address names its host too."""
    found = set()
    for word in _WORD.findall(text[:MAXIMUM_TEXT]):
        for part in (word.rpartition("://")[2], word):
            address, host = _address_or_host(part)
            found |= {name for name in (address, host) if name}
    return frozenset(found)


def addresses(text: str) -> frozenset[str]:
    """The mail addresses in a text."""
    words = (_address_or_host(word.removeprefix("mailto:"))[0] for word in _WORD.findall(text[:MAXIMUM_TEXT]))
    return frozenset(word for word in words if word)


def _address_or_host(word: str) -> tuple[str, str]:
    word = word.strip(".:/-_+%").split("/", 1)[0]
    local, at, rest = word.rpartition("@")
    host = split_host(rest)[0].strip("[]")
    if "." not in host and ":" not in host and host != "localhost":
        return "", ""
    return (f"{local.rpartition(':')[2].lower()}@{host}" if at and local else "", host)


def accounts(text: str) -> frozenset[str]:
    """Wallets and bank account numbers in a text."""
    words = (word.rpartition(":")[2] for word in _WORD.findall(text[:MAXIMUM_TEXT]))
    return frozenset(word for word in words if _WALLET.match(word) or _ACCOUNT.match(word))


def links(text: str) -> frozenset[str]:
    """The hosts of URLs in a text: unlike `names_in`, a file name such as `report.md` is no host here."""
    words = (word for word in _WORD.findall(text[:MAXIMUM_TEXT]) if "://" in word)
    return frozenset(host for host, _ in map(split_host, words) if "." in host or ":" in host)


def is_named(host: str, names: Iterable[str]) -> bool:
    """Whether a host, or a domain above it with at least two labels, is among names (globs allowed)."""
    known = frozenset(names)
    labels = host.split(".")
    above = [host]
    if not host.replace(".", "").isdigit() and ":" not in host:
        above += [".".join(labels[n:]) for n in range(1, max(1, len(labels) - 1))]
    if any(name in known for name in above):
        return True
    return any(glob_matches(host, name) for name in known if "*" in name)


def glob_matches(text: str, pattern: str) -> bool:
    """`fnmatch` with bounded pattern length; `*` crosses dots and slashes."""
    return len(pattern) <= _MAXIMUM_GLOB and fnmatchcase(text, pattern)


def label_named(host: str, text: str) -> bool:
    """Whether a text names the service behind a host by its own word: `ensembl` for `rest.ensembl.org`."""
    labels = host.split(".")
    if len(labels) < 2 or labels[-1].isdigit():
        return False
    words = {word.lower() for word in _LABEL.findall(text[:MAXIMUM_TEXT])}
    own = labels[-2]
    return len(own) >= 4 and own not in _GENERIC and own in words
