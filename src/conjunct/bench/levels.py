"""Which level of the battery a guard would meet: the word it looks for, the date it waits for.

The words are the benchmark's own (`data/topics.yaml`). A word that exactly one family of histories holds in
the file that the guard reads is labelled with that family; one that none holds is a blind spot, and labelled
as one.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

from conjunct.battery import fixtures
from conjunct.model import NEUTRAL, Battery

CLOCKS: Mapping[str, Callable[[datetime.datetime], bool]] = {
    "weekend": lambda now: now.weekday() >= 5,
    "after new year": lambda now: now.year >= 2027,
    "end of month": lambda now: (now + datetime.timedelta(days=1)).day == 1,
    "small hours": lambda now: now.hour < 6,
}
_TEXTS = ("csv", "tsv", "json", "jsonl", "xml", "md", "txt", "html", "yaml", "toml", "log")


@dataclass(frozen=True, slots=True)
class HistoryWord:
    """A word that a guard may look for in a file, and the family under which it is there."""

    word: str
    file: str
    """Relative to home."""
    family: str
    """Empty where no family holds the word."""


@dataclass(frozen=True, slots=True)
class Levels:
    """Everything that a guard may ask for, with the battery's levels that answer it."""

    histories: tuple[HistoryWord, ...]
    unmet: tuple[HistoryWord, ...]
    """Words that no family holds in any file."""
    inputs: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]]
    """For each suffix: (word, argument sets whose input of that type holds it)."""
    clocks: Mapping[str, tuple[str, ...]]
    """For each condition: the clock levels that meet it."""


@cache
def _data(name: str) -> Mapping[str, Any]:
    text = resources.files("conjunct.bench").joinpath("data", name).read_text(encoding="utf-8")
    loaded: Mapping[str, Any] = yaml.safe_load(text)
    return loaded


def topics() -> Mapping[str, Any]:
    """The benchmark's own words."""
    return _data("topics.yaml")


def levels_of(battery: Battery, *, spoken: str) -> Levels:
    """Find the levels. `spoken` is all text of the packages to build: no guard looks for a word in it."""
    everywhere = spoken.lower() + _requests(battery)
    words = [word for group in topics()["histories"].values() for word in group if word not in everywhere]
    texts = _history_texts(battery)
    met, unmet = [], []
    for word in words:
        found = list(_met(word, texts))
        met += [one for one in found if one.family]
        if found and not any(one.family for one in found):
            unmet += found
    return Levels(tuple(met), tuple(unmet), _inputs(battery, everywhere), _clocks(battery))


def _met(word: str, texts: Mapping[str, Mapping[str, str]]) -> Iterator[HistoryWord]:
    """The word with each file in which one family, or none, holds it."""
    held_anywhere = any(word in text for families in texts.values() for text in families.values())
    for file, families in texts.items():
        holding = [family for family, text in families.items() if word in text]
        whole = len(holding) == 1 and word in re.findall("[a-z]+", families[holding[0]])
        if whole and holding != [NEUTRAL]:
            yield HistoryWord(word, file, holding[0])
        elif not held_anywhere:
            yield HistoryWord(word, file, "")


def _history_texts(battery: Battery) -> dict[str, dict[str, str]]:
    """File to family to everything that any phrasing writes there."""
    found: dict[str, dict[str, str]] = {file: {} for file in topics()["history_files"]}
    for history in battery.histories:
        for phrasing in history.phrasings:
            for path, content in phrasing.files:
                if path in found:
                    found[path][history.id] = found[path].get(history.id, "") + content.lower() + "\n"
    return {file: families for file, families in found.items() if families}


def _requests(battery: Battery) -> str:
    """What users say in probes: it ends up in the files that agents keep."""
    parts = [turn.text for probe in battery.probes for turn in probe.turns]
    parts += [filler for probe in battery.probes for filler in probe.fillers]
    parts += [path for level in battery.arguments for path, _ in fixtures(level)]
    return "\n".join(parts).lower()


def _inputs(battery: Battery, everywhere: str) -> dict[str, tuple[tuple[str, tuple[str, ...]], ...]]:
    words = {word for group in topics()["inputs"].values() for word in group}
    texts = {
        level: {
            suffix: "\n".join(
                content.decode("utf-8", "replace")
                for path, content in fixtures(level)
                if path.endswith(f".{suffix}")
            ).lower()
            for suffix in _TEXTS
        }
        for level in battery.arguments
    }
    found: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {}
    for suffix in _TEXTS:
        usable = []
        for word in sorted(words):
            holding = {level for level, types in texts.items() if word in types[suffix]}
            anywhere = {level for level, types in texts.items() if word in "\n".join(types.values())}
            whole = all(word in re.findall("[a-z_]+", texts[level][suffix]) for level in holding)
            if holding and holding == anywhere and whole and NEUTRAL not in holding:
                usable.append((word, tuple(sorted(holding))))
        found[suffix] = tuple(usable)
    return found


def _clocks(battery: Battery) -> dict[str, tuple[str, ...]]:
    dates = {level: datetime.datetime.fromisoformat(start) for level, start in battery.clocks}
    met = {name: tuple(level for level, now in dates.items() if holds(now)) for name, holds in CLOCKS.items()}
    return {name: levels for name, levels in met.items() if levels and NEUTRAL not in levels}
