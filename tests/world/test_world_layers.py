"""Layers: built once by digest, the same whoever builds them, and safe when many workers build at once."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conjunct.errors import WorldError
from conjunct.model import Declaration, Entry, Skill
from conjunct.world import layers
from conjunct.world.layers import (
    LayerEntry,
    LayerStore,
    digest_of,
    package_folders,
    safe_relative,
    skill_entries,
)

MODIFIED = 1_700_000_000
ENTRIES = (
    LayerEntry("b/c", b"text", 0o755),
    LayerEntry("a", b"x", modified_ns=5_000_000_000),
    LayerEntry(".ssh/id", b"key", 0o600),
    LayerEntry("b/link", b"../a", link=True),
    LayerEntry("empty/folder", folder=True),
)


def looks(root: Path) -> dict[str, tuple[int, int, int]]:
    return {
        str(place.relative_to(root)): (
            place.lstat().st_mode,
            place.lstat().st_mtime_ns,
            place.lstat().st_nlink,
        )
        for place in sorted(root.rglob("*"))
    }


def skill(name: str, identity: str, root: Path, *entries: Entry) -> Skill:
    return Skill(identity, name, str(root), root, identity, Declaration(name, ""), "", 1, entries)


def test_a_layer_has_pinned_modes_and_times(tmp_path: Path) -> None:
    root = LayerStore(tmp_path).build("k", ENTRIES, modified=MODIFIED)
    found = looks(root)
    assert {path: oct(look[0] & 0o7777) for path, look in found.items() if path != "b/link"} == {
        ".ssh": "0o700",
        ".ssh/id": "0o600",
        "a": "0o644",
        "b": "0o755",
        "b/c": "0o755",
        "empty": "0o755",
        "empty/folder": "0o755",
    }
    assert {look[1] for path, look in found.items() if path != "a"} == {MODIFIED * 10**9}
    assert found["a"][1] == 5 * 10**9
    assert (root / "b/link").readlink() == Path("../a")


def test_equal_entries_give_equal_layers_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        first = LayerStore(tmp_path / "one").build("k", ENTRIES, modified=MODIFIED)
    finally:
        os.umask(before)
    second = LayerStore(tmp_path / "two").build("k", reversed(ENTRIES), modified=MODIFIED)
    assert looks(first) == looks(second)


def test_a_layer_is_built_once(tmp_path: Path) -> None:
    store = LayerStore(tmp_path)

    def never() -> list[LayerEntry]:
        raise AssertionError("the layer is there already")

    first = store.build("k", ENTRIES, modified=MODIFIED)
    assert store.build("k", (never() for _ in range(1)), modified=MODIFIED) == first
    assert store.build("k", ENTRIES, modified=MODIFIED + 1) != first


def test_many_workers_build_at_once(tmp_path: Path) -> None:
    def build(number: int) -> Path:
        return LayerStore(tmp_path).build(f"k{number % 3}", ENTRIES, modified=MODIFIED)

    with ThreadPoolExecutor(8) as pool:
        places = list(pool.map(build, range(60)))
    assert len(set(places)) == 3
    assert all(looks(place) == looks(places[0]) for place in places)
    assert not list(tmp_path.glob(".new-*"))


def test_only_layers_unused_for_long_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "_KEPT", 2)
    monkeypatch.setattr(layers, "_BUILDS_BETWEEN_LOOKS", 1)
    store = LayerStore(tmp_path)
    places = [store.build(f"k{number}", ENTRIES, modified=MODIFIED) for number in range(4)]
    assert all(place.exists() for place in places)
    long_ago = time.time() - 2 * layers._UNUSED_SECONDS
    for place in places[:3]:
        os.utime(place.parent, (long_ago, long_ago))
    store.build("k1", ENTRIES, modified=MODIFIED)
    store.build("new", ENTRIES, modified=MODIFIED)
    assert [place.exists() for place in places] == [False, True, False, True]


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "", ".", "a\0b"])
def test_a_path_out_of_the_layer_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(WorldError, match="no path inside a layer"):
        LayerStore(tmp_path).build("k", [LayerEntry(path, b"x")], modified=MODIFIED)


@given(st.text(max_size=30))
def test_safe_paths_stay_inside(path: str) -> None:
    try:
        safe = safe_relative(path)
    except WorldError:
        return
    assert not safe.startswith("/") and ".." not in safe.split("/") and "\0" not in safe


def test_digests_tell_where_one_entry_ends() -> None:
    assert digest_of([LayerEntry("ab", b"c")]) != digest_of([LayerEntry("a", b"bc")])
    assert digest_of([LayerEntry("a", b""), LayerEntry("b", b"")]) != digest_of([LayerEntry("ab", b"")])


def test_skills_that_share_a_name_lie_in_folders_named_by_id(tmp_path: Path) -> None:
    one, two, three = (
        skill(name, identity, tmp_path) for name, identity in (("n", "n~1"), ("n", "n~2"), ("m", "m"))
    )
    assert package_folders((three, two, one)) == {"m": "m", "n~1": "n~1", "n~2": "n~2"}


def test_packages_are_copied_with_their_links_and_bits(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    entries = (
        Entry("run.sh", "file", 10, "", True),
        Entry("link", "link", 0, "", None, "run.sh"),
    )
    made = list(skill_entries((skill("n", "n", tmp_path, *entries),), "skills"))
    assert [(entry.path, entry.mode, entry.link) for entry in made[1:]] == [
        ("skills/n/run.sh", 0o755, False),
        ("skills/n/link", 0o777, True),
    ]


def test_a_staged_file_that_became_a_link_or_vanished_is_never_followed(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("/etc/passwd")
    for name in ("a", "gone"):
        with pytest.raises(WorldError, match="vet it again"):
            list(skill_entries((skill("n", "n", tmp_path, Entry(name, "file", 1, "", False)),), "skills"))
