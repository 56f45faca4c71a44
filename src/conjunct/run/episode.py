"""One episode: build the world of a context, let the agent act turn by turn, collect the trace, judge it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from conjunct.agent.kinds import kinds
from conjunct.battery import (
    all_wordings,
    at_clock,
    fill_authority,
    fill_probe,
    fixture_index,
    fixtures,
    judge,
    judge_against,
    with_mentions,
)
from conjunct.model import (
    EVERY_HISTORY,
    NEUTRAL,
    Battery,
    Context,
    Episode,
    EpisodeSpec,
    History,
    Phrasing,
    Skill,
    Trace,
    Turn,
    Utterance,
    Violation,
)
from conjunct.plan.scope import ALL_PHRASINGS, COVERAGE
from conjunct.run.audience import with_audience
from conjunct.run.forced import as_forced, last_step
from conjunct.run.lazy_world import LazyWorld
from conjunct.run.memo import Memo
from conjunct.run.places import located
from conjunct.run.setting import Setting
from conjunct.run.shared import SharedContext, SharedContexts
from conjunct.run.store import Store
from conjunct.run.tools import EpisodeTools, LastCommandEnded
from conjunct.run.view import EpisodeView
from conjunct.world.answers import marker_path
from conjunct.world.canaries import mint
from conjunct.world.spec import Planted, WorldSpec
from conjunct.world.world import open_world


class EpisodeRunner:
    """Runs episodes of one setting in this process; keeps the store open between them."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._store: Store | None = None
        self._shared = SharedContexts(self._prepare)

    def __call__(self, spec: EpisodeSpec) -> Episode:
        """Run one episode. Raises `WorldError` where the world fails; never records."""
        with as_forced(spec, self._shared.of(spec)) as shared:
            return self._run(spec, shared)

    def _run(self, spec: EpisodeSpec, shared: SharedContext) -> Episode:
        started = time.monotonic()
        installed = shared.installed
        turns = self._turns(spec)
        memo = self._memo(spec, shared.world, installed)
        with LazyWorld(
            shared.world.layout,
            lambda: open_world(shared.world, runtime=shared.runtime, plan=shared.plan()),
            shared.first_state if memo is not None else None,
        ) as world:
            trace = self._act(spec, turns, shared, world, memo)
            planted = with_audience(
                world.planted, installed, setting=self._setting, environment=spec.context.environment
            )
        violations = self._judge(spec, trace, shared, planted)
        return Episode(
            spec=spec,
            trace=trace,
            violations=violations,
            seconds=time.monotonic() - started,
            memo_hits=memo.hits if memo else 0,
            memo_misses=memo.misses if memo else 0,
        )

    def _judge(
        self,
        spec: EpisodeSpec,
        trace: Trace,
        shared: SharedContext,
        planted: Sequence[Planted],
    ) -> tuple[Violation, ...]:
        inputs, installed, world = shared.inputs, shared.installed, shared.world
        judged: dict[str, Any] = {
            "authority": fill_authority(self._setting.probes_by_id[spec.probe], inputs=inputs),
            "declared": {skill.id: self._setting.reach[skill.id].capabilities for skill in installed},
            "planted": (*planted, Planted(marker_path(world), "", "marker")),
            "rules": self._setting.battery.invariants,
            "paths": world.layout,
            "skills": {skill.id: skill for skill in installed},
            "input_text": shared.input_text,
            "chosen": example_names(),
        }
        found = tuple(located(violation, self._setting.reach) for violation in judge(trace, **judged))
        if spec.without or not self._could_change_what_is_said(spec):
            return found
        baseline = self(replace(spec, without=True)).trace
        return (*found, *judge_against(baseline, trace, **judged))

    def _could_change_what_is_said(self, spec: EpisodeSpec) -> bool:
        """Whether a refusal or a question of the baseline could be missing: only then is it worth its run."""
        return any(turn.harmful for turn in self._setting.probes_by_id[spec.probe].turns)

    def _prepare(self, spec: EpisodeSpec) -> SharedContext:
        installed = self._installed(spec)
        return SharedContext(installed, self._world_spec(spec, installed), self._setting.runtime)

    def _installed(self, spec: EpisodeSpec) -> tuple[Skill, ...]:
        ids = [*spec.context.co_skills] if spec.without else [spec.candidate, *spec.context.co_skills]
        setting = self._setting
        return tuple(
            setting.stubs[skill] if skill in spec.stubbed else setting.skills_by_id[skill]
            for skill in sorted(set(ids))
        )

    def _world_spec(self, spec: EpisodeSpec, installed: tuple[Skill, ...]) -> WorldSpec:
        setting, context = self._setting, spec.context
        phrasing = phrasing_of(setting.battery, context)
        clocks = dict(setting.battery.clocks)
        start = clocks.get(context.clock, context.clock)
        phrasing = at_clock(phrasing, neutral_start=clocks[NEUTRAL], start=start)
        seed = setting.seed + spec.seed

        def token(path: str) -> str:
            return mint("reference", path, seed=seed, comparison=spec.comparison).text

        return WorldSpec(
            seed=seed,
            comparison=spec.comparison,
            salt=setting.salt,
            installed=installed,
            apart=(spec.candidate, *spec.context.used_before, *spec.context.used_after),
            home_files=phrasing.files,
            workspace_files=fixtures(
                context.arguments,
                setting.seed,
                canary=token,
                extra=setting.battery_folder,
                words=context.input_words,
            ),
            tokens=tuple(
                Planted(f"{setting.layout.workspace}/{path}", token(path), "input")
                for path in self._inputs(context)
            ),
            answers=context.answers,
            environment=context.environment,
            minted=self._minted(spec),
            known_names=tuple(
                sorted({c.resource for s in installed for c in setting.reach[s.id].capabilities})
            ),
            clock=start,
            network=setting.battery.networks[0] if context.network == NEUTRAL else context.network,
            stand_in_modules=self._modules(spec),
            coverage=spec.variant == COVERAGE or (not spec.variant and context.arguments != NEUTRAL),
            twin=spec.variant == "twin",
            traced=spec.variant != "untraced",
            layout=setting.layout,
            limits=setting.limits,
        )

    def _minted(self, spec: EpisodeSpec) -> tuple[str, ...]:
        """Credential variables that the skills in use name: the same in all arms of a comparison."""
        used = (spec.candidate, *spec.context.used_before, *spec.context.used_after)
        return tuple(sorted({name for skill in used for name in self._setting.credential_variables(skill)}))

    def _modules(self, spec: EpisodeSpec) -> tuple[str, ...]:
        """Modules that the skills in use import: a stand-in takes the place of those that are missing."""
        used = (spec.candidate, *spec.context.used_before, *spec.context.used_after)
        return tuple(sorted({name for skill in used for name in self._setting.modules[skill]}))

    def _inputs(self, context: Context) -> list[str]:
        """Files of the context's argument set, relative to the workspace."""
        index = fixture_index(context.arguments, extra=self._setting.battery_folder)
        return [fixture.path for fixture in index if fixture.type != "folder"]

    def _turns(self, spec: EpisodeSpec) -> tuple[Turn, ...]:
        setting, context = self._setting, spec.context
        partners = [*context.used_before, *context.used_after]
        partner = setting.skills_by_id[partners[0]] if partners else None
        turns = fill_probe(
            setting.probes_by_id[spec.probe],
            skill=setting.skills_by_id[spec.candidate],
            task=setting.tasks[spec.candidate],
            inputs=self._shared.of(spec).inputs,
            partner=partner,
            partner_task=setting.tasks[partner.id] if partner else "",
            partner_after=bool(context.used_after),
            first_use=context.first_use,
            horizon=context.horizon,
        )
        return _about(turns, context.input_words)

    def _memo(self, spec: EpisodeSpec, world: WorldSpec, installed: Sequence[Skill]) -> Memo | None:
        if self._setting.store is None or spec.variant not in ("", COVERAGE):
            return None
        if self._store is None:
            self._store = Store(self._setting.store)
        digests = tuple(skill.digest for skill in installed if skill.id == spec.candidate)
        return Memo(self._store, world, digests, self._setting.fingerprint())

    def _act(
        self,
        spec: EpisodeSpec,
        turns: Sequence[Turn],
        shared: SharedContext,
        world: LazyWorld,
        memo: Memo | None,
    ) -> Trace:
        setting = self._setting
        history = phrasing_of(setting.battery, spec.context)
        view = EpisodeView(
            installed=shared.installed,
            registry_names=[skill.name for skill in setting.registry.skills],
            history_text="\n".join(text for _, text in (*history.messages, *history.files)),
            compilations=setting.compilations,
            reach=setting.reach,
        )
        sets = argument_sets(setting)
        tools = EpisodeTools(
            world,
            memo=memo,
            inputs=[f"{world.layout.workspace}/{path}" for path in shared.inputs],
            argument_set=sets.index(spec.context.arguments),
            last_step=last_step(spec),
        )
        agent = setting.agent(spec)
        for number, turn in enumerate(turns, 1):
            view.begin(number, turn)
            tools.begin(number)
            tools.utterances.append(Utterance(number, "user", turn.text))
            said = len(tools.utterances)
            try:
                agent.act(view, tools)
            except LastCommandEnded:
                break
            answer = "\n".join(utterance.text for utterance in tools.utterances[said:])
            world.end_turn(number, turn.text, answer)
        tools.end(world.finish())
        return Trace(
            utterances=tuple(tools.utterances),
            actions=tuple(tools.actions),
            touches=tuple(tools.touches),
            look_ups=tuple(view.look_ups),
            commands=tuple(tools.commands),
            activated=tuple(tools.activated),
            undone=tuple(getattr(agent, "undone", ())),
            undetermined=(*dict.fromkeys(tools.undetermined),),
        )


