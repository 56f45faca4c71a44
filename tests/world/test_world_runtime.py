"""The runtime: whole or absent, whoever builds it and whatever is not to be had; what it gives to a world."""

from __future__ import annotations

import json
import stat
import threading
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from conjunct.errors import WorldError
from conjunct.world import runtime_build
from conjunct.world.runtime import Runtime, ensure_runtime
from conjunct.world.spec import Command, WorldSpec
from conjunct.world.world import open_world


@pytest.fixture
def no_packages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Builds without downloads; gives the steps that were made."""
    steps: list[str] = []

    def python(place: Path, progress: object) -> list[str]:
        steps.append("python")
        (place / "python" / "module.py").write_text("x = 1\n")
        return ["absent==1.0: not to be had"]

    monkeypatch.setattr(runtime_build, "_python_packages", python)
    monkeypatch.setattr(runtime_build, "_node_packages", lambda place, progress: [])
    return steps


def test_it_is_built_once_and_tells_what_is_missing(no_packages: list[str], tmp_path: Path) -> None:
    lines: list[str] = []
    first = ensure_runtime(lines.append, folder=tmp_path)
    second = ensure_runtime(lines.append, folder=tmp_path)
    assert first == second
    assert no_packages == ["python"]
    assert "absent==1.0: not to be had" in first.missing
    assert lines
    assert first.root.name == first.digest[:24]


def test_two_builds_at_once_make_one(no_packages: list[str], tmp_path: Path) -> None:
    found: list[Runtime] = []
    threads = [
        threading.Thread(target=lambda: found.append(ensure_runtime(folder=tmp_path))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert no_packages == ["python"]


def test_an_interrupted_build_leaves_nothing_that_looks_finished(
    no_packages: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(place: Path) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(runtime_build, "compile_library", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ensure_runtime(folder=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    (tmp_path / ".building-left-by-a-kill").mkdir()
    assert ensure_runtime(folder=tmp_path).python.is_dir()
    assert not (tmp_path / ".building-left-by-a-kill").exists()


def test_everything_is_readable_for_everyone_and_dated_alike(no_packages: list[str], tmp_path: Path) -> None:
    runtime = ensure_runtime(folder=tmp_path)
    times = set()
    for path in runtime.root.rglob("*"):
        facts = path.lstat()
        times.add(facts.st_mtime)
        if not stat.S_ISLNK(facts.st_mode):
            assert facts.st_mode & 0o444 == 0o444, path
            assert facts.st_mode & 0o022 == 0, path
    assert len(times) == 1


def test_its_certificates_hold_the_usual_authorities_and_the_worlds(
    no_packages: list[str], tmp_path: Path
) -> None:
    runtime = ensure_runtime(folder=tmp_path)
    assert runtime.authority().certificate in runtime.certificates()
    assert "ca.key" not in " ".join(source for source, _ in runtime.binds())
    assert not any("authority" in source for source, _ in runtime.binds())


def test_a_folder_that_cannot_be_written_is_an_error_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WorldError, match="file"):
        ensure_runtime(folder=tmp_path / "file")


def test_the_digest_follows_the_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    before = runtime_build.runtime_digest()
    read = runtime_build._data
    monkeypatch.setattr(runtime_build, "_data", lambda name: read(name) + " ")
    assert runtime_build.runtime_digest() != before


def test_the_locks_name_digests_and_no_addresses() -> None:
    python = runtime_build._data("runtime-python.lock")
    assert "://" not in python
    names = [line for line in python.splitlines() if "==" in line and not line.startswith("#")]
    assert len(names) > 50
    assert python.count("--hash=sha256:") >= len(names)
    node = json.loads(runtime_build._data("runtime-node.lock.json"))["package-lock.json"]["packages"]
    assert all("integrity" in entry for path, entry in node.items() if path)
    assert not any("resolved" in entry for entry in node.values())


# ---- in a world


def run(command: str, **facts: object) -> str:
    spec = replace(WorldSpec(salt="s", comparison="c"), **facts)  # type: ignore[arg-type]
    with open_world(spec, runtime=ensure_runtime()) as world:
        argv = ("bash", "-c", command)
        result = world.run(Command(argv=argv, cwd=spec.layout.workspace, turn=1, step=0))
        assert result.record.status == 0, result.stderr.decode()
        return result.stdout.decode()


@pytest.mark.world
@pytest.mark.slow
@pytest.mark.parametrize("clock", ["2024-02-29T23:59:00+00:00", "2031-07-01T12:00:00+00:00"])
def test_programs_of_every_kind_see_the_clock_of_the_level(clock: str) -> None:
    out = run(
        "date +%s; printf '%(%s)T\\n' -1; python3 -c 'import time; print(int(time.time()))';"
        "node -e 'console.log(Math.floor(Date.now()/1000))'; perl -e 'print time, qq(\\n)';"
        "touch made; stat -c %Y made;"
        "node -e 'console.log(Math.floor(require(`fs`).statSync(`made`).mtimeMs/1000))';"
        "python3 -c 'import os; print(int(os.stat(\"made\").st_mtime))'",
        clock=clock,
    )
    start = datetime.fromisoformat(clock).timestamp()
    seen = [int(line) for line in out.split()]
    assert len(seen) == 8
    assert all(start - 2 <= one < start + 60 for one in seen), (start, seen)


@pytest.mark.world
@pytest.mark.slow
def test_waiting_takes_as_long_as_ever_and_nothing_shows_in_the_environment() -> None:
    code = (
        "import threading, time; t = time.monotonic(); threading.Event().wait(0.2);"
        "c = threading.Condition(); c.acquire(); c.wait(0.2); print(round(time.monotonic() - t, 1))"
    )
    out = run(f"python3 -c '{code}'; timeout 0.3 sleep 5; echo $?; env", clock="2024-02-29T23:59:00+00:00")
    lines = out.splitlines()
    assert lines[:2] == ["0.4", "124"]
    assert not [line for line in lines if "clock" in line.lower() or "faketime" in line.lower()]


@pytest.mark.world
@pytest.mark.slow
def test_provided_packages_are_imported_and_installed_and_others_are_not() -> None:
    out = run(
        "python3 -c 'import pandas, requests, yaml, docx, openpyxl; print(pandas.__name__)';"
        "python -m pip install -q --target here requests && ls here | grep -x requests;"
        "pip install -q no-such-package-here 2>/dev/null || echo unknown;"
        "node -e 'console.log(require(\"lodash\").chunk([1, 2], 1).length)';"
        "curl -s https://example.com/a.json | head -c 1; python3 -c "
        "'import requests; print(requests.get(\"https://api.example.com/\").status_code)'"
    )
    assert out.split() == ["pandas", "requests", "unknown", "2", "{200"]
