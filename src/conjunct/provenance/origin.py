"""Where a package says, and shows, that it comes from. Files are read as text; git is never run."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from conjunct.model import Skill
from conjunct.provenance.foreign_lock import ForeignPin

_MOST_BYTES = 1 << 16
_MOST_PARENTS = 40
_MOST_REFS = 1 << 20
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SECTION = re.compile(r"\s*\[\s*([A-Za-z0-9.-]{1,64})(?:\s+\"([^\"\\]{0,256})\")?\s*\]")
_VALUE = re.compile(r"\s*url\s*=\s*(\S{1,2048})\s*", re.IGNORECASE)
_SCP_LIKE = re.compile(r"(?:[^@/\s]{1,64}@)?([A-Za-z0-9.-]{1,253}):(?!/)(\S{1,1024})")
_CLAIMS = ("author", "metadata.author", "publisher", "metadata.publisher")
_REPOSITORIES = ("repository", "metadata.repository", "homepage", "metadata.homepage", "source")
_VERSIONS = ("version", "metadata.version")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where one package comes from, as far as it can be told without network."""

    source: str
    """`github.com/owner/name`, `plugin …`, `archive …`, or the folder it lies in."""
    publisher: str = ""
    """`github.com/owner`, or the name that the package gives its author."""
    basis: str = ""
    """What it rests on: `lock of another tool`, `git remote`, `plugin manifest`, `front matter`; no proof."""
    commit: str = ""
    """Checked-out commit of the repository that it lies in."""
    version: str = ""
    claimed_repository: str = ""
    """The repository that the front matter names."""
    path: str = ""

    def facts(self) -> dict[str, str]:
        """As facts of a ledger entry; empty ones left out."""
        given = {
            "source": self.source,
            "publisher": self.publisher,
            "basis": self.basis,
            "commit": self.commit,
            "version": self.version,
            "claimed_repository": self.claimed_repository,
            "path": self.path,
        }
        return {name: value for name, value in given.items() if value}


def origin_of(skill: Skill, locked: ForeignPin | None = None) -> Origin:
    """The origin of one skill, from the first that tells it: what an installer recorded of it (`locked`), the
    git folder it lies in, its plugin manifest, its front matter.
    """
    said = dict(skill.declaration.metadata)
    claimed = _first(said, _REPOSITORIES)
    author, version = _first(said, _CLAIMS), _first(said, _VERSIONS)
    from_archive = skill.source.startswith("archive ")
    remote, commit = ("", "") if from_archive else git_origin(Path(skill.path))
    claimed_place = plain_repository(claimed) if claimed else ""
    if locked is not None and locked.source and not from_archive:
        source, basis, commit = _locked_source(locked), "lock of another tool", locked.ref
        publisher = "/".join(source.split("/")[:2]) if source.count("/") >= 2 else ""
    elif remote:
        owner = "/".join(remote.split("/")[:2]) if remote.count("/") >= 2 else remote
        source, publisher, basis = remote, owner, "git remote"
    elif skill.source:
        named = re.search(r"\(([^()\s]{1,300})\)$", skill.source)
        place = plain_repository(named.group(1)) if named else ""
        publisher = "/".join(place.split("/")[:2]) if place.count("/") >= 2 else ""
        source, basis = skill.source, "plugin manifest" if publisher else ""
    else:
        source, publisher, basis = "folder", "", ""
    if not publisher and author:
        publisher, basis = author, "front matter"
    return Origin(source, publisher, basis, commit, version, claimed_place, skill.path)


def _locked_source(pin: ForeignPin) -> str:
    """Installers write `owner/name` for the host that they name as the type."""
    place = plain_repository(pin.source)
    short = pin.source_type.lower() in {"github", "gitlab"} and re.fullmatch(r"[\w.-]+/[\w.-]+", place)
    return f"{pin.source_type.lower()}.com/{place}" if short else place


def plain_repository(address: str) -> str:
    """A repository address as `host/owner/name`: no scheme, no credentials, no `.git`; any other text as is.

    Credentials that an address carries are dropped, so that none of them reaches a report or the ledger.
    """
    text = address.strip().removeprefix("git+")
    try:
        parts = urlsplit(text)
        scheme, host, path = parts.scheme, parts.hostname or "", parts.path
    except ValueError:
        scheme, host, path = "", "", ""
    if scheme == "file":
        return f"file:{path}"
    if not host:
        scp = _SCP_LIKE.fullmatch(text)
        if scp is None:
            return text
        host, path = scp.group(1), scp.group(2)
    return f"{host.lower()}/{path.strip('/').removesuffix('.git')}".rstrip("/")


def git_origin(folder: Path) -> tuple[str, str]:
    """(remote, commit) of the innermost repository that `folder` lies in; empty where there is none.

    Reads `.git/config`, `.git/HEAD` and refs as text, at most a few of them, and follows nothing else.
    """
    place = Path.cwd() / folder
    for parent in (place, *place.parents)[:_MOST_PARENTS]:
        found = _git_folder(parent / ".git")
        if found is not None:
            git, shared = found
            return _remote(_read(shared / "config")), _commit(git, shared)
    return "", ""


def _git_folder(path: Path) -> tuple[Path, Path] | None:
    """(git folder, folder it shares with other work trees); a `.git` file leads to a `.git` folder only."""
    if path.is_symlink():
        return None
    if path.is_dir():
        return path, path
    text = _read(path) if path.is_file() else ""
    if not text.startswith("gitdir:"):
        return None
    target = Path(os.path.normpath(path.parent / text[7:].strip()))
    # A package may bring such a file: it must not lead to any other file of this machine.
    if ".git" not in target.parts or not (target / "HEAD").is_file():
        return None
    shared = _read(target / "commondir").strip()
    common = Path(os.path.normpath(target / shared)) if shared else target
    return target, common if common.name == ".git" or common == target else target


def _remote(config: str) -> str:
    """The address of `origin`, or of the first remote."""
    found: dict[str, str] = {}
    remote = None
    for line in config.splitlines()[:4000]:
        section = _SECTION.match(line)
        if section:
            remote = section.group(2) if section.group(1).lower() == "remote" else None
        elif remote is not None:
            value = _VALUE.fullmatch(line)
            if value:
                found.setdefault(remote, value.group(1))
    chosen = found.get("origin") or next(iter(found.values()), "")
    return plain_repository(chosen) if chosen else ""


def _commit(git: Path, shared: Path) -> str:
    head = _read(git / "HEAD").strip()
    if not head.startswith("ref:"):
        return head if _COMMIT.fullmatch(head) else ""
    ref = head[4:].strip()
    if not ref.startswith("refs/") or ".." in ref.split("/"):
        return ""
    for place in (git, shared):
        value = _read(place / ref).strip()
        if _COMMIT.fullmatch(value):
            return value
    for line in _read(shared / "packed-refs", _MOST_REFS).splitlines():
        commit, _, name = line.partition(" ")
        if name == ref and _COMMIT.fullmatch(commit):
            return commit
    return ""


def _read(path: Path, most: int = _MOST_BYTES) -> str:
    """The beginning of a regular file as text; empty where it is none. A pipe is never waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        with os.fdopen(descriptor, "rb") as stream:
            regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
            return stream.read(most).decode("utf-8", "replace") if regular else ""
    except OSError:
        return ""


def _first(values: dict[str, str], names: tuple[str, ...]) -> str:
    lowered = {name.lower(): value for name, value in values.items()}
    found = (" ".join(lowered[name].split()) for name in names if lowered.get(name, "").strip())
    return next((value[:256] for value in found), "")
