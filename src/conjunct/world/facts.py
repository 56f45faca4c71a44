"""What the trace of one command says, as plain values: touches, actions, processes, connections."""

from __future__ import annotations

from dataclasses import dataclass

from conjunct.model import Action, Actor, Touch


@dataclass(frozen=True, slots=True)
class Process:
    """One process (thread group) of a command."""

    pid: int
    """In the pid namespace of the tracer; unique within an episode."""
    inside: int
    """In the world's own pid namespace, as the process sees itself; 0 where the trace does not tell."""
    parent: int
    """`pid` of the parent; 0 for the first process of a command."""
    argv: tuple[str, ...]
    """Of the last successful exec; of the parent if it never exec'd."""
    program: str
    """Absolute path of what was last exec'd."""
    script: str
    """File that an interpreter runs, absolute; empty where the program is none."""
    cwd: str
    step: int
    """Step of the command to which it belongs: a survivor keeps the step that started it."""
    actor: Actor
    code: tuple[str, ...]
    """Files it exec'd, sourced, imported or loaded that lie outside the read-only system."""
    sources: tuple[tuple[str, tuple[str, ...]], ...]
    """(file written in this episode that it read as data, skills of the file's last writer)."""
    ended: str
    """`exit N`, `signal NAME`, or empty while it lives."""

    @property
    def alive(self) -> bool:
        """Whether it was still running when the trace of the command was cut."""
        return not self.ended


@dataclass(frozen=True, slots=True)
class Connection:
    """One use of a socket that names a destination; to attribute what arrives at the sinkhole."""

    pid: int
    protocol: str
    """`tcp`, `udp`, `raw`, `unix`, or strace's own word for others, in lower case."""
    socket: int
    """Inode of the client's socket, as in `/proc/net/tcp`; 0 where unknown. The surest key."""
    source: str
    """`address:port` of the client, empty where the trace never showed it."""
    destination: str
    """`address:port` as asked for, before any redirection; IPv6 addresses in brackets; a path for unix."""
    program: str
    actor: Actor
    turn: int
    step: int
    line: int
    """Index of the line in the trace of the command: order in time."""
    completed: bool
    """Connected (or connecting without blocking), or sent."""
    sent: bool = False
    """A datagram was sent to it, not only a default destination set."""


@dataclass(frozen=True, slots=True)
class CarrierOut:
    """Something through which bytes can leave a command without the network or a file."""

    kind: str
    """`unix`, `abstract`, `fifo`, `descriptor`, `shared-memory`, `signal`, `terminal`."""
    name: str
    """Path or name of the object."""
    pid: int
    actor: Actor


@dataclass(frozen=True, slots=True)
class CommandFacts:
    """Everything the trace of one command says.

    Touches and actions of survivors of earlier commands that ran meanwhile are included, with the step of the
    command that started them.
    """

    touches: tuple[Touch, ...] = ()
    """Distinct (path, mode, found), in order of first occurrence."""
    actions: tuple[Action, ...] = ()
    connections: tuple[Connection, ...] = ()
    processes: tuple[Process, ...] = ()
    """All processes of this command; survivors of earlier ones are not repeated."""
    carriers_out: tuple[CarrierOut, ...] = ()
    replaced: frozenset[str] = frozenset()
    """Files of the workspace and temporary ones that were emptied before anybody looked at them: what they
    held was not seen."""
    folder_stats: tuple[str, ...] = ()
    """Folders that were looked at by stat only, never listed: their touch is LIST all the same."""
    outlived: tuple[int, ...] = ()
    """Pids of this command that were alive when the trace was cut."""
    programs_missing: tuple[str, ...] = ()
    """Names of programs that were looked for in the system's folders and found in none."""
    undetermined: tuple[str, ...] = ()
    """Why this trace is not an observation: unparsed line, missing end, dead tracer, size limit."""
    assumed: tuple[str, ...] = ()
    """Why the touches may be incomplete although the trace is sound (a refused call, a passed descriptor)."""
    draws: bool = False
    """Random numbers were drawn, beyond those that runtimes draw for themselves at their start."""
    lines: int = 0
