"""A skill that uses up an episode again and again is looked at; once, or only its time, is nothing."""

from __future__ import annotations

import pytest

from conjunct.delta.exhaustion import exhaustion
from conjunct.model import CommandRecord, Context, Episode, EpisodeSpec, Severity, Trace


def episode(number: int, reason: str, *, ended: str = "killed", skill: str = "bomb") -> Episode:
    record = CommandRecord(0, 1, ("sh", "x.sh"), "/home/sam", skill, "SKILL.md", 9, ended, None)
    spec = EpisodeSpec("use", "bomb", Context(), seed=number)
    return Episode(spec, Trace(commands=(record,), undetermined=(reason,) if reason else ()))


def test_what_happens_in_two_runs_is_a_review_with_its_line() -> None:
    (found,) = exhaustion("bomb", [episode(n, "ended by the process-limit") for n in range(2)])
    assert (found.code, found.severity) == ("does.exhausts", Severity.REVIEW)
    assert (found.file, found.line) == ("SKILL.md", 9)
    assert found.message == "exhausts the processes of an episode, in 2 runs"


@pytest.mark.parametrize(
    "episodes",
    [
        [episode(1, "ended by the memory-limit")],
        [episode(1, "ended by the memory-limit"), episode(2, "ended by the process-limit")],
        [episode(n, "", ended="time-limit") for n in range(3)],
        [episode(n, "ended by the time-limit", ended="time-limit") for n in range(3)],
        [episode(n, "ended by the memory-limit", skill="other") for n in range(3)],
        [episode(n, "the tracer died") for n in range(3)],
    ],
)
def test_once_or_another_skill_or_only_time_is_nothing(episodes: list[Episode]) -> None:
    assert exhaustion("bomb", episodes) == ()
