"""Datagrams are told with the destination that the program asked for, whoever runs the world."""

from __future__ import annotations

import pytest

from conjunct.model import ActionKind
from world.worlds import python, resources, small_world

pytestmark = pytest.mark.world
PROGRAM = """
import socket
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.sendto(b"first", ("198.51.100.9", 9999))
two = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
two.sendto(b"second", ("203.0.113.7", 7777))
"""


def test_each_datagram_has_its_destination_and_bytes() -> None:
    with small_world() as world:
        result = python(world, PROGRAM)
        late = world.finish()
    sent = [a for a in (*result.actions, *late.actions) if a.kind is ActionKind.SEND]
    assert {(a.resource, a.excerpt.strip()) for a in sent} == {
        ("198.51.100.9:9999", "first"),
        ("203.0.113.7:7777", "second"),
    }
    assert set(resources(result, ActionKind.CONNECT)) >= {"198.51.100.9:9999", "203.0.113.7:7777"}
