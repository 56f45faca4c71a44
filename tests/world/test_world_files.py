"""Changes of files: what a command changed, making it again, and fingerprints of what it touched."""

from __future__ import annotations

import dataclasses
import errno
from pathlib import Path

import pytest

from conjunct.model import ActionKind, TouchMode
from conjunct.skills import read_registry
from conjunct.world import kernel
from conjunct.world.spec import CommandResult, EffectKind
from conjunct.world.world import World
from world.worlds import run, small_world, text

pytestmark = pytest.mark.world

FILES = (
    ("d/a", "A\n"),
    ("d/sub/b", "B\n"),
    ("x", "X\n"),
    ("l/k", "K\n"),
    ("keep/1", "1"),
    (".config/app/c", "c"),
)
CHANGES = [
    "echo new > ~/d/new; echo more >> ~/d/a; chmod 600 ~/x",
    "rm ~/x; mkdir ~/x; echo in > ~/x/y",
    "rm -r ~/d; mkdir ~/d; echo again > ~/d/a",
    "rm -r ~/l; ln -s d ~/l; ln -s /etc/passwd ~/p",
    "mv ~/d ~/moved; rm -r ~/keep",
    "touch -d 2020-02-02 ~/x; mkdir -p ~/deep/er; chmod 700 ~/deep",
    "echo t > /tmp/t; echo v > /var/tmp/v; mkdir /run/r; rm -rf ~/.config/app",
    "rm -r ~/d/sub; echo file > ~/d/sub",
]


def script(world: World, line: str, step: int = 0) -> CommandResult:
    result = run(world, "sh", "-c", line, step=step)
    assert result.record.status == 0 and not result.undetermined, text(result)
    return result


def tree(world: World) -> str:
    line = (
        "find ~ /tmp /run /var/tmp -printf '%p %y %m %l\\n' | sort; "
        "find ~ /tmp -type f | sort | xargs md5sum; "
        "find ~ /tmp ! -newermt 2025-01-01 -type f -printf '%p %Ts\\n' | sort"
    )
    return text(script(world, line, step=50))


@pytest.mark.parametrize("line", CHANGES)
def test_changes_made_again_give_the_same_files(line: str) -> None:
    with small_world(home_files=FILES) as first, small_world(home_files=FILES) as second:
        result = script(first, line)
        assert result.effects
        second.apply(result.effects)
        assert tree(first) == tree(second)


def test_changes_of_a_sequence_made_again_give_the_same_files() -> None:
    with small_world(home_files=FILES) as first, small_world(home_files=FILES) as second:
        for step, line in enumerate(
            (CHANGES[0], CHANGES[2], "cp -r ~/d ~/e; rm ~/e/a; echo z >> ~/d/a", CHANGES[6])
        ):
            second.apply(script(first, line, step).effects)
        assert tree(first) == tree(second)


def test_what_did_not_change_is_no_effect() -> None:
    with small_world(home_files=FILES) as world:
        assert script(world, "cat ~/d/a ~/x; ls -R ~/d; touch -a ~/x").effects == ()
        effects = script(world, "echo one > ~/d/a").effects
        assert [(effect.path, effect.kind) for effect in effects] == [("/home/sam/d/a", EffectKind.WRITTEN)]
        assert script(world, "cat ~/d/a").effects == ()


def test_a_deletion_comes_before_what_takes_its_place() -> None:
    with small_world(home_files=FILES) as world:
        effects = script(world, "rm -r ~/d; mkdir ~/d; echo n > ~/d/n").effects
        assert [(effect.path, effect.kind.value) for effect in effects] == [
            ("/home/sam/d", "deleted"),
            ("/home/sam/d", "folder"),
            ("/home/sam/d/n", "written"),
        ]


def test_changes_tell_the_lines_that_came_and_went() -> None:
    with small_world(home_files=((".profile", "a\nb\nc\n"),)) as world:
        result = script(world, "printf 'a\\nB\\nc\\nd\\n' > ~/.profile")
        action = next(action for action in result.actions if action.resource == "/home/sam/.profile")
        assert (action.fact("change"), action.fact("added"), action.fact("removed")) == (
            "modified",
            "B\nd",
            "b",
        )
        again = script(world, "printf 'a\\n' > ~/.profile", step=1)
        action = next(action for action in again.actions if action.resource == "/home/sam/.profile")
        assert action.fact("removed") == "B\nc\nd"


