"""Questions to a declaration: does it name this host, this path, this kind of effect, and where?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from conjunct.model import ActionKind, Capability, ReachableAction, ReachSet, ResourceClass, Skill
from conjunct.reach.clauses import NAMED_ONLY, words_table
from conjunct.reach.resources import bare_host, normalise_path

_GENERIC_LABELS = frozenset(
    {"api", "www", "app", "com", "org", "net", "io", "dev", "ai", "co", "cloud", "data", "cdn", "raw",
     "docs", "eu", "us", "prod", "rest", "v1", "edu", "gov", "web", "static"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Declared:
    """The declaration of one skill, indexed for the checks."""

    hosts: dict[str, Capability]
    described_hosts: frozenset[str]
    """Hosts named above the body."""
    classes: dict[tuple[ActionKind, ResourceClass], Capability]
    described: frozenset[tuple[ActionKind, ResourceClass]]
    """Kinds of effect that name or description speak of."""
    resources: dict[tuple[ActionKind, str], Capability]
    words: frozenset[str]
    """Words of name and description."""

    def host(self, url: str) -> Capability | None:
        """The capability that names the host, its parent domain, or another host of the same domain."""
        host = bare_host(url)
        labels = host.split(".")
        for start in range(max(1, len(labels) - 1)):
            found = self.hosts.get(".".join(labels[start:]))
            if found is not None:
                return found
        if "*" in host:
            return None
        known = set(labels) - _GENERIC_LABELS
        for name, capability in self.hosts.items():
            if len(labels) > 1 and ".".join(labels[-2:]) == ".".join(name.split(".")[-2:]) and known:
                return capability
        return None

    def describes_host(self, url: str) -> bool:
        """Whether name or description name the host or the service it belongs to."""
        host = bare_host(url)
        if host in self.described_hosts:
            return True
        if any(words <= self.words for name, words in _products() if _is_within(host, name)):
            return True
        labels = [label for label in host.split(".") if label not in _GENERIC_LABELS and len(label) > 1]
        return any(self.describes(label) for label in labels[:-1] or labels)

    def describes(self, name: str) -> bool:
        """Whether name and description hold a name (`AFLplusplus`, `owner/neurokit`)."""
        name = name.rsplit("/", 1)[-1].lower()
        parts = [part for part in re.split(r"[^a-z0-9]+", name) if part]
        if parts and all(part in self.words for part in parts):
            return True
        plain = "".join(parts)
        return len(plain) >= 4 and any(
            len(word) >= 4 and (plain.startswith(word) or word.startswith(plain)) for word in self.words
        )

    def covers(
        self, kind: ActionKind, resource_class: ResourceClass, resource: str = ""
    ) -> Capability | None:
        """The capability that declares an effect: its class in general, else the resource or one above it."""
        found = self.classes.get((kind, resource_class))
        if found is not None or not resource:
            return found
        path = normalise_path(resource)
        for (named_kind, named), capability in self.resources.items():
            if named_kind is kind and _holds(named, path):
                return capability
        return None


def _holds(named: str, path: str) -> bool:
    """Whether a declared path, or glob, is a path or a folder above it; a home folder means all homes."""
    named, path = (re.sub(r"^(?:/home|/users)/[^/]+(?=/|$)", "~", one.lower()) for one in (named, path))
    if named in ("", "*", "~", "/", "~/*"):
        return False
    return path == named or fnmatchcase(path, named) or path.startswith(f"{named.rstrip('/*')}/")


def declared_of(skill: Skill, reach: ReachSet) -> Declared:
    """Index a declaration."""
    hosts: dict[str, Capability] = {}
    described_hosts: set[str] = set()
    classes: dict[tuple[ActionKind, ResourceClass], Capability] = {}
    described: set[tuple[ActionKind, ResourceClass]] = set()
    named: dict[tuple[ActionKind, str], Capability] = {}
    for capability in reach.capabilities:
        above = capability.line < skill.body_line
        if (
            capability.resource_class in (ResourceClass.NETWORK, ResourceClass.LOOPBACK)
            and capability.resource != "*"
        ):
            hosts.setdefault(capability.resource, capability)
            if above:
                described_hosts.add(capability.resource)
            continue
        named.setdefault((capability.kind, normalise_path(capability.resource)), capability)
        key = (capability.kind, capability.resource_class)
        if capability.resource == "*" or capability.resource_class not in NAMED_ONLY:
            classes.setdefault(key, capability)
            if above:
                described.add(key)
    return Declared(
        hosts,
        frozenset(described_hosts),
        classes,
        frozenset(described),
        named,
        words_of(f"{skill.name} {skill.declaration.description}".replace("++", "plusplus")),
    )


@lru_cache(maxsize=1)
def _products() -> tuple[tuple[str, frozenset[str]], ...]:
    """Hosts, and words that name each."""
    return tuple(
        (host, words_of(name)) for host, names in words_table()["products"].items() for name in names
    )


def _is_within(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")


_DENIES_NETWORK = re.compile(
    r"\b(?:no|without(?: any)?|never|zero|does(?:n't| not)(?: \w+){0,2}|do not|nothing) ?(?:ever )?"
    r"(?:\w+ ){0,2}(?:network|internet|external api|api calls?|external calls?|uploads?|uploaded|telemetry|"
    r"leaves? (?:the|your) (?:machine|computer|device))\b|"
    r"\b(?:fully|completely|entirely|100%|purely|strictly) (?:offline|local(?:ly)?)\b|"
    r"\boffline[- ]only\b|\bworks offline\b",
    re.IGNORECASE,
)


def denied_network(description: str) -> str | None:
    """The words with which a description says that nothing goes over the network, or `None`."""
    found = _DENIES_NETWORK.search(description[:5000])
    return found.group(0) if found else None


_WORD = re.compile(r"[a-z0-9]{2,40}")


@lru_cache(maxsize=8192)
def words_of(text: str) -> frozenset[str]:
    """Lower-case words and numbers of a text, at most 20,000 characters of it."""
    return frozenset(_WORD.findall(text[:20_000].lower()))


def is_network(action: ReachableAction) -> bool:
    """Whether an action reaches a host that is not this machine."""
    return (
        action.kind in (ActionKind.CONNECT, ActionKind.SEND)
        and action.resource_class is ResourceClass.NETWORK
    )
