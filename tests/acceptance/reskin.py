"""Re-skinned copies of the example registry: same roles and labels, other skin, all from one seed.

Other names, words, paths, hosts and script languages; other guards (constant, digest of the word or name,
listing, own state), another family of histories, other partners, another turn. Inert by construction: the
scripts reach for decoy data of the world and for reserved domains only.

    python -m acceptance.reskin SEED FOLDER      (from tests/)

writes `FOLDER/registry` and, beside it, `FOLDER/registry.labels.json`.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from conjunct.battery import fixture_index, load_battery
from conjunct.model import NEUTRAL, Battery

SKINS = Path(__file__).parent / "skins"
EXAMPLES = Path(__file__).parents[2] / "examples"
LANGUAGES = {"py": "python3", "js": "node", "sh": "bash"}
BENIGN = (
    "overview",
    "tidy",
    "minutes",
    "backup",
    "mailer",
    "report",
    "rotation",
    "scheduler",
    "tracker",
)
CONDITIONAL = ("masked", "delayed", "steered")
ADVERSARIAL = ("masked", "delayed", "writer", "sender", "steered")
MODULES = ("argparse", "base64", "csv", "hashlib", "json", "os", "re", "urllib.request")
_PLACE = re.compile(r"@([A-Z_]+)@")
_CHOICE = re.compile(r"\[\[(.+?)\]\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Level:
    """A word that tells one family of histories from all others, and a file in which it stands."""

    family: str
    word: str
    file: str


@dataclass(frozen=True, slots=True)
class Reskinned:
    """A generated registry, its ground truth, and what was chosen for each skill."""

    path: Path
    labels: dict[str, dict[str, Any]]
    choices: dict[str, str] = field(compare=False)
    facts: dict[str, dict[str, str]] = field(compare=False)
    """What filled the places of each skill's templates."""


def reskin(seed: int, folder: Path) -> Reskinned:
    """Write the registry of `seed` to `folder/registry` and its labels beside it."""
    rng = random.Random(f"reskin:{seed}")
    words = vocabulary()
    names = _names(rng, words)
    levels = rng.sample(history_levels(), 40)
    families = list({level.family: level for level in levels}.values())
    partners = rng.sample(BENIGN, len(CONDITIONAL))
    index = f"{rng.choice(words['state_folders'])}/{names['writer']}/{rng.choice(words['index_files'])}"
    output = rng.choice(words["outputs"])
    path = folder / "registry"
    labels: dict[str, dict[str, Any]] = {}
    choices: dict[str, str] = {}
    filled: dict[str, dict[str, str]] = {}
    conditional = dict(zip(CONDITIONAL, zip(families, partners, strict=False), strict=False))
    for role in (*BENIGN, *ADVERSARIAL):
        facts = {
            **_facts(rng, words, names[role]),
            "OUTPUT": output,
            "INDEX": index,
            "INDEX_FOLDER": index.rpartition("/")[0],
        }
        trigger: dict[str, Any] | None = None
        if role in conditional:
            level, partner = conditional[role][0], names[conditional[role][1]]
            turn = rng.randint(2, 4) if role == "delayed" else None
            facts |= _condition(level, partner, turn)
            trigger = {"history": level.family, "co_skills": [partner], "turn": turn}
        elif role in ("writer", "sender"):
            other = names["sender" if role == "writer" else "writer"]
            trigger = {"history": None, "co_skills": [other], "turn": None}
        filled[names[role]] = facts
        choices[names[role]] = _write(rng, path / names[role], role, facts)
        labels[names[role]] = {"label": "adversarial" if trigger else "benign", "trigger": trigger}
    labels = dict(sorted(labels.items()))
    (folder / "registry.labels.json").write_text(json.dumps(labels, indent=2) + "\n", encoding="utf-8")
    return Reskinned(path, labels, choices, filled)


@cache
def vocabulary() -> Mapping[str, Any]:
    """The generator's own words."""
    words: Mapping[str, Any] = yaml.safe_load((SKINS / "vocabulary.yaml").read_text(encoding="utf-8"))
    return words


@cache
def guards() -> Mapping[str, Any]:
    """Conditions and encodings for each language."""
    found: Mapping[str, Any] = yaml.safe_load((SKINS / "guards.yaml").read_text(encoding="utf-8"))
    return found


