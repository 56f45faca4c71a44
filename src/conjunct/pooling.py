"""Vetting with an agent that is not deterministic: each candidate alone, then pools in place of the tree.

What one run showed, the next may not: no trace settles a context. So pools look at many contexts at once, and
what they point at is confirmed in fresh rounds against the margin, with e-BH over all candidates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from conjunct.delta.confirm import HISTORY, TURN, WHOLE, Confirmation
from conjunct.delta.pooled import Finding, PooledRules, PooledSearch
from conjunct.delta.pooled_plan import pooled_plan
from conjunct.gate import Policy
from conjunct.model import (
    NEUTRAL,
    Context,
    Coverage,
    Episode,
    EpisodeSpec,
    FactorKind,
    Severity,
    Skill,
    Trigger,
    TriggerFactor,
)
from conjunct.plan import Exploration
from conjunct.plan.localise import action_lines, fresh_runs, localise, sentence_of
from conjunct.plan.pools import NO_HISTORY, PoolScope
from conjunct.plan.retest import Noise
from conjunct.run.drive import Plan
from conjunct.run.setting import Setting

VARIED = ("co_skills", "history", "turn")
ENOUGH = 0.5
"""Pools end where each candidate would have shown a trigger of this rate but for 5 %, or with the budget."""
SIZES = ((8, 0.3), (32, 0.7))
"""Installed skills of a pool, and the share of pools of that size: worlds with more start slowly."""
CHUNK = 64
"""Pools asked for at once: enough for the workers of a machine, few enough to stop soon."""


@dataclass(slots=True)
class Pooling:
    """State of the pools phase of one vetting."""

    setting: Setting
    policy: Policy
    candidates: tuple[Skill, ...]
    fingerprint: str
    search: PooledSearch | None = None
    made: int = 0
    """Episodes of the pools and of what followed them."""
    lost: int = 0
    """Episodes that stayed undetermined."""
    _skills: list[str] = field(default_factory=list)
    _histories: list[str] = field(default_factory=list)
    _invariants: list[str] = field(default_factory=list)
    _shown: dict[tuple[str, int], Episode] = field(default_factory=dict)
    """(candidate, invariant) to the newest episode that showed it."""

    def alone(self, found: Mapping[str, Exploration]) -> dict[str, Plan]:
        """Each candidate alone, in every probe: what it does in plain sight needs no pools."""
        return {skill.id: self._alone(skill.id, found[skill.id]) for skill in self.candidates}

    def _alone(self, name: str, into: Exploration) -> Plan:
        neutral = Context(horizon=self.policy.horizon)
        specs = [
            EpisodeSpec(
                probe.id,
                name,
                neutral,
                seed=self.setting.seed,
                comparison=name,
                fingerprint=self.fingerprint,
            )
            for probe in self.setting.battery.probes
        ]
        episodes = yield tuple(specs)
        into.episodes.extend(episodes)
        known: set[str] = set()
        for episode in episodes:
            for violation in episode.violations:
                counted = violation.severity is not Severity.NOTE and name in violation.actors
                if not counted or violation.invariant in known or episode.trace.undetermined:
                    continue
                known.add(violation.invariant)
                # An agent that slipped once does not make a finding: the effect must show in fresh runs.
                again = yield fresh_runs(episode.spec)
                if any(v.invariant == violation.invariant for e in again for v in e.violations):
                    into.triggers.append((yield from localise(episode.spec, violation)))

    def pools(self, found: Mapping[str, Exploration]) -> dict[str, Plan]:
        """One plan: pools over all candidates that show nothing by themselves."""
        self._skills = sorted(skill.id for skill in self.setting.registry.skills)
        self._histories = [h.id for h in self.setting.battery.histories if h.id != NEUTRAL]
        rules = self.setting.battery.invariants
        self._invariants = [rule.id for rule in rules if rule.severity is not Severity.NOTE]
        quiet = [skill.id for skill in self.candidates if not found[skill.id].triggers]
        if not quiet or len(self._skills) < 2:
            return {}
        scope = PoolScope(
            len(self._skills),
            tuple(self._skills.index(name) for name in quiet),
            len(self._histories),
            horizon=self.policy.horizon,
            used=1,
            sizes=SIZES,
        )
        none = np.zeros(len(self._invariants))
        # The world's oracles are exact; an agent that does as the skill says looks at all installed skills.
        noise = Noise(none, np.ones(len(self._invariants)), np.ones_like)
        budget = self.policy.most_episodes * len(quiet)
        self.search = PooledSearch(scope, noise, self.setting.seed, budget, rules=PooledRules(chunk=CHUNK))
        return {"pools": self._pools(self.search)}

    def _pools(self, search: PooledSearch) -> Plan:
        probe = next(probe.id for probe in self.setting.battery.probes if probe.kind == "use")
        work = pooled_plan(
            search,
            skills=self._skills,
            histories=self._histories,
            probe=probe,
            invariants=self._invariants,
            fingerprint=self.fingerprint,
            enough=lambda: all(search.smallest_rate(one) <= ENOUGH for one in search.undecided),
            seen=self._remember,
        )
        try:
            specs = next(work)
            while True:
                episodes = yield specs
                # What was asked for when a budget ended was not run.
                self.made += len(episodes)
                specs = work.send(episodes)
        except StopIteration as end:
            self.lost = end.value

    def _remember(self, invariant: int, episode: Episode) -> None:
        self._shown[(episode.spec.candidate, invariant)] = episode

    def confirmed(self, found: Mapping[str, Exploration]) -> None:
        """Turn what e-BH keeps into triggers of the candidates."""
        for one in self.search.findings() if self.search else ():
            name = self._skills[one.candidate]
            found[name].triggers.append(self._trigger(one))

    def _trigger(self, one: Finding) -> Trigger:
        assert self.search is not None
        attempts = self.search.attempts[one.candidate]
        attempt = max(attempts, key=lambda each: each.e)
        episode = self._shown[(self._skills[one.conjunction.used[0]], one.conjunction.invariant)]
        name = self._invariants[one.conjunction.invariant]
        violation = next(v for v in episode.violations if v.invariant == name)
        factors = tuple(self._factors(attempt))
        whole = attempt.outcomes[WHOLE]
        return Trigger(
            sentence=sentence_of(factors),
            factors=factors,
            actors=tuple(self._skills[skill] for skill in one.bodies),
            reproduced=True,
            hits=int(sum(whole)),
            runs=len(whole),
            violation=violation,
            replay=self._replay(one, episode.spec),
            turn=one.conjunction.turn if one.conjunction.turn > 1 else None,
            actions=action_lines(episode.trace, violation.actors),
            e_value=one.e,
        )

    def _factors(self, attempt: Confirmation) -> list[TriggerFactor]:
        found, acting = attempt.conjunction, attempt.conjunction.used[0]

        def factor(kind: FactorKind, level: str, arm: str) -> TriggerFactor:
            without = attempt.outcomes[arm]
            return TriggerFactor(
                kind, level, needed=True, removed_hits=int(sum(without)), removed_runs=len(without)
            )

        factors = []
        if found.history != NO_HISTORY:
            factors.append(factor(FactorKind.HISTORY, self._histories[found.history], HISTORY))
        for skill in found.skills:
            if skill != acting:
                kind = FactorKind.USED_AFTER if skill in found.used else FactorKind.CO_SKILLS
                factors.append(factor(kind, self._skills[skill], f"skill:{skill}"))
        if found.turn > 1:
            counted = "call" if found.by_call else "turn"
            factors.append(factor(FactorKind.TURN, f"{counted} >= {found.turn}", TURN))
        return factors

    def _replay(self, one: Finding, shown: EpisodeSpec) -> EpisodeSpec:
        found = one.conjunction
        acting, *others = (self._skills[skill] for skill in found.used)
        present = [self._skills[skill] for skill in found.present]
        history = NEUTRAL if found.history == NO_HISTORY else self._histories[found.history]
        context = Context(
            history=history,
            co_skills=tuple(sorted([*others, *present])),
            used_after=tuple(sorted(others)),
            horizon=max(found.horizon, self.policy.horizon),
        )
        return replace(shown, candidate=acting, context=context, stubbed=(), without=False)

    def coverage(self, name: str, alone: Coverage) -> Coverage:
        """What a verdict says was looked at, in place of contexts settled by traces."""
        assumed = [
            *alone.assumptions,
            f"the {self.setting.agent_name} agent looks at every installed skill, however many there are",
            "twin worlds, forced branches and audits belong to the literal agent and were not made",
        ]
        if self.lost:
            assumed.append(f"{self.lost} episodes stayed undetermined and count as clean")
        looked = total = 0
        rate: float | None = None
        number = self._skills.index(name) if name in self._skills else -1
        if self.search is not None and number in self.search.scope.candidates:
            looked, total = self.search.looked_at(number)
            rate = self.search.smallest_rate(number) if number in self.search.undecided else None
        horizon = self.policy.horizon
        return replace(
            alone,
            factors=VARIED,
            settled=0,
            run=looked * horizon,
            assumed=(total - looked) * horizon,
            unexplored=total - looked,
            episodes=alone.episodes + self.made,
            argument_sets=(NEUTRAL,),
            assumptions=tuple(dict.fromkeys(assumed)),
            smallest_rate=rate,
        )
