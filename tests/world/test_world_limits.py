"""Limits hold for an episode as a whole, and a command that breaks one does not take the world with it."""

from __future__ import annotations

import time

import pytest

from world.worlds import python, run, small_world, text, with_limits, works

pytestmark = pytest.mark.world


def test_a_fork_bomb_ends_and_the_world_goes_on() -> None:
    program = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n"
    with small_world(with_limits(command_seconds=2.0, processes=40)) as world:
        result = python(world, program)
        assert result.record.ended in ("time-limit", "killed")
        assert result.undetermined
        assert works(world)
        assert (
            text(python(world, "import os; print(len([n for n in os.listdir('/proc') if n.isdigit()]))"))
            == "2\n"
        )


def test_the_number_of_processes_is_bounded() -> None:
    program = (
        "import os, time\nmade = 0\n"
        "try:\n"
        "    for _ in range(200):\n"
        "        if os.fork() == 0:\n"
        "            time.sleep(2); os._exit(0)\n"
        "        made += 1\n"
        "except BlockingIOError:\n    print('refused at', made, flush=True)\n"
        "os.kill(0, 9)\n"
    )
    with small_world(with_limits(processes=20)) as world:
        result = python(world, program)
        assert "refused at 1" in text(result)


def test_one_process_gets_no_more_memory_than_allowed() -> None:
    with small_world(with_limits(memory_bytes=300 << 20)) as world:
        result = python(world, "x = []\nwhile True:\n    x.append(bytearray(8 << 20))")
        assert "MemoryError" in text(result) or result.record.ended == "killed"
        assert works(world)


@pytest.mark.parametrize(
    ("what", "program"),
    [
        (
            "many processes",
            "import os, time\nfor _ in range(3): os.fork()\nx = bytearray(b'1') * (100 << 20)\ntime.sleep(4)",
        ),
        (
            "memory files",
            "import os\nkept = []\nwhile True:\n"
            "    kept.append(os.memfd_create('a'))\n    os.write(kept[-1], bytes(6 << 20))",
        ),
        (
            "shared mappings",
            "import mmap, time\nm = mmap.mmap(-1, 600 << 20)\n"
            "for i in range(0, 600 << 20, 4096): m[i] = 1\ntime.sleep(2)",
        ),
    ],
)
def test_memory_is_bounded_over_all_processes(what: str, program: str) -> None:
    with small_world(with_limits(memory_bytes=300 << 20, processes=1100)) as world:
        result = python(world, program)
        assert result.record.ended == "killed", what
        assert result.undetermined == ("ended by the memory-limit",)
        assert works(world)


def test_shared_memory_that_outlives_its_process_is_bounded() -> None:
    program = (
        "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.shmat.restype = ctypes.c_void_p\n"
        "for number in range(64):\n"
        "    segment = libc.shmget(0, 32 << 20, 0o1600)\n"
        "    if segment < 0: print('refused at', number); break\n"
        "    place = libc.shmat(segment, None, 0); ctypes.memset(place, 1, 32 << 20)\n"
        "    libc.shmdt(ctypes.c_void_p(place))\n"
    )
    with small_world(with_limits(memory_bytes=512 << 20)) as world:
        result = python(world, program)
        assert "refused at 2" in text(result)
        assert any("shared memory" in reason for reason in result.uncut)


def test_the_disk_is_bounded_wherever_one_may_write() -> None:
    program = (
        "import os\n"
        "for folder in ('/tmp', '/home/sam', '/run', '/var/tmp', '/dev/shm'):\n"
        "    total = 0\n"
        "    try:\n"
        "        for number in range(100):\n"
        "            with open(f'{folder}/f{number}', 'wb') as stream:\n"
        "                total += stream.write(bytes(1 << 20))\n"
        "    except OSError as error:\n"
        "        print(folder, error.errno, total >> 20)\n"
    )
    with small_world(with_limits(disk_bytes=16 << 20)) as world:
        lines = [line.split() for line in text(python(world, program)).splitlines()]
        assert [line[1] for line in lines] == ["28"] * 5
        assert sum(int(line[2]) for line in lines) <= 16
        run(world, "sh", "-c", "rm -f /tmp/f* ~/f* /run/f* /var/tmp/f* /dev/shm/f*")
        assert works(world)


def test_nothing_else_can_be_written() -> None:
    program = (
        "for f in ('/', '/etc', '/usr', '/usr/local', '/dev', '/var', '/opt', '/home', '/root', '/proc'):\n"
        "    try:\n        open(f + '/x', 'w'); print(f)\n    except OSError:\n        pass\n"
    )
    with small_world() as world:
        assert text(python(world, program)) == ""


