"""Conclude on one candidate: findings, coverage and evidence from its runs, for the gate to decide on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from conjunct.agent import documented_calls
from conjunct.cut import Left, shortfall, unconfirmed
from conjunct.delta import delta_profile
from conjunct.delta.evidence import smallest_rate
from conjunct.delta.exhaustion import exhaustion
from conjunct.gate import Evidence, validity_failures
from conjunct.model import (
    ActionKind,
    CommandRecord,
    Context,
    Coverage,
    FactorKind,
    Finding,
    Layer,
    ReachSet,
    Severity,
    Skill,
    Trigger,
)
from conjunct.plan import Exploration, Scope, TwinFinding, count_contexts
from conjunct.plan.explore import COVERAGE
from conjunct.plan.forced import Forced
from conjunct.plan.forced_effects import effect_findings
from conjunct.plan.localise import sentence_of
from conjunct.plan.unreached import never_reached
from conjunct.provenance import check_claims, is_sensitive
from conjunct.reach.credentials import audience_of
from conjunct.reach.resources import bare_host, host_matches
from conjunct.run.setting import Setting

VARIED = ("arguments", "clock", "co_skills", "environment", "history", "host", "network", "turn")


@dataclass(slots=True)
class Audit:
    """Settled contexts that were run for real, and which of them behaved differently."""

    made: int = 0
    differed: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Results:
    """Everything the runs of one candidate gave."""

    skill: Skill
    found: Exploration
    twins: list[TwinFinding]
    audit: Audit
    scope: Scope
    alerts: tuple[Finding, ...] = ()
    """Imported alerts of scanners, answered."""
    forced: Forced = field(default_factory=Forced)
    """What sensitive lines that no run reached did in copies with their tests decided."""
    left: Left | None = None
    """What a budget left out; `None` where there was none."""

    def commands(self) -> list[CommandRecord]:
        """Every command that this skill asked for."""
        return [c for e in self.found.episodes for c in e.trace.commands if c.skill == self.skill.id]


def share_pair_triggers(found: Mapping[str, Exploration]) -> None:
    """A trigger that needs the bodies of two skills is a trigger of both, told from each one's side."""
    for name, exploration in list(found.items()):
        for trigger in exploration.triggers:
            for actor in trigger.actors:
                other = found.get(actor)
                if actor != name and other is not None and not _has(other.triggers, trigger):
                    other.triggers.append(seen_from(actor, name, trigger))


def seen_from(actor: str, candidate: str, trigger: Trigger) -> Trigger:
    """A trigger of `candidate`'s runs as its partner `actor` has it: who was before is now after."""
    swapped = {FactorKind.USED_BEFORE: FactorKind.USED_AFTER, FactorKind.USED_AFTER: FactorKind.USED_BEFORE}
    factors = tuple(
        replace(f, factor=swapped[f.factor], level=candidate)
        if f.factor in swapped and f.level == actor
        else f
        for f in trigger.factors
    )
    sentence = sentence_of(factors) if factors != trigger.factors else trigger.sentence
    return replace(trigger, factors=factors, sentence=sentence)


def _has(triggers: list[Trigger], wanted: Trigger) -> bool:
    return any(
        t.violation.invariant == wanted.violation.invariant and set(t.actors) == set(wanted.actors)
        for t in triggers
    )


