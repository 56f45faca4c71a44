"""What the paths and addresses of a trace mean: noise, carrier, code, and whose it is."""

from __future__ import annotations

import fnmatch
import ipaddress
import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any

import yaml

from conjunct.model import ResourceClass
from conjunct.reach.resources import classify_path as classify_written_path
from conjunct.reach.resources import named_folders
from conjunct.world.spec import Layout

_CODE_NAME_LIMIT = 255


@dataclass(frozen=True, slots=True)
class PathMeaning:
    """What touching a path says about the world."""

    path: str
    """Normalised: `/proc/<own pid>` is `/proc/self`; a pseudo-carrier where the path stands for one."""
    noise: bool
    """Read-only system, equal in all worlds: neither touch nor action."""
    everything: bool
    """Depends on everything in the world at once."""


def absolute(path: str, folder: str) -> str:
    """`path` seen from `folder`, with `.`, `..` and `//` folded as text (links are not followed)."""
    joined = path if path.startswith("/") else f"{folder}/{path}"
    if "//" in joined or "/." in joined or (joined.endswith("/") and len(joined) > 1):
        return "/" + posixpath.normpath(joined).lstrip("/")
    return joined


@lru_cache(maxsize=8192)
def meaning(path: str) -> PathMeaning:
    """What touching an absolute path says. `/proc/<own pid>` must already be written as `/proc/self`."""
    exact, prefixes, everything, pseudo = _path_table()
    if path in pseudo:
        return PathMeaning(pseudo[path], False, False)
    if path.startswith("/proc") and everything.match(path):
        return PathMeaning(path, False, True)
    return PathMeaning(path, path in exact or path.startswith(prefixes), False)


def package_of(path: str, layout: Layout) -> tuple[str, str] | None:
    """(folder name of the installed skill, path inside it) for a path in the skills folder, else `None`."""
    prefix = layout.skills + "/"
    if not path.startswith(prefix):
        return None
    folder, _, inner = path[len(prefix) :].partition("/")
    return (folder, inner) if folder else None


def classify_path(
    path: str, layout: Layout, *, own: frozenset[str] = frozenset(), packages: Mapping[str, str] | None = None
) -> ResourceClass:
    """The class of an absolute path in a trace.

    `own` holds the ids of the skills whose code acts. A package is `OWN_PACKAGE` only where it is the only
    one of them: code of several skills in one process may not write to the package of each.
    `packages` maps folder names below the skills folder to skill ids; a missing one is its own id.
    """
    package = package_of(path, layout)
    if package is not None:
        owner = (packages or {}).get(package[0], package[0])
        return ResourceClass.OWN_PACKAGE if own == {owner} else ResourceClass.OTHER_SKILL
    if path == layout.skills:
        return ResourceClass.OTHER_SKILL
    if len(own) == 1 and path.startswith(layout.home):
        (skill,) = own
        if _own_state(layout.home, skill.split("~", 1)[0]).match(path):
            return ResourceClass.OWN_STATE
    return _class_by_place(path, layout)


@lru_cache(maxsize=4096)
def _class_by_place(path: str, layout: Layout) -> ResourceClass:
    if path.startswith(("memfd:", "sysv:", "mqueue:", "@")):
        return ResourceClass.TEMPORARY
    if _inactive().match(path):
        return _class_by_place(path.partition("/.git/")[0] + "/config", layout)
    workspace = layout.workspace
    if path == workspace:
        return ResourceClass.WORKSPACE
    if path.startswith(workspace + "/"):
        # A relative path is judged by name alone: `.env` or `.git/hooks/…` is sensitive in a workspace too.
        return classify_written_path(path[len(workspace) + 1 :])
    return classify_written_path(path, home=layout.home)


