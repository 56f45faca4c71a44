"""The sandbox proper: tracer, bubblewrap and the command server, and the conversation with the latter.

Everything here runs in the supervisor: as an unprivileged user, inside the episode's own user, mount,
network, IPC and pid namespaces.
"""

from __future__ import annotations

import array
import contextlib
import json
import marshal
import os
import shutil
import socket
import struct
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from conjunct.errors import WorldError
from conjunct.world.limits import processes
from conjunct.world.processors import on_processor
from conjunct.world.seccomp import filter_program, refusal_expressions, trace_expression
from conjunct.world.spec import Command, Limits
from conjunct.world.system import HOST_LINKS, SYSTEM_FOLDERS, USER_ID, WRITABLE_FOLDERS
from conjunct.world.trace import STRACE_OPTIONS

_SEARCH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_REMEDIES = {
    "bwrap": "bubblewrap",
    "strace": "strace",
    "nft": "nftables",
    "ip": "iproute2",
    "python3": "python3",
}
_BOOTSTRAP = "import os,sys;exec(compile(open(int(sys.argv[2]),closefd=True).read(),'init','exec'))"


def program(name: str) -> str:
    """Absolute path of a program the world needs. Raises `WorldError` that names the package to install."""
    found = shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", ""), *_SEARCH)))
    if found is None:
        package = _REMEDIES.get(name, name)
        raise WorldError(f"{name} was not found: install it (Debian, Ubuntu: apt-get install {package})")
    return found


def bring_up_network(rules: str) -> None:
    """Loopback up; with `rules` (for nftables) every address is local, so that they can lead it anywhere."""
    links = ["link set lo up"]
    if rules:
        links.append("route add local 0.0.0.0/0 dev lo")
        if Path("/proc/self/net/if_inet6").exists():
            links.append("route add local ::/0 dev lo")
    _feed([program("ip"), "-batch", "-"], "\n".join(links) + "\n", "the loopback network")
    if rules:
        _feed([program("nft"), "-f", "-"], rules, "the redirection to the sinkhole")


def _feed(argv: Sequence[str], text: str, what: str) -> None:
    done = subprocess.run(argv, input=text.encode(), capture_output=True, timeout=20, check=False)
    if done.returncode:
        detail = done.stderr.decode(errors="replace").strip().splitlines()
        raise WorldError(
            f"cannot set up {what}: {detail[-1] if detail else 'no reason given'}; "
            "the kernel needs network namespaces and nf_tables (modprobe nf_tables nft_redir)"
        )


@cache
def server_source() -> bytes:
    """The program that becomes PID 1 of the world."""
    return resources.files(__package__).joinpath("init_server.py").read_bytes()


