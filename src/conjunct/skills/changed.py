"""Which skills of a registry differ from a git revision, for `vet --changed REF`.

Git is only asked what a revision contains; what lies on disk is hashed here. So no filter, diff driver,
monitor or hook that a repository configures is ever run, and files that git ignores count like any others:
they are part of the package that would be admitted.
"""

from __future__ import annotations

import bisect
import hashlib
import os
import stat
import subprocess
import tempfile
from pathlib import Path

from conjunct.errors import UsageError
from conjunct.model import Registry
from conjunct.skills.bounds import DEFAULT_BOUNDS, Bounds
from conjunct.skills.digest import path_text
from conjunct.skills.discover import Found, discover
from conjunct.skills.notes import Notes, printable
from conjunct.skills.package import open_regular, package_members
from conjunct.skills.reader import read_registry

_SAFE_FLAGS = (
    "--no-pager",
    "--no-replace-objects",
    "--literal-pathspecs",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.sshCommand=false",
    "-c", "protocol.allow=never",
)  # fmt: skip
_SECONDS = 120
_CHUNK = 1 << 20

_Tree = dict[bytes, tuple[bytes, str]]
"""Path from the top of the repository to (mode, object id)."""


def changed_skills(
    registry_dir: Path, ref: str, *, registry: Registry | None = None, bounds: Bounds = DEFAULT_BOUNDS
) -> tuple[str, ...]:
    """Ids of the skills in `registry_dir` that are new or differ from what `ref` holds, in registry order.

    `registry` is what `read_registry(registry_dir)` gave, if it has been read already. `ref` is a git
    revision; `REF...` means the point where the present branch left REF. Compared are the files on disk, so
    changes that are not committed count. Raises `UsageError` where the folder is in no git repository, the
    revision does not exist, or git cannot be run.
    """
    folders = changed_folders(registry_dir, ref, bounds=bounds)
    if registry is None:
        with tempfile.TemporaryDirectory(prefix="conjunct-changed-") as scratch:
            registry = read_registry(registry_dir, staging=Path(scratch), bounds=bounds)
    base = str(registry_dir)
    paths = {printable(os.path.join(base, path_text(folder)) if folder else base) for folder in folders}
    return tuple(skill.id for skill in registry.skills if skill.path in paths)


def changed_folders(registry_dir: Path, ref: str, *, bounds: Bounds = DEFAULT_BOUNDS) -> tuple[bytes, ...]:
    """Paths below `registry_dir` of the skill folders that differ from `ref`; empty for the folder itself."""
    root = os.path.realpath(os.fsencode(registry_dir))
    if not os.path.isdir(root):
        raise UsageError(f"{printable(str(registry_dir))} is no folder; --changed needs a registry in git")
    top = os.path.realpath(_git(root, "rev-parse", "--show-toplevel").rstrip(b"\n"))
    commit = _commit(root, ref)
    tree = _tree(top, commit)
    ordered = sorted(tree)
    algorithm = _git(root, "rev-parse", "--show-object-format").strip().decode() or "sha1"
    found = discover(root, Notes(), bounds)
    return tuple(
        place.shown for place in found.skills if _differs(place, top, tree, ordered, algorithm, bounds)
    )


def _git(folder: bytes, *arguments: str) -> bytes:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"}
    }
    environment |= {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "LC_ALL": "C",
    }
    try:
        done = subprocess.run(
            ["git", *_SAFE_FLAGS, *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise UsageError("git is not installed; --changed needs it (Debian: apt install git)") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"git {arguments[0]} took more than {_SECONDS} seconds in {folder!r}") from None
    if done.returncode:
        told = printable(done.stderr.decode("utf-8", "replace").strip(), 300)
        raise UsageError(
            f"git {arguments[0]} failed in {printable(path_text(folder))}: {told or 'no message'}"
        )
    return done.stdout


def _commit(root: bytes, ref: str) -> str:
    name = ref.removesuffix("...")
    if not name or name.startswith("-") or any(character <= " " for character in name):
        raise UsageError(
            f"{printable(ref)!r} is no git revision; name a branch, tag or commit, like origin/main"
        )
    try:
        commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except UsageError as error:
        raise UsageError(
            f"{printable(ref)!r} names no commit here ({error}); "
            "in CI fetch it first, a shallow clone has one commit only"
        ) from error
    if ref.endswith("..."):
        commit = _git(root, "merge-base", commit.decode().strip(), "HEAD")
    return commit.decode().strip()


def _tree(top: bytes, commit: str) -> _Tree:
    tree: _Tree = {}
    for record in _git(top, "ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
        if record:
            facts, _, path = record.partition(b"\t")
            mode, _, identity = facts.split(b" ")
            tree[path] = (mode, identity.decode())
    return tree


def _differs(
    place: Found, top: bytes, tree: _Tree, ordered: list[bytes], algorithm: str, bounds: Bounds
) -> bool:
    folder = os.path.realpath(place.folder)
    if folder != top and not folder.startswith(top + b"/"):
        return True  # a linked skill outside the repository: git cannot say what it was
    prefix = b"" if folder == top else os.path.relpath(folder, top) + b"/"
    first = bisect.bisect_left(ordered, prefix)
    then: set[bytes] = set()
    for path in ordered[first:]:
        if not path.startswith(prefix):
            break
        then.add(path)
    notes = Notes()
    now: set[bytes] = set()
    for member in package_members(folder, notes, bounds):
        path = prefix + member.path
        if path not in tree or _state(folder, member.path, member.status, algorithm) != tree[path]:
            return True
        now.add(path)
    return now != then


def _state(folder: bytes, path: bytes, status: os.stat_result, algorithm: str) -> tuple[bytes, str]:
    """Mode and object id that git would give a file as it lies on disk."""
    full = os.path.join(folder, path)
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(full)
        return b"120000", hashlib.new(algorithm, b"blob %d\0" % len(target) + target).hexdigest()
    mode = b"100755" if status.st_mode & stat.S_IXUSR else b"100644"
    descriptor = open_regular(full)
    if descriptor is None:
        return mode, ""
    digest = hashlib.new(algorithm)
    with os.fdopen(descriptor, "rb") as stream:
        digest.update(b"blob %d\0" % os.fstat(descriptor).st_size)
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return mode, digest.hexdigest()
