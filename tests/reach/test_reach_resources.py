"""The table of resources: each class with a path that falls into it and a near miss."""

import pytest

from conjunct.model import ResourceClass as R
from conjunct.reach.credentials import audience_of, credentials
from conjunct.reach.resources import (
    bare_host,
    classify_host,
    classify_path,
    host_matches,
    is_registry,
    is_secret_variable,
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("~/.ssh/id_rsa", R.SECRET),
        ("/home/sam/.aws/credentials", R.SECRET),
        ("$HOME/.netrc", R.SECRET),
        ("*/.ssh/id_ed25519", R.SECRET),
        ("/proc/self/environ", R.SECRET),
        ("project/.env", R.SECRET),
        (".env.example", R.WORKSPACE),
        ("~/.ssh/known_hosts", R.OWN_STATE),
        ("environment.yml", R.WORKSPACE),
        ("~/.bashrc", R.SHELL_STARTUP),
        ("~/.bashrc.d.md", R.OWN_STATE),
        ("/etc/cron.d/job", R.SCHEDULE),
        ("docs/cron.md", R.WORKSPACE),
        ("~/.claude/settings.json", R.AGENT_CONFIGURATION),
        ("CLAUDE.md", R.AGENT_MEMORY),
        ("notes-about-claude.md", R.WORKSPACE),
        ("~/.claude/projects/x/session.jsonl", R.HISTORY),
        ("~/.claude/skills/other/SKILL.md", R.OTHER_SKILL),
        ("~/Documents/tax.pdf", R.PRIVATE),
        ("~/project-x/a.txt", R.PRIVATE),
        ("~/.config/mytool/state.json", R.OWN_STATE),
        ("/tmp/x", R.TEMPORARY),
        ("/tmp/../etc/passwd", R.SYSTEM),
        ("/usr/bin/env", R.SYSTEM),
        ("out/report.md", R.WORKSPACE),
        ("*", R.UNKNOWN),
        ("", R.UNKNOWN),
        ("*/out.csv", R.UNKNOWN),
    ],
)
def test_a_path_has_one_class(path: str, expected: R) -> None:
    assert classify_path(path) is expected


def test_a_home_folder_at_an_unusual_place_is_known_when_named() -> None:
    assert classify_path("/srv/u/.ssh/id_rsa", home="/srv/u") is R.SECRET
    assert classify_path("/srv/user2/x", home="/srv/u") is R.SYSTEM


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost:8080", R.LOOPBACK),
        ("http://127.0.0.1:9/x", R.LOOPBACK),
        ("[::1]:80", R.LOOPBACK),
        ("localhost.example.com", R.NETWORK),
        ("api.example.com", R.NETWORK),
        ("*", R.UNKNOWN),
    ],
)
def test_a_host_has_one_class(host: str, expected: R) -> None:
    assert classify_host(host) is expected


def test_user_names_in_urls_do_not_hide_the_host() -> None:
    assert bare_host("https://pypi.org@evil.example.net/x") == "evil.example.net"
    assert not is_registry("https://astral.sh@evil.example.net/install.sh")


def test_registries_are_matched_as_hosts_and_prefixes() -> None:
    assert is_registry("https://pypi.org/simple")
    assert is_registry("https://astral.sh/uv/install.sh")
    assert is_registry("https://sh.rustup.rs")
    assert not is_registry("https://sh.rustup.rs.example.net/")
    assert not is_registry("https://pypi.org.example.net/")
    assert not is_registry("https://raw.githubusercontent.com/someone/x/main/i.sh")


def test_variables_that_hold_credentials_are_known_by_name() -> None:
    assert is_secret_variable("OPENAI_API_KEY")
    assert is_secret_variable("token")
    assert not is_secret_variable("MONKEY")
    assert not is_secret_variable("MAX_TOKENS")
    assert not is_secret_variable("CACHE_KEY")


def test_a_well_known_credential_has_a_fixed_audience() -> None:
    hosts = audience_of("env:GITHUB_TOKEN")
    assert hosts is not None
    assert host_matches("api.github.com", hosts)
    assert not host_matches("github.com.example.net", hosts)
    assert audience_of("~/.aws/credentials") is not None
    assert audience_of("env:FOO_API_KEY") is None


def test_files_and_globs_of_one_table_lead_to_one_audience() -> None:
    by_id = {one.id: one for one in credentials()}
    assert audience_of("~/.npmrc") == audience_of("env:NPM_TOKEN") == by_id["npm"].audience
    assert audience_of("/home/sam/.config/gh/hosts.yml") == by_id["github"].audience
    assert audience_of("~/.ssh/id_rsa") == ()
    assert audience_of("~/.config/ghost/key") is None
