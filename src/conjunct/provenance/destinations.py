"""Where data goes, against the declaration: hosts, services and payees that no text leads to expect."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from conjunct.model import ActionKind, Finding, ResourceClass, Severity
from conjunct.provenance.checked import PERSONAL, SURE, Checked, severity_of
from conjunct.provenance.declared import denied_network, is_network
from conjunct.reach.credentials import audience_of
from conjunct.reach.payees import PAYEE
from conjunct.reach.resources import bare_host, host_matches, is_drop_host, is_registry

_PLACEHOLDER = re.compile(
    r"\b(?:(?:your|my|company|domain|host|acme|org|server)[\w-]*|target|victim|vulnerable)\.", re.IGNORECASE
)
"""Hosts that stand for the reader's own."""


def denied_findings(checked: Checked) -> Iterator[Finding]:
    """The description says that nothing goes over the network, and code does."""
    denial = denied_network(checked.skill.declaration.description)
    if denial is None:
        return
    for action in checked.actions:
        if not is_network(action) or action.source == "prose" or is_registry(action.resource):
            continue
        yield checked.finding(
            "claims.denied",
            f"reaches {action.resource} although the description says `{denial}`",
            action,
            severity_of(action),
            f"May it reach {bare_host(action.resource)} although it says `{denial}`?",
        )
        return


def network_findings(checked: Checked) -> Iterator[Finding]:
    """Hosts that are drop places, and hosts that no text names."""
    declared = checked.declared
    told: set[tuple[str, str]] = set()
    for action in checked.actions:
        if not is_network(action) or is_registry(action.resource):
            continue
        host = bare_host(action.resource)
        if (host, action.kind) in told:
            continue
        told.add((host, action.kind))
        in_prose = action.source == "prose"
        if is_drop_host(host) or _is_public_address(host):
            if not declared.describes_host(host) and action.confidence >= SURE:
                yield checked.finding(
                    "claims.drop-host",
                    f"reaches {action.resource}, where anybody can collect or serve anything",
                    action,
                    Severity.REVIEW,
                    f"May it reach {host}?",
                )
            continue
        if declared.host(action.resource) is not None or declared.describes_host(host):
            continue
        in_general = declared.covers(action.kind, ResourceClass.NETWORK) or (
            action.kind is ActionKind.CONNECT and declared.covers(ActionKind.SEND, ResourceClass.NETWORK)
        )
        fixed_send = action.kind is ActionKind.SEND and not in_prose and "*" not in host
        expected = (ActionKind.SEND, ResourceClass.NETWORK) in declared.described
        if in_general and (expected or not fixed_send):
            yield checked.finding(
                "claims.host-not-named",
                f"reaches {action.resource}, which no text names",
                action,
                Severity.NOTE,
            )
        elif action.kind is ActionKind.SEND and not in_prose:
            sure = action.confidence >= SURE
            yield checked.finding(
                "claims.undeclared-send",
                f"sends to {action.resource}, which no text names; the description speaks of no sending",
                action,
                Severity.REVIEW if sure else Severity.NOTE,
                f"May it send data to {host}?",
            )
        else:
            yield checked.finding(
                "claims.undeclared-connect",
                f"connects to {action.resource}, and nothing in the text speaks of the network",
                action,
                Severity.NOTE,
            )


def body_destination_findings(checked: Checked) -> Iterator[Finding]:
    """Prose that orders data to a host which neither name nor description lead a reader to expect."""
    personal = {
        (item.file, item.line, item.resource)
        for item in checked.actions
        if item.source == "prose"
        and item.kind is ActionKind.READ
        and item.resource_class in (*PERSONAL, ResourceClass.SECRET)
    }
    for action in checked.actions:
        if action.kind is not ActionKind.SEND or action.source != "prose" or not is_network(action):
            continue
        host = bare_host(action.resource)
        if "*" in host or "." not in host or is_drop_host(host) or action.confidence < SURE:
            continue
        if checked.declared.describes_host(host):
            continue
        if any(
            (file, line) == (action.file, action.line) and not _is_its_own(resource, host)
            for file, line, resource in personal
        ):
            yield checked.finding(
                "claims.body-destination",
                f"orders private data or credentials to be sent to {action.resource}",
                action,
                Severity.REVIEW,
                f"May it send private data to {host}?",
            )
        elif (ActionKind.SEND, ResourceClass.NETWORK) not in checked.declared.described:
            in_manifest = action.file == checked.skill.manifest and not _PLACEHOLDER.search(host)
            yield checked.finding(
                "claims.body-destination",
                f"orders data to be sent to {action.resource}; the description does not speak of sending",
                action,
                Severity.REVIEW if in_manifest else Severity.NOTE,
                f"May it send data to {host}?",
            )


_PLAIN_PARTS = frozenset({"api", "app", "bot", "access", "auth", "user", "private", "web", "dev"})


def _is_its_own(secret: str, host: str) -> bool:
    """Whether a credential is the host's business: known to be, or `LINEAR_API_KEY` at `api.linear.app`."""
    audience = audience_of(secret)
    if audience is not None:
        return host_matches(host, audience)
    if not secret.startswith("env:"):
        return False
    named = secret[4:].lower().split("_", 1)[0]
    return (
        len(named) >= 4
        and named not in _PLAIN_PARTS
        and named in (*host.split(".")[-2:-1], "".join(host.split(".")[-2:]))
    )


def payee_findings(checked: Checked) -> Iterator[Finding]:
    """Money that the text sends to an account which neither name nor description lead a reader to expect."""
    described = checked.skill.declaration.description.replace(" ", "").lower()
    for action in checked.actions:
        if action.kind is not ActionKind.SEND or not action.resource.startswith(PAYEE):
            continue
        payee = action.resource.removeprefix(PAYEE)
        if payee.lower() in described:
            continue
        yield checked.finding(
            "claims.payee",
            f"gives {payee} as the one to pay; the description does not name it",
            action,
            severity_of(action),
            f"May it have money sent to {payee}?",
        )


def _is_public_address(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return False
