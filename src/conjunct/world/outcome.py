"""What one command did, from its trace, its file changes and what arrived at the sinkhole."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from conjunct.model import Action, ActionKind
from conjunct.world.actors import directive
from conjunct.world.facts import CommandFacts
from conjunct.world.recogniser import Recogniser
from conjunct.world.resources import classify_path
from conjunct.world.spec import Command, EffectKind, FileEffect, Layout

_COMPARED_BYTES = 256 << 10
OPENED = "opened"
"""Kind of change of a file that was opened for writing and is as it was."""
_SOUGHT_BYTES = 8 << 20
"""Planted data is looked for in every encoding, which takes more than a second for each megabyte."""
_SHOWN_CHARACTERS = 4000
_EXCERPT_CHARACTERS = 400
_CHANGES = (ActionKind.WRITE, ActionKind.DELETE)
_CARRIERS_THAT_STAY = {
    "unix": "a socket",
    "abstract": "a socket",
    "shared-memory": "shared memory",
    "descriptor": "a passed descriptor",
    "fifo": "a pipe with a name",
    "signal": "a signal to another process",
    "attribute": "an extended attribute",
    "time of access": "a time of access that was set",
}


def with_changes(
    actions: Sequence[Action],
    effects: Sequence[FileEffect],
    *,
    before: Mapping[str, bytes | None],
    recogniser: Recogniser | None,
    layout: Layout,
    command: Command,
) -> tuple[Action, ...]:
    """The traced actions with what the file system says about each change; a change nobody was seen making is
    an action of the command itself.

    `recogniser`: `None` where no planted data can be in what was written. `before`: content of the changed
    files before the command, `None` where there was none.
    """
    by_path = {effect.path: effect for effect in effects if effect.kind is not EffectKind.FOLDER}
    told: set[str] = set()
    result = []
    for action in actions:
        effect = by_path.get(action.resource) if action.kind in _CHANGES else None
        if effect is None:
            result.append(_only_opened(action))
            continue
        told.add(effect.path)
        result.append(_described(action, effect, before.get(effect.path), recogniser))
    for path, effect in by_path.items():
        if path not in told:
            action = Action(
                kind=ActionKind.DELETE if effect.kind is EffectKind.DELETED else ActionKind.WRITE,
                resource=path,
                resource_class=classify_path(
                    path, layout, own=frozenset({command.skill} - {""}), packages={}
                ),
                actor=directive(command),
                turn=command.turn,
                step=command.step,
            )
            result.append(_described(action, effect, before.get(path), recogniser))
    return tuple(result)


def _only_opened(action: Action) -> Action:
    """A file that is as it was, to its times, was opened for writing, and nothing was written."""
    if action.kind is not ActionKind.WRITE or action.fact("change") not in ("create", "open"):
        return action
    return replace(action, detail=(("change", OPENED), *(d for d in action.detail if d[0] != "change")))


def _described(
    action: Action, effect: FileEffect, old: bytes | None, recogniser: Recogniser | None
) -> Action:
    if effect.kind is not EffectKind.WRITTEN:
        return action
    change = "created" if old is None else "modified"
    added, removed = _lines_changed(old or b"", effect.content)
    sought = recogniser is not None and len(effect.content) <= _SOUGHT_BYTES
    detail = dict(action.detail) | {"change": change, "added": added, "removed": removed}
    if recogniser is not None and not sought:
        detail["content"] = "too large to look for planted data"
    return replace(
        action,
        canaries=recogniser.find(effect.content) if recogniser is not None and sought else (),
        size=len(effect.content),
        sha256=hashlib.sha256(effect.content).hexdigest(),
        excerpt=effect.content[:_EXCERPT_CHARACTERS].decode("utf-8", "replace"),
        detail=tuple((name, value) for name, value in detail.items() if value),
    )


def _lines_changed(old: bytes, new: bytes) -> tuple[str, str]:
    """Lines added and removed, as text, bounded; empty for what is no text or too large to compare."""
    if len(old) + len(new) > _COMPARED_BYTES or b"\0" in old or b"\0" in new:
        return "", ""
    before = old.decode("utf-8", "replace").splitlines()
    after = new.decode("utf-8", "replace").splitlines()
    if len(before) * len(after) > 4_000_000:
        gone, fresh = set(before) - set(after), set(after) - set(before)
        return _shown(line for line in after if line in fresh), _shown(
            line for line in before if line in gone
        )
    added: list[str] = []
    removed: list[str] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            removed += before[i1:i2]
            added += after[j1:j2]
    return _shown(added), _shown(removed)


def _shown(lines: Iterable[str]) -> str:
    return "\n".join(lines)[:_SHOWN_CHARACTERS]


def reasons_not_to_cut(
    facts: CommandFacts, outlived: Sequence[int], special: Sequence[str]
) -> tuple[str, ...]:
    """Why a record of this command cannot stand for running it again.

    `outlived`: processes that live on; `special`: sockets and named pipes that it left in the file system.
    """
    reasons: dict[str, None] = {}
    if outlived or facts.outlived:
        reasons["a process outlived the command"] = None
    for carrier in facts.carriers_out:
        reasons[f"{_CARRIERS_THAT_STAY.get(carrier.kind, carrier.kind)} was used: {carrier.name}"] = None
    for action in facts.actions:
        if action.kind is ActionKind.SIGNAL:
            reasons["another process was signalled"] = None
    for path in special:
        reasons[f"something stayed that no record holds: {path}"] = None
    return tuple(reasons)
