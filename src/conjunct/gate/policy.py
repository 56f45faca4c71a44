"""The admission policy: a TOML file, versioned with the registry, with defaults that are right for most."""

from __future__ import annotations

import datetime
import fnmatch
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from conjunct.errors import PolicyError
from conjunct.model import MINIMUM_HORIZON, Finding, Severity

POLICY_FILE = "conjunct.toml"


@dataclass(frozen=True, slots=True)
class Suppression:
    """One finding of one package version that somebody answers for, until a date."""

    digest: str
    finding: str
    """Code of the finding, or a glob of codes."""
    reason: str
    owner: str
    expires: datetime.date


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
    suppressions: tuple[Suppression, ...] = ()

    def severity(self, code: str, default: Severity) -> Severity:
        """The severity of a code under this policy."""
        if _listed(code, self.reject):
            return Severity.REJECT
        if _listed(code, self.review):
            return Severity.REVIEW if default is Severity.NOTE else default
        if _listed(code, self.note):
            return Severity.NOTE
        return default

    def suppressed(self, finding: Finding, digest: str, today: datetime.date) -> Suppression | None:
        """The suppression that covers a finding of the package with that digest today, if any."""
        for one in self.suppressions:
            if (
                one.digest == digest
                and one.expires >= today
                and fnmatch.fnmatchcase(finding.code, one.finding)
            ):
                return one
        return None


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
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PolicyError(
            f"{path}: cannot be read ({error.strerror}); check the path given to --policy"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PolicyError(f"{path}: is not valid TOML: {error}") from error
    unknown = set(data) - {"policy", "suppress"}
    if unknown:
        raise PolicyError(
            f"{path}: unknown table {sorted(unknown)[0]!r}; known are [policy] and [[suppress]]"
        )
    table = data.get("policy", {})
    known = {field.name for field in fields(Policy)} - {"suppressions"}
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
    suppress = data.get("suppress", [])
    if not isinstance(suppress, list):
        raise PolicyError(f"{path}: write suppressions as [[suppress]] tables")
    values["suppressions"] = tuple(_suppression(path, number, one) for number, one in enumerate(suppress, 1))
    return Policy(**values)


def _codes(path: Path, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise PolicyError(f"{path}: {key} is {value!r}, but must be a list of finding codes")
    return tuple(value)


def _number(path: Path, key: str, value: object, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise PolicyError(f"{path}: {key} is {value!r}, but must be a whole number of at least {least}")
    return value


def _suppression(path: Path, number: int, value: dict[str, Any]) -> Suppression:
    wanted = {field.name for field in fields(Suppression)}
    if not isinstance(value, dict) or set(value) != wanted:
        raise PolicyError(
            f"{path}: suppression {number} must have exactly the keys {', '.join(sorted(wanted))}"
        )
    if not isinstance(value["expires"], datetime.date):
        raise PolicyError(
            f"{path}: suppression {number}: expires must be a date like 2027-01-31, without quotes"
        )
    for key in sorted(wanted - {"expires"}):
        if not isinstance(value[key], str) or not value[key].strip():
            raise PolicyError(f"{path}: suppression {number}: {key} must be a text that is not empty")
    return Suppression(**value)
