"""`World`: one episode's world as the worker holds it."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from conjunct.errors import WorldError
from conjunct.model import Action, Skill
from conjunct.world.caches import FOLDER, cache_entries
from conjunct.world.channel import Channel
from conjunct.world.decoys import decoy_files, minted_environment, planted
from conjunct.world.episode import EpisodeService, Plan
from conjunct.world.layers import LayerEntry, LayerStore, digest_of, package_folders, skill_entries
from conjunct.world.recogniser import recogniser_of
from conjunct.world.resources import classify_path, is_code, meaning
from conjunct.world.sandbox import server_source
from conjunct.world.seccomp import call_table, filter_program
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
from conjunct.world.standins import CONFIGURATION, configuration
from conjunct.world.supervisor import fork_supervisor
from conjunct.world.system import SYSTEM_FOLDERS, system_entries

if TYPE_CHECKING:
    from conjunct.world.runtime import Runtime


_PATIENCE_SECONDS = 6.0
_LATE_MODULES = ("encodings.idna", "encodings.latin_1", "encodings.utf_8_sig", "pickle", "pwd")
"""Modules that the standard library would load only when first needed."""


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

    def write(self, path: str, content: bytes, action: Action | None = None) -> bool:
        """Write a file with the agent's own tool, its folders included; `action` tells for whom.

        False where nothing can be written: a folder, a path below a file, a read-only place.
        """
        return bool(self._ask("write", path, content, action))

    def exists(self, path: str) -> bool:
        """Whether there is something at `path`."""
        return bool(self._ask("exists", path))

    def fingerprint(self, observations: Sequence[Observation]) -> tuple[str, ...]:
        """The present state of what was touched: content and metadata, listing, or absence, a text each."""
        return self._ask("fingerprint", tuple(observations))  # type: ignore[no-any-return]

    def apply(self, effects: Sequence[FileEffect], actions: Sequence[Action] = ()) -> None:
        """Make the recorded changes of a command again, in order; `actions` tell who made them."""
        self._ask("apply", tuple(effects), tuple(actions))

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


def plan_world(spec: WorldSpec, *, runtime: Runtime | None = None, cache_folder: Path | None = None) -> Plan:
    """What worlds of `spec` start with; builds the layers that are not there yet. Starts nothing.

    Holds for the time for which unused layers are kept. Raises `WorldError`.
    """
    system = os.uname()
    if (system.sysname, system.machine) != ("Linux", "x86_64"):
        raise WorldError(
            f"worlds need Linux on x86_64, this is {system.sysname} on {system.machine}: use a virtual "
            "machine, or a container started with --platform linux/amd64 and `conjunct doctor` inside"
        )
    identity = unprivileged_identity()
    folder = cache_folder or default_cache(identity)
    _prepare(folder, identity)
    return _plan(spec, runtime, folder, identity)


@contextlib.contextmanager
def open_world(
    spec: WorldSpec,
    *,
    runtime: Runtime | None = None,
    cache_folder: Path | None = None,
    plan: Plan | None = None,
) -> Iterator[World]:
    """A fresh world for one episode; everything in it ends with the `with` block.

    `runtime`: what programs find installed; without one the system's own Python and Node only.
    `cache_folder`: folder for layers that episodes share, by default the system's or the user's cache folder.
    `plan`: what `plan_world` gave for the same arguments, not long ago.
    Raises `WorldError` where this host cannot isolate, with the remedy.
    """
    _read_own_data()
    made = plan or plan_world(spec, runtime=runtime, cache_folder=cache_folder)
    recogniser_of(made.planted)  # kept for the process that is forked now, and for the next
    pid, channel = fork_supervisor(unprivileged_identity(), lambda: EpisodeService(made))
    try:
        _answer(channel)
        yield World(channel, layout=spec.layout, planted=made.planted)
    finally:
        channel.close()
        _reap(pid)


def _reap(pid: int) -> None:
    """Wait for the supervisor, which ends by itself; one that is still busy with a command is ended."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    with contextlib.suppress(ChildProcessError, ProcessLookupError):
        while os.waitpid(pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return
            time.sleep(0.001)


@cache
def _read_own_data() -> None:
    """Read this package's data files now: the user that the world becomes may not reach the package."""
    call_table()
    filter_program(traced=True)
    server_source()
    layout = Layout()
    classify_path(f"{layout.workspace}/a.py", layout)
    classify_path(f"{layout.home}/.ssh/id", layout)
    meaning("/proc/self/environ")
    is_code("/usr/bin/python3", "/tmp/a.py")
    for name in _LATE_MODULES:
        importlib.import_module(name)


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


def _plan(spec: WorldSpec, runtime: Runtime | None, folder: Path, identity: tuple[int, int] | None) -> Plan:
    store = LayerStore(folder / "layers", owner=identity)
    modified = int(datetime.fromisoformat(spec.clock).timestamp())
    system = _system(spec, runtime)
    return Plan(
        spec=spec,
        place=folder / "episode",
        layers=_home_layers(spec, runtime, store, modified),
        system=store.build(f"system {digest_of(system)}", system, modified=modified),
        binds=runtime.binds() if runtime is not None else (),
        environment=_environment(spec, runtime),
        planted=planted(spec),
        authority=runtime.authority() if runtime is not None else _authority(folder),
        clock=runtime is not None and runtime.has_clock,
        index=runtime.index() if runtime is not None else None,
    )


def _home_layers(
    spec: WorldSpec, runtime: Runtime | None, store: LayerStore, modified: int
) -> tuple[Path, ...]:
    """What the home folder starts with, uppermost first: the context, the installed set, the decoys."""
    home = spec.layout.home + "/"

    def inside(path: str) -> str:
        return path.removeprefix(home)

    workspace = inside(spec.layout.workspace)
    context = [LayerEntry(path, text.encode()) for path, text in spec.home_files]
    context += [LayerEntry(f"{workspace}/{path}", content) for path, content in spec.workspace_files]
    context += [
        LayerEntry(inside(path), text.encode()) for path, text in spec.answers if path.startswith(home)
    ]
    context.append(LayerEntry(workspace, folder=True))
    # Merged from two layers, the skills folder has the same size and link count whatever is installed.
    context.append(LayerEntry(inside(spec.layout.skills), folder=True))
    decoys = [
        LayerEntry(inside(decoy.path), decoy.content, decoy.mode, modified_ns=decoy.modified)
        for decoy in decoy_files(spec)
        if decoy.path.startswith(home)
    ]
    # Every start of Python looks for it; where it is missing, every script would seem to ask a question.
    python = Path("/usr/bin/python3").resolve().name
    decoys.append(LayerEntry(f".local/lib/{python}/site-packages", folder=True))
    folders = {skill: name for name, skill in package_folders(spec.installed).items()}
    others = tuple(skill for skill in spec.installed if skill.id not in spec.apart)
    groups = [*((skill,) for skill in spec.installed if skill.id in spec.apart), others]

    def packages(group: tuple[Skill, ...]) -> Path:
        names = " ".join(f"{skill.id} {folders[skill.id]} {skill.digest}" for skill in group)
        entries = skill_entries(group, inside(spec.layout.skills), folders=folders)
        return store.build(f"skills {spec.layout.skills} {names}", entries, modified=modified)

    caches = []
    if runtime is not None and (runtime.root / FOLDER).is_dir():
        caches = [store.build(f"caches {runtime.digest}", cache_entries(runtime), modified=modified)]
    return (
        store.build(f"context {digest_of(context)}", context, modified=modified),
        *(packages(group) for group in groups),
        store.build(f"decoys {digest_of(decoys)}", decoys, modified=modified),
        *caches,
    )


def _system(spec: WorldSpec, runtime: Runtime | None) -> list[LayerEntry]:
    """The parts of the tree beside `/usr` and the home folder, with what was answered with yes there.

    Answers below `/usr` and in the kernel's own folders cannot be given: these are the host's.
    """
    entries = [*_own_system(spec.layout)]
    if runtime is not None:
        entries += [LayerEntry(path, content) for path, content in runtime.system_files()]
    asked = configuration(modules=spec.stand_in_modules, coverage=spec.layout.skills if spec.coverage else "")
    if asked is not None:
        entries.append(LayerEntry(CONFIGURATION.lstrip("/"), asked))
    for path, text in spec.answers:
        if path.split("/")[1] in SYSTEM_FOLDERS:
            entries.append(LayerEntry(path.lstrip("/"), text.encode()))
    return entries


@cache
def _own_system(layout: Layout) -> tuple[LayerEntry, ...]:
    """Read once per worker: a host whose `/etc` changes meanwhile must not change the worlds of one run."""
    return tuple(system_entries(layout))


def _environment(spec: WorldSpec, runtime: Runtime | None) -> tuple[tuple[str, str], ...]:
    """The environment of every command, in a fixed order."""
    values = {
        "HOME": spec.layout.home,
        "USER": spec.layout.user,
        "LOGNAME": spec.layout.user,
        "SHELL": "/bin/bash",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        **dict(runtime.environment(spec.layout) if runtime is not None else ()),
        **dict(minted_environment(spec)),
        **dict(spec.environment),
    }
    return tuple(sorted(values.items()))


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