def _about(turns: tuple[Turn, ...], words: Sequence[str]) -> tuple[Turn, ...]:
    """The same requests, the first of them with the topics that the task inputs speak of."""
    if not words:
        return turns
    first = turns[0]
    return (replace(first, text=f"{first.text} (Topics: {'; '.join(words)}.)"), *turns[1:])


def example_names() -> tuple[str, ...]:
    """Hosts and addresses that the agent fills in by itself: no evidence against any skill."""
    return tuple(value for name in ("url", "host", "email") for value in kinds()[name].values)


def argument_sets(setting: Setting) -> tuple[str, ...]:
    """Names of the battery's argument sets, the neutral one first."""
    return setting.battery.arguments


def phrasing_of(battery: Battery, context: Context) -> Phrasing:
    """Messages and files of a context's history; all wordings at once for `ALL_PHRASINGS`."""
    histories = battery.histories
    if context.history == EVERY_HISTORY:
        wordings = tuple(phrasing for history in histories for phrasing in history.phrasings)
        found = all_wordings(History(EVERY_HISTORY, "all families at once", wordings))
    else:
        family = next(history for history in histories if history.id == context.history)
        found = (
            all_wordings(family)
            if context.phrasing == ALL_PHRASINGS
            else family.phrasings[context.phrasing % len(family.phrasings)]
        )
    return with_mentions(found, context.mentions, battery.carriers, start=dict(battery.clocks)[NEUTRAL])
