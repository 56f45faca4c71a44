"""Every hostile package is read, told, and contained; none hides another."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

import hostile
import pytest

from conjunct.errors import IntakeError
from conjunct.model import Registry, Severity
from conjunct.skills import read_registry


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    folder = tmp_path_factory.mktemp("hostile")
    began = time.process_time()
    read = read_registry(hostile.build_all(folder), staging=tmp_path_factory.mktemp("staging"))
    assert time.process_time() - began < 90
    return read


@pytest.mark.parametrize("package", hostile.CORPUS, ids=lambda package: package.name)
def test_every_hostile_package_gets_its_finding(package: hostile.Hostile, registry: Registry) -> None:
    skill = next(skill for skill in registry.skills if Path(skill.path).name == package.name)
    assert package.code in {finding.code for finding in skill.findings}
    assert all(finding.skill == skill.id for finding in skill.findings)


def test_the_plain_skill_beside_them_has_no_finding(registry: Registry) -> None:
    plain = registry.by_id("plain")
    assert plain.findings == ()
    assert plain.declaration.description == "Says one word."
    assert [entry.path for entry in plain.entries] == ["SKILL.md", "scripts/say.py"]


def test_nothing_that_is_shown_can_steer_a_terminal(registry: Registry) -> None:
    for skill in registry.skills:
        shown = [skill.id, skill.name, skill.path]
        for finding in skill.findings:
            shown += [finding.message, finding.file or "", finding.quote or ""]
        assert not any(character < " " or character == "\x7f" for text in shown for character in text)


def test_staged_copies_hold_only_plain_files_and_links_that_stay_inside(registry: Registry) -> None:
    for skill in registry.skills:
        base = skill.root.resolve()
        for folder, folders, names in os.walk(base):
            for name in (*folders, *names):
                path = Path(folder, name)
                mode = path.lstat().st_mode
                if stat.S_ISLNK(mode):
                    assert path.resolve().is_relative_to(base)
                else:
                    assert stat.S_ISREG(mode) or stat.S_ISDIR(mode)
                    assert mode & 0o444 == 0o444
                    assert mode & 0o022 == 0


def test_names_are_single_path_components(registry: Registry) -> None:
    for skill in registry.skills:
        assert "/" not in skill.name
        assert skill.name not in {"", ".", ".."}


def test_host_content_never_reaches_the_staged_copy(registry: Registry) -> None:
    secret = Path("/etc/hostname")
    if not secret.exists():
        pytest.skip("this machine has no /etc/hostname")
    for name in ("link-to-host-file", "link-to-host-folder", "link-through-link"):
        root = registry.by_id(name).root
        assert not (root / "data.txt").exists()
        assert not (root / "references").exists()


def test_one_huge_file_does_not_drop_the_small_ones(registry: Registry) -> None:
    skill = registry.by_id("huge-file")
    assert (skill.root / "scripts" / "say.py").read_text() == "print('word')\n"
    assert not (skill.root / "data.bin").exists()
    entry = next(entry for entry in skill.entries if entry.path == "data.bin")
    assert (entry.size, entry.sha256) == (1 << 40, "")


@pytest.mark.parametrize(
    ("build", "code"),
    [
        (hostile.traversal_zip, "integrity.path-traversal"),
        (hostile.link_then_write_tar, "integrity.path-collision"),
        (hostile.special_tar, "integrity.special-file"),
        (hostile.bomb_zip, "integrity.archive-bomb"),
        (hostile.bomb_tar_gz, "integrity.archive-bomb"),
        (hostile.extended_header_tar, "intake.archive-broken"),
    ],
)
def test_hostile_archives_are_contained(build: Callable[[Path], Path], code: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    archive = build(tmp_path / "in")
    began = time.process_time()
    registry = read_registry(archive, staging=tmp_path / "staging")
    assert time.process_time() - began < 40
    skill = registry.by_id("pack")
    assert any(f.code == code and f.severity is Severity.REVIEW for f in skill.findings)
    assert all(path.is_relative_to(skill.root) for path in tmp_path.rglob("outside.txt"))
    assert not any(name.startswith(".") for name in os.listdir(tmp_path / "staging"))


def test_a_pipe_in_place_of_a_package_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pack.zip")
    with pytest.raises(IntakeError, match=r"pack\.zip"):
        read_registry(tmp_path / "pack.zip", staging=tmp_path / "staging")
