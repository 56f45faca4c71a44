"""One vetting: the phases (alone and under contexts, joined partners, audit) and the verdicts that follow."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from conjunct.battery import OUTPUT_FOLDER, fixture_index
from conjunct.conclude import Audit, Results, gather, places_that_worked, share_pair_triggers
from conjunct.cut import Left, left_out
from conjunct.forced import forced_plan
from conjunct.gate import Evidence, Policy
from conjunct.gate.stored import evidence_key, plan_of, verdict_key
from conjunct.model import NEUTRAL, Context, Episode, EpisodeSpec, FactorKind, Layer, Skill
from conjunct.plan import (
    CarrierTable,
    Exploration,
    Footprint,
    Join,
    Scope,
    TwinFinding,
    clues_of,
    explore,
    footprint,
    twins,
)
from conjunct.plan.carriers import EVERYTHING, Question
from conjunct.plan.forced import Forced
from conjunct.plan.partners import worth_running
from conjunct.pooling import Pooling
from conjunct.provenance import is_sensitive
from conjunct.provenance.alerts import Answered, alert_findings, answer_alerts
from conjunct.provenance.sarif import Alert
from conjunct.run.drive import Executor, Plan, Progress, drive
from conjunct.run.episode import argument_sets
from conjunct.run.kept import KeptEpisodes
from conjunct.run.rounds import Cut, Meter, drive_within
from conjunct.run.setting import Setting
from conjunct.run.store import Store

ARGUMENT_SETS = 3
"""Argument sets for a skill that can do nothing sensitive."""
AUDIT_SHARE = 0.02
"""Settled contexts run for real, as a share of the runs made."""
AUDIT_LEAST = 20
"""Settled contexts run for real in each registry, where there are as many."""
EXPLORING_SHARE, PARTNERS_SHARE = 0.75, 0.9
"""Shares of a budget that are spent when exploring, and then the partners, make way for what comes after."""

_DRAWS = 20
"""Draws for each audit wanted: some contexts are settled by no run, some are drawn twice."""


class Vetting:
    """State of one vetting; `run` makes the runs, `verdicts` concludes."""

    def __init__(
        self,
        setting: Setting,
        policy: Policy,
        candidates: tuple[Skill, ...],
        *,
        alerts: Mapping[str, Mapping[Alert, str]] | None = None,
        budget: str = "",
        audited: bool = True,
    ) -> None:
        self.setting = setting
        self.policy = policy
        self.candidates = candidates
        self.budget = budget
        self.audited = audited
        self.meter: Meter | None = None
        self.left_out: dict[str, Left] = {}
        self.fingerprint = setting.fingerprint()
        self.found = {skill.id: Exploration(skill.id) for skill in candidates}
        self.audits = {skill.id: Audit() for skill in candidates}
        self.twins: dict[str, list[TwinFinding]] = {skill.id: [] for skill in candidates}
        self.forced = {skill.id: Forced() for skill in candidates}
        self.pooling: Pooling | None = None
        """In place of the tree, where the agent is not deterministic."""
        self.failures: list[str] = []
        self.alerts = alerts or {}
        """Imported alerts by skill, each with the file of the package that it is on."""
        self.answered: list[Answered] = []
        self._kept: dict[str, KeptEpisodes] = {}
        self._footprints: dict[str, Footprint] = {}
        self._table = self._carriers()
        self._scopes: dict[str, Scope] = {}

    # ---- phases

    def run(
        self,
        executor: Executor,
        store: Store,
        show: Callable[[str, Progress], None],
        meter: Meter | None = None,
    ) -> None:
        """Make all runs: each candidate alone and under contexts, joined partners, twin worlds, audits.

        With a `meter` the runs end with its budget: a share of it is kept for the later phases, and what they
        leave goes to the contexts again.
        """
        if not self.candidates:
            return
        self.meter = meter
        for name, exploration in self.found.items():
            exploration.episodes = self._kept[name] = KeptEpisodes(store)

        def make(
            phase: str, plans: Mapping[str, Plan], share: float = 1.0, waves: int | None = None
        ) -> dict[str, Cut]:
            if meter is None:
                drive(plans, executor, store, watch=lambda p: show(phase, p), on_end=self._let_go)
                return {}
            cut = drive_within(
                plans, executor, store, meter, share=share, waves=waves, watch=lambda p: show(phase, p)
            )
            for name in plans:
                self._let_go(name)
            return cut

        if not self.setting.deterministic:
            self.pooling = Pooling(self.setting, self.policy, self.candidates, self.fingerprint)
            alone_cut = make("alone", self.pooling.alone(self.found))
            pools_cut = make("pools", self.pooling.pools(self.found))
            self.pooling.confirmed(self.found)
            self.left_out = left_out(self.found, alone_cut, pools=bool(pools_cut))
            return
        alone: dict[str, Plan] = {
            skill.id: explore(self.scope(skill), self.found[skill.id]) for skill in self.candidates
        }
        background: dict[str, list[Episode]] = {}
        for skill in self.setting.registry.skills:
            if skill.id in self.found:
                continue
            stored = store.footprint(self._footprint_key(skill.id), Footprint)
            if stored is not None:
                self._footprints[skill.id] = stored
                continue
            background[skill.id] = []
            alone[skill.id] = self._footprint_runs(skill, background[skill.id])
        if meter is not None:
            # The minimum plan of everybody comes before anything else of anybody.
            cut = make("alone", alone, waves=1)
            alone = {name: one.resumed() for name, one in cut.items()}
        contexts = make("alone and under contexts", alone, EXPLORING_SHARE)
        pairs = self._joins(background)
        together = make("partners that meet", self._pair_plans(pairs), PARTNERS_SHARE)
        twin_worlds = make("twin worlds", self._twin_plans())
        forced = make("forced branches", self._forced_plans())
        audits = make("audit of settled contexts", self._audit_plans() if self.audited else {})
        if contexts or together:
            contexts = make("rest of the contexts", {name: one.resumed() for name, one in contexts.items()})
            together = make("rest of the partners", {name: one.resumed() for name, one in together.items()})
            # What the rest showed may meet others, or carry secrets: known runs cost nothing.
            later = tuple(pair for pair in self._joins(background) if pair not in pairs)
            together |= make("partners that meet", self._pair_plans(later))
            self.twins = {name: [] for name in self.twins}
            twin_worlds = make("twin worlds", self._twin_plans())
        else:
            store.record_footprints(
                {self._footprint_key(name): self._footprints[name] for name in self.found}
            )
        self.left_out = left_out(self.found, contexts, together, twin_worlds, forced, len(audits))

    def _let_go(self, name: str) -> None:
        """A plan has ended: its candidate's episodes stay in the store only, equal questions become one."""
        if name in self._kept:
            self._kept[name].spill()
            same: dict[frozenset[Question], frozenset[Question]] = {}
            found = self.found[name]
            found.asked[:] = [(spec, same.setdefault(asked, asked)) for spec, asked in found.asked]

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
        """What may vary for one candidate under the policy; the same for a whole vetting."""
        known = self._scopes.get(skill.id)
        if known is None:
            known = self._scopes[skill.id] = self._make_scope(skill)
        return known

    def _make_scope(self, skill: Skill) -> Scope:
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
            argument_sets=self._argument_sets(skill),
            table=self._table,
            horizon=self.policy.horizon,
            strength=self.policy.strength,
            seed=setting.seed,
            fingerprint=self.fingerprint,
            variables=tuple(sorted(setting.plain_variables(skill.id))),
            reads_clock=setting.reach[skill.id].reads_clock,
            most_episodes=self.policy.most_episodes,
            clues=clues_of(
                skill,
                setting.reach[skill.id],
                setting.compilations[skill.id],
                neutral=dict(setting.battery.clocks)[NEUTRAL],
            ),
        )

    def _argument_sets(self, skill: Skill) -> tuple[str, ...]:
        """All argument sets where the skill could do something sensitive, else the first few."""
        known = argument_sets(self.setting)
        return known if self._is_sensitive(skill.id) else known[:ARGUMENT_SETS]

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
        layout = self.setting.layout
        # What all skills share says nothing about two of them: the user's inputs, the results folder.
        shared = {layout.session_file, layout.workspace, layout.home, f"{layout.workspace}/{OUTPUT_FOLDER}"}
        for arguments in argument_sets(self.setting):
            index = fixture_index(arguments, extra=self.setting.battery_folder)
            shared |= {f"{layout.workspace}/{fixture.path}" for fixture in index}
        runs = {name: found.episodes for name, found in self.found.items()} | dict(background)
        self._footprints |= {name: footprint(name, made, ignore=shared) for name, made in runs.items()}
        chosen = worth_running(
            list(self._footprints.values()),
            candidates=frozenset(self.found),
            sensitive=frozenset(name for name in self._footprints if self._is_sensitive(name)),
            seed=self.setting.seed,
        )
        for name, told in chosen.told.items():
            self.found[name].assumptions += [one for one in told if one not in self.found[name].assumptions]
        return chosen.run

    def _footprint_key(self, skill: str) -> str:
        """Of which package, under which baseline and plan, a footprint is."""
        plan = ",".join(f"{name}={value}" for name, value in plan_of(self.policy))
        package = self.setting.package_key(EpisodeSpec("", skill, Context()))
        return f"{skill}:{package}:{self.fingerprint}:{self.setting.seed}:{plan}"

    def _is_sensitive(self, skill: str) -> bool:
        """Whether the skill could do something sensitive."""
        reach = self.setting.reach[skill]
        return any(not a.mention and is_sensitive(a.kind, a.resource_class) for a in reach.actions)

    def _pair_plans(self, pairs: tuple[Join, ...]) -> dict[str, Plan]:
        """For each joined pair, the writer used before the reader, seen from each candidate's side."""
        starts: dict[str, list[Context]] = {}
        for pair in pairs:
            sides = (
                (pair.reader, pair.writer, "used_before"),
                (pair.writer, pair.reader, "used_after"),
            )
            for name, other, role in sides[:1] if pair.reader_only and pair.reader in self.found else sides:
                if name in self.found:
                    context = replace(pair.context, co_skills=(other,), **{role: (other,)})  # type: ignore[arg-type]
                    starts.setdefault(name, []).append(context)
        return {
            name: explore(self.scope(self.setting.skills_by_id[name]), self.found[name], starts=contexts)
            for name, contexts in starts.items()
        }

    def _twin_plans(self) -> dict[str, Plan]:
        """Twin worlds of every candidate that no leak is known of: a lesser violation must not hide one."""
        return {
            name: twins(name, found.episodes, self.twins[name])
            for name, found in self.found.items()
            if not any(trigger.violation.layer is Layer.LEAKS for trigger in found.triggers)
        }

    def _forced_plans(self) -> dict[str, Plan]:
        def results(skill: Skill) -> Results:
            return self._results(skill, answered=False)

        return {
            skill.id: forced_plan(self.setting, skill, partial(results, skill), self.forced[skill.id])
            for skill in self.candidates
        }

    # ---- audit

    def _audit_plans(self) -> dict[str, Plan]:
        generator = random.Random(f"audit:{self.setting.seed}:{self.fingerprint}")
        made = sum(len(found.episodes) for found in self.found.values())
        wanted = max(AUDIT_LEAST, round(AUDIT_SHARE * made))
        names = [skill.id for skill in self.candidates if self._acted(self.found[skill.id])]
        plans: dict[str, Plan] = {}
        roots: dict[str, Episode | None] = {}
        for _ in range(wanted * _DRAWS if names else 0):
            name = generator.choice(names)
            if name not in roots:
                roots[name] = self._audit_root(name)
            chosen = self._settled_context(name, roots[name], generator)
            if chosen is not None:
                plans.setdefault(chosen[0].key(), self._audit(name, chosen))
            if len(plans) >= wanted:
                break
        return plans

    @staticmethod
    def _acted(found: Exploration) -> bool:
        return any(episode.trace.commands for episode in found.episodes)

    def _audit_root(self, name: str) -> Episode | None:
        """The neutral run whose contexts are audited, if a skill acted in any."""
        neutral = Context(horizon=self.scope(self.setting.skills_by_id[name]).horizon)
        roots = (e for e in self.found[name].episodes if e.spec.context == neutral and e.trace.commands)
        # The shortest conversation asks as much of a context as a long one, and costs less to run for real.
        return min(roots, key=lambda episode: len(episode.trace.commands), default=None)

    def _settled_context(
        self, name: str, root: Episode | None, generator: random.Random
    ) -> tuple[EpisodeSpec, Episode] | None:
        """A random context that a neutral run settles, with that run."""
        found, scope = self.found[name], self.scope(self.setting.skills_by_id[name])
        if root is None:
            return None
        asked = next((asked for spec, asked in found.asked if spec == root.spec), frozenset())
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
            entry = store.verdict(skill.id, skill.digest, self.surroundings(skill))
            if entry is None:
                kept.append(skill)
            else:
                stored.append(entry)
                del self.found[skill.id]
        self.candidates = tuple(kept)
        return tuple(stored)

    def surroundings(self, skill: Skill) -> str:
        """Digest of everything but the package that a verdict depends on."""
        return verdict_key(self.evidence_key(skill), self.policy, self.budget)

    def evidence_key(self, skill: Skill) -> str:
        """Digest of everything but the package that the evidence on a skill depends on."""
        setting = self.setting
        return evidence_key(
            setting.skills_by_id[skill.id],
            setting.registry.skills,
            fingerprint=self.fingerprint,
            seed=setting.seed,
            plan=plan_of(self.policy),
        )

    def _left(self, skill: Skill) -> Left | None:
        """What the budget left out of one candidate's plan; `None` where there was no budget."""
        if self.meter is None:
            return None
        return replace(
            self.left_out.get(skill.id, Left()),
            budget=self.meter.budget.words(),
            minimum=len(self.scope(skill).probes),
        )

    def evidence(self) -> list[Evidence]:
        """What the runs of every candidate gave, whatever the policy says to it."""
        share_pair_triggers(self.found)
        gathered = [gather(self.setting, self._results(skill)) for skill in self.candidates]
        if self.pooling is None:
            return gathered
        return [replace(one, coverage=self.pooling.coverage(one.skill.id, one.coverage)) for one in gathered]

    def _results(self, skill: Skill, *, answered: bool = True) -> Results:
        name = skill.id
        # Read from the store once, not for each question that a conclusion asks.
        found = replace(self.found[name], episodes=list(self.found[name].episodes))
        results = Results(
            skill, found, self.twins[name], self.audits[name], self.scope(skill), left=self._left(skill)
        )
        results = replace(results, forced=self.forced[name])
        alerts = self.alerts.get(name)
        if not alerts or not answered:
            return results
        answers = answer_alerts(
            tuple(alerts),
            self.setting.reach[name],
            places_that_worked(self.setting, results),
            [
                *(trigger.violation for trigger in found.triggers),
                *(violation for e in (*found.episodes, *found.covered) for violation in e.violations),
            ],
            file_of=alerts,
            forced=self.forced[name].answers(),
        )
        self.answered += answers
        return replace(results, alerts=alert_findings(answers))


def normalised(episode: Episode) -> frozenset[tuple[str, str, bool, tuple[str, ...]]]:
    """What an episode did, without order, turn and sizes: equal for runs that saw no difference."""
    return frozenset(
        (str(action.kind), action.resource, action.completed, action.canaries)
        for action in episode.trace.actions
        if action.skills()
    )
