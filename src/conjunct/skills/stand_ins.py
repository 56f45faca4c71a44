"""Inert packages for the comparison arms: stubs (same face, no body) and placebos (another face, no body)."""

from __future__ import annotations

import hashlib
import importlib.resources
import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import yaml

from conjunct.model import Declaration, Entry, Skill
from conjunct.skills.bounds import DEFAULT_BOUNDS
from conjunct.skills.digest import path_bytes
from conjunct.skills.notes import Notes
from conjunct.skills.package import read_regular
from conjunct.skills.scripts import head_of, language_of
from conjunct.skills.staging import stage_package

INERT_BODY = "This skill has no instructions.\n"

_INERT_SCRIPTS: Mapping[str, bytes] = {
    "python": b'#!/usr/bin/env python3\n"""Does nothing."""\n',
    # `:` and not `exit`: a script that is sourced must not end the shell that sources it.
    "shell": b"#!/bin/sh\n:\n",
    "javascript": b"#!/usr/bin/env node\n// Does nothing.\n",
    "typescript": b"#!/usr/bin/env node\n// Does nothing.\n",
    "ruby": b"#!/usr/bin/env ruby\n# Does nothing.\n",
    "perl": b"#!/usr/bin/env perl\n1;\n",
    "php": b"#!/usr/bin/env php\n<?php\n",
    "r": b"#!/usr/bin/env Rscript\n# Does nothing.\n",
    "lua": b"#!/usr/bin/env lua\n-- Does nothing.\n",
    "powershell": b"# Does nothing.\n",
    "batch": b"@rem Does nothing.\n",
    "julia": b"# Does nothing.\n",
    "awk": b"#!/usr/bin/awk -f\nBEGIN { }\n",
    "bytecode": b"",
}
_INERT_DATA: Mapping[str, bytes] = {
    "json": b"{}\n",
    "md": b"Nothing is written here.\n",
    "txt": b"Nothing is written here.\n",
}


def stub_of(skill: Skill) -> Skill:
    """`skill` with the same id, name, description and front matter (hooks aside), and nothing behind them.

    Every other file keeps its path and executable bit but not its content: scripts do nothing and exit 0,
    other files are empty or hold an inert sentence. Staged beside the original; the digest is its own.
    """
    front = _front_matter_bytes(skill)
    files: dict[bytes, tuple[bytes, bool | None]] = {}
    links: dict[bytes, bytes] = {}
    for entry in skill.entries:
        path = path_bytes(entry.path)
        if entry.kind == "link":
            if os.path.lexists(os.path.join(os.fsencode(skill.root), path)):
                links[path] = path_bytes(entry.target or "")
        elif entry.path == skill.manifest:
            files[path] = (front + INERT_BODY.encode(), entry.executable)
        else:
            files[path] = (_inert(skill, entry), entry.executable)
    if path_bytes(skill.manifest) in links:
        # The manifest is a link inside the package: the stub needs one that is no link.
        del links[path_bytes(skill.manifest)]
        files[path_bytes(skill.manifest)] = (front + INERT_BODY.encode(), False)
    root, digest, entries = _stage(files, links, skill.root.parent)
    return replace(
        skill,
        root=root,
        digest=digest,
        entries=entries,
        body=INERT_BODY,
        body_line=front.count(b"\n") + 1,
        declaration=_without_hooks(skill.declaration),
        source=f"stub of {skill.digest}",
        findings=(),
    )


def placebo_for(skill: Skill) -> Skill:
    """An inert skill on another subject, as long as `skill` in manifest, description and files.

    The subject is one that shares no word with the name and the description of `skill`; the choice depends on
    nothing else but its digest.
    """
    subject = _subject_for(skill)
    manifest_size = next((entry.size for entry in skill.entries if entry.path == skill.manifest), 0)
    description = _fitted(subject, len(skill.declaration.description.encode()))
    head = f"---\nname: {subject.name}\ndescription: {description}\n---\n"
    body = f"# {subject.title}\n\n"
    body += _fitted(subject, manifest_size - len(head.encode()) - len(body.encode()) - 1) + "\n"
    files: dict[bytes, tuple[bytes, bool | None]] = {b"SKILL.md": ((head + body).encode(), False)}
    for number, entry in enumerate(entry for entry in skill.entries if entry.path != skill.manifest):
        size = min(entry.size, DEFAULT_BOUNDS.file_bytes)
        text = _fitted(subject, size - 1) + "\n" if size else ""
        files[b"references/note-%04d.txt" % (number + 1)] = (text.encode(), False)
    root, digest, entries = _stage(files, {}, skill.root.parent)
    declaration = Declaration(subject.name, description, line_of=(("name", 2), ("description", 3)))
    return Skill(
        id=subject.name,
        name=subject.name,
        path=f"placebo for {skill.path}",
        root=root,
        digest=digest,
        declaration=declaration,
        body=body,
        body_line=5,
        entries=entries,
        source=f"placebo for {skill.digest}",
    )


