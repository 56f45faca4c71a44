"""One episode inside its supervisor: the service behind `World`."""

from __future__ import annotations

import json
import os
import secrets
import selectors
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conjunct.errors import WorldError
from conjunct.model import CommandRecord
from conjunct.world.capture import Pipe, Streams
from conjunct.world.effects import WorldFiles
from conjunct.world.limits import Watchdog
from conjunct.world.facts import CommandFacts
from conjunct.world.layers import package_folders
from conjunct.world.outcome import reasons_not_to_cut, with_changes
from conjunct.world.recogniser import Recogniser
from conjunct.world.sandbox import Sandbox, bring_up_network
from conjunct.world.spec import (
    Command,
    CommandResult,
    EffectKind,
    FileEffect,
    Observation,
    Planted,
    WorldRecord,
    WorldSpec,
)
from conjunct.world.stage import set_stage
from conjunct.world.tape import TraceTape
from conjunct.world.trace import EpisodeTrace, parse_command

SINKHOLE_PORT = 61080
_GRACE_SECONDS = 3.0
_TRACE_WAIT_SECONDS = 5.0
_KNOWN_BYTES = 256 << 10
"""Larger files are not kept to tell what changed in them."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the worker prepared, while it could still read its own files."""

    spec: WorldSpec
    place: Path
    layers: tuple[Path, ...]
    system: Path
    binds: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]
    planted: tuple[Planted, ...]


@dataclass(slots=True)
class _Ending:
    """How one command ended, as it is found out."""

    ended: str = ""
    status: int | None = None
    alive: tuple[int, ...] = ()
    """Processes that still live, numbered as inside the world."""
    inside: int = 0
    """The command's own number inside the world."""
    reason: str = ""
    """Why it was not started, or the limit that ended it."""
    stdout: bytes = b""
    stderr: bytes = b""
    seconds: float = 0.0


