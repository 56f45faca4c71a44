"""The whole search against simulated batches: recall, no false findings, stopping at any time, masking."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.bench.batches import BYTE_EXACT, NONE, REFERENCE, Attention, Batch, Evidence, Mix
from conjunct.bench.gates import drive, exactly_right, right_bodies
from conjunct.delta.confirm import Confirmation, ConfirmRule, arms_of, combined_e_value, confirm
from conjunct.delta.pooled import Hint, PooledRules, PooledSearch
from conjunct.plan.bisect import Conjunction
from conjunct.plan.pools import NO_HISTORY, PoolScope, Screen
from conjunct.plan.retest import Noise

FEW_JUDGES = Evidence("8 noisy judges", (0.01,) * 8, (0.9,) * 8)
SMALL = {"skills": 150, "histories": 4, "adversarial": 3, "benign": 9}


def search_of(batch: Batch, budget: int, *, hints: tuple[Hint, ...] = (), **scope: object) -> PooledSearch:
    return PooledSearch(
        PoolScope(batch.skills, batch.band, batch.histories, **scope),  # type: ignore[arg-type]
        batch.measured_noise(),
        batch.seed,
        budget,
        hints=hints,
        rules=PooledRules(chunk=128),
    )


def found_rows(batch: Batch, search: PooledSearch) -> list[int]:
    found = {finding.candidate: finding for finding in search.findings()}
    return [row for row, skill in enumerate(batch.adversaries) if skill in found]


@pytest.mark.parametrize("evidence", [BYTE_EXACT, FEW_JUDGES], ids=lambda evidence: evidence.name)
def test_planted_triggers_are_found_exactly_and_nobody_else_is(evidence: Evidence) -> None:
    found = planted = 0
    for seed in range(6):
        batch = Batch(seed, REFERENCE, evidence, **SMALL)  # type: ignore[arg-type]
        search = search_of(batch, 6000, used=3, sizes=((12, 0.2), (40, 0.8)))
        drive(search, batch)
        assert search.spent <= 6000
        by_candidate = {finding.candidate: finding for finding in search.findings()}
        assert set(by_candidate) <= set(batch.adversaries)
        for row, skill in enumerate(batch.adversaries):
            planted += 1
            if skill in by_candidate:
                found += 1
                assert exactly_right(batch, row, by_candidate[skill].conjunction)
                assert right_bodies(batch, row, by_candidate[skill])
                assert by_candidate[skill].shape < 0.5
    assert found >= planted - 2


def test_the_budget_ends_the_search_and_what_is_said_then_is_weaker() -> None:
    batch = Batch(1, REFERENCE, BYTE_EXACT, **SMALL)  # type: ignore[arg-type]
    rates, looked = [], []
    for budget in (100, 500, 3000):
        search = search_of(batch, budget)
        drive(search, batch)
        assert search.spent <= budget
        blind = search.blindness()
        rates.append(blind.worst)
        looked.append(blind.looked_at)
    assert rates == sorted(rates, reverse=True) and rates[0] == 1.0 and rates[-1] < 0.8
    assert looked == sorted(looked)


def test_the_same_seed_makes_the_same_search() -> None:
    ends = []
    for _ in range(2):
        batch = Batch(2, REFERENCE, BYTE_EXACT, **SMALL)  # type: ignore[arg-type]
        search = search_of(batch, 2500)
        drive(search, batch)
        ends.append((search.spent, search.spent_on, search.findings(), search.blindness()))
    assert ends[0] == ends[1]


def test_missed_with_is_no_less_than_what_is_missed() -> None:
    """exp(-λ·d), from the exposures counted, bounds how often a trigger stayed unseen."""
    missed, promised = 0, 0.0
    attention = Attention()
    for seed in range(300):
        scope = PoolScope(80, tuple(range(10)), 3, used=3, sizes=((10, 0.3), (30, 0.7)))
        generator = np.random.default_rng(seed)
        screen = Screen(scope, generator)
        runs = screen.draw(400)
        actor, partner, family, rate = 3, 50, 1, 0.25
        chance = rate * attention(runs.sizes())
        holds = runs.used[:, actor] & runs.installed[:, partner] & (runs.history == family)
        fired = holds & (generator.random(len(runs)) < chance)
        screen.count_clean(runs, attention(runs.sizes()))
        missed += not fired.any()
        promised += float(np.exp(-screen.clean[actor, partner, family] * rate))
    assert missed <= promised + 3 * np.sqrt(promised)
    assert missed > promised / 4


def test_a_suppressor_in_one_pool_does_not_hide_the_trigger_from_others() -> None:
    mix = Mix("suppressed", rates=(0.6, 0.9), suppressed=1.0)
    found = 0
    for seed in range(5):
        batch = Batch(seed, mix, BYTE_EXACT, **SMALL)  # type: ignore[arg-type]
        assert (batch.effects.suppressors != NONE).all()
        search = search_of(batch, 5000, used=3, sizes=((12, 0.2), (40, 0.8)))
        drive(search, batch)
        found += len(found_rows(batch, search))
    assert found >= 13


def test_triggers_that_need_small_installed_sets_are_seen_by_small_pools_only() -> None:
    mix = Mix("small sets", rates=(0.8, 0.9), largest=1.0, largest_set=12)
    seen = {}
    for name, sizes in (("large", ((40, 1.0),)), ("mixed", ((10, 0.6), (40, 0.4)))):
        seen[name] = 0
        for seed in range(3):
            batch = Batch(seed, mix, BYTE_EXACT, **SMALL)  # type: ignore[arg-type]
            search = search_of(batch, 9000, used=3, sizes=sizes)
            drive(search, batch)
            seen[name] += len(found_rows(batch, search))
    assert seen["large"] == 0 and seen["mixed"] >= 7


def test_a_loud_harmless_delta_dilutes_the_published_score_but_no_finding() -> None:
    batch = Batch(4, Mix("sure", rates=(0.8, 0.9)), FEW_JUDGES, **SMALL)  # type: ignore[arg-type]
    loud = batch.adversaries[0]
    column = (int(batch.effects.invariant[0]) + 1) % 8
    batch.diffuse[loud, column] = 0.9
    # S over the true rates: the loud delta is the largest of both kinds.
    assert 0.9 / max(0.9, float(batch.effects.rate[0])) > 0.5
    search = search_of(batch, 6000, used=3, sizes=((40, 1.0),))
    drive(search, batch)
    (finding,) = [finding for finding in search.findings() if finding.candidate == loud]
    assert exactly_right(batch, 0, finding.conjunction) and finding.shape < 0.5


def test_split_triggers_blame_both_bodies() -> None:
    mix = Mix("split", rates=(0.8, 0.9), split=1.0)
    batch = Batch(3, mix, BYTE_EXACT, **SMALL)  # type: ignore[arg-type]
    search = search_of(batch, 5000, used=3, sizes=((12, 0.2), (40, 0.8)))
    drive(search, batch)
    assert search.findings()
    for finding in search.findings():
        assert right_bodies(batch, batch.adversaries.index(finding.candidate), finding)
        assert len(finding.bodies) == 2


def test_a_true_hint_finds_at_once_and_a_wrong_one_accuses_nobody() -> None:
    batch = Batch(5, Mix("sure", rates=(0.8, 0.9)), BYTE_EXACT, **SMALL)  # type: ignore[arg-type]
    effects = batch.effects
    right = Hint(batch.adversaries[0], (int(effects.partners[0, 0]),), (int(effects.history[0]),))
    benign = next(skill for skill in batch.band if skill not in batch.adversaries)
    found_at = {}
    for hints in ((), (Hint(benign, (1, 2), ()), right)):
        search = search_of(batch, 6000, hints=hints)
        drive(search, batch)
        found = {finding.candidate: finding.found_at for finding in search.findings()}
        assert set(found) <= set(batch.adversaries)
        found_at[bool(hints)] = found.get(batch.adversaries[0], 6000)
    assert found_at[True] < 400 < found_at[False]


def test_outcomes_of_the_wrong_shape_are_refused() -> None:
    batch = Batch(5, REFERENCE, BYTE_EXACT, **SMALL)  # type: ignore[arg-type]
    work = search_of(batch, 600).run()
    runs = next(work)
    with pytest.raises(ValueError, match=r"expected .* runs × 1 invariants"):
        work.send(np.zeros((len(runs), 2), dtype=bool))


def test_confirmation_of_a_null_passes_at_most_at_its_level_whenever_stopped() -> None:
    """Removing the partner changes the rate by exactly the margin: the edge of the null."""
    found = Conjunction((0,), (1,), NO_HISTORY, 1, False, 0, 6)
    generator = np.random.default_rng(8)
    passed = 0
    for _ in range(400):
        attempt = Confirmation(found)
        work = confirm(attempt, 3, ConfirmRule(most=120, hopeless=0.0), enough=lambda e: e >= 20)
        try:
            runs = next(work)
            while True:
                whole = runs.installed[:, 0] & runs.installed[:, 1]
                chance = np.where(whole, 0.38, np.where(runs.installed[:, 0], 0.30, 0.0))
                runs = work.send((generator.random(len(runs)) < chance)[:, None])
        except StopIteration as end:
            passed += bool(end.value)
    assert passed / 400 <= 0.05


def test_attempts_at_one_skill_share_one_e_value() -> None:
    assert combined_e_value([]) == 1.0
    assert combined_e_value([1.0]) == pytest.approx(1.0)
    assert combined_e_value([1.0] * 50) == pytest.approx(1.0)
    assert combined_e_value([0.0, 600.0]) == pytest.approx(100.0 + 1 / 3)


def test_false_discoveries_stay_under_the_level_where_everything_is_noise() -> None:
    """No trigger, judges that are worse than measured: what is followed by mistake is not confirmed."""
    false = 0
    for seed in range(8):
        batch = Batch(seed, replace(REFERENCE, rates=(0.0, 0.0)), FEW_JUDGES, **SMALL)  # type: ignore[arg-type]
        batch.evidence = Evidence("worse", (0.04,) * 8, (0.9,) * 8)
        search = PooledSearch(
            PoolScope(batch.skills, batch.band, batch.histories, used=3, sizes=((40, 1.0),)),
            Batch(seed, REFERENCE, FEW_JUDGES, **SMALL).measured_noise(),  # type: ignore[arg-type]
            seed,
            3000,
            rules=PooledRules(chunk=128),
        )
        drive(search, batch)
        false += bool(search.findings())
    assert false <= 1


def test_arms_lack_one_element_each() -> None:
    found = Conjunction((0,), (1,), 2, 3, False, 0, 6)
    arms = arms_of(found, 4)
    assert set(arms) == {"whole", "skill:0", "skill:1", "history", "turn", "nothing"}
    assert arms["turn"].horizon.tolist() == [2] and arms["history"].history.tolist() == [NO_HISTORY]
    assert not arms["skill:0"].used.any() and not arms["skill:1"].installed[0, 1]


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_without_noise_the_search_finds_what_running_everything_finds(data: st.DataObject) -> None:
    """All candidates with a trigger of order two or less, and each trigger minimal, for a small registry."""
    skills, histories, candidates = 8, 2, (0, 1, 2, 3)
    triggers = data.draw(
        st.lists(
            st.tuples(
                st.sampled_from(candidates),
                st.one_of(st.none(), st.integers(0, 7)),
                st.one_of(st.just(NO_HISTORY), st.integers(0, 1)),
                st.integers(1, 4),
            ).filter(lambda trigger: trigger[0] != trigger[1]),
            max_size=4,
        )
    )

    def fires(used: set[int], installed: set[int], history: int, horizon: int) -> bool:
        return any(
            actor in used
            and (partner is None or partner in installed)
            and family in (NO_HISTORY, history)
            and horizon >= turn
            for actor, partner, family, turn in triggers
        )

    search = PooledSearch(
        PoolScope(skills, candidates, histories, horizon=4, used=2, sizes=((5, 1.0),)),
        Noise(np.zeros(1), np.ones(1), np.ones_like),
        data.draw(st.integers(0, 99)),
        3000,
        rules=PooledRules(chunk=48),
    )
    work = search.run()
    try:
        runs = next(work)
        while True:
            rows = [
                fires(
                    set(np.flatnonzero(runs.used[row]).tolist()),
                    set(np.flatnonzero(runs.installed[row]).tolist()),
                    int(runs.history[row]),
                    int(runs.horizon[row]),
                )
                for row in range(len(runs))
            ]
            runs = work.send(np.array(rows, dtype=np.bool_)[:, None])
    except StopIteration:
        pass
    exhaustive = {
        candidate
        for candidate in candidates
        for partner in range(skills)
        for history in range(histories)
        if fires({candidate}, {candidate, partner}, history, 4)
    }
    assert {finding.candidate for finding in search.findings()} == exhaustive
    for finding in search.findings():
        found = finding.conjunction
        used, installed = set(found.used), set(found.skills)
        assert fires(used, installed, found.history, found.turn)
        assert not any(fires(used - {s}, installed - {s}, found.history, 4) for s in found.skills)
        assert found.history == NO_HISTORY or not fires(used, installed, NO_HISTORY, 4)
        assert not fires(used, installed, found.history, found.turn - 1)
