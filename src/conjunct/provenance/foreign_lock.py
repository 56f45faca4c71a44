"""Lock files that other tools write: read as far as they can be, and compared as far as that means anything.

`skills-lock.json` of a project (SHA-256 over paths and contents), `.skill-lock.json` of a home folder (a git
tree), and `skills.lock` files of several tools, which share the shape `{"skills": {name: {…}}}`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from conjunct.model import Entry, Skill
from conjunct.skills.digest import path_bytes

NAMES = ("skills-lock.json", ".skill-lock.json", "skills.lock", "skills.lock.json")
_MOST_BYTES = 16 << 20
_MOST_ENTRIES = 20_000
_LONGEST = 512
_HEX = re.compile(r"(?:sha256[:-])?([0-9a-f]{64}|[0-9a-f]{40})")
_HASHES = ("computedHash", "skillFolderHash")
"""Those whose making is known; what other tools call `integrity` or `contentHash` covers other things."""
_SOURCES = ("sourceUrl", "resolved", "source", "url", "repo")

_PUNCTUATION = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
_RANK = {character: rank for rank, character in enumerate(" " + _PUNCTUATION + "0123456789")}
_LETTERS = len(_RANK)


@dataclass(frozen=True, slots=True)
class ForeignPin:
    """What another tool recorded of one skill."""

    name: str
    file: str
    source: str = ""
    source_type: str = ""
    """As the tool names it: `github`, `local`, and so on."""
    ref: str = ""
    version: str = ""
    skill_path: str = ""
    """Path of the skill in its source."""
    hash: str = ""
    """Hexadecimal: 64 digits over paths and contents, 40 for a git tree; empty where none is understood."""


@dataclass(frozen=True, slots=True)
class ForeignAnswer:
    """One foreign pin held against the installed skill."""

    pin: ForeignPin
    matches: bool | None
    """`None` where the record cannot be compared."""
    message: str


def foreign_locks(folder: Path) -> tuple[Path, ...]:
    """Lock files of other tools in a registry folder and the two above it, where installers put them."""
    whole = folder.resolve()
    places = (whole, *whole.parents)[:3]
    return tuple(place / name for place in places for name in NAMES if (place / name).is_file())


def read_foreign_lock(path: Path) -> tuple[ForeignPin, ...]:
    """The pins of one foreign lock file; unreadable entries are left out, an unreadable file gives none.

    Conflict markers of a merge are understood: entries of both sides are read, the later side wins.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
    except OSError:
        return ()
    if len(data) > _MOST_BYTES:
        return ()
    return foreign_pins(data.decode("utf-8-sig", "replace"), path.name)


def foreign_pins(text: str, file: str) -> tuple[ForeignPin, ...]:
    """The pins in the text of a foreign lock file; never raises."""
    found: dict[str, ForeignPin] = {}
    for side in _sides(text):
        try:
            value = json.loads(side)
        except (ValueError, RecursionError):
            continue
        skills = value.get("skills") if isinstance(value, dict) else None
        for pin in _pins(skills, file):
            found[pin.name] = pin
    return tuple(found.values())


def foreign_pins_of(folder: Path) -> dict[str, ForeignPin]:
    """What other tools recorded of the skills in a registry folder, by name; the nearest lock wins."""
    found: dict[str, ForeignPin] = {}
    for path in foreign_locks(folder):
        for pin in read_foreign_lock(path):
            found.setdefault(pin.name, pin)
    return found


def _pins(skills: object, file: str) -> Iterator[ForeignPin]:
    if not isinstance(skills, dict):
        return
    for name, entry in list(skills.items())[:_MOST_ENTRIES]:
        if not isinstance(entry, dict) or not name:
            continue
        matched = next(
            (found for key in _HASHES if (found := _HEX.fullmatch(_text(entry.get(key)).lower()))), None
        )
        yield ForeignPin(
            name=name[:_LONGEST],
            file=file,
            source=next((text for key in _SOURCES if (text := _text(entry.get(key)))), ""),
            source_type=_text(entry.get("sourceType")),
            ref=_text(entry.get("ref")) or _text(entry.get("commit")),
            version=_text(entry.get("version")),
            skill_path=_text(entry.get("skillPath")) or _text(entry.get("path")),
            hash=matched.group(1) if matched else "",
        )


def _sides(text: str) -> tuple[str, ...]:
    """The text, or both sides of it where a merge left its markers."""
    if not re.search(r"^<{7}(?: |\r?$)", text, re.MULTILINE):
        return (text,)
    ours: list[str] = []
    theirs: list[str] = []
    state = "both"
    for line in text.splitlines():
        mark = line[:7] if line[7:8] in {"", " "} else ""
        if mark == "<" * 7:
            state = "ours"
        elif mark == "|" * 7:
            state = "ancestor"
        elif mark == "=" * 7 and state != "both":
            state = "theirs"
        elif mark == ">" * 7:
            state = "both"
        else:
            if state in {"both", "ours"}:
                ours.append(line)
            if state in {"both", "theirs"}:
                theirs.append(line)
    return ("\n".join(ours), "\n".join(theirs))


