"""What system calls without a path say: sockets, signals, shared memory."""

from __future__ import annotations

import re
from dataclasses import replace

from conjunct.model import ActionKind, ResourceClass, TouchMode
from conjunct.world.called_paths import in_own_proc
from conjunct.world.facts import Connection
from conjunct.world.file_calls import Reader
from conjunct.world.processes import TracedProcess
from conjunct.world.recorder import Recorder
from conjunct.world.resources import absolute, classify_address
from conjunct.world.strace_syntax import (
    Call,
    Endpoint,
    address,
    descriptor,
    endpoint,
    message_addresses,
    passed_descriptors,
    string,
    translated_pid,
)

_UNDERWAY = frozenset({"EINPROGRESS", "EALREADY", "EISCONN", "EINTR", "ERESTARTSYS"})
_SOCKET_ERROR = re.compile(r"\[(E[A-Z]+|\d{1,5})\]")
_DNS_PORT = ":53"
_HARMLESS_SIGNAL = frozenset({"0", "SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH"})


def _socket(call: Call) -> Endpoint:
    known = descriptor(call.argument(0))
    found = endpoint(known.other) if known is not None else None
    return found or Endpoint("unknown", 0, "", "")


def _connection(
    recorder: Recorder, process: TracedProcess, socket: Endpoint, destination: str, *, completed: bool
) -> Connection:
    return Connection(
        pid=process.pid,
        protocol=socket.protocol,
        socket=socket.inode,
        source=socket.source,
        destination=destination,
        program=process.program,
        actor=process.actor,
        turn=recorder.turn,
        step=process.step,
        line=recorder.line,
        completed=completed,
    )


