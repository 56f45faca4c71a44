"""Where a package comes from: read from text, without running git and without leading anywhere else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.model import Skill
from conjunct.provenance.foreign_lock import foreign_pins_of
from conjunct.provenance.lock import pins_of
from conjunct.provenance.origin import git_origin, origin_of, plain_repository
from conjunct.skills import read_registry

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def skill_in(folder: Path, staging: Path, front: str = "") -> Skill:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: Notes.\n{front}---\n# Notes\n")
    return read_registry(folder, staging=staging).skills[0]


def repository(folder: Path, url: str = "https://git.example.com/kim/tools.git", head: str = COMMIT) -> Path:
    git = folder / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "refs" / "heads" / "main").write_text(head + "\n")
    (git / "config").write_text(
        '[core]\n\tbare = false\n\turl = https://no.example.com/x\n[remote "mirror"]\n\turl = https://m.example/a/b\n'
        f'[remote "origin"]\n\tfetch = +refs/heads/*\n\turl = {url}\n[branch "main"]\n\tremote = origin\n'
    )
    return git


@pytest.mark.parametrize(
    ("address", "plain"),
    [
        ("https://git.example.com/kim/tools.git", "git.example.com/kim/tools"),
        ("https://kim:secret@git.example.com/kim/tools", "git.example.com/kim/tools"),
        ("git@git.example.com:kim/tools.git", "git.example.com/kim/tools"),
        ("ssh://git@git.example.com:2222/kim/tools.git/", "git.example.com/kim/tools"),
        ("git+https://git.example.com/kim/tools", "git.example.com/kim/tools"),
        ("file:///srv/tools.git", "file:/srv/tools.git"),
        ("../tools", "../tools"),
        ("https://[::1/x", "https://[::1/x"),
    ],
)
def test_an_address_is_told_plainly_and_without_credentials(address: str, plain: str) -> None:
    assert plain_repository(address) == plain


def test_the_repository_a_skill_lies_in_names_source_publisher_and_commit(tmp_path: Path) -> None:
    repository(tmp_path / "tools")
    origin = origin_of(skill_in(tmp_path / "tools" / "skills" / "notes", tmp_path / "staging"))
    assert origin.source == "git.example.com/kim/tools"
    assert origin.publisher == "git.example.com/kim"
    assert origin.basis == "git remote"
    assert origin.commit == COMMIT


def test_front_matter_is_a_claim_and_told_as_one(tmp_path: Path) -> None:
    front = "metadata:\n  author: Kim\n  version: '1.2'\nrepository: https://git.example.com/kim/notes\n"
    origin = origin_of(skill_in(tmp_path / "notes", tmp_path / "staging", front))
    assert (origin.publisher, origin.basis, origin.version) == ("Kim", "front matter", "1.2")
    assert origin.claimed_repository == "git.example.com/kim/notes"
    assert origin.source == "folder"


def test_a_plugin_manifest_names_the_publisher(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text(
        '{"name": "kit", "version": "2", "repository": "https://git.example.com/lee/kit"}'
    )
    skill_in(plugin / "skills" / "notes", tmp_path / "staging")
    skill = read_registry(plugin, staging=tmp_path / "staging").skills[0]
    origin = origin_of(skill)
    assert origin.publisher == "git.example.com/lee"
    assert origin.basis == "plugin manifest"
    assert origin.source.startswith("plugin kit 2")


@pytest.mark.parametrize(
    ("entry", "source", "publisher"),
    [
        ({"source": "lee/kit", "sourceType": "github"}, "github.com/lee/kit", "github.com/lee"),
        ({"source": "lee/kit", "sourceType": "local"}, "lee/kit", ""),
        (
            {"source": "lee/kit", "sourceUrl": "https://kim:secret@git.example.com/lee/kit.git"},
            "git.example.com/lee/kit",
            "git.example.com/lee",
        ),
    ],
)
def test_what_an_installer_recorded_tells_more_than_the_folder_it_installed_to(
    tmp_path: Path, entry: dict[str, str], source: str, publisher: str
) -> None:
    repository(tmp_path / "project")
    skill = skill_in(tmp_path / "project" / "skills" / "notes", tmp_path / "staging")
    text = json.dumps({"version": 1, "skills": {"notes": entry}})
    (tmp_path / "project" / "skills-lock.json").write_text(text)
    pin = foreign_pins_of(tmp_path / "project" / "skills")["notes"]
    origin = origin_of(skill, pin)
    assert (origin.source, origin.publisher) == (source, publisher)
    assert origin_of(skill).source == "git.example.com/kim/tools"
    (locked,) = pins_of(tmp_path / "project" / "skills")
    assert locked.source == source


def test_an_archive_does_not_take_its_origin_from_where_it_lies(tmp_path: Path) -> None:
    import zipfile

    repository(tmp_path / "tools")
    with zipfile.ZipFile(tmp_path / "tools" / "notes.zip", "w") as archive:
        archive.writestr("notes/SKILL.md", "---\nname: notes\ndescription: Notes.\n---\n# Notes\n")
    skill = read_registry(tmp_path / "tools" / "notes.zip", staging=tmp_path / "staging").skills[0]
    assert origin_of(skill).source == "archive notes.zip"
    assert origin_of(skill).commit == ""


def test_packed_references_and_other_work_trees_are_read(tmp_path: Path) -> None:
    git = repository(tmp_path / "tools")
    (git / "refs" / "heads" / "main").unlink()
    (git / "packed-refs").write_text(f"# pack-refs\n{'f' * 40} refs/heads/other\n{COMMIT} refs/heads/main\n")
    assert git_origin(tmp_path / "tools") == ("git.example.com/kim/tools", COMMIT)
    tree = git / "worktrees" / "side"
    tree.mkdir(parents=True)
    (tree / "HEAD").write_text("ref: refs/heads/main\n")
    (tree / "commondir").write_text("../..\n")
    (tmp_path / "side").mkdir()
    (tmp_path / "side" / ".git").write_text(f"gitdir: {tree}\n")
    assert git_origin(tmp_path / "side") == ("git.example.com/kim/tools", COMMIT)


def test_a_git_file_of_a_package_leads_to_no_other_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "HEAD").write_text(COMMIT)
    (secret / "config").write_text('[remote "origin"]\n\turl = https://inner.example.com/a/b\n')
    package = tmp_path / "package"
    package.mkdir()
    (package / ".git").write_text(f"gitdir: {secret}\n")
    assert "inner" not in git_origin(package)[0]
    link = tmp_path / "linked"
    (link / ".git").mkdir(parents=True)
    (link / ".git" / "config").symlink_to(secret / "config")
    (link / ".git" / "HEAD").write_text("ref: refs/../../../secret/HEAD\n")
    assert git_origin(link) == ("", "")
    whole = tmp_path / "whole"
    whole.mkdir()
    (whole / ".git").symlink_to(secret)
    assert git_origin(whole) == ("", "")


def test_a_pipe_in_place_of_a_file_blocks_nobody(tmp_path: Path) -> None:
    (tmp_path / "package" / ".git").mkdir(parents=True)
    os.mkfifo(tmp_path / "package" / ".git" / "config")
    os.mkfifo(tmp_path / "package" / ".git" / "HEAD")
    assert git_origin(tmp_path / "package") == ("", "")


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_an_address(text: str) -> None:
    assert isinstance(plain_repository(text), str)


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=200), st.text(max_size=60))
def test_any_configuration_is_read(tmp_path_factory: pytest.TempPathFactory, config: str, head: str) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text(config, encoding="utf-8", errors="replace")
    (folder / ".git" / "HEAD").write_text(head, encoding="utf-8", errors="replace")
    remote, commit = git_origin(folder)
    assert isinstance(remote, str)
    assert commit == "" or set(commit) <= set("0123456789abcdef")
