"""One episode inside its supervisor: the service behind `World`."""

from __future__ import annotations

import json
import os
import secrets
import selectors
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from conjunct.errors import WorldError
from conjunct.model import Action
from conjunct.world.capture import Pipe, Streams
from conjunct.world.changes import ChangeLog
from conjunct.world.clock import START, kernel_files, start_file
from conjunct.world.decoys import decoy_files
from conjunct.world.effects import WorldFiles
from conjunct.world.layers import package_folders
from conjunct.world.limits import Watchdog, processes
from conjunct.world.observer import Ending, Observer
from conjunct.world.package_index import HOSTS, PackageIndex
from conjunct.world.processors import claim_processor
from conjunct.world.sandbox import Sandbox, bring_up_network
from conjunct.world.sinkhole import DEFAULT_PORT, Sinkhole, nft_rules
from conjunct.world.sinkhole_tls import Authority
from conjunct.world.spec import (
    Command,
    CommandResult,
    FileEffect,
    Observation,
    Planted,
    WorldRecord,
    WorldSpec,
)
from conjunct.world.stage import set_stage
from conjunct.world.standins import RECORDS
from conjunct.world.system import WRITABLE_FOLDERS
from conjunct.world.tape import TraceTape

_GRACE_SECONDS = 3.0
_LASTING_SECONDS = 2.0
"""For processes that outlive the last command of an episode."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the worker prepared, while it could still read its own files."""

    spec: WorldSpec
    place: Path
    """Folder on which the episode's own disk is mounted; in the supervisor's mount namespace only."""
    layers: tuple[Path, ...]
    """What the home folder starts with, uppermost first."""
    system: Path
    binds: tuple[tuple[str, str], ...]
    """(source, destination) of what else is mounted read-only."""
    environment: tuple[tuple[str, str], ...]
    planted: tuple[Planted, ...]
    authority: Authority
    clock: bool = False
    """Whether programs can be given another clock than the host's."""
    index: PackageIndex | None = None
    """Plays the package registries for exactly what is installed."""


def session_lines(turn: int, user_text: str, agent_text: str) -> bytes:
    """What the agent's session file gets after a turn."""
    lines = b""
    for kind, text in (("user", user_text), ("assistant", agent_text)):
        entry = {"type": kind, "turn": turn, "message": {"role": kind, "content": text}}
        lines += json.dumps(entry).encode() + b"\n"
    return lines


def outside_home(spec: WorldSpec) -> list[tuple[str, bytes, int]]:
    """(path, content, time of its last change) of what is placed in writable folders beside the home."""
    moment = int(datetime.fromisoformat(spec.clock).timestamp()) * 1_000_000_000
    wanted = [(decoy.path, decoy.content, decoy.modified) for decoy in decoy_files(spec)]
    wanted += [(path, text.encode(), moment) for path, text in spec.answers]
    places = tuple(f"/{name}/" for name in WRITABLE_FOLDERS)
    return [one for one in wanted if one[0].startswith(places)]


