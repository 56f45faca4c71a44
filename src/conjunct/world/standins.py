"""Stand-ins: recording substitutes for programs and Python modules that a world does not have.

Nothing is called "not exercised" before its missing parts were stood in for. What a stand-in was asked goes
into files below `RECORDS` in the world, one per call, which the supervisor reads from outside after every
command (`collect`). Those files, and the configuration, are the world's own: no touch or effect of a command.

Programs are always there (behind the system's own on the search path). Modules and the recording of lines are
switched on per world through `configuration`: an import that fails is an answer a program may count on, so
only names that are known to be missing are stood in for, in a run of their own.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from conjunct.world.spec import WorldSpec

RECORDS = "/run/stand-ins"
"""Folder in the world; writable for its user."""
CONFIGURATION = "/etc/stand-ins.json"
"""File in the world, read at the start of every Python program; absent where nothing was asked for."""
MAXIMUM_RECORDS = 2000
MAXIMUM_RECORD = 4 << 20
_PROGRAM = ".stand-in"


@dataclass(frozen=True, slots=True)
class StandInCall:
    """One use of a stand-in."""

    kind: str
    """`program` or `module`."""
    name: str
    """Name of the program, or of the module with its parents."""
    argv: tuple[str, ...] = ()
    stdin: bytes = b""
    environment: tuple[tuple[str, str], ...] = ()
    cwd: str = ""
    status: int = 0
    what: str = ""
    """For modules: `import`, `get NAME` or `call NAME`."""
    arguments: str = ""
    """For modules: what was passed, cut short."""

    @property
    def stand_in(self) -> str:
        """The name that verdicts use: the program, or the top module."""
        return self.name if self.kind == "program" else self.name.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Records:
    """What stand-ins left behind since the last look."""

    calls: tuple[StandInCall, ...] = ()
    lines: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """(file in the world, lines that ran), sorted."""
    complete: bool = True
    """Whether everything could be read; a program of the world can write there, too."""


def configuration(*, modules: Sequence[str] = (), coverage: str = "") -> bytes | None:
    """Content of the file `CONFIGURATION`, or `None` where it has to be absent.

    `modules`: top names of modules to stand in for where nothing else provides them; `coverage`: the folder
    whose Python files are followed line by line.
    """
    if not modules and not coverage:
        return None
    document = {"modules": sorted(set(modules)), "coverage": coverage.rstrip("/") + "/" if coverage else ""}
    return json.dumps(document).encode() + b"\n"


def world_files(spec: WorldSpec, *, modules: Sequence[str] = ()) -> tuple[tuple[str, bytes], ...]:
    """(path relative to the world's root, content) of the configuration that a world needs; often none."""
    content = configuration(modules=modules, coverage=spec.layout.skills if spec.coverage else "")
    return ((CONFIGURATION.lstrip("/"), content),) if content is not None else ()


def extra_program(name: str) -> bytes:
    """An executable that stands in for one more program; to be put on the search path under that name."""
    if not name or "/" in name or "\0" in name:
        raise ValueError(f"{name!r} is no name of a program")
    return f'#!/bin/sh\nexec /usr/local/games/{_PROGRAM} "${{0##*/}}" "$@"\n'.encode()


def collect(folder: Path) -> Records:
    """Read and remove all records in `folder`, which is `RECORDS` as seen from outside.

    What is no regular file is never followed. A world can write anything there: a record it made up accuses
    only itself.
    """
    calls: list[StandInCall] = []
    lines: dict[str, set[int]] = {}
    complete = True
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return Records()
    complete = len(names) <= MAXIMUM_RECORDS
    for name in names[:MAXIMUM_RECORDS]:
        data = _take(folder / name)
        if data is None:
            complete = False
        elif name.startswith("lines."):
            _add_lines(data, lines)
        else:
            calls += _calls(data)
    found = tuple((file, tuple(sorted(numbers))) for file, numbers in sorted(lines.items()))
    return Records(tuple(calls), found, complete)


def _take(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(MAXIMUM_RECORD + 1)
    # A program that still runs goes on writing to its lines, unseen: what it ran later belongs to no command.
    path.unlink(missing_ok=True)
    return data if len(data) <= MAXIMUM_RECORD else None


def _add_lines(data: bytes, lines: dict[str, set[int]]) -> None:
    for line in data.splitlines():
        file, _, number = line.rpartition(b"\t")
        if file and number.isdigit() and len(number) < 9:
            lines.setdefault(os.fsdecode(file), set()).add(int(number))


def _calls(data: bytes) -> Iterable[StandInCall]:
    for line in data.splitlines():
        try:
            document = json.loads(line)
            yield _call(document)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue


def _call(document: Any) -> StandInCall:
    if document["kind"] == "module":
        return StandInCall(
            "module", str(document["name"]), what=str(document["what"]), arguments=str(document["arguments"])
        )
    return StandInCall(
        "program",
        str(document["name"]),
        argv=tuple(map(str, document["argv"])),
        stdin=str(document["stdin"]).encode("utf-8", "surrogateescape"),
        environment=tuple(sorted((str(k), str(v)) for k, v in document["environment"].items())),
        cwd=str(document["cwd"]),
        status=int(document["status"]),
    )


# ---- installing into a runtime


def digest() -> str:
    """Digest of everything that is installed."""
    names = ("_stand_ins.py.txt", "stand_in.py.txt", "crontab.py.txt", "programs.yaml")
    joined = "\0".join(_data(name) for name in names)
    return hashlib.sha256(joined.encode()).hexdigest()


def program_names() -> tuple[str, ...]:
    """Programs that are stood in for wherever the system does not have them."""
    return tuple(sorted(name for name in yaml.safe_load(_data("programs.yaml")) if name != "*"))


def install(place: Path) -> None:
    """Put stand-ins and the programs of the packages into a runtime that is being built."""
    python, programs, stand_ins = place / "python", place / "programs", place / "stand-ins"
    programs.mkdir()
    stand_ins.mkdir()
    (python / "_stand_ins.py").write_text(_data("_stand_ins.py.txt"), "utf-8")
    (python / "stand_ins.pth").write_text("import _stand_ins\n", "utf-8")
    # Where the packages are found through PYTHONPATH only, .pth files are not read.
    (python / "sitecustomize.py").write_text("import _stand_ins\n", "utf-8")
    _write_program(stand_ins / _PROGRAM, _data("stand_in.py.txt"))
    outputs = yaml.safe_load(_data("programs.yaml"))
    (stand_ins / ".outputs.json").write_text(json.dumps(outputs), "utf-8")
    for name in program_names():
        (stand_ins / name).symlink_to(_PROGRAM)
    _write_program(programs / "crontab", _data("crontab.py.txt"))
    (programs / "python").symlink_to("/usr/bin/python3")
    for script in sorted((python / "bin").iterdir()) if (python / "bin").is_dir() else ():
        script.rename(programs / script.name)
    for link in sorted((place / "node_modules" / ".bin").glob("*")):
        target = programs / link.name
        if not target.exists() and not target.is_symlink():
            target.symlink_to(f"/node_modules/.bin/{link.name}")


def _write_program(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")
    path.chmod(0o755)


def _data(name: str) -> str:
    return resources.files("conjunct.world").joinpath("data", "standins", name).read_text("utf-8")