def compare_foreign(pin: ForeignPin, skill: Skill | None) -> ForeignAnswer:
    """Hold a foreign pin against the installed skill of that name.

    A difference is no proof of tampering: some tools hash what they downloaded, not what they installed.
    """
    if skill is None:
        return ForeignAnswer(pin, False, f"{pin.file} lists {pin.name}, which is not installed here")
    if not pin.hash:
        return ForeignAnswer(pin, None, f"{pin.file} records no hash of {pin.name} that can be compared")
    own = git_tree_hash(skill) if len(pin.hash) == 40 else folder_hash(skill)
    if own is None:
        return ForeignAnswer(
            pin, None, f"the hash of {pin.name} in {pin.file} depends on the order of non-ASCII names"
        )
    if own == pin.hash:
        return ForeignAnswer(pin, True, f"{pin.name} is as {pin.file} records it")
    return ForeignAnswer(
        pin, False, f"{pin.name} is not what {pin.file} records ({pin.hash[:12]}, here {own[:12]})"
    )


def folder_hash(skill: Skill) -> str | None:
    """The hash that `skills-lock.json` records: paths and contents, links and `node_modules` left out.

    `None` where a path is not ASCII: the order then depends on the collation of the tool that wrote it.
    """
    files = [
        entry
        for entry in skill.entries
        if entry.kind == "file" and not {"node_modules", ".git"} & set(entry.path.split("/")[:-1])
    ]
    if not all(entry.path.isascii() and entry.path.isprintable() for entry in files):
        return None
    digest = hashlib.sha256()
    for entry in sorted(files, key=lambda entry: collation_key(entry.path)):
        digest.update(entry.path.encode())
        if not _update(digest, skill.root, entry):
            return None
    return digest.hexdigest()


def collation_key(path: str) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """Orders printable ASCII like the root collation of Unicode: punctuation, digits, letters; case last."""
    primary = tuple(
        _RANK[character] if character in _RANK else _LETTERS + ord(character.lower()) for character in path
    )
    return primary, tuple(character.isupper() for character in path)


def git_tree_hash(skill: Skill) -> str | None:
    """The SHA-1 of the git tree with these entries; `None` where a file cannot be read whole."""
    tree: dict[bytes, dict[bytes, bytes]] = {b"": {}}
    for entry in skill.entries:
        blob = _blob(skill.root, entry)
        if blob is None:
            return None
        folder, _, name = path_bytes(entry.path).rpartition(b"/")
        mode = b"120000" if entry.kind == "link" else b"100755" if entry.executable else b"100644"
        tree.setdefault(folder, {})[name] = mode + b" " + name + b"\0" + blob
    for folder in list(tree):
        while folder:
            folder = folder.rpartition(b"/")[0]
            tree.setdefault(folder, {})
    result = b""
    for folder in sorted(tree, key=lambda folder: folder.count(b"/") + bool(folder), reverse=True):
        members = tree[folder]
        # Git orders a folder as if its name ended in a slash.
        ordered = sorted(members, key=lambda name: name + b"/" if members[name][:6] == b"40000 " else name)
        content = b"".join(members[name] for name in ordered)
        result = hashlib.sha1(b"tree %d\0" % len(content) + content, usedforsecurity=False).digest()
        if folder:
            above, _, name = folder.rpartition(b"/")
            tree[above][name] = b"40000 " + name + b"\0" + result
    return result.hex()


def _blob(root: Path, entry: Entry) -> bytes | None:
    if entry.kind == "link":
        target = path_bytes(entry.target or "")
        return hashlib.sha1(b"blob %d\0" % len(target) + target, usedforsecurity=False).digest()
    digest = hashlib.sha1(b"blob %d\0" % entry.size, usedforsecurity=False)
    return digest.digest() if _update(digest, root, entry) else None


def _update(digest: hashlib._Hash, root: Path, entry: Entry) -> bool:
    """Feed a staged file to a hash; false where it is not there whole."""
    if not entry.sha256:
        return False
    read = 0
    try:
        with (root / entry.path).open("rb") as stream:
            while chunk := stream.read(1 << 20):
                read += len(chunk)
                digest.update(chunk)
    except OSError:
        return False
    return read == entry.size


def _text(value: object) -> str:
    return " ".join(value.split())[:_LONGEST] if isinstance(value, str) else ""
