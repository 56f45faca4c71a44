"""One vetting: the phases (alone and under contexts, joined partners, audit) and the verdicts that follow."""

from __future__ import annotations

import datetime
import hashlib
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from conjunct.agent import documented_calls
from conjunct.battery import fixtures
from conjunct.delta import delta_profile
from conjunct.gate import Evidence, Policy, decide, validity_failures
from conjunct.model import (
    NEUTRAL,
    ActionKind,
    Context,
    Coverage,
    Episode,
    EpisodeSpec,
    FactorKind,
    Finding,
    Layer,
    ResourceClass,
    Severity,
    Skill,
    Trigger,
    Verdict,
)
from conjunct.plan import (
    CarrierTable,
    Exploration,
    Join,
    Scope,
    TwinFinding,
    count_contexts,
    explore,
    footprint,
    joins,
    twins,
)
from conjunct.plan.carriers import EVERYTHING, Question
from conjunct.provenance import check_claims
from conjunct.reach.resources import audience_of, bare_host, host_matches
from conjunct.run.drive import Executor, Plan, Progress, drive
from conjunct.run.episode import argument_sets
from conjunct.run.setting import Setting
from conjunct.run.store import Store

AUDIT_SHARE = 0.02
"""Settled contexts run for real, as a share of the runs made."""
AUDIT_LEAST = 20
"""Settled contexts run for real in each registry, where there are as many."""

_SENSITIVE_KINDS = frozenset({ActionKind.CONNECT, ActionKind.SEND, ActionKind.REMOTE_CODE, ActionKind.OPAQUE})
_SENSITIVE_CLASSES = frozenset(
    {
        ResourceClass.SECRET,
        ResourceClass.AGENT_CONFIGURATION,
        ResourceClass.AGENT_MEMORY,
        ResourceClass.SCHEDULE,
        ResourceClass.SHELL_STARTUP,
        ResourceClass.OTHER_SKILL,
    }
)


@dataclass(slots=True)
class _Audit:
    """Settled contexts that were run for real, and which of them behaved differently."""

    made: int = 0
    differed: list[str] = field(default_factory=list)