def _front_matter_bytes(skill: Skill) -> bytes:
    """The manifest up to its body, as it stands."""
    path = os.path.realpath(os.path.join(os.fsencode(skill.root), path_bytes(skill.manifest)))
    data = read_regular(path, DEFAULT_BOUNDS.manifest_bytes) or b""
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").splitlines(keepends=True)
    lines = lines[: skill.body_line - 1]
    starts = sorted(line for _, line in skill.declaration.line_of)
    for key, start in skill.declaration.line_of:
        if key == "hooks":
            # Hooks are commands that an agent runs by itself: part of the body, though they stand in front.
            end = next((line for line in starts if line > start), len(lines))
            lines[start - 1 : end - 1] = [b"#\n"] * (end - start)
    if not any(lines):
        # Without front matter an agent takes the face from the body, which the stub does not have.
        face = {"name": skill.name, "description": skill.declaration.description}
        made = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in face.items())
        return f"---\n{made}---\n".encode("utf-8", "replace")
    return b"".join(lines)


def _without_hooks(declaration: Declaration) -> Declaration:
    return replace(
        declaration,
        metadata=tuple(item for item in declaration.metadata if item[0].split(".", 1)[0] != "hooks"),
        line_of=tuple(item for item in declaration.line_of if item[0] != "hooks"),
    )


def _inert(skill: Skill, entry: Entry) -> bytes:
    language = language_of(entry.path, head_of(skill.root, entry))
    if language is not None and language in _INERT_SCRIPTS:
        return _INERT_SCRIPTS[language]
    if language is not None or entry.executable:
        return _INERT_SCRIPTS["shell"]
    return _INERT_DATA.get(entry.path.rsplit(".", 1)[-1].casefold(), b"")


def _stage(
    files: Mapping[bytes, tuple[bytes, bool | None]], links: Mapping[bytes, bytes], staging: Path
) -> tuple[Path, str, tuple[Entry, ...]]:
    with tempfile.TemporaryDirectory(prefix=".inert-", dir=staging) as scratch:
        base = os.fsencode(scratch)
        for path, (content, _) in files.items():
            target = os.path.join(base, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as stream:
                stream.write(content)
        for path, end in links.items():
            os.makedirs(os.path.dirname(os.path.join(base, path)), exist_ok=True)
            os.symlink(end, os.path.join(base, path))
        bits = {path: bit for path, (_, bit) in files.items()}
        package = stage_package(base, staging, Notes(), DEFAULT_BOUNDS, bits=bits.get)
    return package.root, package.digest, package.entries


# ---- placebo subjects


@dataclass(frozen=True, slots=True)
class _Subject:
    name: str
    description: str
    title: str
    sentences: tuple[str, ...]

    def words(self) -> frozenset[str]:
        return _words(" ".join((self.name, self.description, self.title)))


_WORD = re.compile(r"[a-z]{4,64}")
_COMMON = frozenset(
    {"background", "reading", "notes", "explains", "some", "them", "what", "when", "they", "their"}
)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold())) - _COMMON


@cache
def _subjects() -> tuple[_Subject, ...]:
    text = importlib.resources.files(__package__).joinpath("placebos.yaml").read_text("utf-8")
    return tuple(
        _Subject(item["name"], item["description"], item["title"], tuple(item["sentences"]))
        for item in yaml.safe_load(text)
    )


def _subject_for(skill: Skill) -> _Subject:
    own = _words(f"{skill.name} {skill.declaration.description}")
    first = int.from_bytes(hashlib.sha256(skill.digest.encode()).digest()[:4], "big") % len(_subjects())
    turned = _subjects()[first:] + _subjects()[:first]
    return min(turned, key=lambda subject: len(subject.words() & own))


def _fitted(subject: _Subject, size: int) -> str:
    """Exactly `size` bytes of inert prose (the description where it fits); nothing for less than one."""
    if size <= 0:
        return ""
    text = " ".join((subject.description, *subject.sentences))
    repeated = text + (" " + " ".join(subject.sentences)) * (
        size // max(1, len(" ".join(subject.sentences))) + 1
    )
    cut = repeated[:size]
    return cut[:-1] + "." if cut.endswith(" ") else cut
