"""Sensitive lines that no run reached, and destinations that the texts do not let a reader expect."""

from __future__ import annotations

from collections.abc import Collection

from conjunct.model import ActionKind, ReachableAction, ReachSet, ResourceClass, Severity, Skill
from conjunct.provenance.checked import checked_of
from conjunct.provenance.claims import is_sensitive
from conjunct.provenance.declared import Declared, declared_of, is_network
from conjunct.provenance.sensitive import sensitive_findings
from conjunct.reach.resources import is_drop_host, is_registry

_CODE = frozenset({"python", "shell", "javascript"})
_TEXTS = (".md", ".mdx", ".txt", ".rst", ".ipynb")
_LEAST_CONFIDENCE = 0.3
_KEPT_FROM_DELETION = frozenset(
    {ResourceClass.PRIVATE, ResourceClass.SYSTEM, ResourceClass.HISTORY, ResourceClass.SECRET}
)

Place = tuple[str, int]


def dormant_lines(skill: Skill, reach: ReachSet, exercised: Collection[Place]) -> tuple[ReachableAction, ...]:
    """One sensitive action for each line of code that no run is known to have reached, questions first.

    A line whose test stands on it (`test and call()`) has run as a line, whatever the test said.
    """
    checked = checked_of(skill, reach, declared_of(skill, reach), exercised)
    asked = {
        (finding.file, finding.line)
        for finding in sensitive_findings(checked)
        if finding.severity is not Severity.NOTE
    }
    found: dict[Place, ReachableAction] = {}
    for action in checked.actions:
        place = (action.file, action.line)
        if action.source not in _CODE or action.file.lower().endswith(_TEXTS) or not _matters(action):
            continue
        inline = action.source == "python" and any(guard.line == action.line for guard in action.guards)
        if place in checked.exercised and not inline:
            continue
        known = found.get(place)
        if known is None or _weight(action) > _weight(known):
            found[place] = action
    order = sorted(found, key=lambda place: (place not in asked, not found[place].guards, place))
    return tuple(found[place] for place in order)


def _matters(action: ReachableAction) -> bool:
    if action.confidence < _LEAST_CONFIDENCE:
        return False
    if action.kind is ActionKind.DELETE and action.resource_class in _KEPT_FROM_DELETION:
        return True
    return is_sensitive(action.kind, action.resource_class)


def _weight(action: ReachableAction) -> tuple[bool, bool]:
    """Of several things on one line the one that leaves the machine, or changes something, is told."""
    return (is_network(action), action.kind is not ActionKind.READ)


def network_lines(reach: ReachSet) -> frozenset[Place]:
    """Lines of code that reach a host which is no package registry."""
    return frozenset(
        (action.file, action.line)
        for action in reach.actions
        if is_network(action)
        and action.source in _CODE
        and not action.mention
        and not action.file.lower().endswith(_TEXTS)
        and not is_registry(action.resource)
    )


def is_undeclared(declared: Declared, kind: ActionKind, host: str) -> bool:
    """Whether no text lets a reader expect this host: it is not named, and sending is not spoken of.

    Fetching from a host that nobody named is told by `claims.undeclared-connect` and no question by itself.
    """
    if is_registry(host) or declared.host(host) is not None or declared.describes_host(host):
        return False
    if is_drop_host(host):
        return True
    general = declared.covers(ActionKind.SEND, ResourceClass.NETWORK) is not None
    return kind is ActionKind.SEND and not (
        general and (ActionKind.SEND, ResourceClass.NETWORK) in declared.described
    )
