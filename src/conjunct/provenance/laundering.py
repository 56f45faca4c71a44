"""Laundering: a declaration that hides behind a neighbour's, by an inverted index over the whole registry."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conjunct.model import ActionKind, Finding, Layer, ReachSet, ResourceClass, Severity, Skill
from conjunct.provenance.declared import words_of

_COMMON_SHARE = 0.2
"""Words that more than this share of a registry uses say nothing about likeness."""

_MOST_COMPARED = 24
_NEARLY_IDENTICAL = 0.75
_CONTAINED = 0.6
"""Share of the telling words of a description that a neighbour's holds too."""

_FEWEST_WORDS = 3
_STOP = frozenset(
    {"the", "and", "for", "with", "from", "this", "that", "use", "when", "user", "using", "into",
     "your", "are", "can", "all", "any", "via", "not", "you", "its", "has"}
)  # fmt: skip

_IN_TESTS = re.compile(r"(?:^|/)(?:tests?|fixtures|examples)/")
"""Folders whose code is not part of what a skill does when it is used."""

_PLAIN = frozenset(
    {ResourceClass.WORKSPACE, ResourceClass.OWN_PACKAGE, ResourceClass.OWN_STATE, ResourceClass.TEMPORARY,
     ResourceClass.PROCESS, ResourceClass.LOOPBACK}
)  # fmt: skip
"""Classes that every skill reaches."""

