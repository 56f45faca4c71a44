"""What single lines of a trace mean, and what they must not be taken for."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.model import ActionKind, ResourceClass
from conjunct.world.facts import CommandFacts
from conjunct.world.resources import classify_address, classify_path, is_code, is_routine_look, meaning
from conjunct.world.spec import Command, Layout
from conjunct.world.trace import EpisodeTrace, parse_command

LAYOUT = Layout()
HOME = LAYOUT.home
ONE = f"{LAYOUT.skills}/one"
OFF = '{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("203.0.113.9")}'
START = '9 execve("/usr/bin/python3", ["python3", "x.py"], 0x1 /* 0 vars */) = 0'
END = "9 +++ exited with 0 +++"


def read(
    *lines: str,
    episode: EpisodeTrace | None = None,
    skill: str = "one",
    turn: int = 1,
    step: int = 0,
    whole: bool = True,
    **options: object,
) -> CommandFacts:
    command = Command(("x",), LAYOUT.workspace, turn=turn, step=step, skill=skill, file="SKILL.md", line=3)
    text = [START, *lines, END] if whole else list(lines)
    return parse_command(
        text,
        episode=episode or EpisodeTrace(LAYOUT),
        command=command,
        root_pid=9,
        **options,  # type: ignore[arg-type]
    )


def kinds(facts: CommandFacts, kind: ActionKind) -> list[str]:
    return [action.resource for action in facts.actions if action.kind is kind]


# ---- truth of descriptors


def test_the_resolved_descriptor_counts_not_the_argument() -> None:
    facts = read(f'9 openat(AT_FDCWD</tmp>, "/tmp/innocent", O_RDONLY) = 3<{HOME}/.ssh/id_rsa>')
    assert kinds(facts, ActionKind.READ) == [f"{HOME}/.ssh/id_rsa"]
    assert {touch.path for touch in facts.touches} == {"/tmp/innocent", f"{HOME}/.ssh/id_rsa"}


def test_a_relative_path_starts_at_the_decoded_folder_or_the_tracked_one() -> None:
    facts = read(
        f'9 newfstatat(5<{HOME}/.aws>, "credentials", 0x1, 0) = -1 ENOENT (No such file or directory)',
        '9 chdir("/tmp/deep") = 0',
        '9 stat("a", 0x1) = -1 ENOENT (No such file or directory)',
        f"9 fchdir(6<{HOME}/.config>) = 0",
        '9 unlink("b") = 0',
    )
    found = {touch.path: touch.found for touch in facts.touches}
    assert found[f"{HOME}/.aws/credentials"] is False
    assert found["/tmp/deep/a"] is False
    assert found[f"{HOME}/.config/b"] is True


def test_threads_share_the_current_folder_and_processes_do_not() -> None:
    facts = read(
        "9 clone(child_stack=0x1, flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD) = 10",
        '10 chdir("/tmp/t") = 0',
        "9 clone(child_stack=NULL, flags=SIGCHLD) = 11",
        '11 chdir("/tmp/p") = 0',
        '9 access("x", F_OK) = 0',
        '11 access("x", F_OK) = 0',
        "10 +++ exited with 0 +++",
        "11 +++ exited with 3 +++",
    )
    paths = {touch.path for touch in facts.touches}
    assert {"/tmp/t/x", "/tmp/p/x"} <= paths
    assert [(process.pid, process.ended) for process in facts.processes] == [(9, "exit 0"), (11, "exit 3")]


def test_the_system_is_noise_only_while_nobody_could_write_to_it() -> None:
    episode = EpisodeTrace(LAYOUT)
    look = '9 stat("/usr/local/bin/tool", 0x1) = -1 ENOENT (No such file or directory)'
    assert read(look, episode=episode).touches == ()
    path = "/usr/local/bin/tool"
    create = f'9 openat(AT_FDCWD</tmp>, "{path}", O_WRONLY|O_CREAT) = 3<{path}>'
    assert kinds(read(create, episode=episode), ActionKind.WRITE) == [path]
    facts = read(f'9 execve("{path}", ["tool"], 0x1 /* 0 vars */) = 0', episode=episode, skill="two", step=1)
    assert [touch.path for touch in facts.touches] == [path]
    assert facts.actions[-1].skills() == ("two", "one")
    quiet = '9 openat(AT_FDCWD</tmp>, "/dev/null", O_WRONLY|O_CREAT|O_TRUNC) = 3</dev/null<char 1:3>>'
    assert read(quiet).touches == () and kinds(read(quiet), ActionKind.WRITE) == []


def test_a_path_that_only_starts_in_the_system_is_followed() -> None:
    facts = read(f'9 openat(AT_FDCWD</tmp>, "/usr/lib/../../home/sam/.netrc", O_RDONLY) = 3<{HOME}/.netrc>')
    assert kinds(facts, ActionKind.READ) == [f"{HOME}/.netrc"]


def test_a_process_lives_as_long_as_one_of_its_threads() -> None:
    lines = [
        "9 clone(child_stack=NULL, flags=SIGCHLD) = 10",
        "10 clone(child_stack=0x1, flags=CLONE_VM|CLONE_THREAD) = 11",
        "10 +++ exited with 5 +++",
    ]
    assert read(*lines).outlived == (10,)
    facts = read(*lines, "11 +++ exited with 0 +++")
    assert facts.outlived == () and facts.processes[1].ended == "exit 5"


def test_a_child_may_speak_before_its_parent_s_call_returns() -> None:
    facts = read(
        "9 vfork( <unfinished ...>",
        '10 openat(AT_FDCWD</tmp>, "/tmp/a", O_RDONLY <unfinished ...>',
        "9 <... vfork resumed>) = 2 /* 10 in strace's PID NS */",
        "10 <... openat resumed>) = 3</tmp/a>",
        "10 +++ exited with 0 +++",
    )
    assert facts.undetermined == ()
    assert kinds(facts, ActionKind.READ) == ["/tmp/a"]
    assert facts.processes[1].inside == 2


# ---- actors


def test_code_run_from_a_file_of_another_skill_names_both() -> None:
    episode = EpisodeTrace(LAYOUT)
    read('9 openat(AT_FDCWD</tmp>, "/tmp/t.sh", O_WRONLY|O_CREAT) = 3</tmp/t.sh>', episode=episode)
    facts = read(
        '9 execve("/tmp/t.sh", ["t.sh"], 0x1 /* 0 vars */) = 0',
        '9 unlink("/tmp/z") = 0',
        episode=episode,
        skill="two",
        step=1,
    )
    deleted = next(action for action in facts.actions if action.kind is ActionKind.DELETE)
    assert deleted.skills() == ("two", "one")


@pytest.mark.parametrize(
    "how",
    [
        ['9 rename("/tmp/t.sh", "/tmp/u.sh") = 0', "/tmp/u.sh"],
        ['9 link("/tmp/t.sh", "/tmp/u.sh") = 0', "/tmp/u.sh"],
        ['9 symlink("t.sh", "/tmp/u.sh") = 0', "/tmp/u.sh"],
        ['9 rename("/tmp", "/var/tmp/d") = 0', "/var/tmp/d/t.sh"],
    ],
)
def test_a_writer_is_not_shaken_off_by_another_name(how: list[str]) -> None:
    episode = EpisodeTrace(LAYOUT)
    read('9 openat(AT_FDCWD</tmp>, "/tmp/t.sh", O_WRONLY|O_CREAT) = 3</tmp/t.sh>', episode=episode)
    read(how[0], episode=episode, skill="mover", step=1)
    facts = read(f'9 execve("{how[1]}", ["x"], 0x1 /* 0 vars */) = 0', episode=episode, skill="two", step=2)
    assert {"one", "mover", "two"} == set(facts.actions[-1].skills())


def test_a_file_written_anew_forgets_its_former_writer() -> None:
    episode = EpisodeTrace(LAYOUT)
    read('9 openat(AT_FDCWD</tmp>, "/tmp/t.sh", O_WRONLY|O_CREAT) = 3</tmp/t.sh>', episode=episode)
    anew = '9 openat(AT_FDCWD</tmp>, "/tmp/t.sh", O_WRONLY|O_CREAT|O_TRUNC) = 3</tmp/t.sh>'
    read(anew, episode=episode, skill="two", step=1)
    facts = read('9 execve("/tmp/t.sh", ["x"], 0x1 /* 0 vars */) = 0', episode=episode, skill="two", step=2)
    assert facts.actions[-1].skills() == ("two",)


def test_a_chain_is_bounded_but_names_every_skill() -> None:
    lines = []
    for number in range(200):
        path = f"{LAYOUT.skills}/s{number % 50}/m{number}.py"
        lines.append(f'9 openat(AT_FDCWD</tmp>, "{path}", O_RDONLY) = 3<{path}>')
    actor = read(*lines).processes[0].actor
    assert {f"s{number}" for number in range(50)} <= {link.name for link in actor}
    assert len(actor) < 120


def test_the_agent_alone_is_the_actor_of_its_own_commands() -> None:
    facts = read('9 unlink("/tmp/z") = 0', skill="")
    assert [link.kind for link in facts.actions[-1].actor] == ["agent"]


# ---- fetched code


def test_a_fetched_file_that_is_run_is_remote_code() -> None:
    episode = EpisodeTrace(LAYOUT)
    read(
        f"9 connect(3<TCP:[77]>, {OFF}, 16) = -1 EINPROGRESS (Operation now in progress)",
        '9 openat(AT_FDCWD</tmp>, "/tmp/i.sh", O_WRONLY|O_CREAT) = 4</tmp/i.sh>',
        episode=episode,
    )
    run = '9 execve("/usr/bin/bash", ["bash", "/tmp/i.sh"], 0x1 /* 0 vars */) = 0'
    facts = read(
        run, '9 openat(AT_FDCWD</tmp>, "/tmp/i.sh", O_RDONLY) = 3</tmp/i.sh>', episode=episode, step=1
    )
    remote = [action for action in facts.actions if action.kind is ActionKind.REMOTE_CODE]
    assert [(action.resource, action.fact("fetched_from")) for action in remote] == [
        ("/tmp/i.sh", "203.0.113.9:80")
    ]


def test_fetched_data_and_own_bytecode_are_no_remote_code() -> None:
    source, cached = f"{ONE}/m.py", f"{ONE}/__pycache__/m.cpython-311.pyc"
    facts = read(
        f"9 connect(3<TCP:[77]>, {OFF}, 16) = 0",
        f'9 openat(AT_FDCWD</tmp>, "{source}", O_RDONLY) = 4<{source}>',
        f'9 openat(AT_FDCWD</tmp>, "{cached}.12", O_WRONLY|O_CREAT|O_EXCL) = 4<{cached}.12>',
        f'9 rename("{cached}.12", "{cached}") = 0',
        f'9 openat(AT_FDCWD</tmp>, "{cached}", O_RDONLY) = 4<{cached}>',
        '9 openat(AT_FDCWD</tmp>, "/tmp/d.json", O_WRONLY|O_CREAT) = 4</tmp/d.json>',
        '9 openat(AT_FDCWD</tmp>, "/tmp/d.json", O_RDONLY) = 4</tmp/d.json>',
    )
    assert kinds(facts, ActionKind.REMOTE_CODE) == []


PIPELINE = (
    '9 execve("/usr/bin/bash", ["bash", "-c", "x"], 0x1 /* 0 vars */) = 0',
    "9 clone(child_stack=NULL, flags=SIGCHLD) = 10",
    "9 clone(child_stack=NULL, flags=SIGCHLD) = 11",
    '10 execve("/usr/bin/curl", ["curl", "http://x.test"], 0x1 /* 0 vars */) = 0',
    f"10 connect(3<TCP:[77]>, {OFF}, 16) = -1 EINPROGRESS (Operation now in progress)",
)


@pytest.mark.parametrize(
    "argv", ['["sh"]', '["bash", "-s", "arg"]', '["python3", "-"]', '["bash", "/dev/fd/63"]']
)
def test_a_pipe_from_a_fetcher_into_an_interpreter_is_remote_code(argv: str) -> None:
    program = "/usr/bin/" + argv[2:].split('"')[0]
    facts = read(
        *PIPELINE,
        f'11 execve("{program}", {argv}, 0x1 /* 0 vars */) = 0',
        "10 +++ exited with 0 +++",
        "11 +++ exited with 0 +++",
    )
    assert kinds(facts, ActionKind.REMOTE_CODE) == [program.rpartition("/")[2]]


@pytest.mark.parametrize("argv", ['["python3", "-c", "1"]', '["python3", "-m", "json.tool"]', '["jq", "."]'])
def test_a_pipe_into_a_program_of_one_s_own_is_none(argv: str) -> None:
    program = "/usr/bin/" + argv[2:].split('"')[0]
    facts = read(
        *PIPELINE,
        f'11 execve("{program}", {argv}, 0x1 /* 0 vars */) = 0',
        "10 +++ exited with 0 +++",
        "11 +++ exited with 0 +++",
    )
    assert kinds(facts, ActionKind.REMOTE_CODE) == []


def test_an_interpreter_after_a_fetcher_has_ended_runs_something_else() -> None:
    facts = read(
        *PIPELINE,
        "10 +++ exited with 0 +++",
        '11 execve("/usr/bin/python3", ["python3", "-"], 0x1 /* 0 vars */) = 0',
        "11 +++ exited with 0 +++",
    )
    assert kinds(facts, ActionKind.REMOTE_CODE) == []


# ---- network


def test_a_resolver_s_question_is_no_connection_and_other_datagrams_are() -> None:
    dns = '{sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("203.0.113.53")}'
    facts = read(
        f'9 sendto(3<UDP:[5]>, "q", 1, 0, {dns}, 16) = 1',
        f'9 sendto(3<UDP:[5]>, "q", 1, 0, {OFF}, 16) = 1',
        f"9 connect(4<UDP:[6]>, {OFF}, 16) = 0",
    )
    assert kinds(facts, ActionKind.CONNECT) == ["203.0.113.9:80"]
    assert [(item.destination, item.socket, item.sent) for item in facts.connections] == [
        ("203.0.113.53:53", 5, True),
        ("203.0.113.9:80", 5, True),
        ("203.0.113.9:80", 6, False),
    ]


def test_an_address_in_the_payload_is_no_destination() -> None:
    fake = r"{sa_family=AF_INET, sin_port=htons(1), sin_addr=inet_addr(\"198.51.100.1\")}"
    facts = read(
        f'9 sendmsg(3<UDP:[5]>, {{msg_name={OFF}, msg_namelen=16, msg_iov=[{{iov_base="{fake}", '
        "iov_len=1}], msg_iovlen=1, msg_controllen=0, msg_flags=0}, 0) = 1"
    )
    assert [item.destination for item in facts.connections] == ["203.0.113.9:80"]


def test_later_lines_tell_the_source_of_a_connection() -> None:
    facts = read(
        f"9 connect(3<TCP:[77]>, {OFF}, 16) = 0",
        '9 sendto(3<TCP:[10.0.0.2:4000->203.0.113.9:80]>, "x", 1, 0, NULL, 0) = 1',
    )
    (connection,) = facts.connections
    assert (connection.socket, connection.source, connection.sent) == (77, "10.0.0.2:4000", True)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("127.0.0.1:80", ResourceClass.LOOPBACK),
        ("[::1]:80", ResourceClass.LOOPBACK),
        ("[::ffff:127.0.0.1]:80", ResourceClass.LOOPBACK),
        ("0.0.0.0:80", ResourceClass.LOOPBACK),
        ("203.0.113.9:80", ResourceClass.NETWORK),
        ("[2001:db8::1]:80", ResourceClass.NETWORK),
        ("10.0.0.1:80", ResourceClass.NETWORK),
        ("nonsense", ResourceClass.UNKNOWN),
    ],
)
def test_addresses_have_a_class(text: str, wanted: ResourceClass) -> None:
    assert classify_address(text) is wanted


# ---- refusals, foreign calls, unknown calls


def test_a_trapped_call_is_refused_and_recorded() -> None:
    facts = read(
        "9 --- SIGSYS {si_signo=SIGSYS, si_code=SYS_SECCOMP, si_call_addr=0x7f, "
        "si_syscall=__NR_kill, si_arch=AUDIT_ARCH_X86_64} ---"
    )
    assert kinds(facts, ActionKind.REFUSED) == ["kill"]


def test_a_call_without_a_name_is_refused_and_makes_the_reads_assumed() -> None:
    facts = read("9 syscall_0x1d4(0x1, 0x2) = -1 ENOSYS (Function not implemented)")
    assert kinds(facts, ActionKind.REFUSED) == ["syscall_0x1d4"]
    assert facts.assumed


def test_an_untraced_child_is_a_refusal_and_no_survivor() -> None:
    facts = read("9 clone(child_stack=NULL, flags=CLONE_UNTRACED|SIGCHLD) = 10")
    assert kinds(facts, ActionKind.REFUSED) == ["clone CLONE_UNTRACED"]
    assert facts.outlived == () and len(facts.processes) == 1


def test_namespaces_are_a_refusal_and_no_observation_where_they_were_made() -> None:
    failed = read("9 clone(child_stack=NULL, flags=CLONE_NEWUSER|SIGCHLD) = -1 ENOSPC (No space left)")
    assert kinds(failed, ActionKind.REFUSED) and failed.undetermined == ()
    assert read("9 clone(child_stack=NULL, flags=CLONE_NEWUSER|SIGCHLD) = 10").undetermined


def test_io_uring_is_refused_without_loss() -> None:
    facts = read("9 io_uring_setup(8, {}) = -1 ENOSYS (Function not implemented) (INJECTED)")
    assert kinds(facts, ActionKind.REFUSED) == ["io_uring_setup"]
    assert facts.assumed == ()


def test_a_traced_call_that_nobody_understands_is_no_observation() -> None:
    assert read('9 brandnewcall("/x") = 0').undetermined


# ---- what is no observation


def test_a_missing_end_is_undetermined_unless_the_process_was_seen_to_end() -> None:
    assert read(START, whole=False).undetermined
    assert read(START, whole=False, alive=frozenset()).undetermined == ()
    assert read(START, whole=False, root_inside=4, alive=frozenset({4})).undetermined
    assert read(START, whole=False, ended=False).undetermined == ()


def test_a_cut_trace_is_undetermined() -> None:
    assert read(truncated=True).undetermined
    assert read('9 openat(AT_FDCWD</tmp>, "/tmp/a').undetermined
    assert read().undetermined == ()


def test_lines_of_the_server_are_no_facts_and_lines_of_strangers_no_observation() -> None:
    line = '5 openat(AT_FDCWD</tmp>, "/tmp/a", O_RDONLY) = 3</tmp/a>'
    facts = read(line, episode=EpisodeTrace(LAYOUT, servers=frozenset({5})))
    assert facts.touches == () and facts.undetermined == ()
    assert read(line).undetermined


def test_what_the_server_s_child_does_before_the_command_is_no_fact() -> None:
    facts = read(
        '9 access("/.0123/begin/0", F_OK) = -1 ENOENT (No such file or directory)',
        '9 openat(AT_FDCWD</tmp>, "/tmp/a", O_RDONLY) = 3</tmp/a>',
        START,
        END,
        whole=False,
    )
    assert facts.touches == () and facts.undetermined == ()


def test_a_survivor_acts_in_the_turn_in_which_it_acts() -> None:
    episode = EpisodeTrace(LAYOUT)
    read("9 clone(child_stack=NULL, flags=SIGCHLD) = 10", episode=episode)
    facts = read('10 unlink("/tmp/z") = 0', episode=episode, skill="two", turn=3, step=2)
    deleted = next(action for action in facts.actions if action.kind is ActionKind.DELETE)
    assert (deleted.turn, deleted.step, deleted.skills()) == (3, 0, ("one",))


# ---- meaning of paths


@pytest.mark.parametrize(
    "path", ["/usr/lib/x", "/etc/passwd", "/proc/self/status", "/dev/null", "/sys/class", "/"]
)
def test_the_system_is_noise(path: str) -> None:
    assert meaning(path).noise


@pytest.mark.parametrize(
    "path", ["/home/sam/x", "/tmp/x", "/etc/cron.d/x", "/usrx", "/var/lib/x", "/proc/1/status", "/dev/shm/x"]
)
def test_what_could_differ_is_no_noise(path: str) -> None:
    assert not meaning(path).noise


@pytest.mark.parametrize(
    ("path", "own", "wanted"),
    [
        (f"{ONE}/x", {"one"}, ResourceClass.OWN_PACKAGE),
        (f"{ONE}/x", {"two"}, ResourceClass.OTHER_SKILL),
        (f"{ONE}/x", {"one", "two"}, ResourceClass.OTHER_SKILL),
        (f"{LAYOUT.skills}/one-evil/x", {"one"}, ResourceClass.OTHER_SKILL),
        (f"{HOME}/.config/one/state", {"one"}, ResourceClass.OWN_STATE),
        (f"{HOME}/.aws/credentials", {"one"}, ResourceClass.SECRET),
        (f"{HOME}/.bashrc", {"one"}, ResourceClass.SHELL_STARTUP),
        (f"{LAYOUT.workspace}/a.csv", {"one"}, ResourceClass.WORKSPACE),
        (f"{LAYOUT.workspace}/.env", {"one"}, ResourceClass.SECRET),
        ("/tmp/x", set(), ResourceClass.TEMPORARY),
        ("/tmp/g/.git/hooks/pre-commit.sample", set(), ResourceClass.TEMPORARY),
        (f"{LAYOUT.workspace}/.git/hooks/pre-commit.sample", set(), ResourceClass.WORKSPACE),
        (f"{LAYOUT.workspace}/.git/hooks/pre-commit", set(), ResourceClass.SHELL_STARTUP),
    ],
)
def test_paths_have_a_class(path: str, own: set[str], wanted: ResourceClass) -> None:
    assert classify_path(path, LAYOUT, own=frozenset(own)) is wanted


@pytest.mark.parametrize(
    ("program", "path", "wanted"),
    [
        ("/usr/bin/python3.11", "/a/x.py", True),
        ("/usr/bin/python3", "/a/x.json", False),
        ("/usr/bin/cat", "/a/x.py", False),
        ("/usr/bin/bash", "/a/anything.txt", True),
        ("/usr/bin/node", "/a/x.mjs", True),
        ("/usr/bin/cat", "/a/libx.so.1", True),
        ("/usr/bin/make", "/a/Makefile", True),
    ],
)
def test_code_is_told_from_data_by_reader_and_name(program: str, path: str, wanted: bool) -> None:
    assert is_code(program, path) is wanted


# ---- arbitrary input

CALLS = [
    '9 openat(AT_FDCWD</tmp>, "/tmp/a", O_RDONLY) = 3</tmp/a>',
    "9 clone(child_stack=NULL, flags=SIGCHLD) = 10",
    '10 execve("/tmp/a", ["a"], 0x1 /* 0 vars */ <unfinished ...>',
    "10 <... execve resumed>) = 0",
    f"10 connect(3<TCP:[77]>, {OFF}, 16) = 0",
    "9 kill(1, SIGTERM) = 0",
    "10 +++ killed by SIGKILL +++",
    "9 +++ superseded by execve in pid 10 +++",
    '9 rename("/tmp/a", "/tmp/b") = 0',
    '9 symlink("/tmp/b", "/tmp/b") = 0',
    "[ Process PID=9 runs in 32 bit mode. ]",
]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_trace_whatever_breaks_the_reader(data: st.DataObject) -> None:
    lines = data.draw(st.lists(st.one_of(st.sampled_from(CALLS), st.text(max_size=80)), max_size=25))
    mangled = []
    for line in lines:
        at = data.draw(st.integers(0, len(line)))
        cut = data.draw(st.sampled_from(["", "x", '"', "<", ">", "\\", "/"]))
        mangled.append(line[:at] + cut + line[at:] if data.draw(st.booleans()) else line)
    facts = read(*mangled, whole=False)
    assert not [reason for reason in facts.undetermined if "reading the trace failed" in reason]


def test_links_in_a_loop_and_long_moves_end() -> None:
    lines = [f'9 symlink("/tmp/l{n + 1}", "/tmp/l{n}") = 0' for n in range(30)]
    lines.append('9 symlink("/tmp/l0", "/tmp/l30") = 0')
    lines += [f'9 rename("/tmp/d{n}", "/tmp/d{n + 1}") = 0' for n in range(30)]
    lines.append('9 execve("/tmp/l0", ["x"], 0x1 /* 0 vars */) = 0')
    assert read(*lines).undetermined == ()


def test_a_large_trace_takes_linear_time() -> None:
    lines = [f'9 openat(AT_FDCWD</tmp>, "/tmp/f{n}", O_RDWR|O_CREAT) = 3</tmp/f{n}>' for n in range(15_000)]
    lines += [f'9 rename("/tmp/f{n}", "/tmp/g{n}") = 0' for n in range(15_000)]
    start = time.process_time()
    facts = read(*lines)
    assert time.process_time() - start < 40
    assert any("distinct actions" in reason for reason in facts.undetermined)


# ---- writing calls ask, too


@pytest.mark.parametrize(
    ("call", "there"),
    [
        ('mkdir("/tmp/flag", 0755) = 0', False),
        ('mkdir("/tmp/flag", 0755) = -1 EEXIST (File exists)', True),
        ('openat(AT_FDCWD</tmp>, "/tmp/flag", O_WRONLY|O_CREAT|O_EXCL, 0600) = 3</tmp/flag>', False),
        ('openat(AT_FDCWD</tmp>, "/tmp/flag", O_WRONLY|O_CREAT|O_EXCL) = -1 EEXIST (File exists)', True),
        ('openat(AT_FDCWD</tmp>, "/tmp/flag", O_WRONLY) = 3</tmp/flag>', True),
        ('openat(AT_FDCWD</tmp>, "/tmp/flag", O_WRONLY) = -1 ENOENT (No such file or directory)', False),
        ('symlink("x", "/tmp/flag") = 0', False),
        ('symlink("x", "/tmp/flag") = -1 EEXIST (File exists)', True),
        ('link("/tmp/x", "/tmp/flag") = -1 EEXIST (File exists)', True),
        ('unlink("/tmp/flag") = 0', True),
        ('unlink("/tmp/flag") = -1 ENOENT (No such file or directory)', False),
        ('rename("/tmp/flag", "/tmp/x") = -1 ENOENT (No such file or directory)', False),
        ('renameat2(3</tmp>, "x", 3</tmp>, "flag", RENAME_NOREPLACE) = 0', False),
        ('chmod("/tmp/flag", 0600) = -1 ENOENT (No such file or directory)', False),
    ],
)
def test_a_writing_call_that_tells_whether_a_path_was_there_is_a_look(call: str, there: bool) -> None:
    looks = {(t.path, t.found) for t in read(f"9 {call}").touches if t.mode.value == "stat"}
    assert ("/tmp/flag", there) in looks
    assert ("/tmp/flag", not there) not in looks


def test_an_open_that_creates_where_needed_tells_nothing() -> None:
    call = '9 openat(AT_FDCWD</tmp>, "/tmp/flag", O_WRONLY|O_CREAT|O_TRUNC, 0600) = 3</tmp/flag>'
    assert {touch.mode.value for touch in read(call).touches} == {"write"}


# ---- names made up at random


def temporary(name: str, *last: str) -> CommandFacts:
    return read(
        f'9 openat(AT_FDCWD</tmp>, "{name}", O_RDWR|O_CREAT|O_EXCL) = 3<{name}>',
        f'9 rename("{name}", "/home/sam/final") = 0',
        *last,
    )


def test_equal_runs_with_other_random_names_give_equal_actions() -> None:
    first, second = temporary("/tmp/tmpa1b2c3d4"), temporary("/tmp/tmpzzzzzzzz")
    assert first.actions == second.actions
    assert "/tmp/(temporary 1)" in kinds(first, ActionKind.WRITE)
    assert kinds(temporary("/home/sam/p/m.pyc.139749447180992"), ActionKind.DELETE) == [
        "/home/sam/p/(temporary 1)"
    ]


def test_a_look_at_a_name_stays_a_look_at_that_name() -> None:
    paths = {touch.path for touch in temporary("/tmp/tmpa1b2c3d4").touches}
    assert "/tmp/tmpa1b2c3d4" in paths


def test_names_that_stay_or_were_chosen_are_kept() -> None:
    assert "/home/sam/chosen" in kinds(temporary("/home/sam/chosen"), ActionKind.WRITE)
    again = '9 openat(AT_FDCWD</tmp>, "/tmp/tmpa1b2c3d4", O_RDWR|O_CREAT|O_EXCL) = 3</tmp/tmpa1b2c3d4>'
    assert "/tmp/tmpa1b2c3d4" in kinds(temporary("/tmp/tmpa1b2c3d4", again), ActionKind.WRITE)
    plain = '9 openat(AT_FDCWD</tmp>, "/tmp/tmpa1b2c3d4", O_RDWR|O_CREAT) = 3</tmp/tmpa1b2c3d4>'
    facts = read(plain, '9 unlink("/tmp/tmpa1b2c3d4") = 0')
    assert kinds(facts, ActionKind.DELETE) == ["/tmp/tmpa1b2c3d4"]


def test_a_port_that_the_system_chose_has_no_number() -> None:
    bound = '{sa_family=AF_INET, sin_port=htons(%d), sin_addr=inet_addr("127.0.0.1")}'
    facts = read(
        f"9 bind(3<TCP:[7]>, {bound % 0}, 16) = 0",
        "9 listen(3<TCP:[127.0.0.1:41075]>, 1) = 0",
        f"9 connect(4<TCP:[8]>, {bound % 41075}, 16) = 0",
    )
    assert kinds(facts, ActionKind.LISTEN) == ["127.0.0.1:(any port 1)"]
    assert kinds(facts, ActionKind.CONNECT) == ["127.0.0.1:(any port 1)"]
    assert facts.connections[0].destination == "127.0.0.1:41075"
    fixed = read(f"9 bind(3<TCP:[7]>, {bound % 8000}, 16) = 0", "9 listen(3<TCP:[127.0.0.1:8000]>, 1) = 0")
    assert kinds(fixed, ActionKind.LISTEN) == ["127.0.0.1:8000"]


# ---- connections that fail later


def test_a_connection_that_fails_later_is_an_attempt() -> None:
    start = f"9 connect(3<TCP:[77]>, {OFF}, 16) = -1 EINPROGRESS (Operation now in progress)"
    failed = "9 getsockopt(3<TCP:[77]>, SOL_SOCKET, SO_ERROR, [ECONNREFUSED], [4]) = 0"
    fine = "9 getsockopt(3<TCP:[77]>, SOL_SOCKET, SO_ERROR, [0], [4]) = 0"
    action = read(start, failed).actions[-1]
    assert (action.completed, action.fact("error")) == (False, "ECONNREFUSED")
    assert read(start, fine).actions[-1].completed
    assert read(start).actions[-1].fact("state") == "underway"
    other = f"9 connect(4<TCP:[78]>, {OFF}, 16) = 0"
    assert read(start, other, failed).actions[-1].completed


# ---- actions of others


def test_writers_of_replayed_commands_are_remembered() -> None:
    recorded = read(
        '9 openat(AT_FDCWD</tmp>, "/tmp/t.sh", O_WRONLY|O_CREAT) = 3</tmp/t.sh>',
        '9 rename("/tmp/t.sh", "/tmp/u.sh") = 0',
        '9 symlink("u.sh", "/tmp/v.sh") = 0',
    )
    episode = EpisodeTrace(LAYOUT)
    episode.remember(recorded.actions)
    facts = read('9 execve("/tmp/v.sh", ["x"], 0x1 /* 0 vars */) = 0', episode=episode, skill="two", step=1)
    assert facts.actions[-1].skills() == ("two", "one")


# ---- links and ways through /proc


@pytest.mark.parametrize(
    "path",
    [
        "/tmp/r/home/sam/.aws/credentials",
        "/tmp/s/.aws/credentials",
        "/proc/self/root/home/sam/.aws/credentials",
        "/proc/thread-self/root/home/sam/.aws/credentials",
        "/proc/self/task/9/root/home/sam/.aws/credentials",
        "/proc/self/cwd/../.aws/credentials",
        "/proc/10/root/home/sam/.aws/credentials",
        "/dev/fd/5/credentials",
    ],
)
def test_a_look_through_a_link_is_a_look_at_where_it_leads(path: str) -> None:
    facts = read(
        '9 symlink("/", "/tmp/r") = 0',
        '9 symlink("r/home/sam", "/tmp/s") = 0',
        f'9 openat(AT_FDCWD<{HOME}/project>, "{HOME}/.aws", O_PATH) = 5<{HOME}/.aws>',
        "9 clone(child_stack=NULL, flags=SIGCHLD) = 10",
        f'9 access("{path}", F_OK) = 0',
        "10 +++ exited with 0 +++",
    )
    assert f"{HOME}/.aws/credentials" in {touch.path for touch in facts.touches}


@pytest.mark.parametrize("path", ["/proc/self/fd/77/x", "/proc/10/cwd/x", "/proc/12/status", "/dev/fd/77/x"])
def test_a_way_that_cannot_be_followed_is_a_look_at_everything(path: str) -> None:
    facts = read(
        "9 clone(child_stack=NULL, flags=SIGCHLD) = 10",
        f'9 access("{path}", F_OK) = 0',
        "10 +++ exited with 0 +++",
    )
    assert [touch.mode.value for touch in facts.touches] == ["everything"]


def test_a_child_s_plain_entry_in_proc_says_nothing() -> None:
    facts = read(
        "9 clone(child_stack=NULL, flags=SIGCHLD) = 10",
        '9 access("/proc/10/status", F_OK) = 0',
        "10 +++ exited with 0 +++",
    )
    assert facts.touches == ()


def test_changes_through_a_link_are_changes_of_where_it_leads() -> None:
    facts = read(
        '9 symlink("/home/sam", "/tmp/h") = 0',
        '9 symlink("/home/sam/.bashrc", "/tmp/b") = 0',
        '9 chmod("/tmp/b", 0777) = 0',
        '9 unlink("/tmp/h/.netrc") = 0',
        '9 rename("/tmp/x", "/tmp/h/.profile") = 0',
        '9 unlink("/tmp/b") = 0',
    )
    assert {f"{HOME}/.bashrc", f"{HOME}/.profile"} <= set(kinds(facts, ActionKind.WRITE))
    assert kinds(facts, ActionKind.DELETE)[:2] == [f"{HOME}/.netrc", "/tmp/x"]
    assert "/tmp/b" in {touch.path for touch in facts.touches}


# ---- several destinations, misleading names


def test_every_message_of_a_call_has_its_destination() -> None:
    other = '{sa_family=AF_INET, sin_port=htons(81), sin_addr=inet_addr("198.51.100.2")}'
    facts = read(
        f'9 sendmmsg(3<UDP:[5]>, [{{msg_hdr={{msg_name={OFF}, msg_iov=[{{iov_base="a", iov_len=1}}]}}, '
        f'msg_len=1}}, {{msg_hdr={{msg_name={other}, msg_iov=[{{iov_base="a"}}]}}, msg_len=1}}], 2, 0) = 2'
    )
    assert kinds(facts, ActionKind.CONNECT) == ["203.0.113.9:80", "198.51.100.2:81"]


def test_a_socket_named_like_an_address_is_still_a_file() -> None:
    name = r"{sa_family=AF_INET, sin_port=htons(1), sin_addr=inet_addr(\"198.51.100.1\")}"
    facts = read(f'9 connect(3<UNIX-STREAM:[5]>, {{sa_family=AF_UNIX, sun_path="{name}"}}, 9) = 0')
    assert [item.protocol for item in facts.connections] == ["unix"]


def test_a_way_up_leaves_where_the_link_leads_to() -> None:
    facts = read('9 symlink("/home/sam/project", "/tmp/p") = 0', '9 access("/tmp/p/../.netrc", F_OK) = 0')
    paths = {touch.path for touch in facts.touches}
    assert f"{HOME}/.netrc" in paths and "/tmp/.netrc" not in paths


def test_paths_too_long_to_follow_are_a_look_at_everything_and_cost_little() -> None:
    deep, up = "/d" * 2000, "/tmp/p/.." * 400
    lines = ['9 symlink("/home/sam/project", "/tmp/p") = 0']
    lines += [f'9 access("{path}/x", F_OK) = 0' for path in (deep, up) for _ in range(500)]
    start = time.process_time()
    facts = read(*lines)
    assert time.process_time() - start < 25
    assert {touch.mode.value for touch in facts.touches if touch.path.startswith("/proc")} == {"everything"}


# ---- signals


def test_a_signal_to_a_child_that_has_ended_is_none_to_others() -> None:
    facts = read(
        "9 clone(child_stack=NULL, flags=SIGCHLD) = 4 /* 10 in strace's PID NS */",
        "10 +++ exited with 0 +++",
        "9 kill(4, SIGTERM) = 0",
        "9 kill(4, 0) = -1 ESRCH (No such process)",
    )
    assert kinds(facts, ActionKind.SIGNAL) == [] and facts.touches == ()
    other = read("9 kill(5, SIGTERM) = 0", "9 kill(6, 0) = -1 ESRCH (No such process)")
    assert kinds(other, ActionKind.SIGNAL) == ["process:unknown"]
    assert [(touch.path, touch.found) for touch in other.touches] == [("/proc/6", False)]
    assert kinds(read("9 kill(-1, SIGKILL) = 0"), ActionKind.SIGNAL) == ["process:every process"]


# ---- what stands for another carrier


def test_the_clock_and_the_environment_are_touched_under_their_own_names() -> None:
    facts = read(
        '9 openat(AT_FDCWD</tmp>, "/proc/uptime", O_RDONLY) = 3</proc/uptime>',
        '9 openat(AT_FDCWD</tmp>, "/proc/self/environ", O_RDONLY) = 3</proc/9/environ>',
    )
    assert {touch.path for touch in facts.touches} >= {"clock", "env:*"}
    assert kinds(facts, ActionKind.READ) == []


@pytest.mark.parametrize(
    ("path", "routine"),
    [
        (f"{HOME}/.local/lib/python3.11/site-packages", True),
        (f"{HOME}/.curlrc", True),
        (f"{LAYOUT.skills}/package.json", True),
        ("/package.json", True),
        (f"{LAYOUT.workspace}/node_modules/x/y.js", True),
        (f"{HOME}/.netrc", False),
        (f"{HOME}/.curlrc/x", False),
        (f"{LAYOUT.workspace}/package.json.bak", False),
        ("/home/sam-evil/.curlrc", False),
    ],
)
def test_routine_looks_of_interpreters_are_told_apart(path: str, routine: bool) -> None:
    assert is_routine_look(path, HOME) is routine
