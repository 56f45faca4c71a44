"""Unique ids in a registry: the name, with the start of the digest where several packages share it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from conjunct.model import Finding, Layer, Skill

SHORT_DIGEST = 8


def with_unique_ids(skills: Sequence[Skill]) -> tuple[Skill, ...]:
    """`skills` with ids and the ids filled into their findings; equal copies become one.

    Names are compared without case, because the folders named after them may be.
    """
    merged: dict[tuple[str, str], Skill] = {}
    for skill in skills:
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


def _note(code: str, message: str) -> Finding:
    return Finding(skill="", layer=Layer.CLAIMS, code=code, message=message)