@pytest.mark.parametrize("line", CHANGES)
def test_the_state_found_is_told_as_a_fresh_world_would_tell_it(line: str) -> None:
    look = "cat ~/d/a ~/d/sub/b ~/l/k ~/x ~/nothing ~/p; ls ~ ~/d ~/l ~/keep ~/x; cat /etc/passwd /tmp/t"
    with small_world(home_files=FILES) as first, small_world(home_files=FILES) as second:
        for step, command in enumerate(
            (look, f"{look}; {line}", f"{look}; {CHANGES[0]}", "cat ~/d/a; rm -rf ~/d")
        ):
            result = run(first, "sh", "-c", command, step=step)
            assert len(result.before) > 2
            observed = tuple((path, mode) for path, mode, _ in result.before)
            found = second.fingerprint(observed)
            for (path, mode, before), now in zip(result.before, found, strict=True):
                assert before == now, (step, path, mode)
            second.apply(result.effects)


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("/home/sam/d/a", "echo other > ~/d/a"),
        ("/home/sam/d/a", "rm ~/d/a"),
        ("/home/sam/d/a", "chmod 755 ~/d/a"),
        ("/home/sam/d/a", "touch -d 2001-01-01 ~/d/a"),
        ("/home/sam/nothing", "echo > ~/nothing"),
        ("/home/sam/d", "echo > ~/d/other"),
        ("/home/sam/d", "rm -r ~/d/sub"),
        ("/home/sam/d", "rm -r ~/d; ln -s x ~/d"),
        ("/home/sam/l/k", "rm -r ~/l; ln -s d ~/l"),
        ("/tmp/t", "echo > /tmp/t"),
        ("/", "echo > ~/anything"),
    ],
)
def test_a_change_changes_the_fingerprint_of_what_was_changed(path: str, change: str) -> None:
    mode = TouchMode.EVERYTHING if path == "/" else TouchMode.READ
    with small_world(home_files=FILES) as world:
        before = world.fingerprint(((path, mode), ("/home/sam/x", TouchMode.READ), ("env:", TouchMode.READ)))
        script(world, change)
        after = world.fingerprint(((path, mode), ("/home/sam/x", TouchMode.READ), ("env:", TouchMode.READ)))
        assert before[0] != after[0]
        assert before[1:] == after[1:]


@pytest.mark.parametrize(
    ("line", "matters"),
    [
        ("echo new > $F", False),
        ('python3 -c \'open("\'$F\'", "w").write("new")\'', False),
        ("echo new > $F; cat $F", False),
        ("cat $F; echo new > $F", True),
        ("echo more >> $F", True),
        ("stat $F; echo new > $F", True),
        ('python3 -c \'open("\'$F\'", "r+").write("n")\'', True),
    ],
)
def test_what_a_replaced_file_held_matters_only_to_who_looked(line: str, matters: bool) -> None:
    path = "/home/sam/project/out.txt"
    prints = set()
    for earlier in ("one", "another"):
        with small_world() as world:
            script(world, f"echo {earlier} > {path}")
            result = script(world, line.replace("$F", path), step=1)
            prints.update(print_ for where, _, print_ in result.before if where == path)
    assert (len(prints) == 2) is matters


@pytest.mark.parametrize("place", ["~/.bashrc", "~/.claude/settings.json"])
def test_what_a_replaced_setting_held_always_matters(place: str) -> None:
    with small_world() as world:
        result = script(world, f"echo new > {place}")
        path = place.replace("~", "/home/sam")
        assert [mode for where, mode, _ in result.before if where == path] == [TouchMode.READ]


def test_a_file_that_is_written_as_it_was_is_told_by_its_content() -> None:
    with small_world() as world:
        script(world, "echo same > ~/project/out.txt")
        result = script(world, "echo same > ~/project/out.txt", step=1)
        wrote = [effect.path for effect in result.effects if effect.path.endswith("out.txt")]
        modes = [mode for where, mode, _ in result.before if where.endswith("out.txt")]
        assert modes == [TouchMode.WRITE if wrote else TouchMode.READ]


@pytest.mark.parametrize(
    ("line", "change"),
    [
        ("no-such-program >> ~/.bashrc; true", "opened"),
        (": >> ~/.bashrc", "opened"),
        ("echo x >> ~/.bashrc", "modified"),
        ("cp ~/.bashrc /tmp/b; echo x >> ~/.bashrc; cat /tmp/b > ~/.bashrc", "modified"),
        (": > ~/.bashrc", "modified"),
    ],
)
def test_a_file_that_was_opened_for_writing_and_left_alone_is_not_changed(line: str, change: str) -> None:
    with small_world() as world:
        result = script(world, line)
    (wrote,) = (a for a in result.actions if a.kind is ActionKind.WRITE and a.resource.endswith("/.bashrc"))
    assert wrote.fact("change") == change


