"""From the raw trace of one command to its facts.

One `EpisodeTrace` lives as long as an episode: processes that outlive their command keep their actor, and
files keep their last writers. Each command's lines are handed to `parse_command` in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from conjunct.model import Action, ActionKind, ResourceClass
from conjunct.world.actors import ActorLedger, directive
from conjunct.world.births import FORKS, NO_BIRTH, births_in
from conjunct.world.facts import CommandFacts
from conjunct.world.file_calls import FILE_CALLS
from conjunct.world.other_calls import OTHER_CALLS
from conjunct.world.processes import Folder, ProcessTable, TracedProcess
from conjunct.world.recorder import Recorder
from conjunct.world.remote_code import note_piped_code
from conjunct.world.seccomp import call_table
from conjunct.world.spec import Command, Layout
from conjunct.world.strace_syntax import (
    ANGLE,
    UNFINISHED,
    Call,
    UnparsedLineError,
    parse_call,
    resumed,
    split_line,
    translated_pid,
)

STRACE_OPTIONS = ("-f", "--seccomp-bpf", "-q", "-yy", "--decode-pids=pidns", "-s", "4096", "-e", "signal=all")
"""Options this parser relies on. Not `-qq`: that would hide how processes ended."""

UNDERSTOOD = frozenset(FILE_CALLS) | frozenset(OTHER_CALLS) | FORKS
"""Names of all calls whose lines are understood; `refused` calls are understood whatever they are."""

_READ_ONLY = r'"/(?:usr/(?!(?:local/)?(?:s?bin|games)/)|lib/|lib64/)[^"\\]*+"'
_NOISE = re.compile(
    # Successful or not, a look at the read-only system says nothing; programs looked up there do.
    rf"(?:newfstatat|statx|faccessat2?|readlinkat)\((?:AT_FDCWD|\d++)(?:{ANGLE})?, {_READ_ONLY}"
    rf"|openat\((?:AT_FDCWD|\d++)(?:{ANGLE})?, {_READ_ONLY}, O_RDONLY"
    rf"|open\({_READ_ONLY}, O_RDONLY|(?:stat|lstat|access|readlink)\({_READ_ONLY}"
    r"|(?:newfstatat|statx|getdents64|fstat)\(\d++</(?:usr/(?!local/(?:s?bin|games)/)|lib/|lib64/)"
)
_ENDED = re.compile(r"\+\+\+ (exited with (\d++)|killed by (\w++)(?: \(core dumped\))?) \+\+\+\Z")
_PID_CHANGED = re.compile(r" <pid changed to (\d{1,11}+) \.\.\.>\Z")
_SUPERSEDED = re.compile(r"\+\+\+ superseded by execve in pid (\d++) \+\+\+\Z")
_SECCOMP_SIGNAL = re.compile(r"--- SIGSYS \{.*si_code=SYS_SECCOMP.*si_syscall=(?:__NR_)?(\w++)")
_FOREIGN = re.compile(r"\[ Process PID=(\d++) runs in .* mode\. \]\Z")
_PROGRAM_FOLDERS = frozenset(
    ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/games")
)
_LOOK_UPS = frozenset(("execve", "stat", "newfstatat", "access", "faccessat", "faccessat2", "statx"))
_PROGRAMS = 1_000
_REASONS_WITHOUT_LOSS = frozenset({"unseen-io", "obsolete"})
_UNDETERMINED_SHOWN = 20


@dataclass(slots=True)
class EpisodeTrace:
    """What is carried from command to command within one episode."""

    layout: Layout
    packages: Mapping[str, str] = field(default_factory=dict)
    """Folder name below the skills folder to skill id, where the two differ."""
    servers: frozenset[int] = frozenset()
    """Pids (tracer's view) of what starts the commands: their lines are no facts."""
    ledger: ActorLedger = field(default_factory=ActorLedger)
    table: ProcessTable = field(default_factory=ProcessTable)
    pending: dict[int, str] = field(default_factory=dict)
    """Thread id to the beginning of a call that has not returned."""
    fifos: set[str] = field(default_factory=set)
    pinned: frozenset[str] = frozenset()
    """Folders whose own attributes (size, links, times) are equal in all worlds, whatever they hold: their
    stat is a look at the folder alone. Every other stat of a folder is a look at its entries."""

    def remember(self, actions: Iterable[Action]) -> None:
        """Take over who wrote what from actions that were not traced here: of the agent, or of a replayed
        command."""
        for action in actions:
            if not action.completed or action.kind not in (ActionKind.WRITE, ActionKind.DELETE):
                continue
            # Only `change` may have been told anew since, by comparing contents.
            path, moved, target = action.resource, action.fact("from"), action.fact("target")
            if action.kind is ActionKind.DELETE:
                if not action.fact("to"):
                    self.ledger.forget(path)
            elif moved:
                self.ledger.rename(moved, path, action.actor)
            elif target:
                symbolic = action.fact("symbolic") == "yes"
                self.ledger.link(target, path, action.actor, symbolic=symbolic)
            elif action.fact("change") in ("created", "truncate"):
                self.ledger.replace(path, action.actor)
            else:
                self.ledger.update(path, action.actor)


def parse_command(
    lines: Sequence[str],
    *,
    episode: EpisodeTrace,
    command: Command,
    root_pid: int,
    root_inside: int = 0,
    ended: bool = True,
    truncated: bool = False,
    alive: frozenset[int] | None = None,
) -> CommandFacts:
    """Read the lines that strace wrote while one command ran.

    `root_pid` is the first process of the command in the tracer's pid namespace, `root_inside` in the
    world's. `ended`: the command is known to have ended, so its end must be in the trace. `truncated`: the
    trace reached its size limit, or the tracer died. `alive`: pids (world's view) of the processes that still
    live, where somebody could ask; else the trace decides.
    Never raises for what a program did: what cannot be read makes the facts `undetermined`.
    """
    reader = _CommandReader(episode, command, root_pid, root_inside, lines)
    reader.run()
    if truncated:
        reader.recorder.undetermined["the trace reached its size limit or the tracer died"] = None
    return reader.facts(ended=ended, alive=alive)


class _CommandReader:
    """Reads the lines of one command into a recorder."""

    def __init__(
        self, episode: EpisodeTrace, command: Command, root_pid: int, root_inside: int, lines: Sequence[str]
    ) -> None:
        self.episode = episode
        self.command = command
        self.lines = lines
        self.recorder = Recorder(
            episode.layout,
            episode.packages,
            episode.ledger,
            episode.table,
            episode.fifos,
            command.turn,
            pinned=episode.pinned,
        )
        self.processes: list[TracedProcess] = []
        self.births = births_in(lines, episode.pending)
        self.strangers: set[int] = set()
        self.replaced: set[int] = set()
        """Leaders whose thread executed a program: their `execve resumed` line is still to come."""
        self.programs_missing: dict[str, set[str]] = {}
        self.programs_found: set[str] = set()
        inside = root_inside or self.births.get(root_pid, NO_BIRTH).inside
        self.root = TracedProcess(
            pid=root_pid,
            inside=inside,
            parent=0,
            step=command.step,
            ledger=episode.ledger,
            actor=directive(command),
            own=frozenset({command.skill}) if command.skill else frozenset(),
            cwd=Folder(command.cwd),
            family={inside or root_pid},
            started=False,
        )
        self._enter(self.root)

    def run(self) -> None:
        """Read every line."""
        episode, recorder = self.episode, self.recorder
        pending, tasks = episode.pending, episode.table.tasks
        for index, line in enumerate(self.lines):
            try:
                tid, text = split_line(line)
            except UnparsedLineError:
                self._unparsed(line)
                continue
            if tid not in tasks and not self._adopt(tid):
                continue
            if text.endswith(UNFINISHED):
                pending[tid] = text[: -len(UNFINISHED)]
                continue
            if text.endswith(" ...>") and (changed := _PID_CHANGED.search(text)) is not None:
                pending[int(changed.group(1))] = text[: changed.start()]
                continue
            if text.startswith("<"):
                if tid in self.replaced and text.startswith("<... execve"):
                    self.replaced.discard(tid)
                    continue
                text = self._joined(tid, text)
            if _NOISE.match(text) and "/.." not in text and "O_CREAT" not in text:
                continue
            recorder.line = index
            try:
                if text[:1] in "+-[":
                    self._event(tid, text)
                    continue
                self._call(tid, parse_call(text))
            except UnparsedLineError:
                self._unparsed(line)
            except Exception as error:
                # A mistake of ours on a hostile line must not end the episode, nor pass for an observation.
                self.recorder.undetermined[f"reading the trace failed: {type(error).__name__}"] = None

    # ---- lines

    def _joined(self, tid: int, text: str) -> str:
        rest = resumed(text)
        if rest is None:
            return text
        begun = self.episode.pending.pop(tid, None)
        if begun is None or not begun.startswith(rest[0] + "("):
            # The beginning was written before this process was known, or got lost.
            return f"{rest[0]}({rest[1]}" if begun is None else text
        return begun + rest[1]

    def _call(self, tid: int, call: Call) -> None:
        process = self.episode.table.tasks[tid]
        if "(INJECTED)" in call.rest or call.name in _refused():
            self._refused(process, call)
            return
        reader = FILE_CALLS.get(call.name) or OTHER_CALLS.get(call.name)
        if not process.started and call.name not in ("execve", "execveat", "chdir"):
            return
        if call.name in FORKS:
            self._fork(process, call)
        elif reader is not None:
            self._note_program(call)
            reader(self.recorder, process, call)
        elif call.name.startswith("syscall_"):
            self._refused(process, call)
        elif call.name not in _reviewed():
            self.recorder.undetermined[f"a traced call is not understood: {call.name}"] = None

    def _event(self, tid: int, text: str) -> None:
        ended = _ENDED.match(text)
        if ended is not None:
            how = f"exit {ended.group(2)}" if ended.group(2) else f"signal {ended.group(3)}"
            self.episode.pending.pop(tid, None)
            process = self.episode.table.tasks[tid]
            self.episode.table.remove(tid, how)
            process.ended_at = self.recorder.line
            return
        superseded = _SUPERSEDED.match(text)
        if superseded is not None:
            self._superseded(tid, int(superseded.group(1)))
            return
        process = self.episode.table.tasks[tid]
        signal = _SECCOMP_SIGNAL.match(text)
        foreign = _FOREIGN.match(text)
        if signal is not None:
            self._refused(process, Call(signal.group(1), [], -1, "SIGSYS", ""))
        elif foreign is not None:
            self._refused(process, Call("foreign_call_table", [], -1, "SIGSYS", ""))
        elif not text.startswith("--- "):
            self._unparsed(f"{tid} {text}")

    def _superseded(self, tid: int, by: int) -> None:
        """A thread executed a program: it takes over the pid of its leader.

        This line alone tells that the call succeeded: the result that strace prints is not to be relied on.
        """
        begun = self.episode.pending.pop(by, None) or self.episode.pending.pop(tid, None)
        process = self.episode.table.tasks.get(by) or self.episode.table.tasks.get(tid)
        if process is None:
            return
        for task in tuple(process.tasks):
            if task != process.pid:
                self.episode.table.tasks.pop(task, None)
        process.tasks, process.leader_ended = {process.pid}, ""
        self.episode.table.tasks[process.pid] = process
        if begun is None or not begun.startswith("execve"):
            self.recorder.undetermined["a thread executed a program that the trace does not name"] = None
            return
        self.replaced.add(tid)
        self._call(process.pid, parse_call(f"{begun}) = 0"))

    def _unparsed(self, line: str) -> None:
        undetermined = self.recorder.undetermined
        if len(undetermined) < _UNDETERMINED_SHOWN:
            undetermined[f"a line of the trace cannot be read: {line[:160]!r}"] = None

    # ---- processes

    def _enter(self, process: TracedProcess) -> None:
        self.episode.table.add(process)
        self.processes.append(process)

    def _adopt(self, tid: int) -> bool:
        """Make a task known at its first line. Its parent's call may not have returned yet."""
        if tid in self.episode.servers or tid in self.strangers:
            return False
        birth = self.births.get(tid)
        parent = self.episode.table.tasks.get(birth.parent) if birth is not None else None
        if birth is None or parent is None:
            self.strangers.add(tid)
            if birth is None or birth.parent not in (self.episode.servers | self.strangers):
                self.recorder.undetermined["lines of a process whose parent is unknown"] = None
            return False
        self._born(parent, birth.call, tid)
        return True

    def _fork(self, process: TracedProcess, call: Call) -> None:
        flags = "|".join(argument for argument in call.arguments if "CLONE_" in argument)
        if "CLONE_UNTRACED" in flags:
            # The child runs without a tracer: the kernel refuses it every traced call, so nothing is missed.
            self._refused(process, replace(call, name="clone CLONE_UNTRACED"))
            return
        if "CLONE_NEW" in flags:
            self._refused(process, replace(call, name="clone into new namespaces"))
            if call.succeeded:
                self.recorder.undetermined["a process was made in namespaces of its own"] = None
        if not call.succeeded:
            return
        tid = translated_pid(f"{call.value}{call.rest}")[1]
        # The child may have run, and even ended, before its parent's call returned.
        birth = self.births.get(tid)
        if birth is None or not birth.entered:
            self._born(process, call, tid)

    def _born(self, parent: TracedProcess, call: Call, tid: int) -> None:
        birth = self.births.get(tid)
        if birth is not None:
            birth.entered = True
        if any("CLONE_THREAD" in argument for argument in call.arguments):
            self.episode.table.add_thread(parent, tid)
            return
        self._enter(parent.child(call))

    def _refused(self, process: TracedProcess, call: Call) -> None:
        if not process.started:
            return
        self.recorder.act(
            process,
            ActionKind.REFUSED,
            call.name,
            ResourceClass.SYSTEM,
            completed=False,
            detail=(("error", call.error),),
        )
        row = call_table().refused.get(call.name)
        if row is None or row[2] not in _REASONS_WITHOUT_LOSS:
            self.recorder.assumed[f"a refused call: {call.name}"] = None

    def _note_program(self, call: Call) -> None:
        """Programs looked for along the system's folders, to tell which ones a command misses."""
        if call.name not in _LOOK_UPS:
            return
        for argument in call.arguments[:2]:
            folder, _, name = argument.strip().strip('"').rpartition("/")
            if folder not in _PROGRAM_FOLDERS or not name:
                continue
            if call.succeeded:
                self.programs_found.add(name)
            elif call.error == "ENOENT" and len(self.programs_missing) < _PROGRAMS:
                self.programs_missing.setdefault(name, set()).add(folder)

    # ---- result

    def facts(self, *, ended: bool, alive: frozenset[int] | None) -> CommandFacts:
        """What was read."""
        recorder = self.recorder
        note_piped_code(recorder, self.processes)
        if ended and not self.root.ended and (alive is None or self.root.inside in alive):
            recorder.undetermined["the end of the command is missing"] = None
        if recorder.ledger.overflowed:
            recorder.assumed["more files were written than writers are remembered for"] = None
        living = [
            process
            for process in self.processes
            if not process.ended and (alive is None or process.inside in alive)
        ]
        recorder.folders.update(*(process.folders for process in self.processes))
        recorder.transient.settle()
        return CommandFacts(
            touches=recorder.touches(),
            actions=recorder.actions(),
            connections=tuple(recorder.connections),
            processes=tuple(process.frozen() for process in self.processes),
            carriers_out=tuple(recorder.carriers.values()),
            replaced=frozenset(path for path, anew in recorder.first_looks.items() if anew),
            folder_stats=tuple(sorted(recorder.seen_by_attributes - recorder.listed)),
            outlived=tuple(process.pid for process in living),
            programs_missing=tuple(
                # One folder alone is a look for some file beside a program, not a search for a program.
                name
                for name, looked_in in self.programs_missing.items()
                if name not in self.programs_found and len(looked_in) > 1
            ),
            undetermined=tuple(recorder.undetermined),
            assumed=tuple(recorder.assumed),
            draws=recorder.draws,
            lines=len(self.lines),
        )


@cache
def _refused() -> frozenset[str]:
    return frozenset(call_table().refused)


@cache
def _reviewed() -> frozenset[str]:
    return frozenset(call_table().reviewed)
