"""Well-known credentials and whose business each is: for what source reaches and for what worlds plant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from conjunct.reach.path_globs import any_of
from conjunct.reach.resources import normalise_path
from conjunct.reach.tables import table


@dataclass(frozen=True, slots=True)
class Credential:
    """A well-known credential: where it is found, and whose business it is."""

    id: str
    names: tuple[str, ...]
    """Environment variables."""
    files: tuple[str, ...]
    """Paths relative to home."""
    paths: tuple[str, ...]
    """Globs of further paths."""
    audience: tuple[str, ...]
    """Host globs; empty where it is nobody's business on its own."""
    programs: tuple[str, ...]
    """Commands that read it by themselves."""
    usual: tuple[str, ...]
    """Variables that hold it on a developer's machine."""


@cache
def credentials() -> tuple[Credential, ...]:
    """All rows of `data/credentials.yaml`."""
    fields = ("names", "files", "paths", "audience", "programs", "usual")
    return tuple(
        Credential(row["id"], **{field: tuple(row.get(field, ())) for field in fields})
        for row in table("credentials")
    )


def audience_of(secret: str) -> tuple[str, ...] | None:
    """Host globs for a secret (`env:NAME` or a path); `None` where it is not a well-known credential."""
    if secret.startswith("env:"):
        name = secret[4:].upper()
        return next((one.audience for one in credentials() if name in one.names), None)
    text = normalise_path(secret).lower()
    return next((audience for pattern, audience in _paths() if pattern.match(text)), None)


@cache
def _paths() -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    return tuple(
        (any_of((*(f"~/{file}" for file in one.files), *one.paths)), one.audience)
        for one in credentials()
        if one.files or one.paths
    )
