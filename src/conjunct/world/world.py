"""`World`: one episode's world as the worker holds it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from conjunct.errors import WorldError
from conjunct.world.channel import Channel
from conjunct.world.decoys import decoy_files, minted_environment, planted
from conjunct.world.episode import EpisodeService, Plan
from conjunct.world.layers import LayerEntry, LayerStore, digest_of, skill_entries
from conjunct.world.sinkhole_tls import Authority, load_authority, make_authority
from conjunct.world.spec import (
    Command,
    CommandResult,
    FileEffect,
    Layout,
    Observation,
    Planted,
    WorldRecord,
    WorldSpec,
)
from conjunct.world.stage import unprivileged_identity
from conjunct.world.supervisor import fork_supervisor
from conjunct.world.system import system_entries

if TYPE_CHECKING:
    from conjunct.world.runtime import Runtime


class World:
    """A running world. Not thread-safe; made by `open_world`."""

    def __init__(self, channel: Channel, *, layout: Layout, planted: tuple[Planted, ...]) -> None:
        self._channel = channel
        self._finished = False
        self.layout = layout
        self.planted = planted

    def run(self, command: Command) -> CommandResult:
        """Run a command to its end or its limit. Raises `WorldError` if the world broke meanwhile."""
        return self._ask("run", command)  # type: ignore[no-any-return]

    def read(self, path: str) -> bytes | None:
        """Content of a regular file, links resolved inside the world; `None` if there is none."""
        return self._ask("read", path)  # type: ignore[no-any-return]

    def write(self, path: str, content: bytes) -> None:
        """Write a file with the agent's own tool, its folders included."""
        self._ask("write", path, content)

    def exists(self, path: str) -> bool:
        """Whether there is something at `path`."""
        return bool(self._ask("exists", path))

    def fingerprint(self, observations: Sequence[Observation]) -> tuple[str, ...]:
        """The present state of what was touched: content and metadata, listing, or absence, a text each."""
        return self._ask("fingerprint", tuple(observations))  # type: ignore[no-any-return]

    def apply(self, effects: Sequence[FileEffect]) -> None:
        """Make the recorded changes of a command again, in order."""
        self._ask("apply", tuple(effects))

    def end_turn(self, turn: int, user_text: str, agent_text: str) -> None:
        """Append the turn to the agent's session file, as real agents do."""
        self._ask("end_turn", turn, user_text, agent_text)

    def finish(self) -> WorldRecord:
        """End everything, wait for what still arrives, and tell what is known only now."""
        record = self._ask("finish")
        self._finished = True
        return record  # type: ignore[no-any-return]

    def _ask(self, name: str, *arguments: object) -> Any:
        if self._finished:
            raise WorldError(f"{name}: this world has ended; open another")
        self._channel.send((name, arguments, {}))
        return _answer(self._channel)


def _answer(channel: Channel) -> Any:
    try:
        kind, value = channel.receive()
    except EOFError as error:
        raise WorldError("the episode's supervisor ended without an answer; run the episode again") from error
    if kind == "error":
        raise WorldError(value)
    return value


@contextlib.contextmanager
def open_world(spec: WorldSpec, *, runtime: Runtime, cache: Path | None = None) -> Iterator[World]:
    """A fresh world for one episode; everything in it ends with the `with` block.

    `cache`: folder for layers that episodes share, by default the system's or the user's cache folder. Raises
    `WorldError` where this host cannot isolate, with the remedy.
    """
    identity = unprivileged_identity()
    folder = cache or default_cache(identity)
    _prepare(folder, identity)
    plan = _plan(spec, runtime, folder, identity)
    pid, channel = fork_supervisor(identity, lambda: EpisodeService(plan))
    try:
        _answer(channel)
        yield World(channel, layout=spec.layout, planted=plan.planted)
    finally:
        channel.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def default_cache(identity: tuple[int, int] | None) -> Path:
    """Where layers are kept: root's own cache folder is closed to the user that the world becomes."""
    if identity is not None:
        return Path("/var/cache/conjunct") / str(identity[0])
    return Path(platformdirs.user_cache_dir("conjunct"))


def _prepare(folder: Path, identity: tuple[int, int] | None) -> None:
    try:
        for place in (folder, folder / "layers", folder / "episode"):
            place.mkdir(parents=True, exist_ok=True, mode=0o755)
            if identity is not None:
                os.chown(place, *identity)
    except OSError as error:
        raise WorldError(f"{folder} cannot be used for the world's layers: {error}") from error


def _plan(spec: WorldSpec, runtime: Runtime, folder: Path, identity: tuple[int, int] | None) -> Plan:
    store = LayerStore(folder / "layers", owner=identity)
    modified = int(datetime.fromisoformat(spec.clock).timestamp())
    home = spec.layout.home.strip("/")

    def below(path: str) -> str:
        return path.removeprefix(f"/{home}/")

    context = [LayerEntry(path, text.encode()) for path, text in spec.home_files]
    workspace = below(spec.layout.workspace)
    context += [LayerEntry(f"{workspace}/{path}", content) for path, content in spec.workspace_files]
    context += [LayerEntry(below(p), t.encode()) for p, t in spec.answers if p.startswith(f"/{home}/")]
    context.append(LayerEntry(workspace, folder=True))
    decoys = [
        LayerEntry(below(decoy.path), decoy.content, decoy.mode, modified_ns=decoy.modified)
        for decoy in decoy_files(spec)
        if decoy.path.startswith(f"/{home}/")
    ]
    system = list(system_entries(spec.layout))
    skills = " ".join(f"{skill.id} {skill.digest}" for skill in spec.installed)
    layers = (
        store.build(f"context {digest_of(context)}", context, modified=modified),
        store.build(
            f"skills {spec.layout.skills} {skills}",
            skill_entries(spec.installed, below(spec.layout.skills)),
            modified=modified,
        ),
        store.build(f"decoys {digest_of(decoys)}", decoys, modified=modified),
    )
    authority = _authority(folder)
    environment = {
        "HOME": spec.layout.home,
        "USER": spec.layout.user,
        "LOGNAME": spec.layout.user,
        "SHELL": "/bin/bash",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        **dict(minted_environment(spec)),
        **dict(spec.environment),
    }
    return Plan(
        spec=spec,
        place=folder / "episode",
        layers=layers,
        system=store.build(f"system {digest_of(system)}", system, modified=modified),
        binds=(),
        environment=tuple(environment.items()),
        planted=planted(spec),
        authority=authority,
    )


def _authority(folder: Path) -> Authority:
    """The deployment's certificate authority, made at its first use."""
    place = folder / "authority"
    try:
        return load_authority(place)
    except OSError:
        made = make_authority()
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        for name, content in (("ca.key", made.key), ("ca.pem", made.certificate)):
            fresh = place / f".{name}.{os.getpid()}"
            fresh.write_bytes(content)
            fresh.rename(place / name)
        return load_authority(place)
    except OSError as error:
        raise WorldError(f"the certificate authority cannot be kept in {place}: {error}") from error
