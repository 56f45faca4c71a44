"""A lived-in home: every file that is planted in a world, and what is known about each.

What files there are and what they say is data (`data/decoys.yaml`), and so is whose business a well-known
credential is (`reach/data/credentials.yaml`). Names, sizes and people are salted per deployment, times fit
the world's clock, and only the canaries differ between comparisons.
"""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from importlib import resources
from typing import Any

import jinja2
import yaml
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_private_key

from conjunct.errors import WorldError
from conjunct.reach import credentials
from conjunct.world import decoy_formats
from conjunct.world.canaries import Canary, kind_for_variable, mint
from conjunct.world.fixture_repository import loose_files, make_repository
from conjunct.world.spec import Planted, WorldSpec


@dataclass(frozen=True, slots=True)
class DecoyFile:
    """One planted file."""

    path: str
    """Absolute in the world."""
    content: bytes
    mode: int
    modified: int
    """Modification time in nanoseconds since 1970, before the world's clock."""


CRONTABS = "/var/spool/cron/crontabs"
"""Folder of the crontabs; writable for the world's user, whose `crontab` program keeps its table there."""


def decoy_files(spec: WorldSpec) -> tuple[DecoyFile, ...]:
    """Every planted file, sorted by path; files of the context replace those of the same path.

    All carry a canary but the objects of the workspace's git repository and what is checked out of it.
    """
    return _plant(spec)[0]


def planted(spec: WorldSpec) -> tuple[Planted, ...]:
    """Every canary of the world: those of the files (several per path are possible) and of minted variables.

    A minted variable that is not well known has no audience here: the hosts that its package declares are
    filled in where the package is known.
    """
    variables = tuple(
        Planted(f"env:{name}", minted_value(spec, name).needle, "secret", audience_of(name))
        for name in _variables(spec)
    )
    return _plant(spec)[1] + spec.tokens + variables


def minted_environment(spec: WorldSpec) -> tuple[tuple[str, str], ...]:
    """The minted variables with their values: those of every world first, then those of `spec.minted`."""
    return tuple((name, minted_value(spec, name).text) for name in _variables(spec))


def _variables(spec: WorldSpec) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*usual_variables(), *spec.minted)))


@cache
def usual_variables() -> tuple[str, ...]:
    """Credential variables that are set in every world, as on a developer's machine."""
    return tuple(name for credential in credentials.credentials() for name in credential.usual)


def minted_value(spec: WorldSpec, name: str) -> Canary:
    """The canary of one minted variable."""
    kind = kind_for_variable(name)
    if name in usual_variables():
        # The same in all comparisons and seeds of a deployment: the whole environment is handed to every
        # command, so that else none would ever be known from an earlier run.
        return mint(kind, f"env:{name}", seed=0, comparison=spec.salt, twin=spec.twin)
    return mint(kind, f"env:{name}", seed=spec.seed, comparison=spec.comparison, twin=spec.twin)


def audience_of(name: str) -> tuple[str, ...]:
    """Host globs whose business the credential in that variable is; empty if it is not well known."""
    return credentials.audience_of(f"env:{name}") or ()


def in_audience(host: str, audience: tuple[str, ...]) -> bool:
    """Whether a host (without port) matches one of the globs. Case and a final dot do not matter."""
    plain = host.lower().rstrip(".")
    return any(fnmatch.fnmatchcase(plain, glob.lower()) for glob in audience)


# ---- planting


def _load(name: str) -> Any:
    text = resources.files("conjunct.world").joinpath("data", name).read_text("utf-8")
    return yaml.safe_load(text)


@cache
def _data() -> Any:
    return _load("decoys.yaml")


@cache
def _template(content: str) -> jinja2.Template:
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters["ljust"] = lambda text, width: str(text).ljust(width)
    return environment.from_string(content)


def _random(*identity: object) -> random.Random:
    digest = hashlib.sha256(repr(identity).encode()).digest()
    return random.Random(int.from_bytes(digest[:16], "big"))


@lru_cache(maxsize=32)
def _machine(salt: str) -> Mapping[str, str]:
    """Names that are the same on the whole machine."""
    draw = _random("machine", salt)
    return {key: draw.choice(values) for key, values in sorted(_data()["names"].items())}


def _plant(spec: WorldSpec) -> tuple[tuple[DecoyFile, ...], tuple[Planted, ...]]:
    taken = {f"{spec.layout.home}/{path}" for path, _ in spec.home_files}
    taken |= {f"{spec.layout.workspace}/{path}" for path, _ in spec.workspace_files}
    # What does not bear on the decoys is left out, so that the arms of a comparison share one entry.
    bare = WorldSpec(
        seed=spec.seed,
        comparison=spec.comparison,
        salt=spec.salt,
        clock=spec.clock,
        twin=spec.twin,
        layout=spec.layout,
    )
    return _plant_all(bare, frozenset(taken))


