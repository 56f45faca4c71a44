"""Episodes that were let go of come back from the store as they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from conjunct.errors import StoreError
from conjunct.model import Context, Episode, EpisodeSpec, TouchMode, Trace, Utterance
from conjunct.plan.joins import Footprint
from conjunct.run.kept import KeptEpisodes
from conjunct.run.store import Store


def episode(number: int) -> Episode:
    spec = EpisodeSpec("use", "one", Context(first_use=number + 1))
    return Episode(spec, Trace(utterances=(Utterance(1, "user", f"request {number}"),)))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs.sqlite")


def test_what_was_let_go_of_is_read_again_in_order_beside_what_came_later(store: Store) -> None:
    made = [episode(number) for number in range(130)]
    store.record(made)
    kept = KeptEpisodes(store)
    kept.extend(made[:100])
    kept.spill()
    kept += made[100:]
    assert list(kept) == made
    assert (len(kept), kept[3], kept[-1], list(kept[98:102])) == (130, made[3], made[-1], made[98:102])


def test_an_episode_that_was_never_recorded_cannot_be_let_go_of_unseen(store: Store) -> None:
    kept = KeptEpisodes(store)
    kept.append(episode(0))
    kept.spill()
    with pytest.raises(StoreError, match="are gone"):
        list(kept)


def test_a_footprint_comes_back_as_it_was_and_under_its_own_key_only(store: Store) -> None:
    context = Context(history="travel", used_before=("other",), co_skills=("other",))
    one = Footprint(
        "one",
        {"/home/sam/x": context},
        {"/home/sam/y": Context()},
        {"/home/sam/x": "3 abc"},
        {"/home/sam/y": frozenset({TouchMode.READ, TouchMode.STAT})},
    )
    store.record_footprints({"key": one})
    assert store.footprint("key", Footprint) == one
    assert store.footprint("another", Footprint) is None
