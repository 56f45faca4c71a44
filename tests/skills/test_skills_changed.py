"""`--changed REF`: which skills differ from a git revision."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hostile import plain

from conjunct.errors import UsageError
from conjunct.skills import read_registry
from conjunct.skills.changed import changed_skills


def _git(folder: Path, *arguments: str) -> str:
    environment = os.environ | {
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }
    return subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    for name in ("one", "two", "three"):
        plain(folder / "skills", name)
    _git(folder, "init", "-q", "-b", "main")
    _git(folder, "add", ".")
    _git(folder, "commit", "-q", "-m", "Three skills")
    return folder


def test_nothing_changed(repository: Path) -> None:
    assert changed_skills(repository / "skills", "HEAD") == ()


def test_changed_content_new_skill_and_changed_bit_count_committed_or_not(repository: Path) -> None:
    (repository / "skills/two/scripts/say.py").write_text("print('other')\n")
    _git(repository, "commit", "-q", "-am", "Another word")
    (repository / "skills/three/scripts/say.py").chmod(0o644)
    plain(repository / "skills", "four")
    assert changed_skills(repository / "skills", "HEAD~1") == ("four", "three", "two")
    assert changed_skills(repository / "skills", "HEAD") == ("four", "three")


def test_a_removed_file_changes_its_skill_and_a_removed_skill_is_no_candidate(repository: Path) -> None:
    (repository / "skills/one/scripts/say.py").unlink()
    for path in ("scripts/say.py", "SKILL.md"):
        (repository / "skills/two" / path).unlink()
    assert changed_skills(repository / "skills", "HEAD") == ("one",)


def test_ignored_files_are_part_of_the_package(repository: Path) -> None:
    (repository / ".gitignore").write_text("*.pyc\n")
    (repository / "skills/one/scripts/say.pyc").write_bytes(b"compiled")
    assert changed_skills(repository / "skills", "HEAD") == ("one",)


def test_three_dots_mean_where_the_branch_began(repository: Path) -> None:
    _git(repository, "checkout", "-q", "-b", "work")
    (repository / "skills/one/SKILL.md").write_text("---\nname: one\ndescription: New.\n---\n")
    _git(repository, "commit", "-q", "-am", "One is new")
    _git(repository, "checkout", "-q", "main")
    (repository / "skills/two/SKILL.md").write_text("---\nname: two\ndescription: New.\n---\n")
    _git(repository, "commit", "-q", "-am", "Two is new")
    _git(repository, "checkout", "-q", "work")
    assert changed_skills(repository / "skills", "main...") == ("one",)
    assert changed_skills(repository / "skills", "main") == ("one", "two")


def test_ids_are_those_of_the_registry(repository: Path, tmp_path: Path) -> None:
    other = repository / "more" / "one"
    other.mkdir(parents=True)
    (other / "SKILL.md").write_text("---\nname: one\ndescription: Another one.\n---\n")
    registry = read_registry(repository, staging=tmp_path / "staging")
    (changed,) = changed_skills(repository, "HEAD", registry=registry)
    assert registry.by_id(changed).declaration.description == "Another one."
    assert changed.startswith("one~")


def test_nothing_that_the_repository_configures_is_run(repository: Path) -> None:
    trap = repository.parent / "sprung"
    for key in ("filter.trap.clean", "core.fsmonitor", "diff.external", "core.pager", "diff.trap.textconv"):
        _git(repository, "config", key, f"touch {trap}; cat")
    (repository / ".gitattributes").write_text("* filter=trap diff=trap\n")
    hook = repository / ".git" / "hooks" / "post-index-change"
    hook.write_text(f"#!/bin/sh\ntouch {trap}\n")
    hook.chmod(0o755)
    (repository / "skills/one/scripts/say.py").write_text("print('other')\n")
    assert changed_skills(repository / "skills", "HEAD") == ("one",)
    assert not trap.exists()


@pytest.mark.parametrize("ref", ["--output=x", "", "no-such-branch", "HEAD\nHEAD", "..."])
def test_a_revision_that_is_none_is_refused(repository: Path, ref: str) -> None:
    with pytest.raises(UsageError):
        changed_skills(repository / "skills", ref)
    assert not (repository / "skills" / "x").exists()


def test_a_folder_outside_git_is_refused(tmp_path: Path) -> None:
    plain(tmp_path)
    with pytest.raises(UsageError, match="git"):
        changed_skills(tmp_path, "HEAD")
