"""What may cross from the unprivileged supervisor to a worker that may be root: plain values of ours only."""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.errors import WorldError
from conjunct.model import Action, ActionKind, ActorLink, ResourceClass, Touch, TouchMode
from conjunct.world.channel import Channel
from conjunct.world.spec import EffectKind, FileEffect


@contextlib.contextmanager
def pair() -> Iterator[tuple[Channel, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Channel(ours), theirs


def sent_raw(body: bytes) -> object:
    with pair() as (channel, other):
        other.sendall(struct.pack("!Q", len(body)) + body)
        other.shutdown(socket.SHUT_WR)
        return channel.receive()


@given(
    st.binary(max_size=200),
    st.text(max_size=20),
    st.sampled_from(EffectKind),
    st.sampled_from(TouchMode),
    st.integers(),
)
@settings(max_examples=50, deadline=None)
def test_values_arrive_as_they_were_sent(
    content: bytes, path: str, kind: EffectKind, mode: TouchMode, number: int
) -> None:
    action = Action(
        ActionKind.SEND,
        path,
        ResourceClass.NETWORK,
        (ActorLink("skill", path, None, 3),),
        1,
        2,
        canaries=(path,),
    )
    message = ("result", (FileEffect(path, kind, content), Touch(path, mode, True, 1, number), action, None))
    with pair() as (channel, other):
        Channel(other).send(message)
        assert channel.receive() == message


class Evil:
    def __init__(self, function: object, *arguments: object) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self.call  # type: ignore[return-value]


@pytest.mark.parametrize(
    "evil",
    [
        Evil(os.system, "true"),
        Evil(eval, "1"),
        Evil(getattr, (), "count"),
        Evil(Path, "/etc/passwd"),
        Evil(WorldError, "x"),
        Evil(open, "/etc/passwd"),
    ],
)
def test_anything_else_is_refused(evil: Evil) -> None:
    with pytest.raises(WorldError, match="may not cross"):
        sent_raw(pickle.dumps(("result", evil)))


@pytest.mark.parametrize(
    "body",
    [
        b"cconjunct.model\nPath\n(S'/'\ntR.",
        b"cconjunct.model\nhashlib.sha256\n(tR.",
        b"cconjunct.world.spec\ndataclass\n.",
        b"cconjunct.errors\nWorldError\n.",
    ],
)
def test_names_that_our_modules_merely_import_are_refused(body: bytes) -> None:
    with pytest.raises(WorldError, match=r"may not cross|cannot be read"):
        sent_raw(body)


@pytest.mark.parametrize("body", [b"", b"\x80", b"garbage", b"\x80\x05."])
def test_broken_messages_are_an_error_of_ours(body: bytes) -> None:
    with pytest.raises((WorldError, EOFError)):
        sent_raw(body)


def test_a_message_of_absurd_size_is_refused() -> None:
    with pair() as (channel, other):
        other.sendall(struct.pack("!Q", 1 << 60))
        with pytest.raises(WorldError, match="refused"):
            channel.receive()


def test_a_closed_end_is_told() -> None:
    with pair() as (channel, other):
        other.close()
        with pytest.raises(EOFError):
            channel.receive()
        with pytest.raises(WorldError, match="gone"):
            channel.send(("run", (), {}))
