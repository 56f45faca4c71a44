"""The room's answer: everything one skill could do, beside everything it declares."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from conjunct.model import Compilation, ReachSet, Skill
from conjunct.reach.autorun import read_autorun
from conjunct.reach.declared import declared_capabilities
from conjunct.reach.found import Sightings
from conjunct.reach.package import read_pending, read_scripts
from conjunct.reach.payees import read_payees
from conjunct.reach.prose import read_directives


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Syntax trees are many small objects without cycles: looking for some halves the speed."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def reachable_actions(skill: Skill, compilation: Compilation) -> ReachSet:
    """List what a skill could do, in code, in words and by itself on being opened.

    Reads the staged files only; executes nothing. Time and memory are linear in the size of the package and
    bounded; what was not read is an opaque action, never silence.
    """
    seen = Sightings(skill, frozenset(entry.path for entry in skill.entries))
    with _collection_paused():
        read_scripts(skill, seen)
    read_autorun(skill, seen)
    read_directives(compilation, seen)
    read_payees(skill, compilation, seen)
    read_pending(seen)
    actions = sorted(
        seen.actions.values(), key=lambda action: (action.file, action.line, action.kind, action.resource)
    )
    return ReachSet(
        skill=skill.id,
        actions=tuple(actions),
        capabilities=declared_capabilities(skill, compilation),
        constants=tuple(seen.constants),
        environment=tuple(seen.environment),
        reads_clock=seen.reads_clock,
        largest_count=seen.largest_count,
        findings=tuple(seen.findings),
    )