def test_one_file_is_bounded() -> None:
    program = (
        "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "open('big', 'wb').write(bytes(5 << 20))\n"
    )
    with small_world(with_limits(file_bytes=4 << 20)) as world:
        result = python(world, program)
        assert "File too large" in text(result)


def test_a_flood_of_output_is_cut_and_ended() -> None:
    started = time.monotonic()
    with small_world(with_limits(output_bytes=4096, command_seconds=10.0)) as world:
        result = run(world, "yes")
        assert len(result.stdout) == 4096
        assert result.record.ended == "killed" and result.undetermined == ("ended by the output-limit",)
        assert works(world)
    assert time.monotonic() - started < 60


def test_output_below_the_flood_is_cut_without_ending_the_command() -> None:
    with small_world(with_limits(output_bytes=4096)) as world:
        result = python(world, "print('a' * 100_000)\nopen('/tmp/after', 'w')")
        assert len(result.stdout) == 4096 and result.record.ended == "exit"
        assert world.exists("/tmp/after")


def test_a_command_that_ignores_everything_is_ended_at_its_time() -> None:
    program = (
        "import os, signal, time\n"
        "for number in range(1, 64):\n"
        "    try:\n        signal.signal(number, signal.SIG_IGN)\n"
        "    except (OSError, ValueError):\n        pass\n"
        "if os.fork() == 0:\n    os.setsid()\n    os.fork()\n"
        "time.sleep(100)\n"
    )
    with small_world(with_limits(command_seconds=1.0)) as world:
        result = python(world, program)
        assert result.record.ended == "time-limit" and result.record.status is None
        assert result.record.seconds < 4
        assert works(world)
        assert not run(world, "true").record.outlived


def test_a_survivor_that_holds_the_output_does_not_hold_the_command() -> None:
    with small_world() as world:
        result = run(world, "sh", "-c", "(setsid sleep 50 &) ; echo bye")
        assert result.stdout == b"bye\n" and result.record.seconds < 3
        assert result.record.outlived and result.uncut
        listing = text(run(world, "ps", "ax", "-o", "comm"))
        assert "sleep" in listing


def test_survivors_outlive_turns_but_not_a_limit_broken_by_another_command() -> None:
    with small_world(with_limits(command_seconds=1.0)) as world:
        run(world, "sh", "-c", "setsid sleep 50 &")
        assert python(world, "while True: pass", step=1).record.ended == "time-limit"
        assert "sleep" in text(run(world, "ps", "ax", "-o", "comm", step=2))


def test_the_time_of_the_episode_is_bounded() -> None:
    with small_world(with_limits(episode_seconds=2.0)) as world:
        assert python(world, "import time; time.sleep(30)").record.ended == "time-limit"
        late = run(world, "true")
        assert late.record.ended == "not-started" and "time of the episode" in late.record.stderr


def test_a_trace_over_its_limit_is_undetermined() -> None:
    program = "import os\nfor i in range(400_000): os.access('/tmp/' + 'a' * 200, 0)"
    with small_world(with_limits(trace_bytes=1 << 20, command_seconds=20.0)) as world:
        result = python(world, program)
        assert result.undetermined


def test_a_program_that_does_not_exist_is_told_as_a_shell_would() -> None:
    with small_world() as world:
        result = run(world, "no-such-program", "--help")
        assert (result.record.ended, result.record.status) == ("exit", 127)
        assert "No such file" in text(result)


@pytest.mark.parametrize(
    "argv", [("echo", "a\0b"), ("echo", "\ud800"), ("",), ("/tmp",), ("echo", "x" * 200_000)]
)
def test_odd_words_are_the_commands_failure_not_the_worlds(argv: tuple[str, ...]) -> None:
    with small_world() as world:
        result = run(world, *argv)
        assert result.record.ended == "exit" and result.record.status in (126, 127)
        assert works(world)


def test_bytes_that_are_no_text_reach_the_program() -> None:
    with small_world() as world:
        assert run(world, "printf", "%s", "caf\udce9 ü").stdout == b"caf\xe9 \xc3\xbc"


def test_standard_input_is_given_whole_and_ends() -> None:
    with small_world() as world:
        result = run(world, "wc", "-c", stdin=b"x" * 500_000)
        assert result.stdout.strip() == b"500000"
        assert run(world, "cat").stdout == b""