def classify_address(destination: str) -> ResourceClass:
    """`LOOPBACK` or `NETWORK` for `address:port`; `UNKNOWN` for what is no address."""
    host = destination.rpartition(":")[0].strip("[]").split("%", 1)[0]
    try:
        parsed = ipaddress.ip_address(host)
    except ValueError:
        return ResourceClass.UNKNOWN
    mapped = getattr(parsed, "ipv4_mapped", None)
    actual = mapped or parsed
    return ResourceClass.LOOPBACK if actual.is_loopback or actual.is_unspecified else ResourceClass.NETWORK


def may_be_random(path: str) -> bool:
    """Whether the last element of a path may be a name that a program made up."""
    folders, names = _random_names()
    return path.startswith(folders) or names.fullmatch(posixpath.basename(path)) is not None


@lru_cache(maxsize=4096)
def is_routine_look(path: str, home: str) -> bool:
    """Whether interpreters and common programs look at `path` at every start, whatever they run.

    Such a look is true and stays a touch; it only says little about what the program wants to know.
    """
    inside = f"~{path[len(home) :]}" if path.startswith(home + "/") else path
    return _routine().match(inside) is not None


@lru_cache(maxsize=4096)
def is_code(program: str, path: str) -> bool:
    """Whether `path` is code to `program` by the names of both."""
    name = posixpath.basename(path)[-_CODE_NAME_LIMIT:]
    any_program, interpreters = _code_table()
    if any_program.match(name):
        return True
    files = _files_of(posixpath.basename(program))
    return files is not None and (files.match(name) is not None or ("." not in name and bool(interpreters)))


@lru_cache(maxsize=4096)
def is_interpreter(program: str) -> bool:
    """Whether a program runs code that it reads from files."""
    return _files_of(posixpath.basename(program)) is not None


@lru_cache(maxsize=4096)
def _files_of(name: str) -> re.Pattern[str] | None:
    for programs, files in _code_table()[1]:
        if programs.match(name):
            return files
    return None


@lru_cache(maxsize=256)
def _own_state(home: str, skill: str) -> re.Pattern[str]:
    """Places named after a skill, without those that mean something whatever is installed: a skill that is
    called `aws`, `bashrc` or `config` does not thereby own what every user has there.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", skill):
        return re.compile(r"(?!)")
    known = named_folders()
    places = [item.replace("{skill}", skill) for item in _table()["own_state"]]
    return _union(
        place.replace("~", home, 1) for place in places if place.removesuffix("/**").lower() not in known
    )


@cache
def _table() -> dict[str, Any]:
    text = resources.files("conjunct.world").joinpath("data/resources.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


@cache
def _path_table() -> tuple[frozenset[str], tuple[str, ...], re.Pattern[str], dict[str, str]]:
    table = _table()
    exact = frozenset(item for item in table["system"] if item == "/" or not item.endswith("/"))
    prefixes = tuple(item for item in table["system"] if item != "/" and item.endswith("/"))
    folders = frozenset(item.rstrip("/") for item in prefixes)
    pseudo: dict[str, str] = dict(table["pseudo"])
    return exact | folders, prefixes, _union(table["everything"]), pseudo


@cache
def _routine() -> re.Pattern[str]:
    return _union(_table()["routine"])


@cache
def _inactive() -> re.Pattern[str]:
    return _union(_table()["inactive"])


@cache
def _random_names() -> tuple[tuple[str, ...], re.Pattern[str]]:
    rows = _table()["random_names"]
    names = re.compile("|".join(f"(?:{item})" for item in rows["names"]), re.DOTALL)
    return tuple(f"{folder}/" for folder in rows["folders"]), names


@cache
def _code_table() -> tuple[re.Pattern[str], tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]]:
    code = _table()["code"]
    rows = tuple((_names(row["programs"]), _names(row["files"])) for row in code["interpreters"])
    return _names(code["any"]), rows


def _names(globs: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(item) for item in globs))


def _union(globs: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(_translate(item).pattern for item in globs))


@lru_cache(maxsize=1024)
def _translate(glob: str) -> re.Pattern[str]:
    body = re.escape(glob).replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    return re.compile(body.replace(r"\[0\-9\]", "[0-9]") + r"\Z", re.DOTALL)
