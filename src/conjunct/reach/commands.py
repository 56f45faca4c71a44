"""What one command line does, from its folded words: the table of programs applied to an argv."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise
from typing import Any

from conjunct.model import ActionKind, ResourceClass
from conjunct.reach import resources, tables
from conjunct.reach.downloads import Downloads, plain_path
from conjunct.reach.found import UNKNOWN, Place, Sightings

URL = re.compile(r"(?:https?|ftp|git|ssh|wss?)://[^\s'\"<>|;)`\\]+", re.IGNORECASE)
_PLAIN_HOST = re.compile(
    r"(?:[\w.-]+@)?((?:[a-z0-9-]+\.)+[a-z]{2,}|\d{1,3}(?:\.\d{1,3}){3})(?::|$)", re.IGNORECASE
)
_UPLOAD = frozenset(
    {"-d", "-F", "-T", "--data", "--form", "--upload-file", "--json", "--post-data", "--post-file",
     "--body-data", "--body-file", "-InFile", "-Body"}
)  # fmt: skip
_RUNNER_OPTIONS = (
    "--with",
    "--python",
    "-p",
    "--extra",
    "--group",
    "--project",
    "--directory",
    "--env-file",
    "--from",
)
_RUN_ONE = ("npx", "uvx", "bunx", "pnpx")
"""Runners whose first operand is a package and the others its arguments."""

_METHODS = {"POST", "PUT", "PATCH"}
_FETCHED_CODE = re.compile(
    r"\.(?:sh|bash|py|js|mjs|ps1|rb|pl|exe|msi|pkg|dmg|run|bin|AppImage|jar)$", re.IGNORECASE
)


def programs() -> dict[str, Any]:
    """The table of programs. Treat it as read-only."""
    read: dict[str, Any] = tables.table("programs")
    return read


def program_name(word: str) -> str:
    """The name of a program without folder, version suffix and `.exe`, lower-case."""
    name = posixpath.basename(word.replace("\\", "/")).lower().removesuffix(".exe")
    return re.sub(r"^(python|pip|node|ruby|php|pypy)\d+(?:\.\d+)*$", r"\1", name) or name


def unwrap(argv: Sequence[str]) -> list[str]:
    """The command behind `sudo`, `env A=1`, `timeout 5`, `xargs` and the like."""
    words = list(argv)
    wrappers, valued = programs()["wrappers"], programs()["wrapper_options"]
    for _ in range(6):
        while words and re.match(r"^\w+=", words[0]):
            words = words[1:]
        words = _behind_runner(words)
        if not words or program_name(words[0]) not in wrappers:
            break
        name, rest = program_name(words[0]), words[1:]
        skip = wrappers[name]
        while rest and (rest[0].startswith("-") or re.match(r"^\w+=", rest[0]) or skip > 0):
            if rest[0] in valued.get(name, ()):
                rest = rest[1:]
            elif not rest[0].startswith("-") and "=" not in rest[0]:
                skip -= 1
            rest = rest[1:]
        if not rest:
            break
        words = rest
    return words


def _behind_runner(words: list[str]) -> list[str]:
    """The command that `uv run`, `poetry run` and the like start in an environment of theirs."""
    if len(words) < 3 or program_name(words[0]) not in ("uv", "poetry", "pipenv", "pdm", "hatch", "rye"):
        return words
    if words[1] != "run":
        return words
    rest = words[2:]
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in _RUNNER_OPTIONS else rest[1:]
    return rest or words


def fetched_url(argv: Sequence[str]) -> str | None:
    """The URL that a download command fetches (`*` if it is not known), or `None` if it is no download."""
    words = unwrap(argv)
    if not words or program_name(words[0]) not in programs()["fetch"]:
        return None
    for word in words[1:]:
        found = URL.search(word)
        if found:
            return found.group(0)
    for word in words[1:]:
        if not word.startswith("-") and _PLAIN_HOST.match(word.split("/", 1)[0]):
            return word
    return UNKNOWN


def list_command(argv: Sequence[str], place: Place, seen: Sightings, downloads: Downloads) -> None:
    """Record what one command does. Code strings (`bash -c`, `python -c`) are the caller's to parse."""
    for option, value in pairwise(argv):
        if option in ("--with", "--from") and program_name(argv[0]) in ("uv", "uvx"):
            _install("uv", [value], [value], place, seen, downloads)
    words = unwrap(argv)
    if not words:
        return
    name, rest = program_name(words[0]), words[1:]
    if URL.match(words[0]):
        return  # an address on a line of its own is shown, not run
    if name == "cd":
        _change_folder(rest, downloads)
        return
    operands = [word for word in rest if not word.startswith("-")]
    seen.add(place, ActionKind.EXEC, name if name != UNKNOWN else UNKNOWN, ResourceClass.PROCESS)
    if _service(name, rest, place, seen):
        return
    table = programs()
    if name in table["installers"] and _installs(name, rest):
        _install(name, rest, operands, place, seen, downloads)
    elif name in table["fetch"]:
        _fetch(name, words, place, seen, downloads)
    elif name == "git":
        _git(rest, operands, place, seen, downloads)
    elif name in table["deletes"]:
        for target in operands:
            seen.path(place, ActionKind.DELETE, target)
    elif name in table["copies"]:
        _copy(operands, place, seen, downloads)
    elif name in table["writes"]:
        _write(name, operands, place, seen)
    elif name in table["sends"] or name in table["connects"]:
        _send(name, operands, place, seen)
    elif name in ("env", "printenv", "export", "set") and not rest:
        seen.add(place, ActionKind.READ, "env:*", ResourceClass.SECRET, 0.5)
    elif name in table["reads"]:
        _read(name, rest, operands, place, seen)
    elif name in table["interpreters"] or "/" in words[0] or name in ("make", "source"):
        _run_file(name, words[0], rest, operands, place, seen, downloads)
    if name in ("source", "."):
        _run_file(name, words[0], rest, operands, place, seen, downloads)


