"""Where the links of a package end, without touching the file system."""

from __future__ import annotations

import errno
import os
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.skills.links import resolve_inside

LINKS = {
    b"door": b"../..",
    b"inner": b"sub/folder",
    b"sub/up": b"..",
    b"sub/abs": b"/etc",
    b"a": b"b",
    b"b": b"a",
}


@pytest.mark.parametrize(
    ("path", "target", "end"),
    [
        (b"x", b"sub/file", b"sub/file"),
        (b"sub/x", b"../file", b"file"),
        (b"sub/x", b"../../file", None),
        (b"x", b"/etc/passwd", None),
        (b"x", b"inner/file", b"sub/folder/file"),
        (b"x", b"inner/../file", b"sub/file"),
        (b"x", b"sub/up/file", b"file"),
        (b"x", b"sub/up/../file", None),
        (b"x", b"door/file", None),
        (b"x", b"sub/abs/passwd", None),
        (b"x", b"a", b"."),
        (b"x", b".", b"."),
        (b"sub/x", b"..", b"."),
    ],
)
def test_where_a_link_ends(path: bytes, target: bytes, end: bytes | None) -> None:
    assert resolve_inside(path, target, LINKS) == end


def test_ten_thousand_looping_links_take_no_time() -> None:
    links = {b"l%d" % number: b"l%d/./x" % ((number + 1) % 10_000) for number in range(10_000)}
    began = time.process_time()
    assert {resolve_inside(path, target, links) for path, target in links.items()} == {b"."}
    assert time.process_time() - began < 60


_PART = st.sampled_from([b"a", b"b", b"..", b"."])
_TARGET = st.lists(_PART, min_size=1, max_size=5).map(b"/".join)


@given(st.dictionaries(st.sampled_from([b"a", b"b", b"c", b"d/a", b"d/b"]), _TARGET, min_size=1))
@settings(max_examples=150, deadline=None)
def test_the_kernel_agrees_on_what_stays_inside(links: dict[bytes, bytes]) -> None:
    """What is called inside never leads out, and ends where the kernel says."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch).resolve() / "outer" / "package"
        (root / "d").mkdir(parents=True)
        for path, target in links.items():
            os.symlink(target, os.path.join(os.fsencode(root), path))
        for path, target in links.items():
            end = resolve_inside(path, target, links)
            try:
                real = os.path.realpath(os.path.join(os.fsencode(root), path), strict=True)
            except OSError as error:
                assert error.errno != errno.ELOOP or end in {b".", None}
                continue
            inside = real == os.fsencode(root) or real.startswith(os.fsencode(root) + b"/")
            assert inside or end is None
            if end not in {None, b"."}:
                assert real == os.path.join(os.fsencode(root), end or b"")
