"""What a command asked of stand-ins, as actions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from conjunct.model import Action, ActionKind, ResourceClass
from conjunct.world.actors import directive
from conjunct.world.recogniser import Recogniser
from conjunct.world.spec import Command
from conjunct.world.standins import StandInCall

_EXCERPT_CHARACTERS = 2000


def with_stand_ins(
    actions: Sequence[Action], calls: Iterable[StandInCall], *, recogniser: Recogniser, command: Command
) -> tuple[Action, ...]:
    """The actions of a command, those that reached a stand-in marked with it and with what was handed over.

    A call that no traced action accounts for is an action of the command itself.
    """
    result = list(actions)
    marked: set[int] = set()
    for call in calls:
        handed = b"\0".join([*(word.encode("utf-8", "surrogateescape") for word in call.argv), call.stdin])
        handed = handed if call.kind == "program" else call.arguments.encode("utf-8", "surrogateescape")
        index = _execution(result, call, marked)
        action = result[index] if index is not None else _unseen(call, command)
        action = replace(
            action,
            stand_in=call.stand_in,
            canaries=tuple(dict.fromkeys((*action.canaries, *recogniser.find(handed)))),
            size=len(handed),
            excerpt=handed[:_EXCERPT_CHARACTERS].decode("utf-8", "replace"),
        )
        if index is None:
            result.append(action)
        else:
            marked.add(index)
            result[index] = action
    return tuple(result)


def _execution(actions: Sequence[Action], call: StandInCall, marked: set[int]) -> int | None:
    """The traced execution of that program that no earlier call accounts for."""
    if call.kind != "program":
        return None
    for index, action in enumerate(actions):
        if (
            action.kind is ActionKind.EXEC
            and index not in marked
            and action.resource.endswith(f"/{call.name}")
        ):
            return index
    return None


def _unseen(call: StandInCall, command: Command) -> Action:
    module = call.kind != "program"
    detail = (("what", call.what),) if module else (("argv", " ".join(call.argv)),)
    return Action(
        kind=ActionKind.EXEC,
        resource=f"module:{call.name}" if module else call.name,
        resource_class=ResourceClass.SYSTEM,
        actor=directive(command),
        turn=command.turn,
        step=command.step,
        detail=detail,
    )
