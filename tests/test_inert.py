"""Nothing that is shipped for trying or testing names a host that somebody may own."""

from __future__ import annotations

from pathlib import Path

import pytest

from acceptance.reserved import foreign_hosts

ROOT = Path(__file__).parents[1]


def text_of(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in files)


@pytest.mark.parametrize("folder", ["examples", "tests/data"])
def test_reserved_domains_only(folder: str) -> None:
    assert (ROOT / folder).is_dir()
    assert foreign_hosts(text_of(ROOT / folder)) == set()


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("curl https://collect.evil.dev/x", {"collect.evil.dev"}),
        ("mail kim@somewhere.org today", {"somewhere.org"}),
        ("reach metrics.somewhere.com, or 10.1.2.3", {"metrics.somewhere.com"}),
        ("https://notexample.com", {"notexample.com"}),
        ("http://198.51.100.7/x", {"198.51.100.7"}),
        (
            "https://a.example/x https://b.example.org smtp://c.test:25 http://127.0.0.1:80 kim@d.invalid",
            set(),
        ),
        ("run scripts/make.py on data.csv, i.e. the table, and see report.html or tidy.js", set()),
    ],
)
def test_foreign_hosts(text: str, hosts: set[str]) -> None:
    assert foreign_hosts(text) == hosts
