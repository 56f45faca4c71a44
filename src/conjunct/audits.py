"""Audits: settled contexts drawn at random and run for real, to see whether settling them was right."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace

from conjunct.conclude import Audit
from conjunct.model import NEUTRAL, Context, Episode, EpisodeSpec, FactorKind, Skill
from conjunct.plan import Exploration, Scope
from conjunct.plan.carriers import EVERYTHING, Question
from conjunct.run.drive import Plan
from conjunct.run.memo import unnumbered
from conjunct.run.setting import Setting

SHARE = 0.02
"""Settled contexts run for real, as a share of the runs made."""
LEAST = 20
"""Settled contexts run for real in each registry, where there are as many."""
_DRAWS = 20
"""Draws for each audit wanted: some contexts are settled by no run, some are drawn twice."""


class Audits:
    """The audits of one vetting, by candidate."""

    def __init__(
        self, setting: Setting, found: Mapping[str, Exploration], scope: Callable[[Skill], Scope]
    ) -> None:
        self._setting = setting
        self._found = found
        self._scope = scope
        self.made = {name: Audit() for name in found}

    def plans(self) -> dict[str, Plan]:
        """One run for each context to audit: the same ones for the same runs and seed."""
        setting = self._setting
        generator = random.Random(f"audit:{setting.seed}:{setting.fingerprint()}")
        made = sum(len(found.episodes) for found in self._found.values())
        wanted = max(LEAST, round(SHARE * made))
        names = [name for name, found in self._found.items() if _acted(found)]
        plans: dict[str, Plan] = {}
        roots: dict[str, Episode | None] = {}
        for _ in range(wanted * _DRAWS if names else 0):
            name = generator.choice(names)
            if name not in roots:
                roots[name] = self._root(name)
            chosen = self._settled_context(name, roots[name], generator)
            if chosen is not None:
                plans.setdefault(chosen[0].key(), self._audit(name, chosen))
            if len(plans) >= wanted:
                break
        return plans

    def _root(self, name: str) -> Episode | None:
        """The neutral run whose contexts are audited, if a skill acted in any."""
        neutral = Context(horizon=self._scope(self._setting.skills_by_id[name]).horizon)
        roots = (e for e in self._found[name].episodes if e.spec.context == neutral and e.trace.commands)
        # The shortest conversation asks as much of a context as a long one, and costs less to run for real.
        return min(roots, key=lambda episode: len(episode.trace.commands), default=None)

    def _settled_context(
        self, name: str, root: Episode | None, generator: random.Random
    ) -> tuple[EpisodeSpec, Episode] | None:
        """A random context that a neutral run settles, with that run."""
        found, scope = self._found[name], self._scope(self._setting.skills_by_id[name])
        if root is None:
            return None
        asked = next((asked for spec, asked in found.asked if spec == root.spec), frozenset())
        factors = {question.factor for question in asked}
        history = NEUTRAL if FactorKind.HISTORY in factors else generator.choice((NEUTRAL, *scope.histories))
        neighbours: tuple[str, ...] = ()
        if Question(FactorKind.CO_SKILLS, EVERYTHING) not in asked and scope.neighbours:
            named = {q.detail for q in asked if q.factor is FactorKind.CO_SKILLS}
            free = [n for n in scope.neighbours if self._setting.skills_by_id[n].name not in named]
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
        audit = self.made[name]
        audit.made += 1
        if normalised(episode) != normalised(root):
            audit.differed.append(
                f"{spec.context.history} with {', '.join(spec.context.co_skills) or 'nothing else'}"
            )


def _acted(found: Exploration) -> bool:
    return any(episode.trace.commands for episode in found.episodes)


def normalised(episode: Episode) -> frozenset[tuple[str, str, bool, tuple[str, ...]]]:
    """What an episode did, without order, turn and sizes: equal for runs that saw no difference."""
    return frozenset(
        (str(action.kind), unnumbered(action.resource), action.completed, action.canaries)
        for action in episode.trace.actions
        if action.skills()
    )