@lru_cache(maxsize=32)
def _plant_all(spec: WorldSpec, taken: frozenset[str]) -> tuple[tuple[DecoyFile, ...], tuple[Planted, ...]]:
    files: list[DecoyFile] = []
    values: list[Planted] = []
    for entry in _data()["files"]:
        maker = _Maker(spec, entry)
        if maker.path in taken:
            continue
        file, canaries = maker.make()
        files.append(file)
        values.extend(canaries)
    files += [file for file in _repository(spec) if file.path not in taken | {one.path for one in files}]
    files.sort(key=lambda file: file.path)
    return tuple(files), tuple(values)


def _repository(spec: WorldSpec) -> list[DecoyFile]:
    """The workspace's git repository with the files that are checked out of it."""
    data = _data()["repository"]
    begin = int(datetime.fromisoformat(spec.clock).timestamp()) - 86400 * _random(spec.salt, "git").randint(
        20, 90
    )
    tracked = {path: text.encode() for path, text in data["files"].items()}
    branches = {
        branch: {**tracked, **({"VERSION": f"{number}\n".encode()} if number else {})}
        for number, branch in enumerate(data["branches"])
    }
    name = _machine(spec.salt)["person"]
    author = f"{name} <{name.lower().replace(' ', '.')}@{_machine(spec.salt)['company'].lower()}.example>"
    repository = make_repository(branches, seconds=begin, author=author)
    folder = f"{spec.layout.home}/{data['folder']}"
    files = {f"{folder}/{path}": content for path, content in tracked.items()}
    files[f"{folder}/.git/refs/remotes/origin/main"] = f"{repository.branches[0][1]}\n".encode()
    files |= {f"{folder}/.git/{path}": content for path, content in loose_files(repository).items()}
    return [
        DecoyFile(path, content, 0o444 if "/.git/objects/" in path else 0o644, begin * 10**9)
        for path, content in files.items()
    ]


class _Maker:
    """Renders one entry of the data file."""

    def __init__(self, spec: WorldSpec, entry: Mapping[str, Any]) -> None:
        self._spec = spec
        self._entry = entry
        self._now = datetime.fromisoformat(spec.clock).astimezone(UTC)
        self._names = {
            **_machine(spec.salt),
            "user": spec.layout.user,
            "host": spec.layout.host,
            "home": spec.layout.home,
        }
        self._draw = _random("file", spec.salt, entry["path"])
        low, high = entry["age"]
        self._age = timedelta(days=low, seconds=self._draw.randrange(1, max(2, (high - low) * 86400)))
        self.path = self._absolute(entry["path"])
        self._canaries: list[Canary] = []

    def make(self) -> tuple[DecoyFile, tuple[Planted, ...]]:
        text = _template(self._entry["content"]).render(
            **self._names,
            secret=self._secret,
            public_key=self._public_key,
            pick=self._draw.choice,
            number=self._draw.randint,
            lines=lambda low, high: range(self._draw.randint(low, high)),
            ago=self._ago,
            epoch=lambda days: int((self._now - timedelta(days=days)).timestamp()),
            mail=self._mail,
            base64=lambda text: base64.b64encode(text.encode()).decode(),
        )
        content = decoy_formats.BUILDERS[self._entry.get("builder", "text")](text)
        modified = int((self._now - self._age).timestamp()) * 10**9
        file = DecoyFile(self.path, content, int(self._entry.get("mode", "644"), 8), modified)
        if not self._canaries:
            raise WorldError(f"data/decoys.yaml: {self._entry['path']} has no canary; call secret() in it")
        audience, category = self._audience(), self._entry["category"]
        return file, tuple(Planted(self.path, c.needle, category, audience) for c in self._canaries)

    def _absolute(self, path: str) -> str:
        draw = _random("path", self._spec.salt, path)
        filled = path.format(
            **self._names,
            hex="".join(draw.choice("0123456789abcdef") for _ in range(8)),
            number=draw.randint(10000, 99999),
            year=self._now.year - 1,
            date=(self._now - self._age).strftime("%Y-%m-%dT%H-%M-%S"),
            epoch=int((self._now - self._age).timestamp()),
        )
        return filled if filled.startswith("/") else f"{self._spec.layout.home}/{filled}"

    def _audience(self) -> tuple[str, ...]:
        audience = self._entry.get("audience", ())
        if isinstance(audience, str):
            return next(
                one.audience for one in credentials.credentials() if one.id == audience.removeprefix("@")
            )
        names = {key: value.lower() for key, value in self._names.items()}
        return tuple(glob.format(**names) for glob in audience)

    def _mint(self, path: str, kind: str, label: str) -> Canary:
        spec = self._spec
        return mint(kind, path, seed=spec.seed, comparison=spec.comparison, label=label, twin=spec.twin)

    def _secret(self, kind: str, label: object = "") -> str:
        canary = self._mint(self.path, kind, str(label))
        self._canaries.append(canary)
        return canary.text

    def _public_key(self, private: str) -> str:
        pem = self._mint(self._absolute(private), "ssh_key", "").text + "\n"
        public = load_ssh_private_key(pem.encode(), None).public_key()
        return public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).split()[1].decode()

    def _ago(self, days: float, form: str) -> str:
        return (self._now - timedelta(days=days)).strftime(form)

    def _mail(self, person: str) -> str:
        return f"{person.lower().replace(' ', '.')}@{self._names['company'].lower()}.example"
