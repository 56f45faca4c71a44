"""What kind of thing a path, a host or a variable is: one data-driven table for reach and for traces."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from functools import lru_cache
from typing import Any

from conjunct.model import ResourceClass
from conjunct.reach import tables
from conjunct.reach.path_globs import any_of

_LONGEST = 1024
"""Characters of a path that are looked at: no file system resolves more than a few thousand."""

_HOME = re.compile(
    r"^(?:\$\{?HOME\}?|%USERPROFILE%|\$env:USERPROFILE|\$\{env:HOME\}|~[a-z_][a-z0-9_-]*(?=/|$)|"
    r"/home/[^/]+|/root|/Users/[^/]+|/var/root|[a-z]:/users/[^/]+)(?=/|$)",
    re.IGNORECASE,
)
_WINDOWS_DATA = re.compile(r"^(?:%(?:LOCAL)?APPDATA%|\$env:(?:LOCAL)?APPDATA)(?=/|$)", re.IGNORECASE)


def table() -> dict[str, Any]:
    """The data file as read. Treat it as read-only."""
    read: dict[str, Any] = tables.table("resources")
    return read


def normalise_path(path: str, *, home: str | None = None) -> str:
    """`path` with the home folder as `~`, forward slashes, and `.`/`..`/`//` folded.

    `home` is the home folder of the world, where one is known; every `/home/NAME`, `/root`, `/Users/NAME`
    counts as a home folder in any case.
    """
    text = path[:_LONGEST].replace("\\", "/").removeprefix("file://")
    if home and (text == home or text.startswith(home.rstrip("/") + "/")):
        text = "~" + text[len(home.rstrip("/")) :]
    text = _HOME.sub("~", text)
    text = _WINDOWS_DATA.sub("~/appdata", text)
    if not text:
        return ""
    folded = posixpath.normpath(text)
    return "/" + folded.lstrip("/") if folded.startswith("/") else folded


@lru_cache(maxsize=8192)
def classify_path(path: str, *, home: str | None = None) -> ResourceClass:
    """The class of a path as written in a package or seen in a trace.

    Relative paths that match nothing are `WORKSPACE`; `*`, or a path whose start is unknown and whose end
    says nothing, is `UNKNOWN`. The caller knows better for its own folders (package, workspace, other skills)
    and looks there first.
    """
    text = normalise_path(path, home=home)
    if not text:
        return ResourceClass.UNKNOWN
    lowered = text.lower()
    public, rules = _path_rules()
    for name, pattern in rules:
        if pattern.match(lowered):
            if name == ResourceClass.SECRET and public.match(lowered):
                return ResourceClass.OWN_STATE
            return ResourceClass.PRIVATE if name == "private_home" else ResourceClass(name)
    if lowered.startswith("/"):
        return ResourceClass.SYSTEM if "*" not in lowered[:2] else ResourceClass.UNKNOWN
    if lowered.startswith("*"):
        return ResourceClass.UNKNOWN
    if lowered.startswith("../"):
        return ResourceClass.UNKNOWN
    return ResourceClass.WORKSPACE


@lru_cache(maxsize=1)
def named_folders() -> frozenset[str]:
    """What the table names in a home folder, and the folders above it: `~/…` in lower case."""
    found: set[str] = set()
    for patterns in table()["paths"].values():
        for pattern in patterns:
            parts = str(pattern).lower().split("/")
            if parts[0] != "~":
                continue
            for length in range(2, len(parts) + 1):
                if "*" in parts[length - 1]:
                    break
                found.add("/".join(parts[:length]))
    return frozenset(found)


@lru_cache(maxsize=8192)
def classify_host(host: str) -> ResourceClass:
    """`LOOPBACK`, `NETWORK`, or `UNKNOWN` for a name that is not known (`*` or empty). A port is ignored."""
    name = bare_host(host)
    if not name or name == "*":
        return ResourceClass.UNKNOWN
    if _matches_any(name, tuple(table()["loopback_hosts"])):
        return ResourceClass.LOOPBACK
    return ResourceClass.NETWORK


def bare_host(text: str) -> str:
    """The host of `user@host:port`, `[::1]:80`, `https://host/path` or `host`, lower-case."""
    name = text.strip().lower().removeprefix("git+")
    if "://" in name:
        name = name.split("://", 1)[1]
    name = re.split(r"[/?#]", name, maxsplit=1)[0].rsplit("@", 1)[-1]
    if name.startswith("["):
        return name[1:].split("]", 1)[0]
    if name.count(":") == 1:
        name = name.split(":", 1)[0]
    return name.rstrip(".")


@lru_cache(maxsize=8192)
def is_inert_host(host: str) -> bool:
    """Whether a host name is only a namespace or a placeholder that nobody contacts."""
    return _matches_any(bare_host(host), tuple(table()["inert_hosts"]))


@lru_cache(maxsize=8192)
def is_drop_host(host: str) -> bool:
    """Whether anybody may put or collect anything there: paste bins, tunnels, request catchers."""
    return _matches_any(bare_host(host), tuple(table()["drop_hosts"]))


def repository_of(url: str) -> str | None:
    """`owner/name` of a repository on a public forge, or `None` for any other address."""
    if not _matches_any(bare_host(url), tuple(table()["forges"])):
        return None
    rest = url.split("://", 1)[-1]
    path = rest.split("/", 1)[-1] if "/" in rest else rest.rsplit(":", 1)[-1]
    parts = [part for part in path.split("@", 1)[0].split("/") if part]
    return "/".join(parts[:2]).removesuffix(".git") if len(parts) >= 2 else None


@lru_cache(maxsize=8192)
def is_registry(url: str) -> bool:
    """Whether code from `url` comes from an allowed installer's registry or first-party installer."""
    registries = table()["registries"]
    host = bare_host(url)
    if _matches_any(host, tuple(registries["hosts"])):
        return True
    rest = url.strip().split("://", 1)[-1]
    if "@" in rest.split("/", 1)[0]:
        return False
    return any(_begins(rest, prefix) for prefix in registries["installers"])