def gather(setting: Setting, results: Results) -> Evidence:
    """The evidence on one candidate: nothing in it depends on what an admission policy says to it.

    Pure: reads nothing but its arguments.
    """
    skill, found = results.skill, results.found
    coverage = _coverage(setting, results)
    roots = [e for e in found.episodes if e.spec.context == Context(horizon=results.scope.horizon)]
    short = shortfall(results.left, results.scope.horizon, found.episodes)
    return Evidence(
        skill=skill,
        triggers=tuple(found.triggers),
        findings=(
            *skill.findings,
            *effect_findings(skill.id, results.forced.effects),
            *_claims(setting, results),
            *_twin_findings(results),
            *_audit_findings(results),
            *exhaustion(skill.id, found.episodes),
            *results.alerts,
            *unconfirmed(results.left, found),
        ),
        profile=delta_profile(skill.id, found.episodes, ()),
        coverage=coverage,
        invalid=validity_failures(
            coverage,
            reach_checked=True,
            fingerprints=frozenset(episode.spec.fingerprint for episode in found.episodes),
        ),
        failures=(
            *dict.fromkeys(reason for e in roots for reason in e.trace.undetermined),
            *short,
        ),
        # Of a skill that was hardly run it is not known whether it would have acted.
        activated=bool(short) or any(skill.id in episode.trace.activated for episode in found.episodes),
        sensitive_reach=_sensitive(setting.reach[skill.id]),
        commands_run=coverage.commands,
        seconds=sum(episode.seconds for episode in found.episodes),
    )


def _sensitive(reach: ReachSet) -> tuple[ActionKind, ...]:
    return tuple(
        sorted({a.kind for a in reach.actions if not a.mention and is_sensitive(a.kind, a.resource_class)})
    )


def _claims(setting: Setting, results: Results) -> tuple[Finding, ...]:
    return check_claims(
        results.skill,
        setting.reach[results.skill.id],
        neighbours=setting.neighbourhood,
        exercised=exercised_places(setting, results) | results.forced.concluded(),
    )


def exercised_places(setting: Setting, results: Results) -> frozenset[tuple[str, int]]:
    """(file, line) pairs that ran: Python lines as recorded, directives carried out, and unguarded lines of
    other scripts that were executed to their end."""
    skill = results.skill
    places: set[tuple[str, int]] = set()
    files: set[str] = set()
    for episode in (*results.found.episodes, *results.found.covered):
        for command in episode.trace.commands:
            if command.skill != skill.id or command.ended not in {"exit", "memo"}:
                continue
            places.add((command.file, command.line))
            places |= {
                (file.removeprefix(f"{skill.id}/"), line)
                for file, numbers in command.lines_run
                if file.startswith(f"{skill.id}/")
                for line in numbers
            }
            if command.status == 0:
                files |= {
                    entry.path
                    for entry in skill.entries
                    if any(a.endswith(f"/{entry.path}") for a in command.argv)
                }
    places |= {
        (action.file, action.line)
        for action in setting.reach[skill.id].actions
        if action.file in files and action.source in {"shell", "javascript"} and not action.guards
    }
    return frozenset(places)


def places_that_worked(setting: Setting, results: Results) -> frozenset[tuple[str, int]]:
    """`exercised_places` without directives whose commands all failed: those tell nothing of an effect."""
    ended = {(c.file, c.line, c.status == 0) for c in results.commands() if c.ended in {"exit", "memo"}}
    failed = {(file, line) for file, line, _ in ended if (file, line, True) not in ended}
    return exercised_places(setting, results) - failed


def _unforced(forced: Forced) -> list[str]:
    return [
        f"{one.file}:{one.line} not forced: {one.detail}"
        for one in forced.lines
        if one.outcome == "not forced"
    ]


def _undone(results: Results, ran: set[tuple[str, int]]) -> list[str]:
    """Instructions that were due in runs of the candidate alone and for which the agent could do nothing."""
    alone = [e for e in results.found.episodes if not e.spec.context.co_skills]
    places = dict.fromkeys(place for e in alone for place in e.trace.undone)
    return [f"{place} could not be carried out" for place in places if _file_and_line(place) not in ran]


def _file_and_line(place: str) -> tuple[str, int]:
    file, _, line = place.rpartition(":")
    return file, int(line)