def remote_code(url: str, place: Place, seen: Sightings, sure: float = 1.0) -> None:
    """Record that code from `url` is run: an install if it is an allowed installer's, else remote code."""
    if resources.is_registry(url):
        seen.add(place, ActionKind.INSTALL, url, ResourceClass.NETWORK, sure)
    elif resources.classify_host(url) is ResourceClass.LOOPBACK:
        seen.add(place, ActionKind.CONNECT, url, ResourceClass.LOOPBACK, sure)
    else:
        seen.add(place, ActionKind.REMOTE_CODE, url, ResourceClass.NETWORK, sure)


def _change_folder(rest: Sequence[str], downloads: Downloads) -> None:
    target = plain_path(rest[0]) if rest else ""
    inside = downloads.folder and not target.startswith(("..", "~", "/", "-"))
    if target in downloads.origin:
        downloads.folder = target
    elif not inside:
        downloads.folder = ""


def _service(name: str, rest: Sequence[str], place: Place, seen: Sightings) -> bool:
    words = [name, *rest]
    for row in _services().get(name, ()):
        wanted = row["words"]
        if len(words) < len(wanted):
            continue
        if not all(map(fnmatchcase, words, wanted)):
            continue
        kind, target = ActionKind(row["kind"]), row["resource"]
        if kind in (ActionKind.CONNECT, ActionKind.SEND):
            seen.add(place, kind, target, ResourceClass.NETWORK)
        elif kind in (ActionKind.INSTALL, ActionKind.SIGNAL):
            seen.add(place, kind, target, ResourceClass.UNKNOWN)
        else:
            seen.path(place, kind, target)
        return True
    return False