Class = tuple[ActionKind, ResourceClass]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """What of a registered skill is compared."""

    id: str
    name: str
    digest: str
    plain_name: str
    words: frozenset[str]
    described: frozenset[Class]
    """Kinds of effect that its name and description speak of."""
    declared: frozenset[Class]
    reached: frozenset[Class]
    acts: frozenset[tuple[ActionKind, str]]
    """What it reaches, beyond what every skill does."""
    hidden: frozenset[tuple[ActionKind, str]]
    """Of these, what is of a kind and class that nothing in its text declares."""


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A registry, indexed once; lookups cost what they share with the skill asked about, not the registry."""

    members: tuple[Neighbour, ...]
    by_word: dict[str, tuple[int, ...]]
    by_name: dict[str, tuple[int, ...]]
    """Plain names, and plain names with one character left out."""

    def weight(self, word: str) -> float:
        """How telling a shared word is: the rarer in the registry, the more."""
        return math.log((1 + len(self.members)) / (1 + len(self.by_word.get(word, ())))) + 0.1


def neighbourhood_of(neighbours: Sequence[tuple[Skill, ReachSet]]) -> Neighbourhood:
    """Index a registry for `check_claims`. Build it once and pass it for every skill of the registry."""
    members = tuple(neighbour_of(skill, reach) for skill, reach in neighbours)
    words: dict[str, list[int]] = {}
    names: dict[str, list[int]] = {}
    for number, member in enumerate(members):
        for word in member.words:
            words.setdefault(word, []).append(number)
        for form in _slips(member.plain_name):
            names.setdefault(form, []).append(number)
    most = max(8, int(_COMMON_SHARE * len(members)))
    return Neighbourhood(
        members,
        {word: tuple(found) for word, found in words.items() if len(found) <= most},
        {name: tuple(found) for name, found in names.items()},
    )


def neighbour_of(skill: Skill, reach: ReachSet) -> Neighbour:
    """The features of one skill."""
    declared = frozenset((item.kind, item.resource_class) for item in reach.capabilities)
    actions = [item for item in reach.actions if not item.mention]
    telling = [item for item in actions if item.resource_class not in _PLAIN]
    return Neighbour(
        skill.id,
        skill.name,
        skill.digest,
        plain_name(skill.name),
        (words_of(skill.declaration.description) or words_of(skill.name)) - _STOP,
        frozenset(
            (item.kind, item.resource_class) for item in reach.capabilities if item.line < skill.body_line
        ),
        declared,
        frozenset((item.kind, item.resource_class) for item in actions),
        frozenset((item.kind, item.resource) for item in telling),
        frozenset(
            (item.kind, item.resource) for item in telling if (item.kind, item.resource_class) not in declared
        ),
    )


def plain_name(name: str) -> str:
    """A name without case, marks, separators and look-alike characters."""
    folded = unicodedata.normalize("NFKD", name).casefold()
    plain = re.sub(r"[^a-z0-9]", "", folded.translate(_LOOK_ALIKES))
    return plain or folded


def laundering_findings(
    skill: Skill, reach: ReachSet, neighbourhood: Neighbourhood, undeclared: Sequence[Finding]
) -> Iterator[Finding]:
    """What of a skill's reach hides behind a neighbour's declaration, and whose name it comes close to.

    `undeclared` are the findings about reach that the skill does not declare: without any of them a likeness
    to a neighbour is no more than a likeness.
    """
    own = neighbour_of(skill, reach)
    telling = [
        item
        for item in undeclared
        if item.code in _UNDECLARED
        and not _IN_TESTS.search(item.file or "")
        and (item.severity is Severity.REVIEW or item.code in _TELLING_NOTES)
    ]
    places = {(item.file, item.line) for item in telling}
    told = {
        (item.kind, item.resource)
        for item in reach.actions
        if (item.file, item.line) in places and (item.kind, item.resource) in own.acts
    }
    yield from _squatting(own, neighbourhood, telling, told)
    if not telling:
        return
    for neighbour, alike, contained in _similar(own, neighbourhood):
        subset = own.described < neighbour.declared and contained >= _CONTAINED
        twin = alike >= _NEARLY_IDENTICAL and not own.reached <= neighbour.reached
        if not subset and not twin:
            continue
        version = neighbour.acts if neighbour.name == own.name else neighbour.hidden
        if told and told <= version:
            continue  # another version of it, or a twin that does not speak of the same thing either
        how = "nearly the same as" if twin else "contained in"
        first = telling[0]
        yield Finding(
            skill.id,
            Layer.CLAIMS,
            "claims.laundering",
            f"declares what is {how} the declaration of {neighbour.name}, but {first.message}",
            Severity.REVIEW,
            first.file,
            first.line,
            question=f"Is {skill.name} meant to do more than {neighbour.name}, although it declares less?",
        )
        return


def _similar(own: Neighbour, neighbourhood: Neighbourhood) -> Iterator[tuple[Neighbour, float, float]]:
    """Neighbours by shared telling words: (neighbour, likeness, how much of the own words it holds)."""
    scores: Counter[int] = Counter()
    for word in own.words:
        for number in neighbourhood.by_word.get(word, ()):
            scores[number] += 1
    mine = sum(neighbourhood.weight(word) for word in own.words)
    for number, _ in scores.most_common(_MOST_COMPARED):
        other = neighbourhood.members[number]
        if other.id == own.id or other.digest == own.digest or len(own.words) < _FEWEST_WORDS:
            continue
        shared = sum(neighbourhood.weight(word) for word in own.words & other.words)
        theirs = sum(neighbourhood.weight(word) for word in other.words)
        yield other, shared / max(1e-9, mine + theirs - shared), shared / max(1e-9, mine)


def _squatting(
    own: Neighbour,
    neighbourhood: Neighbourhood,
    telling: Sequence[Finding],
    told: set[tuple[ActionKind, str]],
) -> Iterator[Finding]:
    close: dict[int, None] = {}
    for form in _slips(own.plain_name):
        close.update(dict.fromkeys(neighbourhood.by_name.get(form, ())))
    for number in close:
        other = neighbourhood.members[number]
        if (
            other.id == own.id
            or other.digest == own.digest
            or not _one_slip(own.plain_name, other.plain_name)
        ):
            continue
        twins = bool(told) and told <= other.acts  # the same done twice, under two spellings of its name
        asks = telling and own.name != other.name and not twins
        same = "the same as" if own.plain_name == other.plain_name else "one slip away from"
        yield Finding(
            own.id,
            Layer.CLAIMS,
            "claims.name-squatting",
            f"its name is {same} that of {other.id}, which is another package",
            Severity.REVIEW if asks else Severity.NOTE,
            question=f"Is {own.name} meant to stand beside {other.name}?" if asks else None,
        )
        return


def _slips(name: str) -> Iterator[str]:
    """The name and every form with one character left out: two names one slip apart share a form."""
    yield name
    if 5 <= len(name) <= 64:
        for index in range(len(name)):
            yield name[:index] + name[index + 1 :]


def _one_slip(first: str, second: str) -> bool:
    """Equal, or one character added, left out, changed, or two swapped; a plural or a number is no slip."""
    if first == second:
        return True
    if min(len(first), len(second)) < 5 or abs(len(first) - len(second)) > 1:
        return False
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
    rest, other = first[start:], second[start:]
    if rest.isdigit() or other.isdigit() or {rest, other} == {"", "s"}:
        return False
    if len(rest) == len(other):
        swapped = len(rest) >= 2 and rest[0] == other[1] and rest[1] == other[0] and rest[2:] == other[2:]
        return swapped or (rest[1:] == other[1:] and not (rest[:1].isdigit() and other[:1].isdigit()))
    longer, shorter = (rest, other) if len(rest) > len(other) else (other, rest)
    return longer[1:] == shorter


_LOOK_ALIKES = str.maketrans("аеорсхуіѕӏɡ01αορνικτ", "aeopcxyislgolaopvikt")
_UNDECLARED = frozenset(
    {"claims.remote-code", "claims.secret-flow", "claims.private-flow", "claims.undeclared-send",
     "claims.drop-host", "claims.body-destination", "claims.agent-configuration", "claims.agent-memory",
     "claims.other-skill", "claims.schedule", "claims.shell-startup", "claims.deletion",
     "claims.opaque-executed", "claims.hidden-text", "claims.undeclared-connect", "claims.denied",
     "claims.undeclared-secret"}
)  # fmt: skip
_TELLING_NOTES = frozenset({"claims.undeclared-connect", "claims.undeclared-secret"})
"""Notes that tell something beside a neighbour, though nothing on their own."""
