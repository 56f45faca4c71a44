"""Whom a credential of the environment is meant for."""

from __future__ import annotations

import pytest

from conjunct.run.audience import configured_hosts

SETTINGS = (
    ("FLOW_URL", "https://flow.example.org/api"),
    ("FLOW_USERNAME", "1"),
    ("OTHER_URL", "https://other.example.org"),
    ("FLOW_EMAIL", "sam@example.com"),
)


@pytest.mark.parametrize(
    ("credential", "hosts"),
    [
        ("FLOW_TOKEN", ["flow.example.org"]),
        ("OTHER_API_KEY", ["other.example.org"]),
        ("GITHUB_TOKEN", []),
        ("FLOW", []),
    ],
)
def test_a_setting_of_the_same_service_names_its_host(credential: str, hosts: list[str]) -> None:
    assert configured_hosts(credential, SETTINGS) == hosts
