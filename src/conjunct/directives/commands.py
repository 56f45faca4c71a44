"""Commands in code fences, in inline code and in usage text."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import Final

from conjunct.directives.package import Package, script_command
from conjunct.directives.tokens import PATH, classify
from conjunct.directives.vocabulary import vocabulary

MAXIMUM_COMMANDS: Final = 400
"""Per fence; what is more is reported as not compiled."""
_PROMPT = re.compile(r"^\s{0,8}(?:\(\w{1,30}\)\s)?(?:[\w.@~/-]{0,40}[$%#>]|\$|❯|➜)\s(?=\S)")
_HEREDOC = re.compile(r"<<-?\s{0,3}[\"']?([A-Za-z_][\w]{0,40})[\"']?")
_STATE = re.compile(
    r"^\s{0,40}(?:export\s|[A-Za-z_]\w{0,60}=(?:\S{0,400}|\$\(.{0,400}\)|\"[^\"]{0,400}\"|'[^']{0,400}')\s{0,4}$|cd\s|source\s|\.\s+\S|set\s+-|unset\s|alias\s|conda\s+activate\s|umask\s|shopt\s)"
)
_OPENING: Final = {"if": "fi", "for": "done", "while": "done", "until": "done", "case": "esac"}
_USAGE = re.compile(r"^\s{0,12}usage:\s{0,4}(\S.{0,600})", re.IGNORECASE)
_NOT_A_COMMAND: Final = ("├", "└", "│", "┌", "╔", "║", "┃", "-", '"', "|", ">", "=", "*", "✓", "✔", "❌", "→")
_TREE: Final = ("├", "└", "│", "┌", "╔", "║", "┃")
_ENVIRONMENT = re.compile(r"^(?:[A-Za-z_]\w{0,60}=\S{0,200}\s+){1,8}")


@dataclass(frozen=True, slots=True)
class FoundCommand:
    """One command of a fence, with the comment above it."""

    text: str
    line: int
    comment: str = ""
    bad: bool = False
    """The comment says that this is how not to do it."""
    alternative: int = 0
    """Commands with the same number above 0 are alternatives."""


def fence_commands(text: str, line: int) -> list[FoundCommand]:
    """The commands of a shell fence whose first line is `line`; state-changing lines go in front of each."""
    lines = text.split("\n")
    prompted = any(_PROMPT.match(entry) and not entry.lstrip().startswith("#") for entry in lines[:200])
    found: list[FoundCommand] = []
    state: list[str] = []
    comment, bad, group, number = "", False, 0, 0
    index = 0
    while index < len(lines) and len(found) <= MAXIMUM_COMMANDS:
        raw = lines[index]
        stripped = raw.strip()
        if not stripped:
            bad = False
            index += 1
            continue
        if stripped.startswith("#") and not (
            prompted and _PROMPT.match(raw) and stripped[1:2] == " " and found
        ):
            comment = stripped.lstrip("#").strip()
            bad = _is_bad(comment)
            if re.match(r"or\b|alternatively\b|alternative\b", comment.lower()) and found:
                number += 1
                group = number
                previous = found[-1]
                group = previous.alternative or group
                found[-1] = FoundCommand(previous.text, previous.line, previous.comment, previous.bad, group)
            else:
                group = _platform_group(comment, group, number)
                number = max(number, group)
            index += 1
            continue
        if prompted:
            if not _PROMPT.match(raw):
                index += 1
                continue
            raw = _PROMPT.sub("", raw, count=1)
        start = index
        command, index = _logical(raw, lines, index)
        if stripped.startswith(_NOT_A_COMMAND) or command.strip() in ("...", "…"):
            continue
        if (
            _STATE.match(command)
            and "\n" not in command
            and "&&" not in command
            and ";" not in command
            and "|" not in command
            and "$(" not in command
            and "curl" not in command
        ):
            state.append(command.strip())
            if index < len(lines) and any(
                entry.strip() and not entry.strip().startswith("#") for entry in lines[index:]
            ):
                continue
            found.append(FoundCommand("\n".join(state), line + start, comment, bad, group))
            continue
        found.append(
            FoundCommand("\n".join([*state[-12:], command.strip()]), line + start, comment, bad, group)
        )
        if not comment or group == 0:
            group = 0
    return found


def _is_bad(comment: str) -> bool:
    words = re.findall(r"[\w'-]+|[^\w\s]", comment.lower().replace("’", "'"))[:6]
    good = vocabulary()["headings.polarity_good"]
    bad = vocabulary()["headings.polarity_bad"]
    return (
        bool(words)
        and (bad.at(words, 0) > 0 or any(mark in comment for mark in "❌🚫⛔✗✘"))
        and not good.at(words, 0)
    )


def _platform_group(comment: str, group: int, number: int) -> int:
    words = [word.strip("():,.-") for word in comment.lower().split()[:4]]
    platforms = vocabulary()["headings.platforms"]
    heads = vocabulary()["headings.alternative_heads"]
    if words and (
        (platforms.at(words, 0) and len(words) <= 4)
        or (heads.at(words, 0) and len(words) > 1 and len(words[1]) <= 2)
    ):
        return group or number + 1
    return 0


def _logical(first: str, lines: list[str], index: int) -> tuple[str, int]:
    """One logical command that starts at line `index`, and the index after it."""
    parts = [first.rstrip()]
    index += 1
    end_word = ""
    word = first.split(None, 1)[0] if first.split() else ""
    if word in _OPENING and not re.search(rf"\b{_OPENING[word]}\b", first):
        end_word = _OPENING[word]
    elif re.match(r"\s*(?:function\s+)?[\w-]{1,60}\s*\(\)\s*\{\s*$", first):
        end_word = "}"
    here = _HEREDOC.search(first)
    limit = min(len(lines), index + 300)
    while index < limit:
        current = parts[-1]
        if here is not None:
            parts.append(lines[index].rstrip("\r"))
            if lines[index].strip() == here[1]:
                here = None
            index += 1
            if here is None:
                break
            continue
        if end_word:
            parts.append(lines[index].rstrip())
            index += 1
            if re.match(rf"\s*{re.escape(end_word)}(?:$|[\s;|&)])", lines[index - 1]):
                break
            continue
        if current.endswith(("\\", "|", "&&", "||")) or _open_quote("\n".join(parts[-60:])):
            parts.append(lines[index].rstrip())
            index += 1
            here = _HEREDOC.search(parts[-1])
            continue
        break
    return "\n".join(parts), index


def _open_quote(text: str) -> bool:
    """Whether a quotation or a brace group of the shell is still open at the end of `text`."""
    quote = ""
    escaped = False
    for character in text[-6000:]:
        if escaped:
            escaped = False
        elif character == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
    return (bool(quote) and quote == '"') or (
        quote == "'" and text.count("'") % 2 == 1 and text.count("'") < 40
    )


def inline_command(code: str, package: Package) -> str:
    """The command that a span of inline code is, or an empty string."""
    text = _PROMPT.sub("", code, count=1).strip()
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
        if stripped.startswith(_TREE):
            return False
        if _PROMPT.match(line) and not stripped.startswith((">", "#")):
            return True
        return bool(inline_command(stripped.rstrip("\\").strip(), package))
    return False
