"""What an episode costs beside its commands, and how many end in a second."""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from pathlib import Path

from conjunct.model import Context, EpisodeSpec
from conjunct.run import LocalExecutor
from conjunct.run.episode import EpisodeRunner
from conjunct.vet import VetOptions, prepare, read_candidates

SKILL = "csv-summary"


def episode_costs(examples: Path, folder: Path, *, rounds: int) -> dict[str, float | str]:
    """Seconds of an episode of known commands, of one with a fresh sandbox, and episodes a second."""
    options = VetOptions(path=examples)
    registry, _ = read_candidates(options)
    setting = prepare(registry, options, folder / "episodes.sqlite")
    runner = EpisodeRunner(setting)
    known = EpisodeSpec("use.every-turn", SKILL, Context())
    for _ in range(3):
        runner(known)
    remembered, fresh = [], []
    for number in range(rounds):
        started = time.perf_counter()
        runner(known)
        remembered.append(time.perf_counter() - started)
        bare = replace(known, variant=f"randomness:{number}")
        started = time.perf_counter()
        episode = runner(bare)
        inside = sum(command.seconds for command in episode.trace.commands)
        fresh.append(time.perf_counter() - started - inside)
    specs = [replace(known, seed=number, variant="randomness:0") for number in range(4 * rounds)]
    with LocalExecutor(EpisodeRunner(setting), workers=2) as executor:
        started = time.perf_counter()
        for spec in specs:
            executor.submit(spec)
        done = 0
        while done < len(specs):
            done += len(list(executor.finished()))
        rate = len(specs) / (time.perf_counter() - started)
    return {
        "episode of known commands, seconds": statistics.median(remembered),
        "episode beside its commands, seconds": statistics.median(fresh),
        "episodes of 7 commands a second, 2 workers": rate,
    }