def _coverage(setting: Setting, results: Results) -> Coverage:
    found, audit, scope = results.found, results.audit, results.scope
    count = count_contexts(
        found.asked,
        histories=scope.histories,
        neighbours=scope.neighbours,
        horizon=scope.horizon,
        ids_by_folder=dict(scope.table.ids_by_folder),
    )
    commands = results.commands()
    compilation = setting.compilations[results.skill.id]
    ran = {(command.file, command.line) for command in commands if command.ended in {"exit", "memo"}}
    missed = [
        f"{call.file}:{call.line} {call.text}"
        for call in documented_calls(results.skill, compilation)
        if (call.file, call.line) not in ran
    ]
    missed += _undone(results, ran)
    settled, assumed = count.settled, count.assumed
    if audit.differed or not found.asked:
        # What an audit contradicts, or no run of the plan was there to settle, is settled by nothing.
        settled, assumed = 0, settled + assumed
    return Coverage(
        factors=VARIED,
        strength=scope.strength,
        horizon=scope.horizon,
        settled=settled,
        run=count.run,
        assumed=assumed,
        unexplored=found.unexplored,
        episodes=len(found.episodes),
        commands=len(commands),
        argument_sets=scope.argument_sets,
        not_exercised=tuple(dict.fromkeys([*missed, *_unforced(results.forced)])),
        forced=tuple(results.forced.lines),
        forced_runs=results.forced.runs,
        instructions=compilation.instructions,
        instructions_compiled=compilation.compiled,
        stand_ins=tuple(sorted({name for command in commands for name in command.stand_ins})),
        audits=audit.made,
        audit_mismatches=len(audit.differed),
        assumptions=tuple(dict.fromkeys([*found.assumptions, *(a for c in commands for a in c.assumed)])),
        smallest_rate=smallest_rate(_clean_runs(results)),
        budget=results.left.budget if results.left else "",
        left_out=results.left.told if results.left else (),
        never_reached=never_reached(
            results.skill, (c for e in (*found.episodes, *found.covered) for c in e.trace.commands)
        ),
    )


def _clean_runs(results: Results) -> int:
    """Clean runs in which chance had a chance of its own: made for real, not put together from the memo.

    Variants are never taken from the memo; of the other runs, one for each argument set is counted, because
    other inputs are other commands. So the number depends on the plan alone, not on what was in the store.
    """
    name = results.skill.id
    clean = [
        episode.spec
        for episode in results.found.episodes
        if name in episode.trace.activated
        and not episode.trace.undetermined
        and not any(name in violation.actors for violation in episode.violations)
    ]
    own = sum(spec.variant not in ("", COVERAGE) for spec in clean)
    return own + len({spec.context.arguments for spec in clean if spec.variant in ("", COVERAGE)})


def _twin_findings(results: Results) -> tuple[Finding, ...]:
    return tuple(
        twin_finding(results.skill.id, one)
        for one in results.twins
        if one.kind == "untraced-differs" or not _all_business(one.destination, one.secrets)
    )


def _audit_findings(results: Results) -> tuple[Finding, ...]:
    if not results.audit.differed:
        return ()
    return (
        Finding(
            results.skill.id,
            Layer.DOES,
            "does.evades-observation",
            f"behaves differently in a context its trace could not tell apart: {results.audit.differed[0]}",
            Severity.REVIEW,
        ),
    )


def twin_finding(skill: str, one: TwinFinding) -> Finding:
    """What twin worlds showed, as a finding."""
    secrets = ", ".join(one.secrets[:3])
    layer, code, severity, message = {
        "follows-secret": (
            Layer.LEAKS,
            "leaks.follows-secret",
            Severity.REJECT,
            f"sends bytes to {one.destination} that change with what {secrets} holds",
        ),
        "unreadable": (
            Layer.LEAKS,
            "leaks.unreadable-bytes",
            Severity.REVIEW,
            f"unreadable bytes left to {one.destination} after reading {secrets}",
        ),
        "untraced-differs": (
            Layer.DOES,
            "does.untraced-differs",
            Severity.REVIEW,
            f"reaches {one.destination} only with, or only without, the tracer",
        ),
    }[one.kind]
    return Finding(skill, layer, code, message, severity, one.file, one.line)


def _all_business(destination: str, secrets: tuple[str, ...]) -> bool:
    """Whether the destination is in the audience of every secret that was read."""
    audiences = [audience_of(secret) for secret in secrets]
    return bool(audiences) and all(
        a is not None and host_matches(bare_host(destination), a) for a in audiences
    )
