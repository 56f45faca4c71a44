"""What all episodes of one context share: packages, the world's description, and what it starts with.

A candidate is asked by many probes in the same context. Fixtures, decoys and layers are the same in all of
them, so they are made once for each context and kept for a while.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

from conjunct.model import EpisodeSpec, Skill
from conjunct.world.episode import Plan
from conjunct.world.first_state import FirstState
from conjunct.world.runtime import Runtime
from conjunct.world.spec import WorldSpec
from conjunct.world.world import plan_world

_KEPT = 16
"""Contexts kept in one worker: those of the few candidates that are under way."""
_HOLDS_SECONDS = 600.0
"""Far shorter than unused layers are kept on disk."""


@dataclass
class SharedContext:
    """One context, prepared. What the world starts with is made when it is first needed."""

    installed: tuple[Skill, ...]
    world: WorldSpec
    runtime: Runtime
    _first: FirstState | None = field(default=None, init=False)

    @cached_property
    def input_text(self) -> str:
        """The text of the task inputs."""
        return b"\n".join(content for _, content in self.world.workspace_files).decode("utf-8", "replace")

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Paths of the task inputs, relative to the workspace."""
        return tuple(path for path, _ in self.world.workspace_files)

    def first_state(self) -> FirstState:
        """What worlds of this context start with. Raises `WorldError`."""
        if self._first is None or time.monotonic() - self._first.made_at > _HOLDS_SECONDS:
            self._first = FirstState(plan_world(self.world, runtime=self.runtime))
        return self._first

    def plan(self) -> Plan:
        """From what a world of this context is started. Raises `WorldError`."""
        return self.first_state().plan


class SharedContexts:
    """The contexts of one worker that were used last."""

    def __init__(self, make: Callable[[EpisodeSpec], SharedContext]) -> None:
        self._make = make
        self._kept: OrderedDict[EpisodeSpec, SharedContext] = OrderedDict()

    def of(self, spec: EpisodeSpec) -> SharedContext:
        """The context of an episode: probe, horizon and first use are no part of what its world holds."""
        key = replace(spec, probe="", context=replace(spec.context, horizon=1, first_use=1))
        known = self._kept.get(key)
        if known is None:
            known = self._kept[key] = self._make(spec)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return known
