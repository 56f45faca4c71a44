"""The run store: several processes may open one file at the same moment."""

from __future__ import annotations

import multiprocessing
from multiprocessing.synchronize import Barrier
from pathlib import Path

from conjunct.run.store import Store


def _open(path: Path, ready: Barrier) -> None:
    ready.wait(30)
    store = Store(path)
    store.remember("agent", "literal")
    store.close()


def test_processes_that_make_a_store_at_once_wait_for_each_other(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    for number in range(25):
        path, ready = tmp_path / f"{number}.sqlite", context.Barrier(3)
        openers = [context.Process(target=_open, args=(path, ready)) for _ in range(3)]
        for one in openers:
            one.start()
        for one in openers:
            one.join(90)
        assert [one.exitcode for one in openers] == [0, 0, 0]
        store = Store(path)
        assert store.remembered("agent") == "literal"
        store.close()
