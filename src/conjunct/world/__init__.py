"""Where an episode runs: sandbox, decoys, sinkhole, clock, tracer.

The names below are loaded at first use: most callers need only the plain types of `conjunct.world.spec`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conjunct.world.spec import (
        Command,
        CommandResult,
        EffectKind,
        FileEffect,
        Layout,
        Limits,
        Observation,
        Planted,
        WorldRecord,
        WorldSpec,
    )
    from conjunct.world.world import World, open_world

_PLACES = {
    "World": "world",
    "open_world": "world",
    **dict.fromkeys(
        (
            "Command",
            "CommandResult",
            "EffectKind",
            "FileEffect",
            "Layout",
            "Limits",
            "Observation",
            "Planted",
            "WorldRecord",
            "WorldSpec",
        ),
        "spec",
    ),
}

__all__ = [
    "Command",
    "CommandResult",
    "EffectKind",
    "FileEffect",
    "Layout",
    "Limits",
    "Observation",
    "Planted",
    "World",
    "WorldRecord",
    "WorldSpec",
    "open_world",
]


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
