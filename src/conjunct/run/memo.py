"""The command memo: a command whose every touched object is as before gives what it gave before.

The key is everything handed to the command; below it lie entries, each with the objects that one run touched
(absent ones and listings too) and a fingerprint of their state. An entry is used only after a second real run
from the same state gave the same output, status and file changes; one that differed is never used. Where
random numbers were drawn, more runs of that program have to agree; where it is not known in full what a
command could see, nothing is kept.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from conjunct.model import Action
from conjunct.run.codec import decode, encode
from conjunct.run.store import Store
from conjunct.world.spec import DRAWS, Command, CommandResult, FileEffect, Observation, WorldSpec

_NUMBERS = re.compile(r"[0-9A-Fa-f]{4,}|[0-9]+")
"""Numbers, and the hexadecimal pieces of identifiers drawn at random."""
_NUMBERS_IN_BYTES = re.compile(_NUMBERS.pattern.encode())
TIME_LIMIT = "time-limit"
_DECODED = 128
"""Entries kept decoded in each worker: one candidate's commands come again with every probe."""
_KEPT = frozenset({"exit", TIME_LIMIT})
PROVISIONAL, CONFIRMED, UNSTABLE, AGREED = "provisional", "confirmed", "unstable", "agreed"
_ORDER = {UNSTABLE: 0, CONFIRMED: 1}
RUNS, RUNS_WITH_CHANCE = 2, 6
"""Equal runs from one state before a record is used. Where random numbers were drawn, repeats that agreed are
counted over all lines and states of the program, as one program draws for one purpose: so many less one."""


class Observable(Protocol):
    """What the memo needs of a world."""

    def fingerprint(self, observed: tuple[Observation, ...]) -> tuple[str, ...]:
        """State of each observed object now."""

    def apply(self, effects: tuple[FileEffect, ...], actions: tuple[Action, ...]) -> None:
        """Make the recorded file changes again, in order."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the memo says before a command runs: `result` to reuse, or the stored one to compare with."""

    result: CommandResult | None = None
    expected: CommandResult | None = None
    prints: str = ""
    runs: int = 0
    """Equal runs so far, that of `expected` included."""
    unstable: bool = False
    """Two runs from this state differed: neither they nor later ones are ever used."""


class Memo:
    """Command results of one deployment, shared by all workers through the store."""

    def __init__(
        self, store: Store, world: WorldSpec, package_digests: tuple[str, ...], runtime: str
    ) -> None:
        self._store = store
        surroundings = [
            world.clock,
            world.network,
            sorted(world.environment),
            sorted(world.minted),
            repr(world.limits),
            repr(world.layout),
            world.salt,
            # A stand-in for a module that only a partner imports is there for everybody.
            sorted(world.stand_in_modules),
            runtime,
        ]
        # Whether a line of the text does the same twice is a property of packages, not of clock or network.
        self._lines = _text_digest([*package_digests, world.salt, runtime])
        self._skills_folder = f"{world.layout.skills}/"
        self._base = _text_digest([*package_digests, *surroundings, world.coverage])
        # What the agent does of its own accord comes from no package: what it looks at is in the entries.
        self._own = _text_digest([*surroundings, world.coverage])
        self.hits = 0
        self.misses = 0

    def key(self, command: Command) -> str:
        """Digest of everything that was handed to the command."""
        return _text_digest(
            [
                self._base if command.skill else self._own,
                command.argv,
                command.cwd,
                hashlib.sha256(command.stdin).hexdigest(),
                command.environment,
                (command.skill, command.file, command.line),
            ]
        )

    def ask(self, command: Command, world: Observable) -> Answer:
        """Look for an entry whose touched objects are all as they are now in `world`."""
        seen: dict[bytes, str] = {}
        best: tuple[int, str, bytes] | None = None
        rows = self._store.commands(self.key(command))
        for prints, observed, result, state in sorted(rows, key=lambda row: _ORDER.get(row[3], 2)):
            if observed not in seen:
                seen[observed] = _digest(world.fingerprint(_observations(observed)))
            if seen[observed] != prints:
                continue
            if state == UNSTABLE:
                self.misses += 1
                return Answer(unstable=True)
            if state == CONFIRMED:
                self.hits += 1
                return Answer(result=_result(result), prints=prints)
            runs = int(state.partition(" ")[2] or 1)
            if best is None or runs > best[0]:
                best = (runs, prints, result)
        if best is not None and best[0] >= RUNS and len(self._agreed(command) or ()) >= RUNS_WITH_CHANCE - 1:
            self.hits += 1
            return Answer(result=_result(best[2]), prints=best[1])
        self.misses += 1
        if best is None:
            return Answer()
        return Answer(expected=_result(best[2]), prints=best[1], runs=best[0])

    def learn(self, command: Command, result: CommandResult, answer: Answer) -> None:
        """Keep what a command did, under the state of everything it touched before it ran."""
        timed_out = result.record.ended == TIME_LIMIT
        if answer.unstable:
            return
        if result.uncut or (result.undetermined and not timed_out) or result.record.ended not in _KEPT:
            return
        if set(result.record.assumed) - {DRAWS}:
            # What it could have seen is not fully known, so neither is whether it would see the same again.
            return
        if answer.expected is not None:
            state = UNSTABLE
            if _same(answer.expected, result):
                state = CONFIRMED
                if result.draws or answer.expected.draws:
                    state = self._with_chance(command, answer)
            if not state.startswith(PROVISIONAL):
                # Each by its own name: a later agreement does not undo that two runs differed.
                self._store.record_command(self._directive_key(command), state, b"", b"", state)
            if state == UNSTABLE:
                self._store.record_command(self._program_key(command), state, b"", b"", state)
        elif timed_out:
            # Waiting for the limit once more would tell nothing new: it stays "not exercised".
            state = CONFIRMED
        else:
            state = CONFIRMED if self._is_verified(command) else PROVISIONAL
        self._keep(command, result, state)
        if state == UNSTABLE and answer.expected is not None:
            # The two may have touched different things: neither set of them foretells what happens.
            self._keep(command, answer.expected, state)

    def _with_chance(self, command: Command, answer: Answer) -> str:
        """State of a record of a program that draws, one more run of which agreed."""
        runs = answer.runs + 1
        agreed = self._agreed(command)
        if agreed is not None and len(agreed) < RUNS_WITH_CHANCE - 1:
            which = f"{self.key(command)} {answer.prints} {runs}"
            self._store.record_command(self._program_key(command), which, b"", b"", AGREED)
            agreed.add(which)
        enough = runs >= RUNS_WITH_CHANCE or len(agreed or ()) >= RUNS_WITH_CHANCE - 1
        return CONFIRMED if enough else f"{PROVISIONAL} {runs}"

    def _agreed(self, command: Command) -> set[str] | None:
        """Repeats of a program that agreed, over all its lines and states; `None` where two ever differed."""
        states = self._states(self._program_key(command))
        return None if UNSTABLE in states.values() else set(states)

    def _states(self, key: str) -> dict[str, str]:
        """What is kept under a key, by its name."""
        return {name: state for name, _, _, state in self._store.commands(key)}

    def _program_key(self, command: Command) -> str:
        """What draws for one purpose: the file of a package that is run, else the line that asks."""
        scripts = (word for word in command.argv if word.startswith(self._skills_folder))
        script = next(scripts, f"{command.file}:{command.line}")
        of_package = self._lines if command.skill else self._own
        return _text_digest([of_package, "program", command.skill, script])

    def _keep(self, command: Command, result: CommandResult, state: str) -> None:
        before = sorted(result.before)
        observed: tuple[Observation, ...] = tuple((path, mode) for path, mode, _ in before)
        prints = _digest(tuple(print_ for _, _, print_ in before))
        self._store.record_command(self.key(command), prints, encode(observed), encode(result), state)

    def _directive_key(self, command: Command) -> str:
        """What is verified together: all commands that one line of the package's text asks for.

        Whether its lines are followed makes a command no more and no less repeatable.
        """
        of_package = self._lines if command.skill else self._own
        return _text_digest([of_package, "verified", command.skill, command.file, command.line])

    def _is_verified(self, command: Command) -> bool:
        """Whether this line's commands gave the same twice from one state, and never something else."""
        return set(self._states(self._directive_key(command)).values()) == {CONFIRMED}


