"""What earlier commands of the same text fetched: running it is running foreign code."""

from __future__ import annotations

from dataclasses import dataclass, field

from conjunct.reach.found import UNKNOWN


@dataclass(slots=True)
class Downloads:
    """Files and folders that earlier commands of the same text fetched: running them is remote code."""

    origin: dict[str, str] = field(default_factory=dict)
    folder: str = ""
    """Folder a `cd` went into, where it was fetched."""

    def remember(self, name: str, url: str) -> None:
        """`name` now holds what came from `url`."""
        if name and name not in (UNKNOWN, "-", "/dev/null") and len(self.origin) < 200:
            self.origin[plain_path(name)] = url

    def source_of(self, path: str) -> str | None:
        """The URL that `path` came from, or `None`."""
        name = plain_path(path)
        if name in self.origin:
            return self.origin[name]
        first = name.split("/", 1)[0]
        if "/" in name and first in self.origin:
            return self.origin[first]
        return None

    def here(self) -> str | None:
        """The URL the current folder was fetched from, or `None`."""
        return self.origin.get(self.folder) if self.folder else None


def plain_path(path: str) -> str:
    """A path without `./` and a closing slash."""
    return path.removeprefix("./").rstrip("/")
