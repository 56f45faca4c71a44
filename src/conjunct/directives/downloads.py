"""PowerShell that fetches, wherever it is written: `Invoke-WebRequest … -OutFile`, `irm … | iex`."""

from __future__ import annotations

import re
from typing import Final

from conjunct.model import Directive, DirectiveKind

_LENGTH: Final = 2000
_FETCH = re.compile(
    r"(?<![\w-])(?:Invoke-WebRequest|Invoke-RestMethod|iwr|irm|Start-BitsTransfer|DownloadString|DownloadFile"
    r"|DownloadData|certutil(?:\.exe)?|bitsadmin(?:\.exe)?|mshta(?:\.exe)?)(?![\w-])",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://[^\s\"'`()|;,<>]{3,400}", re.IGNORECASE)
_FILE = re.compile(r"-(?:OutFile|Destination|o|out)\s{1,4}[\"']?([^\s\"'|;]{1,200})", re.IGNORECASE)
_EXECUTED = re.compile(r"(?<![\w-])(?:iex|Invoke-Expression|mshta(?:\.exe)?)(?![\w-])", re.IGNORECASE)


def fetches(text: str) -> bool:
    """Whether a line of PowerShell downloads from an address."""
    return _FETCH.search(text[:_LENGTH]) is not None and _ADDRESS.search(text[:_LENGTH]) is not None


def downloads(text: str, file: str, line: int, folder: str, *, mention: bool = False) -> list[Directive]:
    """The command as written, and for each address a `download`, or `follow` where what comes back is run."""
    if not fetches(text):
        return []
    text = text[:_LENGTH].strip()
    quote = " ".join(text.split())[:300]
    verb = "follow" if _EXECUTED.search(text) else "download"
    target = _FILE.search(text)
    found = [
        Directive(
            DirectiveKind.RUN, file, line, quote, verb="run", command=text, language="shell", folder=folder,
            mention=mention, confidence=0.9,
        )
    ]  # fmt: skip
    for address in list(dict.fromkeys(_ADDRESS.findall(text)))[:4]:
        found.append(
            Directive(
                DirectiveKind.ACT, file, line, quote, verb=verb, object=address,
                target=target[1] if target else "", mention=mention, confidence=0.9,
            )
        )  # fmt: skip
    return found
