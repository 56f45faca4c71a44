"""Archives give the same skills as the folders they were made from."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hostile import FRONT, plain
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.errors import IntakeError
from conjunct.model import Severity, Skill
from conjunct.skills import read_registry
from conjunct.skills.archive import clean_name
from conjunct.skills.bounds import DEFAULT_BOUNDS
from conjunct.skills.tar_members import TarTrouble, tar_members


@pytest.fixture
def staging(tmp_path: Path) -> Path:
    return tmp_path / "staging"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = plain(tmp_path / "in", "say")
    (made / ("long-" * 30)).mkdir()
    (made / ("long-" * 30) / "naïve.md").write_text("x", "utf-8")
    (made / "run.py").symlink_to("scripts/say.py")
    return made


def _zip(folder: Path, target: Path, *, bits: bool = True) -> Path:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder.parent).as_posix()
            info = zipfile.ZipInfo(name + "/" if path.is_dir() and not path.is_symlink() else name)
            info.create_system = 3 if bits else 0
            if bits:
                info.external_attr = path.lstat().st_mode << 16
            if path.is_symlink():
                if bits:
                    archive.writestr(info, os.readlink(path))
            else:
                archive.writestr(info, b"" if path.is_dir() else path.read_bytes())
    return target


def _tar(folder: Path, target: Path, mode: str, form: int = tarfile.PAX_FORMAT) -> Path:
    with tarfile.open(target, mode, format=form) as archive:  # type: ignore[call-overload]
        archive.add(folder, folder.name)
    return target


def _one(path: Path, staging: Path) -> Skill:
    (skill,) = read_registry(path, staging=staging).skills
    return skill


def test_every_form_gives_the_same_package(folder: Path, tmp_path: Path, staging: Path) -> None:
    expected = _one(folder, staging)
    archives = [
        _zip(folder, tmp_path / "say.zip"),
        _zip(folder, tmp_path / "say.skill"),
        _tar(folder, tmp_path / "say.tar", "w"),
        _tar(folder, tmp_path / "say.tar.gz", "w:gz"),
        _tar(folder, tmp_path / "say.tgz", "w:gz", tarfile.GNU_FORMAT),
    ]
    for archive in archives:
        skill = _one(archive, staging)
        assert skill.digest == expected.digest, archive
        assert skill.findings == ()
        assert (skill.path, skill.source) == (f"{archive}!/say", f"archive {archive.name}")
    assert os.listdir(staging) == [expected.digest]


def test_an_archive_without_bits_says_not_recorded(folder: Path, tmp_path: Path, staging: Path) -> None:
    (folder / "run.py").unlink()
    skill = _one(_zip(folder, tmp_path / "say.zip", bits=False), staging)
    assert {entry.executable for entry in skill.entries} == {None}
    assert skill.digest != _one(folder, staging).digest


def test_where_no_bit_is_recorded_scripts_can_run(tmp_path: Path, staging: Path) -> None:
    with zipfile.ZipFile(tmp_path / "say.zip", "w") as archive:
        for name, data in (("SKILL.md", FRONT.format(name="say", description="One.")), ("go", "#!/bin/sh\n")):
            info = zipfile.ZipInfo(name)
            info.create_system = 0
            archive.writestr(info, data)
    skill = _one(tmp_path / "say.zip", staging)
    assert stat.S_IMODE((skill.root / "go").stat().st_mode) == 0o755
    assert stat.S_IMODE((skill.root / "SKILL.md").stat().st_mode) == 0o644


def test_a_skill_at_the_top_is_named_after_the_archive(tmp_path: Path, staging: Path) -> None:
    with zipfile.ZipFile(tmp_path / "the-name.skill", "w") as archive:
        archive.writestr("SKILL.md", "---\ndescription: Says one word.\n---\n")
    assert _one(tmp_path / "the-name.skill", staging).name == "the-name"


def test_archives_in_a_registry_are_read_as_its_skills(folder: Path, tmp_path: Path, staging: Path) -> None:
    registry = tmp_path / "registry"
    own = plain(registry, "own")
    _zip(folder, registry / "say.skill")
    _zip(plain(tmp_path / "elsewhere", "more"), registry / "more.zip")
    _tar(plain(tmp_path / "elsewhere", "packed"), registry / "packed.tar.gz", "w:gz")
    (own / "inside.zip").write_bytes((registry / "more.zip").read_bytes())
    read = read_registry(registry, staging=staging)
    assert [skill.id for skill in read.skills] == ["own", "more", "packed", "say"]
    assert not read.findings


def test_an_archive_in_a_registry_without_a_skill_asks_only_where_it_says_it_is_one(
    tmp_path: Path, staging: Path
) -> None:
    registry = tmp_path / "registry"
    plain(registry, "own")
    with zipfile.ZipFile(registry / "data.zip", "w") as archive:
        archive.writestr("table.csv", "1,2\n")
    (registry / "empty.skill").write_bytes((registry / "data.zip").read_bytes())
    (registry / "broken.skill").write_bytes(b"no archive")
    (registry / "photo.tgz").write_bytes(b"no archive")
    found = {f.file: (f.code, f.severity) for f in read_registry(registry, staging=staging).findings}
    assert found == {
        "data.zip": ("intake.archive-empty", Severity.NOTE),
        "empty.skill": ("intake.archive-empty", Severity.REVIEW),
        "broken.skill": ("intake.archive-broken", Severity.REVIEW),
        "photo.tgz": ("intake.archive-broken", Severity.NOTE),
    }


def test_archives_beyond_the_bound_of_a_registry_are_told(
    folder: Path, tmp_path: Path, staging: Path
) -> None:
    registry = tmp_path / "registry"
    plain(registry, "own")
    for name in ("a.zip", "b.zip"):
        _zip(folder, registry / name)
    read = read_registry(registry, staging=staging, bounds=replace(DEFAULT_BOUNDS, registry_archives=1))
    assert len(read.skills) == 2
    assert [(f.code, f.severity) for f in read.findings] == [("intake.archive-not-read", Severity.REVIEW)]


def test_names_of_zip_members_are_their_bytes(tmp_path: Path, staging: Path) -> None:
    # macOS writes UTF-8 names without setting the flag that says so.
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("say/SKILL.md", FRONT.format(name="say", description="One."))
        archive.writestr("say/XXXX.md", "x")
    data = buffer.getvalue().replace(b"XXXX", "éé".encode())
    (tmp_path / "say.zip").write_bytes(data)
    skill = _one(tmp_path / "say.zip", staging)
    assert "éé.md" in {entry.path for entry in skill.entries}


def test_a_member_that_comes_twice_is_a_question(tmp_path: Path, staging: Path) -> None:
    with (
        pytest.warns(UserWarning, match="Duplicate name"),
        zipfile.ZipFile(tmp_path / "say.zip", "w") as archive,
    ):
        archive.writestr("say/SKILL.md", FRONT.format(name="say", description="One."))
        archive.writestr("say/SKILL.md", FRONT.format(name="say", description="Two."))
    skill = _one(tmp_path / "say.zip", staging)
    assert skill.declaration.description == "Two."
    assert "integrity.duplicate-member" in {finding.code for finding in skill.findings}


def test_a_damaged_member_does_not_take_the_others_with_it(tmp_path: Path, staging: Path) -> None:
    with zipfile.ZipFile(tmp_path / "say.zip", "w") as archive:
        archive.writestr("say/data.txt", "some content")
        archive.writestr("say/SKILL.md", FRONT.format(name="say", description="One."))
    data = (tmp_path / "say.zip").read_bytes().replace(b"some content", b"SOME CONTENT")
    (tmp_path / "say.zip").write_bytes(data)
    skill = _one(tmp_path / "say.zip", staging)
    assert [(f.code, f.file) for f in skill.findings] == [("intake.member-broken", "say/data.txt")]
    assert [entry.path for entry in skill.entries] == ["SKILL.md"]


def test_a_truncated_archive_gives_what_came_before(tmp_path: Path, staging: Path) -> None:
    folder = plain(tmp_path / "in", "say")
    (folder / "z.bin").write_bytes(os.urandom(200_000))
    whole = _tar(folder, tmp_path / "say.tar.gz", "w:gz").read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(whole[: len(whole) // 2])
    skill = _one(tmp_path / "cut.tar.gz", staging)
    assert skill.name == "say"
    assert "intake.archive-broken" in {finding.code for finding in skill.findings}


def test_hard_links_within_the_archive_are_files(tmp_path: Path, staging: Path) -> None:
    folder = plain(tmp_path / "in", "say")
    os.link(folder / "scripts" / "say.py", folder / "zz.py")
    assert _one(_tar(folder, tmp_path / "say.tar", "w"), staging).digest == _one(folder, staging).digest


def test_something_else_with_an_archive_name_is_refused(tmp_path: Path, staging: Path) -> None:
    (tmp_path / "say.zip").write_bytes(b"PK\x03\x04 and nothing more")
    with pytest.raises(IntakeError, match="holds no skill"):
        read_registry(tmp_path / "say.zip", staging=staging)
    (tmp_path / "say.tar").write_bytes(b"\0" * 4096)
    with pytest.raises(IntakeError):
        read_registry(tmp_path / "say.tar", staging=staging)


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        (b"a/b", b"a/b"),
        (b"./a//b/", b"a/b"),
        (b"a\\b", b"a/b"),
        (b"..a/b..", b"..a/b.."),
        (b"a/../b", None),
        (b"..\\b", None),
        (b"/a", None),
        (b"\\a", None),
        (b"c:/a", None),
        (b"a\0b", None),
    ],
)
def test_names_stay_below_the_folder(name: bytes, clean: bytes | None) -> None:
    assert clean_name(name) == clean


@given(st.binary(max_size=1200), st.integers(0, 1023), st.integers(0, 255))
@settings(max_examples=150, deadline=None)
def test_a_damaged_tar_is_read_or_refused(noise: bytes, place: int, byte: int) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("ä" * 80)
        member.size = 5
        archive.addfile(member, io.BytesIO(b"hello"))
    data = bytearray(buffer.getvalue())
    data[place] = byte
    for stream in (io.BytesIO(bytes(data)), io.BytesIO(noise)):
        try:
            for found in tar_members(stream):
                assert found.size >= 0
        except TarTrouble:
            pass


@given(st.lists(st.tuples(st.text("ab/é", min_size=1, max_size=130), st.binary(max_size=600)), max_size=5))
@settings(max_examples=60, deadline=None)
def test_tar_members_are_what_the_standard_library_wrote(files: list[tuple[str, bytes]]) -> None:
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        buffer = io.BytesIO()
        names = []
        with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
            for name, data in files:
                member = tarfile.TarInfo("x" + name.replace("/", "_/") + "y")
                member.size = len(data)
                names.append(member.name.encode())
                archive.addfile(member, io.BytesIO(data))
        read = list(tar_members(buffer)) if files else []
        assert [found.name for found in read] == names
        whole = buffer.getvalue()
        assert [whole[f.offset : f.offset + f.size] for f in read] == [data for _, data in files]
