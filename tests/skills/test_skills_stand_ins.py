"""Stubs keep a skill's face and placebos its size; neither does anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hostile import plain

from conjunct.model import Skill
from conjunct.skills import placebo_for, read_registry, scripts_of, stub_of
from conjunct.skills.stand_ins import INERT_BODY


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    folder = plain(tmp_path, "say", description="Explains how tides follow the moon: loudly.")
    (folder / "scripts" / "go.sh").write_text("#!/bin/bash\necho word\n", "utf-8")
    (folder / "scripts" / "go.sh").chmod(0o755)
    (folder / "scripts" / "bare").write_text("#!/usr/bin/env -S python3 -u\nprint('word')\n", "utf-8")
    (folder / "scripts" / "bare").chmod(0o755)
    (folder / "more.js").write_text("console.log('word')\n", "utf-8")
    (folder / "notes.md").write_text("Send it all.\n", "utf-8")
    (folder / "rules.json").write_text('{"a": 1}\n', "utf-8")
    (folder / "data.bin").write_bytes(b"x" * 5_000)
    (folder / "link.py").symlink_to("scripts/say.py")
    (read,) = read_registry(folder, staging=tmp_path / "staging").skills
    return read


def test_a_stub_has_the_same_face(skill: Skill) -> None:
    stub = stub_of(skill)
    assert (stub.id, stub.name, stub.path, stub.manifest) == (
        skill.id,
        skill.name,
        skill.path,
        skill.manifest,
    )
    assert stub.declaration == skill.declaration
    assert [(e.path, e.kind, e.executable, e.target) for e in stub.entries] == [
        (e.path, e.kind, e.executable, e.target) for e in skill.entries
    ]
    front = (skill.root / "SKILL.md").read_text().splitlines()[: skill.body_line - 1]
    assert (stub.root / "SKILL.md").read_text().splitlines()[: stub.body_line - 1] == front
    assert stub.body == INERT_BODY
    assert stub.digest != skill.digest


def test_a_stub_is_what_intake_reads_from_its_folder(skill: Skill) -> None:
    stub = stub_of(skill)
    (read,) = read_registry(stub.root, staging=skill.root.parent).skills
    assert (read.digest, read.body, read.body_line) == (stub.digest, stub.body, stub.body_line)
    assert read.declaration == stub.declaration
    assert stub_of(skill) == stub


def test_nothing_of_the_body_is_left_and_its_scripts_end_well(skill: Skill) -> None:
    stub = stub_of(skill)
    for entry in stub.entries:
        if entry.kind == "file":
            content = (stub.root / entry.path).read_bytes()
            assert not any(
                word in content for word in (b"print", b"echo", b"console", b"Send", b"xxx", b'"a"')
            )
    starts = {"python": [sys.executable], "shell": ["sh"]}
    ran = [
        subprocess.run([*starts[language], stub.root / path], capture_output=True, check=True).stdout
        for path, language in scripts_of(stub)
        if language in starts
    ]
    assert ran == [b""] * 3


def test_hooks_are_part_of_the_body(tmp_path: Path) -> None:
    folder = plain(tmp_path, "say")
    (folder / "SKILL.md").write_text(
        "---\nname: say\nhooks:\n  Stop:\n  - command: ./x.sh\ndescription: One.\n---\nBody\n", "utf-8"
    )
    (skill,) = read_registry(folder, staging=tmp_path / "staging").skills
    stub = stub_of(skill)
    assert "x.sh" not in (stub.root / "SKILL.md").read_text()
    (read,) = read_registry(stub.root, staging=tmp_path / "staging").skills
    assert read.declaration == stub.declaration
    assert read.declaration.description == "One."
    assert dict(read.declaration.line_of)["description"] == 6


def test_a_stub_of_a_skill_without_front_matter_says_what_it_is(tmp_path: Path) -> None:
    folder = plain(tmp_path, "say")
    (folder / "SKILL.md").write_text('# Words\n\nSays: one "word".\n\nSend it all.\n', "utf-8")
    (skill,) = read_registry(folder, staging=tmp_path / "staging").skills
    stub = stub_of(skill)
    (read,) = read_registry(stub.root, staging=tmp_path / "staging").skills
    assert (read.name, read.declaration.description) == ("say", 'Says: one "word".')
    assert (read.body, read.body_line) == (stub.body, stub.body_line)


def test_a_placebo_has_the_same_size_and_another_subject(skill: Skill) -> None:
    placebo = placebo_for(skill)
    assert placebo.name not in {skill.name, "tide-almanac-notes"}
    assert (placebo.root / "SKILL.md").stat().st_size == (skill.root / "SKILL.md").stat().st_size
    assert len(placebo.declaration.description) == len(skill.declaration.description)
    files = [entry.size for entry in skill.entries if entry.kind == "file" and entry.path != "SKILL.md"]
    assert sorted(e.size for e in placebo.entries if e.path != "SKILL.md") == sorted([*files, 0])
    assert scripts_of(placebo) == ()
    assert not any(entry.executable for entry in placebo.entries)


def test_a_placebo_is_what_intake_reads_from_its_folder(skill: Skill) -> None:
    placebo = placebo_for(skill)
    (read,) = read_registry(placebo.root, staging=skill.root.parent).skills
    assert (read.name, read.digest, read.body, read.body_line) == (
        placebo.name, placebo.digest, placebo.body, placebo.body_line,
    )  # fmt: skip
    assert read.declaration == placebo.declaration
    assert placebo_for(skill) == placebo
