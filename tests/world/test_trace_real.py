"""Real programs under the real tracer: every escape leaves its facts."""

from __future__ import annotations

from pathlib import Path

import pytest
from trace_harness import Bench, done, touched

pytestmark = pytest.mark.world

SECRET = "/home/sam/.aws/credentials"
SCRIPT = "/home/sam/.claude/skills/one/scripts/x.py"
PRELUDE = "import ctypes, os, socket, sys\nos.chdir('/tmp')\nS = '/home/sam/.aws/credentials'\n"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def run(bench: Bench, source: str):  # type: ignore[no-untyped-def]
    bench.put(".claude/skills/one/scripts/x.py", PRELUDE + source)
    facts = bench.run("python3", SCRIPT)
    assert facts.undetermined == ()
    assert facts.processes[0].ended == "exit 0", facts.processes[0]
    return facts


@pytest.mark.parametrize(
    "source",
    [
        "open(S).read()",
        "d = os.open('/home/sam/.aws', os.O_PATH); os.open('credentials', os.O_RDONLY, dir_fd=d)",
        "d = os.open('/home/sam/.aws', os.O_RDONLY); os.fchdir(d); open('credentials')",
        "os.chdir('/home/sam/.aws'); open('../.aws/./credentials')",
        "os.symlink(S, 'innocent'); open('innocent')",
        "os.symlink('/home/sam', 'h'); open('h/.aws/credentials')",
        "p = os.open(S, os.O_PATH); open(f'/proc/self/fd/{p}')",
        "open('/proc/self/cwd/../home/sam/.aws/credentials')",
        "open('/proc/self/root/home/sam/.aws/credentials')",
        "open('/proc/%d/root/home/sam/.aws/credentials' % os.getpid())",
        "os.link(S, '/home/sam/alias'); open('/home/sam/alias')",
        "os.rename(S, '/home/sam/moved'); open('/home/sam/moved')",
        "os.rename('/home/sam/.aws', '/home/sam/moved'); open('/home/sam/moved/credentials')",
        "a = os.open(S, os.O_RDONLY); b = os.open('out', os.O_RDWR | os.O_CREAT); os.sendfile(b, a, 0, 9)",
        "a = os.open(S, os.O_RDONLY); b = os.open('o', os.O_RDWR | os.O_CREAT); os.copy_file_range(a, b, 9)",
        "os.posix_spawn('/usr/bin/cat', ['cat', S], {}); os.wait()",
        "import threading; t = threading.Thread(target=lambda: open(S)); t.start(); t.join()",
        "pid = os.fork()\nif pid == 0: open(S); os._exit(0)\nos.waitpid(pid, 0)",
        "os.execl('/usr/bin/cat', 'cat', S)",
        "os.system('cat < /home/sam/.aws/credentials > /dev/null')",
        "import threading; threading.Thread(target=lambda: os.execl('/usr/bin/cat', 'cat', S)).start()",
    ],
)
def test_every_way_to_a_file_reads_that_file(bench: Bench, source: str) -> None:
    facts = run(bench, source)
    assert ("read", SECRET) in done(facts)
    read = next(action for action in facts.actions if action.resource == SECRET)
    assert read.resource_class.value == "secret"
    assert read.skills() == ("one",)


def test_a_stat_is_a_touch_and_no_read(bench: Bench) -> None:
    facts = run(bench, "os.stat(S); os.access('/home/sam/none', os.F_OK)")
    assert ("read", SECRET) not in done(facts)
    assert (SECRET, "stat", True) in touched(facts)
    assert ("/home/sam/none", "stat", False) in touched(facts)


def test_attributes_of_a_folder_are_a_look_at_its_entries(bench: Bench) -> None:
    facts = run(bench, "os.stat('/home/sam/.claude/skills'); os.listdir('/home/sam/.aws')")
    assert ("/home/sam/.claude/skills", "list", True) in touched(facts)
    assert "/home/sam/.claude/skills" in facts.folder_stats
    assert ("/home/sam/.aws", "list", True) in touched(facts)
    assert "/home/sam/.aws" not in facts.folder_stats


