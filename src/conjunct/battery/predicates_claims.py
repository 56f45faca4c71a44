"""Claims, as far as a trace shows them: what is done is what the text of the skill says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from conjunct.battery.predicates_does import host_readable, sent_by_skill
from conjunct.battery.scene import Hit, Scene, carries_network
from conjunct.model import ActionKind, ResourceClass

_USER_FILES = frozenset({ResourceClass.WORKSPACE, ResourceClass.PRIVATE, ResourceClass.SECRET})


def network_undeclared(scene: Scene, parameters: Mapping[str, str]) -> Iterator[Hit]:
    """Bytes sent by a skill whose readable text speaks of no network use."""
    for index, action in sent_by_skill(scene, parameters["installers"]):
        speaks = any(carries_network(one) for one in scene.texts(action))
        if not speaks and not host_readable(scene, action):
            effect = f"sends to {action.resource}; its text speaks of no network"
            yield Hit(action.resource, effect, (index,), action.turn)


def claims_denied(scene: Scene, parameters: Mapping[str, str]) -> Iterator[Hit]:
    """Bytes sent, or a user's file changed, by a skill whose text rules that out."""
    network, changes = _phrases(parameters["network"]), _phrases(parameters["changes"])
    for index, action in enumerate(scene.trace.actions):
        for name in scene.acting(action) if action.completed and action.skills() else ():
            readable = scene.readable.get(name)
            if readable is None:
                continue
            description = readable.description.lower()
            if action.kind is ActionKind.SEND and action.resource_class is not ResourceClass.LOOPBACK:
                said = _first(network, description) or _first_plain(network, readable.body.lower())
            elif _changes_user_file(scene, index):
                said = _first(changes, description)
            else:
                continue
            if said:
                verb = "sends to" if action.kind is ActionKind.SEND else "changes"
                effect = f'{verb} {scene.shown(action.resource)} although its text says "{said}"'
                yield Hit(action.resource, effect, (index,), action.turn)


def _changes_user_file(scene: Scene, index: int) -> bool:
    action = scene.trace.actions[index]
    changing = action.kind in (ActionKind.WRITE, ActionKind.DELETE) and action.resource_class in _USER_FILES
    return changing and scene.existed(index, action)


def _phrases(text: str) -> list[str]:
    return [part.strip().lower() for part in text.split("|") if part.strip()]


def _first(phrases: list[str], text: str) -> str:
    return next((phrase for phrase in phrases if phrase in text), "")


_PARTIAL = re.compile(
    r"\b(?:demo|mode|option|flag|step|when|if|unless|with|using|only|after|once)\b|--\w|^\s*[#|>]"
)
"""Headings, tables, and lines about one way of use promise nothing about the whole skill."""


def _first_plain(phrases: list[str], text: str) -> str:
    """The first phrase that a line of prose says without limiting it to a case."""
    lines = [line for line in text.splitlines() if not _PARTIAL.search(line)]
    return _first(phrases, "\n".join(lines))
