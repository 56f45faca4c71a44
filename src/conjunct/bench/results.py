"""Recorded measurements: small JSON files with seeds, versions and machine, from which the report is made."""

from __future__ import annotations

import json
import os
import platform
import resource
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from conjunct.delta.evidence import wilson_interval
from conjunct.delta.intervals import exact_interval
from conjunct.errors import UsageError

FOLDER = Path("benchmarks") / "results"
"""Where results are kept, relative to a checkout."""
FORMAT = "conjunct bench results 1"
_PACKAGES = ("conjunct", "numpy", "covertable", "matplotlib")

Part = Mapping[str, Any]


def surroundings() -> dict[str, Any]:
    """Versions and machine, as every part records them."""
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "versions": versions,
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}",
    }


def processor_seconds() -> float:
    """Processor time of this process and of its children that ended."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def rate(hits: int, runs: int) -> dict[str, Any]:
    """A rate with its Wilson and its exact (Clopper-Pearson) 95 % interval, as recorded."""
    return {
        "hits": hits,
        "of": runs,
        "rate": round(hits / runs, 5) if runs else None,
        "wilson": [round(end, 4) for end in wilson_interval(hits, runs)],
        "exact": [round(end, 4) for end in exact_interval(hits, runs)],
    }


def read_results(path: Path) -> dict[str, Part]:
    """The recorded parts of one file by name; none where the file does not exist.

    Raises `UsageError` where it is no results file.
    """
    if not path.exists():
        return {}
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read as results: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT or not isinstance(data.get("parts"), dict):
        raise UsageError(f"{path}: is no results file ({FORMAT!r}); name another file with --results")
    parts: dict[str, Part] = data["parts"]
    return parts


def record_part(path: Path, name: str, part: Part) -> None:
    """Add or replace one part; the others stay, in alphabetical order, one line each where it is short."""
    parts = {**read_results(path), name: {**part, **surroundings()}}
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(
        f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        for key, value in sorted(parts.items())
    )
    path.write_text(
        f'{{\n "format": {json.dumps(FORMAT)},\n "parts": {{\n{lines}\n }}\n}}\n', encoding="utf-8"
    )
