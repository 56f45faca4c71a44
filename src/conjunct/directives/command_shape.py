"""Whether a line of a code block can start a program: its first word is shaped like one.

Printed output, input to other interpreters, payloads and fragments (`name=`) stand in shell blocks too.
"""

from __future__ import annotations

import re
from typing import Final

from conjunct.directives.tokens import classify
from conjunct.directives.vocabulary import vocabulary

_ASSIGNMENT = re.compile(
    r"[A-Za-z_]\w{0,60}=(?:\"[^\"\n]{0,400}\"|'[^'\n]{0,400}'|\$\([^()\n]{0,200}\)|[^\s\"']{0,400})\s+(?=\S)"
)
_ASSIGNED = re.compile(r"[A-Za-z_]\w{0,60}(?:\[[^\]\s]{1,40}\])?\+?=")
_DEFINITION = re.compile(r"(?:function\s+[\w:-]{1,60}|[\w:-]{1,60}\s{0,4}\(\))\s{0,4}(?:\(\)\s{0,4})?[{(]?")
_QUOTED = re.compile(r"(\"[^\"\n]{1,300}\"|'[^'\n]{1,300}')(?![:,])")
_PROGRAM = re.compile(r"[A-Za-z0-9_.~$@{<%+:/-][\w./~${}<>@%+*:?\[\]-]{0,400}")
_CONSOLE = re.compile(
    r"\s{0,8}(?:([A-Za-z][\w-]{0,30})(?:\s[\w/-]{1,40}\([\w/.:-]{1,80}\))?(?:[:(][\w:]{1,20}\)?)?\s?>|>>>|\(\w{1,20}\)|[\w-]{1,30}=[#>])\s+(?=\S)"
)
_FETCHED_CODE = re.compile(
    r"\|\s{0,4}(?:sudo\s{1,4})?(?:ba|z|da|k)?sh\b|\$\((?:curl|wget)\b|<\((?:curl|wget)\b"
)
_CHAINED = re.compile(r"(?:\||&&|;|\$\(|`)\s{0,4}(?:sudo\s{1,4})?([A-Za-z][\w.-]{1,40})\s")
_ASSIGNMENTS: Final = 12
_WORD_LENGTH: Final = 8000
_VERSION = re.compile(r"v?\d[\w.]*,?$")
_EXECUTABLE: Final = ("/bin/", "/sbin/", "/opt/", "/usr/local/")
_SHELL_NAMES: Final = frozenset(
    {"ps", "cmd", "sh", "bash", "zsh", "fish", "root", "user", "host", "localhost"}
)


def _word_end(text: str, start: int) -> int:
    """Index behind the shell word at `start`; -1 where a quotation or a parenthesis stays open."""
    quote, depth, escaped = "", 0, False
    for index in range(start, min(len(text), start + _WORD_LENGTH)):
        character = text[index]
        if escaped:
            escaped = False
        elif character == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if character == quote else quote
        elif character in "\"'`":
            quote = character
        elif character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
        elif depth <= 0 and (character.isspace() or character in ";|&"):
            return index
    return len(text) if not quote and depth <= 0 and len(text) <= start + _WORD_LENGTH else -1


def console_input(line: str) -> bool:
    """`msf> use x`, `mysql> SELECT 1`: input to an interpreter that is no shell."""
    match = _CONSOLE.match(line)
    if match is None:
        return False
    name = (match[1] or "").lower()
    if not name:
        return True
    spaced = re.match(r"\s*[\w-]+\s>", line) is not None
    return name in vocabulary()["resources.consoles"].single if spaced else name not in _SHELL_NAMES


def program_shaped(command: str) -> bool:
    """Whether the first word, behind assignments, can be the name or the path of a program."""
    text = command.lstrip()
    if _DEFINITION.match(text):
        return True
    for _ in range(_ASSIGNMENTS):
        assigned = _ASSIGNED.match(text)
        if assigned is None:
            break
        end = _word_end(text, assigned.end())
        if end <= assigned.end():
            return False  # `name=` is a fragment, and so is a value whose quotation never ends
        text = text[end:].lstrip(" \t\\\n")
        if not text or text[0] in "|&;#":
            return True
    if text[:1] in "\"'":
        quoted = _QUOTED.match(text)
        return quoted is not None and ("/" in quoted[1] or "$" in quoted[1]) and " " not in quoted[1][1:3]
    if text[:1] in "([{!" and text[1:2] in " ([":
        return True  # a group, a subshell or a test
    first = text.split(None, 1)[0] if text.split() else ""
    alone = first == text.strip()
    if first == ":":
        return True
    if "\\" in first:
        return first.startswith((".\\", "\\")) or first.lower().endswith((".exe", ".bat", ".cmd", ".ps1"))
    if not first or first.endswith(("=", ":", ",")) or not _PROGRAM.fullmatch(first.rstrip(";&")):
        return first.startswith(("$", "[[", "((")) and len(first) > 1
    if first.isalpha() and first.isupper() and len(first) > 1:
        return first in vocabulary()["resources.programs"].single
    if first.startswith(("../..", "/")):
        return (
            not alone or first.startswith(_EXECUTABLE) or first.endswith((".sh", ".py", ".js", ".pl", ".rb"))
        )
    return True


def looks_like_command(line: str) -> bool:
    """Whether a line without prompt, among lines with one, is a command and not what one printed."""
    text = line.strip()
    if not text or text.startswith("#"):
        return False
    if _FETCHED_CODE.search(text):
        return True
    if not program_shaped(text):
        return False
    lexicon = vocabulary()
    words = _ASSIGNMENT.sub("", text).split()
    if words[:1] in (["sudo"], ["doas"], ["exec"], ["nohup"], ["time"]):
        words = words[1:]
    if not words:
        return False
    first = words[0].strip("\"'")
    if first.startswith(("./", "~/", "$", "scripts/", "bin/", "../")) and "/" in first:
        return len(words) > 1 or first.startswith("./")
    if first not in lexicon["resources.programs"].single:
        return False
    if len(words) == 1:
        return first not in lexicon["resources.weak_programs"].single
    second = words[1].lower()
    if second.strip(":!.") in lexicon["resources.output_seconds"].single or _VERSION.match(second):
        return False
    if first not in lexicon["resources.weak_programs"].single:
        return True
    known = first in lexicon["resources.installers"].single or (
        first in lexicon["resources.subcommand_programs"].single
    )
    return known or any(word.startswith("-") or classify(word) != "word" for word in words[1:6])


def holds_command(line: str) -> bool:
    """Whether a line that is not run still holds something that looks like a command."""
    if looks_like_command(line) or console_input(line):
        return True
    programs = vocabulary()["resources.programs"].single
    return any(match[1] in programs for match in _CHAINED.finditer(line[:2000]))
