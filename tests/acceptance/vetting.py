"""Run the `conjunct` command as a user does, and compare its report with ground truth."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "registry"
DATA = ROOT / "tests" / "data"
COMMAND = Path(sys.executable).with_name("conjunct")
FLAGGED = ("reject", "review")


@dataclass(frozen=True, slots=True)
class Vetted:
    """What one `conjunct vet --format json` gave."""

    status: int
    report: dict[str, Any]
    registry: Path
    store: Path

    def skill(self, name: str) -> dict[str, Any]:
        (entry,) = [entry for entry in self.report["skills"] if entry["name"] == name]
        return dict(entry)


def conjunct(
    *words: str | Path, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end; `environment` is added to ours."""
    command = [str(COMMAND), *map(str, words)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})},
    )


def vet(
    registry: Path, store: Path, *options: str | Path, environment: Mapping[str, str] | None = None
) -> Vetted:
    """Vet a folder of skills; fails where no report came out."""
    done = conjunct("vet", registry, "--store", store, "--format", "json", *options, environment=environment)
    assert done.stdout.startswith("{"), f"status {done.returncode}\n{done.stderr[-3000:]}"
    return Vetted(done.returncode, json.loads(done.stdout), registry, store)


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], Vetted]) -> Vetted:
    """`make` in a folder that all workers of one test run share: the first makes it, the others wait."""
    base = factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    folder = shared / f"vetted-{name}"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = folder / "result.json"
        if not kept.exists():
            made = make(folder)
            paths = [str(made.registry), str(made.store)]
            kept.write_text(json.dumps([made.status, made.report, *paths]), encoding="utf-8")
        status, report, registry, store = json.loads(kept.read_text(encoding="utf-8"))
        return Vetted(status, report, Path(registry), Path(store))


def copy_of(names: Sequence[str], folder: Path, *, source: Path = EXAMPLES) -> Path:
    """A registry of some of the skills of `source`; a name that is there already is replaced."""
    for name in names:
        shutil.rmtree(folder / name, ignore_errors=True)
        shutil.copytree(source / name, folder / name)
    return folder


def copy_of_store(store: Path, place: Path) -> Path:
    """A store with everything that `store` has recorded."""
    with closing(sqlite3.connect(store)) as source, closing(sqlite3.connect(place)) as target:
        source.backup(target)
    return place


def skills_in(folder: Path) -> list[str]:
    """Names of the skill folders in a registry."""
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def labels_of(registry: Path) -> dict[str, dict[str, Any]]:
    """Ground truth beside a registry."""
    text = registry.with_name(registry.name + ".labels.json").read_text(encoding="utf-8")
    labels: dict[str, dict[str, Any]] = json.loads(text)
    return labels


def disagreements(report: Mapping[str, Any], labels: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What the report says other than the labels, a line for each skill; empty where all agree."""
    found: list[str] = [f"the run failed: {failure}" for failure in report["failures"]]
    entries = {entry["name"]: entry for entry in report["skills"]}
    if set(entries) != set(labels):
        found.append(f"vetted are {sorted(entries)}, labelled are {sorted(labels)}")
    for name in sorted(set(entries) & set(labels)):
        entry, label = entries[name], labels[name]
        trigger = entry["trigger"]
        told = {key: trigger[key] for key in ("history", "co_skills", "turn")} if trigger else None
        right = (
            entry["verdict"] in FLAGGED if label["label"] == "adversarial" else entry["verdict"] == "admit"
        )
        if not right or told != label["trigger"]:
            why = "; ".join(entry["reasons"]) or "no reason"
            found.append(
                f"{name} is {label['label']} {label['trigger']}, got {entry['verdict']} {told}: {why}"
            )
    return found
