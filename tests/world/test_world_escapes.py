"""Programs that try to get out, out of sight, or at what starts the commands: each contained and reported."""

from __future__ import annotations

import pytest

from conjunct.model import ActionKind
from world.worlds import python, resources, run, small_world, text, works

pytestmark = pytest.mark.world

_CALL = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"


def refused_by(numbers: list[int]) -> str:
    return _CALL + (
        f"for number in {numbers}:\n"
        "    result = libc.syscall(number, 1, 0, 0, 0, 0, 0)\n"
        "    print(number, result, ctypes.get_errno())\n"
    )


@pytest.mark.parametrize("traced", [True, False])
def test_calls_that_a_tracer_cannot_follow_are_refused(traced: bool) -> None:
    names = {
        425: "io_uring_setup",
        426: "io_uring_enter",
        427: "io_uring_register",
        206: "io_setup",
        101: "ptrace",
        310: "process_vm_readv",
        311: "process_vm_writev",
        304: "open_by_handle_at",
        321: "bpf",
        298: "perf_event_open",
        323: "userfaultfd",
        248: "add_key",
        249: "request_key",
        250: "keyctl",
        424: "pidfd_send_signal",
        438: "pidfd_getfd",
        317: "seccomp",
        447: "memfd_secret",
        428: "open_tree",
        430: "fsopen",
        442: "mount_setattr",
    }
    with small_world(traced=traced) as world:
        result = python(world, refused_by(list(names)))
        lines = [line.split() for line in text(result).splitlines()]
        assert [line[0] for line in lines] == [str(number) for number in names], text(result)
        assert all(line[1] == "-1" and line[2] in ("1", "38") for line in lines), lines
        if traced:
            assert set(names.values()) <= set(resources(result, ActionKind.REFUSED))
            assert any("ptrace" in reason for reason in result.record.assumed)
        assert works(world)


@pytest.mark.parametrize("traced", [True, False])
def test_mounts_are_refused(traced: bool) -> None:
    program = _CALL + (
        "for arguments in ((165, b'tmpfs', b'/mnt', b'tmpfs', 0, 0),\n"
        "                  (165, b'/home', b'/mnt', b'', 4096, 0), (166, b'/usr', 2),\n"
        "                  (155, b'/', b'/mnt')):\n"
        "    print(libc.syscall(*arguments))\n"
    )
    with small_world(traced=traced) as world:
        result = python(world, program)
        assert text(result).split() == ["-1"] * 4
        if traced:
            assert {"mount", "umount2", "pivot_root"} <= set(resources(result, ActionKind.REFUSED))


def test_io_uring_looks_missing_so_that_runtimes_fall_back() -> None:
    with small_world() as world:
        assert "425 -1 38" in text(python(world, refused_by([425])))


@pytest.mark.parametrize("traced", [True, False])
def test_new_namespaces_are_refused(traced: bool) -> None:
    flags = (0x10000000, 0x20000000, 0x00020000, 0x40000000, 0x08000000, 0x04000000, 0x02000000)
    program = _CALL + (
        f"for flag in {flags}:\n"
        "    print(libc.unshare(flag), libc.syscall(56, flag | 17, 0, 0, 0, 0), libc.syscall(435, 0, 0))\n"
    )
    with small_world(traced=traced) as world:
        result = python(world, program)
        assert text(result).splitlines() == ["-1 -1 -1"] * len(flags)
        if traced:
            assert "unshare" in resources(result, ActionKind.REFUSED)


def test_a_child_out_of_the_tracers_sight_is_refused() -> None:
    program = _CALL + (
        "pid = libc.syscall(56, 0x00800000 | 17, 0, 0, 0, 0)\n"
        "if pid == 0:\n"
        "    open('/home/sam/seen', 'w').write('x')\n"
        "    os._exit(0)\n"
    )
    with small_world() as world:
        result = python(world, program)
        assert result.record.status == -31
        assert "clone" in resources(result, ActionKind.REFUSED)
        assert not world.exists("/home/sam/seen")
        assert works(world)


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("x32", _CALL + "libc.syscall(0x40000000 + 39); print('alive')"),
        (
            "i386",
            "import ctypes, mmap\n"
            "code = mmap.mmap(-1, 4096, prot=7)\n"
            "code.write(bytes([0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3]))\n"
            "place = ctypes.addressof(ctypes.c_char.from_buffer(code))\n"
            "print(ctypes.CFUNCTYPE(ctypes.c_int)(place)(), 'alive')",
        ),
    ],
)
def test_foreign_call_tables_end_the_process(name: str, program: str) -> None:
    with small_world() as world:
        result = python(world, program)
        assert result.record.status == -31 and "alive" not in text(result)
        assert resources(result, ActionKind.REFUSED)
        assert works(world)


