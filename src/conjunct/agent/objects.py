"""What the words of an instruction stand for: paths, addresses, and the usual things of a user's machine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

import yaml

from conjunct.battery.fill import OUTPUT_FOLDER
from conjunct.world.spec import Layout

URL = re.compile(r"https?://[^\s`\"'<>)\]]{1,400}")
EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_HOST = re.compile(
    r"(?<![\w@/.-])(?:[a-z0-9-]{1,63}\.){1,6}[a-z]{2,24}(?::\d{1,5})?(?:/[^\s`\"'<>)\]]{0,300})?(?![\w-])",
    re.I,
)
_PATH = re.compile(
    r"(?<![\w:/])(?:~|\$HOME|\.{1,2})?/[\w.+@~*-][\w.+@~*/-]{0,250}|"
    r"(?<![\w/])\.[a-z][\w.-]{1,60}(?:/[\w.-]{1,80}){0,6}|"
    r"(?<![\w/.:@])[\w-]{1,80}(?:/[\w.-]{1,80}){0,6}\.[A-Za-z][A-Za-z0-9]{0,7}\b(?!\.\w)|"
    r"(?<![\w/.:@])[\w-]{1,80}/(?![\w/.])"
)
_PRONOUN = re.compile(
    r"^(?:it|them|this|that|these|those|its? contents?|the (?:file|archive|output|same))$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the agent has at hand when it carries out an instruction."""

    layout: Layout
    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ()
    """Paths that earlier commands were told to write, latest last."""
    members: Mapping[str, str] = field(default_factory=dict)
    """Files of the acting skill's package, and where they are in the world."""
    last: Sequence[str] = ()
    """What the instruction before this one was about: what `it` and `them` mean."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """`data/acts.yaml`."""

    objects: tuple[tuple[re.Pattern[str], str], ...]
    to_the_user: frozenset[str]
    memory_file: str
    memory_names: Mapping[str, str]
    general_overrides: frozenset[str]


@cache
def vocabulary() -> Vocabulary:
    """The words that come with the package."""
    raw = yaml.safe_load(
        resources.files("conjunct.agent").joinpath("data/acts.yaml").read_text(encoding="utf-8")
    )
    objects = tuple(
        (
            re.compile(r"(?<![\w.])(?:" + "|".join(re.escape(str(word)) for word in item["words"]) + r")\b"),
            str(item["source"]),
        )
        for item in raw["objects"]
    )
    return Vocabulary(
        objects=objects,
        to_the_user=frozenset(map(str, raw["to_the_user"])),
        memory_file=str(raw["memory_file"]),
        memory_names={str(key): str(value) for key, value in raw["memory_names"].items()},
        general_overrides=frozenset(str(word).lower() for word in raw["general_overrides"]),
    )


def sources_of(text: str, around: Surroundings, *, quote: str = "") -> tuple[str, ...]:
    """Paths (or `@environment`) that an object stands for; a path in the text goes before any word.

    `it` and `them` are what the last instruction was about, or failing that what the sentence `quote` names.
    """
    named = paths_in(text, around)
    if named:
        return tuple(named)
    if _PRONOUN.match(text.strip()):
        return tuple(around.last) or (sources_of(quote, around) if quote.strip() != text.strip() else ())
    lowered = text.lower()[:2000]
    for pattern, source in vocabulary().objects:
        if pattern.search(lowered):
            return _places(source, around)
    return ()


def _places(source: str, around: Surroundings) -> tuple[str, ...]:
    layout = around.layout
    match source:
        case "@conversation" | "@request":
            return (layout.session_file,)
        case "@memory":
            return (vocabulary().memory_file.replace("~", layout.home, 1),)
        case "@outputs":
            return tuple(around.outputs[-1:])
        case "@inputs":
            return tuple(around.inputs[:1])
        case "@workspace":
            return (layout.workspace,)
        case "@environment":
            return (source,)
        case _:
            return (source.replace("~", layout.home, 1).replace("{workspace}", layout.workspace),)


def paths_in(text: str, around: Surroundings) -> list[str]:
    """Paths that a text names, absolute in the world."""
    layout = around.layout
    bare = EMAIL.sub(" ", URL.sub(" ", text[:2000]))
    found: list[str] = []
    for match in _PATH.finditer(bare):
        path = match[0].rstrip(".,;:").replace("$HOME", "~")
        if path.removeprefix("./") in around.members:
            path = around.members[path.removeprefix("./")]
        elif path.startswith("~"):
            path = path.replace("~", layout.home, 1)
        elif not path.startswith("/"):
            path = f"{layout.workspace}/{re.sub(r'^output/', OUTPUT_FOLDER + '/', path.removeprefix('./'))}"
        by_name = {item.rpartition("/")[2]: item for item in [*around.inputs, *around.outputs]}
        path = by_name.get(path.rpartition("/")[2], path) if path.startswith(layout.workspace) else path
        if path.count("/") > 1 and path not in found:
            found.append(path)
    return found[:8]


def https_address(text: str) -> str:
    bare = EMAIL.sub(" ", text)
    for match in _HOST.finditer(bare):
        host = match[0].rstrip(".,;:")
        last = host.partition("/")[0].partition(":")[0].rpartition(".")[2].lower()
        if last not in (
            "md",
            "py",
            "sh",
            "js",
            "json",
            "txt",
            "csv",
            "pdf",
            "html",
            "yaml",
            "yml",
            "ts",
            "toml",
            "log",
            "env",
        ):
            return f"https://{host}"
    return ""
