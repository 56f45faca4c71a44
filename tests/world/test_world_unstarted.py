"""What a world would hold is told without starting it, and told exactly as the running world tells it."""

from __future__ import annotations

import random

import pytest

from conjunct.model import TouchMode
from conjunct.world.first_state import CannotTell, FirstState
from conjunct.world.spec import EffectKind, FileEffect, WorldSpec
from conjunct.world.unstarted import UnstartedWorld
from conjunct.world.world import World, open_world, plan_world
from world.worlds import LIMITS

HOME = "/home/sam"
SPEC = WorldSpec(
    limits=LIMITS,
    home_files=((".bash_history", "ls\n"), (".claude/history.jsonl", "{}\n")),
    workspace_files=(("data/a.csv", b"1,2\n"), ("notes/b.txt", b"b")),
    answers=((f"{HOME}/.token", "1\n"), ("/tmp/flag", "1\n"), ("/etc/flag.d/on", "1\n")),
    environment=(("MODE", "x"),),
    minted=("SOME_API_KEY",),
)
PLACES = (
    "/",
    "/home",
    HOME,
    f"{HOME}/project",
    f"{HOME}/project/data",
    f"{HOME}/project/data/a.csv",
    f"{HOME}/project/data/a.csv/below",
    f"{HOME}/project/.git/HEAD",
    f"{HOME}/.claude",
    f"{HOME}/.claude/skills",
    f"{HOME}/.claude/history.jsonl",
    f"{HOME}/.ssh",
    f"{HOME}/.ssh/id_ed25519",
    f"{HOME}/.token",
    f"{HOME}/new/deep/file",
    f"{HOME}/new/deep",
    f"{HOME}/new",
    f"{HOME}/link",
    f"{HOME}/link/a.csv",
    f"{HOME}/dangling",
    f"{HOME}/loop",
    f"{HOME}/project/data/../notes/b.txt",
    "/home/other",
    "/tmp",
    "/tmp/flag",
    "/tmp/made",
    "/run",
    "/dev",
    "/dev/shm",
    "/dev/shm/x",
    "/var/tmp",
    "/var/spool/cron/crontabs",
    "/etc",
    "/etc/passwd",
    "/etc/os-release",
    "/etc/localtime",
    "/etc/flag.d/on",
    "/etc/nothing",
    "/opt/nothing",
    "/node_modules/left-pad",
    "/root",
    "/bin/sh",
    "/lib64",
)
_MODES = (TouchMode.READ, TouchMode.LIST, TouchMode.WRITE)
OBSERVED = tuple((place, mode) for place in PLACES for mode in _MODES)
CHANGES: tuple[tuple[FileEffect, ...], ...] = (
    (
        FileEffect(f"{HOME}/new", EffectKind.FOLDER, mode=0o750),
        FileEffect(f"{HOME}/new/deep", EffectKind.FOLDER, mode=0o755),
        FileEffect(f"{HOME}/new/deep/file", EffectKind.WRITTEN, b"x", 0o600),
    ),
    (FileEffect(f"{HOME}/project/data/a.csv", EffectKind.WRITTEN, b"changed", 0o644),),
    (FileEffect("/tmp/made", EffectKind.WRITTEN, b"y", 0o644, 1_000_000_000_000_000_000),),
    (FileEffect(f"{HOME}/link", EffectKind.LINK, b"project/data"),),
    (FileEffect(f"{HOME}/dangling", EffectKind.LINK, b"/nowhere/at/all"),),
    (FileEffect(f"{HOME}/loop", EffectKind.LINK, b"loop"),),
    (FileEffect(f"{HOME}/.ssh", EffectKind.DELETED),),
    (
        FileEffect(f"{HOME}/project/data", EffectKind.DELETED),
        FileEffect(f"{HOME}/project/data", EffectKind.FOLDER, mode=0o755),
        FileEffect(f"{HOME}/project/data/b.csv", EffectKind.WRITTEN, b"b", 0o644),
    ),
    (FileEffect(f"{HOME}/new/deep", EffectKind.DELETED),),
    (FileEffect(f"{HOME}/.token", EffectKind.DELETED),),
    (FileEffect("/dev/shm/x", EffectKind.WRITTEN, b"z", 0o666),),
    (FileEffect("/tmp/flag", EffectKind.DELETED),),
)


def told(world: World | UnstartedWorld) -> dict[str, str]:
    return {
        f"{path} {mode}": text
        for (path, mode), text in zip(OBSERVED, world.fingerprint(OBSERVED), strict=True)
    }


@pytest.mark.world
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_fingerprint_is_that_of_the_running_world_after_any_changes(seed: int) -> None:
    order = random.Random(seed).sample(CHANGES, len(CHANGES))
    plan = plan_world(SPEC)
    files = UnstartedWorld(FirstState(plan))
    with open_world(SPEC, plan=plan) as world:
        assert told(files) == told(world)
        for number, effects in enumerate(order):
            files.apply(effects)
            world.apply(effects)
            files.end_turn(number, "asked", "done")
            world.end_turn(number, "asked", "done")
            assert told(files) == told(world)
            for place in PLACES:
                assert files.exists(place) == world.exists(place), place
                assert files.read(place) == world.read(place), place


@pytest.mark.world
def test_changes_of_one_episode_do_not_show_in_the_next_of_the_same_plan() -> None:
    first = FirstState(plan_world(SPEC))
    before = told(UnstartedWorld(first))
    one = UnstartedWorld(first)
    for effects in CHANGES[:3]:
        one.apply(effects)
    assert told(one) != before
    assert told(UnstartedWorld(first)) == before


@pytest.mark.world
@pytest.mark.parametrize(
    "observation",
    [
        ("/", TouchMode.EVERYTHING),
        ("/proc/self/status", TouchMode.READ),
        ("/run/stand-ins", TouchMode.LIST),
        (f"{HOME}/project/", TouchMode.READ),
    ],
)
def test_what_only_the_running_world_knows_is_not_told(observation: tuple[str, TouchMode]) -> None:
    with pytest.raises(CannotTell):
        UnstartedWorld(FirstState(plan_world(SPEC))).fingerprint((observation,))


@pytest.mark.world
def test_a_write_through_a_link_is_left_to_the_running_world() -> None:
    files = UnstartedWorld(FirstState(plan_world(SPEC)))
    files.apply((FileEffect(f"{HOME}/link", EffectKind.LINK, b"/etc"),))
    for path in (f"{HOME}/link/passwd", f"{HOME}/link", "/etc/passwd", "/usr/bin/x", f"{HOME}/.ssh"):
        with pytest.raises(CannotTell):
            files.write(path, b"x")
