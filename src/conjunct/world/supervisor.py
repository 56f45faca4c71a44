"""The supervisor of one episode: a process of its own that owns the namespaces, the sinkhole and the sandbox.

The worker forks it, talks to it over one channel and never touches the episode's files or processes itself.
It is PID 1 of a pid namespace that holds tracer and sandbox: whatever ends it, ends them.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from conjunct.errors import ConjunctError
from conjunct.world import kernel, stage
from conjunct.world.channel import Channel


class Service(Protocol):
    """What the supervisor serves: public methods are the requests of the worker."""

    def close(self) -> None:
        """End everything of the episode."""


def fork_supervisor(
    identity: tuple[int, int] | None, make_service: Callable[[], Service]
) -> tuple[int, Channel]:
    """Fork the supervisor; `make_service` runs in it, inside the new namespaces.

    Returns the process to wait for and the channel. The first message on it is `("ready", None)` or an error.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    worker = os.getpid()
    pid = os.fork()
    if pid:
        theirs.close()
        return pid, Channel(ours)
    try:
        _become_supervisor(theirs, identity, make_service, worker)
    except BaseException:
        os._exit(70)
    os._exit(0)


def _become_supervisor(
    end: socket.socket, identity: tuple[int, int] | None, make_service: Callable[[], Service], worker: int
) -> None:
    # A socket that the parent has forgotten would else be collected here, and close ours by its number.
    gc.freeze()
    descriptor = _keep_only(end.detach())
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN if number is signal.SIGPIPE else signal.SIG_DFL)
    channel = Channel(socket.socket(fileno=descriptor))
    try:
        stage.drop_privileges(identity)
        stage.enter_namespaces()
    except Exception as error:
        channel.send(_told(error))
        return
    inner = os.fork()
    if inner:
        channel.close()
        os.waitpid(inner, 0)
        return
    kernel.set_process_flag(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        service = make_service()
    except Exception as error:
        channel.send(_told(error))
        os._exit(0)
    channel.send(("ready", None))
    try:
        _serve(channel, service)
    finally:
        service.close()
        os._exit(0)


def _keep_only(descriptor: int) -> int:
    """Close every descriptor but this one, which becomes 3; 0 to 2 lead nowhere."""
    nowhere = os.open("/dev/null", os.O_RDWR)
    if descriptor != 3:
        os.dup2(descriptor, 3, inheritable=False)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    os.closerange(4, 1 << 16)
    return 3


def _serve(channel: Channel, service: Service) -> None:
    while True:
        try:
            name, arguments, keywords = channel.receive()
        except EOFError:
            return
        try:
            result = getattr(service, name)(*arguments, **keywords)
        except Exception as error:
            channel.send(_told(error))
        else:
            channel.send(("result", result))
        if name == "finish":
            return


def _told(error: Exception) -> tuple[str, Any]:
    if isinstance(error, ConjunctError):
        return ("error", str(error))
    where = traceback.extract_tb(error.__traceback__)[-1]
    return ("error", f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})")