@lru_cache(maxsize=4096)
def is_secret_variable(name: str) -> bool:
    """Whether an environment variable of that name usually holds a credential."""
    rules = table()["secret_variables"]
    upper = name.upper()
    if any(upper == item or upper.endswith("_" + item) for item in rules["never"]):
        return False
    if upper in rules["names"]:
        return True
    return any(upper == item or upper.endswith("_" + item) for item in rules["endings"])


def host_matches(host: str, patterns: tuple[str, ...]) -> bool:
    """Whether a host is one of `patterns` (globs)."""
    return _matches_any(bare_host(host), patterns)


def _begins(text: str, prefix: str) -> bool:
    """`text` starts with `prefix`, and the prefix's host is not merely the start of a longer host."""
    if not text.startswith(prefix):
        return False
    return "/" in prefix or text[len(prefix) : len(prefix) + 1] in ("", "/", "?", "#", ":")


def _matches_any(name: str, patterns: tuple[str, ...]) -> bool:
    return bool(name) and _host_pattern(patterns).match(name) is not None


@lru_cache(maxsize=256)
def _host_pattern(patterns: tuple[str, ...]) -> re.Pattern[str]:
    if not patterns:
        return re.compile(r"(?!)")
    return re.compile("|".join(f"(?:{fnmatch.translate(item.lower())})" for item in patterns))


@lru_cache(maxsize=1)
def _path_rules() -> tuple[re.Pattern[str], tuple[tuple[str, re.Pattern[str]], ...]]:
    data = table()
    rules = tuple((name, any_of(tuple(globs))) for name, globs in data["paths"].items())
    return any_of(tuple(data["not_secret"])), rules