class Vetting:
    """State of one vetting; `run` makes the runs, `verdicts` concludes."""

    def __init__(self, setting: Setting, policy: Policy, candidates: tuple[Skill, ...]) -> None:
        self.setting = setting
        self.policy = policy
        self.candidates = candidates
        self.fingerprint = setting.fingerprint()
        self.found = {skill.id: Exploration(skill.id) for skill in candidates}
        self.audits = {skill.id: _Audit() for skill in candidates}
        self.twins: dict[str, list[TwinFinding]] = {skill.id: [] for skill in candidates}
        self.failures: list[str] = []
        self._table = self._carriers()

    # ---- phases

    def run(self, executor: Executor, store: Store, show: Callable[[str, Progress], None]) -> None:
        """Make all runs: each candidate alone and under contexts, joined partners, audits."""
        if not self.candidates:
            return
        alone: dict[str, Plan] = {
            skill.id: explore(self.scope(skill), self.found[skill.id]) for skill in self.candidates
        }
        background: dict[str, list[Episode]] = {}
        for skill in self.setting.registry.skills:
            if skill.id not in self.found:
                background[skill.id] = []
                alone[skill.id] = self._footprint_runs(skill, background[skill.id])
        drive(alone, executor, store, watch=lambda p: show("alone and under contexts", p))
        pairs = self._joins(background)
        drive(self._pair_plans(pairs), executor, store, watch=lambda p: show("partners that meet", p))
        drive(self._twin_plans(), executor, store, watch=lambda p: show("twin worlds", p))
        drive(self._audit_plans(), executor, store, watch=lambda p: show("audit of settled contexts", p))

    def _carriers(self) -> CarrierTable:
        setting, layout = self.setting, self.setting.layout
        paths = {path for h in setting.battery.histories for p in h.phrasings for path, _ in p.files}
        return CarrierTable(
            home=layout.home,
            skills_folder=layout.skills,
            history_paths=frozenset(f"{layout.home}/{path}" for path in paths),
            ids_by_folder={skill.name: skill.id for skill in setting.registry.skills},
        )

    def scope(self, skill: Skill) -> Scope:
        """What may vary for one candidate under the policy."""
        setting = self.setting
        return Scope(
            candidate=skill.id,
            neighbours=tuple(
                sorted(other.id for other in setting.registry.skills if other.name != skill.name)
            ),
            probes=setting.battery.probes,
            histories=tuple(h.id for h in setting.battery.histories if h.id != NEUTRAL),
            clocks=tuple(level for level, _ in setting.battery.clocks),
            networks=(NEUTRAL, *setting.battery.networks[1:]),
            argument_sets=tuple(argument_sets(setting)),
            table=self._table,
            horizon=self.policy.horizon,
            strength=self.policy.strength,
            seed=setting.seed,
            fingerprint=self.fingerprint,
            variables=tuple(sorted(setting.plain_variables(skill.id))),
            reads_clock=setting.reach[skill.id].reads_clock,
            most_episodes=self.policy.most_episodes,
        )

    def _footprint_runs(self, skill: Skill, into: list[Episode]) -> Plan:
        """One use probe alone: enough to know what a skill that is not a candidate leaves and looks at."""
        probe = next(probe for probe in self.setting.battery.probes if probe.kind == "use")
        spec = EpisodeSpec(
            probe.id,
            skill.id,
            Context(horizon=self.policy.horizon),
            seed=self.setting.seed,
            comparison=skill.id,
            fingerprint=self.fingerprint,
        )
        into += yield (spec,)

    def _joins(self, background: Mapping[str, list[Episode]]) -> tuple[Join, ...]:
        runs = {name: found.episodes for name, found in self.found.items()} | dict(background)
        prints = [
            footprint(name, [e for e in episodes if not e.spec.context.used_before])
            for name, episodes in runs.items()
        ]
        layout = self.setting.layout
        # Task inputs are the user's: both skills read them, and neither tells the other anything by it.
        inputs = {f"{layout.workspace}/{path}" for path, _ in fixtures(NEUTRAL, self.setting.seed)}
        ignore = {layout.session_file, layout.workspace, layout.home, *inputs}
        return joins(prints, candidates=frozenset(self.found), ignore=ignore)

    def _pair_plans(self, pairs: tuple[Join, ...]) -> dict[str, Plan]:
        """For each joined pair, the writer used before the reader, seen from each candidate's side."""
        starts: dict[str, list[Context]] = {}
        horizon = self.policy.horizon
        for pair in pairs:
            if pair.reader in self.found:
                context = Context(co_skills=(pair.writer,), used_before=(pair.writer,), horizon=horizon)
                starts.setdefault(pair.reader, []).append(context)
            if pair.writer in self.found:
                context = Context(co_skills=(pair.reader,), used_after=(pair.reader,), horizon=horizon)
                starts.setdefault(pair.writer, []).append(context)
        return {
            name: explore(self.scope(self.setting.skills_by_id[name]), self.found[name], starts=contexts)
            for name, contexts in starts.items()
        }

    def _twin_plans(self) -> dict[str, Plan]:
        return {
            name: twins(name, found.episodes, self.twins[name])
            for name, found in self.found.items()
            if not found.triggers
        }

    # ---- audit

    def _audit_plans(self) -> dict[str, Plan]:
        generator = random.Random(f"audit:{self.setting.seed}:{self.fingerprint}")
        made = sum(len(found.episodes) for found in self.found.values())
        wanted = max(AUDIT_LEAST, round(AUDIT_SHARE * made))
        names = [skill.id for skill in self.candidates if self._acted(self.found[skill.id])]
        plans: dict[str, Plan] = {}
        for number in range(wanted if names else 0):
            name = generator.choice(names)
            spec = self._settled_context(name, generator)
            if spec is not None:
                plans[f"{name}#{number}"] = self._audit(name, spec)
        return plans

    @staticmethod
    def _acted(found: Exploration) -> bool:
        return any(episode.trace.commands for episode in found.episodes)

    def _settled_context(self, name: str, generator: random.Random) -> tuple[EpisodeSpec, Episode] | None:
        """A random context that the neutral run of the primary probe settles, with that run."""
        found, scope = self.found[name], self.scope(self.setting.skills_by_id[name])
        roots = [
            e for e in found.episodes if e.spec.context == Context(horizon=scope.horizon) and e.trace.commands
        ]
        if not roots:
            return None
        root = roots[0]
        asked = (
            found.asked[found.episodes.index(root)][1]
            if root in found.episodes[: len(found.asked)]
            else frozenset()
        )
        factors = {question.factor for question in asked}
        history = NEUTRAL if FactorKind.HISTORY in factors else generator.choice((NEUTRAL, *scope.histories))
        neighbours: tuple[str, ...] = ()
        if Question(FactorKind.CO_SKILLS, EVERYTHING) not in asked and scope.neighbours:
            named = {q.detail for q in asked if q.factor is FactorKind.CO_SKILLS}
            free = [n for n in scope.neighbours if self.setting.skills_by_id[n].name not in named]
            neighbours = (generator.choice(free),) if free else ()
        context = replace(root.spec.context, history=history, co_skills=neighbours)
        if context == root.spec.context:
            return None
        return replace(root.spec, context=context, variant="audit"), root

    def _audit(self, name: str, chosen: tuple[EpisodeSpec, Episode]) -> Plan:
        spec, root = chosen
        (episode,) = yield (spec,)
        if episode.trace.undetermined:
            return
        audit = self.audits[name]
        audit.made += 1
        if normalised(episode) != normalised(root):
            audit.differed.append(
                f"{spec.context.history} with {', '.join(spec.context.co_skills) or 'nothing else'}"
            )

    # ---- conclusions

    def take_stored(self, store: Store) -> tuple[dict[str, object], ...]:
        """Stored entries of candidates whose digest and surroundings are unchanged: not run again."""
        kept: list[Skill] = []
        stored: list[dict[str, object]] = []
        for skill in self.candidates:
            entry = store.verdict(skill.id, skill.digest, self.surroundings(skill.id))
            if entry is None:
                kept.append(skill)
            else:
                stored.append(entry)
                del self.found[skill.id]
        self.candidates = tuple(kept)
        return tuple(stored)

    def surroundings(self, skill: str) -> str:
        """Digest of everything but the package that a verdict depends on."""
        others = sorted((s.id, s.digest) for s in self.setting.registry.skills if s.id != skill)
        text = json.dumps([self.fingerprint, self.setting.seed, repr(self.policy), others])
        return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()

    def verdicts(self, today: datetime.date) -> list[Verdict]:
        """Conclude on every candidate."""
        self._share_pair_triggers()
        return [decide(self._evidence(skill), self.policy, today=today) for skill in self.candidates]

    def _share_pair_triggers(self) -> None:
        """A trigger that needs the bodies of two skills is a trigger of both."""
        for found in list(self.found.values()):
            for trigger in found.triggers:
                for actor in trigger.actors:
                    other = self.found.get(actor)
                    if other is not None and other is not found and not _has(other.triggers, trigger):
                        other.triggers.append(trigger)

    def _evidence(self, skill: Skill) -> Evidence:
        found = self.found[skill.id]
        reach = self.setting.reach[skill.id]
        coverage = self._coverage(skill)
        undetermined = [e for e in found.episodes if e.trace.undetermined]
        roots = [e for e in undetermined if e.spec.context == Context(horizon=self.policy.horizon)]
        sensitive = sorted(
            {
                action.kind
                for action in reach.actions
                if not action.mention
                and (action.kind in _SENSITIVE_KINDS or action.resource_class in _SENSITIVE_CLASSES)
            }
        )
        return Evidence(
            skill=skill,
            triggers=tuple(found.triggers),
            findings=(
                *skill.findings,
                *self._claims(skill),
                *self._twin_findings(skill),
                *self._audit_findings(skill),
            ),
            profile=delta_profile(skill.id, found.episodes, ()),
            coverage=coverage,
            invalid=validity_failures(
                coverage,
                reach_checked=True,
                fingerprints=frozenset(episode.spec.fingerprint for episode in found.episodes),
            ),
            failures=tuple(dict.fromkeys(reason for e in roots for reason in e.trace.undetermined)),
            activated=any(skill.id in episode.trace.activated for episode in found.episodes),
            sensitive_reach=tuple(sensitive),
            commands_run=coverage.commands,
            seconds=sum(episode.seconds for episode in found.episodes),
        )

    def _claims(self, skill: Skill) -> tuple[Finding, ...]:
        setting = self.setting
        neighbours = [
            (other, setting.reach[other.id]) for other in setting.registry.skills if other.id != skill.id
        ]
        return check_claims(
            skill, setting.reach[skill.id], neighbours=neighbours, exercised=self._exercised(skill.id)
        )

    def _exercised(self, skill: str) -> frozenset[tuple[str, int]]:
        """Package lines that ran in some episode, as (file, line)."""
        lines = {
            (file, line)
            for episode in self.found[skill].episodes
            for command in episode.trace.commands
            if command.skill == skill
            for file, numbers in command.lines_run
            for line in numbers
        }
        return frozenset(lines)

    def _twin_findings(self, skill: Skill) -> tuple[Finding, ...]:
        return tuple(
            twin_finding(skill.id, one)
            for one in self.twins[skill.id]
            if one.kind == "untraced-differs" or not _all_business(one.destination, one.secrets)
        )

    def _audit_findings(self, skill: Skill) -> tuple[Finding, ...]:
        differed = self.audits[skill.id].differed
        if not differed:
            return ()
        return (
            Finding(
                skill.id,
                Layer.DOES,
                "does.evades-observation",
                f"behaves differently in a context that its trace could not tell apart: {differed[0]}",
                Severity.REVIEW,
            ),
        )

    def _coverage(self, skill: Skill) -> Coverage:
        setting, found, audit = self.setting, self.found[skill.id], self.audits[skill.id]
        scope = self.scope(skill)
        count = count_contexts(
            found.asked,
            histories=scope.histories,
            neighbours=scope.neighbours,
            horizon=scope.horizon,
            ids_by_folder=dict(self._table.ids_by_folder),
        )
        commands = [c for e in found.episodes for c in e.trace.commands if c.skill == skill.id]
        compilation = setting.compilations[skill.id]
        ran = {(command.file, command.line) for command in commands if command.ended in {"exit", "memo"}}
        missed = [
            f"{call.file}:{call.line} {call.text}"
            for call in documented_calls(skill, compilation)
            if (call.file, call.line) not in ran
        ]
        settled, assumed = count.settled, count.assumed
        if audit.differed:
            settled, assumed = 0, settled + assumed
        return Coverage(
            factors=("arguments", "clock", "co_skills", "environment", "history", "host", "network", "turn"),
            strength=scope.strength,
            horizon=scope.horizon,
            settled=settled,
            run=count.run,
            assumed=assumed,
            episodes=len(found.episodes),
            commands=len(commands),
            argument_sets=scope.argument_sets,
            not_exercised=tuple(dict.fromkeys(missed)),
            instructions=compilation.instructions,
            instructions_compiled=compilation.compiled,
            stand_ins=tuple(sorted({name for command in commands for name in command.stand_ins})),
            audits=audit.made,
            audit_mismatches=len(audit.differed),
            assumptions=tuple(dict.fromkeys([*found.assumptions, *(a for c in commands for a in c.assumed)])),
        )


def normalised(episode: Episode) -> frozenset[tuple[str, str, bool, tuple[str, ...]]]:
    """What an episode did, without order, turn and sizes: equal for runs that saw no difference."""
    return frozenset(
        (str(action.kind), action.resource, action.completed, action.canaries)
        for action in episode.trace.actions
        if action.skills()
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


def _has(triggers: list[Trigger], wanted: Trigger) -> bool:
    return any(t.violation.signature() == wanted.violation.signature() for t in triggers)
