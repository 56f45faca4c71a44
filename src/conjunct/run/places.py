"""File and line of an effect: the trace knows which script acted, its source knows on which line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from conjunct.model import ActionKind, Layer, ReachableAction, ReachSet, Violation
from conjunct.reach.resources import bare_host

_KINDS: Mapping[Layer, tuple[ActionKind, ...]] = {
    Layer.LEAKS: (ActionKind.SEND, ActionKind.CONNECT, ActionKind.WRITE, ActionKind.EXEC),
    Layer.DOES: (ActionKind.READ, ActionKind.SEND, ActionKind.DELETE, ActionKind.WRITE, ActionKind.EXEC),
    Layer.STAYS: (ActionKind.WRITE, ActionKind.DELETE, ActionKind.EXEC),
}


def located(violation: Violation, reach: Mapping[str, ReachSet]) -> Violation:
    """The violation with the line at which its script does it, where that can be read from the source.

    A line that the trace or a directive already gave is kept. A line that names the resource goes before one
    that only does the same kind of thing.
    """
    if violation.file is None or violation.line is not None:
        return violation
    kinds = _KINDS.get(violation.layer, ())
    fitting = [
        action
        for actor in violation.actors
        if actor in reach
        for action in reach[actor].actions
        if action.file == violation.file and action.kind in kinds and not action.mention
    ]
    if not fitting:
        return violation
    best = min(
        fitting, key=lambda action: (not _names(action, violation), kinds.index(action.kind), action.line)
    )
    return replace(violation, line=best.line)


def _names(action: ReachableAction, violation: Violation) -> bool:
    host = bare_host(violation.resource)
    tail = violation.resource.rsplit("/", 1)[-1]
    return bool(host and host in action.resource) or bool(tail and tail in action.resource)
