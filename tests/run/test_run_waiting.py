"""Runs of one candidate stay with one worker; nobody is idle while something waits."""

from __future__ import annotations

import pytest

from conjunct.model import Context, EpisodeSpec
from conjunct.run.waiting import Waiting


def spec(candidate: str, number: int) -> EpisodeSpec:
    return EpisodeSpec("use", candidate, Context(first_use=number))


def waiting(**numbers: int) -> Waiting[str]:
    made = Waiting[str]()
    for candidate, number in numbers.items():
        for one in range(number):
            made.put(spec(candidate, one + 1))
    return made


def test_each_worker_stays_with_its_candidate() -> None:
    queue = waiting(one=3, other=3)
    assert queue.take("A", under_way=()) == spec("one", 1)
    assert queue.take("B", under_way=("one",)) == spec("other", 1)
    assert queue.take("A", under_way=("other",)) == spec("one", 2)
    assert queue.take("B", under_way=("one",)) == spec("other", 2)


def test_what_a_candidate_asks_for_later_goes_to_the_worker_that_knows_it() -> None:
    queue = waiting(one=1)
    queue.take("A", under_way=())
    queue.put(spec("new", 1))
    queue.put(spec("one", 2))
    assert queue.take("A", under_way=()) == spec("one", 2)


def test_a_worker_without_work_takes_over_a_candidate_that_rests_before_helping_with_one_that_runs() -> None:
    queue = waiting(one=3, other=1)
    queue.take("A", under_way=())
    queue.take("A", under_way=())
    queue.take("A", under_way=())
    queue.take("A", under_way=())
    queue.put(spec("one", 4))
    queue.put(spec("one", 5))
    queue.put(spec("other", 2))
    assert queue.take("B", under_way=("one",)) == spec("other", 2)
    assert queue.take("B", under_way=("one",)) == spec("one", 5)


def test_an_episode_that_is_tried_again_comes_first() -> None:
    queue = waiting(one=2)
    queue.put_first(spec("one", 9))
    assert (len(queue), queue.take("A", under_way=())) == (3, spec("one", 9))


def test_nothing_is_taken_where_nothing_waits() -> None:
    with pytest.raises(IndexError):
        waiting().take("A", under_way=())
