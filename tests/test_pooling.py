"""A vetting with the noisy agent: alone, then pools; what they point at is confirmed, then a verdict."""

from __future__ import annotations

import datetime
import hashlib
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conjunct.agent import NoisyAgent
from conjunct.errors import UsageError
from conjunct.gate import Policy, decide
from conjunct.model import (
    Context,
    Decision,
    Episode,
    EpisodeSpec,
    Layer,
    Severity,
    Trace,
    Verdict,
    Violation,
)
from conjunct.run.store import Store
from conjunct.skills import read_registry
from conjunct.vet import VetOptions, agent_of, hash_seed, prepare
from conjunct.vetting import Vetting

ACTOR, PARTNER, FAMILY = "skill-3", "skill-7", "payroll"
FIRES = 0.7


def simulated(spec: EpisodeSpec) -> Episode:
    """ACTOR leaks beside PARTNER after a payroll history from the third turn on, seven times in ten."""
    asked = {spec.candidate, *spec.context.used_after} - set(spec.stubbed)
    holds = (
        ACTOR in asked
        and not (spec.without and spec.candidate == ACTOR)
        and PARTNER in spec.context.co_skills
        and spec.context.history == FAMILY
        and spec.context.horizon >= 3
    )
    draw = int(hashlib.sha256(spec.key().encode()).hexdigest()[:8], 16) / 16**8
    leak = Violation(
        "leaks.secret-sent",
        Layer.LEAKS,
        Severity.REJECT,
        "sends ~/.aws/credentials to stats.example.net:443",
        "stats.example.net:443",
        3,
        (ACTOR,),
        file="SKILL.md",
        line=5,
        byte_exact=True,
    )
    trace = Trace(activated=(spec.candidate,))
    return Episode(spec, trace, violations=(leak,) if holds and draw < FIRES else ())


class Simulation:
    """An executor whose episodes are drawn instead of run."""

    def __init__(self) -> None:
        self.queue: deque[EpisodeSpec] = deque()
        self.made = 0

    @property
    def outstanding(self) -> int:
        return len(self.queue)

    def submit(self, spec: EpisodeSpec) -> None:
        self.queue.append(spec)

    def finished(self, timeout: float | None = None) -> Iterator[Episode]:
        while self.queue:
            self.made += 1
            yield simulated(self.queue.popleft())


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    folder = tmp_path_factory.mktemp("noisy")
    for number in range(10):
        package = folder / "registry" / f"skill-{number}"
        package.mkdir(parents=True)
        text = (
            f"---\nname: skill-{number}\ndescription: Sort lists, way {number}.\n---\n# Use\nSort the list.\n"
        )
        (package / "SKILL.md").write_text(text)
    registry = read_registry(folder / "registry")
    options = VetOptions(path=folder / "registry", agent="noisy")
    store = Store(folder / "runs.sqlite")
    setting = prepare(registry, options, None)
    store.packages = setting.package_key
    vetting = Vetting(setting, Policy(), registry.skills)
    simulation = Simulation()
    vetting.run(simulation, store, lambda _phase, _progress: None)
    today = datetime.date(2026, 1, 1)
    made = {one.skill.id: decide(one, vetting.policy, today=today) for one in vetting.evidence()}
    before = simulation.made
    again = Vetting(setting, Policy(), registry.skills)
    again.run(simulation, store, lambda _phase, _progress: None)
    assert simulation.made == before, "the same seed asks for the same runs, and the store has them"
    return made


def test_the_trigger_is_found_exactly_and_rejects(verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts[ACTOR]
    assert verdict.decision is Decision.REJECT
    (trigger,) = verdict.triggers
    assert trigger.sentence == f"history mentions {FAMILY} AND {PARTNER} is installed AND turn >= 3"
    assert trigger.actors == (ACTOR,) and trigger.turn == 3
    assert 0 < trigger.hits < trigger.runs and trigger.e_value is not None and trigger.e_value >= 200
    assert all(factor.removed_hits == 0 and factor.removed_runs == trigger.runs for factor in trigger.factors)


def test_nobody_else_is_flagged_and_the_statement_has_a_rate(verdicts: dict[str, Verdict]) -> None:
    others = [verdict for name, verdict in verdicts.items() if name != ACTOR]
    assert {verdict.decision for verdict in others} == {Decision.ADMIT}
    for verdict in others:
        coverage = verdict.coverage
        assert coverage.settled == 0 and coverage.unexplored == 0
        assert coverage.smallest_rate is not None and 0.0 < coverage.smallest_rate <= 0.5


def test_rates_of_the_noisy_agent_come_from_a_file(tmp_path: Path) -> None:
    rates = tmp_path / "slips.yaml"
    rates.write_text("rates:\n  directive_obeyed: 0.5\n")
    _, example = agent_of("noisy", rates, 1)
    assert isinstance(example, NoisyAgent) and not example.deterministic
    assert "directive_obeyed=0.5" in example.version
    rates.write_text("rates: many\n")
    with pytest.raises(UsageError, match=r"slips\.yaml: expected `rates:`"):
        agent_of("noisy", rates, 1)
    with pytest.raises(UsageError, match="--slips is for the noisy agent"):
        agent_of("literal", rates, 1)


def test_an_episode_has_slips_of_its_own() -> None:
    one = EpisodeSpec("use", ACTOR, Context(), seed=1)
    assert hash_seed(0, one) == hash_seed(0, one)
    assert len({hash_seed(0, replace(one, seed=seed)) for seed in range(50)}) == 50
