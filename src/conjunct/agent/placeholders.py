"""Parts of documented commands that a reader fills: `<input.csv>`, `{file}`, `$FILE`, `your-key`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from conjunct.agent.kinds import kinds

_OPEN, _CLOSE = "\x01", "\x02"
_MARK = re.compile(r"\x01(\d{1,3})\x02")
_LIMIT = 200

_ANGLE = r"<(?P<angle>[A-Za-z0-9./~](?:[\w .:/|,'()@+*-]{0,70}[\w)*.])?)>"
_BRACE = (
    r"(?<![$@\\{\w\"':])\{(?P<brace>[A-Za-z_][\w .|/-]{0,50})\}(?!\})|"
    r"\{\{\s*(?P<double>[A-Za-z_][\w .-]{0,50}?)\s*\}\}"
)
_DOLLAR = r"\$\{(?P<dollar>[A-Za-z_]\w{0,50})(?::?[-?=][^}\n]{0,80})?\}|\$(?P<plain>[A-Za-z_]\w{0,50})"
_BRACKET = r"(?<![\w$\]*?\[])\[(?P<bracket>[^\[\]\n]{2,80})\](?![\w*?(\]])"
_TEMPLATE = re.compile("|".join((_ANGLE, _BRACE, _DOLLAR, _BRACKET)))
_EXAMPLE_WORD = re.compile(r"^(?:your|my|some)[-_ ].{1,60}$", re.IGNORECASE)
_UPPER = re.compile(r"^[A-Z][A-Z0-9]*(?:[_-][A-Z0-9]+)+$")
_PATH_TO = re.compile(r"^(?:\.{0,2}/)?(?:path|absolute/path|full/path|route)/to/|^/?path/to$", re.IGNORECASE)
_ELLIPSIS = frozenset({"...", "…", "[...]", "…]", "...]"})


@dataclass(frozen=True, slots=True)
class Placeholder:
    """One part to fill. `form` is `angle`, `brace`, `dollar` or `bracket`."""

    raw: str
    name: str
    form: str

    @property
    def alternatives(self) -> tuple[str, ...]:
        """The words to choose from, for `<json|csv>`; empty for anything else."""
        parts = tuple(part.strip() for part in self.name.split("|"))
        return parts if len(parts) > 1 and all(re.fullmatch(r"[\w.-]{1,40}", part) for part in parts) else ()


def mark(text: str, *, optional: bool) -> tuple[str, tuple[Placeholder, ...]]:
    """The text with every placeholder replaced by a mark that is an ordinary word to a shell lexer.

    What stands in square brackets is kept when `optional`, and left out otherwise. Variables that the world
    or the text itself sets, and credentials in `$NAME` form, are no placeholders.
    """
    found: list[Placeholder] = []
    table = kinds()
    assigned = set(
        re.findall(r"(?:^|[\s;&(])(?:export\s+|for\s+|local\s+)?([A-Za-z_]\w{0,60})(?==| in )", text)
    )
    # The body of an awk, jq or sed program and JSON text have braces of their own.
    braces = not re.search(r"\b(?:awk|jq|gawk|find|docker|kubectl|git|xargs)\b", text)

    def replace(match: re.Match[str]) -> str:
        raw = match[0]
        if len(found) >= _LIMIT:
            return raw
        if bracket := match["bracket"]:
            return _bracket(raw, bracket, optional)
        variable = match["dollar"] or match["plain"]
        if variable:
            if variable in assigned or variable in table.shell_variables or len(variable) == 1:
                return raw
            if table.names_credential(variable):
                return raw
            found.append(Placeholder(raw, variable, "dollar"))
        elif match["angle"]:
            found.append(Placeholder(raw, match["angle"].strip(), "angle"))
        else:
            name = match["brace"] or match["double"]
            if not braces and not match["double"] and not table.names_skill_folder(name):
                return raw
            found.append(Placeholder(raw, name.strip(), "brace"))
        return f"{_OPEN}{len(found) - 1}{_CLOSE}"

    text = text.replace(_OPEN, "").replace(_CLOSE, "")
    return _TEMPLATE.sub(replace, text), tuple(found)


def _bracket(raw: str, inner: str, optional: bool) -> str:
    if not re.match(r"^(?:-{1,2}[A-Za-z]|<|[A-Za-z_]+\s*(?:\.\.\.|…)?$)", inner):
        return raw
    if inner.lower().rstrip("s.… ") in ("option", "arg", "flag", "argument"):
        return ""
    if not optional:
        return ""
    # Kept without its brackets; placeholders inside stay as written and are found word by word.
    return inner.replace("<", "").replace(">", "")


def unmark(word: str, placeholders: tuple[Placeholder, ...], values: dict[int, str] | None = None) -> str:
    """The word with its marks replaced by values, or by the placeholder as written where there is none."""

    def restore(match: re.Match[str]) -> str:
        number = int(match[1])
        if number >= len(placeholders):
            return ""
        return values[number] if values and number in values else placeholders[number].raw

    return _MARK.sub(restore, word)


def is_ellipsis(word: str) -> bool:
    """Whether a word only says that more may follow."""
    return word in _ELLIPSIS


def example_name(word: str) -> str:
    """The name in a word that stands for another (`your-api-key`, `FILE`, `path/to/x.csv`); empty if none."""
    if _PATH_TO.match(word):
        return word.rstrip("/").rpartition("/")[2] or "folder"
    if _EXAMPLE_WORD.match(word):
        return re.split(r"[-_ ]", word, maxsplit=1)[1]
    if _UPPER.match(word) or word in kinds().placeholder_words:
        return word.lower()
    return ""


_ASSIGNED = re.compile(
    r"(?m)(?:^[ \t]*|(?<=&& )|(?<=; ))(?:export[ \t]+)?"
    r"([A-Z][A-Z0-9_]{2,60})=([\"']?)([^\s\"';&|]{0,200})\2"
)


def without_credentials(text: str) -> str:
    """The text without assignments of made-up credentials (`export FOO_API_KEY=your-key`).

    The world has minted one of that name; an example value would hide where it goes.
    """

    def replace(match: re.Match[str]) -> str:
        if not kinds().names_credential(match[1]) or match[3].startswith("$"):
            return match[0]
        return "true"

    return _ASSIGNED.sub(replace, text)
