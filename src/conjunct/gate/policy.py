"""The admission policy: a TOML file, versioned with the registry, with defaults that are right for most."""

from __future__ import annotations

import datetime
import fnmatch
import tomllib
from collections.abc import Collection
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from conjunct.errors import PolicyError
from conjunct.gate.rules import Answer, Decided, Suppression
from conjunct.model import MINIMUM_HORIZON, Finding, Layer, Severity

POLICY_FILE = "conjunct.toml"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From which share of fresh runs on a violation of one layer counts. A share of 1 is every run."""

    reject_at: float = 1.0
    """Share from which a violation whose severity is `reject` rejects; below it is reviewed. Above 0."""
    review_at: float = 0.0
    """Share under which a violation is only noted; evidence that is exact to the byte is never dropped."""


DEFAULT_THRESHOLDS = Thresholds()
_STRICT = (Layer.LEAKS, Layer.STAYS)
"""What left or lasts is never only noted."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How verdicts follow from evidence. Codes are globs over finding codes and invariant ids."""

    reject: tuple[str, ...] = ()
    """Codes that reject although the battery only asks for a review."""
    review: tuple[str, ...] = ()
    """Codes that ask for a review although they are notes."""
    note: tuple[str, ...] = ()
    """Codes that never change a verdict. Completed leaks and changes that stay cannot be listed here."""
    horizon: int = 6
    """Turns per episode, at least 4."""
    strength: int = 3
    """Largest number of factors varied at once."""
    most_episodes: int = 600
    """Runs per skill."""
    layers: tuple[tuple[Layer, Thresholds], ...] = ()
    """Thresholds of the layers that do not have the default ones."""
    suppressions: tuple[Suppression, ...] = ()
    answers: tuple[Answer, ...] = ()

    def severity(self, code: str, default: Severity) -> Severity:
        """The severity of a code under this policy."""
        if _listed(code, self.reject):
            return Severity.REJECT
        if _listed(code, self.review):
            return Severity.REVIEW if default is Severity.NOTE else default
        if _listed(code, self.note):
            return Severity.NOTE
        return default

    def thresholds(self, layer: Layer) -> Thresholds:
        """The thresholds of a layer."""
        return dict(self.layers).get(layer, DEFAULT_THRESHOLDS)

    def suppressed(self, finding: Finding, digest: str, today: datetime.date) -> Suppression | None:
        """The suppression that covers a finding of the package with that digest today, if any."""
        covering = (one for one in self.suppressions if one.covers(finding, digest))
        return next((one for one in covering if one.expires >= today), None)

    def answered(self, finding: Finding, digest: str, today: datetime.date) -> Answer | None:
        """The answer to a finding's question that holds today, if any; of two answers a no counts."""
        holding = [one for one in self.answers if one.covers(finding, digest) and one.expires >= today]
        return min(holding, key=lambda one: one.answer, default=None)

    def expired(self, finding: Finding, digest: str, today: datetime.date) -> Suppression | Answer | None:
        """A decision on a finding that held until some day before today, if any."""
        known: tuple[Suppression | Answer, ...] = (*self.suppressions, *self.answers)
        return next((one for one in known if one.covers(finding, digest) and one.expires < today), None)

    def decisions_on(self, skill: str, digest: str) -> tuple[Decided, ...]:
        """What people decided about one package, for the ledger."""
        told = [
            Decided(f"accept {one.finding} until {one.expires}", one.owner, one.reason)
            for one in self.suppressions
            if one.digest == digest
        ]
        told += [
            Decided(
                f"{'yes' if one.answer else 'no'} to {one.question!r} ({one.finding}) until {one.expires}",
                one.owner,
                one.reason,
            )
            for one in self.answers
            if one.skill == skill and one.digest in ("", digest)
        ]
        return tuple(told)


def _listed(code: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(code, glob) for glob in globs)


def load_policy(path: Path | None) -> Policy:
    """Read an admission policy; `None` gives the defaults.

    Raises:
        PolicyError: not TOML, an unknown key, a value of the wrong type or out of range; names file and key.
    """
    if path is None:
        return Policy()
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise PolicyError(
            f"{path}: cannot be read ({error.strerror}); check the path given to --policy"
        ) from error
    except UnicodeDecodeError as error:
        raise PolicyError(f"{path}: is not valid TOML: {error}") from error
    return read_policy(text, path)


