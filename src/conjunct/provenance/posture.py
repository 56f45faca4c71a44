"""Instructions about the agent's own conduct with a consequential object: override, conceal, remember."""

from __future__ import annotations

import re
from collections.abc import Iterator

from conjunct.model import ActionKind, Finding, ReachableAction, ResourceClass, Severity
from conjunct.provenance.checked import PERSONAL, Checked
from conjunct.provenance.declared import is_network

_SURE = 0.8
_CONSEQUENCE = re.compile(
    r"\b(?:send\w*|upload\w*|transmi\w*|exfiltrat\w*|forward\w*|delet\w*|remov\w*|wip\w*|eras\w*|pay\w*|purchas\w*|"
    r"transfer\w*|credential\w*|password\w*|tokens?|keys?|secret\w*|install\w*|download\w*|webhook\w*|"
    r"command\w*|script\w*|execut\w*|network|request\w*|access\w*|config\w*|memory|crontab|log(?:s|ging|ged)?)\b",
    re.IGNORECASE,
)
_RULES = re.compile(
    r"\b(?:previous|prior|earlier|preceding|above|original|initial|system|developer|safety|ethic\w*|"
    r"guardrails?|guidelines?|(?:all|any|your|its|these|content|safety) restrictions|restrictions do not|"
    r"polic(?:y|ies)|safeguards?|content filters?|security (?:checks?|rules?)|"
    r"any request|all requests|every request|your (?:instructions|training|programming|rules))\b",
    re.IGNORECASE,
)
"""Objects of an override that are rules of the agent itself."""

_FOREIGN = re.compile(
    r"\b(?:embedded|injected|untrusted|malicious|such|these|those|third.party|found|any|external)\b",
    re.I,
)
"""Instructions that the agent is told to ignore because they are somebody else's."""

_FORMATTING = re.compile(
    r"\b(?:format\w*|style|emoji|preamble|verbos\w*|progress|internal (?:step|reasoning|notes?)|intermediate|"
    r"thinking|chain.of.thought|tone|wording|spelling|naming|file names?|defaults?)\b",
    re.IGNORECASE,
)


def posture_findings(checked: Checked) -> Iterator[Finding]:
    """Overrides and concealment in the text that is not merely mentioned."""
    consequential = _consequential(checked)
    for action in checked.actions:
        if action.source != "prose" or action.confidence < _SURE:
            continue
        if action.kind is ActionKind.OVERRIDE:
            yield from _override(action, checked, consequential)
        elif action.kind is ActionKind.CONCEAL:
            yield from _conceal(action, checked, consequential)
        elif action.kind is ActionKind.REMEMBER:
            yield from _remember(action, checked)


def _override(
    action: ReachableAction, checked: Checked, consequential: ReachableAction | None
) -> Iterator[Finding]:
    what, _, scope = action.resource.partition(": ")
    if what in ("instructions", "refusal", "honesty"):
        if not _RULES.search(scope) or (
            what == "instructions" and _FOREIGN.search(scope) and "previous" not in scope
        ):
            return
        setting = scope == "developer mode" and not _others_dropped(action, checked)
        yield checked.finding(
            "claims.override",
            f"orders the agent to drop {what}: {scope or 'everything'}",
            action,
            Severity.NOTE if what == "honesty" or setting else Severity.REVIEW,
            f"May it tell the agent to ignore {what}?",
        )
    elif consequential is not None and (scope in ("", "anything") or _CONSEQUENCE.search(scope)):
        if _FORMATTING.search(scope):
            return
        near = consequential.file == action.file and not _described(action, checked)
        yield checked.finding(
            "claims.unconfirmed",
            f"waives the user's confirmation ({scope or 'anything'}) and can {_effect(consequential)}",
            action,
            Severity.REVIEW if near and consequential.kind is not ActionKind.INSTALL else Severity.NOTE,
            f"May it {_effect(consequential)} without asking?",
        )


def _others_dropped(action: ReachableAction, checked: Checked) -> bool:
    """Whether more than this is set aside: "developer mode" alone is a switch of browsers and phones."""
    return any(
        item.kind in (ActionKind.OVERRIDE, ActionKind.CONCEAL) and item.resource != action.resource
        for item in checked.actions
    )


def _described(action: ReachableAction, checked: Checked) -> bool:
    """Whether the description itself says that this confirmation is not waited for."""
    return any(
        item.kind is ActionKind.OVERRIDE
        and item.resource == action.resource
        and item.file == checked.skill.manifest
        and item.line < checked.skill.body_line
        for item in checked.actions
    )


def _conceal(
    action: ReachableAction, checked: Checked, consequential: ReachableAction | None
) -> Iterator[Finding]:
    _, hidden, means = action.resource.partition("instructions in ")
    if hidden:
        yield checked.finding(
            "claims.hidden-text",
            f"an instruction stands in {means}, where a reader of the page does not see it",
            action,
            Severity.NOTE if _is_guidance(action, means, checked) else Severity.REVIEW,
            "Is this hidden instruction meant to be there?",
        )
        return
    if _FORMATTING.search(action.resource):
        return
    if _CONSEQUENCE.search(action.resource) or consequential is not None:
        yield checked.finding(
            "claims.conceal",
            f"orders the agent to keep something from the user: {action.resource}",
            action,
            Severity.REVIEW if _CONSEQUENCE.search(action.resource) else Severity.NOTE,
            "May it do this without the user being told?",
        )


_TEMPLATE = re.compile(r"(?:^|/)(?:[\w-]*templates?/|[^/]*template[^/]*$)", re.IGNORECASE)
_ACTS = (ActionKind.SEND, ActionKind.REMOTE_CODE, ActionKind.DELETE, ActionKind.OVERRIDE, ActionKind.INSTALL)


def _is_guidance(action: ReachableAction, means: str, checked: Checked) -> bool:
    """Hidden from a reader by habit: encoded samples in references, notes in a template for who fills it in.

    A template in whose prose something is sent, run, deleted, installed or set aside is no such thing.
    """
    if action.file == checked.skill.manifest:
        return False
    if means == "base64":
        return True
    return (
        means == "comment"
        and _TEMPLATE.search(action.file) is not None
        and not any(
            item.file == action.file
            and (item.kind in _ACTS or item.resource_class in (*PERSONAL[:3], ResourceClass.SECRET))
            for item in checked.actions
        )
    )


def _remember(action: ReachableAction, checked: Checked) -> Iterator[Finding]:
    if checked.declared.covers(ActionKind.WRITE, ResourceClass.AGENT_MEMORY) is None:
        yield checked.finding(
            "claims.agent-memory",
            f"orders something to be kept beyond this conversation: {action.resource}",
            action,
            Severity.NOTE,
        )


def _consequential(checked: Checked) -> ReachableAction | None:
    """The first action of the package that a user would want to be asked about."""
    for action in checked.actions:
        if action.confidence < 0.6:
            continue
        if action.kind is ActionKind.REMOTE_CODE or (action.kind is ActionKind.SEND and is_network(action)):
            return action
        if action.kind is ActionKind.DELETE and action.resource_class in (
            ResourceClass.PRIVATE,
            ResourceClass.SYSTEM,
        ):
            return action
    return None


def _effect(action: ReachableAction) -> str:
    verbs = {
        ActionKind.SEND: "send to",
        ActionKind.REMOTE_CODE: "run code from",
        ActionKind.DELETE: "delete",
    }
    return f"{verbs.get(action.kind, 'touch')} {action.resource}"
