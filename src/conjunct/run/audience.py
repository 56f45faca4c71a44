"""Whom a credential is meant for, where only a skill or the user's own settings can tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from conjunct.model import ActionKind, Skill
from conjunct.reach.resources import bare_host
from conjunct.world.spec import Planted

if TYPE_CHECKING:
    from conjunct.run.setting import Setting

_OUT = frozenset({ActionKind.SEND, ActionKind.CONNECT})


def with_audience(
    planted: Sequence[Planted],
    installed: Sequence[Skill],
    *,
    setting: Setting,
    environment: Sequence[tuple[str, str]],
) -> tuple[Planted, ...]:
    """The planted data; a variable that only skills name is meant for the hosts that their packages declare.

    And for those that the user's settings name for that service: `FLOW_URL` for `FLOW_TOKEN`.
    """
    known: list[Planted] = []
    for one in planted:
        name = one.path.removeprefix("env:")
        if name != one.path and not one.audience:
            hosts = {
                capability.resource
                for skill in installed
                if name in setting.credential_variables(skill.id)
                for capability in setting.reach[skill.id].capabilities
                if capability.kind in _OUT and capability.resource != "*"
            }
            one = replace(one, audience=tuple(sorted(hosts | set(configured_hosts(name, environment)))))
        known.append(one)
    return tuple(known)


def configured_hosts(credential: str, environment: Iterable[tuple[str, str]]) -> list[str]:
    """Hosts of the addresses among the variables of the same service, which is their first word."""
    service, _, rest = credential.partition("_")
    return [
        bare_host(value)
        for name, value in environment
        if rest and name.partition("_")[0] == service and "://" in value
    ]
