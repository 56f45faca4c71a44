"""The words of a shell command: whether an interpreter among them is given a file, code or its input."""

from __future__ import annotations

import base64
import binascii
import re

from conjunct.reach.commands import program_name, programs

_SCRIPT_NAME = re.compile(r"\.(?:py|sh|bash|js|mjs|cjs|ts|rb|pl|php)$", re.IGNORECASE)
_ENCODED = re.compile(r"^[A-Za-z0-9+/=\s]{12,}$")


def runs_its_input(words: list[str]) -> bool:
    """An interpreter at the end of a pipe that was given neither a file nor code."""
    if not words:
        return False
    name = program_name(words[0])
    if name in ("iex", "invoke-expression"):
        return True
    return name in programs()["interpreters"] and not has_file(words) and inline_code(name, words) is None


def has_file(words: list[str]) -> bool:
    """Whether the words of an interpreter name a file to run, and not its input."""
    rest = words[1:]
    if "-s" in rest or "-" in rest or "/dev/stdin" in rest:
        return False
    return any(not word.startswith("-") for word in rest)


def arguments_of_script(words: list[str]) -> int | None:
    """The index behind the script's name, or behind `-`, in an interpreter's words."""
    if inline_code(program_name(words[0]), words) is not None:
        return None
    for index, word in enumerate(words[1:], start=1):
        if word == "-" or (not word.startswith("-") and _SCRIPT_NAME.search(word)):
            return index + 1
    return None


def inline_code(name: str, words: list[str]) -> str | None:
    """The code in the words of an interpreter (`bash -c "…"`), or `None`; what is encoded is only named."""
    if name not in programs()["interpreters"]:
        return None
    for index, word in enumerate(words[1:], start=1):
        takes_code = word in ("-c", "-e", "--eval", "-Command", "-command", "-p", "/c") or re.match(
            r"^-[a-z]{0,4}c$", word
        )
        if takes_code and index + 1 < len(words):
            return words[index + 1]
        if word.lower() in ("-enc", "-encodedcommand"):
            return "encoded"
    return None


def decoded(text: str) -> str:
    """Base64 text decoded, or `\\0` where it is not known or not text."""
    if not _ENCODED.match(text[:100_000]):
        return "\0"
    try:
        plain = base64.b64decode(text, validate=False).decode("utf-8")
    except (binascii.Error, ValueError):
        return "\0"
    return plain if all(character.isprintable() or character.isspace() for character in plain) else "\0"


def unescaped(text: str) -> str:
    """The text of `$'…'` with its hexadecimal escapes read."""
    return re.sub(r"\\x([0-9a-fA-F]{1,2})", lambda found: chr(int(found.group(1), 16)), text)
