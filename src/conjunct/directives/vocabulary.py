"""The words the compiler knows, read from `data/*.yaml` and checked once.

Everything is text: YAML's own typing would turn the words `no` and `on` into booleans.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import cast

import yaml

from conjunct.errors import UsageError
from conjunct.model import FactorKind

_FILES = ("verbs", "resources", "headings", "conditions", "postures", "sensitive", "languages")
_CONDUCT = (
    "postures.override.verbs",
    "postures.override.ask_verbs",
    "postures.override.refuse_verbs",
    "postures.override.pretend_verbs",
    "postures.override.auto_verbs",
    "postures.override.auto_with_prompts",
    "postures.conceal.verbs",
    "postures.conceal.hide_verbs",
    "postures.delegate.verbs",
    "postures.remember.verbs",
    "postures.remember.mind_verbs",
)
"""Lists of verbs about conduct that open instructions too."""
_BEFORE_VERBS = (
    "verbs.openers",
    "verbs.by_openers",
    "verbs.prohibitions",
    "verbs.exemptions",
    "verbs.addressee_words",
    "verbs.addressees",
    "verbs.fillers",
)
_ABSTAINING = frozenset(
    {"avoid", "refrain", "without", "stop", "never", "don't", "dont", "not", "cannot", "can't", "mustn't",
     "shouldn't"}
)  # fmt: skip
"""Words by themselves that an instruction not to do something opens with."""
_NEEDS = {"outward", "path", "target", "thing", "url", "any", "private", "variable", "credential"}
_OPERATORS = {"mentions", "installed", "at_least", "equals", "before", "after", "exists", "unknown"}


class Phrases:
    """A set of words and of word sequences, found in a list of lower-case words."""

    __slots__ = ("_multiple", "single", "starts", "written")

    def __init__(self, phrases: Iterable[str]) -> None:
        self.written = tuple(phrases)
        single: set[str] = set()
        multiple: dict[str, list[tuple[str, ...]]] = {}
        for phrase in self.written:
            words = tuple(phrase.lower().split())
            if len(words) == 1:
                single.add(words[0])
            elif words:
                multiple.setdefault(words[0], []).append(words)
        self.single = frozenset(single)
        self.starts = self.single | multiple.keys()
        self._multiple = {
            first: tuple(sorted(group, key=len, reverse=True)) for first, group in multiple.items()
        }

    def at(self, words: Sequence[str], index: int) -> int:
        """Length in words of the longest phrase that starts at `index`, or 0 (also behind the last word)."""
        if index >= len(words) or (word := words[index]) not in self.starts:
            return 0
        for phrase in self._multiple.get(word, ()):
            if tuple(words[index : index + len(phrase)]) == phrase:
                return len(phrase)
        return 1 if word in self.single else 0

    def find(self, words: Sequence[str], start: int = 0, end: int | None = None) -> int:
        """Index of the first phrase in `words[start:end]`, or -1."""
        stop = len(words) if end is None else min(end, len(words))
        starts = self.starts
        if starts.isdisjoint(words):
            return -1
        for index in range(max(start, 0), stop):
            if words[index] in starts and self.at(words, index):
                return index
        return -1

    def may_occur(self, words: Iterable[str]) -> bool:
        """Whether a first word of any phrase is among `words`: a quick look before a search."""
        return not self.starts.isdisjoint(words)

    def within(self, words: Sequence[str], start: int = 0, end: int | None = None) -> bool:
        """Whether any phrase occurs in `words[start:end]`."""
        return self.find(words, start, end) >= 0


@dataclass(frozen=True, slots=True)
class ActVerb:
    """One canonical verb of an effect on a resource."""

    name: str
    base: Phrases
    to: frozenset[str]
    needs: str
    nouns: Phrases


@dataclass(frozen=True, slots=True)
class ConditionRule:
    """What a condition means when its pattern is found."""

    factor: FactorKind
    operator: str
    pattern: re.Pattern[str]
    opener: re.Pattern[str] | None
    named: bool
    """The value must look like a name of a skill, not like a common word."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All word lists, by the name they have in the data files (`verbs.fillers`)."""

    words: Mapping[str, Phrases]
    acts: tuple[ActVerb, ...]
    base: Mapping[str, tuple[ActVerb, ...]]
    """First word of a base form to the verbs it may mean."""
    participle: Mapping[str, tuple[ActVerb, ...]]
    gerund: Mapping[str, tuple[ActVerb, ...]]
    imperative: frozenset[str]
    """First words of every verb that opens an instruction."""
    verbal: frozenset[str]
    """These, and every participle and gerund: without one of them a statement orders nothing."""
    opening: frozenset[str]
    """First words of everything that may stand before the verb of an instruction."""
    conditions: tuple[ConditionRule, ...]
    pairs: tuple[tuple[Phrases, Phrases], ...]

    def __getitem__(self, name: str) -> Phrases:
        return self.words[name]


