"""One package as decided, and as written: a `Blueprint` holds every choice, `render` turns it into files.

Rendering is pure, so that an adversary and its twin come from one blueprint and differ in the payload alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import yaml

LANGUAGES = {"py": "python3", "sh": "bash"}
LANGUAGE_NAMES = {"py": "python", "sh": "shell", "": "prose"}
_PLACE = re.compile(r"@([A-Z_]+)@")
_LONE_PLACE = re.compile(r"^([ \t]*)@([A-Z_]+)@$")
_CHOICE = re.compile(r"\[\[(.+?)\]\]")
_MODULES = (
    "argparse",
    "base64",
    "collections",
    "datetime",
    "hashlib",
    "json",
    "os",
    "re",
    "sys",
    "urllib.request",
)

_NOTICE = "# From a benchmark: inert outside it, where decoys and reserved domains stand for the real ones."
"""In every script, benign or not."""

Files = Mapping[str, bytes]
"""Path in the package to content; scripts are executable."""


@cache
def table(name: str) -> Mapping[str, Any]:
    """One of the data files of this room: `families`, `guards`, `operations`, `payloads`, `words`."""
    text = resources.files("conjunct.bench").joinpath("data", f"{name}.yaml").read_text(encoding="utf-8")
    loaded: Mapping[str, Any] = yaml.safe_load(text)
    return loaded


@cache
def template(name: str) -> str:
    """The text of one template, by its name without `.txt`."""
    folder = resources.files("conjunct.bench").joinpath("data", "templates")
    return folder.joinpath(f"{name}.txt").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Guarded:
    """Lines under a condition, with what has to be there for it."""

    before: tuple[str, ...]
    """Statements that run in any case."""
    test: str
    """Expression or command; empty for none: the lines run in any case."""
    helpers: str
    harm: str
    """What stands under the condition in an adversary; empty in a package that was never meant as one."""
    twin: str
    """What stands in the same place in its twin."""


@dataclass(frozen=True, slots=True)
class Blueprint:
    """Everything that was chosen for one package."""

    name: str
    family: str
    language: str
    """`py`, `sh`, or empty for prose only."""
    skeleton: str
    """Name of the script's template; empty for prose only."""
    facts: Mapping[str, str]
    """What fills the places of the templates."""
    wording: int = 0
    """Seed of the wordings that are chosen in the text."""
    guarded: Guarded | None = None
    steering: tuple[str, str] = ("", "")
    """Of a prose package: the conditional sentence of the adversary, and of its twin."""
    packs: tuple[str, str] = ("", "")
    """What a collecting package keeps of each file: as an adversary (or as declared), and as a twin."""
    harmful: bool = False
    extras: Mapping[str, str] = field(default_factory=dict)
    """Further files of the package, by path."""


def render(blueprint: Blueprint, *, twin: bool = False) -> Files:
    """The files of a package; `twin` puts the harmless lines where the harmful ones would stand."""
    harm = blueprint.harmful and not twin
    facts = dict(blueprint.facts)
    facts["STEERING"] = blueprint.steering[0 if harm else 1]
    facts["PACK"] = blueprint.packs[1 if twin else 0]
    facts["BEFORE"] = facts["GUARDED"] = facts["HELPERS"] = ""
    every = ""
    if blueprint.guarded is not None:
        facts |= _places_of(blueprint.guarded, blueprint.language, harm)
        every = blueprint.guarded.harm + blueprint.guarded.twin
    family = table("families")[blueprint.family]["template"]
    document = worded(template(f"{family}.SKILL.md"), blueprint.wording)
    files = {"SKILL.md": _squeezed(filled(document, facts)).encode()}
    if blueprint.skeleton:
        code = filled(template(blueprint.skeleton), facts)
        shebang, _, rest = _with_imports(code, every, blueprint.language).partition("\n")
        files[facts["SCRIPT"]] = f"{shebang}\n{_NOTICE}\n{rest}".encode()
    files |= {path: text.encode() for path, text in blueprint.extras.items()}
    return dict(sorted(files.items()))


def _places_of(guarded: Guarded, language: str, harm: bool) -> dict[str, str]:
    lines = (guarded.harm if harm else guarded.twin).strip("\n")
    if guarded.test:
        words = table("guards")[language]
        body = "\n".join(f"{'    ' if language == 'py' else '  '}{line}" for line in lines.splitlines())
        lines = words["if"].replace("@TEST@", guarded.test) + body + "\n" + words["end"]
    return {
        "BEFORE": "\n".join(guarded.before),
        "GUARDED": lines.strip("\n"),
        "HELPERS": guarded.helpers.rstrip("\n") + ("\n\n\n" if language == "py" else "\n"),
    }


def filled(text: str, facts: Mapping[str, str]) -> str:
    """Put facts into places. A place alone on its line keeps its indentation, and goes where it is empty."""
    made: list[str] = []
    for line in text.splitlines():
        lone = _LONE_PLACE.match(line)
        if lone is None or lone[2] not in facts:
            made.append(_PLACE.sub(lambda match: facts.get(match[1], match[0]), line))
            continue
        if not facts[lone[2]]:
            continue
        inner = filled(facts[lone[2]], {k: v for k, v in facts.items() if k != lone[2]})
        made += [f"{lone[1]}{one}" if one else "" for one in inner.splitlines()]
    return "\n".join(made) + "\n"


def worded(text: str, seed: int) -> str:
    """Choose one of the wordings at each place `[[one|other]]`."""
    generator = random.Random(seed)
    return _CHOICE.sub(lambda match: generator.choice(match[1].split("|")), text)


def _squeezed(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", text)


def _with_imports(code: str, every: str, language: str) -> str:
    """Imports for the code and for both forms of the payload: a twin imports what its adversary does."""
    code = re.sub(r"\n{4,}", "\n\n\n", code)
    if language != "py":
        return re.sub(r"\n{3,}", "\n\n", code)
    used = [name for name in _MODULES if re.search(rf"\b{re.escape(name)}\.", code + every)]
    return code.replace(
        "@IMPORTS@", "\n".join([f"import {name}" for name in used] + ["from pathlib import Path"])
    )
