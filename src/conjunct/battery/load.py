"""From battery files to a `Battery`: the built-in one, extended or overridden by a user's own folder."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Protocol, TypeVar

from conjunct.battery.carriers import FORMATS, Carrier, Past, render
from conjunct.battery.document import Section, read_document
from conjunct.battery.load_probes import ProbeDefaults, read_probes
from conjunct.battery.predicates import PREDICATES
from conjunct.errors import BatteryError
from conjunct.model import (
    NEUTRAL,
    Battery,
    History,
    InvariantRule,
    Layer,
    Phrasing,
    Probe,
    Severity,
)

FILES = ("factors.yaml", "histories.yaml", "invariants.yaml", "probes.yaml")
NETWORKS = frozenset(
    {
        "plausible",
        "error",
        "refused",
        "empty",
        "marker-script",
        "marker-instruction",
        "known-names",
        "none",
    }
)


class _Named(Protocol):
    @property
    def id(self) -> str: ...


_N = TypeVar("_N", bound=_Named)


def load_battery(extra: Path | None = None) -> Battery:
    """The built-in battery, extended by the files of a user's folder; elements with a known id replace it.

    `extra` may hold any of `probes.yaml`, `histories.yaml`, `invariants.yaml` and `factors.yaml`. Raises
    `BatteryError`, naming file, line and place, for anything that is not as documented.
    """
    return _built_in() if extra is None else _load([_documents(None), _documents(extra)])


@cache
def _built_in() -> Battery:
    return _load([_documents(None)])


def _documents(folder: Path | None) -> dict[str, Section]:
    if folder is None:
        data = resources.files("conjunct.battery").joinpath("data")
        found = {}
        for name in FILES:
            with resources.as_file(data.joinpath(name)) as path:
                found[name] = read_document(path, name=f"battery/{name}")
        return found
    if not folder.is_dir():
        raise BatteryError(f"{folder}: not a folder; give the folder that holds {', '.join(FILES)}")
    names = sorted(path.name for path in folder.iterdir() if path.suffix in (".yaml", ".yml"))
    for name in names:
        if name not in FILES:
            raise BatteryError(f"{folder / name}: unknown battery file; known: {', '.join(FILES)}")
    if not names:
        raise BatteryError(f"{folder}: holds no battery file; expected any of {', '.join(FILES)}")
    return {name: read_document(folder / name) for name in names}


def _load(layers: list[dict[str, Section]]) -> Battery:
    factors = _Factors()
    probes: dict[str, Probe] = {}
    rules: dict[str, InvariantRule] = {}
    carriers: dict[str, Carrier] = {}
    families: dict[str, tuple[History, tuple[Past, ...], Section]] = {}
    vocabularies: dict[str, str] = {}
    defaults = ProbeDefaults()
    for documents in layers:
        if "factors.yaml" in documents:
            factors.read(documents["factors.yaml"])
        if "histories.yaml" in documents:
            _read_histories(documents["histories.yaml"], carriers, families)
        if "invariants.yaml" in documents:
            vocabularies.update(documents["invariants.yaml"].pairs("vocabularies"))
            _extend(rules, _read_rules(documents["invariants.yaml"], vocabularies))
        if "probes.yaml" in documents:
            _extend(probes, read_probes(documents["probes.yaml"], defaults))
    start = datetime.fromisoformat(factors.clocks[NEUTRAL])
    battery = Battery(
        version=factors.version,
        digest="",
        probes=tuple(probes.values()),
        histories=tuple(
            _rendered(history, pasts, carriers, start) for history, pasts, _ in families.values()
        ),
        invariants=tuple(rules.values()),
        clocks=tuple(factors.clocks.items()),
        networks=tuple(factors.networks),
        arguments=tuple(factors.arguments),
        environments=tuple(factors.environments.items()),
        carriers=tuple((one.path, one.format, one.days_ago) for one in carriers.values()),
    )
    return replace(battery, digest=battery_digest(battery))


def battery_digest(battery: Battery) -> str:
    """SHA-256 of everything a battery asks and requires, whatever the layout of its files."""
    content = asdict(replace(battery, digest=""))
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _extend(known: dict[str, _N], more: Iterable[_N]) -> None:
    for element in more:
        known[element.id] = element


# ---- factors


class _Factors:
    """Factor levels collected over the files; neutral levels come from the built-in file."""

    def __init__(self) -> None:
        self.version = ""
        self.clocks: dict[str, str] = {}
        self.networks: list[str] = []
        self.arguments: list[str] = []
        self.environments: dict[str, tuple[tuple[str, str], ...]] = {}

    def read(self, document: Section) -> None:
        version = document.text("version")
        self.version = f"{self.version}+{version}" if self.version else version
        seen: set[str] = set()
        for section in document.sections("clocks"):
            level, start = section.identifier(seen, "level"), section.text("start")
            self.clocks[level] = _checked_start(section, start)
            section.text("title", "")
            section.close()
        for network in document.texts("networks"):
            if network not in NETWORKS:
                known = ", ".join(sorted(NETWORKS))
                raise document.complain(f"{network!r} is no network level; known: {known}", key="networks")
            if network not in self.networks:
                self.networks.append(network)
        seen = set()
        for section in document.sections("environments"):
            level = section.identifier(seen, "level")
            self.environments[level] = section.pairs("variables")
            section.close()
        self.arguments.extend(_argument_levels(document, set(self.arguments)))
        document.close()


def _checked_start(section: Section, start: str) -> str:
    try:
        moment = datetime.fromisoformat(start)
    except ValueError:
        raise section.complain(f"{start!r} is no ISO 8601 time", key="start") from None
    if moment.tzinfo is None:
        raise section.complain(f"{start!r} has no offset; add +00:00", key="start")
    return start


def _argument_levels(document: Section, known: set[str]) -> list[str]:
    from conjunct.battery.fixtures import read_argument_set

    found = []
    seen: set[str] = set()
    for section in document.sections("arguments"):
        argument_set = read_argument_set(section)
        if argument_set.level in seen:
            raise section.complain(f"{argument_set.level!r} is given twice in this file; rename one")
        seen.add(argument_set.level)
        if argument_set.level not in known:
            found.append(argument_set.level)
    return found


# ---- histories


def _read_histories(
    document: Section,
    carriers: dict[str, Carrier],
    families: dict[str, tuple[History, tuple[Past, ...], Section]],
) -> None:
    for section in document.sections("carriers"):
        carrier = _read_carrier(section)
        carriers[carrier.path] = carrier
    seen: set[str] = set()
    for section in document.sections("histories"):
        identifier = section.identifier(seen)
        topics = section.texts("topics", required=identifier != NEUTRAL)
        pasts = tuple(_read_past(part) for part in section.sections("phrasings", required=True))
        if topics:
            _check_key_topic(section, topics[0], pasts)
        title = section.text("title")
        section.close()
        families[identifier] = (History(identifier, title, (), topics), pasts, section)
    document.close()


def _read_carrier(section: Section) -> Carrier:
    path, name = section.text("path"), section.text("format")
    if path.startswith(("/", "~")) or ".." in path.split("/") or not path:
        raise section.complain(f"{path!r} must be relative to the home folder and stay inside it", key="path")
    if name not in FORMATS:
        raise section.complain(f"{name!r} is no format; known: {', '.join(FORMATS)}", key="format")
    days = section.text("days_ago", "3")
    if not days.isdigit() or int(days) > 3650:
        raise section.complain(f"{days!r} is no number of days from 0 to 3650", key="days_ago")
    section.close()
    return Carrier(path, name, int(days))


def _read_past(section: Section) -> Past:
    messages = []
    for part in section.sections("messages", required=True):
        spoken = [(who, part.text(who)) for who in ("user", "agent") if part.has(who)]
        if len(spoken) != 1:
            raise part.complain("expected exactly one of 'user' and 'agent'")
        part.close()
        messages += spoken
    past = Past(
        tuple(messages), section.texts("memory", required=True), section.texts("commands", required=True)
    )
    section.close()
    return past


def _check_key_topic(section: Section, key: str, pasts: tuple[Past, ...]) -> None:
    for number, past in enumerate(pasts):
        said = " ".join(text for who, text in past.messages if who == "user")
        places = {"user messages": said, "memory": " ".join(past.memory), "commands": " ".join(past.commands)}
        for place, text in places.items():
            if not mentions(text, key):
                message = f"phrasing {number} does not mention the key topic {key!r} in its {place}; add it"
                raise section.complain(message, key="phrasings")


def mentions(text: str, topic: str) -> bool:
    """Whether `text` holds `topic` as whole words, whatever the case."""
    return re.search(rf"(?<!\w){re.escape(topic)}(?!\w)", text, re.IGNORECASE) is not None


def _rendered(
    history: History, pasts: tuple[Past, ...], carriers: Mapping[str, Carrier], start: datetime
) -> History:
    phrasings = tuple(
        Phrasing(
            past.messages, tuple((path, render(carrier, past, start)) for path, carrier in carriers.items())
        )
        for past in pasts
    )
    return replace(history, phrasings=phrasings)


# ---- invariants


def _read_rules(document: Section, vocabularies: Mapping[str, str]) -> list[InvariantRule]:
    seen: set[str] = set()
    rules = []
    for section in document.sections("invariants"):
        identifier = section.identifier(seen)
        layer = section.one_of("layer", Layer)
        predicate = section.text("predicate")
        if predicate not in PREDICATES:
            known = ", ".join(sorted(PREDICATES))
            raise section.complain(f"{predicate!r} is no predicate; known: {known}", key="predicate")
        if PREDICATES[predicate].layer is not layer:
            wanted = PREDICATES[predicate].layer
            raise section.complain(f"{predicate!r} judges {wanted}, not {layer}", key="layer")
        parameters = []
        for name, value in section.pairs("parameters"):
            if value.startswith("$"):
                if value[1:] not in vocabularies:
                    raise section.complain(f"no vocabulary {value[1:]!r}", key=f"parameters.{name}")
                value = vocabularies[value[1:]]
            parameters.append((name, value))
        given = {name for name, _ in parameters}
        if missing := PREDICATES[predicate].parameters - given:
            raise section.complain(f"parameters missing: {', '.join(sorted(missing))}", key="parameters")
        rules.append(
            InvariantRule(
                identifier,
                layer,
                section.text("title"),
                predicate,
                section.one_of("severity", Severity),
                tuple(parameters),
            )
        )
        section.close()
    document.close()
    return rules
