"""What a vetting leaves in the store: evidence, verdicts, and their lines in the provenance ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from conjunct import __version__
from conjunct.gate import Policy
from conjunct.model import Skill, Verdict
from conjunct.provenance import Ledger, origin_of
from conjunct.provenance.foreign_lock import foreign_pins_of
from conjunct.report.json_report import skill_entry
from conjunct.run import Store


def record_verdicts(
    store: Store,
    verdicts: Sequence[Verdict],
    policy: Policy,
    *,
    key_of: Callable[[Skill], str],
    by: str,
    battery: str,
) -> None:
    """Keep verdicts as they are reported, and enter them with what people decided into the ledger.

    `key_of` gives the surroundings that a verdict holds for, `by` says who judged.
    """
    for verdict in verdicts:
        skill = verdict.skill
        store.record_verdict(skill.id, skill.digest, key_of(skill), skill_entry(verdict))
    with Ledger(store.path) as ledger:
        for verdict in verdicts:
            skill = verdict.skill
            for decision in policy.decisions_on(skill.id, skill.digest):
                ledger.record_decision(
                    skill.id, skill.digest, decision.told, by=decision.owner, reason=decision.reason
                )
            ledger.record_verdict(
                skill.id,
                skill.digest,
                str(verdict.decision),
                by=by,
                grade=verdict.grade,
                battery=battery,
                surroundings=key_of(skill),
            )


def record_seen(path: Path, skills: Iterable[Skill], folder: Path, *, by: str) -> None:
    """Enter every skill that was looked at into the ledger, with where it came from."""
    locked = foreign_pins_of(folder)
    with Ledger(path) as ledger:
        for skill in skills:
            signed = [f.message for f in skill.findings if f.code.startswith("provenance.")]
            facts = {**origin_of(skill, locked.get(skill.name)).facts(), "signature": "; ".join(signed)}
            ledger.record_seen(skill.id, skill.digest, facts, by=by)


def judge_of(agent: str) -> str:
    """Who judged, for the ledger."""
    return f"conjunct {__version__}, agent {agent}"
