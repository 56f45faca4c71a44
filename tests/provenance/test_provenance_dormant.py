"""Which lines are worth forcing, and which hosts a reader could expect."""

from __future__ import annotations

from pathlib import Path

import pytest

from conjunct.model import (
    ActionKind,
    Capability,
    Declaration,
    Guard,
    ReachableAction,
    ReachSet,
    ResourceClass,
    Skill,
)
from conjunct.provenance.declared import declared_of
from conjunct.provenance.dormant import dormant_lines, is_undeclared, network_lines

SKILL = Skill("a", "a", "a", Path("/"), "d", Declaration("a", "Formats text."), "", 5, ())


def action(
    kind: ActionKind, line: int, resource: str, class_: ResourceClass, *, file: str = "a.py", guard: int = 0
) -> ReachableAction:
    guards = (Guard("day == 13", guard),) if guard else ()
    return ReachableAction("a", kind, resource, class_, file, line, "python", guards=guards)


SEND = action(ActionKind.SEND, 9, "https://x.test/c", ResourceClass.NETWORK)
READ = action(ActionKind.READ, 4, "~/.netrc", ResourceClass.SECRET)
PLAIN = action(ActionKind.WRITE, 5, "out.txt", ResourceClass.WORKSPACE)


def reach(*actions: ReachableAction, capabilities: tuple[Capability, ...] = ()) -> ReachSet:
    return ReachSet("a", actions, capabilities)


def test_sensitive_lines_that_did_not_run_are_dormant_and_questions_come_first() -> None:
    lines = dormant_lines(SKILL, reach(READ, PLAIN, SEND), ())
    assert {one.line for one in lines} == {4, 9}
    assert not dormant_lines(SKILL, reach(READ, PLAIN, SEND), {("a.py", 4), ("a.py", 9)})


def test_a_test_on_the_line_itself_keeps_it_dormant_although_the_line_ran() -> None:
    inline = action(ActionKind.SEND, 9, "https://x.test/c", ResourceClass.NETWORK, guard=9)
    above = action(ActionKind.SEND, 9, "https://x.test/c", ResourceClass.NETWORK, guard=8)
    assert len(dormant_lines(SKILL, reach(inline), {("a.py", 9)})) == 1
    assert dormant_lines(SKILL, reach(above), {("a.py", 9)}) == ()


def test_text_is_not_code() -> None:
    in_text = action(ActionKind.SEND, 9, "https://x.test/c", ResourceClass.NETWORK, file="SKILL.md")
    assert dormant_lines(SKILL, reach(in_text), ()) == ()
    assert network_lines(reach(in_text, SEND, READ)) == {("a.py", 9)}


@pytest.mark.parametrize(
    ("kind", "host", "told"),
    [
        (ActionKind.SEND, "x.test", True),
        (ActionKind.CONNECT, "x.test", False),
        (ActionKind.SEND, "api.example.com", False),
    ],
)
def test_a_send_to_a_host_that_no_text_names_is_undeclared(kind: ActionKind, host: str, told: bool) -> None:
    named = Capability(
        ActionKind.SEND, ResourceClass.NETWORK, "api.example.com", "uploads to api.example.com", "SKILL.md", 9
    )
    assert is_undeclared(declared_of(SKILL, reach(capabilities=(named,))), kind, host) is told
