"""What a package's own text names that could tell contexts apart: candidate levels, never evidence.

A trace shows what a run looked at, not what it compared it with. The source often does: a word sought in the
history, a number that a counter is held against, a date, a variable with its value. The reading here is
lexical and the same for all languages: it follows no data and proves nothing. A clue that is wrong costs a
run; one that is missing leaves the question to the forced branches.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from conjunct.directives import ALTERNATIVES
from conjunct.model import Compilation, Condition, FactorKind, ReachSet, Skill
from conjunct.plan.moments import date_numbers, moments_of
from conjunct.reach.package import package_files, read_bytes
from conjunct.reach.resources import is_secret_variable
from conjunct.skills import language_of

MOST_TEXT = 2 << 20
"""Bytes of one package's code that are read for clues; reach has read it whole for actions."""
MOST_WORDS = 200
"""Words kept: they are asked all at once, so that only the size of a history file bounds them."""
MOST_PATHS = 400
MOST_VARIABLES = 40
MOST_LINES = 60_000
"""Lines of one package's code that are read."""
LONGEST_LINE = 1000
"""Characters of one line that are read: minified code has one line."""

_STRING = re.compile(
    r"(?<![\w\\])(?:[rbuf]{0,2})(?:'((?:[^'\\\n]|\\.){0,80})'|\"((?:[^\"\\\n]|\\.){0,80})\")"
)
_COMPARES = re.compile(
    r"[=!]=|=~|\bin\b|\bcase\b|\bgrep\b|\bany\(|\ball\(|-(?:eq|ne|ge|gt|le|lt)\b|\[\[? .* =|"
    r"(?:\.|\b)(?:includes|indexOf|starts_?[wW]ith|ends_?[wW]ith|match|fullmatch|search|test|find|count|"
    r"index|findall|fnmatch|intersection|issubset|has|get)\("
)
_NEGATED = re.compile(r"\bnot\b|![^=\s]|!=|\[\[? ! |\bgrep -\w*v")
_COLLECTION = re.compile(
    r"^[ \t]*(?:(?:export[ \t]+)?(?:const|let|var|readonly|declare)[ \t]+)?([A-Z_][A-Z0-9_]{2,80})[ \t]*"
    r"(?::[^=\n]{0,60})?=[ \t]*(?:\w{1,20}\()?[ \t]*[\[({]?",
    re.MULTILINE,
)
_NUMBER_NAME = re.compile(
    r"^[ \t]*(?:(?:export[ \t]+)?(?:const|let|var|readonly)[ \t]+)?([A-Z_][A-Z0-9_]{0,80})[ \t]*"
    r"(?::[ \t]*\w{1,20}[ \t]*)?=[ \t]*(\d{1,12})\b",
    re.MULTILINE,
)
_RIGHT = re.compile(
    r"([^\s=<>!&|;(][^=<>!&|;]{0,60}?)\s*"
    r"(?:===?|!==?|>=|<=|(?<![-=<])>|<|%(?=\s*\d)|\s-(?:ge|gt|eq|ne|le|lt)\s)\s*"
    r"[\"']?(\d{1,13}|[A-Z_][A-Z0-9_]*)\b"
)
_LEFT = re.compile(r"\b(\d{1,13})\s*(?:===?|!==?|>=|<=|>|<)\s*([A-Za-z_$][^=<>!&|;:]{0,60})")
_RANDOM = re.compile(
    r"(?:random\(\)|randint\([^)\n]*\)|randrange\([^)\n]*\)|getrandbits\([^)\n]*\)|randbelow\([^)\n]*\)|"
    r"\$\{?RANDOM\}?)[^\n]{0,24}?(?:<|>|==|%|-lt|-gt|-eq|-le|-ge)"
)
_VARIABLE_OF = re.compile(r"([A-Za-z_]\w*)\s*=\s*[^=\n]*(?:environ|getenv|process\.env|\$\{?[A-Z])[^\n]*")
_WORD = re.compile(r"[^\W_][\w .,:+#&'-]{1,59}", re.UNICODE)
_PATH = re.compile(r"[\w.~/$*{}-]{3,80}")
_CODE_NAME = re.compile(r"[a-z]+_[a-z_]+|[A-Z]+_[A-Z_]+|[a-z]+[A-Z]\w+|utf-?8|__\w+__", re.ASCII)


