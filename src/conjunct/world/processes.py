"""The processes of one episode as the trace shows them: who forked whom, what they run, where they are."""

from __future__ import annotations

from dataclasses import dataclass, field

from conjunct.model import Actor
from conjunct.world.actors import ActorLedger
from conjunct.world.facts import Process
from conjunct.world.strace_syntax import Call, translated_pid

_CODE = 512
_SOURCES = 256
_DESCRIPTORS = 4096
_FETCHED = 16


@dataclass(slots=True)
class Folder:
    """A current folder, shared by tasks that were cloned with CLONE_FS."""

    path: str


@dataclass(slots=True)
class TracedProcess:
    """One thread group while it is being read."""

    pid: int
    inside: int
    parent: int
    step: int
    ledger: ActorLedger
    actor: Actor
    own: frozenset[str]
    """Ids of the skills whose code it runs now: the directive's until it loads some itself."""
    cwd: Folder
    argv: tuple[str, ...] = ()
    program: str = ""
    started: bool = True
    """False until the first exec, for the child of the server that starts commands."""
    executed_at: int = -1
    """Line of the trace at which it became the program it is; -1 for a mere fork."""
    ended_at: int = -1
    interprets: bool = False
    inherits_own: bool = True
    script: str = ""
    code: dict[str, None] = field(default_factory=dict)
    sources: dict[str, tuple[str, ...]] = field(default_factory=dict)
    files: dict[int, str] = field(default_factory=dict)
    """Descriptor to path, for `/proc/self/fd/N`. Shared with children; the last opener of a number wins."""
    family: set[int] = field(default_factory=set)
    """Pids, as processes see them, of all processes of the command. Shared with children."""
    folders: set[str] = field(default_factory=set)
    """Paths that calls started from: they are folders, however they were opened. Shared with children."""
    tasks: set[int] = field(default_factory=set)
    fetched: tuple[str, ...] = ()
    """Destinations off this machine from which it may have got what it writes."""
    binds_anywhere: bool = False
    """It let the system choose a port."""
    leader_ended: str = ""
    ended: str = ""

    def child(self, call: Call) -> TracedProcess:
        """A new process forked by this one."""
        inside, pid = translated_pid(f"{call.value}{call.rest}")
        self.family.add(inside)
        shared = any("CLONE_FS" in argument for argument in call.arguments)
        return TracedProcess(
            pid=pid,
            inside=inside,
            parent=self.pid,
            step=self.step,
            ledger=self.ledger,
            actor=self.actor,
            own=self.own,
            cwd=self.cwd if shared else Folder(self.cwd.path),
            argv=self.argv,
            program=self.program,
            interprets=self.interprets,
            inherits_own=self.inherits_own,
            script=self.script,
            files=self.files,
            folders=self.folders,
            family=self.family,
            fetched=self.fetched,
            tasks={pid},
        )

    def remember_code(self, path: str) -> None:
        """Note a file of code; the list is bounded."""
        if len(self.code) < _CODE:
            self.code[path] = None

    def remember_fetched(self, destinations: tuple[str, ...]) -> None:
        """Note from where bytes may have come; the list is bounded."""
        if destinations and len(self.fetched) < _FETCHED:
            self.fetched = tuple(dict.fromkeys((*self.fetched, *destinations)))[:_FETCHED]

    def remember_source(self, path: str, skills: tuple[str, ...]) -> None:
        """Note a file of data that the episode wrote; the list is bounded."""
        if len(self.sources) < _SOURCES:
            self.sources[path] = skills

    def remember_descriptor(self, number: int, path: str) -> None:
        """Note what a descriptor stands for."""
        if number in self.files or len(self.files) < _DESCRIPTORS:
            self.files[number] = path

    def frozen(self) -> Process:
        """The process as a fact."""
        return Process(
            pid=self.pid,
            inside=self.inside,
            parent=self.parent,
            argv=self.argv,
            program=self.program,
            script=self.script,
            cwd=self.cwd.path,
            step=self.step,
            actor=self.actor,
            code=tuple(self.code),
            sources=tuple(self.sources.items()),
            ended=self.ended,
        )


@dataclass(slots=True)
class ProcessTable:
    """All living tasks of an episode by the tracer's thread id."""

    tasks: dict[int, TracedProcess] = field(default_factory=dict)

    def add(self, process: TracedProcess) -> None:
        """Take in a new process."""
        self.tasks[process.pid] = process
        process.tasks.add(process.pid)

    def add_thread(self, process: TracedProcess, tid: int) -> None:
        """Take in a further thread of a process."""
        self.tasks[tid] = process
        process.tasks.add(tid)

    def remove(self, tid: int, ended: str) -> None:
        """A task has ended; its process has when it was the last one."""
        process = self.tasks.pop(tid, None)
        if process is None:
            return
        process.tasks.discard(tid)
        if tid == process.pid:
            process.leader_ended = ended
        # A leader that ended before its threads is a zombie: the process lives on.
        if not process.tasks:
            process.ended = process.leader_ended or ended
