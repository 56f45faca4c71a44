"""What happened in a command: its trace, its file changes and its deliveries, put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conjunct.model import Action, ActionKind, CommandRecord, TouchMode
from conjunct.world.binaries import HEAD_BYTES, is_static
from conjunct.world.changes import ChangeLog
from conjunct.world.clock import START
from conjunct.world.deliveries import Deliveries
from conjunct.world.facts import CommandFacts
from conjunct.world.outcome import reasons_not_to_cut, with_changes
from conjunct.world.recogniser import recogniser_of
from conjunct.world.resources import package_of
from conjunct.world.sinkhole import Sinkhole
from conjunct.world.spec import DRAWS, Command, CommandResult, Layout, Planted, WorldRecord
from conjunct.world.standins import CONFIGURATION, RECORDS, collect
from conjunct.world.stood_in import with_stand_ins
from conjunct.world.tape import TraceTape
from conjunct.world.trace import EpisodeTrace, parse_command

_TRACE_WAIT_SECONDS = 5.0
_SOUGHT_BYTES = 1 << 20
_KERNEL_CLOCK = "kernel-clock"
"""What a trace calls the kernel's own words about time, such as /proc/driver/rtc."""
_OWN = (RECORDS, CONFIGURATION, START)


@dataclass(slots=True)
class Ending:
    """How one command ended, as it is found out."""

    ended: str = ""
    """`exit`, `killed`, `time-limit` or `not-started`; empty while it runs."""
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