@dataclass(frozen=True, slots=True)
class Clues:
    """Candidate levels of one package, each in the order of the text."""

    words: tuple[str, ...] = ()
    """Strings that something is compared with, or that a condition in prose names."""
    negated: frozenset[str] = frozenset()
    """Of these, the ones whose test is turned round: present, they may suppress what the others trigger."""
    counts: tuple[int, ...] = ()
    """Numbers that something other than a date is compared with, ascending."""
    moments: tuple[str, ...] = ()
    """ISO 8601 starts of episodes: dates, hours, weekdays and months that the text names."""
    variables: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Environment variables, each with the values on the lines that name it."""
    paths: tuple[str, ...] = ()
    """Strings that could be a file or a part of a path."""
    draws: bool = False
    """A random number is compared with something: equal runs may differ."""

    def largest_count(self, above: int) -> int:
        """The largest number beyond `above`, or 0."""
        return max((count for count in self.counts if count > above), default=0)


def clues_of(skill: Skill, reach: ReachSet, compilation: Compilation, *, neutral: str) -> Clues:
    """Read the clues of one package; `neutral` is the ISO 8601 start of the neutral clock level.

    Reads staged files, executes nothing; time is linear in `MOST_TEXT`.
    """
    source = _Source(_code(skill))
    conditions = [c for directive in compilation.directives for c in directive.conditions]
    told = {
        kind: [value for c in conditions if c.factor is kind for value in _alternatives(c)]
        for kind in (FactorKind.HISTORY, FactorKind.ARGUMENTS, FactorKind.CLOCK, FactorKind.ENVIRONMENT)
    }
    compared = [word for word in (*reach.constants, *source.words) if _is_word(word)]
    words = dict.fromkeys([*told[FactorKind.HISTORY], *told[FactorKind.ARGUMENTS], *compared])
    turned = {c.value for c in conditions if c.negated} | source.negated
    return Clues(
        words=tuple(words)[:MOST_WORDS],
        negated=frozenset(words) & turned,
        counts=tuple(sorted({*source.counts, *_counts_of(conditions)})),
        moments=moments_of((*reach.constants, *source.dated, *told[FactorKind.CLOCK]), source.parts, neutral),
        variables=_variables(reach, source, told[FactorKind.ENVIRONMENT]),
        paths=tuple(source.paths)[:MOST_PATHS],
        draws=source.draws,
    )


def _alternatives(condition: Condition) -> list[str]:
    return [value.strip() for value in condition.value.split(ALTERNATIVES) if value.strip()]


def _code(skill: Skill) -> Iterator[str]:
    left = MOST_TEXT
    for entry in package_files(skill):
        if left <= 0:
            return
        head = read_bytes(skill, entry.path, 256)
        if language_of(entry.path, head) in (None, "bytecode", "native"):
            continue
        raw = read_bytes(skill, entry.path, left)
        left -= len(raw)
        yield raw.decode("utf-8", "replace")


def _is_word(text: str) -> bool:
    """Whether a string could be said by a user; paths, hosts, flags, formats and identifiers are not."""
    return (
        bool(_WORD.fullmatch(text))
        and any(character.isalpha() for character in text)
        and not _CODE_NAME.fullmatch(text)
        and not re.search(r"\w\.\w", text)
        and "%" not in text
    )


def _counts_of(conditions: Iterable[Condition]) -> Iterator[int]:
    for condition in conditions:
        if condition.factor is FactorKind.TURN and (found := re.search(r"\d{1,6}", condition.value)):
            yield int(found[0])


class _Source:
    """All code of one package, read once line by line."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.words: list[str] = []
        self.negated: set[str] = set()
        self.counts: set[int] = set()
        self.dated: list[str] = []
        self.parts: dict[str, set[int]] = {}
        self.draws = False
        self.lines: list[str] = []
        self.paths: dict[str, None] = {}
        for text in texts:
            self._read(text)

    def _read(self, text: str) -> None:
        named = {name: int(number) for name, number in _NUMBER_NAME.findall(text)}
        self.draws = self.draws or bool(_RANDOM.search(text))
        for match in itertools.islice(_COLLECTION.finditer(text), MOST_PATHS):
            self.words += _strings(_bracketed(text, match.end() - 1))
        for whole in text.splitlines():
            if len(self.lines) >= MOST_LINES:
                return
            line = whole[:LONGEST_LINE]
            self.lines.append(line)
            strings = _strings(line)
            self.paths.update((one, None) for one in strings if _PATH.fullmatch(one))
            if _COMPARES.search(line):
                self.words += strings
                self.dated += strings
                if _NEGATED.search(line):
                    self.negated.update(strings)
            self._numbers(line, named)

    def _numbers(self, line: str, named: dict[str, int]) -> None:
        for part, number in date_numbers(line):
            self.parts.setdefault(part, set()).add(number)
        pairs = [(left, number) for left, number in _RIGHT.findall(line)]
        pairs += [(right, number) for number, right in _LEFT.findall(line)]
        for subject, text in pairs:
            compared = int(text) if text.isdigit() else named.get(text, 0)
            parts = date_numbers(f"{subject} == {compared}")
            for part, value in parts:
                self.parts.setdefault(part, set()).add(value)
            if not parts and 1 < compared <= 100_000:
                self.counts.add(compared)


