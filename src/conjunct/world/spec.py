"""What a world is asked to be, and what it gives back: plain values, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from conjunct.model import Action, CommandRecord, Skill, Touch, TouchMode


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths inside the world; the same in all contexts of one deployment."""

    user: str = "sam"
    host: str = "workstation"

    @property
    def home(self) -> str:
        """Home folder of the decoy user."""
        return f"/home/{self.user}"

    @property
    def workspace(self) -> str:
        """Folder the user works in; commands start here."""
        return f"{self.home}/project"

    @property
    def skills(self) -> str:
        """The one folder that holds every installed skill, a subfolder each, named by skill name."""
        return f"{self.home}/.claude/skills"

    @property
    def session_file(self) -> str:
        """The agent's session log, to which the world appends after every turn, as real agents do."""
        return f"{self.home}/.claude/projects/-home-{self.user}-project/session.jsonl"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one episode as a whole, and of one command."""

    command_seconds: float = 20.0
    episode_seconds: float = 240.0
    processes: int = 128
    memory_bytes: int = 2 << 30
    file_bytes: int = 64 << 20
    disk_bytes: int = 256 << 20
    output_bytes: int = 1 << 20
    trace_bytes: int = 64 << 20


@dataclass(frozen=True, slots=True)
class WorldSpec:
    """Everything that makes one world. Equal specs make worlds that a process cannot tell apart."""

    seed: int = 0
    comparison: str = ""
    """Canaries derive from (seed, comparison, path)."""
    salt: str = ""
    """Per deployment: decoy names, sizes and values differ between deployments."""
    installed: tuple[Skill, ...] = ()
    """Packages in the skills folder, the candidate included, stubs already substituted."""
    apart: tuple[str, ...] = ()
    """Ids of those that act. Their files come from layers of their own, the same ones whatever is installed
    beside them: inode numbers, and times that cannot be set, must not tell installed sets apart."""
    home_files: tuple[tuple[str, str], ...] = ()
    """(path relative to home, content): history and memory of the context's level."""
    workspace_files: tuple[tuple[str, bytes], ...] = ()
    """(path relative to the workspace, content): fixtures."""
    answers: tuple[tuple[str, str], ...] = ()
    """(absolute path, content): looked up before and not found, present in this world."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables beyond the pinned ones."""
    tokens: tuple[Planted, ...] = ()
    """Planted data that the other fields carry, such as the token in each task input."""
    minted: tuple[str, ...] = ()
    """Credential variables that only a skill names: a canary is minted for each."""
    known_names: tuple[str, ...] = ()
    """Host names found in packages, inputs and conversation, for the `known-names` network level."""
    clock: str = "2026-03-02T09:00:00+00:00"
    network: str = "plausible"
    """`plausible`, `error`, `refused`, `empty`, `marker-script`, `marker-instruction`, `known-names`, or
    `none`."""
    twin: bool = False
    """Other canary values with the same seeds (differential canary)."""
    stand_in_modules: tuple[str, ...] = ()
    """Top names of Python modules that are known to be missing and are stood in for."""
    traced: bool = True
    coverage: bool = False
    """Record which lines of the packages' Python scripts ran."""
    layout: Layout = Layout()
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True)
class Command:
    """One command for the world to start."""

    argv: tuple[str, ...]
    cwd: str
    turn: int
    step: int
    skill: str = ""
    """Id of the skill whose directive asked for it; empty for the agent's own."""
    file: str = ""
    line: int = 0
    stdin: bytes = b""
    environment: tuple[tuple[str, str], ...] = ()
    derived: bool = False
    """The command came from tool output."""


class EffectKind(StrEnum):
    """What happened to one path."""

    WRITTEN = "written"
    DELETED = "deleted"
    FOLDER = "folder"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class FileEffect:
    """A change of the file system that can be applied again."""

    path: str
    kind: EffectKind
    content: bytes = b""
    """Bytes for `written`, target for `link`."""
    mode: int = 0o644
    modified_ns: int = 0


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What one command did."""

    record: CommandRecord
    stdout: bytes
    stderr: bytes
    actions: tuple[Action, ...]
    touches: tuple[Touch, ...]
    effects: tuple[FileEffect, ...]
    uncut: tuple[str, ...] = ()
    """Why this command cannot be replaced by its record (a process outlived it, a socket stayed, …)."""
    before: tuple[tuple[str, TouchMode, str], ...] = ()
    """(path, READ or LIST, fingerprint) of every touched object as it was *before* the command: the memo key.

    Same strings as `World.fingerprint` gives: the world snapshots what is needed (its upper layer) first.
    """
    undetermined: tuple[str, ...] = ()
    """Why the trace of this command is not an observation (dead tracer, size limit, unparsed line, …)."""
    draws: bool = False
    """Random numbers were drawn: two equal runs say little about a third."""


@dataclass(frozen=True, slots=True)
class Planted:
    """One piece of planted data."""

    path: str
    """Absolute path in the world, or `env:NAME`."""
    value: str
    """The canary."""
    category: str
    """`input`, `private` or `secret`."""
    audience: tuple[str, ...] = ()
    """Host globs whose business a secret is."""


@dataclass(frozen=True, slots=True)
class WorldRecord:
    """What is known only when the episode has ended."""

    actions: tuple[Action, ...] = ()
    """Late arrivals at the sinkhole, what surviving processes did, and the file-system difference."""
    undetermined: tuple[str, ...] = ()
    touches: tuple[Touch, ...] = ()
    """What surviving processes looked at after the last command."""
    outlived: bool = False
    """Processes still ran when the episode was ended: what they would have done later was not seen."""


DRAWS = "random numbers were drawn: what happens in few of many runs may not have been seen"
OUTLIVES = "a process was still running when the episode ended: what it does later was not seen"
"""Assumptions that a command's record states."""

Observation = tuple[str, TouchMode]
"""(path, mode): something whose present state can be fingerprinted for the command memo."""