def _connect(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    target = address(call.argument(1))
    if target is None:
        return
    family, name = target
    completed = call.succeeded or call.error in _UNDERWAY
    if family == "inet":
        connection = _connection(recorder, process, _socket(call), name, completed=completed)
        # A datagram socket that only connects sends nothing: resolvers do so to choose among addresses.
        acts = connection.protocol not in ("udp", "icmp")
        recorder.connect(process, connection, act=acts, underway=not call.succeeded)
    elif family in ("unix", "abstract"):
        _connect_unix(recorder, process, call, family, name, completed=completed)


def _outcome(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    """How a connection went that was started without waiting for it."""
    if call.argument(2) != "SO_ERROR" or not call.succeeded:
        return
    error = _SOCKET_ERROR.fullmatch(call.argument(3))
    if error is not None and error.group(1) != "0":
        recorder.connection_failed(process, _socket(call), error.group(1))


def _connect_unix(
    recorder: Recorder, process: TracedProcess, call: Call, family: str, name: str, *, completed: bool
) -> None:
    if family == "abstract":
        path = f"@{name}"
        recorder.touch(process, path, TouchMode.READ, found=completed)
    else:
        path = in_own_proc(process, absolute(name, process.cwd.path))
        recorder.touch(process, path, TouchMode.READ, found=call.error not in ("ENOENT", "ENOTDIR"))
    if completed:
        socket = replace(_socket(call), protocol="unix")
        recorder.connect(process, _connection(recorder, process, socket, path, completed=True), act=True)
        recorder.carry_out(process, "abstract" if family == "abstract" else "unix", path)


def _bind(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    target = address(call.argument(1))
    if target is None:
        return
    family, name = target
    if family == "unix" and name:
        path = absolute(name, process.cwd.path)
        if call.succeeded:
            recorder.write(process, path, "socket", anew=True)
        else:
            recorder.touch(process, path, TouchMode.WRITE, found=call.error == "EADDRINUSE")
    elif family == "abstract":
        recorder.touch(process, f"@{name}", TouchMode.WRITE, found=not call.succeeded)
    elif family == "inet" and name.endswith(":0"):
        process.binds_anywhere = True
    elif family == "inet":
        recorder.touch(process, f"listen:{name}", TouchMode.WRITE, found=call.error == "EADDRINUSE")
        if call.succeeded and _socket(call).protocol == "udp":
            _listens(recorder, process, name, "udp")


def _listen(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    socket = _socket(call)
    if not call.succeeded:
        return
    if socket.protocol == "unix":
        name = socket.destination or "@"
        path = absolute(name, process.cwd.path) if not name.startswith("@") else name
        resource_class = recorder.path_class(process, path)
        detail = (("protocol", "unix"),)
        recorder.act(process, ActionKind.LISTEN, path, resource_class, detail=detail)
        recorder.carry_out(process, "abstract" if path.startswith("@") else "unix", path)
    elif socket.source:
        if process.binds_anywhere:
            recorder.transient.listens(socket.source)
        _listens(recorder, process, socket.source, socket.protocol)


def _listens(recorder: Recorder, process: TracedProcess, name: str, protocol: str) -> None:
    recorder.act(process, ActionKind.LISTEN, name, classify_address(name), detail=(("protocol", protocol),))


def _sendto(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    target = address(call.argument(4))
    _sends(recorder, process, call, (target,) if target else ())


def _sendmsg(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    for passed in passed_descriptors(call.argument(1)):
        name = passed.path or passed.other
        recorder.carry_out(process, "descriptor", name)
        recorder.assumed[f"a descriptor was passed over a socket: {name}"] = None
    _sends(recorder, process, call, message_addresses(call.argument(1)))


def _sends(
    recorder: Recorder, process: TracedProcess, call: Call, targets: tuple[tuple[str, str], ...]
) -> None:
    """Note what was sent to `targets`, or to the other side of the socket where none is named."""
    socket = _socket(call)
    completed = call.succeeded or call.value is None
    if not targets and socket.destination and socket.protocol not in ("unix", "netlink"):
        targets = (("inet", socket.destination),)
    for family, name in targets:
        if family in ("unix", "abstract"):
            _connect_unix(recorder, process, call, family, name, completed=call.succeeded)
        elif family == "inet":
            _sent(recorder, process, socket, name, completed=completed)


def _sent(
    recorder: Recorder, process: TracedProcess, socket: Endpoint, destination: str, *, completed: bool
) -> None:
    if socket.protocol == "tcp":
        _learn_source(recorder, process, socket, destination)
        return
    connection = _connection(recorder, process, socket, destination, completed=completed)
    connection = replace(connection, sent=True)
    known = recorder.connections[-1] if recorder.connections else None
    if known is not None and replace(known, line=0) == replace(connection, line=0):
        return
    # A query to a resolver is no use of the network by itself; what is asked is recorded where it arrives.
    acts = socket.protocol != "udp" or not destination.endswith(_DNS_PORT)
    recorder.connect(process, connection, act=acts)


def _learn_source(recorder: Recorder, process: TracedProcess, socket: Endpoint, destination: str) -> None:
    """Fill in the source of the latest connection it can be; what was accepted was never connected here."""
    if not socket.source:
        return
    for index in range(len(recorder.connections) - 1, max(-1, len(recorder.connections) - 64), -1):
        known = recorder.connections[index]
        if known.destination != destination or known.protocol != "tcp":
            continue
        if known.source == socket.source and known.pid == process.pid:
            return
        if not known.source and known.pid == process.pid:
            recorder.connections[index] = replace(known, source=socket.source, sent=True)
            return


def _shutdown(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    socket = _socket(call)
    if socket.protocol == "tcp" and socket.destination:
        _learn_source(recorder, process, socket, socket.destination)


def _accept(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    """What comes in is the other side's connection; nothing to note but that the call is known."""


# ---- signals


def _kill(pid_index: int, signal_index: int) -> Reader:
    def read(recorder: Recorder, process: TracedProcess, call: Call) -> None:
        inside, outside = translated_pid(call.argument(pid_index))
        name = call.argument(signal_index)
        # strace does not translate the pid of a process that has ended: it may still be one of the family.
        if inside == 0 or abs(inside) in process.family:
            return
        target = recorder.table.tasks.get(abs(outside))
        if target is not None and target.step == process.step and inside != -1:
            return
        if call.error == "ESRCH":
            recorder.touch(process, f"/proc/{abs(inside)}", TouchMode.EVERYTHING, found=False)
            return
        if name == "0":
            recorder.touch(process, f"/proc/{abs(inside)}", TouchMode.EVERYTHING, found=True)
            return
        who = "every process" if inside == -1 else "init" if inside == 1 else _who(target)
        recorder.act(
            process,
            ActionKind.SIGNAL,
            f"process:{who}",
            ResourceClass.PROCESS,
            completed=call.succeeded,
            detail=(("signal", name), ("of_step", str(target.step) if target else "")),
        )
        if name not in _HARMLESS_SIGNAL:
            recorder.carry_out(process, "signal", f"process:{who}")

    return read


def _who(target: TracedProcess | None) -> str:
    return (target.script or target.program or "unnamed") if target is not None else "unknown"


def _pidfd_open(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    inside, outside = translated_pid(call.argument(0))
    target = recorder.table.tasks.get(outside)
    if target is None or target.step != process.step:
        recorder.touch(process, f"/proc/{inside}", TouchMode.EVERYTHING, found=call.succeeded)


# ---- shared memory and queues


def _system_v(kind: str) -> Reader:
    def read(recorder: Recorder, process: TracedProcess, call: Call) -> None:
        key = call.argument(0)
        if key == "IPC_PRIVATE":
            return
        name = f"sysv:{kind}:{key}"
        recorder.touch(process, name, TouchMode.WRITE, found=call.error != "ENOENT")
        if call.succeeded:
            recorder.carry_out(process, "shared-memory", name)

    return read


def _shmat(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    if call.succeeded:
        recorder.carry_out(process, "shared-memory", f"sysv:id:{call.argument(0)}")


def _queue(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    name = f"mqueue:/{(string(call.argument(0)) or '').lstrip('/')}"
    recorder.touch(process, name, TouchMode.WRITE, found=call.error != "ENOENT")
    if call.succeeded:
        recorder.carry_out(process, "shared-memory", name)


_OWN_DRAWS = frozenset({8, 24})
"""Bytes that runtimes draw at the start of every program: the C library's allocator, Python's hash tables."""


def _getrandom(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    asked = call.argument(1)
    size = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 9 else 0
    seed = (process.pid, process.executed_at, size)
    if size in _OWN_DRAWS and "GRND_NONBLOCK" in call.argument(2) and seed not in recorder.seeds:
        recorder.seeds.add(seed)
    else:
        recorder.draws = True


def _nothing(recorder: Recorder, process: TracedProcess, call: Call) -> None:
    """A call whose later uses say it all (`socket` before `connect`)."""


OTHER_CALLS: dict[str, Reader] = {
    "socket": _nothing,
    "socketpair": _nothing,
    "connect": _connect,
    "getsockopt": _outcome,
    "bind": _bind,
    "listen": _listen,
    **dict.fromkeys(("accept", "accept4"), _accept),
    "sendto": _sendto,
    **dict.fromkeys(("sendmsg", "sendmmsg"), _sendmsg),
    "shutdown": _shutdown,
    **dict.fromkeys(("kill", "tkill", "rt_sigqueueinfo"), _kill(0, 1)),
    **dict.fromkeys(("tgkill", "rt_tgsigqueueinfo"), _kill(0, 2)),
    "pidfd_open": _pidfd_open,
    "getrandom": _getrandom,
    "shmget": _system_v("shm"),
    "semget": _system_v("sem"),
    "msgget": _system_v("msg"),
    "shmat": _shmat,
    **dict.fromkeys(("mq_open", "mq_unlink"), _queue),
}
"""One reader per traced call without a path of the file system."""
