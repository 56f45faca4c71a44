"""Set-up notes for people: a key, a folder of programs or completions, kept in a shell start-up file."""

from __future__ import annotations

import re

from conjunct.model import Directive, DirectiveKind
from conjunct.reach.resources import is_secret_variable

_FILE = r"\s*>>\s*[\"']?(?:~|\$HOME|\$\{HOME\})/\.[\w./-]{1,60}[\"']?\s*(?:#.{0,200})?"
_ASSIGNS = re.compile(
    r"\s*echo\s+(?P<mark>[\"'])(?:export\s+)?(?P<name>[A-Z][A-Z0-9_]{0,60})=(?P<value>[^`;|&\n]{0,200})(?P=mark)"
    + _FILE
)
_COMPLETES = re.compile(
    r"\s*[\w-]{1,40}\s+(?:--)?completions?\s+(?:bash|zsh|fish)\s*>>?\s*(?:~|\$HOME)/\.[\w./-]{1,80}\s*(?:#.{0,200})?"
)
_PLAIN_VALUE = re.compile(r"[^$()]*")
_PROGRAM_FOLDERS = re.compile(
    r"[\\\"']*(?:(?:~|\\?\$HOME|\\?\$\{HOME\})/(?:\.local|\.cargo|\.bun|\.deno|go|\.krew)/bin|/(?:usr/local|opt)/[\w./-]{1,60})"
    r":\\?\$\{?PATH\}?[\\\"']*"
)
_NAMES_CONTENT = re.compile(
    r"`(?!~/|\$HOME/|\.\w+`|export`)[^`]*`|https?://|[\w./]\(\)|:\s*$|\b(?:this|these|following|below)\b",
    re.IGNORECASE,
)


def is_set_up_note(directive: Directive) -> bool:
    """Whether a directive only keeps a credential, a folder of programs or completions for later shells.

    Nothing runs and nothing arrives by such a line. A variable that loads code or moves traffic
    (`LD_PRELOAD`, `HTTPS_PROXY`, `…_BASE_URL`), an unusual folder, an alias or a substitution is none, and
    neither is a sentence that names what is to be added.
    """
    if directive.kind is DirectiveKind.RUN:
        lines = [line for line in directive.command.splitlines() if line.strip()]
        if len(lines) > 12 or len(directive.command) > 2000:
            return False
        keeping = [_keeps(line) for line in lines]
        return any(keeping) and all(
            kept or _BESIDE.fullmatch(line) for kept, line in zip(keeping, lines, strict=True)
        )
    if directive.kind is not DirectiveKind.ACT or directive.verb.lower() not in ("append", "write", "set"):
        return False
    return _SHELL_FILE.search(directive.quote) is not None and _NAMES_CONTENT.search(directive.quote) is None


def _keeps(line: str) -> bool:
    """Whether one command appends a credential, a usual folder of programs, or completions."""
    found = _ASSIGNS.fullmatch(line)
    if found is None:
        return _COMPLETES.fullmatch(line) is not None
    if found["name"] == "PATH":
        return _PROGRAM_FOLDERS.fullmatch(found["value"]) is not None
    return is_secret_variable(found["name"]) and _PLAIN_VALUE.fullmatch(found["value"]) is not None


_BESIDE = re.compile(
    r"\s*(?:#.*|(?:source|\.)\s+~/\.[\w./-]{1,60}|(?:export\s+)?[A-Z][A-Z0-9_]{0,60}=[^`$()|;&]{0,200})\s*"
)
"""What may stand beside such a command: comments, reading the file again, the same for this shell."""

_SHELL_FILE = re.compile(r"~/\.(?:bashrc|zshrc|profile|bash_profile|zprofile|config/fish)\b")
