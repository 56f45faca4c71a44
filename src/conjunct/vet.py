"""`conjunct vet`: skills -> reach -> plan -> run(agent, world) -> delta -> gate -> report."""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from conjunct import __version__
from conjunct.agent import Agent
from conjunct.battery import generate_task, load_battery
from conjunct.directives import compile_registry
from conjunct.errors import IntakeError, StoreError, UsageError, WorldError
from conjunct.gate import decide, load_policy
from conjunct.gate.policy import POLICY_FILE
from conjunct.gate.stored import StoredSkill, StoredVetting, pack_evidence, pack_vetting, plan_of
from conjunct.model import Episode, EpisodeSpec, Registry, Skill
from conjunct.plan.budget import Budget, Unit
from conjunct.plan.localise import replay_plan
from conjunct.provenance import load_trust, neighbourhood_of, read_sarif
from conjunct.provenance.alerts import Answered, alerts_by_skill, left_open
from conjunct.provenance.signatures import with_signatures
from conjunct.provenance.trust import TRUST_FILE
from conjunct.reach import reachable_actions
from conjunct.reach.imports import foreign_modules
from conjunct.record import judge_of, record_seen, record_verdicts
from conjunct.report.progress import watching
from conjunct.report.summary import Report, worst_first
from conjunct.run import LocalExecutor, Store
from conjunct.run.episode import EpisodeRunner
from conjunct.run.rounds import Meter
from conjunct.run.setting import Setting
from conjunct.run.store import DEFAULT_STORE
from conjunct.skills import changed_skills, combined, read_registry, stub_of
from conjunct.vetting import Vetting
from conjunct.world.spec import Command, WorldSpec
from conjunct.world.world import open_world

WITHOUT_A_MODEL = ("literal", "noisy", "scripted")
"""Agents that use no tokens."""


@dataclass(frozen=True, slots=True)
class VetOptions:
    """What to vet, and how."""

    path: Path | None = None
    """One skill folder, a folder of skills, or an archive; `None` with `changed` vets part of `registry`."""
    registry: Path | None = None
    """The skills that the candidates will live with; by default `path` itself."""
    changed: str | None = None
    """Only skills of the registry that changed since this git ref are candidates."""
    policy: Path | None = None
    battery: Path | None = None
    store: Path | None = None
    workers: int | None = None
    seed: int = 0
    trust: Path | None = None
    """Trust policy: whose signatures count; by default `conjunct-trust.toml` beside the registry."""
    import_sarif: Path | None = None
    """Alerts of a static scanner to answer."""
    budget: Budget | None = None
    """What the runs may cost; without one the plan is made to its end."""
    agent: str = "literal"
    """`literal`, or `noisy` for the reference agent that is not deterministic."""
    slips: Path | None = None
    """Rates at which the noisy agent slips (YAML); by default its own."""


def vet_registry(options: VetOptions, *, watch: bool = False) -> Report:
    """Vet skills and return the report; everything recorded on the way is in the store.

    `watch` shows live progress on standard error.

    Raises:
        IntakeError: the path holds nothing that can be vetted.
        PolicyError, BatteryError: a configuration file is not valid.
        WorldError: this machine cannot isolate.
    """
    started = time.monotonic()
    began = datetime.datetime.now(datetime.UTC)
    registry, candidates = read_candidates(options)
    policy = load_policy(beside(options, options.policy, POLICY_FILE))
    registry = with_signatures(registry, load_trust(beside(options, options.trust, TRUST_FILE)))
    known = {skill.id: skill for skill in registry.skills}
    candidates = tuple(known[skill.id] for skill in candidates)
    alerts = read_sarif(options.import_sarif) if options.import_sarif else ()
    placed, answered = alerts_by_skill(alerts, registry.skills)
    store_path = options.store or DEFAULT_STORE
    store = Store(store_path)
    setting = prepare(registry, options, store_path)
    store.packages = setting.package_key
    if options.budget and options.budget.unit is Unit.TOKENS and setting.agent_name in WITHOUT_A_MODEL:
        raise UsageError(
            f"--budget counts tokens, and the {setting.agent_name} agent uses none; give runs or a time"
        )
    budget = options.budget.words() if options.budget else ""
    vetting = Vetting(setting, policy, candidates, alerts=placed, budget=budget)
    stored = vetting.take_stored(store) if options.changed else ()
    if vetting.candidates:
        require_world(setting)
    with (
        LocalExecutor(EpisodeRunner(setting), workers=options.workers) as executor,
        watching(enabled=watch, skills=len(vetting.candidates)) as show,
    ):
        meter = Meter(options.budget, workers=options.workers) if options.budget else None
        vetting.run(executor, store, show, meter)
    gathered = vetting.evidence()
    verdicts = [decide(one, policy, today=began.date()) for one in gathered]
    failures = tuple(vetting.failures)
    told = (*vetting.answered, *left_open(placed, vetting.found), *answered) if options.import_sarif else None
    for one in gathered:
        key = vetting.evidence_key(one.skill)
        store.record_evidence(one.skill.id, one.skill.digest, key, pack_evidence(one))
    asked = _asked(options, vetting, candidates, alerts=told)
    store.record_vetting(asked.path, asked.registry, pack_vetting(asked))
    judge = judge_of(f"{setting.agent_name} {setting.agent_version}")
    record_seen(store_path, registry.skills, options.registry or options.path or Path(), by=judge)
    record_verdicts(
        store, verdicts, policy, key_of=vetting.surroundings, by=judge, battery=setting.battery.version
    )
    store.remember("options", json.dumps({name: str(value) for name, value in _replayable(options)}))
    store.remember("agent", options.agent)
    store.close()
    return Report(
        registry=str(options.registry or options.path),
        verdicts=worst_first(verdicts),
        registry_size=len(registry.skills),
        findings=registry.findings,
        fingerprint=setting.fingerprint(),
        battery=setting.battery.version,
        agent=setting.agent_name,
        seed=options.seed,
        seconds=time.monotonic() - started,
        failures=failures,
        stored=stored,
        started=began.isoformat(timespec="seconds"),
        alerts=told,
    )


