"""Who acts: the literal agent, the noisy one, and the scripted one for tests of other parts."""

from __future__ import annotations

from conjunct.agent.calls import Call, documented_calls
from conjunct.agent.literal import LiteralAgent
from conjunct.agent.noisy import NoisyAgent
from conjunct.agent.protocol import Agent, Tools, View
from conjunct.agent.scripted import ScriptedAgent
from conjunct.agent.slips import Slip

__all__ = [
    "Agent",
    "Call",
    "LiteralAgent",
    "NoisyAgent",
    "ScriptedAgent",
    "Slip",
    "Tools",
    "View",
    "documented_calls",
]
