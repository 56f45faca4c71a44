"""Commands that use up what an episode has: processes, memory, room for output or for the trace.

Such a run is cut short, so it is no observation of what the command would have done. That it was cut short is
one: where it happens again in another run, somebody should look. Time alone is none: servers run on.
"""

from __future__ import annotations

from collections.abc import Iterable

from conjunct.model import CommandRecord, Episode, Finding, Layer, Severity

_ENDED_BY = {
    "ended by the process-limit": "the processes",
    "ended by the memory-limit": "the memory",
    "ended by the output-limit": "the room for output",
    "ended by the trace-limit": "the room for the record of its calls",
}
"""Reasons for which a trace is undetermined, to what was used up."""
REPEATED = 2
"""Runs in which it has to happen: once may be the machine's fault."""


def exhaustion(skill: str, episodes: Iterable[Episode]) -> tuple[Finding, ...]:
    """A review finding for each thing that commands of `skill` used up in at least two runs."""
    runs: dict[str, list[CommandRecord]] = {}
    for episode in episodes:
        killed = [c for c in episode.trace.commands if c.skill == skill and c.ended == "killed"]
        for reason in dict.fromkeys(episode.trace.undetermined):
            if killed and reason in _ENDED_BY:
                runs.setdefault(_ENDED_BY[reason], []).append(killed[0])
    return tuple(
        Finding(
            skill,
            Layer.DOES,
            "does.exhausts",
            f"exhausts {what} of an episode, in {len(commands)} runs",
            Severity.REVIEW,
            commands[0].file or None,
            commands[0].line or None,
        )
        for what, commands in sorted(runs.items())
        if len(commands) >= REPEATED
    )