def replayed(result: CommandResult, command: Command) -> CommandResult:
    """A stored result as if it had happened at this command's turn and step."""
    actions = tuple(replace(action, turn=command.turn, step=command.step) for action in result.actions)
    touches = tuple(replace(touch, turn=command.turn, step=command.step) for touch in result.touches)
    ended = TIME_LIMIT if result.record.ended == TIME_LIMIT else "memo"
    record = replace(result.record, turn=command.turn, step=command.step, ended=ended, seconds=0.0)
    return replace(result, actions=actions, touches=touches, record=record)


@lru_cache(maxsize=_DECODED)
def _observations(data: bytes) -> tuple[Observation, ...]:
    return decode(data, tuple[Observation, ...])


@lru_cache(maxsize=_DECODED)
def _result(data: bytes) -> CommandResult:
    return decode(data, CommandResult)


def _text_digest(given: list[object]) -> str:
    return hashlib.sha256(json.dumps(given, default=str).encode("utf-8", "backslashreplace")).hexdigest()


def _digest(prints: tuple[str, ...]) -> str:
    return hashlib.sha256("\n".join(prints).encode()).hexdigest()


def _same(first: CommandResult, second: CommandResult) -> bool:
    """Whether two runs did the same: equal up to numbers and order in what they printed and wrote.

    Clocks, durations, random identifiers, the order of hash tables and log files named after the time differ
    between any two runs; either is as good a sample. Hosts and ports are compared as they are.
    """

    def essence(result: CommandResult) -> object:
        effects = sorted(
            (unnumbered(e.path), str(e.kind), e.mode, _unordered(e.content)) for e in result.effects
        )
        actions = sorted(
            repr((a.kind, unnumbered(a.resource), a.completed, a.canaries)) for a in result.actions
        )
        return result.record.status, _unordered(result.stdout), _unordered(result.stderr), effects, actions

    return essence(first) == essence(second)


def unnumbered(resource: str) -> str:
    """A path without its numbers; anything else unchanged."""
    return _NUMBERS.sub("0", resource) if resource.startswith("/") else resource


def _unordered(data: bytes) -> object:
    """The bytes without numbers, as a multiset; for what is no text, only its length."""
    if b"\0" in data:
        return len(data)
    return sorted(Counter(_NUMBERS_IN_BYTES.sub(b"0", data)).items())
