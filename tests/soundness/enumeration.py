"""A generated skill twice: by the read-set tree with the command memo, and in the contexts for real."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from conjunct.errors import WorldError
from conjunct.gate import Policy
from conjunct.model import NEUTRAL, Context, Episode, EpisodeSpec, FactorKind, Severity
from conjunct.plan.carriers import EVERYTHING, Question
from conjunct.plan.explore import ALL_PHRASINGS, Exploration
from conjunct.run.drive import Plan
from conjunct.run.episode import EpisodeRunner
from conjunct.run.executor import undetermined
from conjunct.run.setting import Setting
from conjunct.run.store import Store
from conjunct.skills import read_registry
from conjunct.vet import VetOptions, prepare
from conjunct.vetting import Vetting
from soundness.guards import ALPHA, BETA, SKILL, ZETA
from soundness.recipes import Recipe, write_registry

TURNS = 4
HISTORIES = (NEUTRAL, "payroll", "travel")
SETS = ((), (ALPHA,), (BETA,), (ALPHA, BETA, ZETA))
CLOCK = "next-year"
VARIABLE = (("TIDY_MODE", "1"),)

Effects = frozenset[tuple[int, str, str]]
"""(turn, invariant, resource) of every violation that the generated skill takes part in."""


class InThisProcess:
    """Runs episodes one after another, here."""

    def __init__(self, run: EpisodeRunner) -> None:
        self._run = run
        self._waiting: deque[EpisodeSpec] = deque()

    @property
    def outstanding(self) -> int:
        return len(self._waiting)

    def submit(self, spec: EpisodeSpec) -> None:
        self._waiting.append(spec)

    def finished(self, timeout: float | None = None) -> Iterator[Episode]:
        if self._waiting:
            yield attempt(self._run, self._waiting.popleft())


def attempt(run: EpisodeRunner, spec: EpisodeSpec) -> Episode:
    """One episode, tried again once where the world fails, as workers do."""
    for _ in range(2):
        try:
            return run(spec)
        except WorldError as error:
            reason = str(error)
    return undetermined(spec, reason)


class Unaudited(Vetting):
    """A vetting without audits and twin worlds: what is compared here is what the tree says by itself."""

    def _audit_plans(self) -> dict[str, Plan]:
        return {}

    def _twin_plans(self) -> dict[str, Plan]:
        return {}


@dataclass(slots=True)
class Outcome:
    """What came out for one generated skill."""

    recipe: Recipe
    contexts: int = 0
    """Contexts that were run for real."""
    compared: int = 0
    """Statements of the tree about a context that were compared with its real run."""
    scope: int = 0
    """Contexts of the small scope that differ in history and installed set only, as the tree counts them."""
    assumed: int = 0
    """Contexts of the scope that the tree says nothing about."""
    firing: int = 0
    """Contexts in which the deed was done."""
    found: bool = False
    """Whether the tree came upon the deed."""
    tree_runs: int = 0
    memo_hits: int = 0
    unsure: tuple[str, ...] = ()
    """What the tree states as assumptions."""
    void: int = 0
    """Real runs that were no observations."""
    wrong: list[str] = field(default_factory=list)


def effects(episode: Episode) -> Effects:
    """What the generated skill did that it should not, with the turn."""
    return frozenset((v.turn, v.invariant, v.resource) for v in episode.violations if SKILL in v.actors)


def setting_of(registry: Path, store: Path | None) -> Setting:
    """A setting with one probe, three histories and two clocks."""
    setting = prepare(read_registry(registry), VetOptions(path=registry), store)
    battery = setting.battery
    return replace(
        setting,
        battery=replace(
            battery,
            probes=tuple(probe for probe in battery.probes if probe.id == "use.every-turn"),
            histories=tuple(history for history in battery.histories if history.id in HISTORIES),
            clocks=tuple(clock for clock in battery.clocks if clock[0] in (NEUTRAL, CLOCK)),
            networks=battery.networks[:1],
            arguments=battery.arguments[:1],
            # What is only noted is recorded but not reduced to its trigger: that would cost most of the runs.
            invariants=tuple(replace(rule, severity=Severity.NOTE) for rule in battery.invariants),
        ),
    )


def contexts_of(recipe: Recipe) -> list[Context]:
    """The small scope: history × installed set × {neutral, other clock, variable}, and a partner's use."""
    bases = [Context(horizon=TURNS), Context(horizon=TURNS, clock=CLOCK)]
    if "environment" in recipe.needs:
        bases.append(Context(horizon=TURNS, environment=VARIABLE))
    # Every wording of a family at once, as the tree runs them.
    wordings = {h: 0 if h == NEUTRAL else ALL_PHRASINGS for h in HISTORIES}
    found = [
        replace(base, history=h, phrasing=wordings[h], co_skills=s)
        for base in bases
        for h in HISTORIES
        for s in SETS
    ]
    if "before" in recipe.needs:
        with_partner = replace(bases[0], co_skills=(ALPHA,))
        for history in HISTORIES:
            used = replace(with_partner, history=history, phrasing=wordings[history])
            found += [replace(used, used_before=(ALPHA,)), replace(used, used_after=(ALPHA,))]
    return found