def _strings(text: str) -> list[str]:
    return [one or other for one, other in _STRING.findall(text) if one or other]


def _bracketed(text: str, start: int) -> str:
    """From an opening bracket at `start` to its end, at most a screen of it; else the rest of the line."""
    if start >= len(text) or text[start] not in "[({":
        return text[start : text.find("\n", start) if "\n" in text[start:] else len(text)][:LONGEST_LINE]
    end = re.compile(r"[\])}]").search(text, start, start + 4000)
    return text[start : end.end() if end else start + 4000]


def _variables(
    reach: ReachSet, source: _Source, told: Sequence[str]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    # Credentials are minted by the world, present and absent; a value of ours would take their place.
    found: dict[str, dict[str, None]] = {n: {} for n in reach.environment if not is_secret_variable(n)}
    for text in told:
        name, _, value = text.partition("=")
        plain = name.strip().lstrip("$")
        if re.fullmatch(r"[A-Za-z_]\w{0,80}", plain) and not is_secret_variable(plain):
            values = found.setdefault(plain, {})
            if value.strip():
                values[value.strip()] = None
    found = dict(list(found.items())[:MOST_VARIABLES])
    holders: dict[str, str] = {}
    for name, line in _lines_with(found, source.lines):
        found[name].update(dict.fromkeys(one for one in _strings(line) if one != name))
        if (holder := _VARIABLE_OF.search(line)) and holder[1] != name:
            holders[holder[1]] = name
    for holder_name, line in _lines_with(holders, source.lines):
        if _COMPARES.search(line):
            found[holders[holder_name]].update(dict.fromkeys(_strings(line)))
    return tuple(
        (name, tuple(value for value in values if _is_value(value))) for name, values in found.items()
    )


def _lines_with(names: Collection[str], lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(name, line) for every line that holds one of these names as a word."""
    if names:
        pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")
        yield from ((found[0], line) for line in lines for found in pattern.finditer(line))


def _is_value(text: str) -> bool:
    """Whether a string on the line of a variable may be its value: short, without blanks and escapes."""
    return len(text) <= 60 and re.fullmatch(r"[\w.:/+@=-]+", text) is not None
