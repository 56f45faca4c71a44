"""Unique ids in a registry: the name, with the start of the digest where several packages share it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from conjunct.model import Finding, Layer, Registry, Skill

SHORT_DIGEST = 8


def with_unique_ids(skills: Sequence[Skill]) -> tuple[Skill, ...]:
    """`skills` with ids and the ids filled into their findings; equal copies become one.

    Names are compared without case, because the folders named after them may be.
    """
    merged: dict[tuple[str, str], Skill] = {}
    for skill in map(_without_earlier_notes, skills):
        key = (skill.name, skill.digest)
        if key in merged:
            first = merged[key]
            note = _note("intake.copy", f"an identical copy is at {skill.path!r}")
            merged[key] = replace(first, findings=(*first.findings, note))
        else:
            merged[key] = skill
    by_name: dict[str, list[Skill]] = defaultdict(list)
    for skill in merged.values():
        by_name[skill.name.casefold()].append(skill)
    lengths = {name: _telling_length(sharers) for name, sharers in by_name.items()}
    return tuple(
        _identified(skill, by_name[skill.name.casefold()], lengths[skill.name.casefold()])
        for skill in merged.values()
    )


def combined(own: Registry, around: Registry) -> Registry:
    """One registry of both, with ids that are unique in it; `own`'s skills come first, in their order.

    A skill of `around` that is identical to one of `own` is not repeated.
    """
    return Registry(
        path=own.path,
        skills=with_unique_ids((*own.skills, *around.skills)),
        findings=(*own.findings, *around.findings),
    )


def _telling_length(sharers: Sequence[Skill]) -> int:
    """Digits of the digest that tell the sharers of a name apart."""
    digests = {skill.digest for skill in sharers}
    length = SHORT_DIGEST
    while length < 64 and len({digest[:length] for digest in digests}) < len(digests):
        length += 4
    return length


def _identified(skill: Skill, sharers: Sequence[Skill], length: int) -> Skill:
    findings = skill.findings
    identity = skill.name
    if len(sharers) > 1:
        identity = f"{skill.name}~{skill.digest[:length]}"
        others = [repr(other.path) for other in islice(sharers, 6) if other is not skill][:5]
        more = len(sharers) - 1 - len(others)
        told = ", ".join(others) + (f" and {more} more" if more else "")
        findings = (*findings, _note("intake.duplicate-name", f"shares its name with {told}"))
    return replace(
        skill, id=identity, findings=tuple(replace(finding, skill=identity) for finding in findings)
    )


def _without_earlier_notes(skill: Skill) -> Skill:
    """A skill that already had its id in a smaller registry has been told of its sharers there."""
    kept = tuple(finding for finding in skill.findings if finding.code != "intake.duplicate-name")
    return skill if len(kept) == len(skill.findings) else replace(skill, findings=kept)


def _note(code: str, message: str) -> Finding:
    return Finding(skill="", layer=Layer.CLAIMS, code=code, message=message)
