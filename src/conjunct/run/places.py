"""File and line of an effect: the trace knows which script acted, its source knows on which line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    known = [action for actor in violation.actors if actor in reach for action in reach[actor].actions]
    line = line_of(known, violation.file, kinds, violation.resource)
    return violation if line is None else replace(violation, line=line)


def line_of(
    actions: Iterable[ReachableAction], file: str, kinds: Sequence[ActionKind], resource: str
) -> int | None:
    """The line of a file that does one of `kinds` (likeliest first) to a resource, as far as it is known."""
    fitting = [one for one in actions if one.file == file and one.kind in kinds and not one.mention]
    if not fitting:
        return None
    return min(fitting, key=lambda one: (not _names(one, resource), kinds.index(one.kind), one.line)).line


def _names(action: ReachableAction, resource: str) -> bool:
    host = bare_host(resource)
    tail = resource.rsplit("/", 1)[-1]
    return bool(host and host in action.resource) or bool(tail and tail in action.resource)
