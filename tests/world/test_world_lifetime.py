"""A world ends with its worker, its supervisor or its `with` block, and nothing of it stays behind."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

import pytest

from conjunct.errors import WorldError
from conjunct.world import supervisor
from world.worlds import python, run, small_world, text, with_limits, works

pytestmark = pytest.mark.world


def processes_with(mark: str) -> list[int]:
    """Processes of this machine whose command line contains `mark`, ourselves excluded."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


def name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def is_ours(pid: int) -> bool:
    """Whether a process descends from this one."""
    while pid > 1:
        if pid == os.getpid():
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


def gone(mark: str, seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while processes_with(mark):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_survivors_end_with_the_world() -> None:
    with small_world() as world:
        run(world, "sh", "-c", "setsid sleep 7123.1 & setsid sleep 7123.1 &")
        assert processes_with("7123.1")
    assert gone("7123.1")


def test_everything_ends_when_the_worker_is_killed() -> None:
    worker = os.fork()
    if worker == 0:
        with small_world() as world:
            run(world, "sh", "-c", "setsid sleep 7123.2 &")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(worker, 0)
    assert gone("7123.2")


def test_a_killed_supervisor_takes_everything_along_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pids: list[int] = []
    original = supervisor.os.fork

    def fork() -> int:
        pid = original()
        pids.append(pid)
        return pid

    monkeypatch.setattr(supervisor.os, "fork", fork)
    with small_world() as world:
        run(world, "sh", "-c", "setsid sleep 7123.3 &")
        os.kill(pids[0], signal.SIGKILL)
        assert gone("7123.3")
        with pytest.raises(WorldError, match="supervisor"):
            run(world, "true")


def test_without_its_tracer_nothing_goes_on() -> None:
    with small_world() as world:
        run(world, "sh", "-c", "setsid sleep 7123.5 &")
        tracers = [
            pid for pid in processes_with("--seccomp-bpf") if is_ours(pid) and name_of(pid) == "strace"
        ]
        assert len(tracers) == 1
        os.kill(tracers[0], signal.SIGKILL)
        assert gone("7123.5")
        with pytest.raises(WorldError, match=r"gone|ended|void"):
            run(world, "true", step=1)


def test_leaving_early_does_not_wait_for_a_running_command() -> None:
    started = time.monotonic()
    with pytest.raises(TimeoutError), small_world(with_limits(command_seconds=60.0)) as world:
        signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError()))
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        run(world, "sleep", "7123.4")
    assert time.monotonic() - started < 60
    assert gone("7123.4")


def test_worlds_side_by_side_do_not_meet() -> None:
    with small_world() as first, small_world() as second:
        python(first, "import os; open('/tmp/mine', 'w'); os.mkdir('/home/sam/mine')")
        program = (
            "import os, socket\n"
            "print(os.path.exists('/tmp/mine'), os.path.exists('/home/sam/mine'))\n"
            "try:\n    socket.create_connection(('127.0.0.1', 8321), 2)\n"
            "except OSError as error:\n    print(error.errno)\n"
        )
        run(first, "sh", "-c", "setsid python3 -m http.server 8321 >/dev/null 2>&1 &", step=1)
        time.sleep(0.5)
        assert text(python(second, program)) == "False False\n111\n"
        assert works(first) and works(second)


def test_a_world_that_does_not_run_anything_needs_no_sandbox() -> None:
    started = time.monotonic()
    with small_world() as world:
        world.write("/home/sam/x", b"x")
        assert world.read("/home/sam/x") == b"x"
        record = world.finish()
    assert record.actions == () and time.monotonic() - started < 30
