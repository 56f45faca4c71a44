"""The ledger of writers: nobody is shaken off, nothing grows without bound."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.model import ActorLink
from conjunct.world.actors import ActorLedger, extend

A = (ActorLink("skill", "a"),)
B = (ActorLink("skill", "b"),)
paths = st.sampled_from(["/t", "/t/x", "/t/x/y", "/u", "/u/x", "/u/x/y", "/t/z"])
steps = st.one_of(
    st.tuples(st.just("write"), paths, paths),
    st.tuples(st.just("anew"), paths, paths),
    st.tuples(st.just("move"), paths, paths),
    st.tuples(st.just("link"), paths, paths),
    st.tuples(st.just("symlink"), paths, paths),
    st.tuples(st.just("delete"), paths, paths),
)


@settings(max_examples=200)
@given(st.lists(steps, max_size=12), paths)
def test_any_order_of_changes_ends_and_a_write_is_found(
    changes: list[tuple[str, str, str]], last: str
) -> None:
    ledger = ActorLedger()
    for what, one, other in changes:
        if what == "write":
            ledger.update(one, A)
        elif what == "anew":
            ledger.replace(one, A)
        elif what == "move":
            ledger.rename(one, other, A)
        elif what == "delete":
            ledger.forget(one)
        else:
            ledger.link(one, other, A, symbolic=what == "symlink")
    ledger.update(last, B)
    assert B[0] in ledger.lookup(last)
    ledger.resolve(last)
    ledger.origin(last)
    ledger.fetched(last)


def test_a_file_in_a_moved_folder_keeps_its_writer_and_names_the_mover() -> None:
    ledger = ActorLedger()
    ledger.update("/t/deep/x", A)
    ledger.rename("/t", "/u", B)
    assert set(ledger.lookup("/u/deep/x")) == {A[0], B[0]}
    assert ledger.origin("/u/deep/x") == "/t/deep/x"
    assert ledger.lookup("/u-other/deep/x") == ()


def test_appending_keeps_the_former_writer_and_deleting_ends_it() -> None:
    ledger = ActorLedger()
    ledger.update("/t/x", A)
    ledger.update("/t/x", B)
    assert ledger.lookup("/t/x") == A + B
    ledger.forget("/t/x")
    assert ledger.lookup("/t/x") == ()


def test_a_file_moved_twice_remembers_its_first_place() -> None:
    ledger = ActorLedger()
    ledger.rename("/home/sam/.netrc", "/tmp/a", A)
    ledger.rename("/tmp/a", "/tmp/b", A)
    assert ledger.origin("/tmp/b") == "/home/sam/.netrc"


def test_many_moves_and_deep_paths_stay_fast() -> None:
    ledger = ActorLedger()
    start = time.process_time()
    for number in range(20_000):
        ledger.update(f"/t/{number}", A)
        ledger.rename(f"/t/{number}", f"/u/{number}", B)
    deep = "/u" + "/d" * 2000
    for _ in range(50):
        ledger.lookup(deep)
    assert time.process_time() - start < 25


def test_a_chain_does_not_repeat_itself() -> None:
    assert extend(A, (*A, *B, *B)) == A + B