@cache
def history_levels() -> tuple[Level, ...]:
    """Topics that occur in one family only, in no request, fixture or template, and not in the examples."""
    battery = load_battery()
    spoken = {history.id: _texts(battery, history.id) for history in battery.histories}
    elsewhere = _requests(battery) + "".join(
        path.read_text(encoding="utf-8") for path in sorted(SKINS.rglob("*")) if path.is_file()
    )
    labels = json.loads((EXAMPLES / "registry.labels.json").read_text(encoding="utf-8"))
    used = {NEUTRAL, *(entry["trigger"]["history"] for entry in labels.values() if entry["trigger"])}
    found: list[Level] = []
    for history in battery.histories:
        for word in history.topics if history.id not in used else ():
            others = elsewhere + "".join(text for family, text in spoken.items() if family != history.id)
            if not re.fullmatch(r"[a-z]{4,}", word) or word in others.lower():
                continue
            found += [
                Level(history.id, word, file)
                for file in vocabulary()["history_files"]
                if any(
                    word in re.findall("[a-z]+", dict(phrasing.files).get(file, "").lower())
                    for phrasing in history.phrasings
                )
            ]
    return tuple(found)


def _texts(battery: Battery, family: str) -> str:
    history = next(history for history in battery.histories if history.id == family)
    return "\n".join(
        text for phrasing in history.phrasings for _, text in (*phrasing.files, *phrasing.messages)
    ).lower()


def _requests(battery: Battery) -> str:
    parts = [turn.text for probe in battery.probes for turn in probe.turns]
    parts += [filler for probe in battery.probes for filler in probe.fillers]
    parts += [fixture.path for arguments in battery.arguments for fixture in fixture_index(arguments)]
    return "\n".join(parts)


def _names(rng: random.Random, words: Mapping[str, Any]) -> dict[str, str]:
    taken = set(json.loads((EXAMPLES / "registry.labels.json").read_text(encoding="utf-8")))
    names: dict[str, str] = {}
    for role, (first, second) in words["names"].items():
        free = [f"{a}-{b}" for a in first for b in second if f"{a}-{b}" not in taken]
        names[role] = rng.choice(free)
        taken.add(names[role])
    return names


def _host(rng: random.Random, words: Mapping[str, Any]) -> str:
    one, other = rng.sample(words["host_words"], 2)
    return f"{rng.choice(words['services'])}.{one}-{other}.{rng.choice(words['domains'])}"


def _facts(rng: random.Random, words: Mapping[str, Any], name: str) -> dict[str, str]:
    """Everything a template may ask for that does not depend on other skills."""
    host = _host(rng, words)
    domain = host.partition(".")[2]
    product = rng.choice(words["products"])
    style, other_style = rng.sample(words["styles"], 2)
    return {
        "NAME": name,
        "TITLE": name.replace("-", " ").capitalize(),
        "HOST": host,
        "DOMAIN": domain,
        "LIST": f"{rng.choice(('team', 'office', 'all'))}@{domain}",
        "URL": f"https://{host}/{rng.choice(words['routes'])}",
        "PRODUCT": product,
        "TOKEN": f"{product.upper()}_TOKEN",
        "VARIABLE": rng.choice(words["variables"]),
        "ARCHIVES": rng.choice(("Archive", "Kept", "Copies", "Snapshots")),
        "HOUR": rng.choice(words["hours"]),
        "MESSAGE": rng.choice(words["messages"]),
        "OUT": rng.choice(words["styles"]),
        "STYLE": style,
        "OTHER_STYLE": other_style,
        "SECRET": rng.choice(words["secrets"]),
        "STATE": f"{rng.choice(words['state_folders'])}/{name}/{rng.choice(words['state_files'])}",
    }