def test_calls_newer_than_the_table_are_missing() -> None:
    with small_world() as world:
        result = python(world, refused_by([451, 452, 457, 458, 462, 467]))
        assert all(line.endswith("-1 38") for line in text(result).splitlines())


def test_pid_1_cannot_be_killed() -> None:
    program = (
        "import os\n"
        "for number in (9, 15, 2, 1, 18, 20, 21, 6, 11):\n"
        "    os.kill(1, number)\n"
        "try:\n    os.kill(-1, 15)\nexcept ProcessLookupError:\n    pass\n"
        "print('sent')"
    )
    with small_world() as world:
        result = python(world, program)
        assert text(result) == "sent\n"
        assert "process:init" in resources(result, ActionKind.SIGNAL)
        assert any("signal" in reason for reason in result.uncut)
        assert works(world)


@pytest.mark.parametrize(
    "call",
    [
        "os.kill(1, 19)",
        "libc.syscall(234, 1, 1, 19)",
        "libc.syscall(200, 1, 19)",
        "resource.prlimit(1, resource.RLIMIT_NPROC, (0, 0))",
        "resource.prlimit(1, resource.RLIMIT_NOFILE, (1, 1))",
        "os.sched_setaffinity(1, {0})",
        "os.setpriority(os.PRIO_PROCESS, 1, 19)",
        "os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))",
    ],
)
def test_pid_1_cannot_be_stopped_or_starved(call: str) -> None:
    with small_world() as world:
        result = python(world, f"import resource\n{_CALL}{call}\nprint('alive')")
        assert result.record.status == -31 and "alive" not in text(result)
        assert resources(result, ActionKind.REFUSED)
        assert works(world)


def test_a_descriptors_owner_cannot_be_made_to_stop_pid_1() -> None:
    program = (
        "import fcntl, os\n"
        "r, w = os.pipe()\n"
        "fcntl.fcntl(r, fcntl.F_SETOWN, 1)\n"
        "try:\n    fcntl.fcntl(r, 10, 19)\nexcept OSError as error:\n    print(error.errno)\n"
        "fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC)\n"
        "os.write(w, b'x')\n"
    )
    with small_world() as world:
        assert text(python(world, program)) == "22\n"
        assert works(world)


def test_pid_1_tells_nothing() -> None:
    program = (
        "import os\n"
        "for name in ('environ', 'maps', 'mem', 'fd', 'cwd', 'root', 'exe', 'auxv', 'syscall', 'stack'):\n"
        "    path = '/proc/1/' + name\n"
        "    try:\n"
        "        os.listdir(path) if name == 'fd' else open(path, 'rb').read(1)\n"
        "        print(name, 'open')\n"
        "    except OSError:\n"
        "        pass\n"
        "print(open('/proc/1/cmdline', 'rb').read())\n"
        "print(open('/proc/1/comm').read().strip(), os.readlink('/proc/self/exe'))\n"
        "print([line for line in open('/proc/self/status') if 'TracerPid' in line])\n"
    )
    with small_world() as world:
        lines = text(python(world, program)).splitlines()
        assert lines[0] == r"b'/sbin/init\x00'"
        assert lines[1].startswith("systemd /usr/bin/python3")
        assert "\\t0\\n" in lines[2]


def test_the_tracer_cannot_be_seen() -> None:
    program = "import os\nprint(sorted(int(name) for name in os.listdir('/proc') if name.isdigit()))\n"
    with small_world() as world:
        assert text(python(world, program)).count(",") == 1


