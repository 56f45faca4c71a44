"""Static scanners of others on the same packages: installed apart, run offline, put into the same tables.

A scanner reads hostile packages and is itself a program of others: it gets an empty home, an environment
without anything of the user's, a time limit, and never the labels.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conjunct.bench.blueprints import table
from conjunct.bench.corpus import Judged, Tool
from conjunct.bench.layouts import Labelled
from conjunct.bench.scoring import Told
from conjunct.errors import UsageError

SECONDS_PER_PACKAGE = 60
SECONDS_TO_INSTALL = 1800
_MOST_OUTPUT = 64 << 20


@dataclass(frozen=True, slots=True)
class Peer:
    """One scanner, and how it is run."""

    name: str
    requirement: str
    program: str
    arguments: tuple[str, ...]
    at_once: bool
    form: str


def known_peers() -> tuple[Peer, ...]:
    """The scanners of `data/peers.yaml`."""
    return tuple(
        Peer(name, **{**entry, "arguments": tuple(entry["arguments"])})
        for name, entry in table("peers").items()
    )


def peers_named(names: Sequence[str]) -> tuple[Peer, ...]:
    """These scanners, or all where none is named. Raises `UsageError` for an unknown name."""
    known = {peer.name: peer for peer in known_peers()}
    for name in names:
        if name not in known:
            raise UsageError(f"unknown scanner {name!r}; known: {', '.join(known)}")
    return tuple(known[name] for name in names) or tuple(known.values())


def cache_folder() -> Path:
    """Where the scanners' environments are kept."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("conjunct")) / "peers"


def installed(peer: Peer, cache: Path) -> Path:
    """The scanner's program, installed into an environment of its own below `cache` if it is not there yet.

    Raises:
        UsageError: it cannot be installed; tells what pip said.
    """
    place = cache / peer.requirement.replace("==", "-")
    program = place / "bin" / peer.program
    if (place / "complete").exists():
        return program
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    for command in (
        [sys.executable, "-m", "venv", str(place)],
        [str(place / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", peer.requirement],
    ):
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_TO_INSTALL)
        if done.returncode:
            shutil.rmtree(place, ignore_errors=True)
            raise UsageError(
                f"{peer.requirement} cannot be installed into {place}: {done.stderr.strip()[-500:]}; "
                "leave it out with --peer, or install it there yourself"
            )
    if not program.exists():
        raise UsageError(f"{peer.requirement} has no program {peer.program!r}; correct data/peers.yaml")
    (place / "complete").touch()
    return program


def by_peer(peer: Peer, program: Path) -> Tool:
    """A tool for `judge_corpus`: what the scanner says of each package of one source."""

    def run(packages: Sequence[Labelled]) -> list[Judged]:
        with tempfile.TemporaryDirectory(prefix="conjunct-peer-") as folder:
            base, home = Path(folder) / "packages", Path(folder) / "home"
            home.mkdir()
            places = [_placed(one, base / f"{number:06d}") for number, one in enumerate(packages)]
            if peer.at_once:
                limit = SECONDS_PER_PACKAGE * (len(packages) + 1)
                said = dict(_entries(peer.form, _output(peer, program, base, base, home, limit)))
                return [Judged(one, *said.get(number, _SILENT)) for number, one in enumerate(packages)]
            found = []
            for one, place in zip(packages, places, strict=True):
                output = _output(peer, program, base, place, home, SECONDS_PER_PACKAGE)
                entries = [entry for _, entry in _entries(peer.form, output)]
                found.append(Judged(one, *(_worst(entries) if entries else _SILENT)))
            return found

    return run


Said = tuple[Told, tuple[str, ...]]
_SILENT: Said = (Told("incomplete", ("the scanner said nothing of it",)), ("no output",))
_ORDER = ("reject", "review", "admit")


def _worst(entries: Sequence[Said]) -> Said:
    return min(entries, key=lambda said: _ORDER.index(said[0].verdict))


def _placed(package: Labelled, folder: Path) -> Path:
    """A copy under the package's own folder name, which some rules compare with its `name`."""
    target = folder / package.path.name
    folder.mkdir(parents=True)
    if package.path.is_dir():
        shutil.copytree(package.path, target, symlinks=True)
    else:
        shutil.copy(package.path, target)
    return target


def _output(peer: Peer, program: Path, folder: Path, package: Path, home: Path, seconds: int) -> str:
    words = [word.format(folder=folder, package=package) for word in peer.arguments]
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LANG": "C.UTF-8"}
    try:
        done = subprocess.run(
            [str(program), *words],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            cwd=home,
            env=environment,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout[:_MOST_OUTPUT].decode("utf-8", "replace")


def _entries(form: str, output: str) -> Iterator[tuple[int, Said]]:
    """What a scanner's output says: (number of the package, verdict and rules)."""
    for document in _documents(output):
        for entry in _skills(document):
            yield _number(entry), _READERS[form](entry)


def _documents(output: str) -> Iterator[object]:
    """The JSON documents of an output, one after another; whatever else it holds is passed over."""
    decoder, at = json.JSONDecoder(), 0
    while (
        start := min((i for i in (output.find("{", at), output.find("[", at)) if i >= 0), default=-1)
    ) >= 0:
        try:
            document, at = decoder.raw_decode(output, start)
        except (ValueError, RecursionError):
            at = start + 1
            continue
        yield document


def _skills(document: object) -> Iterator[Mapping[str, Any]]:
    entries = document.get("results", [document]) if isinstance(document, dict) else document
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("findings"), list):
            yield entry


def _number(entry: Mapping[str, Any]) -> int:
    parts = Path(str(entry.get("skill_path", ""))).parts
    return next((int(part) for part in parts if len(part) == 6 and part.isdecimal()), 0)


def _rules(entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    found = [str(finding.get(key, "")) for finding in entry["findings"] if isinstance(finding, dict)]
    return tuple(dict.fromkeys(found))


def _skill_scanner(entry: Mapping[str, Any]) -> Said:
    verdict = "admit" if entry.get("is_safe") else "reject"
    return Told(verdict, (f"severity {entry.get('max_severity')}",)), _rules(entry, "rule_id")


def _bastionskill(entry: Mapping[str, Any]) -> Said:
    verdict = {"block": "reject", "review": "review"}.get(str(entry.get("verdict")), "admit")
    return Told(verdict, (f"risk {entry.get('risk')}",)), _rules(entry, "check")


def _agent_skill_scan(entry: Mapping[str, Any]) -> Said:
    verdict = "reject" if entry["findings"] else "admit"
    return Told(verdict, (f"severity {entry.get('max_severity')}",)), _rules(entry, "rule_id")


_READERS = {
    "skill-scanner": _skill_scanner,
    "bastionskill": _bastionskill,
    "agent-skill-scan": _agent_skill_scan,
}