class Observer:
    """Turns what the supervisor sees into results, command by command."""

    def __init__(
        self,
        changes: ChangeLog,
        sinkhole: Sinkhole,
        *,
        layout: Layout,
        packages: Mapping[str, str],
        planted: Sequence[Planted],
        records: Path,
        clock: bool,
    ) -> None:
        """`packages`: folder below the skills folder to skill id, where they differ.

        `records`: where stand-ins leave what they were asked, seen from outside.
        `clock`: whether programs see that of the level.
        """
        self._changes = changes
        self._sinkhole = sinkhole
        self._layout = layout
        self._recogniser = recogniser_of(tuple(planted))
        self._planted = frozenset(one.path for one in planted)
        # A minted variable is in every environment: what a command writes may always hold it.
        self._exposed = any(path.startswith("env:") for path in self._planted)
        self._deliveries = Deliveries(self._recogniser, sinkhole.names.name)
        self._tape: TraceTape | None = None
        self._trace: EpisodeTrace | None = None
        self._before_tracing: list[Action] = []
        self._records = records
        self._clock = clock
        self._packages = dict(packages)
        self._static: dict[str, bool] = {}
        """For programs of the system, which do not change."""
        self._survivors: tuple[int, ...] = ()
        self._last: Command | None = None

    def looked(self, path: str) -> None:
        """The agent has read a file itself: it may carry what it read into any later command."""
        self._exposed = self._exposed or path in self._planted

    def brought(self, content: bytes) -> None:
        """Bytes came into the world from outside: from the agent, or from a record made again."""
        if not self._exposed and self._planted:
            self._exposed = bool(self._recogniser.find(content[:_SOUGHT_BYTES]))

    @property
    def survivors(self) -> tuple[int, ...]:
        """Processes of earlier commands that still live, numbered as inside the world."""
        return self._survivors

    def follow(self, tape: TraceTape, *, init_pid: int) -> None:
        """Read the trace of the sandbox that has just started."""
        tape.skip_start(seconds=_TRACE_WAIT_SECONDS)
        self._tape = tape
        self._trace = EpisodeTrace(
            self._layout,
            self._packages,
            tape.server_pids | {init_pid},
            pinned=frozenset({self._layout.skills}),
        )
        self._trace.remember(self._before_tracing)
        self._before_tracing.clear()

    def remember(self, actions: Sequence[Action]) -> None:
        """Changes that were made without being traced here: by the agent, or by a command's record."""
        if self._trace is None:
            self._before_tracing.extend(actions)
        else:
            self._trace.remember(actions)

    def result(self, command: Command, ending: Ending) -> CommandResult:
        """Everything about a command that has ended."""
        self.brought("\0".join(command.argv).encode("utf-8", "surrogatepass") + command.stdin)
        facts = self._facts(command, ending)
        records = collect(self._records)
        change = self._changes.take(facts.touches, replaced=facts.replaced)
        outlived = tuple(pid for pid in ending.alive if pid not in self._survivors)
        self._survivors = ending.alive
        self._last = command
        actions = with_changes(
            self._deliveries.named(facts.actions),
            change.effects,
            before=change.contents,
            recogniser=self._recogniser if self._saw_planted(facts) else None,
            layout=self._layout,
            command=command,
        )
        actions = with_stand_ins(actions, records.calls, recogniser=self._recogniser, command=command)
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
            stand_ins=tuple(dict.fromkeys(call.stand_in for call in records.calls)),
            outlived=bool(outlived),
            lines_run=tuple(self._of_package(records.lines)),
            assumed=(*facts.assumed, *self._clock_assumed(facts), *((DRAWS,) if facts.draws else ())),
        )
        return CommandResult(
            record=record,
            stdout=ending.stdout,
            stderr=ending.stderr,
            actions=(*actions, *self._delivered(facts, command)),
            touches=facts.touches,
            effects=change.effects,
            uncut=reasons_not_to_cut(facts, outlived, change.special),
            before=change.before,
            undetermined=(*facts.undetermined, *_cut_short(ending)),
            draws=facts.draws,
        )

    def _clock_assumed(self, facts: CommandFacts) -> tuple[str, ...]:
        """Why the command may have seen another time than that of the level."""
        if not self._clock:
            return ("the clock of the level is not applied: there is no library for it",)
        looked = any(touch.path == _KERNEL_CLOCK for touch in facts.touches)
        shows = ["the kernel's own clock was looked at"] if looked else []
        for action in facts.actions:
            if action.kind is ActionKind.EXEC and action.completed and self._is_static(action.resource):
                shows.append(f"the clock does not reach a static program: {action.resource}")
        return tuple(dict.fromkeys(shows))

    def _is_static(self, path: str) -> bool:
        # The loader is static itself, and puts the library into what it starts.
        if path.rpartition("/")[2].startswith("ld-"):
            return False
        if not path.startswith("/usr/"):
            return is_static(self._changes.head(path, HEAD_BYTES))
        if path not in self._static:
            self._static[path] = is_static(self._changes.head(path, HEAD_BYTES))
        return self._static[path]

    def _of_package(
        self, lines: Sequence[tuple[str, tuple[int, ...]]]
    ) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Files of packages as `skill id/path in the package`."""
        for path, numbers in lines:
            package = package_of(path, self._layout)
            if package is not None:
                yield f"{self._packages.get(package[0], package[0])}/{package[1]}", numbers

    def _facts(self, command: Command, ending: Ending) -> CommandFacts:
        """Read the trace of the command, if it was started and traced."""
        if self._tape is None or self._trace is None or ending.ended == "not-started":
            return CommandFacts()
        stretch = self._tape.cut(command.step, seconds=_TRACE_WAIT_SECONDS)
        facts = parse_command(
            stretch.lines,
            episode=self._trace,
            command=command,
            root_pid=stretch.root_pid,
            root_inside=ending.inside,
            truncated=not stretch.complete,
            alive=frozenset(ending.alive),
        )
        return _without_our_own(facts)

    def _saw_planted(self, facts: CommandFacts) -> bool:
        """Whether planted data can be in what was written: somebody looked at some of it by now.

        Looking for it in every encoding is dear, and most commands never see any.
        """
        if not self._exposed:
            self._exposed = (
                self._trace is None
                or bool(facts.undetermined)
                or any(
                    touch.mode is TouchMode.EVERYTHING or (touch.found and touch.path in self._planted)
                    for touch in facts.touches
                )
            )
        return self._exposed

    def _delivered(self, facts: CommandFacts, command: Command) -> tuple[Action, ...]:
        if facts.connections or (self._trace is None and self._sinkhole.arrivals()):
            self._sinkhole.settle()
        return self._deliveries.actions(self._sinkhole.arrivals(), facts.connections, command)

    def record(self) -> WorldRecord:
        """What is known only now: all processes have ended, the tracer has written its last line."""
        command = self._last
        if command is None:
            return WorldRecord()
        facts = CommandFacts()
        if self._tape is not None and self._trace is not None:
            facts = parse_command(
                self._tape.rest(), episode=self._trace, command=command, root_pid=-1, ended=False
            )
        change = self._changes.take(facts.touches, replaced=facts.replaced)
        actions = with_changes(
            self._deliveries.named(facts.actions),
            change.effects,
            before=change.contents,
            recogniser=self._recogniser if self._saw_planted(facts) else None,
            layout=self._layout,
            command=command,
        )
        late = self._delivered(facts, command)
        undetermined = (*facts.undetermined, *self._sinkhole.problems)
        return WorldRecord((*actions, *late), undetermined, _without_our_own(facts).touches)


def _without_our_own(facts: CommandFacts) -> CommandFacts:
    """Facts without the files through which stand-ins report."""
    return replace(
        facts,
        touches=tuple(touch for touch in facts.touches if not touch.path.startswith(_OWN)),
        actions=tuple(action for action in facts.actions if not action.resource.startswith(_OWN)),
    )


def _cut_short(ending: Ending) -> tuple[str, ...]:
    """Why a command that a limit ended is no observation: what it would have done after is unknown."""
    return (f"ended by the {ending.reason}",) if ending.ended != "not-started" and ending.reason else ()