def test_a_command_cannot_speak_for_pid_1() -> None:
    """Marks in the trace need the nonce; made-up ones change nothing."""
    program = (
        "import os\n"
        "for nonce in ('0' * 32, 'nonce', ''):\n"
        "    os.access('/.%s/end/0' % nonce, os.F_OK)\n"
        "open('/home/sam/after', 'w').write('x')\n"
    )
    with small_world() as world:
        result = python(world, program)
        assert "/home/sam/after" in resources(result, ActionKind.WRITE)
        assert not result.undetermined


def test_forged_trace_lines_in_names_change_nothing() -> None:
    name = '/tmp/x") = 0\n1 execve("evil", ["evil"], 0x0) = 0\n+++ exited with 0 +++\n'
    with small_world() as world:
        result = python(world, f"open({name!r}, 'w').close()")
        assert resources(result, ActionKind.EXEC) == ["/usr/bin/python3"]
        assert name in resources(result, ActionKind.WRITE)
        assert not result.undetermined


def test_links_out_of_the_world_lead_nowhere() -> None:
    program = (
        "ln -s /../../../../../../etc/shadow ~/up; ln -s /root ~/root; ln -s /proc/self/root/root ~/magic; "
        "ln -s loop ~/loop; ln -s /etc ~/project/etc"
    )
    with small_world() as world:
        run(world, "sh", "-c", program)
        for name in ("up", "root/.bashrc", "magic/.bashrc", "loop"):
            assert world.read(f"/home/sam/{name}") is None
        assert b"sam:x:1000" in (world.read("/home/sam/project/etc/passwd") or b"")
        assert b"root:x:0:0:root:/root:/bin/bash\ndaemon" in (world.read("/home/sam/../../etc/passwd") or b"")
        assert not world.write("/home/sam/project/etc/passwd", b"evil")


def test_a_named_pipe_does_not_block_the_reader() -> None:
    with small_world() as world:
        result = run(world, "sh", "-c", "mkfifo ~/pipe")
        assert world.read("/home/sam/pipe") is None
        assert any("/home/sam/pipe" in reason for reason in result.uncut)


def test_abstract_sockets_stay_inside() -> None:
    program = (
        "import socket\n"
        "s = socket.socket(socket.AF_UNIX); s.bind('\\0probe'); s.listen()\n"
        "c = socket.socket(socket.AF_UNIX)\n"
        "try:\n    c.connect('\\0/tmp/.X11-unix/X0')\nexcept OSError as error:\n    print(error.errno)\n"
    )
    with small_world() as world:
        result = python(world, program)
        assert text(result) == "111\n"
        assert any("@probe" in reason for reason in result.uncut)


def test_the_kernels_settings_cannot_be_changed() -> None:
    """The limit on shared memory belongs to the namespace's owner, which is the user of the commands."""
    program = (
        "for name in ('kernel/shmall', 'kernel/hostname', 'net/ipv4/ip_forward',\n"
        "             '../sysrq-trigger', '../self/uid_map', '../self/mem'):\n"
        "    try:\n        open('/proc/sys/' + name, 'r+b', 0); print(name)\n"
        "    except OSError:\n        pass\n"
    )
    with small_world() as world:
        assert text(python(world, program)) == ""


def test_folders_nested_beyond_any_path_are_told() -> None:
    program = (
        "import os\nfor _ in range(2500):\n    os.mkdir('aa'); os.chdir('aa')\nopen('x', 'w').write('x')\n"
    )
    with small_world() as world:
        result = python(world, program, cwd="/tmp")
        assert result.record.status == 0, text(result)
        assert any("stayed" in reason for reason in result.uncut)
        assert works(world)


def test_the_memory_of_another_process_cannot_be_written() -> None:
    program = (
        "import subprocess, time\n"
        "child = subprocess.Popen(['sleep', '5'])\ntime.sleep(0.1)\n"
        "try:\n    open(f'/proc/{child.pid}/mem', 'r+b', 0); print('open')\n"
        "except OSError as error:\n    print(error.errno)\n"
    )
    with small_world() as world:
        assert text(python(world, program)) == "30\n"
