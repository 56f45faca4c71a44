"""Plans are driven through store and workers: nothing runs twice, nothing is lost."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from conjunct.errors import StoreError, WorldError
from conjunct.model import Context, Episode, EpisodeSpec, Touch, TouchMode, Trace
from conjunct.run import LocalExecutor, Store, drive
from conjunct.run.codec import decode, encode
from conjunct.run.drive import Progress


def spec(number: int) -> EpisodeSpec:
    return EpisodeSpec("use", "skill", Context(), seed=number)


def plan(
    numbers: list[int], into: list[int]
) -> Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], None]:
    episodes = yield tuple(spec(number) for number in numbers)
    into += [episode.spec.seed for episode in episodes]


class Counting:
    """An executor that runs in this process and counts."""

    def __init__(self) -> None:
        self.waiting: list[EpisodeSpec] = []
        self.ran: list[int] = []

    @property
    def outstanding(self) -> int:
        return len(self.waiting)

    def submit(self, wanted: EpisodeSpec) -> None:
        self.waiting.append(wanted)

    def finished(self, timeout: float | None = None) -> Iterator[Episode]:
        wanted = self.waiting.pop()
        self.ran.append(wanted.seed)
        yield Episode(wanted, Trace())


def test_episodes_come_back_in_the_order_asked_and_shared_ones_run_once(tmp_path: Path) -> None:
    executor, first, second = Counting(), [], []
    drive({"a": plan([1, 2, 3], first), "b": plan([3, 2], second)}, executor, Store(tmp_path / "s"))
    assert (first, second) == ([1, 2, 3], [3, 2])
    assert sorted(executor.ran) == [1, 2, 3]


def test_the_estimate_counts_what_plans_under_way_have_done_already() -> None:
    progress = Progress(plans=4, ran=30, started=time.monotonic() - 60)
    assert progress.seconds_left() is None, "nothing to judge by before a plan has ended"
    for name, episodes in (("a", 20), ("b", 10)):
        progress.asks(name, episodes)
    progress.ends("a")
    # Two seconds each; ten more for b, twenty for each of the two that wait.
    assert progress.seconds_left() == pytest.approx(2 * (10 + 2 * 20), rel=0.01)


def test_a_second_run_takes_everything_from_the_store(tmp_path: Path) -> None:
    drive({"a": plan([1, 2], [])}, Counting(), Store(tmp_path / "s"))
    again = Counting()
    progress = drive({"a": plan([1, 2], [])}, again, Store(tmp_path / "s"))
    assert again.ran == [] and progress.reused == 2


def test_an_interrupted_run_continues_where_it_was(tmp_path: Path) -> None:
    class Interrupted(Counting):
        def finished(self, timeout: float | None = None) -> Iterator[Episode]:
            if len(self.ran) == 2:
                raise KeyboardInterrupt
            yield from super().finished(timeout)

    with pytest.raises(KeyboardInterrupt):
        drive({"a": plan([1, 2, 3, 4], [])}, Interrupted(), Store(tmp_path / "s"))
    rest = Counting()
    drive({"a": plan([1, 2, 3, 4], [])}, rest, Store(tmp_path / "s"))
    assert len(rest.ran) == 2


def test_an_undetermined_episode_is_tried_again_next_time(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    store.record([Episode(spec(1), Trace(undetermined=("the tracer died",)))])
    again = Counting()
    drive({"a": plan([1], [])}, again, store)
    assert again.ran == [1]


def _work(wanted: EpisodeSpec) -> Episode:
    if wanted.seed == 13:
        os._exit(9)
    if wanted.seed == 14:
        raise WorldError("no user namespaces here")
    if wanted.seed == 15:
        raise KeyError("a fault of ours")
    return Episode(wanted, Trace())


def test_a_worker_that_dies_costs_only_its_own_episode(tmp_path: Path) -> None:
    got: list[Episode] = []

    def collecting() -> Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], None]:
        episodes = yield tuple(spec(number) for number in (1, 13, 2, 14, 15, 3))
        got.extend(episodes)

    with LocalExecutor(_work, workers=2) as executor:
        drive({"a": collecting()}, executor, Store(tmp_path / "s"))
    reasons = {episode.spec.seed: episode.trace.undetermined for episode in got}
    assert [reasons[number] for number in (1, 2, 3)] == [(), (), ()]
    assert "ended with status 9 twice" in reasons[13][0]
    assert reasons[14] == ("no user namespaces here",)
    assert "KeyError" in reasons[15][0]


def test_a_worker_killed_while_idle_is_replaced(tmp_path: Path) -> None:
    def two_rounds() -> Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], None]:
        first = yield (spec(1),)
        for worker in multiprocessing.active_children():
            worker.kill()
            worker.join()
        second = yield (spec(2), spec(3), spec(4))
        got.extend((*first, *second))

    got: list[Episode] = []
    with LocalExecutor(_work, workers=2) as executor:
        drive({"a": two_rounds()}, executor, Store(tmp_path / "s"))
    assert [(episode.spec.seed, episode.trace.undetermined) for episode in got] == [
        (number, ()) for number in (1, 2, 3, 4)
    ]


def test_a_worker_whose_vetting_was_killed_ends_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    executor = LocalExecutor(_work, workers=1)
    with executor:
        (worker,) = multiprocessing.active_children()
        ((connection, _),) = executor._workers.items()
        os.kill(worker.pid or 0, signal.SIGSTOP)
        executor.submit(spec(1))
        connection.close()
        executor._workers.clear()
        os.kill(worker.pid or 0, signal.SIGCONT)
        worker.join(10)
    assert worker.exitcode == 0
    assert capfd.readouterr().err == ""


def test_two_processes_may_write_to_one_store(tmp_path: Path) -> None:
    first, second = Store(tmp_path / "s"), Store(tmp_path / "s")
    first.record([Episode(spec(1), Trace())])
    second.record([Episode(spec(2), Trace())])
    assert first.episode(spec(2)) is not None and second.episode(spec(1)) is not None


def test_a_file_that_is_no_store_is_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(b"not a database at all, but long enough to look like one" * 40)
    with pytest.raises(StoreError, match="pass another file with --store"):
        Store(tmp_path / "s")


def test_names_that_are_not_unicode_survive_as_escapes() -> None:
    hostile = Touch("/home/sam/\udcff", TouchMode.READ, True, 1, 0)
    kept = decode(encode(Episode(spec(1), Trace(touches=(hostile,)))), Episode)
    assert kept.trace.touches[0].path == "/home/sam/\\udcff"


def test_plans_beyond_the_active_ones_start_as_others_end(tmp_path: Path) -> None:
    results: dict[str, list[int]] = {f"plan-{number}": [] for number in range(9)}
    plans = {name: plan([number], results[name]) for number, name in enumerate(results)}
    progress = drive(plans, Counting(), Store(tmp_path / "s"), active=2)
    assert progress.ended == 9
    assert all(results[f"plan-{number}"] == [number] for number in range(9))


def test_the_same_spec_with_other_packages_is_another_episode(tmp_path: Path) -> None:
    first = Store(tmp_path / "s", packages=lambda _: "one digest")
    drive({"a": plan([1], [])}, Counting(), first)
    again = Counting()
    drive({"a": plan([1], [])}, again, Store(tmp_path / "s", packages=lambda _: "another digest"))
    assert again.ran == [1]


def _hang(wanted: EpisodeSpec) -> Episode:
    if wanted.seed == 7:
        time.sleep(600)
    return Episode(wanted, Trace())


def test_a_worker_that_hangs_is_ended_and_the_others_go_on(tmp_path: Path) -> None:
    got: list[Episode] = []

    def collecting() -> Generator[tuple[EpisodeSpec, ...], tuple[Episode, ...], None]:
        got.extend((yield tuple(spec(number) for number in (1, 7, 2))))

    with LocalExecutor(_hang, workers=2, overdue=0.5) as executor:
        drive({"a": collecting()}, executor, Store(tmp_path / "s"))
    assert [bool(episode.trace.undetermined) for episode in got] == [False, True, False]
