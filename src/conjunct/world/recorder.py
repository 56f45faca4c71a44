"""Collects what the calls of one command say, once each, with actor and resource class."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from conjunct.model import Action, ActionKind, Actor, ActorLink, ResourceClass, Touch, TouchMode
from conjunct.world.actors import ActorLedger, extend, package_link
from conjunct.world.facts import CarrierOut, Connection
from conjunct.world.processes import ProcessTable, TracedProcess
from conjunct.world.resources import (
    absolute,
    classify_address,
    classify_path,
    is_code,
    is_interpreter,
    meaning,
)
from conjunct.world.spec import Layout
from conjunct.world.strace_syntax import Endpoint
from conjunct.world.transient import TransientNames

_TOUCHES = 200_000
_ACTIONS = 20_000
_CONNECTIONS = 20_000
_CARRIERS = 1_000
_SCRIPT_WORDS = 4
_OF_TASKS = frozenset({ResourceClass.WORKSPACE, ResourceClass.TEMPORARY})

Detail = tuple[tuple[str, str], ...]
ActionKey = tuple[ActionKind, str, bool, int, Actor]


@dataclass(slots=True)
class Recorder:
    """Facts of one command while its trace is being read."""

    layout: Layout
    packages: Mapping[str, str]
    ledger: ActorLedger
    table: ProcessTable
    fifos: set[str]
    turn: int
    """The present turn: what a survivor does now happens now, whoever started it when."""
    line: int = 0
    touched: dict[tuple[str, TouchMode, bool, int], Touch] = field(default_factory=dict)
    done: dict[ActionKey, Action] = field(default_factory=dict)
    connections: list[Connection] = field(default_factory=list)
    _underway: dict[tuple[int, int], int] = field(default_factory=dict)
    """(pid, inode of the socket) to the index of a connection whose outcome is not known."""
    _reached: Counter[str] = field(default_factory=Counter)
    """Destination to the number of connections that count as completed."""
    _connect_keys: dict[str, list[ActionKey]] = field(default_factory=dict)
    carriers: dict[tuple[str, str, int], CarrierOut] = field(default_factory=dict)
    pinned: frozenset[str] = frozenset()
    transient: TransientNames = field(default_factory=TransientNames)
    folders: set[str] = field(default_factory=set)
    seen_by_attributes: set[str] = field(default_factory=set)
    listed: set[str] = field(default_factory=set)
    first_looks: dict[str, bool] = field(default_factory=dict)
    """Path to whether the first that happened to it was to be emptied, as an input or output of a task."""
    seeds: set[tuple[int, int, int]] = field(default_factory=set)
    """(pid, line of its exec, bytes) of random numbers that a runtime drew for itself at its start."""
    draws: bool = False
    """Random numbers were drawn."""
    undetermined: dict[str, None] = field(default_factory=dict)
    assumed: dict[str, None] = field(default_factory=dict)

    # ---- looking

    def touch(self, process: TracedProcess, path: str, mode: TouchMode, *, found: bool) -> bool:
        """Note one look at an absolute path. Returns whether the path matters (is no system noise).

        A path that leads through known links is a look at where it leads as well.
        """
        matters = self._touch(process, path, mode, found=found)
        for name in dict.fromkeys((self.ledger.resolve_folder(path), self.ledger.resolve(path))):
            if name == path:
                continue
            matters |= self._touch(process, name, mode, found=found)
        return matters

    def _touch(self, process: TracedProcess, path: str, mode: TouchMode, *, found: bool) -> bool:
        about = meaning(path)
        if about.noise and not self.ledger.wrote(path):
            return False
        if about.everything:
            mode = TouchMode.EVERYTHING
        self.first_looks.setdefault(about.path, False)
        key = (about.path, mode, found, process.step)
        if key not in self.touched:
            if len(self.touched) >= _TOUCHES:
                self.undetermined[f"more than {_TOUCHES} distinct looks in one command"] = None
                return True
            self.touched[key] = Touch(about.path, mode, found, self.turn, process.step)
        return True

    def is_noise(self, path: str) -> bool:
        """Whether a path belongs to the read-only system and is as it was when the episode began."""
        return meaning(path).noise and not self.ledger.wrote(path)

    def folder(self, process: TracedProcess, path: str) -> None:
        """Note that a path turned out to be a folder whose size, links and times were seen."""
        self.folders.add(path)
        self.seen_by_attributes.add(path)
        if path not in self.pinned:
            self.touch(process, path, TouchMode.LIST, found=True)

    def touches(self) -> tuple[Touch, ...]:
        """All looks, in order. A folder that was only opened was not read: its entries come by listing."""
        result: dict[tuple[str, TouchMode, bool, int], Touch] = {}
        for touch in self.touched.values():
            if touch.mode is TouchMode.READ and touch.path in self.folders:
                touch = replace(touch, mode=TouchMode.STAT)
            if self.transient.any:
                touch = self.transient.of_touch(touch)
            result.setdefault((touch.path, touch.mode, touch.found, touch.step), touch)
        return tuple(result.values())

    def actions(self) -> tuple[Action, ...]:
        """All actions, in order. What was opened for reading and was a folder has not been read."""
        kept = [
            action
            for action in self.done.values()
            if action.kind is not ActionKind.READ or action.resource not in self.folders
        ]
        if self.transient.any:
            kept = list(dict.fromkeys(self.transient.of_action(action) for action in kept))
        return tuple(kept)

    # ---- doing

    def act(
        self,
        process: TracedProcess,
        kind: ActionKind,
        resource: str,
        resource_class: ResourceClass,
        *,
        completed: bool = True,
        detail: Detail = (),
    ) -> ActionKey | None:
        """Note one action; the same action of the same actors in the same command is noted once.

        Returns its key if it is new.
        """
        key = (kind, resource, completed, process.step, process.actor)
        if key in self.done:
            return None
        if len(self.done) >= _ACTIONS:
            self.undetermined[f"more than {_ACTIONS} distinct actions in one command"] = None
            return None
        self.done[key] = Action(
            kind=kind,
            resource=resource,
            resource_class=resource_class,
            actor=process.actor,
            turn=self.turn,
            step=process.step,
            completed=completed,
            detail=detail,
        )
        return key

    def act_on(
        self,
        process: TracedProcess,
        kind: ActionKind,
        path: str,
        *,
        completed: bool = True,
        detail: Detail = (),
    ) -> None:
        """Note an action on a path, unless it is system noise. A hard link stands for its first name too."""
        if self.is_noise(path):
            return
        if (kind, path, completed, process.step, process.actor) not in self.done:
            self.act(process, kind, path, self.path_class(process, path), completed=completed, detail=detail)
        first = self.ledger.alias(path)
        if first and first != path and kind is ActionKind.WRITE:
            detail = (*detail, ("through", path))
            resource_class = self.path_class(process, first)
            self.act(process, kind, first, resource_class, completed=completed, detail=detail)

    def path_class(self, process: TracedProcess, path: str) -> ResourceClass:
        """The class of a path for the code that a process runs."""
        return classify_path(path, self.layout, own=process.own, packages=self.packages)

    def read(self, process: TracedProcess, path: str, *, asked: str = "") -> None:
        """Note that a file was opened for reading: as data, or as code of the reader.

        `asked` is the path by which it was opened, where a link led from there to `path`.
        """
        self.touch(process, path, TouchMode.READ, found=True)
        if self.is_noise(path) or meaning(path).path != path:
            return
        # The class is judged by the code that opened the file; the actors include what was loaded with it.
        names = {path: ""}
        for other in (self.ledger.alias(path), self.ledger.origin(path)):
            if other and not self.is_noise(other):
                names.setdefault(other, path)
        classes = {name: self.path_class(process, name) for name in names}
        process.remember_fetched(self.ledger.fetched(path))
        if self._runs(process, path, asked or path):
            self.load(process, path)
        elif writers := self.ledger.lookup(path):
            process.remember_source(path, _skills(writers))
        for name, through in names.items():
            detail = (("through", through),) if through else ()
            self.act(process, ActionKind.READ, name, classes[name], detail=detail)

    def write(self, process: TracedProcess, path: str, change: str, *, anew: bool = False) -> None:
        """Note that a file was or could be changed. `anew`: nothing of its former content stays."""
        if path.startswith(("/dev/", "/proc/")) and self.is_noise(path):
            return
        # Whatever else could be written is no read-only system, wherever it lies.
        fetched = () if _is_bytecode_of(path, process) else process.fetched
        record = self.ledger.replace if anew else self.ledger.update
        record(path, process.actor, fetched=fetched)
        if anew and path not in self.first_looks:
            self.first_looks[path] = self.path_class(process, path) in _OF_TASKS
        self.touch(process, path, TouchMode.WRITE, found=True)
        self.act_on(process, ActionKind.WRITE, path, detail=(("change", change),))

    # ---- running

    def load(self, process: TracedProcess, path: str) -> None:
        """Note that a process runs code from `path`, and whose code that is."""
        process.remember_code(path)
        for source in self.ledger.fetched(path):
            detail = (("fetched_from", source),)
            self.act(process, ActionKind.REMOTE_CODE, path, self.path_class(process, path), detail=detail)
        links: list[ActorLink] = []
        package = package_link(path, self.layout, self.packages)
        if package is not None:
            links.append(package)
        writers = self.ledger.lookup(path)
        if writers:
            links += [*writers, ActorLink("file", path)]
        if not links:
            return
        process.actor = extend(process.actor, links)
        skills = frozenset(link.name for link in links if link.kind == "skill")
        if skills:
            process.own = skills if process.inherits_own else process.own | skills
            process.inherits_own = False

    def execute(self, process: TracedProcess, path: str, argv: tuple[str, ...]) -> None:
        """Note that a process became another program."""
        program = self.ledger.resolve(path)
        noise = self.is_noise(program)
        process.program, process.argv, process.script = program, argv, ""
        process.started, process.executed_at = True, self.line
        process.inherits_own = True
        process.interprets = not noise or is_interpreter(program)
        if self.touch(process, path, TouchMode.EXEC, found=True):
            if path != program:
                # Who put the link there decides what runs as much as who wrote the program.
                self.load(process, path)
            self.load(process, program)
        resource_class = ResourceClass.SYSTEM if noise else self.path_class(process, program)
        detail = (("argv", shown(argv)),)
        self.act(process, ActionKind.EXEC, program, resource_class, detail=detail)

    def _runs(self, process: TracedProcess, path: str, asked: str) -> bool:
        """Whether a file opened for reading is code to the process that opened it."""
        if path in self.folders or meaning(path).everything:
            return False
        if process.program in (path, asked):
            process.script = path
            return True
        if not process.interprets:
            return is_code("", path)
        if process.script == path:
            return True
        if not process.script and not self._script_arguments(process).isdisjoint((path, asked)):
            process.script = path
            return True
        if is_code(process.program, path):
            return True
        own_kind = not self.is_noise(process.program)
        return own_kind and (is_code("python3", path) or is_code("node", path))

    @staticmethod
    def _script_arguments(process: TracedProcess) -> frozenset[str]:
        """The first arguments that are no options, as paths; options may have arguments before the script."""
        words = [word for word in process.argv[1:] if word and not word.startswith("-")]
        return frozenset(absolute(word, process.cwd.path) for word in words[:_SCRIPT_WORDS])

    # ---- sending

    def connect(
        self, process: TracedProcess, connection: Connection, *, act: bool, underway: bool = False
    ) -> None:
        """Note a use of a socket with a destination, and as an action where it is one.

        `underway`: it was started without waiting, and the trace does not tell here how it went.
        """
        if len(self.connections) >= _CONNECTIONS:
            self.undetermined[f"more than {_CONNECTIONS} connections in one command"] = None
            return
        if underway and connection.completed:
            self._underway[connection.pid, connection.socket] = len(self.connections)
        self.connections.append(connection)
        self._reached[connection.destination] += connection.completed
        if not act:
            return
        if connection.protocol != "unix":
            name = f"network:{connection.destination}"
            self.touch(process, name, TouchMode.READ, found=connection.completed)
            resource_class = classify_address(connection.destination)
            if connection.completed and resource_class is ResourceClass.NETWORK:
                process.remember_fetched((connection.destination,))
        else:
            resource_class = self.path_class(process, connection.destination)
        key = self.act(
            process,
            ActionKind.CONNECT,
            connection.destination,
            resource_class,
            completed=connection.completed,
            detail=(("protocol", connection.protocol), *((("state", "underway"),) if underway else ())),
        )
        if key is not None and connection.completed:
            self._connect_keys.setdefault(connection.destination, []).append(key)

    def connection_failed(self, process: TracedProcess, socket: Endpoint, error: str) -> None:
        """Note that a connection that was underway failed."""
        index = self._underway.pop((process.pid, socket.inode), None)
        if index is None:
            return
        known = self.connections[index] = replace(self.connections[index], completed=False)
        self._reached[known.destination] -= 1
        if self._reached[known.destination]:
            return
        for key in self._connect_keys.pop(known.destination, ()):
            detail = (("protocol", known.protocol), ("error", error))
            self.done[key] = replace(self.done[key], completed=False, detail=detail)

    def carry_out(self, process: TracedProcess, kind: str, name: str) -> None:
        """Note something through which bytes can leave the command unseen."""
        if len(self.carriers) < _CARRIERS:
            self.carriers.setdefault(
                (kind, name, process.pid), CarrierOut(kind, name, process.pid, process.actor)
            )


def shown(argv: tuple[str, ...]) -> str:
    """An argument vector as a shell would be given it, cut where it is long."""
    return shlex.join(argv)[:4096]


def _is_bytecode_of(path: str, process: TracedProcess) -> bool:
    """Whether `path` is where Python keeps the compiled form of a source that the process loaded."""
    folder, _, name = path.rpartition("/__pycache__/")
    return bool(name) and f"{folder}/{name.split('.', 1)[0]}.py" in process.code


def _skills(actor: Actor) -> tuple[str, ...]:
    return tuple(dict.fromkeys(link.name for link in actor if link.kind == "skill"))
