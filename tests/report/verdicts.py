"""Verdicts made by hand for the tests of reports."""

from __future__ import annotations

from pathlib import Path

from conjunct.model import (
    Context,
    Coverage,
    Decision,
    Declaration,
    EpisodeSpec,
    FactorKind,
    Finding,
    Layer,
    Severity,
    Skill,
    SkillDeltaProfile,
    Trigger,
    TriggerFactor,
    Verdict,
    Violation,
)

HOSTILE = "evil\x1b[2J\u202e<script>alert(1)</script>"


def skill(name: str = "currency", description: str = "Format currency amounts.") -> Skill:
    return Skill(
        id=name,
        name=name,
        path=f"registry/{name}",
        root=Path("/nowhere"),
        digest="ab" * 32,
        declaration=Declaration(name, description, line_of=(("description", 3),)),
        body="",
        body_line=5,
        entries=(),
    )


def trigger(actors: tuple[str, ...] = ("currency",)) -> Trigger:
    violation = Violation(
        "leaks.secret-sent",
        Layer.LEAKS,
        Severity.REJECT,
        "sends ~/.aws/credentials to host.example:443",
        "host.example:443",
        3,
        actors,
        file="scripts/fmt.py",
        line=88,
        byte_exact=True,
    )
    factors = (
        TriggerFactor(FactorKind.HISTORY, "payroll", True, 0, 3),
        TriggerFactor(FactorKind.CO_SKILLS, "exporter", True, 0, 3),
        TriggerFactor(FactorKind.TURN, "turn >= 3", True, 0, 3),
    )
    return Trigger(
        sentence="history mentions payroll AND exporter is installed AND turn >= 3",
        factors=factors,
        actors=actors,
        reproduced=True,
        hits=3,
        runs=3,
        violation=violation,
        replay=EpisodeSpec("use.every-turn", "currency", Context(history="payroll")),
        turn=3,
        actions=("turn 3  read ~/table.csv", "turn 3  send host.example:443"),
        compared_with="exporter is installed",
        compared_actions=("turn 3  read ~/table.csv",),
    )


def verdict(
    decision: Decision = Decision.REJECT, *, name: str = "currency", with_trigger: bool = True
) -> Verdict:
    return Verdict(
        skill=skill(name),
        decision=decision,
        grade="full" if decision is Decision.ADMIT else "",
        reasons=("sends ~/.aws/credentials",) if decision is not Decision.ADMIT else (),
        findings=(
            Finding(
                name,
                Layer.CLAIMS,
                "claims.over-privilege",
                "declares more than it does",
                file="SKILL.md",
                line=4,
            ),
        ),
        triggers=(trigger(),) if with_trigger else (),
        profile=SkillDeltaProfile(name, (0.0, 0.0), (0.0, 1.0)),
        coverage=Coverage(
            factors=("co_skills", "history"), settled=100, run=20, assumed=0, episodes=30, commands=60
        ),
    )
