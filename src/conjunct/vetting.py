"""One vetting: the phases (alone and under contexts, joined partners, audit) and the verdicts that follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from conjunct.audits import Audits
from conjunct.battery import OUTPUT_FOLDER, fixture_index
from conjunct.conclude import Results, gather, places_that_worked, share_pair_triggers
from conjunct.cut import Left, left_out
from conjunct.forced import forced_plan
from conjunct.gate import Evidence, Policy
from conjunct.gate.stored import evidence_key, plan_of, verdict_key
from conjunct.model import NEUTRAL, Context, Episode, EpisodeSpec, Layer, Skill
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
from conjunct.plan.carriers import Question
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
EXPLORING_SHARE, PARTNERS_SHARE = 0.75, 0.9
"""Shares of a budget that are spent when exploring, and then the partners, make way for what comes after."""


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
        self.audits = Audits(setting, self.found, self.scope)
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
        audits = make("audit of settled contexts", self.audits.plans() if self.audited else {})
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
            skill, found, self.twins[name], self.audits.made[name], self.scope(skill), left=self._left(skill)
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