def test_a_pinned_folder_tells_nothing_by_its_attributes_but_does_by_listing(bench: Bench) -> None:
    bench.episode.pinned = frozenset({"/home/sam/.claude/skills"})
    facts = run(bench, "os.stat('/home/sam/.claude/skills')")
    assert ("/home/sam/.claude/skills", "list", True) not in touched(facts)
    facts = run(bench, "os.listdir('/home/sam/.claude/skills')")
    assert ("/home/sam/.claude/skills", "list", True) in touched(facts)


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("open('/home/sam/.bashrc', 'a')", "/home/sam/.bashrc"),
        ("os.open('/home/sam/.bashrc', os.O_RDWR)", "/home/sam/.bashrc"),
        ("os.truncate('/home/sam/.bashrc', 0)", "/home/sam/.bashrc"),
        ("os.chmod('/home/sam/.bashrc', 0o600)", "/home/sam/.bashrc"),
        ("os.utime('/home/sam/.bashrc')", "/home/sam/.bashrc"),
        ("open('n', 'w'); os.replace('n', '/home/sam/.bashrc')", None),
        ("os.symlink('/dev/null', '/home/sam/.profile')", "/home/sam/.profile"),
        ("os.mkdir('/home/sam/.config')", "/home/sam/.config"),
        ("os.link('/home/sam/.bashrc', '/home/sam/b'); open('/home/sam/b', 'a')", "/home/sam/.bashrc"),
        ("import mmap; f = open('/home/sam/.bashrc', 'r+b'); mmap.mmap(f.fileno(), 0)", "/home/sam/.bashrc"),
        ("os.mkfifo('/home/sam/pipe')", "/home/sam/pipe"),
    ],
)
def test_every_change_is_a_write(bench: Bench, source: str, path: str | None) -> None:
    if path is None:
        bench.put("target", "")
        source, path = (
            "open('/home/sam/n', 'w'); os.replace('/home/sam/n', '/home/sam/target')",
            ("/home/sam/target"),
        )
    assert ("write", path) in done(run(bench, source))


def test_reading_a_file_writes_nothing(bench: Bench) -> None:
    facts = run(bench, "open('/home/sam/.bashrc').read()")
    assert not [action for action in facts.actions if action.kind.value == "write"]


def test_a_program_in_memory_is_executed_code(bench: Bench) -> None:
    source = (
        "m = os.memfd_create('x'); os.write(m, open('/usr/bin/true', 'rb').read())\n"
        "pid = os.fork()\nif pid == 0: os.execve(m, ['x'], {})\nos.waitpid(pid, 0)"
    )
    assert ("exec", "memfd:x") in done(run(bench, source))


def test_a_program_in_memory_is_found_through_its_descriptor_path(bench: Bench) -> None:
    source = (
        "m = os.memfd_create('x', 0); os.write(m, open('/usr/bin/true', 'rb').read())\n"
        "os.execve(f'/proc/self/fd/{m}', ['x'], {})"
    )
    assert ("exec", "memfd:x") in done(run(bench, source))


def test_a_descriptor_passed_over_a_socket_is_a_carrier(bench: Bench) -> None:
    source = "a, b = socket.socketpair(); f = open(S); socket.send_fds(a, [b'x'], [f.fileno()])"
    facts = run(bench, source)
    assert ("descriptor", SECRET) in {(item.kind, item.name) for item in facts.carriers_out}
    assert any("descriptor" in reason for reason in facts.assumed)


def test_watching_a_folder_is_a_look_at_its_entries(bench: Bench) -> None:
    source = "l = ctypes.CDLL(None); n = l.inotify_init(); l.inotify_add_watch(n, b'/home/sam/.aws', 2)"
    assert ("/home/sam/.aws", "list", True) in touched(run(bench, source))


def test_io_uring_is_refused_and_recorded(bench: Bench) -> None:
    facts = run(bench, "ctypes.CDLL(None).syscall(425, 8, ctypes.create_string_buffer(120))")
    refused = [action for action in facts.actions if action.kind.value == "refused"]
    assert [action.resource for action in refused] == ["io_uring_setup"]
    assert refused[0].fact("error") == "ENOSYS"


def test_mount_tables_and_other_processes_touch_everything(bench: Bench) -> None:
    source = "open('/proc/mounts'); os.listdir('/proc'); open('/proc/1/status'); open('/proc/net/tcp')"
    paths = {path for path, mode, _ in touched(run(bench, source)) if mode == "everything"}
    assert {"/proc", "/proc/1/status"} <= paths
    assert any(path.endswith("mounts") for path in paths)
    assert any("/net/" in path for path in paths)


def test_its_own_proc_entry_says_nothing(bench: Bench) -> None:
    source = "open('/proc/self/status'); os.listdir('/proc/self/fd'); open(f'/proc/{os.getpid()}/maps')"
    assert not [path for path, _, _ in touched(run(bench, source)) if path.startswith("/proc")]


