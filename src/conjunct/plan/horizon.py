"""How far to drive a run: a counter fires only when as many turns have passed.

Deterministic commands repeat, so a longer episode costs commands and no decisions. It is made only where the
source compares something with a number beyond the usual horizon *and* the run kept something to count with:
a file that it wrote and read, the session or history files, or the agent's own count of turns and uses.
"""

from __future__ import annotations

import re

from conjunct.model import FactorKind, TouchMode, Trace
from conjunct.plan.carriers import CarrierTable
from conjunct.plan.clues import Clues
from conjunct.plan.localise import MOST_TURNS

SESSION = "session"
"""Stands for the session and history files among the things that a run counts with."""
AGENT = "agent"
"""Stands for the agent's count of turns and uses."""

_LOOKS = frozenset({TouchMode.READ, TouchMode.STAT, TouchMode.LIST})


def counted_with(trace: Trace, table: CarrierTable, *, candidate: str) -> frozenset[str]:
    """What the candidate could have counted with: paths it both left and looked at, `SESSION`, `AGENT`."""
    steps = {command.step for command in trace.commands if command.skill == candidate}
    own = [touch for touch in trace.touches if touch.step in steps] if steps else list(trace.touches)
    written = {touch.path for touch in own if touch.mode is TouchMode.WRITE}
    looked_at = {touch.path for touch in own if touch.mode in _LOOKS}
    found = written & looked_at
    if looked_at & table.history_paths:
        found.add(SESSION)
    if any(look.factor is FactorKind.TURN for look in trace.look_ups):
        found.add(AGENT)
    return frozenset(found)


def far_horizon(clues: Clues, trace: Trace, *, horizon: int) -> int:
    """Turns after which the largest count that source or prose names is passed, or 0 where none is beyond.

    At most `MOST_TURNS`; a number larger than that stays out of reach.
    """
    asked = [
        int(number)
        for look in trace.look_ups
        if look.factor is FactorKind.TURN
        for number in re.findall(r"\d{1,6}", look.question)
    ]
    largest = max([clues.largest_count(horizon), *(number for number in asked if number > horizon)])
    return min(largest + 1, MOST_TURNS) if largest else 0