class Sandbox:
    """One running sandbox. `start` once, then `begin`, `next_message`, `kill`, and `stop`."""

    def __init__(
        self, *, root: Path, trace: Path, limits: Limits, traced: bool, nonce: str, processor: int
    ) -> None:
        """`root`: the tree whose parts the commands see; `trace`: file for the tracer's lines.

        `processor`: the one on which everything runs.
        """
        self._processor = processor
        self._root = root
        self._trace = trace
        self._limits = limits
        self._traced = traced
        self.nonce = nonce
        self.init_pid = 0
        self.own_pids: frozenset[int] = frozenset()
        """What ran before the first command: supervisor, tracer, bubblewrap, command server."""
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def start(
        self, *, binds: Sequence[tuple[str, str]], home: str, host: str, environment: Mapping[str, str]
    ) -> None:
        """Start tracer, bubblewrap and command server. Raises `WorldError` where the host refuses."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        source = _memory_file("init", server_source())
        filters = _memory_file("filter", filter_program(traced=self._traced))
        status_read, status_write = os.pipe()
        argv = self._tracer() + self._bubblewrap(binds, home, host, environment)
        argv += ["--seccomp", str(filters), "--json-status-fd", str(status_write)]
        argv += ["--", "/usr/bin/python3", "-I", "-S", "-c", _BOOTSTRAP, str(theirs.fileno()), str(source)]
        errors = os.open(
            self._trace.parent / "errors", os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600
        )
        with on_processor(self._processor):
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                pass_fds=(theirs.fileno(), source, filters, status_write),
                env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
                cwd="/",
            )
        theirs.close()
        for descriptor in (source, filters, status_write):
            os.close(descriptor)
        ours.settimeout(20)
        self._control = ours
        try:
            self._send({"nonce": self.nonce}, ())
            hello = self.next_message()
            self.init_pid = int(json.loads(os.read(status_read, 4096).split(b"\n")[0])["child-pid"])
        except (EOFError, TimeoutError, ValueError, KeyError, OSError) as error:
            self.stop()
            text = os.pread(errors, 4000, 0).decode(errors="replace").strip()
            raise WorldError(
                f"the sandbox did not start: {text or error!r}; run `conjunct doctor`"
            ) from error
        finally:
            os.close(errors)
            os.close(status_read)
        self.own_pids = processes()
        if hello != {"hello": 1}:
            raise WorldError(f"the command server is not PID 1 of the world ({hello}); run `conjunct doctor`")

    def _tracer(self) -> list[str]:
        if not self._traced:
            return []
        argv = [program("strace"), *STRACE_OPTIONS, "-I", "4"]
        argv += ["-o", str(self._trace), "-e", f"trace={trace_expression()}"]
        for expression in refusal_expressions():
            argv += ["-e", f"inject={expression}"]
        return argv

    def _bubblewrap(
        self, binds: Sequence[tuple[str, str]], home: str, host: str, environment: Mapping[str, str]
    ) -> list[str]:
        root = self._root
        argv = [program("bwrap"), "--unshare-user", "--unshare-pid", "--unshare-uts", "--share-net"]
        argv += ["--uid", str(USER_ID), "--gid", str(USER_ID), "--hostname", host]
        argv += [
            "--perms",
            "0755",
            "--dir",
            "/home",
            "--cap-drop",
            "ALL",
            "--disable-userns",
            "--as-pid-1",
            "--die-with-parent",
            "--new-session",
        ]
        argv += ["--ro-bind", str(root / "usr"), "/usr", "--size", "4096", "--tmpfs", "/usr/local"]
        for name in HOST_LINKS:
            host_name = Path("/") / name
            if host_name.is_symlink():
                argv += ["--symlink", os.fspath(host_name.readlink()), f"/{name}"]
            elif host_name.is_dir():
                argv += ["--ro-bind", f"/{name}", f"/{name}"]
        for name in SYSTEM_FOLDERS:
            argv += ["--ro-bind", str(root / name), f"/{name}"]
        argv += ["--proc", "/proc", "--dev", "/dev"]
        for name in WRITABLE_FOLDERS:
            argv += ["--bind", str(root / name), f"/{name}"]
        argv += ["--bind", str(root / home.lstrip("/")), home]
        for source, destination in binds:
            argv += ["--ro-bind", source, destination]
        argv += ["--perms", "0000", "--dir", "/root"]
        argv += [
            "--remount-ro",
            "/usr/local",
            "--remount-ro",
            "/dev",
            "--remount-ro",
            "/proc",
            "--remount-ro",
            "/",
        ]
        argv += ["--clearenv", "--chdir", "/"]
        for name, value in environment.items():
            argv += ["--setenv", name, value]
        return argv

    def begin(self, command: Command, environment: Mapping[str, str], descriptors: Sequence[int]) -> None:
        """Ask for a command to be started with `descriptors` as its 0, 1 and 2. Raises `WorldError`."""
        limits = self._limits
        request = {
            "op": "run",
            "step": command.step,
            "argv": list(command.argv),
            "cwd": command.cwd,
            "environment": dict(environment),
            "limits": {
                "NPROC": limits.processes,
                "DATA": limits.memory_bytes,
                "FSIZE": limits.file_bytes,
                "NOFILE": 1024,
                "CORE": 0,
                "STACK": 8 << 20,
            },
        }
        self._send(request, descriptors)

    def kill(self, spare: Sequence[int] = ()) -> None:
        """Ask for every process but the command server and `spare` (pids as seen inside) to be killed."""
        self._send({"op": "kill", "spare": list(spare)}, ())

    def _send(self, message: dict[str, Any], descriptors: Sequence[int]) -> None:
        assert self._control is not None
        # The second version of the format is read by every Python 3.
        body = marshal.dumps(message, 2)
        rights = array.array("i", descriptors)
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)] if descriptors else []
        try:
            self._control.sendmsg([struct.pack("!Q", len(body))], ancillary)
            self._control.sendall(body)
        except OSError as error:
            raise WorldError(f"the command server of the world is gone ({error.strerror})") from error

    def fileno(self) -> int:
        """The descriptor on which messages of the command server arrive."""
        assert self._control is not None
        return self._control.fileno()

    def next_message(self) -> dict[str, Any]:
        """The next message of the command server. Raises `EOFError` when it is gone, `TimeoutError`."""
        assert self._control is not None
        size = struct.unpack("!Q", self._exactly(8))[0]
        message = json.loads(self._exactly(min(size, 1 << 20)))
        if not isinstance(message, dict):
            raise WorldError("the command server of the world sent no message of ours")
        return message

    def _exactly(self, size: int) -> bytes:
        assert self._control is not None
        parts = b""
        while len(parts) < size:
            part = self._control.recv(size - len(parts))
            if not part:
                raise EOFError("the command server of the world is gone")
            parts += part
        return parts

    def alive(self) -> bool:
        """Whether tracer and sandbox still run."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Kill everything that runs inside, the tracer last, so that its last lines are written."""
        if self._control is not None:
            self._control.close()
            self._control = None
        process = self._process
        if process is None:
            return
        if self.init_pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.init_pid, 9)
        try:
            process.wait(timeout=5 if self.init_pid else 0.2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._process = None


def _memory_file(name: str, content: bytes) -> int:
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
