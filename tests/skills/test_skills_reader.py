"""Registries: what is found, how it is named, and where the clean copies go."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest
from hostile import plain

from conjunct.errors import IntakeError, StaticManifestError
from conjunct.model import Registry, Severity, Skill
from conjunct.skills import Bounds, Follow, combined, read_registry


@pytest.fixture
def staging(tmp_path: Path) -> Path:
    return tmp_path / "staging"


def _codes(skill: Skill) -> set[str]:
    return {finding.code for finding in skill.findings}


def _ids(registry: Registry) -> list[str]:
    return [skill.id for skill in registry.skills]


def test_one_skill_folder_or_its_manifest(tmp_path: Path, staging: Path) -> None:
    folder = plain(tmp_path, "say")
    for path in (folder, folder / "SKILL.md"):
        registry = read_registry(path, staging=staging)
        (skill,) = registry.skills
        assert (skill.id, skill.path, skill.manifest) == ("say", str(folder), "SKILL.md")
        assert skill.root == staging / skill.digest
        assert skill.findings == registry.findings == ()


def test_skills_at_any_depth_and_nested_ones(tmp_path: Path, staging: Path) -> None:
    registry = tmp_path / "registry"
    plain(registry, "flat")
    outer = plain(registry / "plugins" / "p" / "skills", "outer")
    plain(outer / "more", "inner")
    plain(registry / "node_modules" / "x", "packed")
    plain(registry / ".git" / "x", "not-a-skill")
    read = read_registry(registry, staging=staging)
    assert _ids(read) == ["flat", "packed", "outer", "inner"]
    assert _codes(read.by_id("inner")) == {"intake.nested"}
    assert _codes(read.by_id("outer")) == set()
    assert "more/inner/SKILL.md" in {entry.path for entry in read.by_id("outer").entries}


def test_skills_within_skills_are_bounded(tmp_path: Path, staging: Path) -> None:
    folder = tmp_path / "r"
    for number in range(6):
        folder = plain(folder, f"level-{number}")
    read = read_registry(tmp_path / "r", staging=staging)
    assert _ids(read) == ["level-0", "level-1", "level-2", "level-3"]
    assert [finding.code for finding in read.findings] == ["intake.nested-too-deep"] * 2
    assert sum(entry.path.endswith("SKILL.md") for entry in read.by_id("level-0").entries) == 6


def test_a_manifest_in_lower_case_is_one(tmp_path: Path, staging: Path) -> None:
    folder = plain(tmp_path, "say")
    (folder / "SKILL.md").rename(folder / "skill.md")
    (skill,) = read_registry(folder, staging=staging).skills
    assert (skill.manifest, skill.declaration.description) == ("skill.md", "Says one word.")


def test_shared_names_get_the_digest_and_copies_become_one(tmp_path: Path, staging: Path) -> None:
    plain(tmp_path / "r" / "a", "say")
    plain(tmp_path / "r" / "b", "say")
    plain(tmp_path / "r" / "c", "say", description="Says another word.")
    read = read_registry(tmp_path / "r", staging=staging)
    assert len(read.skills) == 2
    for skill in read.skills:
        assert skill.id == f"say~{skill.digest[:8]}"
        assert skill.name == "say"
        assert "intake.duplicate-name" in _codes(skill)
        assert all(finding.skill == skill.id for finding in skill.findings)
    assert "intake.copy" in _codes(read.skills[0])
    assert "intake.copy" not in _codes(read.skills[1])


def test_two_registries_together_have_unique_ids(tmp_path: Path, staging: Path) -> None:
    for part, description in (("own", "Says one word."), ("around", "Says another word.")):
        plain(tmp_path / part, "say", description=description)
        plain(tmp_path / part, "same")
    plain(tmp_path / "around", "more")
    own, around = (read_registry(tmp_path / part, staging=staging) for part in ("own", "around"))
    both = combined(own, around)
    again = combined(both, around)
    assert [skill.name for skill in both.skills] == ["same", "say", "more", "say"]
    assert len({skill.id for skill in both.skills}) == 4
    assert both.by_id("more") == around.by_id("more")
    for registry in (both, again):
        said = [skill for skill in registry.skills if skill.name == "say"]
        assert all(skill.id == f"say~{skill.digest[:8]}" for skill in said)
        assert [finding.code for finding in said[0].findings] == ["intake.duplicate-name"]


def test_names_that_differ_in_case_only_are_told_apart(tmp_path: Path, staging: Path) -> None:
    plain(tmp_path / "r" / "a", "say")
    plain(tmp_path / "r" / "b", "SAY")
    assert all("~" in identity for identity in _ids(read_registry(tmp_path / "r", staging=staging)))


def test_a_linked_skill_is_found_and_its_loop_is_not_followed(tmp_path: Path, staging: Path) -> None:
    elsewhere = plain(tmp_path / "elsewhere", "say")
    registry = tmp_path / "registry"
    plain(registry, "own")
    (registry / "say").symlink_to(elsewhere)
    (registry / "loop").symlink_to(".")
    (registry / "host").symlink_to("/etc")
    read = read_registry(registry, staging=staging)
    assert _ids(read) == ["own", "say"]
    assert _codes(read.by_id("say")) == {"intake.linked"}
    assert read.by_id("say").path == str(registry / "say")
    assert [finding.code for finding in read.findings] == ["intake.link-not-followed"]
    for follow in (Follow.INSIDE, Follow.NEVER):
        assert _ids(read_registry(registry, staging=staging, follow=follow)) == ["own"]


def test_a_link_within_the_registry_is_the_same_skill(tmp_path: Path, staging: Path) -> None:
    registry = tmp_path / "registry"
    plain(registry / "z-real", "say")
    (registry / "by-link").symlink_to("z-real/say")
    (registry / "by-manifest").mkdir()
    (registry / "by-manifest" / "SKILL.md").symlink_to("../z-real/say/SKILL.md")
    read = read_registry(registry, staging=staging)
    assert _ids(read) == ["say"]
    assert [finding.code for finding in read.skills[0].findings] == ["intake.alias", "intake.alias"]


@pytest.mark.parametrize(("target", "severity"), [("/etc/hostname", "review"), ("../notes.md", "note")])
def test_a_manifest_that_leads_out_is_not_read(
    target: str, severity: str, tmp_path: Path, staging: Path
) -> None:
    registry = tmp_path / "registry"
    plain(registry, "own")
    (registry / "notes.md").write_text("notes", "utf-8")
    (registry / "odd").mkdir()
    (registry / "odd" / "SKILL.md").symlink_to(target)
    read = read_registry(registry, staging=staging)
    assert _ids(read) == ["own"]
    (finding,) = read.findings
    assert (finding.code, finding.file, finding.severity.value) == (
        "integrity.manifest-outside",
        "odd/SKILL.md",
        severity,
    )


def test_a_link_inside_the_package_is_kept(tmp_path: Path, staging: Path) -> None:
    folder = plain(tmp_path, "say")
    (folder / "run.py").symlink_to("scripts/say.py")
    (skill,) = read_registry(folder, staging=staging).skills
    assert skill.findings == ()
    assert (skill.root / "run.py").read_text() == "print('word')\n"
    (link,) = [entry for entry in skill.entries if entry.kind == "link"]
    assert (link.path, link.target) == ("run.py", "scripts/say.py")


def test_a_link_into_the_registry_is_a_note_and_one_out_of_it_a_question(
    tmp_path: Path, staging: Path
) -> None:
    folder = plain(tmp_path / "r", "say")
    (tmp_path / "r" / "shared.md").write_text("shared", "utf-8")
    (tmp_path / "r-evil").mkdir()
    (folder / "near.md").symlink_to("../shared.md")
    (folder / "far.md").symlink_to("../../r-evil")
    (skill,) = read_registry(tmp_path / "r", staging=staging).skills
    assert {finding.file: finding.severity for finding in skill.findings} == {
        "near.md": Severity.NOTE,
        "far.md": Severity.REVIEW,
    }


def test_the_digest_is_that_of_the_bytes_and_the_copy_holds_them(tmp_path: Path, staging: Path) -> None:
    folder = plain(tmp_path, "say")
    (first,) = read_registry(folder, staging=staging).skills
    assert first.digest == read_registry(folder, staging=staging).skills[0].digest
    assert (first.root / "scripts/say.py").stat().st_mode & 0o777 == 0o755
    assert (first.root / "SKILL.md").stat().st_mode & 0o777 == 0o644
    (folder / "scripts/say.py").chmod(0o644)
    assert read_registry(folder, staging=staging).skills[0].digest != first.digest


def test_copies_are_readable_by_everybody_whatever_the_umask(tmp_path: Path, staging: Path) -> None:
    folder = plain(tmp_path, "say")
    before = os.umask(0o077)
    try:
        (skill,) = read_registry(folder, staging=staging).skills
    finally:
        os.umask(before)
    for path in (staging, skill.root, skill.root / "scripts", skill.root / "scripts/say.py"):
        assert path.stat().st_mode & 0o055 == 0o055
    assert (skill.root / "SKILL.md").stat().st_mode & 0o044 == 0o044


@pytest.mark.parametrize(
    "damage", ["changed", "missing", "added", "missing link", "other link", "added link"]
)
def test_a_damaged_copy_is_replaced(damage: str, tmp_path: Path, staging: Path) -> None:
    folder = plain(tmp_path, "say")
    (folder / "run.py").symlink_to("scripts/say.py")
    (folder / "also").symlink_to("scripts")
    (skill,) = read_registry(folder, staging=staging).skills
    before = skill.root.stat().st_ino
    assert read_registry(folder, staging=staging).skills[0].root.stat().st_ino == before
    if damage == "changed":
        (skill.root / "scripts/say.py").write_text("print('changed')\n", "utf-8")
    elif damage == "missing":
        (skill.root / "scripts/say.py").unlink()
    elif damage == "added":
        (skill.root / "scripts/more.py").write_text("", "utf-8")
    elif damage == "added link":
        (skill.root / "more").symlink_to("/etc")
    else:
        (skill.root / "also").unlink()
        if damage == "other link":
            (skill.root / "also").symlink_to("/etc")
    (again,) = read_registry(folder, staging=staging).skills
    assert again.root.stat().st_ino != before
    assert (again.root / "scripts/say.py").read_text() == "print('word')\n"
    assert sorted(os.listdir(again.root)) == ["SKILL.md", "also", "run.py", "scripts"]
    assert os.readlink(again.root / "also") == "scripts"
    assert os.listdir(again.root / "scripts") == ["say.py"]
    assert os.listdir(staging) == [skill.digest]


def test_two_at_once_leave_one_whole_copy(tmp_path: Path, staging: Path) -> None:
    registry = tmp_path / "registry"
    for number in range(12):
        plain(registry, f"say-{number}")
    program = (
        "import sys; from pathlib import Path; from conjunct.skills import read_registry\n"
        "r = read_registry(Path(sys.argv[1]), staging=Path(sys.argv[2]))\n"
        "assert len(r.skills) == 12 and not r.findings"
    )
    command = [sys.executable, "-c", program, str(registry), str(staging)]
    running = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert len(os.listdir(staging)) == 12
    assert not [name for name in os.listdir(staging) if name.startswith(".")]


def test_what_a_killed_run_left_is_removed_after_a_day(tmp_path: Path, staging: Path) -> None:
    folder = plain(tmp_path, "say")
    for name, age in ((".incoming-old", 100_000), (".unpacked-new", 60), ("other", 100_000)):
        (staging / name).mkdir(parents=True)
        (staging / name / "x").write_text("x", "utf-8")
        then = time.time() - age
        os.utime(staging / name, (then, then))
    (skill,) = read_registry(folder, staging=staging).skills
    assert sorted(os.listdir(staging)) == sorted([".unpacked-new", "other", skill.digest])


def test_a_pipe_in_place_of_a_manifest_is_told(tmp_path: Path, staging: Path) -> None:
    plain(tmp_path / "r", "own")
    (tmp_path / "r" / "odd").mkdir()
    os.mkfifo(tmp_path / "r" / "odd" / "SKILL.md")
    (tmp_path / "r" / "gone").symlink_to("nowhere")
    read = read_registry(tmp_path / "r", staging=staging)
    assert _ids(read) == ["own"]
    assert [(finding.code, finding.file) for finding in read.findings] == [
        ("intake.link-not-followed", "gone"),
        ("integrity.special-file", "odd/SKILL.md"),
    ]


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1", "C.UTF-8"])
def test_names_beyond_ascii_are_the_same_under_every_locale(
    locale: str, tmp_path: Path, staging: Path
) -> None:
    folder = plain(tmp_path, "wörter", description="Sagt ein Wort – schön.")
    (folder / "naïve.md").write_text("x", "utf-8")
    program = (
        "import sys; from pathlib import Path; from conjunct.skills import read_registry\n"
        "(s,) = read_registry(Path(sys.argv[1]), staging=Path(sys.argv[2])).skills\n"
        "print(ascii((s.name, s.declaration.description, [e.path for e in s.entries], s.digest)))"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program, str(folder.parent / "wörter"), str(staging)],
            env={"LC_ALL": chosen, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
            capture_output=True,
            check=True,
        ).stdout
        for chosen in (locale, "C.UTF-8")
    ]
    assert outputs[0] == outputs[1]
    assert b"w\\xf6rter" in outputs[0]


def test_a_decomposed_folder_has_its_composed_name(tmp_path: Path, staging: Path) -> None:
    folder = plain(tmp_path, unicodedata.normalize("NFD", "wörter"))
    text = (folder / "SKILL.md").read_text("utf-8")
    (folder / "SKILL.md").write_text(unicodedata.normalize("NFC", text), "utf-8")
    (skill,) = read_registry(folder, staging=staging).skills
    assert skill.name == unicodedata.normalize("NFC", "wörter")
    assert skill.findings == ()


def test_bad_paths_in_the_package_are_kept_as_bytes(tmp_path: Path, staging: Path) -> None:
    folder = plain(tmp_path, "say")
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.md")).write_text("x", "utf-8")
    (skill,) = read_registry(folder, staging=staging).skills
    assert "caf\udce9.md" in {entry.path for entry in skill.entries}
    assert (skill.root / "caf\udce9.md").exists()


def test_limits_are_findings_and_the_rest_is_read(tmp_path: Path, staging: Path) -> None:
    folder = plain(tmp_path, "say")
    (folder / "z.bin").write_bytes(b"x" * 2000)
    (skill,) = read_registry(folder, staging=staging, bounds=Bounds(file_bytes=1000)).skills
    assert _codes(skill) == {"intake.file-too-large"}
    assert (skill.root / "scripts/say.py").exists()
    (less,) = read_registry(folder, staging=staging, bounds=Bounds(package_files=2)).skills
    assert _codes(less) == {"intake.too-many-files"}
    assert len(less.entries) == 2
    assert less.digest != skill.digest


def test_a_version_control_folder_is_no_part_of_the_package(tmp_path: Path, staging: Path) -> None:
    folder = plain(tmp_path, "say")
    bare = read_registry(folder, staging=staging).skills[0]
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    (skill,) = read_registry(folder, staging=staging).skills
    assert skill.digest == bare.digest
    assert _codes(skill) == {"intake.version-control"}


def test_plugins_are_told_with_what_else_they_bring(tmp_path: Path, staging: Path) -> None:
    plugin = tmp_path / "r" / "words"
    plain(plugin / "skills", "say")
    plain(tmp_path / "r", "alone")
    (plugin / ".claude-plugin").mkdir()
    manifest = {"name": "words", "version": "1.2", "hooks": {}, "repository": "https://git.example.org/words"}
    (plugin / ".claude-plugin" / "plugin.json").write_text(json.dumps(manifest), "utf-8")
    read = read_registry(tmp_path / "r", staging=staging)
    assert read.by_id("say").source == "plugin words 1.2 (https://git.example.org/words)"
    assert _codes(read.by_id("say")) == {"declares.plugin-hooks"}
    assert (read.by_id("alone").source, read.by_id("alone").findings) == ("", ())


def test_plugins_of_a_marketplace_and_one_that_cannot_be_read(tmp_path: Path, staging: Path) -> None:
    root = tmp_path / "r"
    plain(root / "one", "say")
    (root / ".claude-plugin").mkdir()
    listed = [
        {"name": "first", "source": "./one", "version": "3"},
        {"name": "out", "source": "./../../x"},
        {"name": "far", "source": {"source": "github"}},
        7,
    ]
    market = {"name": "m", "plugins": listed}
    (root / ".claude-plugin" / "marketplace.json").write_text(json.dumps(market), "utf-8")
    assert read_registry(root, staging=staging).skills[0].source == "plugin first 3"
    (root / ".claude-plugin" / "marketplace.json").write_text("[" * 50_000, "utf-8")
    read = read_registry(root, staging=staging)
    assert [finding.code for finding in read.findings] == ["intake.plugin-manifest"]
    assert read.skills[0].source == ""


@pytest.mark.parametrize(
    "manifest",
    [
        {"tools": [{"name": "say", "description": "Says.", "inputSchema": {}}]},
        [{"type": "function", "function": {"name": "say"}}],
        {"functions": {"say": {"name": "say", "description": "Says."}}},
        {"openapi": "3.1.0", "paths": {}},
    ],
)
def test_a_manifest_of_tools_is_refused_with_the_reason(
    manifest: object, tmp_path: Path, staging: Path
) -> None:
    (tmp_path / "m").mkdir()
    file = tmp_path / "m" / "tools.json"
    file.write_text(json.dumps(manifest), "utf-8")
    for path in (file, file.parent):
        with pytest.raises(StaticManifestError, match=r"tools\.json .*no package to run"):
            read_registry(path, staging=staging)


def test_a_manifest_of_tools_beside_skills_refuses_nothing(tmp_path: Path, staging: Path) -> None:
    plain(tmp_path / "r", "say")
    (tmp_path / "r" / "tools.json").write_text('{"tools": [{"name": "a", "description": "b"}]}', "utf-8")
    assert _ids(read_registry(tmp_path / "r", staging=staging)) == ["say"]


def test_nothing_to_vet_says_so(tmp_path: Path, staging: Path) -> None:
    with pytest.raises(IntakeError, match="missing"):
        read_registry(tmp_path / "missing", staging=staging)
    (tmp_path / "empty").mkdir()
    with pytest.raises(IntakeError, match=r"no folder in it has a SKILL\.md"):
        read_registry(tmp_path / "empty", staging=staging)
    (tmp_path / "data.json").write_text('{"rows": [1, 2]}', "utf-8")
    with pytest.raises(IntakeError, match="pass a skill folder") as raised:
        read_registry(tmp_path / "data.json", staging=staging)
    assert not isinstance(raised.value, StaticManifestError)
