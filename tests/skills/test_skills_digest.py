"""The package digest does what `docs/digest.md` says."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.model import Entry
from conjunct.skills import package_digest

A = Entry("a", "file", 1, "00" * 32, False)
B = Entry("b/c", "link", 0, "", None, "../a")


def _long_hand(complete: bytes, *entries: tuple[bytes, ...]) -> str:
    data = b"conjunct.package/1\n" + complete + len(entries).to_bytes(8, "big")
    for fields in entries:
        for value in fields:
            data += len(value).to_bytes(8, "big") + value
    return hashlib.sha256(data).hexdigest()


def test_the_digest_is_the_documented_one() -> None:
    assert package_digest([A, B]) == _long_hand(
        b"\x01", (b"a", b"file", b"0", b"1", bytes(32)), (b"b/c", b"link", b"../a")
    )
    unrecorded = Entry("\udcff", "file", 7, "", None)
    assert package_digest([unrecorded], complete=False) == _long_hand(
        b"\x00", (b"\xff", b"file", b"not recorded", b"7", b"not read")
    )


def test_order_does_not_matter_and_everything_else_does() -> None:
    assert package_digest([A, B]) == package_digest([B, A])
    others = [
        replace(A, path="A"),
        replace(A, sha256="01" * 32),
        replace(A, executable=True),
        replace(A, executable=None),
        replace(A, size=2),
        replace(B, path="a"),
    ]
    digests = {package_digest([other]) for other in (A, *others)}
    assert len(digests) == len(others) + 1
    assert package_digest([replace(B, target="../b")]) != package_digest([B])
    assert package_digest([A]) != package_digest([A], complete=False)


def test_a_path_that_is_listed_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="two entries"):
        package_digest([A, replace(A, size=9)])
    with pytest.raises(ValueError, match="files and links only"):
        package_digest([replace(A, kind="pipe")])


_ENTRIES = st.lists(
    st.builds(
        Entry,
        path=st.text("ab/\0", min_size=1, max_size=4),
        kind=st.just("link"),
        size=st.just(0),
        sha256=st.just(""),
        executable=st.none(),
        target=st.text("ab/\0", max_size=4),
    ),
    max_size=3,
    unique_by=lambda entry: entry.path,
)


@given(_ENTRIES, _ENTRIES)
@settings(max_examples=200, deadline=None)
def test_different_packages_have_different_digests(one: list[Entry], other: list[Entry]) -> None:
    assert (package_digest(one) == package_digest(other)) == (
        {(e.path, e.target) for e in one} == {(e.path, e.target) for e in other}
    )
