"""Plugin and marketplace manifests: which plugin a skill comes with, and what else that brings."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass

from conjunct.skills.digest import path_text
from conjunct.skills.notes import Notes, printable
from conjunct.skills.package import read_regular

_LIMIT = 1 << 20
_HOLDER = b".claude-plugin"


@dataclass(frozen=True, slots=True)
class Plugin:
    """One plugin of a registry."""

    folder: bytes
    """Below the registry; empty for the registry's own folder."""
    name: str
    version: str = ""
    author: str = ""
    repository: str = ""
    hooks: bool = False
    servers: bool = False

    def label(self) -> str:
        """`plugin NAME VERSION (REPOSITORY)`, for `Skill.source`."""
        where = f"({self.repository})" if self.repository else ""
        return " ".join(filter(None, ("plugin", self.name, self.version, where)))


def read_plugins(root: bytes, manifests: Sequence[bytes], notes: Notes) -> tuple[Plugin, ...]:
    """The plugins whose `plugin.json` or `marketplace.json` lie at `manifests` below `root`."""
    found: dict[bytes, Plugin] = {}
    for path in sorted(manifests, key=lambda path: path.endswith(b"marketplace.json")):
        holder, name = os.path.split(path)
        if os.path.basename(holder) != _HOLDER and holder:
            continue
        value = _load(root, path, notes)
        if value is None:
            continue
        folder = os.path.dirname(holder)
        if name == b"plugin.json":
            found[folder] = _plugin(root, folder, value)
        else:
            for plugin in _from_marketplace(root, folder, value):
                found.setdefault(plugin.folder, plugin)
    return tuple(found.values())


def plugin_of(place: bytes, plugins: Sequence[Plugin]) -> Plugin | None:
    """The innermost plugin that contains the skill at `place`."""
    holding = [
        plugin
        for plugin in plugins
        if not plugin.folder or place == plugin.folder or place.startswith(plugin.folder + b"/")
    ]
    return max(holding, key=lambda plugin: len(plugin.folder), default=None)


def _load(root: bytes, path: bytes, notes: Notes) -> dict[str, object] | None:
    data = read_regular(os.path.join(root, path), _LIMIT + 1)
    try:
        if data is None or len(data) > _LIMIT:
            raise ValueError("it cannot be opened or is larger than a megabyte")
        value = json.loads(data.decode("utf-8-sig"))
        if not isinstance(value, dict):
            raise ValueError("it is no object")
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        notes.add("intake.plugin-manifest", f"is not read: {error}", file=path_text(path), line=line)
        return None
    return value


def _plugin(root: bytes, folder: bytes, value: dict[str, object], name: str = "") -> Plugin:
    author = value.get("author")
    base = os.path.join(root, folder)
    return Plugin(
        folder=folder,
        name=printable(_text(value.get("name")) or name or path_text(os.path.basename(folder)), 128),
        version=printable(_text(value.get("version")), 64),
        author=printable(_text(author.get("name") if isinstance(author, dict) else author), 128),
        repository=printable(_text(value.get("repository")) or _text(value.get("homepage")), 256),
        hooks="hooks" in value or os.path.isfile(os.path.join(base, b"hooks", b"hooks.json")),
        servers="mcpServers" in value or os.path.isfile(os.path.join(base, b".mcp.json")),
    )


def _from_marketplace(root: bytes, folder: bytes, value: dict[str, object]) -> list[Plugin]:
    listed = value.get("plugins")
    made: list[Plugin] = []
    for item in listed if isinstance(listed, list) else []:
        source = item.get("source") if isinstance(item, dict) else None
        if not isinstance(source, str) or not source.startswith("."):
            continue  # a plugin that lies elsewhere
        below = os.path.normpath(os.path.join(folder, source.encode("utf-8", "replace")))
        if below.startswith((b"..", b"/")):
            continue
        made.append(_plugin(root, b"" if below == b"." else below, item))
    return made


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
