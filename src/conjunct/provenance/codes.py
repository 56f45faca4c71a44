"""The codes of this room's findings, with their meaning and their place in the common taxonomies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import yaml

from conjunct.model import Severity


@dataclass(frozen=True, slots=True)
class Code:
    """One stable code."""

    name: str
    meaning: str
    severity: Severity
    """The highest severity a finding with this code can have."""
    owasp: tuple[str, ...]
    atlas: tuple[str, ...]
    cwe: tuple[str, ...]


@lru_cache(maxsize=1)
def codes() -> dict[str, Code]:
    """Every code by name, in the order of the data file."""
    text = resources.files("conjunct.provenance").joinpath("data/codes.yaml").read_text(encoding="utf-8")
    return {
        name: Code(
            name,
            row["meaning"],
            Severity(row["severity"]),
            tuple(row["owasp"]),
            tuple(row["atlas"]),
            tuple(row["cwe"]),
        )
        for name, row in yaml.safe_load(text)["codes"].items()
    }


def codes_table() -> str:
    """The codes as a Markdown table, as it stands in `docs/claims.md`."""
    rows = ["| code | meaning | severity | OWASP AST | MITRE ATLAS | CWE |", "|---|---|---|---|---|---|"]
    for code in codes().values():
        cells = (
            f"`{code.name}`",
            code.meaning,
            code.severity.value,
            ", ".join(code.owasp),
            ", ".join(code.atlas),
            ", ".join(code.cwe),
        )
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"