@functools.cache
def vocabulary() -> Vocabulary:
    """The vocabulary of this version. Raises `UsageError` when a data file is not valid."""
    data = {name: _load(name) for name in _FILES}
    words: dict[str, Phrases] = {}
    for name, content in data.items():
        _collect(f"{name}", content, words)
    verbs = data["verbs"]
    acts = tuple(_act(name, entry) for name, entry in _mapping("verbs.acts", verbs["acts"]).items())
    base: dict[str, list[ActVerb]] = {}
    participle: dict[str, list[ActVerb]] = {}
    gerund: dict[str, list[ActVerb]] = {}
    for act in acts:
        entry = _mapping(f"verbs.acts.{act.name}", _mapping("verbs.acts", verbs["acts"])[act.name])
        for form, table in (("base", base), ("participle", participle), ("gerund", gerund)):
            for word in _strings(f"verbs.acts.{act.name}.{form}", entry[form]):
                table.setdefault(word.lower().split()[0], []).append(act)
    run = _mapping("verbs.run", verbs["run"])
    imperative = {
        *base,
        *(word.split()[0] for word in _strings("verbs.generic", verbs["generic"])),
        *_strings("verbs.run.base", run["base"]),
        *(word.split()[0] for name in _CONDUCT for word in words[name].written),
    }
    run_participles = words["verbs.run.participle"].single
    return Vocabulary(
        words=words,
        acts=acts,
        base={word: tuple(group) for word, group in base.items()},
        participle=dict.fromkeys(run_participles, ())
        | {word: tuple(group) for word, group in participle.items()},
        gerund={word: tuple(group) for word, group in gerund.items()},
        imperative=frozenset(imperative),
        verbal=frozenset(
            {*imperative, *participle, *gerund, *run_participles, *words["verbs.run.gerund"].single}
        ),
        opening=_ABSTAINING.union(*(words[name].starts for name in _BEFORE_VERBS)),
        conditions=_condition_rules(data["conditions"]),
        pairs=tuple(
            (
                Phrases(_strings("sensitive.pairs.first", _mapping("sensitive.pairs", pair)["first"])),
                Phrases(_strings("sensitive.pairs.second", _mapping("sensitive.pairs", pair)["second"])),
            )
            for pair in _list("sensitive.pairs", data["sensitive"]["pairs"])
        ),
    )


def _load(name: str) -> dict[str, object]:
    try:
        content = yaml.load(_read(name), Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    except yaml.YAMLError as error:
        raise UsageError(f"directives/data/{name}.yaml is not valid YAML: {error}") from error
    return _mapping(name, content)


def _read(name: str) -> str:
    return resources.files(__package__).joinpath("data", f"{name}.yaml").read_text(encoding="utf-8")


def _collect(prefix: str, content: object, words: dict[str, Phrases]) -> None:
    """Register every list of words below `content` under its dotted name."""
    if isinstance(content, dict):
        for key, value in content.items():
            _collect(f"{prefix}.{key}", value, words)
    elif isinstance(content, list) and all(isinstance(item, str) for item in content):
        words[prefix] = Phrases(content)


def _mapping(where: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise UsageError(f"directives/data: {where} must be a mapping, not {type(value).__name__}")
    return cast("dict[str, object]", value)


def _list(where: str, value: object) -> list[object]:
    if not isinstance(value, list):
        raise UsageError(f"directives/data: {where} must be a list, not {type(value).__name__}")
    return value


def _strings(where: str, value: object) -> list[str]:
    items = _list(where, value)
    for item in items:
        if not isinstance(item, str) or not item.strip():
            raise UsageError(
                f"directives/data: {where} holds {item!r}; every element must be a word or a phrase"
            )
    return cast("list[str]", items)


def _act(name: str, value: object) -> ActVerb:
    where = f"verbs.acts.{name}"
    entry = _mapping(where, value)
    for key in ("base", "participle", "gerund", "to", "needs"):
        if key not in entry:
            raise UsageError(f"directives/data: {where} has no `{key}`")
    needs = str(entry["needs"])
    if needs not in _NEEDS:
        raise UsageError(f"directives/data: {where}.needs is {needs!r}; expected one of {sorted(_NEEDS)}")
    return ActVerb(
        name=name,
        base=Phrases(
            [
                *_strings(f"{where}.base", entry["base"]),
                *_strings(f"{where}.participle", entry["participle"]),
                *_strings(f"{where}.gerund", entry["gerund"]),
            ]
        ),
        to=frozenset(_strings(f"{where}.to", entry["to"])),
        needs=needs,
        nouns=Phrases(_strings(f"{where}.nouns", entry.get("nouns", []))),
    )


def _condition_rules(data: dict[str, object]) -> tuple[ConditionRule, ...]:
    parts = {key: str(value) for key, value in _mapping("conditions.parts", data["parts"]).items()}
    for _ in range(3):  # parts may use parts
        parts = {key: _substitute(value, parts) for key, value in parts.items()}
    rules = []
    for index, value in enumerate(_list("conditions.rules", data["rules"])):
        where = f"conditions.rules[{index}]"
        rule = _mapping(where, value)
        operator = str(rule.get("operator"))
        if operator not in _OPERATORS:
            raise UsageError(
                f"directives/data: {where}.operator is {operator!r}; expected one of {_OPERATORS}"
            )
        try:
            pattern = re.compile(_substitute(str(rule["pattern"]), parts))
            opener = re.compile(str(rule["opener"])) if "opener" in rule else None
            factor = FactorKind(str(rule["factor"]))
        except (re.error, KeyError, ValueError) as error:
            raise UsageError(f"directives/data: {where} is not valid: {error}") from error
        rules.append(ConditionRule(factor, operator, pattern, opener, "kebab" in rule or "name" in rule))
    return tuple(rules)


def _substitute(pattern: str, parts: Mapping[str, str]) -> str:
    return re.sub(r"\{([a-z]{2,})\}", lambda found: parts.get(found[1], found[0]), pattern)
