"""The closed table of system calls and the reader of traces agree."""

from __future__ import annotations

import pytest

from conjunct.world.seccomp import call_table
from conjunct.world.spec import Command, Layout
from conjunct.world.trace import UNDERSTOOD, EpisodeTrace, parse_command

LAYOUT = Layout()
PATH = "/home/sam/private/file"
AT = "AT_FDCWD</home/sam/project>, "
FD = f"3<{PATH}>"
Q = f'"{PATH}"'

SAMPLES = {
    "open": f"{Q}, O_RDONLY) = 3<{PATH}>",
    "openat": f"{AT}{Q}, O_RDONLY) = 3<{PATH}>",
    "openat2": f"{AT}{Q}, {{flags=O_RDONLY, resolve=0}}, 24) = 3<{PATH}>",
    "creat": f"{Q}, 0644) = 3<{PATH}>",
    "newfstatat": f"{AT}{Q}, {{st_mode=S_IFREG|0644, st_size=1, ...}}, 0) = 0",
    "statx": f"{AT}{Q}, AT_STATX_SYNC_AS_STAT, STATX_ALL, {{stx_mask=STATX_ALL, ...}}) = 0",
    "faccessat": f"{AT}{Q}, F_OK) = 0",
    "faccessat2": f"{AT}{Q}, F_OK, AT_EACCESS) = 0",
    "readlinkat": f'{AT}{Q}, "x", 4096) = 1',
    "name_to_handle_at": f"{AT}{Q}, {{handle_bytes=12}}, [1], 0) = 0",
    "inotify_add_watch": f"4<anon_inode:inotify>, {Q}, IN_MODIFY) = 1",
    "fchdir": f"{FD}) = 0",
    "symlink": f'"x", {Q}) = 0',
    "symlinkat": f'"x", {AT}{Q}) = 0',
    "rename": f'{Q}, "/home/sam/y") = 0',
    "renameat": f'{AT}{Q}, {AT}"/home/sam/y") = 0',
    "renameat2": f'{AT}{Q}, {AT}"/home/sam/y", RENAME_NOREPLACE) = 0',
    "link": f'{Q}, "/home/sam/y") = 0',
    "linkat": f'{AT}{Q}, {AT}"/home/sam/y", 0) = 0',
    "utimensat": f"{AT}{Q}, NULL, 0) = 0",
    "futimesat": f"{AT}{Q}, NULL) = 0",
    "execve": f'{Q}, ["x"], 0x1 /* 0 vars */) = 0',
    "execveat": f'{AT}{Q}, ["x"], 0x1 /* 0 vars */, 0) = 0',
    **dict.fromkeys(("mkdirat", "mknodat", "fchmodat", "unlinkat", "fchownat"), f"{AT}{Q}, 0644) = 0"),
}
ON_DESCRIPTORS = {"change", "listing"}
WITHOUT_PATH = {"fgetxattr", "flistxattr"}


def facts_of(line: str) -> set[str]:
    lines = ['9 execve("/usr/bin/x", ["x"], 0x1 /* 0 vars */) = 0', f"9 {line}", "9 +++ exited with 0 +++"]
    command = Command(("x",), LAYOUT.workspace, turn=1, step=0)
    facts = parse_command(lines, episode=EpisodeTrace(LAYOUT), command=command, root_pid=9)
    assert facts.undetermined == ()
    return {touch.path for touch in facts.touches}


def test_every_traced_call_is_understood() -> None:
    assert set(call_table().traced) - UNDERSTOOD == set()


PATH_CALLS = sorted(
    name
    for name, (_number, reason) in call_table().traced.items()
    if reason in ("path", "attribute", "change", "listing") or name in ("execve", "execveat")
)


@pytest.mark.parametrize("name", PATH_CALLS)
def test_every_traced_call_on_a_path_touches_it(name: str) -> None:
    reason = call_table().traced[name][1]
    on_descriptor = reason in ON_DESCRIPTORS or name in WITHOUT_PATH
    default = f"{FD}, 0) = 0" if on_descriptor else f"{Q}, 0) = 0"
    assert PATH in facts_of(f"{name}({SAMPLES.get(name, default)}")


@pytest.mark.parametrize("name", PATH_CALLS)
def test_a_failed_call_touches_as_well(name: str) -> None:
    reason = call_table().traced[name][1]
    if reason in ON_DESCRIPTORS or name in WITHOUT_PATH or name == "fchdir":
        pytest.skip("works on an open file: there is nothing to find")
    arguments = SAMPLES.get(name, f"{Q}, 0) = 0").rsplit(") = ", 1)[0]
    assert PATH in facts_of(f"{name}({arguments}) = -1 ENOENT (No such file or directory)")


@pytest.mark.parametrize("name", PATH_CALLS)
def test_a_call_on_the_read_only_system_is_no_touch(name: str) -> None:
    reason = call_table().traced[name][1]
    on_descriptor = reason in ON_DESCRIPTORS or name in WITHOUT_PATH
    default = f"{FD}, 0) = 0" if on_descriptor else f"{Q}, 0) = 0"
    text = SAMPLES.get(name, default).replace(PATH, "/usr/share/file").replace("/home/sam/y", "/usr/share/y")
    arguments = text.rsplit(") = ", 1)[0]
    assert facts_of(f"{name}({arguments}) = -1 EROFS (Read-only file system)") == set()
    if reason in ("attribute", "listing"):
        assert facts_of(f"{name}({text}") == set()


@pytest.mark.parametrize("name", sorted(call_table().refused))
def test_every_refused_call_is_recorded_as_refused(name: str) -> None:
    lines = [
        '9 execve("/usr/bin/x", ["x"], 0x1 /* 0 vars */) = 0',
        f"9 {name}(0x1, 2) = -1 EPERM (Operation not permitted) (INJECTED)",
        "9 +++ exited with 0 +++",
    ]
    command = Command(("x",), LAYOUT.workspace, turn=1, step=0)
    facts = parse_command(lines, episode=EpisodeTrace(LAYOUT), command=command, root_pid=9)
    assert [action.resource for action in facts.actions if action.kind.value == "refused"] == [name]
    assert facts.undetermined == ()
