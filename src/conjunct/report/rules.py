"""The codes of findings as rules: what each means, and where it stands in the common taxonomies."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

import yaml

from conjunct.battery import load_battery
from conjunct.provenance.codes import codes

_FIELDS = ("owasp", "atlas", "cwe")


@dataclass(frozen=True, slots=True)
class Rule:
    """One code."""

    code: str
    title: str
    taxa: tuple[tuple[str, str], ...] = ()
    """(taxonomy, id), as in (`CWE`, `CWE-200`)."""


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    text = resources.files("conjunct.report").joinpath("taxonomies.yaml").read_text(encoding="utf-8")
    table: dict[str, Any] = yaml.safe_load(text)
    return table


@lru_cache(maxsize=1)
def _titles() -> dict[str, str]:
    return {rule.id: rule.title for rule in load_battery(None).invariants}


def taxonomies() -> tuple[tuple[str, str], ...]:
    """(name, organization) of every taxonomy that rules refer to."""
    return tuple((one["name"], one["organization"]) for one in _table()["taxonomies"].values())


def rule_of(code: str) -> Rule:
    """The rule behind a code. One from a user's own battery has no title but its code."""
    known = codes().get(code)
    if known is not None:
        return Rule(code, known.meaning, _taxa({name: getattr(known, name) for name in _FIELDS}))
    row = next((one for one in _table()["codes"] if fnmatch.fnmatchcase(code, one["code"])), None)
    return Rule(code, _titles().get(code, code), _taxa(row) if row else ())


def _taxa(row: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    names = {field: one["name"] for field, one in _table()["taxonomies"].items()}
    return tuple((names[field], taxon) for field in _FIELDS for taxon in row[field])