def _asked(
    options: VetOptions,
    vetting: Vetting,
    candidates: tuple[Skill, ...],
    *,
    alerts: tuple[Answered, ...] | None,
) -> StoredVetting:
    """What was asked and found about no single skill, so that another policy can be applied to it later."""
    setting = vetting.setting
    paths = dict(_replayable(options))
    chosen = {skill.id for skill in candidates}
    skills = [StoredSkill(skill.id, skill.digest, skill.path) for skill in setting.registry.skills]
    return StoredVetting(
        path=str(paths.get("path", "")),
        registry=str(paths.get("registry", "")),
        battery=str(paths.get("battery", "")),
        trust=str(paths.get("trust", "")),
        title=str(options.registry or options.path),
        seed=options.seed,
        fingerprint=vetting.fingerprint,
        baseline=(("version of conjunct", __version__), *setting.baseline()),
        battery_version=setting.battery.version,
        agent=setting.agent_name,
        plan=plan_of(vetting.policy),
        budget=vetting.budget,
        candidates=tuple(one for one in skills if one.id in chosen),
        neighbours=tuple(one for one in skills if one.id not in chosen),
        findings=setting.registry.findings,
        failures=tuple(vetting.failures),
        alerts=alerts,
    )


def require_world(setting: Setting) -> None:
    """Start one command in a world, so that a machine that cannot isolate is told at once (`WorldError`)."""
    spec = WorldSpec(layout=setting.layout, limits=setting.limits)
    with open_world(spec, runtime=setting.runtime) as world:
        result = world.run(Command(("true",), world.layout.workspace, turn=1, step=0))
    if result.record.status != 0 or result.undetermined:
        reasons = "; ".join(result.undetermined) or f"`true` ended with status {result.record.status}"
        raise WorldError(f"the world does not work on this machine: {reasons}")


def beside(options: VetOptions, given: Path | None, name: str) -> Path | None:
    """The file that was named, else the one of that name in the registry's folder, if there is one.

    Never one from a package: a skill does not write the policy by which it is admitted.
    """
    if given is not None:
        return given
    folder = options.registry or options.path or Path()
    if not folder.is_dir() or any(item.name.lower() == "skill.md" for item in folder.iterdir()):
        return None
    return folder / name if (folder / name).is_file() else None


def read_candidates(options: VetOptions) -> tuple[Registry, tuple[Skill, ...]]:
    """The registry with everything in it, and the skills to decide about."""
    if options.path is None:
        if options.registry is None or options.changed is None:
            raise UsageError("without a PATH, both --registry DIR and --changed REF are needed")
        return _only_changed(read_registry(options.registry), options.registry, options.changed)
    own = read_registry(options.path)
    if options.registry is not None:
        merged = combined(own, read_registry(options.registry))
        own_skills = merged.skills[: len(own.skills)]
        if options.changed is None:
            return merged, own_skills
        changed = changed_skills(options.path, options.changed, registry=own)
        wanted = {skill.digest for skill in own.skills if skill.id in changed}
        return merged, tuple(skill for skill in own_skills if skill.digest in wanted)
    if options.changed is not None:
        return _only_changed(own, options.path, options.changed)
    return own, own.skills


def _only_changed(registry: Registry, folder: Path, ref: str) -> tuple[Registry, tuple[Skill, ...]]:
    changed = changed_skills(folder, ref, registry=registry)
    return registry, tuple(skill for skill in registry.skills if skill.id in changed)


