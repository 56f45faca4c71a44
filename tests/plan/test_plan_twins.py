"""Twin worlds: what follows a secret's value is told, whatever it is hidden in."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from conjunct.model import (
    Action,
    ActionKind,
    ActorLink,
    CommandRecord,
    Context,
    Episode,
    EpisodeSpec,
    ResourceClass,
    Trace,
)
from conjunct.plan.twins import TwinFinding, twins

SKILL = (ActorLink("skill", "tool", "scripts/run.py", 3),)
SPEC = EpisodeSpec("use", "tool", Context())
SECRET = Action(ActionKind.READ, "/home/sam/.aws/credentials", ResourceClass.SECRET, SKILL, 1, 0)


def left(kind: ActionKind, resource: str, sha256: str) -> Action:
    return Action(kind, resource, ResourceClass.NETWORK, SKILL, 1, 0, size=9, sha256=sha256)


def episode(*actions: Action) -> Episode:
    command = CommandRecord(0, 1, ("python3", "scripts/run.py"), "/", "tool", "SKILL.md", 8, "exit", 0)
    return Episode(SPEC, Trace(actions=(SECRET, *actions), commands=(command,)))


def found_in(first: Sequence[Action], again: Sequence[Action], twin: Sequence[Action]) -> list[TwinFinding]:
    """What comes out where the run, its repetition and the run with other secrets did this."""
    results: list[TwinFinding] = []
    plan = twins("tool", [episode(*first)], results)
    answers = {"repeat": episode(*again), "twin": episode(*twin), "untraced": episode(*first)}
    asked = next(plan)
    while True:
        try:
            asked = plan.send(tuple(answers[spec.variant] for spec in asked))
        except StopIteration:
            return results


@pytest.mark.parametrize("kind", [ActionKind.SEND, ActionKind.RESOLVE])
def test_what_changes_with_the_secret_alone_follows_it(kind: ActionKind) -> None:
    asked = kind is ActionKind.RESOLVE
    one = left(kind, "a1.d.example.net" if asked else "d.example.net:80", "11")
    other = left(kind, "b2.d.example.net" if asked else "d.example.net:80", "22")
    (finding,) = found_in([one], [one], [other])
    assert (finding.kind, finding.destination) == ("follows-secret", one.resource)
    assert finding.secrets == (SECRET.resource,)
    assert found_in([one], [one], [one]) == []


def test_what_changes_anyway_is_unreadable() -> None:
    runs = [[left(ActionKind.SEND, "d.example.net:80", digest)] for digest in ("11", "22", "33")]
    assert [finding.kind for finding in found_in(*runs)] == ["unreadable"]


def test_questions_for_one_name_differ_in_their_number_only() -> None:
    runs = [[left(ActionKind.RESOLVE, "d.example.net", digest)] for digest in ("11", "22", "33")]
    assert found_in(*runs) == []