class EpisodeService:
    """Serves one world; every public method is a request of the worker."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._spec = plan.spec
        self._limits = plan.spec.limits
        self._processor = claim_processor(plan.place.parent)
        home = plan.spec.layout.home
        self._stage = set_stage(
            plan.place,
            home=home,
            layers=plan.layers,
            system=plan.system,
            fresh=((START, start_file(plan.spec)),) if plan.clock else (),
            provided=plan.binds,
            printed=kernel_files(plan.spec) if plan.clock else (),
            limits=self._limits,
        )
        self._files = WorldFiles(self._stage.root, home=home, upper=self._stage.upper, layers=plan.layers)
        environment = dict(plan.environment)
        self._changes = ChangeLog(
            self._files,
            layers=plan.layers,
            home=home,
            environment=environment,
            placed=self._place_in_writable_folders(),
        )
        self._sinkhole = Sinkhole(
            plan.spec,
            authority=plan.authority,
            special=() if plan.index is None else (plan.index,),
            always_known=HOSTS if plan.index is not None else (),
        )
        folders = package_folders(plan.spec.installed).items()
        self._observer = Observer(
            self._changes,
            self._sinkhole,
            layout=plan.spec.layout,
            packages={folder: skill for folder, skill in folders if folder != skill},
            planted=plan.planted,
            records=self._stage.root / RECORDS.lstrip("/"),
            clock=plan.clock,
        )
        self._sandbox: Sandbox | None = None
        self._watchdog: Watchdog | None = None
        self._selector = selectors.DefaultSelector()
        self._breach = ""
        self._used_seconds = 0.0

    def _place_in_writable_folders(self) -> dict[str, bytes]:
        """Answers and decoys outside the home folder; what lies elsewhere is in the layers. Gives what was
        placed.
        """
        placed: dict[str, bytes] = {}
        for path, content, modified in outside_home(self._spec):
            self._files.write(path, content, modified_ns=modified)
            placed[path] = content
        return placed

    # ---- files

    def read(self, path: str) -> bytes | None:
        """Content of a regular file, read by the agent itself."""
        self._observer.looked(path)
        return self._files.read(path)

    def exists(self, path: str) -> bool:
        """Whether there is something at `path`."""
        return self._files.exists(path)

    def write(self, path: str, content: bytes, action: Action | None = None) -> bool:
        """Write a file as the agent, for the skill that `action` names; whether that could be done."""
        try:
            self._changes.write(path, content)
        except OSError:
            # A folder, a path below a file, a read-only place: an answer to the agent, no fault of the world.
            return False
        self._observer.brought(content)
        self._observer.remember(() if action is None else (action,))
        return True

    def fingerprint(self, observations: Sequence[Observation]) -> tuple[str, ...]:
        """The present state of what was touched."""
        return self._changes.fingerprint(observations)

    def apply(self, effects: Sequence[FileEffect], actions: Sequence[Action] = ()) -> None:
        """Make recorded changes again, and know who made them."""
        self._observer.remember(actions)
        for effect in effects:
            self._observer.brought(effect.content)
        self._changes.apply(effects)

    def end_turn(self, turn: int, user_text: str, agent_text: str) -> None:
        """Append the turn to the agent's session file."""
        path = self._spec.layout.session_file
        self.write(path, (self._files.read(path) or b"") + session_lines(turn, user_text, agent_text))

    # ---- commands

    def run(self, command: Command) -> CommandResult:
        """Run a command to its end or its limit."""
        started = time.monotonic()
        if self._used_seconds >= self._limits.episode_seconds:
            late = Ending("not-started", reason="the time of the episode is used up")
            return self._observer.result(command, late)
        sandbox = self._ready_sandbox()
        streams = Streams(command.stdin, limit=self._limits.output_bytes)
        sandbox.begin(command, self._environment(command), streams.theirs)
        streams.close_theirs()
        ending = self._wait(sandbox, streams, command)
        ending.stdout, ending.stderr = streams.stdout, streams.stderr
        ending.seconds = time.monotonic() - started
        self._used_seconds += ending.seconds
        return self._observer.result(command, ending)

    def _environment(self, command: Command) -> Mapping[str, str]:
        return {**dict(self._plan.environment), **dict(command.environment)}

    def _ready_sandbox(self) -> Sandbox:
        if self._sandbox is not None:
            return self._sandbox
        layout = self._spec.layout
        sandbox = Sandbox(
            root=self._stage.root,
            trace=self._stage.trace,
            limits=self._limits,
            traced=self._spec.traced,
            nonce=secrets.token_hex(16),
            processor=self._processor,
        )
        with ThreadPoolExecutor(1) as other:
            # The network and the sandbox take about as long to come up, and neither needs the other yet.
            network = other.submit(self._start_network)
            sandbox.start(
                binds=self._stage.binds,
                home=layout.home,
                host=layout.host,
                environment=dict(self._plan.environment),
            )
        try:
            network.result()
        except BaseException:
            sandbox.stop()
            raise
        self._sandbox = sandbox
        if self._spec.traced:
            tape = TraceTape(self._stage.trace, sandbox.nonce, writing=sandbox.alive)
            self._observer.follow(tape, init_pid=sandbox.init_pid)
        self._selector.register(sandbox.fileno(), selectors.EVENT_READ, sandbox)
        self._watchdog = Watchdog(
            sandbox.own_pids,
            self._limits,
            trace=self._stage.trace if self._spec.traced else None,
            on_breach=self._breached,
        )
        self._watchdog.start()
        return sandbox

    def _start_network(self) -> None:
        bring_up_network(nft_rules(DEFAULT_PORT, network=self._spec.network))
        self._sinkhole.start()

    def _breached(self, limit: str) -> None:
        self._breach = self._breach or limit

    def _wait(self, sandbox: Sandbox, streams: Streams, command: Command) -> Ending:
        """Serve the streams until the command has ended or must be ended."""
        ending = Ending()
        self._breach = self._breach if self._observer.survivors else ""
        left = self._limits.episode_seconds - self._used_seconds
        deadline = time.monotonic() + min(self._limits.command_seconds, left)
        streams.register(self._selector)
        while not ending.ended:
            for key, _events in self._selector.select(timeout=0.02):
                if isinstance(key.data, Pipe):
                    if not key.data.take():
                        self._selector.unregister(key.fd)
                elif isinstance(key.data, Streams):
                    key.data.feed(self._selector)
                else:
                    self._hear(sandbox, command, ending)
            if ending.ended:
                break
            if ending.reason:
                if time.monotonic() > deadline:
                    raise WorldError("a command could not be ended; the episode is void, run it again")
                continue
            ending.reason = self._why_end(streams, deadline)
            if ending.reason:
                # A limit of the episode was broken by everything that runs; the time of a command by itself.
                spared = self._observer.survivors if ending.reason == "time-limit" else ()
                sandbox.kill(spared)
                deadline = time.monotonic() + _GRACE_SECONDS
        streams.drain()
        streams.release(self._selector)
        return ending

    def _why_end(self, streams: Streams, deadline: float) -> str:
        if self._breach:
            breach, self._breach = self._breach, ""
            return breach
        if streams.flooded:
            return "output-limit"
        return "time-limit" if time.monotonic() > deadline else ""

    def _hear(self, sandbox: Sandbox, command: Command, ending: Ending) -> None:
        try:
            message = sandbox.next_message()
        except (EOFError, OSError) as error:
            raise WorldError("the sandbox ended while a command ran; the episode is void") from error
        if message.get("started") == command.step:
            ending.inside = int(message["pid"])
        elif message.get("failed") == command.step:
            ending.ended, ending.reason = "not-started", str(message.get("reason", ""))
        elif message.get("ended") == command.step:
            code = os.waitstatus_to_exitcode(message["status"])
            ending.status = code
            ending.alive = tuple(message["alive"])
            ending.ended = "exit" if code >= 0 else "killed"
            if ending.reason == "time-limit":
                ending.ended, ending.status = "time-limit", None
            elif ending.reason:
                ending.ended = "killed"

    # ---- the end

    def finish(self) -> WorldRecord:
        """End everything; tell what is known only now.

        What still runs is given a moment: a skill that acts only after its command has ended is seen then.
        """
        outlived = self._outlast()
        self._stop_processes()
        self._sinkhole.settle()
        self._sinkhole.stop()
        return replace(self._observer.record(), outlived=outlived)

    def _outlast(self) -> bool:
        """Wait for surviving processes; whether some still run after that."""
        if self._sandbox is None or not self._observer.survivors:
            return False
        deadline = time.monotonic() + min(_LASTING_SECONDS, self._limits.command_seconds)
        while time.monotonic() < deadline:
            if processes() <= self._sandbox.own_pids:
                return False
            time.sleep(0.02)
        return True

    def close(self) -> None:
        """End everything without a word: the worker is gone or done."""
        self._stop_processes()

    def _stop_processes(self) -> None:
        if self._watchdog is not None:
            self._watchdog.stop()
            self._watchdog = None
        if self._sandbox is not None:
            self._sandbox.stop()
            self._sandbox = None