def read_policy(text: str, path: Path) -> Policy:
    """The policy in a text; `path` is for the messages. Raises `PolicyError` as `load_policy` does."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{path}: is not valid TOML: {error}") from error
    unknown = set(data) - {"policy", "layer", "suppress", "answer"}
    if unknown:
        raise PolicyError(
            f"{path}: unknown table {sorted(unknown)[0]!r}; "
            f"known are [policy], [layer.NAME], [[suppress]] and [[answer]]"
        )
    table = _table(path, "policy", data.get("policy", {}))
    known = {field.name for field in fields(Policy)} - {"layers", "suppressions", "answers"}
    for key in table:
        if key not in known:
            raise PolicyError(f"{path}: [policy] has no key {key!r}; known are {', '.join(sorted(known))}")
    values: dict[str, Any] = {}
    for key in ("reject", "review", "note"):
        if key in table:
            values[key] = _codes(path, key, table[key])
    for key, least in (("horizon", MINIMUM_HORIZON), ("strength", 1), ("most_episodes", 1)):
        if key in table:
            values[key] = _number(path, key, table[key], least)
    for code in values.get("note", ()):
        if code.split(".")[0].rstrip("*") in {"", "leaks", "stays"}:
            raise PolicyError(
                f"{path}: note = [{code!r}] would admit completed leaks or lasting changes; "
                f"suppress a finding of one digest with [[suppress]] instead"
            )
    values["layers"] = _layers(path, _table(path, "layer", data.get("layer", {})))
    values["suppressions"] = tuple(
        _suppression(path, number, one) for number, one in enumerate(_tables(path, "suppress", data), 1)
    )
    values["answers"] = tuple(
        _answer(path, number, one) for number, one in enumerate(_tables(path, "answer", data), 1)
    )
    return Policy(**values)


def _table(path: Path, name: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise PolicyError(f"{path}: {name} must be a table, written as [{name}]")
    return value


def _tables(path: Path, name: str, data: dict[str, Any]) -> list[Any]:
    listed = data.get(name, [])
    if not isinstance(listed, list):
        raise PolicyError(f"{path}: write each {name} as a [[{name}]] table")
    return listed


def _codes(path: Path, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise PolicyError(f"{path}: {key} is {value!r}, but must be a list of finding codes")
    return tuple(value)


def _number(path: Path, key: str, value: object, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise PolicyError(f"{path}: {key} is {value!r}, but must be a whole number of at least {least}")
    return value


def _layers(path: Path, table: dict[str, Any]) -> tuple[tuple[Layer, Thresholds], ...]:
    known = [str(layer) for layer in Layer]
    keys = [field.name for field in fields(Thresholds)]
    for name, given in table.items():
        if name not in known:
            raise PolicyError(f"{path}: [layer.{name}] is no layer; known are {', '.join(known)}")
        for key, value in _table(path, f"layer.{name}", given).items():
            if key not in keys:
                raise PolicyError(f"{path}: [layer.{name}] has no key {key!r}; known are {', '.join(keys)}")
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0 <= value <= 1 or (key == "reject_at" and value == 0):
                raise PolicyError(
                    f"{path}: [layer.{name}] {key} is {value!r}, but must be a share of the fresh runs "
                    f"from 0 to 1{', above 0' if key == 'reject_at' else ''}"
                )
        if given.get("review_at") and Layer(name) in _STRICT:
            raise PolicyError(
                f"{path}: [layer.{name}] review_at would admit completed leaks or lasting changes; "
                f"suppress a finding of one digest with [[suppress]] instead"
            )
    found = ((layer, Thresholds(**table[str(layer)])) for layer in Layer if str(layer) in table)
    return tuple((layer, one) for layer, one in found if one != DEFAULT_THRESHOLDS)


def _suppression(path: Path, number: int, value: object) -> Suppression:
    return Suppression(**_decided(path, "suppression", number, value, _names(Suppression)))


def _answer(path: Path, number: int, value: object) -> Answer:
    given = _decided(path, "answer", number, value, _names(Answer) - {"digest"}, optional={"digest"})
    if given["answer"] not in ("yes", "no"):
        raise PolicyError(f"{path}: answer {number}: answer is {given['answer']!r}, but must be yes or no")
    return Answer(**{**given, "answer": given["answer"] == "yes"})


def _names(kind: type[Suppression] | type[Answer]) -> set[str]:
    return {field.name for field in fields(kind)}


def _decided(
    path: Path, what: str, number: int, value: object, wanted: set[str], *, optional: Collection[str] = ()
) -> dict[str, Any]:
    if not isinstance(value, dict) or set(value) - set(optional) != wanted:
        more = f" and may have {', '.join(sorted(optional))}" if optional else ""
        raise PolicyError(
            f"{path}: {what} {number} must have exactly the keys {', '.join(sorted(wanted))}{more}"
        )
    # A date with a time is a date too, but not one that a date can be compared with.
    if type(value["expires"]) is not datetime.date:
        raise PolicyError(f"{path}: {what} {number}: expires must be a date like 2027-01-31, without quotes")
    for key in sorted(set(value) - {"expires"}):
        if not isinstance(value[key], str) or not value[key].strip():
            raise PolicyError(f"{path}: {what} {number}: {key} must be a text that is not empty")
    return value
