"""Commands in inline code and in usage text, and which of them only install the package itself."""

from __future__ import annotations

import posixpath
import re

from conjunct.directives.block_commands import PROMPT, TREE
from conjunct.directives.package import Package, script_command
from conjunct.directives.tokens import PATH, classify
from conjunct.directives.vocabulary import vocabulary

_USAGE = re.compile(r"^\s{0,12}usage:\s{0,4}(\S.{0,600})", re.IGNORECASE)
_ENVIRONMENT = re.compile(r"^(?:[A-Za-z_]\w{0,60}=\S{0,200}\s+){1,8}")


def inline_command(code: str, package: Package) -> str:
    """The command that a span of inline code is, or an empty string."""
    text = PROMPT.sub("", code, count=1).strip()
    bare = _ENVIRONMENT.sub("", text)
    words = bare.split()
    if not words or len(text) > 1000 or text.endswith((":", "(", "{")) or "://" in words[0]:
        return ""
    first = words[0]
    lexicon = vocabulary()
    if first.endswith(("()", ",")) or "(" in first or "=" in first:
        return ""
    if len(words) == 1:
        located = package.locate(first) if classify(first) == PATH else ""
        return script_command(located) if located and not located.endswith(".md") else ""
    if first in lexicon["resources.programs"].single:
        if first in lexicon["resources.weak_programs"].single:
            if words[1] in lexicon["resources.prose_seconds"].single:
                return ""
            known = (
                first in lexicon["resources.installers"].single
                or first in lexicon["resources.subcommand_programs"].single
            )
            if not known and not any(word.startswith("-") or classify(word) != "word" for word in words[1:6]):
                return ""
        return text
    if first.startswith(("./", "scripts/", "bin/", "{baseDir}/", "$")) and classify(first) == PATH:
        located = package.locate(first)
        command = script_command(located or first)
        return f"{command} {' '.join(words[1:])}" if command and not first.startswith("./") else text
    located = package.locate(first) if classify(first) == PATH else ""
    command = script_command(located) if located else ""
    return f"{command} {' '.join(words[1:])}" if command else ""


def usage_command(line: str, package: Package) -> str:
    """The command of a `Usage:` line, its script located in the package; or an empty string."""
    match = _USAGE.match(line)
    if not match:
        return ""
    text = match[1].strip().strip("`")
    words = text.split()
    if len(words) > 1 and words[0] in vocabulary()["resources.programs"].single:
        return text
    located = package.locate(words[0])
    command = script_command(located or words[0])
    return " ".join([command, *words[1:]]) if command else ""


def copies_itself(command: str, package: Package) -> bool:
    """Whether a command only puts this package into a skills folder: that is installing it.

    Fetching anything is not, and neither is writing into the folder of another skill.
    """
    parts = [part.strip() for line in command.split("\n") for part in line.split("&&") if part.strip()]
    copies = [part for part in parts if not part.startswith(("mkdir ", "cd ", "#"))]
    return bool(copies) and all(_is_own_copy(part, package) for part in copies)


def _is_own_copy(command: str, package: Package) -> bool:
    words = [word.strip("\"'") for word in command.split()]
    if words[:1] == ["sudo"]:
        words = words[1:]
    if len(words) < 3 or words[0] not in ("cp", "ln", "mv", "rsync"):
        return False
    sources = [word.rstrip("/") for word in words[1:-1] if not word.startswith("-")]
    head, found, tail = words[-1].rstrip("/").rpartition("skills")
    if not found or not sources or (head and not head.endswith("/")):
        return False
    if any(
        source.startswith(("/etc", "~/.", "$HOME/.")) or "://" in source or ".." in source
        for source in sources
    ):
        return False
    tail = tail.strip("/")
    own = {"", package.name, *(posixpath.basename(source) for source in sources)}
    return tail in own or tail[:1] in ("<", "{", "$")


def looks_like_commands(text: str, package: Package) -> bool:
    """Whether a fence without a language holds shell commands: its first line starts a known program."""
    for line in text.split("\n")[:40]:
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        if stripped.startswith(TREE):
            return False
        if PROMPT.match(line) and not stripped.startswith((">", "#")):
            return True
        return bool(inline_command(stripped.rstrip("\\").strip(), package))
    return False
