"""Forced branches: sensitive lines that no run reached are run in a copy whose tests are decided for it.

What a forced run does is evidence about the source, never a completed violation: nobody met the condition. It
is compared with what normal runs did, so that only the effect of the line is told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import quote, unquote

from conjunct.model import ActionKind, Episode, EpisodeSpec, ForcedLine, ReachableAction, ResourceClass, Touch
from conjunct.plan.forced_effects import Effect, Known, new_effects, shows, told
from conjunct.reach.forcing import Edit, Forcing, Place, joined
from conjunct.reach.forcing_package import PackageSources

PREFIX = "forced:"
MOST_RUNS = 10
"""Runs of forced copies of one skill."""
MOST_LINES = 40
"""Lines of one skill that are forced: those that lead to a question first."""
MOST_ENTRIES = 12
"""Documented commands of one skill from which a line is approached."""
_TRIES = 3
_LONGEST_VARIANT = 60_000

Asking = Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], None]


# ---- which copy


@dataclass(frozen=True, slots=True)
class ForcedCopy:
    """What the variant of a forced run says."""

    places: tuple[Place, ...]
    step: int
    """Command of the episode (from 0) after whose end nothing more is run."""
    edits: tuple[Edit, ...]


def forced_variant(copy: ForcedCopy) -> str:
    """The variant of a run: `forced:<file>:<line>`, further lines after a comma, then step and edits."""
    places = ",".join(f"{quote(file)}:{line}" for file, line in copy.places)
    edits = [[edit.file, edit.start, edit.end, edit.text] for edit in sorted(set(copy.edits))]
    return f"{PREFIX}{places} step={copy.step} {json.dumps(edits, separators=(',', ':'))}"


def forced_copy(variant: str) -> ForcedCopy | None:
    """What a variant asks for; `None` for every other kind of run."""
    if not variant.startswith(PREFIX):
        return None
    places, step, edits = variant.removeprefix(PREFIX).split(" ", 2)
    return ForcedCopy(
        tuple((unquote(file), int(line)) for file, _, line in (p.rpartition(":") for p in places.split(","))),
        int(step.removeprefix("step=")),
        tuple(Edit(*edit) for edit in json.loads(edits)),
    )


# ---- what came out


@dataclass(slots=True)
class Forced:
    """What forcing showed for one skill."""

    lines: list[ForcedLine] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    runs: int = 0

    def concluded(self) -> frozenset[Place]:
        """Lines whose effect is known now: nothing more is to be guessed from their source."""
        return frozenset((one.file, one.line) for one in self.lines if one.outcome != "not forced")

    def answers(self) -> dict[Place, str]:
        """Lines that ran in a forced copy, each with its undeclared effect; empty text where it has none."""
        return {
            (one.file, one.line): one.detail if one.outcome == "effect" else ""
            for one in self.lines
            if one.outcome != "not forced"
        }


@dataclass(frozen=True, slots=True)
class _Entry:
    """A command of a normal run from which forced runs start."""

    spec: EpisodeSpec
    step: int
    failed: bool
    ran: frozenset[Place]
    files: frozenset[str]


@dataclass(slots=True)
class _Line:
    """One line under way."""

    action: ReachableAction
    place: Place
    entry: _Entry | None = None
    forcing: Forcing | None = None
    stuck: list[Place] = field(default_factory=list)
    tries: int = 0
    reason: str = "the budget of forced runs was spent"
    reached: list[Episode] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Forcer:
    """What forcing one skill needs to know."""

    candidate: str
    name: str
    """Folder of the candidate below the skills folder."""
    skills_folder: str
    sources: PackageSources
    known: Known
    """What normal runs did."""
    undeclared: Callable[[ActionKind, str], bool]
    """Whether no text of the skill lets a reader expect this kind of action toward this host."""

    # ---- the plan

    def run(
        self, wanted: Sequence[ReachableAction], network: Collection[Place], episodes: Iterable[Episode],
        into: Forced,
    ) -> Asking:  # fmt: skip
        """Force the lines of `wanted`, at most `MOST_LINES` of them in `MOST_RUNS` runs.

        `network`: lines of the skill that reach a host, whether a run reached them or not. `episodes`: normal
        runs with line coverage.
        """
        entries = self._entries(episodes)
        lines = [
            self._approach(_Line(action, (action.file, action.line)), entries)
            for action in wanted[:MOST_LINES]
        ]
        # Where a budget ends this plan, the lines stay open.
        into.lines[:] = [self._told(line, lines, network) for line in lines]
        left = MOST_RUNS
        while left > 0:
            copies = self._copies([line for line in lines if self._open(line)])[:left]
            if not copies:
                break
            left -= len(copies)
            runs = yield tuple(self._spec(group) for group in copies)
            into.runs += len(runs)
            for group, episode in zip(copies, runs, strict=True):
                self._look(group, episode)
        if left > 0:
            yield from self._single_out(lines, left, into)
        into.lines[:] = [self._told(line, lines, network) for line in lines]
        into.effects += _distinct(effect for line in lines for effect in line.effects)

    def _entries(self, episodes: Iterable[Episode]) -> list[_Entry]:
        found: dict[tuple[str, str, int], _Entry] = {}
        for episode in episodes:
            for command in episode.trace.commands:
                if command.skill != self.candidate or command.ended not in {"exit", "memo"}:
                    continue
                key = (episode.spec.context.arguments, command.file, command.line)
                failed = command.status != 0
                if key in found and (failed or not found[key].failed):
                    continue
                ran = self._lines_run([command.lines_run])
                files = self._files_touched(episode.trace.touches, command.step) | {file for file, _ in ran}
                found[key] = _Entry(episode.spec, command.step, failed, ran, frozenset(files))
        useful = [entry for entry in found.values() if entry.files]
        return sorted(useful, key=lambda entry: (entry.failed, entry.step))[:MOST_ENTRIES]

    def _lines_run(self, records: Iterable[tuple[tuple[str, tuple[int, ...]], ...]]) -> frozenset[Place]:
        prefix = f"{self.candidate}/"
        return frozenset(
            (file.removeprefix(prefix), line)
            for record in records
            for file, numbers in record
            if file.startswith(prefix)
            for line in numbers
        )

    def _files_touched(self, touches: Iterable[Touch], step: int) -> set[str]:
        prefix = f"{self.skills_folder}/{self.name}/"
        return {
            touch.path.removeprefix(prefix)
            for touch in touches
            if touch.step == step and touch.found and touch.path.startswith(prefix)
        }

    def _approach(self, line: _Line, entries: list[_Entry]) -> _Line:
        """Choose the command from which the fewest tests have to be decided."""
        best: tuple[int, int] | None = None
        reason = "no documented command reaches the file"
        for index, entry in enumerate(entries):
            if not self.sources.records_lines(line.place[0]) and line.place[0] not in entry.files:
                continue
            found = self.sources.force(line.place, entry.ran, stuck=line.stuck)
            if not isinstance(found, Forcing):
                reason = found.reason
            elif best is None or (len(found.edits), index) < best:
                best = (len(found.edits), index)
                line.entry, line.forcing = entry, found
        if line.forcing is None:
            line.reason = reason
        return line

    @staticmethod
    def _open(line: _Line) -> bool:
        return line.forcing is not None and not line.reached and line.tries < _TRIES

    def _copies(self, lines: list[_Line]) -> list[list[_Line]]:
        """Lines that one copy and one command can force together; those that contradict each other apart."""
        groups: list[list[_Line]] = []
        for entry in dict.fromkeys(line.entry for line in lines):
            rest = [line for line in lines if line.entry is entry]
            while rest:
                taken, left = joined([line.forcing for line in rest if line.forcing is not None])
                if len(_variant(taken, 0)) > _LONGEST_VARIANT and len(taken) > 1:
                    taken, left = taken[:1], [*taken[1:], *left]
                ids = {id(one) for one in taken}
                groups.append([line for line in rest if id(line.forcing) in ids])
                rest = [line for line in rest if id(line.forcing) not in ids]
        return groups

    def _spec(self, group: list[_Line]) -> EpisodeSpec:
        entry = group[0].entry
        assert entry is not None
        forcings = [line.forcing for line in group if line.forcing is not None]
        return replace(entry.spec, variant=_variant(forcings, entry.step))

    # ---- what a run shows

    def _look(self, group: list[_Line], episode: Episode) -> None:
        ran = self._lines_run(command.lines_run for command in episode.trace.commands)
        effects = new_effects(self.candidate, episode, self.known, self.undeclared)
        for line in group:
            line.tries += 1
            if episode.trace.undetermined:
                # Ours or its, a broken run tells nothing of the line: the same copy is run again.
                line.reason = f"its run was no observation: {episode.trace.undetermined[0]}"[:300]
                continue
            if self._reached(line, ran, episode):
                if not effects and not shows(self.candidate, episode, line.action):
                    line.reason = f"its line ran, but {line.action.resource} was not reached"[:300]
                else:
                    line.reached.append(episode)
                    line.effects = [self._placed(effect, line) for effect in effects]
                    continue
            self._try_again(line, ran, episode)

    def _reached(self, line: _Line, ran: frozenset[Place], episode: Episode) -> bool:
        marker = line.forcing.marker if line.forcing is not None else ""
        if marker:
            return any(touch.path == marker for touch in episode.trace.touches)
        return line.place in ran

    def _try_again(self, line: _Line, ran: frozenset[Place], episode: Episode) -> None:
        at = None if line.place in ran else self.sources.stopped(line.place, ran)
        if at is None or at in line.stuck or at == line.place:
            line.tries = _TRIES
        else:
            line.stuck.append(at)
            line.forcing, entry = None, line.entry
            self._approach(line, [entry] if entry is not None else [])
        last = next((c for c in reversed(episode.trace.commands) if c.skill == self.candidate), None)
        if last is not None and last.ended == "time-limit":
            line.reason = "its run met the time limit"
        elif line.place not in ran:
            where = f" after {at[0]}:{at[1]}" if at is not None else ""
            said = last.stderr.strip().rsplit("\n", 1)[-1][:160] if last is not None and last.status else ""
            line.reason = f"its tests were decided, and the run went elsewhere{where}" + (
                f" ({said})" if said else ""
            )

    def _placed(self, effect: Effect, line: _Line) -> Effect:
        tests = line.forcing.tests if line.forcing is not None else ()
        guard = line.action.guards[-1].text if line.action.guards else next(iter(tests), "")
        return replace(effect, file=line.place[0], line=line.place[1], guard=" ".join(guard.split())[:300])

    def _single_out(self, lines: list[_Line], left: int, into: Forced) -> Asking:
        """Where one copy forced several lines and did something undeclared: which of them does it?"""
        shared: dict[str, list[_Line]] = {}
        for line in lines:
            if line.effects and line.reached:
                shared.setdefault(line.reached[-1].spec.key(), []).append(line)
        for group in (group for group in shared.values() if len(group) > 1):
            # Lines under the same tests are one copy whichever is meant; a forced line that acts comes first.
            by_edits: dict[tuple[Edit, ...], list[_Line]] = {}
            for line in group:
                assert line.forcing is not None
                by_edits.setdefault(tuple(sorted(line.forcing.edits)), []).append(line)
            plain = len(by_edits) < 2 or all(_is_told(group, effect) for effect in group[0].effects)
            singles = [] if plain else list(by_edits.values())[: max(left, 0)]
            left -= len(singles)
            runs = (yield tuple(self._spec(single[:1]) for single in singles)) if singles else ()
            into.runs += len(runs)
            self._blame(group, singles, runs)

    def _blame(self, group: list[_Line], singles: list[list[_Line]], runs: Sequence[Episode]) -> None:
        """Each effect belongs to the copies that show it alone, and there to the line that fits it best."""
        joint = list(group[0].effects)
        alone: dict[str, list[_Line]] = {}
        for single, episode in zip(singles, runs, strict=True):
            if not episode.trace.undetermined:
                for effect in new_effects(self.candidate, episode, self.known, self.undeclared):
                    alone.setdefault(effect.sentence, []).extend(single)
        for line in group:
            line.effects = []
        for effect in joint:
            suspects = alone.get(effect.sentence) or group
            culprit = min(suspects, key=lambda line: _unlike(line.action, effect))
            culprit.effects.append(self._placed(effect, culprit))

    # ---- telling

    def _told(self, line: _Line, lines: list[_Line], network: Collection[Place]) -> ForcedLine:
        guard = line.action.guards[-1].text if line.action.guards else ""
        if not guard and line.forcing is not None and line.forcing.tests:
            guard = line.forcing.tests[0]
        file, number = line.place
        guard = " ".join(guard.split())[:300]
        if line.effects:
            return ForcedLine(file, number, guard, "effect", told(line.effects))
        if not line.reached:
            return ForcedLine(file, number, guard, "not forced", line.reason)
        missing = self._apart(line, lines, network)
        if missing is not None:
            where = f"{missing[0]}:{missing[1]}"
            return ForcedLine(file, number, guard, "not forced", f"it ran, but never together with {where}")
        return ForcedLine(file, number, guard, "resolved")

    def _apart(self, line: _Line, lines: list[_Line], network: Collection[Place]) -> Place | None:
        """For a line that reads what is private: a line that reaches a host and never ran beside it.

        A read and a send under different tests are harmless one by one. Lines whose tests contradict each
        other cannot run in one pass.
        """
        if line.action.kind is not ActionKind.READ or line.action.resource_class not in _PERSONAL:
            return None
        by_place = {other.place: other for other in lines}
        for place in sorted(network):
            other = by_place.get(place)
            if any(self._ran_in(place, other, episode) for episode in line.reached):
                continue
            pair = [one.forcing for one in (line, other) if one is not None and one.forcing is not None]
            if len(pair) < 2 or len(joined(pair)[0]) == 2:
                return place
        return None

    def _ran_in(self, place: Place, line: _Line | None, episode: Episode) -> bool:
        ran = self._lines_run(command.lines_run for command in episode.trace.commands)
        return place in ran or (line is not None and self._reached(line, ran, episode))


_PERSONAL = frozenset(
    {ResourceClass.SECRET, ResourceClass.PRIVATE, ResourceClass.HISTORY, ResourceClass.AGENT_CONFIGURATION,
     ResourceClass.AGENT_MEMORY}
)  # fmt: skip


def _variant(forcings: Sequence[Forcing], step: int) -> str:
    places = tuple(dict.fromkeys(one.place for one in forcings))
    return forced_variant(ForcedCopy(places, step, tuple({e for one in forcings for e in one.edits})))


def _unlike(action: ReachableAction, effect: Effect) -> tuple[bool, bool, int]:
    """How badly a line fits an effect: by its resource, by its kind, by how late it stands."""
    tail = effect.resource.rpartition(":")[0] or effect.resource
    named = tail in action.resource or tail == action.resource_class.value
    return (not named, action.kind not in effect.kinds, action.line)


def _is_told(group: Sequence[_Line], effect: Effect) -> bool:
    """Whether the source of one line names the resource of an effect of its kind."""
    return any(_unlike(line.action, effect)[:2] == (False, False) for line in group)


def _distinct(effects: Iterable[Effect]) -> list[Effect]:
    found: dict[str, Effect] = {}
    for effect in effects:
        found.setdefault(effect.sentence, effect)
    return list(found.values())