def test_fingerprints_are_equal_across_worlds_and_runs() -> None:
    observed = tuple((f"/home/sam/{path}", TouchMode.READ) for path, _ in FILES)
    prints = []
    for _ in range(2):
        with small_world(home_files=FILES) as world:
            script(world, "echo made > ~/d/a")
            prints.append(world.fingerprint(observed))
    assert prints[0] == prints[1]


def test_minted_values_are_part_of_the_environments_fingerprint() -> None:
    prints = set()
    for comparison in ("one", "two"):
        with small_world(minted=("FOO_API_KEY",), comparison=comparison) as world:
            prints.update(world.fingerprint((("env:", TouchMode.READ),)))
    assert len(prints) == 2


def test_the_agents_own_files_and_session_are_there_without_a_sandbox() -> None:
    with small_world(
        answers=(("/tmp/asked", "yes"), ("/etc/asked", "yes"), ("/home/sam/asked", "yes"))
    ) as world:
        world.write("/home/sam/project/a/b.txt", b"text")
        assert world.read("/home/sam/project/a/b.txt") == b"text"
        assert world.exists("/home/sam/project/a") and not world.exists("/home/sam/project/none")
        assert {world.read(f"{folder}/asked") for folder in ("/tmp", "/etc", "/home/sam")} == {b"yes"}
        for turn in (1, 2):
            world.end_turn(turn, "please", "done")
        assert (world.read(world.layout.session_file) or b"").count(b'"please"') == 2
        result = run(world, "sh", "-c", "cat ~/project/a/b.txt /tmp/asked /etc/asked ~/asked")
        assert result.stdout == b"textyesyesyes" and result.effects == ()
        assert world.finish().undetermined == ()


def test_results_are_plain_values() -> None:
    with small_world() as world:
        result = script(world, "echo x > ~/x")
        assert dataclasses.replace(result) == result


@pytest.fixture
def no_overlay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that refuses overlays to ordinary users."""
    mount = kernel.mount

    def refusing(source: str, target: Path | str, kind: str, flags: int = 0, options: str = "") -> None:
        if kind == "overlay":
            raise OSError(errno.EPERM, "refused")
        mount(source, target, kind, flags, options)

    monkeypatch.setattr(kernel, "mount", refusing)


@pytest.mark.usefixtures("no_overlay")
@pytest.mark.parametrize("line", CHANGES)
def test_where_overlays_are_refused_files_are_copied(line: str) -> None:
    look = "cat ~/d/a ~/d/sub/b ~/l/k ~/x ~/nothing; ls ~ ~/d ~/l; cat /etc/passwd"
    with small_world(home_files=FILES) as first, small_world(home_files=FILES) as second:
        assert text(run(first, "sh", "-c", "grep -c overlay /proc/mounts")) == "0\n"
        for step, command in enumerate((look, f"{look}; {line}", f"{look}; {CHANGES[0]}"), start=1):
            result = run(first, "sh", "-c", command, step=step)
            found = second.fingerprint(tuple((path, mode) for path, mode, _ in result.before))
            assert [state for _, _, state in result.before] == list(found)
            second.apply(result.effects)
        assert tree(first) == tree(second)


def test_installed_sets_differ_in_the_skills_folder_only(tmp_path: Path) -> None:
    for name in ("alpha", "beta"):
        (tmp_path / "registry" / name).mkdir(parents=True)
        (tmp_path / "registry" / name / "SKILL.md").write_text(
            f"---\nname: {name}\ndescription: Does {name}.\n---\n"
        )
    skills = read_registry(tmp_path / "registry", staging=tmp_path / "staging").skills
    line = (
        "cat /proc/mounts; df; "
        "find / -xdev -not -path '/proc*' -printf '%p %y %m %n %u\\n' 2>/dev/null | sort; "
        "find ~ -printf '%p %y %m %n %u %s %t\\n' | sort"
    )
    seen = []
    for installed in ((), skills[:1], skills):
        with small_world(installed=installed) as world:
            result = script(world, line)
            listed = [row for row in text(result).splitlines() if world.layout.skills not in row]
            seen.append(listed)
            assert world.exists(f"{world.layout.skills}/beta/SKILL.md") == (len(installed) == 2)
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize("folder", ["/run", "/tmp", "/home/sam", "/var/spool/cron/crontabs"])
def test_a_listed_folder_has_the_state_after_a_command_that_the_next_one_finds(folder: str) -> None:
    with small_world() as world:
        script(world, f"ls {folder}")
        asked = (folder, TouchMode.LIST)
        (now,) = world.fingerprint((asked,))
        second = script(world, f"ls {folder}", step=1)
        assert {(path, mode): state for path, mode, state in second.before}[asked] == now
