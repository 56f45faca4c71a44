"""The command memo: reuse only what was verified, only where nothing touched differs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conjunct.model import Action, ActionKind, CommandRecord, ResourceClass, TouchMode
from conjunct.run.memo import RUNS_WITH_CHANCE, Memo
from conjunct.run.store import Store
from conjunct.world.spec import DRAWS, Command, CommandResult, EffectKind, FileEffect, Observation, WorldSpec

COMMAND = Command(
    ("python3", "x.py"), "/home/sam/project", turn=1, step=0, skill="one", file="SKILL.md", line=3
)
INPUT, OUTPUT = "/home/sam/in.csv", "/home/sam/out.csv"


class Files:
    """A world that is a dictionary of file states."""

    def __init__(self, **states: str) -> None:
        self.states = {INPUT: "one", OUTPUT: "absent"} | states
        self.applied: list[FileEffect] = []

    def fingerprint(self, observed: tuple[Observation, ...]) -> tuple[str, ...]:
        return tuple(self.states[path] for path, _ in observed)

    def apply(self, effects: tuple[FileEffect, ...], actions: tuple[Action, ...]) -> None:
        self.applied += effects


def result(
    stdout: bytes = b"done", *, content: bytes = b"1", uncut: tuple[str, ...] = (), state: str = "one"
) -> CommandResult:
    record = CommandRecord(0, 1, COMMAND.argv, COMMAND.cwd, "one", "SKILL.md", 3, "exit", 0)
    return CommandResult(
        record=record,
        stdout=stdout,
        stderr=b"",
        actions=(),
        touches=(),
        effects=(FileEffect(OUTPUT, EffectKind.WRITTEN, content),),
        uncut=uncut,
        before=((INPUT, TouchMode.READ, state), (OUTPUT, TouchMode.READ, "absent")),
    )


@pytest.fixture
def memo(tmp_path: Path) -> Memo:
    return Memo(Store(tmp_path / "s"), WorldSpec(), ("digest",), "fingerprint")


def run(memo: Memo, world: Files, outcome: CommandResult) -> bool:
    """One use as the tools make it; whether the result came from the memo."""
    answer = memo.ask(COMMAND, world)
    if answer.result is not None:
        return True
    memo.learn(COMMAND, outcome, answer)
    return False


def test_the_first_two_runs_are_real_and_the_third_is_not(memo: Memo) -> None:
    assert [run(memo, Files(), result()) for _ in range(3)] == [False, False, True]
    assert (memo.hits, memo.misses) == (1, 2)


def test_a_touched_object_that_differs_is_a_miss(memo: Memo) -> None:
    for _ in range(2):
        run(memo, Files(), result())
    assert not run(memo, Files(**{INPUT: "another"}), result(state="another"))


def test_a_command_verified_once_is_trusted_in_the_next_state(memo: Memo) -> None:
    for _ in range(2):
        run(memo, Files(), result())
    other = Files(**{INPUT: "another"})
    assert not run(memo, other, result(state="another"))
    assert run(memo, other, result(state="another"))


def test_a_command_that_gives_something_else_each_time_is_never_reused(memo: Memo) -> None:
    outcomes = [run(memo, Files(), result(content=word)) for word in (b"abc", b"xyz", b"qrs", b"tuv")]
    assert outcomes == [False] * 4


def test_clock_times_and_hash_order_are_no_difference(memo: Memo) -> None:
    outputs = (b"{'a', 'b'} took 0.12 s", b"{'b', 'a'} took 1.7 s")
    for output in outputs:
        run(memo, Files(), result(output))
    assert run(memo, Files(), result())


def logged(path: str, host: str) -> CommandResult:
    """A run that wrote one file and sent to one host."""
    actions = (
        Action(ActionKind.WRITE, path, ResourceClass.OWN_STATE, (), turn=1, step=0),
        Action(ActionKind.SEND, host, ResourceClass.NETWORK, (), turn=1, step=0),
    )
    return replace(result(), effects=(FileEffect(path, EffectKind.WRITTEN, b"1"),), actions=actions)


def test_a_log_file_named_after_the_time_is_no_difference(memo: Memo) -> None:
    for moment in ("09_00_02", "09_00_05"):
        run(memo, Files(), logged(f"/home/sam/.npm/_logs/{moment}.log", "one.example.com:443"))
    assert run(memo, Files(), result())


def test_another_host_is_a_difference_even_in_its_digits(memo: Memo) -> None:
    for host in ("s1.example.com:443", "s2.example.com:443", "s3.example.com:443"):
        assert not run(memo, Files(), logged("/home/sam/log", host))


def test_identifiers_drawn_at_random_are_no_difference(memo: Memo) -> None:
    for drawn in (b"3f2b9a10-77aa-4c1e", b"e01c55d2-0b1f-49aa"):
        run(memo, Files(), result(content=b'<div id="' + drawn + b'">'))
    assert run(memo, Files(), result())


@pytest.mark.parametrize("reason", ["a process outlived it", "a socket stayed"])
def test_what_stays_behind_is_never_reused(memo: Memo, reason: str) -> None:
    assert not any(run(memo, Files(), result(uncut=(reason,))) for _ in range(4))


def test_another_package_clock_network_or_variable_is_another_command(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    worlds = (
        WorldSpec(),
        WorldSpec(clock="2027-01-01T00:00:00+00:00"),
        WorldSpec(network="error"),
        WorldSpec(environment=(("CI", "1"),)),
    )
    keys = {Memo(store, world, ("digest",), "f").key(COMMAND) for world in worlds}
    keys |= {
        Memo(store, WorldSpec(), ("other",), "f").key(COMMAND),
        Memo(store, WorldSpec(), ("digest",), "g").key(COMMAND),
    }
    assert len(keys) == 6


def test_what_the_agent_does_of_its_own_accord_is_shared_by_all_packages(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    one, other = (Memo(store, WorldSpec(), (digest,), "fingerprint") for digest in ("one", "other"))
    own = replace(COMMAND, skill="", file="", line=0)
    assert one.key(own) == other.key(own)
    assert one.key(COMMAND) != other.key(COMMAND)


def test_a_module_stood_in_for_a_partner_makes_it_another_command(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    alone, beside = (
        Memo(store, WorldSpec(stand_in_modules=modules), ("one",), "fingerprint")
        for modules in ((), ("torch",))
    )
    assert alone.key(COMMAND) != beside.key(COMMAND)


def test_a_command_verified_without_following_lines_is_trusted_with_it(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    plain, followed = (
        Memo(store, WorldSpec(coverage=coverage), ("one",), "fingerprint") for coverage in (False, True)
    )
    assert [run(plain, Files(), result()) for _ in range(2)] == [False, False]
    assert [run(followed, Files(), result()) for _ in range(2)] == [False, True]


def test_two_runs_that_differed_are_never_used_however_often_later_ones_agree(memo: Memo) -> None:
    contents = (b"abc", b"xyz", b"xyz", b"xyz", b"xyz")
    assert [run(memo, Files(), result(content=word)) for word in contents] == [False] * 5


def test_a_line_that_once_differed_is_verified_anew_in_every_state(memo: Memo) -> None:
    for word in (b"abc", b"xyz"):
        run(memo, Files(), result(content=word))
    other = Files(**{INPUT: "another"})
    assert [run(memo, other, result(state="another")) for _ in range(3)] == [False, False, True]
    third = Files(**{INPUT: "third"})
    assert [run(memo, third, result(state="third")) for _ in range(3)] == [False, False, True]


def test_what_drew_random_numbers_is_run_more_often_before_its_record_is_used(memo: Memo) -> None:
    drawn = replace(result(), draws=True)
    assert [run(memo, Files(), drawn) for _ in range(RUNS_WITH_CHANCE + 1)].index(True) == RUNS_WITH_CHANCE


def script(line: int) -> Command:
    path = f"{WorldSpec().layout.skills}/clean/run.py"
    return replace(COMMAND, argv=("python3", path, str(line)), line=line)


def hits(memo: Memo, command: Command, outcome: CommandResult, uses: int) -> list[bool]:
    """Whether each of so many uses got its result from the memo."""
    made = []
    for _ in range(uses):
        answer = memo.ask(command, Files())
        made.append(answer.result is not None)
        if answer.result is None:
            memo.learn(command, outcome, answer)
    return made


def test_repeats_of_a_script_that_draws_count_for_all_its_lines(memo: Memo) -> None:
    drawn = replace(result(), draws=True)
    for line in range(RUNS_WITH_CHANCE - 1):
        assert hits(memo, script(line), drawn, 2) == [False, False]
    assert hits(memo, script(99), drawn, 3) == [False, False, True]
    assert hits(memo, script(0), drawn, 1) == [True], "its two runs are enough by now"


def test_a_script_that_draws_and_once_differed_gets_all_runs_for_each_line(memo: Memo) -> None:
    drawn = replace(result(), draws=True)
    for line in range(RUNS_WITH_CHANCE):
        hits(memo, script(line), drawn, 2)
    for word in (b"abc", b"xyz"):
        hits(memo, script(50), replace(result(content=word), draws=True), 1)
    assert hits(memo, script(60), drawn, RUNS_WITH_CHANCE + 1).index(True) == RUNS_WITH_CHANCE


@pytest.mark.parametrize(("reason", "kept"), [(DRAWS, True), ("the clock does not reach it", False)])
def test_what_is_not_known_to_see_the_same_is_no_record(memo: Memo, reason: str, kept: bool) -> None:
    one = result()
    one = replace(one, record=replace(one.record, assumed=(reason,)))
    assert any(run(memo, Files(), one) for _ in range(4)) is kept