def examine(recipe: Recipe, folder: Path, *, most: int = 0) -> Outcome:
    """Make both and compare. `most` limits the contexts that are run for real, chosen at random; 0 is all."""
    outcome = Outcome(recipe)
    registry = write_registry(recipe, folder / "registry")
    found, ids_by_folder = _by_tree(registry, folder / "runs.sqlite", outcome)
    statements = _statements(found, contexts_of(recipe), ids_by_folder)
    counted = [
        said for context, said in statements.items() if without_counted(context) == Context(horizon=TURNS)
    ]
    outcome.scope = len(counted)
    outcome.assumed = sum(not said for said in counted)
    run = EpisodeRunner(setting_of(registry, None))
    known = found.asked[0][0]
    for context in _chosen(statements, most, recipe.seed):
        truth = attempt(run, replace(known, context=context))
        outcome.contexts += 1
        if truth.trace.undetermined:
            outcome.void += 1
            continue
        _compare(outcome, context, effects(truth), statements[context])
    outcome.found = any(deeds(effects(episode)) for episode in found.episodes)
    return outcome


def without_counted(context: Context) -> Context:
    """The context with neutral history and nothing installed; a coverage statement counts these two."""
    return replace(context, history=NEUTRAL, phrasing=0, co_skills=())


def _chosen(statements: Mapping[Context, list[Statement]], most: int, seed: int) -> list[Context]:
    """The contexts to run for real: those that were settled without a run first, and a few of the others."""
    if not most or most >= len(statements):
        return list(statements)
    draw = random.Random(f"contexts:{seed}")
    settled = [c for c, said in statements.items() if any(spec.context != c for spec, _ in said)]
    first = draw.sample(settled, min(len(settled), most - most // 4))
    others = [context for context in statements if context not in first]
    return first + draw.sample(others, min(len(others), most - len(first)))


Statement = tuple[EpisodeSpec, Effects]
"""A run of the tree, and what happened in it: the tree says that it happens in the context as well."""


def _statements(
    found: Exploration, contexts: Iterable[Context], ids_by_folder: Mapping[str, str]
) -> dict[Context, list[Statement]]:
    episodes = {episode.spec: episode for episode in found.episodes}
    runs = [
        (spec, asked, effects(episodes[spec]))
        for spec, asked in found.asked
        if not spec.variant and not episodes[spec].trace.undetermined
    ]
    return {
        context: [
            (spec, seen) for spec, asked, seen in runs if tells(spec.context, asked, context, ids_by_folder)
        ]
        for context in contexts
    }


def _compare(outcome: Outcome, context: Context, expected: Effects, statements: list[Statement]) -> None:
    outcome.firing += bool(deeds(expected))
    for spec, seen in statements:
        outcome.compared += 1
        if seen != expected:
            statement = (
                f"{shown(spec.context)} {'is' if spec.context == context else 'settles'} {shown(context)}"
            )
            outcome.wrong.append(f"{statement}: {sorted(seen)}, but for real {sorted(expected)}")


def deeds(seen: Effects) -> Effects:
    """Without the reading that a guard is made of."""
    return frozenset(one for one in seen if one[1] != "does.history-read")


def _by_tree(registry: Path, store_path: Path, outcome: Outcome) -> tuple[Exploration, Mapping[str, str]]:
    setting = setting_of(registry, store_path)
    store = Store(store_path, packages=setting.package_key)
    vetting = Unaudited(setting, Policy(horizon=TURNS, most_episodes=120), (setting.skills_by_id[SKILL],))
    vetting.run(InThisProcess(EpisodeRunner(setting)), store, lambda _phase, _progress: None)
    found, scope = vetting.found[SKILL], vetting.scope(setting.skills_by_id[SKILL])
    # The record may be read from the store as it is needed.
    found.episodes = list(found.episodes)
    found.asked = list(found.asked)
    store.close()
    outcome.tree_runs = len(found.episodes)
    outcome.memo_hits = sum(episode.memo_hits for episode in found.episodes)
    told = [*found.assumptions, *(a for e in found.episodes for c in e.trace.commands for a in c.assumed)]
    outcome.unsure = tuple(dict.fromkeys(told))
    return found, scope.table.ids_by_folder


def tells(ran: Context, asked: frozenset[Question], other: Context, ids_by_folder: Mapping[str, str]) -> bool:
    """Whether a run that asked `asked` settles `other`, by the rule of the coverage statement.

    It speaks of histories and installed sets; other factors are varied, never settled.
    """
    factors = {question.factor for question in asked}
    details = {question.detail for question in asked if question.factor is FactorKind.CO_SKILLS}
    if without_counted(ran) != without_counted(other):
        return False
    if FactorKind.HISTORY in factors and (ran.history, ran.phrasing) != (other.history, other.phrasing):
        return False
    present, wanted = set(ran.co_skills), set(other.co_skills)
    if EVERYTHING in details:
        return present == wanted
    looked_up = {ids_by_folder[name] for name in details if name in ids_by_folder}
    return present & looked_up == wanted & looked_up


def shown(context: Context) -> str:
    """The levels of a context that are not neutral."""
    parts = [context.history, *context.co_skills]
    parts += [f"{name} before" for name in context.used_before] + [
        f"{name} after" for name in context.used_after
    ]
    parts += [context.clock] if context.clock != NEUTRAL else []
    parts += [f"{name}={value}" for name, value in context.environment]
    return f"({', '.join(parts)})"
