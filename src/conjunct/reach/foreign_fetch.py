"""Download-and-run one-liners in languages that have no grammar here."""

from __future__ import annotations

import re

from conjunct.reach.commands import remote_code
from conjunct.reach.found import UNKNOWN, Place, Sightings


def read_foreign_fetch(text: str, place: Place, seen: Sightings) -> None:
    """PowerShell and other one-liners that download and run: no grammar, one bounded look per line."""
    for number, line in enumerate(text.splitlines()):
        if len(line) > 4000 or not _DOWNLOADS.search(line) or not _EXECUTES.search(line):
            continue
        url = _ANY_URL.search(line) or _PLAIN_URL.search(line)
        remote_code(
            url.group(url.lastindex or 0) if url else UNKNOWN, place.at(place.line + number), seen, 0.9
        )


_DOWNLOADS = re.compile(
    r"\b(?:iwr|irm|invoke-webrequest|invoke-restmethod|downloadstring|downloadfile|net\.webclient|open-uri|"
    r"LWP::Simple|curl|wget|start-bitstransfer)\b",
    re.IGNORECASE,
)
_EXECUTES = re.compile(
    r"\b(?:iex|invoke-expression|eval|system|exec|start-process|do shell script)\b", re.IGNORECASE
)
_ANY_URL = re.compile(r"https?://[^\s'\"<>|;)`\\]+", re.IGNORECASE)
_PLAIN_URL = re.compile(
    r"\b(?:iwr|irm|invoke-webrequest|invoke-restmethod|curl|wget)\s+(?:-\w+\s+){0,4}['\"]?"
    r"((?:[a-z0-9-]{1,63}\.){1,4}[a-z]{2,24}/[^\s'\"<>|;)`\\]*)",
    re.IGNORECASE,
)
"""An address without its scheme: `irm bun.sh/install.ps1 | iex`."""
