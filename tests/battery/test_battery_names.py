"""Hosts, addresses and accounts in text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.battery.names import (
    accounts,
    addresses,
    is_named,
    label_named,
    links,
    names_in,
    split_host,
)


@pytest.mark.parametrize(
    ("resource", "host", "port"),
    [
        ("stats.example.net:443", "stats.example.net", "443"),
        ("Stats.Example.Net.", "stats.example.net", ""),
        ("[2001:db8::1]:25", "2001:db8::1", "25"),
        ("2001:db8::1", "2001:db8::1", ""),
        ("https://user@host.example.org:8443/path?x=1", "host.example.org", "8443"),
        ("", "", ""),
    ],
)
def test_hosts_and_ports(resource: str, host: str, port: str) -> None:
    assert split_host(resource) == (host, port)


def test_names_in_running_text() -> None:
    text = "See https://docs.example.org/a.html, write to Robin@Example.com, or use 192.0.2.7:80 (localhost)."
    found = names_in(text)
    assert {"docs.example.org", "robin@example.com", "example.com", "192.0.2.7", "localhost"} <= found
    assert "write" not in found


def test_a_file_name_is_no_link() -> None:
    assert links("report.md and https://a.example.org/x") == {"a.example.org"}
    assert addresses("a@b, robin@example.com, mailto:kim@example.net") == {
        "robin@example.com",
        "kim@example.net",
    }


def test_accounts() -> None:
    wallet = "0x00112233445566778899aabbccddeeff00112233"
    assert accounts(f"pay {wallet} or XE12345678901234567890, not 12345") == {
        wallet,
        "XE12345678901234567890",
    }


def test_a_domain_names_its_hosts_and_no_others() -> None:
    assert is_named("api.files.example.net", {"files.example.net"})
    assert not is_named("example.net", {"files.example.net"})
    assert not is_named("evilfiles.example.net", {"files.example.net"})
    assert not is_named("files.example.net.evil.test", {"files.example.net"})
    assert not is_named("a.test", {"test"})
    assert not is_named("10.0.2.7", {"2.7"})


def test_globs_among_names() -> None:
    assert is_named("eu.cloud.example", {"*.cloud.example"})
    assert not is_named("cloud.example.evil.test", {"*.cloud.example"})


def test_a_label_names_a_service_only_as_a_word_of_its_own() -> None:
    assert label_named("rest.genebook.test", "Asks Genebook for genes.")
    assert not label_named("rest.genebook.test", "Reads genebooks.")
    assert not label_named("api.data.test", "Formats data.")
    assert not label_named("192.0.2.7", "Uses 192.0.2.7")
    assert not label_named("ab.test", "ab")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=120))
def test_any_text_has_names_without_white_space(text: str) -> None:
    for name in names_in(text) | addresses(text) | links(text):
        assert name
        assert not any(letter.isspace() for letter in name)


def test_hostile_text_takes_linear_time() -> None:
    start = time.process_time()
    for text in ("a." * 400_000, "@" * 800_000, "://" * 250_000, "a" * 900_000, "[:" * 400_000):
        names_in(text)
        addresses(text)
        accounts(text)
        links(text)
    assert time.process_time() - start < 40
