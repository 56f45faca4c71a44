"""Small worlds for tests: short limits, one command at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from conjunct.model import ActionKind
from conjunct.world.spec import Command, CommandResult, Limits, WorldSpec
from conjunct.world.world import World, open_world

LIMITS = Limits(
    command_seconds=5.0,
    episode_seconds=60.0,
    processes=64,
    memory_bytes=512 << 20,
    file_bytes=8 << 20,
    disk_bytes=32 << 20,
    output_bytes=64 << 10,
)


@contextlib.contextmanager
def small_world(limits: Limits = LIMITS, **fields: Any) -> Iterator[World]:
    """A world with short limits."""
    with open_world(WorldSpec(limits=limits, **fields)) as world:
        yield world


def run(world: World, *argv: str, step: int = 0, skill: str = "probe", **fields: Any) -> CommandResult:
    """Run one command in the workspace."""
    cwd = fields.pop("cwd", world.layout.workspace)
    return world.run(Command(argv=argv, cwd=cwd, turn=1, step=step, skill=skill, **fields))


def python(world: World, program: str, **fields: Any) -> CommandResult:
    """Run a Python program given as text."""
    return run(world, "python3", "-c", program, **fields)


def text(result: CommandResult) -> str:
    """Both outputs as one text."""
    return (result.stdout + result.stderr).decode("utf-8", "replace")


def resources(result: CommandResult, kind: ActionKind) -> list[str]:
    """Resources of the actions of one kind."""
    return [action.resource for action in result.actions if action.kind is kind]


def works(world: World) -> bool:
    """Whether the world still starts commands and reports them."""
    result = run(world, "sh", "-c", "echo fine", step=99)
    return result.stdout == b"fine\n" and result.record.ended == "exit" and not result.undetermined


def with_limits(**fields: Any) -> Limits:
    """The short limits with some of them changed."""
    return replace(LIMITS, **fields)
