"""Whose a path is, seen from the skill that acts."""

from __future__ import annotations

import pytest

from conjunct.model import ResourceClass
from conjunct.world.resources import classify_path
from conjunct.world.spec import Layout


@pytest.mark.parametrize(
    ("skill", "path", "expected"),
    [
        ("tool", ".tool/state.json", ResourceClass.OWN_STATE),
        ("tool", ".config/tool/settings.yml", ResourceClass.OWN_STATE),
        ("aws", ".aws/credentials", ResourceClass.SECRET),
        ("bashrc", ".bashrc", ResourceClass.SHELL_STARTUP),
        ("claude", ".claude/CLAUDE.md", ResourceClass.AGENT_MEMORY),
        ("config", ".config/gh/hosts.yml", ResourceClass.SECRET),
        ("fish", ".config/fish/config.fish", ResourceClass.SHELL_STARTUP),
        ("aws", ".cache/aws/list.json", ResourceClass.OWN_STATE),
    ],
)
def test_a_name_makes_no_skill_the_owner_of_what_every_user_has(
    skill: str, path: str, expected: ResourceClass
) -> None:
    layout = Layout()
    assert classify_path(f"{layout.home}/{path}", layout, own=frozenset({skill})) is expected
