"""PID 1 of an episode: starts the commands, reaps everything, tells how they ended.

This file is handed to the system's Python as text and runs inside the sandbox: standard library only, no
import of this package. It listens on one inherited socket. Commands cannot kill it (it is the namespace's
init), trace it or read its memory (not dumpable), or speak for it (its socket and its nonce are nowhere
else).
"""

# Modules of the standard library would be traced, file by file, at the start of every world: only those that
# are part of the interpreter, or a single file.
import _signal as signal  # type: ignore[import-not-found]
import _socket as socket
import _struct as struct
import array
import ctypes
import marshal
import os
import resource
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CONTROL = int(sys.argv[1])
LIMIT_NAMES = ("NPROC", "DATA", "FSIZE", "NOFILE", "CORE", "STACK", "CPU")


def hide() -> None:
    """Not dumpable, and a neutral name: `/proc/1` then tells no more than on an ordinary machine."""
    libc = ctypes.CDLL(None)
    libc.prctl(4, 0, 0, 0, 0)
    libc.prctl(15, b"systemd", 0, 0, 0)
    with open("/proc/self/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    start, end = int(fields[45]), int(fields[46])
    name = b"/sbin/init\0"
    if start and end - start > len(name):
        # A last byte other than NUL makes the kernel take the region for a title that ends at the first NUL.
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, name, len(name))
        ctypes.memset(end - 1, 1, 1)


def receive(control: socket.socket) -> "tuple[Any, list[int]]":
    """The next request and its descriptors; `None` at the end of the conversation."""
    head, ancillary, _flags, _address = control.recvmsg(8, socket.CMSG_SPACE(4 * 8))
    if len(head) < 8:
        return None, []
    descriptors = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    size = struct.unpack("!Q", head)[0]
    parts = []
    while size:
        part = control.recv(min(size, 1 << 16))
        if not part:
            return None, []
        parts.append(part)
        size -= len(part)
    return marshal.loads(b"".join(parts)), list(descriptors)


def answer(control: socket.socket, **message: "str | int | list[int]") -> None:
    """Send one message to the supervisor, as JSON: it reads nothing else from inside the world."""
    body = "{" + ", ".join(f'"{name}": {text_of(value)}' for name, value in message.items()) + "}"
    control.sendall(struct.pack("!Q", len(body)) + body.encode("ascii"))


def text_of(value: "str | int | list[int]") -> str:
    """A number, a list of numbers or a plain text as JSON."""
    if not isinstance(value, str):
        return str(value)
    return '"' + "".join(letter for letter in value if " " <= letter <= "~" and letter not in '"\\') + '"'


def mark(nonce: str, what: str, step: int) -> None:
    """A call that only this program can make, in the same stream as the calls of the commands."""
    os.access(f"/.{nonce}/{what}/{step}", os.F_OK)


def start(request: "dict[str, Any]", descriptors: "list[int]", nonce: str) -> int:
    """Fork and execute one command in a session of its own."""
    pid = os.fork()
    if pid:
        for descriptor in descriptors:
            os.close(descriptor)
        return pid
    try:
        os.setsid()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
        os.closerange(3, 4096)
        for name in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGCHLD):
            signal.signal(name, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        for name, value in request["limits"].items():
            resource.setrlimit(getattr(resource, "RLIMIT_" + name), (value, value))
        os.umask(0o022)
        mark(nonce, "begin", request["step"])
        os.chdir(os.fsencode(request["cwd"]))
        argv = [os.fsencode(word) for word in request["argv"]]
        os.execvpe(argv[0], argv, {k: os.fsencode(v) for k, v in request["environment"].items()})
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        os.write(2, f"{request['argv'][0]}: {reason}\n".encode("utf-8", "backslashreplace"))
        os._exit(126 if isinstance(error, PermissionError) else 127)
    except BaseException:
        os._exit(125)
    raise AssertionError("a program was executed or the process has ended")


def others() -> "list[int]":
    """Process ids in this namespace beside our own."""
    return sorted(int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1")


def main() -> None:
    hide()
    control = socket.socket(fileno=CONTROL)
    os.set_inheritable(CONTROL, False)
    hello, _ = receive(control)
    nonce = hello["nonce"]
    mark(nonce, "hello", 0)
    answer(control, hello=os.getpid())
    wake_read, wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running = {}
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(wake_read, select.POLLIN)
    while True:
        for descriptor, _event in poll.poll():
            if descriptor == wake_read:
                os.read(wake_read, 4096)
            else:
                request, descriptors = receive(control)
                if request is None:
                    return
                if request["op"] == "run":
                    try:
                        pid = start(request, descriptors, nonce)
                        running[pid] = request["step"]
                        answer(control, started=request["step"], pid=pid)
                    except OSError as error:
                        for descriptor in descriptors:
                            os.close(descriptor)
                        answer(control, failed=request["step"], reason=error.strerror or "")
                elif request["op"] == "kill":
                    kill(set(request["spare"]))
                    answer(control, killed=1)
        reap(control, running, nonce)


def kill(spare: "set[int]") -> None:
    """Kill every process but ourselves and those in `spare`, until no other lives."""
    for _attempt in range(400):
        doomed = [pid for pid in others() if pid not in spare and not zombie(pid)]
        if not doomed:
            return
        # All at once where possible: against a fork bomb, killing by list never catches up.
        for pid in doomed if spare else (-1,):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        select.select([], [], [], 0.002)


def zombie(pid: int) -> bool:
    """Whether a process has ended and only waits to be reaped."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rsplit(b")", 1)[1].split()[0] in (b"Z", b"X")
    except OSError:
        return True


def reap(control: socket.socket, running: "dict[int, int]", nonce: str) -> None:
    """Collect ended processes; report those that were commands."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        step = running.pop(pid, None)
        if step is not None:
            mark(nonce, "end", step)
            alive = [other for other in others() if not zombie(other)]
            answer(control, ended=step, status=status, alive=alive)


main()
