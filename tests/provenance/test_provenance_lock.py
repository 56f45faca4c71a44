"""Locks: ours pins packages and tells drift; those of other tools are read as far as they can be."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.errors import IntakeError, UsageError
from conjunct.model import Skill
from conjunct.provenance.foreign_lock import (
    collation_key,
    compare_foreign,
    folder_hash,
    foreign_locks,
    foreign_pins,
    git_tree_hash,
    read_foreign_lock,
)
from conjunct.provenance.lock import DriftKind, drift, lock_path, pins_of, read_lock, write_lock
from conjunct.skills import read_registry


def add_skill(folder: Path, name: str = "", **files: str) -> Path:
    folder.mkdir(parents=True)
    text = f"---\nname: {name or folder.name}\ndescription: Notes.\n---\n# Notes\n"
    for path, content in {"SKILL.md": text, **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    return folder


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    folder = tmp_path / "skills"
    add_skill(folder / "notes", **{"scripts/run.py": "print(1)\n"})
    add_skill(folder / "deep" / "tables")
    return folder


def drifted(folder: Path) -> list[tuple[str, str]]:
    return [(one.kind, one.place) for one in drift(read_lock(lock_path(folder)), pins_of(folder))]


# ---- our own lock


def test_a_registry_as_locked_has_not_drifted(registry: Path) -> None:
    path, number = write_lock(registry)
    assert path == registry / "conjunct.lock"
    assert number == 2
    assert drifted(registry) == []
    before = path.read_bytes()
    write_lock(registry)
    assert path.read_bytes() == before, "writing it again changes nothing"


def test_the_path_by_which_a_registry_is_named_is_no_drift(
    registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_lock(registry)
    monkeypatch.chdir(registry)
    assert drift(read_lock(Path("conjunct.lock")), pins_of(Path())) == ()
    monkeypatch.chdir(registry.parent)
    assert drift(read_lock(registry / "conjunct.lock"), pins_of(Path("skills/"))) == ()


def test_each_kind_of_drift_is_told(registry: Path) -> None:
    write_lock(registry)
    (registry / "notes" / "scripts" / "run.py").write_text("print(2)\n")
    (registry / "notes" / "extra.md").write_text("more\n")
    (registry / "deep" / "tables").rename(registry / "tables")
    add_skill(registry / "fresh")
    assert drifted(registry) == [
        (DriftKind.ADDED, "fresh"),
        (DriftKind.CHANGED, "notes"),
        (DriftKind.MOVED, "tables"),
    ]
    changed = next(
        one for one in drift(read_lock(lock_path(registry)), pins_of(registry)) if one.place == "notes"
    )
    assert changed.files == ("+ extra.md", "~ scripts/run.py")
    shutil.rmtree(registry / "fresh")
    shutil.rmtree(registry / "tables")
    assert (DriftKind.REMOVED, "deep/tables") in drifted(registry)


def test_an_executable_bit_or_a_links_target_is_drift_and_a_time_is_none(registry: Path) -> None:
    (registry / "notes" / "link").symlink_to("SKILL.md")
    write_lock(registry)
    (registry / "notes" / "SKILL.md").touch()
    assert drifted(registry) == []
    (registry / "notes" / "scripts" / "run.py").chmod(0o755)
    (registry / "notes" / "link").unlink()
    (registry / "notes" / "link").symlink_to("scripts/run.py")
    (one,) = drift(read_lock(lock_path(registry)), pins_of(registry))
    assert one.files == ("~ link", "~ scripts/run.py")


def test_the_lock_of_a_single_skill_lies_beside_it(tmp_path: Path) -> None:
    folder = add_skill(tmp_path / "notes")
    path, _ = write_lock(folder)
    assert path == tmp_path / "notes.conjunct.lock"
    assert drift(read_lock(path), pins_of(folder)) == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no lock file"),
        ("[]", "schema"),
        ('{"schema": "conjunct.lock/9", "skills": {}}', "schema"),
        ('{"schema": "conjunct.lock/1", "skills": []}', "skills"),
        ('{"schema": "conjunct.lock/1", "skills": {"a": 1}}', "'a'"),
        ('{"schema": "conjunct.lock/1", "skills": {"a": {"digest": 1}}}', "digest"),
        ('{"schema": "conjunct.lock/1", "skills": {"a": {"digest": "ab"}}}', "64 digits"),
        ("[" * 100_000, "no lock file"),
    ],
)
def test_what_is_wrong_with_a_lock_is_said(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "conjunct.lock"
    path.write_text(text)
    with pytest.raises(UsageError, match=told) as error:
        read_lock(path)
    assert str(path) in str(error.value)


def test_a_pipe_or_link_in_place_of_the_lock_does_no_harm(registry: Path, tmp_path: Path) -> None:
    os.mkfifo(registry / "conjunct.lock")
    with pytest.raises(UsageError, match="no file"):
        read_lock(registry / "conjunct.lock")
    (registry / "conjunct.lock").unlink()
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (registry / "conjunct.lock").symlink_to(victim)
    (registry / f".conjunct.lock.{os.getpid()}").symlink_to(victim)
    with pytest.raises(UsageError, match="cannot be written"):
        write_lock(registry)
    (registry / f".conjunct.lock.{os.getpid()}").unlink()
    write_lock(registry)
    assert victim.read_text() == "mine"
    assert drifted(registry) == []


def test_no_lock_and_no_registry_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="conjunct lock DIR"):
        read_lock(tmp_path / "conjunct.lock")
    with pytest.raises(IntakeError):
        lock_path(tmp_path / "nothing")


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_lock_or_a_usage_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "conjunct.lock"
    path.write_bytes(data)
    with pytest.raises(UsageError):
        read_lock(path)


# ---- locks of other tools


def read_one(folder: Path, staging: Path) -> Skill:
    return read_registry(folder, staging=staging).skills[0]


def test_the_project_lock_is_read_and_compared(tmp_path: Path) -> None:
    # Two files, hashed as the tool does: path and content, in the order of the collation, nothing between.
    folder = add_skill(tmp_path / "notes", **{"a_b.md": "x", "a-b.md": "y", "Zed.md": "z"})
    skill = read_one(folder, tmp_path / "staging")
    manifest = (folder / "SKILL.md").read_text()
    import hashlib

    expected = hashlib.sha256(
        ("a_b.mdx" + "a-b.mdy" + "SKILL.md" + manifest + "Zed.mdz").encode()
    ).hexdigest()
    assert folder_hash(skill) == expected
    text = json.dumps(
        {
            "version": 1,
            "skills": {"notes": {"source": "kim/x", "sourceType": "github", "computedHash": expected}},
        }
    )
    (pin,) = foreign_pins(text, "skills-lock.json")
    assert pin.source == "kim/x"
    assert compare_foreign(pin, skill).matches is True
    (folder / "a_b.md").write_text("changed")
    answer = compare_foreign(pin, read_one(folder, tmp_path / "staging"))
    assert answer.matches is False
    assert "skills-lock.json" in answer.message


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_names_are_ordered_as_the_tools_runtime_orders_them() -> None:
    names = [
        "SKILL.md",
        "scripts/a_b.py",
        "scripts/a-b.py",
        "scripts/ab.py",
        "Scripts/x",
        "a/b",
        "a.b",
        "A",
        "a",
    ]
    names += [f"x{character}y" for character in " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0129azAZ"]
    script = (
        "process.stdout.write(JSON.stringify(JSON.parse(process.argv[1]).sort((a,b)=>a.localeCompare(b))))"
    )
    done = subprocess.run(
        ["node", "-e", script, json.dumps(names)],
        capture_output=True,
        text=True,
        check=True,
        env={"LC_ALL": "en_US.UTF-8", "PATH": "/usr/bin:/bin"},
    )
    assert sorted(names, key=collation_key) == json.loads(done.stdout)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_tree_of_a_package_is_the_one_git_makes(tmp_path: Path) -> None:
    folder = add_skill(tmp_path / "notes", **{"a.py": "1", "a/b.py": "2", "a-b/c/d.py": "3", "a.d/e": "4"})
    (folder / "a.py").chmod(0o755)
    (folder / "link").symlink_to("a/b.py")
    skill = read_one(folder, tmp_path / "staging")
    git = ["git", "-C", str(folder), "-c", "user.name=kim", "-c", "user.email=kim@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    tree = subprocess.run([*git, "rev-parse", "HEAD^{tree}"], check=True, capture_output=True, text=True)
    assert git_tree_hash(skill) == tree.stdout.strip()
    text = json.dumps({"version": 3, "skills": {"notes": {"skillFolderHash": tree.stdout.strip()}}})
    (pin,) = foreign_pins(text, ".skill-lock.json")
    assert compare_foreign(pin, skill).matches is True


def test_both_sides_of_a_merge_are_read() -> None:
    text = """{
  "version": 1,
  "skills": {
<<<<<<< HEAD
    "one": {"source": "a/b"}
||||||| base
    "none": {"source": "a/b"}
=======
    "two": {"source": "c/d"}
>>>>>>> topic
  }
}
"""
    assert [pin.name for pin in foreign_pins(text, "skills-lock.json")] == ["one", "two"]
    assert [p.name for p in foreign_pins(text.replace("\n", "\r\n"), "x")] == ["one", "two"]


@pytest.mark.parametrize(
    ("entry", "source", "hash_"),
    [
        ({"source": "a/b", "sourceUrl": "https://git.example.com/a/b", "skillFolderHash": "a" * 40},
         "https://git.example.com/a/b", "a" * 40),
        ({"resolved": "https://r.example.com/x.tgz", "integrity": "sha512-abc"},
         "https://r.example.com/x.tgz", ""),
        ({"source": "a/b", "sha": "a" * 40}, "a/b", ""),
        ({"source": 7, "computedHash": ["x"]}, "", ""),
        ({"source": "a/b", "computedHash": "A" * 64}, "a/b", "a" * 64),
        ({"source": "a/b", "computedHash": "a" * 63}, "a/b", ""),
    ],
)  # fmt: skip
def test_entries_of_several_tools(entry: dict[str, object], source: str, hash_: str) -> None:
    (pin,) = foreign_pins(json.dumps({"lockfileVersion": 1, "skills": {"x": entry}}), "skills.lock")
    assert (pin.source, pin.hash) == (source, hash_)
    if not hash_:
        assert compare_foreign(pin, None).matches is False


@pytest.mark.parametrize("text", ["", "null", "[]", '{"skills": []}', '{"skills": {"": {}}}', "[" * 100_000])
def test_what_is_no_lock_gives_no_pins(text: str) -> None:
    assert foreign_pins(text, "skills.lock") == ()


def test_one_bad_entry_hides_no_other() -> None:
    (pin,) = foreign_pins('{"skills": {"bad": 3, "good": {"source": "a/b"}}}', "skills.lock")
    assert pin.name == "good"


def test_locks_are_found_where_installers_put_them(tmp_path: Path) -> None:
    skills = tmp_path / "project" / ".claude" / "skills"
    add_skill(skills / "notes")
    (tmp_path / "project" / "skills-lock.json").write_text('{"version": 1, "skills": {"notes": {}}}')
    (tmp_path / "skills-lock.json").write_text("{}")
    (found,) = foreign_locks(skills)
    assert found.parent == tmp_path / "project"
    assert [pin.name for pin in read_foreign_lock(found)] == ["notes"]
    assert read_foreign_lock(tmp_path / "nothing") == ()


def test_names_beyond_ascii_are_not_guessed(tmp_path: Path) -> None:
    skill = read_one(add_skill(tmp_path / "notes", **{"é.md": "x"}), tmp_path / "staging")
    (pin,) = foreign_pins(json.dumps({"skills": {"notes": {"computedHash": "a" * 64}}}), "skills-lock.json")
    assert compare_foreign(pin, skill).matches is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["source", "computedHash", "ref", "skills", "x"]), inner, max_size=3
        )
    ),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=100) | st.builds(lambda value: json.dumps({"skills": {"a": value}}), json_values))
def test_any_text_gives_pins_or_none(text: str) -> None:
    for pin in foreign_pins(text, "skills.lock"):
        assert pin.name
        assert isinstance(compare_foreign(pin, None).message, str)
