"""Where a reachable action was seen, and the growing list of all of them for one skill."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from conjunct.model import (
    ActionKind,
    Finding,
    Guard,
    Layer,
    ReachableAction,
    ResourceClass,
    Severity,
    Skill,
)
from conjunct.reach import resources

PACKAGE = "<package>"
"""Stands for the skill's own folder at the start of a folded path."""

UNKNOWN = "*"
"""Stands for a part of a value that the source does not fix."""

MOST_ACTIONS = 4000
"""Actions kept per skill: a package that is built to have more gets a finding instead of our memory."""

MOST_GUARDS = 8
"""Guards told of one action, the innermost."""

LONGEST_RESOURCE = 300
DEEPEST_SNIPPET = 4
MOST_SNIPPETS = 1000


@dataclass(frozen=True, slots=True)
class Place:
    """One place in a package, and under which circumstances it is reached."""

    file: str
    line: int
    source: str
    guards: tuple[Guard, ...] = ()
    mention: bool = False
    confidence: float = 1.0

    def at(self, line: int, guards: tuple[Guard, ...] | None = None) -> Place:
        """The same place on another line, optionally under other guards."""
        return replace(self, line=line, guards=self.guards if guards is None else guards)


@dataclass(frozen=True, slots=True)
class Snippet:
    """Code found inside other code (`bash -c "…"`, a decoded blob), still to be read."""

    language: str
    text: str
    place: Place
    depth: int


@dataclass(slots=True)
class Sightings:
    """Everything found so far in one skill. The only mutable value of this room."""

    skill: Skill
    files: frozenset[str] = frozenset()
    actions: dict[tuple[object, ...], ReachableAction] = field(default_factory=dict)
    constants: dict[str, None] = field(default_factory=dict)
    environment: dict[str, None] = field(default_factory=dict)
    reads_clock: bool = False
    largest_count: int = 0
    findings: list[Finding] = field(default_factory=list)
    pending: list[Snippet] = field(default_factory=list)
    depth: int = 0
    broken: int = 0
    """Characters of shell text so far that did not parse."""
    truncated: bool = False

    def add(
        self, place: Place, kind: ActionKind, resource: str, resource_class: ResourceClass, sure: float = 1.0
    ) -> None:
        """Record one action. The same action on the same line is kept once, with its highest confidence."""
        text = resource.strip()[:LONGEST_RESOURCE] or UNKNOWN
        key = (kind, text, place.file, place.line, place.mention)
        confidence = round(place.confidence * sure, 3)
        known = self.actions.get(key)
        if known is not None and known.confidence >= confidence:
            return
        if known is None and len(self.actions) >= MOST_ACTIONS:
            self._note_truncation(place)
            return
        self.actions[key] = ReachableAction(
            skill=self.skill.id,
            kind=kind,
            resource=text,
            resource_class=resource_class,
            file=place.file,
            line=place.line,
            source=place.source,
            confidence=confidence,
            guards=place.guards[-MOST_GUARDS:],
            mention=place.mention,
        )

    def path(self, place: Place, kind: ActionKind, path: str, sure: float = 1.0) -> None:
        """Record an action on a path."""
        self.add(place, kind, path, self.class_of(path), sure)

    def network(self, place: Place, kind: ActionKind, url: str, sure: float = 1.0) -> None:
        """Record an action on a host or URL. Pure namespaces are not contacted and not recorded."""
        if resources.is_inert_host(url):
            return
        host_class = resources.classify_host(url)
        if host_class is ResourceClass.UNKNOWN:
            host_class = ResourceClass.NETWORK
        self.add(place, kind, without_query(url), host_class, sure)

    def snippet(self, language: str, text: str, place: Place) -> None:
        """Put code found inside code on the list of what is still to be read."""
        if self.depth < DEEPEST_SNIPPET and len(self.pending) < MOST_SNIPPETS and text.strip(" *\n"):
            self.pending.append(Snippet(language, text, place, self.depth + 1))
        else:
            self.opaque(place, f"unread:{language}")

    def opaque(self, place: Place, what: str, sure: float = 1.0) -> None:
        """Record something whose effect cannot be read from the source."""
        self.add(place, ActionKind.OPAQUE, what, ResourceClass.UNKNOWN, sure)

    def variable(self, place: Place, name: str) -> None:
        """Record that an environment variable is read."""
        if not name or UNKNOWN in name or len(name) > 128:
            return
        self.environment.setdefault(name)
        if resources.is_secret_variable(name):
            self.add(place, ActionKind.READ, f"env:{name}", ResourceClass.SECRET)

    def constant(self, value: str) -> None:
        """Record a string that a guard compares with."""
        if 0 < len(value) <= 200 and len(self.constants) < 400:
            self.constants.setdefault(value)

    def count(self, value: int) -> None:
        """Record a number that a guard compares with a counter, a length or a part of a date."""
        if 1 < value <= 100_000:
            self.largest_count = max(self.largest_count, value)

    def finding(
        self, code: str, message: str, file: str, line: int, *, severity: Severity, quote: str = ""
    ) -> None:
        """Record something worth telling that is no action."""
        self.findings.append(
            Finding(self.skill.id, Layer.CLAIMS, code, message, severity, file, line, quote or None)
        )

    def class_of(self, path: str) -> ResourceClass:
        """The class of a path as written in this package."""
        if path.startswith(PACKAGE):
            rest = posixpath.normpath(path[len(PACKAGE) :].lstrip("/") or ".")
            return ResourceClass.OTHER_SKILL if rest.startswith("..") else ResourceClass.OWN_PACKAGE
        plain = posixpath.normpath(path) if path else path
        if plain in self.files:
            return ResourceClass.OWN_PACKAGE
        return resources.classify_path(path)

    def _note_truncation(self, place: Place) -> None:
        if not self.truncated:
            self.truncated = True
            self.finding(
                "claims.reach-truncated",
                f"more than {MOST_ACTIONS} reachable actions; the rest of the package was not listed",
                place.file,
                place.line,
                severity=Severity.NOTE,
            )


def without_query(url: str) -> str:
    """A URL without its query and fragment: what is sent in them is not part of the place."""
    return url.split("?", 1)[0].split("#", 1)[0]


def distinct(values: Iterable[str], limit: int = 8) -> tuple[str, ...]:
    """The first `limit` different values, in order."""
    return tuple(dict.fromkeys(values))[:limit]
