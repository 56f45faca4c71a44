"""Within a budget: cheapest first, the same runs whatever the workers' speed, and nothing lost at its end."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.errors import UsageError
from conjunct.model import Context, Episode, EpisodeSpec, Trace
from conjunct.plan.budget import Budget, Unit, parse_budget
from conjunct.run import Store
from conjunct.run.rounds import Meter, drive_within


class Executor:
    """Runs in this process; `order` picks which of the waiting runs ends next."""

    def __init__(self, order: int = 0, tokens: int = 0) -> None:
        self.waiting: list[EpisodeSpec] = []
        self.ran: list[tuple[str, int]] = []
        self._order = order
        self._tokens = tokens

    @property
    def outstanding(self) -> int:
        return len(self.waiting)

    def submit(self, wanted: EpisodeSpec) -> None:
        self.waiting.append(wanted)

    def finished(self, timeout: float | None = None) -> Iterator[Episode]:
        wanted = self.waiting.pop(self._order % len(self.waiting))
        self.ran.append((wanted.candidate, wanted.seed))
        yield Episode(wanted, Trace(), tokens=self._tokens)


def plan(
    name: str, *waves: int, into: list[int] | None = None
) -> Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], None]:
    """Ask for waves of so many runs, one after another."""
    number = 0
    for wave in waves:
        asked = tuple(EpisodeSpec("use", name, Context(), seed=number + one) for one in range(wave))
        number += wave
        episodes = yield asked
        if into is not None:
            into += [episode.spec.seed for episode in episodes]


def runs(number: int) -> Meter:
    return Meter(Budget(Unit.RUNS, number), workers=1)


def test_the_plans_that_ask_for_least_come_first(tmp_path: Path) -> None:
    executor = Executor()
    plans = {"loud": plan("loud", 2, 300), "a": plan("a", 2, 3), "b": plan("b", 4, 2)}
    cut = drive_within(plans, executor, Store(tmp_path / "s"), runs(40))
    assert set(cut) == {"loud"}
    counts = {name: sum(ran == name for ran, _ in executor.ran) for name in ("loud", "a", "b")}
    assert counts == {"loud": 40 - 5 - 6, "a": 5, "b": 6}


def test_the_budget_is_never_exceeded_and_what_is_left_shows_something(tmp_path: Path) -> None:
    executor = Executor()
    cut = drive_within({"a": plan("a", 10)}, executor, Store(tmp_path / "s"), runs(4))
    assert len(executor.ran) == 4
    assert len(cut["a"].made) == 4 and cut["a"].unmade == 6


def test_nobody_overtakes_a_plan_that_has_asked_for_less(tmp_path: Path) -> None:
    executor = Executor()
    plans = {"a": plan("a", 5, 2, 2, 2), "b": plan("b", 6, 1)}
    cut = drive_within(plans, executor, Store(tmp_path / "s"), runs(10))
    assert sum(name == "b" for name, _ in executor.ran) == 5, "what is left goes to the next in turn"
    assert len(cut["b"].made) == 5 and set(cut) == {"a", "b"}


def test_the_first_waves_can_be_had_alone(tmp_path: Path) -> None:
    store, meter, into = Store(tmp_path / "s"), runs(100), []
    cut = drive_within({"a": plan("a", 3, 4, into=into)}, Executor(), store, meter, waves=1)
    assert into == [0, 1, 2] and meter.spent() == 3
    assert drive_within({"a": cut["a"].resumed()}, Executor(), store, meter) == {}
    assert len(into) == 7


def test_a_budget_that_suffices_cuts_nothing(tmp_path: Path) -> None:
    into: list[int] = []
    assert drive_within({"a": plan("a", 2, 2, into=into)}, Executor(), Store(tmp_path / "s"), runs(4)) == {}
    assert into == [0, 1, 2, 3]


def test_what_the_store_holds_is_free_so_that_the_same_budget_goes_on(tmp_path: Path) -> None:
    store, into = Store(tmp_path / "s"), []
    assert drive_within({"a": plan("a", 3, 3)}, Executor(), store, runs(3))
    again = Executor()
    assert drive_within({"a": plan("a", 3, 3, into=into)}, again, store, runs(3)) == {}
    assert again.ran == [("a", 3), ("a", 4), ("a", 5)]
    assert into == [0, 1, 2, 3, 4, 5]


def test_a_plan_that_was_cut_goes_on_from_there(tmp_path: Path) -> None:
    store, meter, into = Store(tmp_path / "s"), runs(8), []
    cut = drive_within({"a": plan("a", 2, 4, 2, into=into)}, Executor(), store, meter, share=0.5)
    assert into == [0, 1] and not meter.over()
    assert drive_within({"a": cut["a"].resumed()}, Executor(), store, meter) == {}
    assert into == list(range(8))


def test_time_ends_a_round_in_the_middle_and_keeps_what_was_made(tmp_path: Path) -> None:
    now = iter(range(1000))
    meter = Meter(Budget(Unit.SECONDS, 10), workers=1, clock=lambda: next(now))
    executor = Executor()
    store = Store(tmp_path / "s")
    cut = drive_within({"a": plan("a", 50), "b": plan("b", 50)}, executor, store, meter)
    assert 0 < len(executor.ran) < 50
    assert executor.outstanding == 0, "what was begun is made to its end"
    made = [episode.spec for episode in (*cut["a"].made, *cut["b"].made)]
    assert sorted((spec.candidate, spec.seed) for spec in made) == sorted(executor.ran)
    assert all(store.episode(spec) for spec in made)


def test_tokens_are_counted(tmp_path: Path) -> None:
    meter = Meter(Budget(Unit.TOKENS, 1000), workers=1)
    executor = Executor(tokens=300)
    assert drive_within({"a": plan("a", *[1] * 20)}, executor, Store(tmp_path / "s"), meter)
    assert len(executor.ran) == 4


@settings(max_examples=40, deadline=None)
@given(
    waves=st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=5),
    budget=st.integers(1, 60),
    order=st.integers(0, 7),
)
def test_which_runs_a_budget_buys_does_not_depend_on_which_ends_first(
    waves: list[list[int]], budget: int, order: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    made = []
    for executor in (Executor(0), Executor(order)):
        plans = {f"s{n}": plan(f"s{n}", *sizes) for n, sizes in enumerate(waves)}
        store = Store(tmp_path_factory.mktemp("rounds") / "s")
        cut = drive_within(plans, executor, store, runs(budget))
        store.close()
        assert len(executor.ran) <= budget
        assert bool(cut) == (len(executor.ran) < sum(map(sum, waves)))
        assert not cut or len(executor.ran) == budget
        made.append(sorted(executor.ran))
    assert made[0] == made[1]


def test_an_episode_of_another_plan_is_run_once(tmp_path: Path) -> None:
    executor, one, other = Executor(), [], []
    plans = {"a": plan("a", 3, into=one), "b": plan("a", 2, into=other)}
    assert drive_within(plans, executor, Store(tmp_path / "s"), runs(3)) == {}
    assert (one, other) == ([0, 1, 2], [0, 1])


@pytest.mark.parametrize(
    ("text", "unit", "amount", "words"),
    [
        ("500", Unit.RUNS, 500, "500 runs"),
        ("90s", Unit.SECONDS, 90, "90 seconds"),
        ("20m", Unit.SECONDS, 1200, "20 minutes"),
        ("2H", Unit.SECONDS, 7200, "2 hours"),
        ("1.5h", Unit.SECONDS, 5400, "90 minutes"),
        ("200kt", Unit.TOKENS, 200_000, "200,000 tokens"),
        ("1.5mt", Unit.TOKENS, 1_500_000, "1,500,000 tokens"),
        ("5000t", Unit.TOKENS, 5000, "5,000 tokens"),
    ],
)
def test_budgets_read_as_people_write_them(text: str, unit: Unit, amount: float, words: str) -> None:
    assert parse_budget(text) == Budget(unit, amount)
    assert parse_budget(text).words() == words


@pytest.mark.parametrize("text", ["", "0", "-5", "many", "2k", "1.5", "20 days", "0m", "5ks", "1e9"])
def test_anything_else_is_refused_with_how_to_write_it(text: str) -> None:
    with pytest.raises(UsageError, match="write a number of runs"):
        parse_budget(text)


def test_an_undetermined_run_that_was_stored_is_made_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    spec = EpisodeSpec("use", "a", Context(), seed=0)
    store.record([Episode(spec, replace(Trace(), undetermined=("x",)))])
    executor = Executor()
    assert drive_within({"a": plan("a", 1)}, executor, store, runs(5)) == {}
    assert executor.ran == [("a", 0)]