def test_sockets_name_their_destination_and_inode(bench: Bench) -> None:
    source = (
        "l = socket.create_server(('127.0.0.1', 0)); s = socket.create_connection(l.getsockname())\n"
        "s.sendall(b'x'); u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "u.sendto(b'x', ('127.0.0.1', 9999))\n"
        "t = socket.socket(); t.setblocking(False); t.connect_ex(('127.0.0.1', 1))"
    )
    facts = run(bench, source)
    tcp = [item for item in facts.connections if item.protocol == "tcp"]
    udp = [item for item in facts.connections if item.protocol == "udp"]
    assert tcp[0].socket > 0 and tcp[0].source.startswith("127.0.0.1:") and tcp[0].completed
    assert udp[0].destination == "127.0.0.1:9999" and udp[0].sent
    assert ("connect", "127.0.0.1:9999") in done(facts)
    assert ("network:127.0.0.1:9999", "read", True) in touched(facts)
    assert [action for action in facts.actions if action.kind.value == "listen"]


def test_a_refused_connection_is_an_attempt(bench: Bench) -> None:
    facts = run(bench, "socket.socket().connect_ex(('127.0.0.1', 9))")
    attempt = next(action for action in facts.actions if action.kind.value == "connect")
    assert not attempt.completed and attempt.resource == "127.0.0.1:9"
    assert attempt.resource_class.value == "loopback"


def test_unix_sockets_are_carriers(bench: Bench) -> None:
    source = (
        "l = socket.socket(socket.AF_UNIX); l.bind('s'); l.listen()\n"
        "socket.socket(socket.AF_UNIX).connect('s')\n"
        "n = socket.socket(socket.AF_UNIX); n.connect_ex('/tmp/none')\n"
        "a = socket.socket(socket.AF_UNIX); a.bind(b'\\0name'); a.listen()"
    )
    facts = run(bench, source)
    assert {("unix", "/tmp/s"), ("abstract", "@name")} <= {(c.kind, c.name) for c in facts.carriers_out}
    assert ("/tmp/none", "read", False) in touched(facts)
    assert ("connect", "/tmp/s") in done(facts)


def test_a_daemon_outlives_its_command_and_keeps_its_actor(bench: Bench) -> None:
    bench.put(
        ".claude/skills/one/scripts/x.py",
        PRELUDE + "if os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n  import time; time.sleep(1)\n"
        "  open(S)\n os._exit(0)\nos.wait()\n",
    )
    # strace waits for the daemon: the trace is cut where the command itself ended.
    lines = bench.lines("python3", SCRIPT)
    root = lines[0].split(" ", 1)[0]
    cut = next(n for n, line in enumerate(lines) if line.startswith(root + " ") and "+++ exited" in line) + 1
    first = bench.read(lines[:cut])
    assert len(first.outlived) == 1 and first.undetermined == ()
    assert ("read", SECRET) not in done(first)
    other = bench.lines("true")
    renumbered = [line.replace(other[0].split(" ", 1)[0], "70001", 1) for line in other]
    second = bench.read(renumbered + lines[cut:], skill="two")
    read = next(action for action in second.actions if action.resource == SECRET)
    assert read.step == 0 and read.skills() == ("one",)
    assert second.outlived == ()


def test_signals_to_others_are_actions_and_to_children_are_not(bench: Bench) -> None:
    facts = run(bench, "pid = os.fork()\nif pid == 0: os.pause() if 0 else 0\nelse: os.kill(pid, 9)")
    assert not [action for action in facts.actions if action.kind.value == "signal"]
    facts = run(bench, "os.kill(1, 10)")
    assert ("signal", "process:init") in done(facts)


def test_code_of_a_second_package_joins_the_chain(bench: Bench) -> None:
    bench.put(".claude/skills/two/helper.py", "x = 1\n")
    bench.put(".claude/skills/two/data.json", "{}")
    path = "/home/sam/.claude/skills/two"
    facts = run(bench, f"sys.path.insert(0, {path!r}); import helper; open('/home/sam/out', 'w')")
    write = next(action for action in facts.actions if action.resource == "/home/sam/out")
    assert write.skills() == ("one", "two")
    facts = run(bench, f"open({path + '/data.json'!r}); open('/home/sam/out2', 'w')")
    write = next(action for action in facts.actions if action.resource == "/home/sam/out2")
    assert write.skills() == ("one",)


def test_a_program_left_by_another_skill_brings_its_writer(bench: Bench) -> None:
    facts = run(
        bench, "open('/tmp/tool.sh', 'w').write('cat /home/sam/.bashrc'); os.chmod('/tmp/tool.sh', 0o755)"
    )
    facts = bench.run("bash", "/tmp/tool.sh", skill="two")
    read = next(action for action in facts.actions if action.resource == "/home/sam/.bashrc")
    assert read.skills() == ("two", "one")
    assert facts.processes[0].script == "/tmp/tool.sh"


def test_data_left_by_another_skill_is_a_source_and_no_actor(bench: Bench) -> None:
    run(bench, "open('/tmp/report.csv', 'w').write('1')")
    bench.put(".claude/skills/two/read.py", "open('/tmp/report.csv'); open('/tmp/out', 'w')")
    facts = bench.run("python3", "/home/sam/.claude/skills/two/read.py", skill="two")
    write = next(action for action in facts.actions if action.resource == "/tmp/out")
    assert write.skills() == ("two",)
    assert facts.processes[0].sources == (("/tmp/report.csv", ("one",)),)