class EpisodeService:
    """Serves one world; every public method is a request of the worker."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._spec = plan.spec
        self._limits = plan.spec.limits
        home = plan.spec.layout.home
        self._stage = set_stage(
            plan.place, home=home, layers=plan.layers, system=plan.system, limits=self._limits
        )
        self._files = WorldFiles(self._stage.root, home=home, upper=self._stage.upper, layers=plan.layers)
        self._snapshot = self._files.snapshot()
        self._sandbox: Sandbox | None = None
        self._watchdog: Watchdog | None = None
        self._selector = selectors.DefaultSelector()
        self._breach = ""
        self._survivors: tuple[int, ...] = ()
        self._tape: TraceTape | None = None
        self._trace: EpisodeTrace | None = None
        self._last: Command | None = None
        self._known: dict[str, bytes | None] = {}
        self._recogniser = Recogniser(plan.planted)
        self._used_seconds = 0.0

    # ---- files

    def read(self, path: str) -> bytes | None:
        return self._files.read(path)

    def exists(self, path: str) -> bool:
        return self._files.exists(path)

    def write(self, path: str, content: bytes) -> None:
        self._files.write(path, content)
        self._snapshot = self._files.snapshot()

    def fingerprint(self, observations: Sequence[Observation]) -> tuple[str, ...]:
        return tuple(map(self._files.fingerprint, observations))

    def apply(self, effects: Sequence[FileEffect]) -> None:
        self._files.apply(effects)
        self._snapshot = self._files.snapshot()

    def end_turn(self, turn: int, user_text: str, agent_text: str) -> None:
        path = self._spec.layout.session_file
        lines = b""
        for kind, text in (("user", user_text), ("assistant", agent_text)):
            entry = {"type": kind, "turn": turn, "message": {"role": kind, "content": text}}
            lines += json.dumps(entry).encode() + b"\n"
        self.write(path, (self._files.read(path) or b"") + lines)

    # ---- commands

    def run(self, command: Command) -> CommandResult:
        started = time.monotonic()
        if self._used_seconds >= self._limits.episode_seconds:
            return self._result(command, _Ending("not-started", reason="the time of the episode is used up"))
        sandbox = self._ready_sandbox()
        streams = Streams(command.stdin, limit=self._limits.output_bytes)
        sandbox.begin(command, self._environment(command), streams.theirs)
        streams.close_theirs()
        ending = self._wait(sandbox, streams, command)
        ending.stdout, ending.stderr = streams.stdout, streams.stderr
        ending.seconds = time.monotonic() - started
        self._used_seconds += ending.seconds
        return self._result(command, ending)

    def _result(self, command: Command, ending: _Ending) -> CommandResult:
        facts = self._facts(command, ending)
        before, self._snapshot = self._snapshot, self._files.snapshot()
        effects = self._files.changed(before, self._snapshot)
        earlier = {effect.path: self._content_before(effect.path) for effect in effects}
        actions = with_changes(
            facts.actions,
            effects,
            before=earlier,
            recogniser=self._recogniser,
            layout=self._spec.layout,
            command=command,
        )
        self._remember(effects)
        outlived = tuple(pid for pid in ending.alive if pid not in self._survivors)
        self._survivors = ending.alive
        record = CommandRecord(
            step=command.step,
            turn=command.turn,
            argv=command.argv,
            cwd=command.cwd,
            skill=command.skill,
            file=command.file,
            line=command.line,
            ended=ending.ended,
            status=ending.status,
            stdout=ending.stdout.decode("utf-8", "replace"),
            stderr=ending.stderr.decode("utf-8", "replace") or ending.reason,
            seconds=ending.seconds,
            outlived=bool(outlived),
            assumed=facts.assumed,
        )
        uncut = reasons_not_to_cut(facts, outlived, self._files.special(before, self._snapshot))
        undetermined = (*facts.undetermined, *_undetermined(ending))
        return CommandResult(
            record, ending.stdout, ending.stderr, actions, facts.touches, effects, uncut, undetermined
        )

    def _facts(self, command: Command, ending: _Ending) -> CommandFacts:
        """Read the trace of the command, if it was started and traced."""
        if self._tape is None or self._trace is None or ending.ended == "not-started":
            return CommandFacts()
        stretch = self._tape.cut(command.step, seconds=_TRACE_WAIT_SECONDS)
        self._last = command
        return parse_command(
            stretch.lines,
            episode=self._trace,
            command=command,
            root_pid=stretch.root_pid,
            root_inside=ending.inside,
            truncated=not stretch.complete,
            alive=frozenset(ending.alive),
        )

    def _content_before(self, path: str) -> bytes | None:
        return self._known[path] if path in self._known else self._files.original(path)

    def _remember(self, effects: Sequence[FileEffect]) -> None:
        for effect in effects:
            if effect.kind is EffectKind.WRITTEN and len(effect.content) <= _KNOWN_BYTES:
                self._known[effect.path] = effect.content
            elif effect.kind is not EffectKind.FOLDER:
                self._known[effect.path] = None

    def _environment(self, command: Command) -> Mapping[str, str]:
        return {**dict(self._plan.environment), **dict(command.environment)}

    def _ready_sandbox(self) -> Sandbox:
        if self._sandbox is not None:
            return self._sandbox
        bring_up_network(SINKHOLE_PORT, answers=self._spec.network != "none")
        layout = self._spec.layout
        sandbox = Sandbox(
            root=self._stage.root,
            trace=self._stage.trace,
            limits=self._limits,
            traced=self._spec.traced,
            nonce=secrets.token_hex(16),
        )
        sandbox.start(
            binds=self._plan.binds,
            home=layout.home,
            host=layout.host,
            environment=dict(self._plan.environment),
        )
        self._sandbox = sandbox
        if self._spec.traced:
            self._tape = TraceTape(self._stage.trace, sandbox.nonce, writing=sandbox.alive)
            self._tape.skip_start(seconds=_TRACE_WAIT_SECONDS)
            servers = frozenset({sandbox.init_pid, self._tape.server_pid})
            self._trace = EpisodeTrace(layout, self._packages(), servers)
        self._selector.register(sandbox.fileno(), selectors.EVENT_READ, sandbox)
        self._watchdog = Watchdog(
            sandbox.init_pid,
            self._limits,
            trace=self._stage.trace if self._spec.traced else None,
            on_breach=self._breached,
        )
        self._watchdog.start()
        return sandbox

    def _packages(self) -> dict[str, str]:
        return {
            folder: skill
            for folder, skill in package_folders(self._spec.installed).items()
            if folder != skill
        }

    def _breached(self, limit: str) -> None:
        self._breach = self._breach or limit

    def _wait(self, sandbox: Sandbox, streams: Streams, command: Command) -> _Ending:
        """Serve the streams until the command has ended or must be ended."""
        ending = _Ending()
        left = self._limits.episode_seconds - self._used_seconds
        deadline = time.monotonic() + min(self._limits.command_seconds, left)
        streams.register(self._selector)
        killing = False
        while not ending.ended:
            for key, _events in self._selector.select(timeout=0.02):
                if isinstance(key.data, Pipe):
                    if not key.data.take():
                        self._selector.unregister(key.fd)
                elif isinstance(key.data, Streams):
                    key.data.feed(self._selector)
                else:
                    self._hear(sandbox, command, ending)
            why = self._why_end(streams, deadline)
            if why and not killing and not ending.ended:
                killing = True
                ending.reason = why
                sandbox.kill(self._survivors if why == "time-limit" else ())
                deadline = time.monotonic() + _GRACE_SECONDS
            elif killing and time.monotonic() > deadline and not ending.ended:
                raise WorldError("a command could not be killed within the grace time; the episode is void")
        streams.drain()
        return ending

    def _why_end(self, streams: Streams, deadline: float) -> str:
        if self._breach:
            breach, self._breach = self._breach, ""
            return breach
        if streams.flooded:
            return "output-limit"
        return "time-limit" if time.monotonic() > deadline else ""

    def _hear(self, sandbox: Sandbox, command: Command, ending: _Ending) -> None:
        try:
            message = sandbox.next_message()
        except EOFError as error:
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
        self.close()
        return WorldRecord()

    def close(self) -> None:
        if self._watchdog is not None:
            self._watchdog.stop()
            self._watchdog = None
        if self._sandbox is not None:
            self._sandbox.stop()
            self._sandbox = None


def _undetermined(ending: _Ending) -> tuple[str, ...]:
    """Why a command that a limit ended is no observation: what it would have done after is unknown."""
    return (f"ended by the {ending.reason}",) if ending.ended != "not-started" and ending.reason else ()
