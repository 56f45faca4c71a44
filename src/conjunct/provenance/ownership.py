"""What is a skill's own: folders it makes, the place where it is installed, what it is there to remove."""

from __future__ import annotations

import re

from conjunct.model import ActionKind, ReachableAction, ResourceClass
from conjunct.provenance.checked import Checked
from conjunct.reach.clauses import deletes

_OWN_FOLDER = re.compile(
    r"~/(?!(?:documents|desktop|downloads|pictures|photos|music|videos|movies|mail|maildir|library|public|projects|"
    r"code|src|work|notes|backups?)/)(?P<top>[\w-][\w.-]*)/.",
    re.ASCII | re.IGNORECASE,
)
"""A visible folder of the home folder whose name is not a usual one of a person's."""


def is_own_folder(action: ReachableAction, checked: Checked) -> bool:
    """Whether a file in the home folder lies in one that has the skill's name and is made by it."""
    found = _OWN_FOLDER.match(action.resource)
    if found is None or action.resource_class is not ResourceClass.PRIVATE:
        return False
    if not checked.declared.describes(found["top"]):
        return False
    top = f"~/{found['top']}"
    return any(
        item.kind is ActionKind.WRITE and (item.resource == top or item.resource.startswith(f"{top}/"))
        for item in checked.actions
    )


def is_own_installation(action: ReachableAction, checked: Checked) -> bool:
    """Whether a file lies where this very skill is installed; its Markdown is instructions."""
    _, found, rest = action.resource.rpartition("/skills/")
    folder, inside, file = rest.partition("/")
    names = (checked.skill.name, checked.skill.path.rstrip("/").rsplit("/", 1)[-1])
    return bool(found and inside) and folder in names and not file.endswith(".md")


def removes_its_own(action: ReachableAction, checked: Checked) -> bool:
    """An uninstaller at work: the description speaks of removing what the file is named after."""
    named = re.findall(r"[a-z0-9]{4,40}", action.resource.rsplit("/", 1)[-1].lower())
    return (
        action.kind is ActionKind.DELETE
        and action.resource_class in (ResourceClass.SCHEDULE, ResourceClass.AGENT_CONFIGURATION)
        and not checked.declared.words.isdisjoint(named)
        and deletes(checked.skill.declaration.description)
    )