def test_scripts_by_shebang_shell_and_node_are_recognised(bench: Bench) -> None:
    bench.put(".claude/skills/one/run", "#!/usr/bin/env python3\nprint(1)\n", executable=True)
    facts = bench.run("/home/sam/.claude/skills/one/run")
    assert facts.processes[0].script == "/home/sam/.claude/skills/one/run"
    bench.put(".claude/skills/one/lib.txt", "cat /home/sam/.bashrc\n")
    bench.put(".claude/skills/one/go.sh", ". /home/sam/.claude/skills/one/lib.txt\n")
    facts = bench.run("bash", "go.sh", cwd="/home/sam/.claude/skills/one")
    assert facts.processes[0].script == "/home/sam/.claude/skills/one/go.sh"
    assert "/home/sam/.claude/skills/one/lib.txt" in facts.processes[0].code
    bench.put(".claude/skills/one/m.js", "require('./n'); require('fs').readFileSync('/home/sam/.bashrc')")
    bench.put(".claude/skills/one/n.js", "exports.a = 1")
    facts = bench.run("node", ".claude/skills/one/m.js", cwd="/home/sam")
    assert facts.processes[0].script == "/home/sam/.claude/skills/one/m.js"
    assert "/home/sam/.claude/skills/one/n.js" in facts.processes[0].code
    assert ("read", "/home/sam/.bashrc") in done(facts)


def test_a_missing_program_is_named(bench: Bench) -> None:
    facts = bench.run("bash", "-c", "gh auth status; ls >/dev/null")
    assert facts.programs_missing == ("gh",)


def test_packages_of_others_are_told_apart_from_ones_own(bench: Bench) -> None:
    facts = run(
        bench, "open('/home/sam/.claude/skills/two/x', 'w'); open('/home/sam/.claude/skills/one/x', 'w')"
    )
    classes = {action.resource: action.resource_class.value for action in facts.actions}
    assert classes["/home/sam/.claude/skills/two/x"] == "other_skill"
    assert classes["/home/sam/.claude/skills/one/x"] == "own_package"


def test_an_untraced_child_can_do_nothing_and_is_recorded(bench: Bench) -> None:
    source = (
        "l = ctypes.CDLL(None)\n"
        "if l.syscall(56, 0x00800000 | 17, 0, 0, 0, 0) == 0:\n"
        "    os._exit(7 if l.open(S.encode(), 0) >= 0 else 0)\n"
        "os._exit(os.waitstatus_to_exitcode(os.wait()[1]))"
    )
    bench.put(".claude/skills/one/scripts/x.py", PRELUDE + source)
    facts = bench.run("python3", SCRIPT)
    assert facts.processes[0].ended in ("exit 0", "signal SIGSYS")
    assert ("read", SECRET) not in done(facts)
    refused = [action.resource for action in facts.actions if action.kind.value == "refused"]
    assert len(refused) == 1 and refused[0].startswith("clone")
    assert facts.outlived == () and facts.undetermined == ()


def test_new_namespaces_are_refused_and_recorded(bench: Bench) -> None:
    facts = run(bench, "ctypes.CDLL(None).unshare(0x10000000)")
    assert [action.resource for action in facts.actions if action.kind.value == "refused"] == ["unshare"]


def test_a_path_changed_by_a_second_thread_does_not_hide_what_was_opened(bench: Bench) -> None:
    # The tracer may print either name; the descriptor that the kernel gave is what counts.
    source = (
        "import threading, time\n"
        "innocent = b'/home/sam/project/innoce.t'\n"
        "assert len(innocent) == len(S), (len(innocent), len(S))\n"
        "open(innocent, 'w').close()\n"
        "buffer = ctypes.create_string_buffer(innocent)\n"
        "def flip():\n"
        "    while not over:\n"
        "        buffer.value = S.encode(); buffer.value = innocent\n"
        "over = False; threading.Thread(target=flip, daemon=True).start()\n"
        "l = ctypes.CDLL(None); end = time.time() + 3; opened = set()\n"
        "while time.time() < end and len(opened) < 2:\n"
        "    f = l.open(buffer, 0)\n"
        "    if f >= 0: opened.add(os.readlink(f'/proc/self/fd/{f}')); os.close(f)\n"
        "over = True\n"
        "open('/home/sam/opened', 'w').write(' '.join(opened))"
    )
    facts = run(bench, source)
    opened = (bench.home / "opened").read_text().split()
    assert opened
    for path in opened:
        assert ("read", path) in done(facts)
