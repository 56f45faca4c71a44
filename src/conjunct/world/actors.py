"""Who did it: chains of actors, and who last wrote what in an episode.

A chain names, outermost first, the directive that started a command, every package whose code the process or
its ancestors ran or loaded, and for each file created in the episode that they ran or loaded the chain of its
last writer. Nothing is ever dropped from a chain but file links beyond a bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from conjunct.model import Actor, ActorLink
from conjunct.world.resources import absolute, package_of
from conjunct.world.spec import Command, Layout

_FILE_LINKS = 32
"""Links to files in one chain: a hostile program may load thousands; its packages are all kept."""
_HOPS = 8
_ENTRIES = 65536


def directive(command: Command) -> Actor:
    """The chain with which a command starts: the directive of a skill, or the agent by itself."""
    if command.skill:
        return (ActorLink("skill", command.skill, command.file or None, command.line or None),)
    return (ActorLink("agent", "agent"),)


def extend(actor: Actor, links: Iterable[ActorLink]) -> Actor:
    """`actor` with those of `links` that it lacks, in their order."""
    seen = set(actor)
    files = sum(link.kind == "file" for link in actor)
    added: list[ActorLink] = []
    for link in links:
        if link in seen:
            continue
        if link.kind == "file":
            if files >= _FILE_LINKS:
                continue
            files += 1
        elif link.kind == "skill" and link.line is None and _names_skill(actor, added, link, files):
            continue
        seen.add(link)
        added.append(link)
    return (*actor, *added) if added else actor


def _names_skill(actor: Actor, added: list[ActorLink], link: ActorLink, files: int) -> bool:
    """Whether a chain that is long already names that skill: then another file of it adds nothing."""
    if len(actor) + len(added) - files < _FILE_LINKS:
        return False
    return any(known.kind == "skill" and known.name == link.name for known in (*actor, *added))


def package_link(path: str, layout: Layout, packages: Mapping[str, str]) -> ActorLink | None:
    """The link for code at `path`, if it lies in an installed package."""
    package = package_of(path, layout)
    if package is None:
        return None
    return ActorLink("skill", packages.get(package[0], package[0]), package[1] or None)


@dataclass(slots=True)
class ActorLedger:
    """Who last wrote each path in one episode, carried from command to command.

    Moved folders are remembered as such, so that a rename costs the same whatever lies in the folder.
    """

    _writers: dict[str, Actor] = field(default_factory=dict)
    _moved: dict[str, tuple[str, Actor]] = field(default_factory=dict)
    _links: dict[str, str] = field(default_factory=dict)
    _aliases: dict[str, str] = field(default_factory=dict)
    _fetched: dict[str, tuple[str, ...]] = field(default_factory=dict)
    overflowed: bool = False
    """More paths were written than are remembered: chains may be incomplete."""

    def update(self, path: str, actor: Actor, *, fetched: tuple[str, ...] = ()) -> None:
        """Record that `actor` wrote `path`, with bytes that may have come from the destinations `fetched`."""
        if path not in self._writers and len(self._writers) >= _ENTRIES:
            self.overflowed = True
            return
        known = self._writers.get(path)
        # Appending to a file of somebody else leaves that somebody's bytes in it: both stay in the chain.
        self._writers[path] = extend(known, actor) if known else actor
        if fetched:
            self._fetched[path] = fetched

    def replace(self, path: str, actor: Actor, *, fetched: tuple[str, ...] = ()) -> None:
        """Record that `actor` created or truncated `path`: earlier writers are gone."""
        self.forget(path)
        self.update(path, actor, fetched=fetched)

    def rename(self, old: str, new: str, actor: Actor) -> None:
        """Record that `actor` moved `old`, with everything below it, to `new`."""
        chain = extend(self.lookup(old), actor)
        link = self._links.get(old)
        alias, fetched = self._aliases.get(old), self.fetched(old)
        origin = self._moved.get(old)
        self.forget(new)
        self.forget(old)
        if alias:
            self._aliases[new] = alias
        if link is not None:
            self._links[new] = link
        if len(self._moved) >= _ENTRIES:
            self.overflowed = True
        else:
            # A file moved twice keeps its first place: the place in between may be taken by another one.
            self._moved[new] = (origin[0], extend(origin[1], actor)) if origin else (old, actor)
        self.update(new, chain, fetched=fetched)

    def link(self, target: str, path: str, actor: Actor, *, symbolic: bool) -> None:
        """Record that `actor` made `path` another name of `target`."""
        if symbolic:
            self.replace(path, actor)
            if len(self._links) < _ENTRIES:
                self._links[path] = target
        else:
            self.replace(path, extend(self.lookup(target), actor), fetched=self.fetched(target))
            if len(self._aliases) < _ENTRIES:
                self._aliases[path] = self._aliases.get(target, target)

    def forget(self, path: str) -> None:
        """Record that `path` is gone. The chain of a later file of that name starts anew."""
        self._writers.pop(path, None)
        self._links.pop(path, None)
        self._moved.pop(path, None)
        self._aliases.pop(path, None)
        self._fetched.pop(path, None)

    def wrote(self, path: str) -> bool:
        """Whether something was written or moved to exactly `path` in this episode."""
        return path in self._writers

    def fetched(self, path: str) -> tuple[str, ...]:
        """Destinations off this machine from which the content of `path` may have come."""
        for _ in range(_HOPS):
            known = self._fetched.get(path)
            moved = self._moved_from(path) if known is None else None
            if moved is None:
                return known or ()
            path = moved[0]
        return ()

    def alias(self, path: str) -> str:
        """The first name of a file of which `path` is a hard link made in this episode; else empty."""
        return self._aliases.get(path, "")

    def origin(self, path: str) -> str:
        """Where the file at `path` lay before it was moved in this episode; empty if it was not moved."""
        found = path
        for _ in range(_HOPS):
            moved = self._moved_from(found)
            if moved is None:
                break
            found = moved[0]
        return found if found != path else ""

    def resolve_folder(self, path: str) -> str:
        """`path` with the symbolic links followed that lead to the folder it lies in."""
        if not self._links:
            return path
        folder, slash, name = path.rpartition("/")
        return f"{self.resolve(folder).rstrip('/')}/{name}" if slash and folder else path

    def resolve(self, path: str) -> str:
        """`path` with the known symbolic links followed, those in its folders and itself."""
        if not self._links:
            return path
        for _ in range(_HOPS):
            followed = self._followed(path)
            if followed == path:
                break
            path = followed
        return path

    def _followed(self, path: str) -> str:
        """`path` with the outermost link in it replaced by where it leads."""
        end = path.find("/", 1)
        while True:
            prefix = path if end < 0 else path[:end]
            target = self._links.get(prefix)
            if target is not None:
                found = absolute(target, prefix.rpartition("/")[0] or "/")
                return found if end < 0 else absolute(path[end + 1 :], found)
            if end < 0:
                return path
            end = path.find("/", end + 1)

    def lookup(self, path: str) -> Actor:
        """The chain of the last writer of `path`, or of who moved the folder it lies in; empty if nobody."""
        chain: Actor = ()
        for _ in range(_HOPS):
            known = self._writers.get(path)
            if known is not None:
                return extend(chain, known)
            moved = self._moved_from(path)
            if moved is None:
                return chain
            path, mover = moved
            chain = extend(chain, mover)
        return chain

    def _moved_from(self, path: str) -> tuple[str, Actor] | None:
        if not self._moved:
            return None
        ancestor = path
        while ancestor:
            moved = self._moved.get(ancestor)
            if moved is not None:
                return moved[0] + path[len(ancestor) :], moved[1]
            ancestor = ancestor.rpartition("/")[0]
        return None