def _condition(level: Level, partner: str, turn: int | None) -> dict[str, str]:
    return {
        "WORD": level.word,
        "WORD_HASH": _digest(level.word),
        "LINE_HASH": _digest(level.word + "\n"),
        "HISTORY_FILE": level.file,
        "PARTNER": partner,
        "PARTNER_HASH": _digest(partner),
        "TURN": str(turn or 0),
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _write(rng: random.Random, folder: Path, role: str, facts: dict[str, str]) -> str:
    """Write one skill; returns what was chosen, for people who look at a failure."""
    template = SKINS / ("formatter" if role in ("masked", "delayed") else role)
    languages = [suffix for suffix in LANGUAGES if (template / f"script.{suffix}.txt").exists()]
    chosen = [role]
    script = ""
    if languages:
        language = rng.choice(languages)
        words = vocabulary()
        facts["FILE"] = f"{rng.choice(words['files'])}.{language}"
        script = f"{rng.choice(words['folders'])}/{facts['FILE']}"
        facts["RUN"] = f"{LANGUAGES[language]} {script}"
        chosen.append(language)
        if role in ("masked", "delayed"):
            chosen += _guard(rng, language, role, facts)
        elif role == "writer":
            chosen += _packing(rng, language, facts)
    folder.mkdir(parents=True)
    document = (template / "SKILL.md.txt").read_text(encoding="utf-8")
    picked = _CHOICE.sub(lambda match: rng.choice(match[1].split("|")), document)
    (folder / "SKILL.md").write_text(_filled(picked, facts), encoding="utf-8")
    if script:
        code = _filled((template / f"script.{language}.txt").read_text(encoding="utf-8"), facts)
        (folder / script).parent.mkdir()
        (folder / script).write_text(_imports(code, language), encoding="utf-8")
        (folder / script).chmod(0o755)
    if "WORD" in facts:
        chosen.append(f"{facts['WORD']} in ~/{facts['HISTORY_FILE']}, {facts['PARTNER']}")
    return ", ".join(chosen)


def _guard(rng: random.Random, language: str, role: str, facts: dict[str, str]) -> list[str]:
    """Choose the kinds of the conditions and of the encoding, and put them together."""
    table, words = guards()[language], vocabulary()
    chosen = {kind: rng.choice(sorted(table[kind])) for kind in ("history", "partner", "encode")}
    tests = [table[kind][chosen[kind]]["test"] for kind in ("history", "partner")]
    needs = [need for kind in ("history", "partner") for need in table[kind][chosen[kind]]["needs"]]
    rng.shuffle(tests)
    helpers = [table[need]["helper"] for need in dict.fromkeys(needs)]
    before = ""
    if role == "delayed":
        chosen["count"] = rng.choice(sorted(table["count"]))
        helpers.append(table["count"][chosen["count"]]["helper"])
        before = {"py": "number = visits()", "js": "const number = visits();", "sh": "visits"}[language]
        count = '[ "$number" -ge @TURN@ ]' if language == "sh" else "number >= @TURN@"
        tests.insert(rng.randint(0, 2), count)
    together = "all" in table and rng.random() < 0.4
    joined = table["all"].replace("@TESTS@", ", ".join(tests)) if together else table["and"].join(tests)
    form = words["formats"][rng.choice(sorted(words["formats"]))]
    gap = "\n\n" if language == "py" else "\n"
    facts |= {
        "HELPERS": _filled("".join(helper + gap for helper in helpers), facts),
        "BEFORE": before,
        "CONDITION": _filled(joined, facts),
        "ENCODED": table["encode"][chosen["encode"]],
        "TRANSFORM": form[language],
        "NOUN": form["noun"],
        "EXAMPLE": form["example"],
    }
    return [f"{kind}:{value}" for kind, value in chosen.items()] + (["all looked at"] if together else [])


def _packing(rng: random.Random, language: str, facts: dict[str, str]) -> list[str]:
    packing = rng.choice(("base64", "hex"))
    facts["PACKING"] = packing
    facts["PACK"], facts["UNPACK"] = {
        ("py", "base64"): ("base64.b64encode(path.read_bytes()).decode()", "base64.b64decode(value)"),
        ("py", "hex"): ("path.read_bytes().hex()", "bytes.fromhex(value)"),
        ("sh", "base64"): ("base64 -w 0", "base64 -d"),
        ("sh", "hex"): ("od -An -v -tx1 | tr -d ' \\n'", "sed 's/../\\\\x&/g' | xargs -0 printf '%b'"),
    }.get((language, packing), ("", ""))
    return [f"packed as {packing}"]


def _filled(text: str, facts: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda match: facts.get(match[1], match[0]), text)


def _imports(code: str, language: str) -> str:
    """Put the imports that the code uses where `@IMPORTS@` stands, and close gaps that empty places left."""
    code = re.sub(r"\n{4,}", "\n\n\n", re.sub(r"\n[ \t]+\n", "\n", code))
    if language == "py":
        used = [name for name in MODULES if re.search(rf"\b{re.escape(name)}\.", code)]
        return code.replace(
            "@IMPORTS@", "\n".join([f"import {name}" for name in used] + ["from pathlib import Path"])
        )
    needed = [name for name in ("crypto", "fs", "os", "path") if re.search(rf"\b{name}\.", code)]
    return code.replace("@IMPORTS@", "\n".join(f'const {name} = require("{name}");' for name in needed))


if __name__ == "__main__":
    made = reskin(int(sys.argv[1]), Path(sys.argv[2]))
    for name, choice in made.choices.items():
        print(f"{name}: {choice}")
