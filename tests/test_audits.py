"""What an audit compares of two runs."""

from __future__ import annotations

from conjunct.audits import normalised
from conjunct.model import Action, ActionKind, ActorLink, Context, Episode, EpisodeSpec, ResourceClass, Trace


def episode(*paths: str, kind: ActionKind = ActionKind.WRITE) -> Episode:
    actions = tuple(
        Action(kind, path, ResourceClass.WORKSPACE, (ActorLink("skill", "keeper", "SKILL.md", 3),), 1, 0)
        for path in paths
    )
    return Episode(EpisodeSpec("use", "keeper", Context()), Trace(actions=actions))


def test_a_file_that_is_named_after_the_moment_is_the_same_file() -> None:
    first, second = episode("/home/sam/kept/a-1772442000134.md"), episode("/home/sam/kept/a-1772442000992.md")
    assert normalised(first) == normalised(second)


def test_another_folder_kind_or_host_is_a_difference() -> None:
    first = episode("/home/sam/kept/a-17.md")
    assert normalised(first) != normalised(episode("/home/sam/.ssh/a-17.md"))
    assert normalised(first) != normalised(episode("/home/sam/kept/a-17.md", kind=ActionKind.DELETE))
    sent = [episode(host, kind=ActionKind.SEND) for host in ("10.0.0.7:80", "10.0.0.8:80")]
    assert normalised(sent[0]) != normalised(sent[1])