def prepare(registry: Registry, options: VetOptions, store: Path | None) -> Setting:
    """Compile, list reach, and load everything that episodes share."""
    from conjunct.world.runtime import ensure_runtime

    battery = load_battery(options.battery)
    compilations = compile_registry(registry)
    agent, example = agent_of(options.agent, options.slips, options.seed)
    reach = {skill.id: reachable_actions(skill, compilations[skill.id]) for skill in registry.skills}
    return Setting(
        registry=registry,
        battery=battery,
        compilations=compilations,
        reach=reach,
        neighbourhood=neighbourhood_of([(skill, reach[skill.id]) for skill in registry.skills]),
        tasks={skill.id: generate_task(skill, compilations[skill.id]) for skill in registry.skills},
        stubs={skill.id: stub_of(skill) for skill in registry.skills},
        modules={skill.id: foreign_modules(skill) for skill in registry.skills},
        runtime=ensure_runtime(),
        agent=agent,
        agent_name=example.id,
        agent_version=example.version,
        deterministic=example.deterministic,
        store=store,
        seed=options.seed,
        battery_folder=options.battery,
        skills_by_id={skill.id: skill for skill in registry.skills},
        probes_by_id={probe.id: probe for probe in battery.probes},
    )


def agent_of(name: str, slips: Path | None, seed: int) -> tuple[Callable[[EpisodeSpec], Agent], Agent]:
    """What makes the agent of an episode, and one of them. The noisy one slips by the seed of its episode.

    Raises `UsageError` for an unknown agent, slips of an agent that has none, and a rates file that is wrong.
    """
    from conjunct.agent import LiteralAgent, NoisyAgent
    from conjunct.agent.slips import rates_file

    if name == "literal" and slips is None:
        return (lambda _: LiteralAgent()), LiteralAgent()
    if name != "noisy":
        raise UsageError(f"--slips is for the noisy agent, not for {name!r}; known agents: literal, noisy")
    rates = rates_file(slips) if slips else None
    return (lambda spec: NoisyAgent(hash_seed(seed, spec), rates=rates)), NoisyAgent(seed, rates=rates)


def hash_seed(seed: int, spec: EpisodeSpec) -> int:
    """A seed of its own for each episode, the same whenever that episode is made again."""
    return int(spec.key()[:15], 16) ^ seed


def _replayable(options: VetOptions) -> Iterator[tuple[str, Path]]:
    """The paths that a replay needs, absolute, so that it works from any folder."""
    for name in ("path", "registry", "battery", "trust", "slips"):
        value = getattr(options, name)
        if value is not None:
            yield name, Path(value).absolute()


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm of a replay: what is removed (nothing in the first), and in how many runs the effect showed."""

    removed: str
    hits: int
    runs: int


@dataclass(frozen=True, slots=True)
class Replay:
    """What came out when a trigger was run again."""

    effect: str
    sentence: str
    arms: tuple[Arm, ...]

    @property
    def reproduced(self) -> bool:
        """Whether every run of the whole trigger showed the effect."""
        return self.arms[0].hits == self.arms[0].runs


def replay_skill(skill: str, store: Path | None, runs: int, *, workers: int | None = None) -> Replay:
    """Run the stored minimal trigger of a skill again, and each removal of one element beside it.

    Raises:
        StoreError: there is no store, or no verdict with a trigger on that skill.
        IntakeError: the package has changed since, or is gone.
    """
    path = store or DEFAULT_STORE
    if not path.exists():
        raise StoreError(f"{path}: there is no run store here; run `conjunct vet` first or pass --store")
    records = Store(path)
    entry = records.latest_report(skill)
    triggers = entry["triggers"] if entry else None
    if entry is None or not isinstance(triggers, list) or not triggers:
        raise StoreError(
            f"{path}: holds no trigger of {skill!r}; `conjunct explain {skill}` tells what it holds"
        )
    kept = {name: Path(value) for name, value in json.loads(records.remembered("options") or "{}").items()}
    agent = records.remembered("agent") or "literal"
    records.close()
    options = VetOptions(
        path=kept.get("path"),
        registry=kept.get("registry"),
        battery=kept.get("battery"),
        agent=agent,
        slips=kept.get("slips"),
    )
    registry, _ = read_candidates(options)
    spec = msgspec.convert(triggers[0]["replay"], EpisodeSpec)
    now = next((s.digest for s in registry.skills if s.id == spec.candidate), None)
    if skill == spec.candidate and now != entry["digest"]:
        raise IntakeError(f"{skill}: the package is not the one that was vetted; run `conjunct vet` again")
    setting = prepare(registry, options, None)
    plan = replay_plan(spec, runs)
    with LocalExecutor(EpisodeRunner(setting), workers=workers) as executor:
        episodes = _run_all([one for _, specs in plan for one in specs], executor)
    invariant, actors = triggers[0]["invariant"], set(triggers[0]["actors"])
    arms = tuple(
        Arm(removed, sum(_shows(episodes[one.key()], invariant, actors) for one in specs), len(specs))
        for removed, specs in plan
    )
    return Replay(str(triggers[0]["effect"]), str(triggers[0]["sentence"]), arms)


def _run_all(specs: list[EpisodeSpec], executor: LocalExecutor) -> dict[str, Episode]:
    done: dict[str, Episode] = {}
    for spec in specs:
        executor.submit(spec)
    while len(done) < len(specs):
        done.update((episode.spec.key(), episode) for episode in executor.finished())
    return done


def _shows(episode: Episode, invariant: str, actors: set[str]) -> bool:
    return any(v.invariant == invariant and actors & set(v.actors) for v in episode.violations)
