"""A skill whose text puts it in the place of another one of the registry."""

from __future__ import annotations

import re
from collections.abc import Iterator

from conjunct.model import Finding, Layer, ReachSet, Severity, Skill
from conjunct.provenance.laundering import Neighbourhood, plain_name

_REPLACES = re.compile(
    r"\b(?:instead of|rather than|in place of|in preference to|replaces?|supersedes?|overrides?|"
    r"takes? (?:precedence|priority) over|prefer(?:red)? (?:it |this )?over|over)\b"
    r"\s+(?:using\s+|the\s+|any\s+|skill\s+|older\s+|old\s+|built-in\s+)*[`*\"']*(?P<name>[A-Za-z0-9][\w.-]{2,63})",
    re.IGNORECASE,
)
_ALONE = re.compile(r"\b(?:replace|supersede|override|precedence|priority)", re.IGNORECASE)
_LONGEST_LINE = 2_000
_MOST = 5


def shadowing_findings(skill: Skill, reach: ReachSet, neighbourhood: Neighbourhood) -> Iterator[Finding]:
    """Lines that tell the agent to take this skill where it would take a neighbour."""
    mentions = {(action.file, action.line) for action in reach.actions if action.mention}
    told = 0
    for line, text in _lines(skill):
        if (skill.manifest, line) in mentions:
            continue
        for found in _REPLACES.finditer(text):
            quoted = text[found.start("name") - 1] in "`*\"'"
            if "-" not in found["name"] and not quoted:
                continue  # a plain word may be anything: a library, a function
            other = _neighbour(found["name"], skill, neighbourhood)
            if other is None or not _speaks_of_itself(text, found, skill):
                continue
            told += 1
            if told > _MOST:
                return
            yield Finding(
                skill.id,
                Layer.CLAIMS,
                "claims.shadowing",
                f"says that it is to be used in place of {other} ({skill.manifest}:{line})",
                Severity.REVIEW,
                skill.manifest,
                line,
                quote=text.strip()[:200],
                question=f"Is {skill.name} meant to take the place of {other}?",
            )


def _lines(skill: Skill) -> Iterator[tuple[int, str]]:
    first = dict(skill.declaration.line_of).get("description", 1)
    for sentence in re.split(r"(?<=[.!?])\s+|\n", skill.declaration.description[:20_000]):
        yield first, sentence[:_LONGEST_LINE]
    for number, line in enumerate(skill.body.split("\n"), start=skill.body_line):
        yield number, line[:_LONGEST_LINE]


def _neighbour(name: str, skill: Skill, neighbourhood: Neighbourhood) -> str | None:
    """The registered skill of exactly that name, other than the skill itself."""
    wanted = name.rstrip(".,;:").lower()
    for number in neighbourhood.by_name.get(plain_name(wanted), ()):
        other = neighbourhood.members[number]
        if other.name.lower() == wanted and other.id != skill.id and other.name != skill.name:
            return other.name
    return None


def _speaks_of_itself(text: str, found: re.Match[str], skill: Skill) -> bool:
    """Whether what takes the place is this skill: by its name, as "this skill", or as the silent subject."""
    before = text[: found.start()].lower()
    if "this skill" in before or skill.name.lower() in before or re.search(r"\bit\b|\bme\b", before):
        return True
    return bool(_ALONE.match(found[0])) and not re.search(r"[\w`]+-[\w`]+", before)