@lru_cache(maxsize=1)
def _services() -> dict[str, list[dict[str, Any]]]:
    """The rows of services by their program."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in programs()["services"]:
        found.setdefault(row["words"][0], []).append(row)
    return found


def _installs(name: str, rest: Sequence[str]) -> bool:
    verbs = programs()["installers"][name]
    return bool(rest) and (not verbs or any(word in verbs for word in rest[:3]))


def _install(
    name: str,
    rest: Sequence[str],
    operands: Sequence[str],
    place: Place,
    seen: Sightings,
    downloads: Downloads,
) -> None:
    """Package managers: reach of unknown extent; from a URL, a repository, a foreign index: remote code."""
    packages = operands[:1] if name in _RUN_ONE else [] if name == "helm" else rest
    foreign = [url for word in packages if (url := _foreign_package(word)) is not None]
    for index, word in enumerate(rest):
        flag, _, value = word.partition("=")
        if flag in ("-i", "--index-url", "--extra-index-url", "--registry", "--find-links", "-f"):
            url = value or (rest[index + 1] if index + 1 < len(rest) else UNKNOWN)
            if URL.match(url) and not resources.is_registry(url):
                foreign.append(url)
    for word in operands:
        if word.startswith((".", "/")) and (url := downloads.source_of(word) or downloads.here()):
            foreign.append(url)
    for url in foreign:
        remote_code(url, place, seen)
    if not foreign:
        verbs = programs()["installers"][name]
        what = [word for word in operands if word not in verbs][:4]
        seen.add(place, ActionKind.INSTALL, " ".join([name, *what]), ResourceClass.NETWORK)


def _foreign_package(word: str) -> str | None:
    """The origin of a package argument that is not a name in the registry."""
    text = word.split("@ ", 1)[-1].removeprefix("git+")
    if re.match(r"^[\w.-]+(?:\[[\w,-]*\])?@(?:git\+)?https?://", text):
        text = text.split("@", 1)[1].removeprefix("git+")
    found = URL.match(text)
    if found:
        url = found.group(0)
        if resources.is_registry(url):
            return None
        return from_repository(url) if "git+" in word or resources.repository_of(url) else url
    if text.startswith(("github:", "gitlab:", "bitbucket:")):
        service, _, rest = text.partition(":")
        return from_repository(f"https://{service}.com/{rest}")
    return None


def from_repository(url: str) -> str:
    """A repository as origin of code, written as package managers do: `git+https://…`."""
    return url if url == UNKNOWN or url.startswith("git+") else f"git+{url}"


def _fetch(name: str, words: Sequence[str], place: Place, seen: Sightings, downloads: Downloads) -> None:
    url = fetched_url(words) or UNKNOWN
    sends = False
    target = ""
    for index, word in enumerate(words[1:], start=1):
        following = words[index + 1] if index + 1 < len(words) else ""
        flag, _, value = word.partition("=")
        if (
            flag in _UPLOAD
            or flag.startswith("--data")
            or (len(word) > 2 and word[:2] in ("-d", "-F") and name == "curl")
        ):
            sends = True
            payload = value or following
            if payload.startswith("@") or "=@" in payload:
                seen.path(place, ActionKind.READ, payload.split("@", 1)[1].split(";", 1)[0])
            elif flag in ("-T", "--upload-file", "--post-file", "--body-file"):
                seen.path(place, ActionKind.READ, payload)
        elif flag in ("-X", "--request", "--method") and (value or following).upper() in _METHODS:
            sends = True
        elif flag in ("-o", "--output", "-O", "--output-document", "-OutFile", "-outfile") and (
            value or following
        ):
            target = value or following
        elif word.upper() in _METHODS and name in ("http", "https", "xh"):
            sends = True
    seen.network(place, ActionKind.SEND if sends else ActionKind.CONNECT, url)
    if not target or URL.match(target):
        target = (
            posixpath.basename(url.split("?", 1)[0])
            if name != "curl" or "-O" in words or "-LO" in words
            else ""
        )
    if target and target != "-":
        downloads.remember(target, url)
        if target not in ("/dev/null",):
            seen.path(place, ActionKind.WRITE, target)


def _git(
    rest: Sequence[str], operands: Sequence[str], place: Place, seen: Sightings, downloads: Downloads
) -> None:
    if operands[:1] in (["clone"], ["submodule"]) or "clone" in operands[:3]:
        url = next(
            (word for word in operands if URL.match(word) or re.match(r"^[\w.-]+@[\w.-]+:", word)), UNKNOWN
        )
        seen.network(place, ActionKind.CONNECT, url)
        last = operands[-1]
        folder = posixpath.basename(url).removesuffix(".git") if last == url or last == "clone" else last
        downloads.remember(folder, from_repository(url))


def _copy(operands: Sequence[str], place: Place, seen: Sightings, downloads: Downloads) -> None:
    if len(operands) < 2:
        return
    for source in operands[:-1]:
        seen.path(place, ActionKind.READ, source)
        origin = downloads.source_of(source)
        if origin:
            downloads.remember(posixpath.join(operands[-1], posixpath.basename(source)), origin)
            downloads.remember(operands[-1], origin)
    target = operands[-1]
    if re.match(r"^(?:[\w.-]+@)?[\w.-]+:", target) and not re.match(r"^[A-Za-z]:[\\/]", target):
        seen.network(place, ActionKind.SEND, target.split(":", 1)[0])
    else:
        seen.path(place, ActionKind.WRITE, target)


def _write(name: str, operands: Sequence[str], place: Place, seen: Sightings) -> None:
    targets = operands[1:] if name in ("chmod", "chown") else operands
    for target in targets:
        seen.path(place, ActionKind.WRITE, target)


def _read(name: str, rest: Sequence[str], operands: Sequence[str], place: Place, seen: Sightings) -> None:
    paths = operands[1:] if name in ("grep", "egrep", "fgrep", "rg", "awk", "gawk", "jq", "yq") else operands
    for target in paths[:12]:
        seen.path(place, ActionKind.READ, target)
    if name == "find" and ("-delete" in rest or "rm" in rest):
        seen.path(place, ActionKind.DELETE, operands[0] if operands else ".")


def _send(name: str, operands: Sequence[str], place: Place, seen: Sightings) -> None:
    kind = ActionKind.SEND if name in programs()["sends"] else ActionKind.CONNECT
    host = UNKNOWN
    for word in sorted(operands, key=lambda word: ":" not in word and "@" not in word):
        found = URL.search(word) or _PLAIN_HOST.match(word)
        if found:
            host = found.group(0).rstrip(":")
            break
        if resources.classify_host(word) is ResourceClass.LOOPBACK:
            host = word
            break
    seen.network(place, kind, host)
    if name in ("scp", "sftp"):
        for word in operands:
            if ":" not in word:
                seen.path(place, ActionKind.READ, word)


def _run_file(
    name: str,
    word: str,
    rest: Sequence[str],
    operands: Sequence[str],
    place: Place,
    seen: Sightings,
    downloads: Downloads,
) -> None:
    """A script or program that is run: remote code where an earlier command fetched it."""
    if any(flag in rest for flag in ("-c", "-e", "--eval", "-m")):
        return
    candidates = [word] if "/" in word else operands[:1]
    for path in candidates:
        url = URL.search(path)
        origin = url.group(0) if url else downloads.source_of(path)
        origin = origin or (downloads.here() if path.startswith(".") or "/" not in path else None)
        if origin:
            remote_code(origin, place, seen, 0.9)
        else:
            seen.path(place, ActionKind.EXEC, path)
    if name == "make" and (origin := downloads.here()):
        remote_code(origin, place, seen, 0.8)
