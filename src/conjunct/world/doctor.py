"""Does the world keep its promises on this host? Each is tried with a small program in a real episode."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from conjunct.errors import WorldError
from conjunct.model import ActionKind
from conjunct.world.runtime import Runtime, default_folder, ensure_runtime
from conjunct.world.runtime_build import runtime_digest
from conjunct.world.sandbox import program
from conjunct.world.spec import Command, CommandResult, Limits, WorldSpec
from conjunct.world.stage import namespace_remedy
from conjunct.world.world import World, open_world

_DEBIAN = "apt-get install bubblewrap strace nftables iproute2 python3"
_MINIMUM = {"bwrap": (0, 8), "strace": (5, 12)}
"""`--disable-userns`; `--seccomp-bpf` with `--decode-pids`."""
_LIMITS = replace(Limits(), command_seconds=3.0, processes=48, memory_bytes=512 << 20, disk_bytes=16 << 20)
_REPORT = "this should never happen: please report it with the output of `conjunct doctor`"
_OLD_KERNEL = "use a kernel of 5.14 or later"


@dataclass(frozen=True, slots=True)
class Check:
    """One promise and whether this host keeps it."""

    promise: str
    ok: bool
    detail: str
    """What was seen."""
    remedy: str = ""
    """What to do, where it is not kept."""


@dataclass(frozen=True, slots=True)
class _Trial:
    """A program that tries to break one promise, and how to tell that it failed to."""

    promise: str
    source: str
    kept: Callable[[CommandResult], bool]
    remedy: str = _REPORT


def examine(*, runtime: Runtime | None = None, cache_folder: Path | None = None) -> tuple[Check, ...]:
    """Try every promise of the world on this host. Never raises for what the host refuses.

    `runtime`: by default the one of this version, if it is built; the doctor builds none.
    """
    checks = list(_host())
    if not all(check.ok for check in checks):
        return tuple(checks)
    runtime = runtime if runtime is not None else _built_runtime()
    checks.append(_provided(runtime))
    for traced in (True, False):
        title = "a traced world opens" if traced else "an untraced world opens"
        spec = WorldSpec(limits=_LIMITS, traced=traced, comparison="doctor", clock=_CLOCK)
        try:
            with open_world(spec, runtime=runtime, cache_folder=cache_folder) as world:
                first = _run(world, "print('ready')", 0)
                ready = first.stdout == b"ready\n" and not first.undetermined
                checks.append(Check(title, ready, _seen(first), "" if ready else _REPORT))
                trials = _TRIALS if traced else _UNTRACED_TRIALS
                clock = (_TIME_LEVEL,) if runtime is not None and runtime.has_clock else ()
                checks += _tried(world, (*clock, *trials))
        except WorldError as error:
            checks.append(Check(title, False, str(error), _remedy(str(error))))
    return tuple(checks)


def _built_runtime() -> Runtime | None:
    built = (default_folder() / runtime_digest()[:24] / "runtime.json").exists()
    return ensure_runtime() if built else None


def _provided(runtime: Runtime | None) -> Check:
    promise = "packages, programs and a clock are provided"
    if runtime is None:
        later = "not built yet: `conjunct setup` builds them, and the first vetting does so by itself"
        return Check(promise, True, later)
    if not runtime.has_clock:
        remedy = f"apt-get install gcc libc6-dev, remove {runtime.root}, run `conjunct setup`"
        return Check(promise, False, "there is no library for the clock: every level is assumed", remedy)
    if runtime.missing:
        remedy = f"look at the network, remove {runtime.root}, run `conjunct setup`"
        return Check(promise, False, f"missing: {', '.join(runtime.missing[:5])}", remedy)
    return Check(promise, True, str(runtime.root))


def _tried(world: World, trials: tuple[_Trial, ...]) -> Iterator[Check]:
    for step, trial in enumerate(trials, start=1):
        try:
            result = _run(world, trial.source, step)
        except WorldError as error:
            yield Check(trial.promise, False, str(error), trial.remedy)
            return
        kept = trial.kept(result)
        yield Check(trial.promise, kept, _seen(result), "" if kept else trial.remedy)


def _run(world: World, source: str, step: int) -> CommandResult:
    argv = ("python3", "-c", source)
    return world.run(Command(argv=argv, cwd=world.layout.workspace, turn=1, step=step))


def _seen(result: CommandResult) -> str:
    output = (result.stdout + result.stderr).decode("utf-8", "replace").strip().splitlines()
    said = output[-1][:120] if output else ""
    status = "" if result.record.status is None else f" {result.record.status}"
    ended = f"{result.record.ended}{status}"
    return "; ".join([part for part in (said, ended, *result.undetermined[:2]) if part])


# ---- the host


def _host() -> Iterator[Check]:
    system, machine = platform.system(), platform.machine()
    ok = system == "Linux" and machine == "x86_64"
    remedy = "" if ok else "use a Linux machine, virtual machine or container of that kind"
    yield Check("this is Linux on x86_64", ok, f"{system} on {machine}", remedy)
    if not ok:
        return
    for name in ("bwrap", "strace", "nft", "ip"):
        yield _tool(name)
    python = Path("/usr/bin/python3")
    yield Check(
        "the system has a Python for commands",
        os.access(python, os.X_OK),
        str(python),
        "" if os.access(python, os.X_OK) else "apt-get install python3",
    )


def _tool(name: str) -> Check:
    promise = f"{name} is installed"
    try:
        place = program(name)
    except WorldError as error:
        return Check(promise, False, str(error), f"Debian, Ubuntu: {_DEBIAN}")
    if name not in _MINIMUM:
        return Check(promise, True, place)
    try:
        done = subprocess.run([place, "--version"], capture_output=True, text=True, timeout=10, check=False)
        found = re.search(r"(\d+)\.(\d+)", done.stdout)
    except (OSError, subprocess.SubprocessError):
        found = None
    version = tuple(map(int, found.groups())) if found else (0, 0)
    wanted = ".".join(map(str, _MINIMUM[name]))
    seen = ".".join(map(str, version))
    if version < _MINIMUM[name]:
        remedy = f"install {name} {wanted} or later (Debian 12, Ubuntu 24.04 and later have it)"
        return Check(promise, False, f"{place}, version {seen}", remedy)
    return Check(promise, True, f"{place}, version {seen}")


def _remedy(message: str) -> str:
    if "namespace" in message or "Operation not permitted" in message or "Permission denied" in message:
        return namespace_remedy()
    if "nf_tables" in message or "nft" in message:
        return "load the kernel's packet filter: sudo modprobe nf_tables nft_redir nf_conntrack"
    if "ptrace" in message.lower() or "strace" in message:
        return (
            "allow tracing of own children: sudo sysctl -w kernel.yama.ptrace_scope=1; "
            "in a container --cap-add SYS_PTRACE"
        )
    return _REPORT


# ---- the trials

_CALL = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"


def _says(text: str) -> Callable[[CommandResult], bool]:
    return lambda result: result.stdout.decode("utf-8", "replace").strip() == text


def _does(kind: ActionKind, *names: str) -> Callable[[CommandResult], bool]:
    """Whether actions of that kind on all of these resources were recorded, and nothing was lost."""

    def kept(result: CommandResult) -> bool:
        seen = {action.resource for action in result.actions if action.kind is kind}
        return set(names) <= seen and not result.undetermined

    return kept


_CLOCK = "2031-05-06T07:08:09+00:00"
_TIME_LEVEL = _Trial(
    "programs see the clock of the level",
    "import datetime, subprocess\n"
    "print(datetime.date.today(), subprocess.check_output(['date', '+%F'], text=True).strip())\n",
    _says("2031-05-06 2031-05-06"),
    "apt-get install gcc libc6-dev, then build the runtime again with `conjunct setup`",
)
_VISIBLE = _Trial(
    "files of the host are invisible",
    "import os\n"
    f"places = ({os.getcwd()!r}, {str(Path.home())!r}, {str(Path(__file__).parent)!r}, '/boot')\n"
    "print([p for p in places if os.path.exists(p) and p not in ('/', '/root') and p[:4] != '/usr'])\n",
    _says("[]"),
)
_WRITABLE = _Trial(
    "only the home folder and temporary folders can be written",
    "for f in ('/', '/etc', '/usr', '/usr/local', '/dev', '/var', '/opt', '/home', '/root'):\n"
    "    try:\n        open(f + '/x', 'w'); print(f)\n    except OSError:\n        pass\n",
    _says(""),
)
_PRIVILEGES = _Trial(
    "processes have no privileges",
    "print({l.split()[1] for l in open('/proc/self/status') if l.startswith('Cap')})",
    _says("{'0000000000000000'}"),
)
_INIT = _Trial(
    "what starts the commands cannot be killed or read",
    "import os\nfor n in (9, 15, 2):\n    os.kill(1, n)\n"
    "try:\n    open('/proc/1/environ').read(); print('read')\nexcept OSError:\n    print('kept')\n",
    _says("kept"),
)
_PARALYSED = _Trial(
    "what starts the commands cannot be stopped",
    "import os\nos.kill(1, 19)\nprint('sent')",
    lambda result: result.record.status == -31,
    "the kernel must support seccomp filters (CONFIG_SECCOMP_FILTER)",
)
_NAMESPACES = _Trial(
    "new user namespaces and mounts are refused",
    _CALL
    + "print(libc.unshare(0x10000000), libc.mount(b'a', b'/mnt', b'tmpfs', 0, 0), libc.syscall(435, 0, 0))",
    _says("-1 -1 -1"),
    "install bubblewrap 0.8 or later",
)
_CLOSED = _Trial(
    "calls that a tracer cannot follow are refused",
    _CALL
    + "print({libc.syscall(n, 1, 0, 0, 0, 0, 0) for n in (101, 310, 304, 321, 323, 250, 425, 317, 438)})",
    _says("{-1}"),
)
_FOREIGN = _Trial(
    "foreign call tables are refused",
    _CALL + "libc.syscall(0x40000000 + 39)\nprint('passed')",
    lambda result: result.record.status == -31,
    "the kernel must support seccomp filters (CONFIG_SECCOMP_FILTER)",
)
_OUTSIDE = _Trial(
    "the network leads to the sinkhole and nowhere else",
    "import socket\nfor host, port in (('203.0.113.5', 8443), ('host.example', 5000), ('2001:db8::1', 9)):\n"
    "    s = socket.create_connection((host, port), 5); s.sendall(b'x\\n'); s.close()\nprint('sent')",
    lambda result: len({a.resource for a in result.actions if a.kind is ActionKind.SEND}) == 3,
    "the kernel needs IPv4, IPv6 and nf_tables: sudo modprobe nf_tables nft_redir nf_conntrack",
)
_PROCESSES = _Trial(
    "the number of processes is bounded",
    "import os, time\nmade = 0\ntry:\n    while made < 500:\n"
    "        if os.fork() == 0:\n            time.sleep(1); os._exit(0)\n        made += 1\n"
    "except OSError:\n    pass\nprint(made < 60, flush=True)\n",
    _says("True"),
    _OLD_KERNEL,
)
_MEMORY = _Trial(
    "memory is bounded",
    "import mmap\nm = mmap.mmap(-1, 700 << 20)\n"
    "for i in range(0, 700 << 20, 4096): m[i] = 1\nprint('had it')",
    lambda result: result.record.ended == "killed",
)
_DISK = _Trial(
    "the disk is bounded",
    "try:\n    for n in range(64): open(f'/tmp/{n}', 'wb').write(bytes(1 << 20))\n    print('had it')\n"
    "except OSError as error: print(error.errno)\n"
    "import glob, os\nfor name in glob.glob('/tmp/*'): os.remove(name)\n",
    _says("28"),
)
_TIME = _Trial(
    "a command that does not end is ended",
    "import os, signal, time\n[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 15)]\n"
    "os.fork() or os.setsid()\ntime.sleep(60)\n",
    lambda result: result.record.ended == "time-limit",
)
_TRACE = _Trial(
    "the trace is complete",
    "import os, subprocess\nopen('/home/sam/made', 'w').write('x')\nos.path.exists('/home/sam/absent')\n"
    "subprocess.run(['cat', '/home/sam/made'])\nos.remove('/home/sam/made')\n",
    lambda result: (
        _does(ActionKind.EXEC, "/usr/bin/cat")(result)
        and _does(ActionKind.DELETE, "/home/sam/made")(result)
        and any(touch.path == "/home/sam/absent" and not touch.found for touch in result.touches)
    ),
    "install strace 6 and allow tracing of own children (kernel.yama.ptrace_scope=1)",
)
_HIDDEN = _Trial(
    "a process out of the tracer's sight is refused",
    _CALL + "libc.syscall(56, 0x00800011, 0, 0, 0, 0)\nprint('passed')",
    lambda result: result.record.status == -31,
)
_REFUSALS = _Trial(
    "refused calls are recorded",
    _CALL + "libc.syscall(425, 1, 0)\nlibc.syscall(101, 16, 1, 0, 0)",
    _does(ActionKind.REFUSED, "io_uring_setup", "ptrace"),
)
_LOOK_ALIKE = _Trial(
    "the home folder looks lived in and the tracer does not show",
    "import os\nstatus = open('/proc/self/status').read()\n"
    "print(len(os.listdir('/home/sam')) > 10, 'TracerPid:\\t0' in status)\n",
    _says("True True"),
)
_END = _Trial("the world still works after all this", "print('fine')", _says("fine"))

_COMMON = (_VISIBLE, _WRITABLE, _PRIVILEGES, _INIT, _PARALYSED, _NAMESPACES, _CLOSED, _FOREIGN, _OUTSIDE)
_BOUNDS = (_PROCESSES, _MEMORY, _DISK, _TIME)
_TRIALS = (*_COMMON, _TRACE, _HIDDEN, _REFUSALS, _LOOK_ALIKE, *_BOUNDS, _END)
_UNTRACED_TRIALS = (_NAMESPACES, _CLOSED, _FOREIGN, _PARALYSED, _OUTSIDE, _END)
