"""What a budget left out is told, and never makes a statement stronger than what was run."""

from __future__ import annotations

from dataclasses import replace

from conjunct.cut import Left, left_out, shortfall, unconfirmed
from conjunct.model import Context, Episode, EpisodeSpec, Layer, Severity, Trace, Violation
from conjunct.plan import Exploration
from conjunct.run.rounds import Cut
from report.verdicts import trigger

LEAK = Violation(
    "leaks.secret-sent",
    Layer.LEAKS,
    Severity.REJECT,
    "sends ~/.netrc to a.example:443",
    "a.example:443",
    1,
    ("s",),
)


def spec(probe: str = "use", seed: int = 0, variant: str = "") -> EpisodeSpec:
    return EpisodeSpec(probe, "s", Context(), seed=seed, variant=variant)


def cut(*specs: EpisodeSpec, made: tuple[Episode, ...] = ()) -> Cut:
    return Cut((one for one in ()), specs, made)  # type: ignore[arg-type]


def test_nothing_is_told_where_nothing_was_cut() -> None:
    assert left_out({"s": Exploration("s")}, {}, {}, {}, {}, 0) == {}
    assert shortfall(None, 6, []) == () and unconfirmed(None, Exploration("s")) == ()


def test_runs_that_a_plan_was_not_told_of_are_kept_and_the_rest_is_counted() -> None:
    found = Exploration("s")
    made = Episode(spec(seed=1), Trace())
    left = left_out({"s": found}, {"s": cut(spec(seed=1), spec(seed=2), made=(made,))}, {}, {}, {}, 0)["s"]
    assert found.episodes == [made] and found.unexplored == 1
    assert left.exploring and "1 run asked for next" in left.told[0]


def test_each_phase_that_was_cut_is_told_once_for_every_candidate() -> None:
    found = {"s": Exploration("s"), "t": Exploration("t")}
    untraced = {"s": cut(spec(variant="untraced"))}
    found["s"].asked.append((spec(), frozenset()))
    lefts = left_out(
        found, {"far": cut(spec())}, {"t": cut(spec())}, untraced, {"t": cut(spec(variant="forced"))}, 4
    )
    assert [len(lefts[name].told) for name in ("s", "t")] == [3, 4]
    assert "not forced to their end" in " ".join(lefts["t"].told)
    assert not lefts["s"].unresolved and lefts["t"].exploring and not lefts["s"].exploring
    assert "far" in " ".join(lefts["s"].told) and "4 audits" in " ".join(lefts["s"].told)


def test_candidates_that_were_not_looked_at_may_be_partners_of_the_others() -> None:
    seen = Exploration("s", asked=[(spec(), frozenset())])
    lefts = left_out({"s": seen, "t": Exploration("t")}, {"t": cut(spec())}, {}, {}, {}, 0)
    assert "what t leave behind was not looked at" in lefts["s"].told[0]
    assert "leave behind" not in " ".join(lefts["t"].told)


def test_pools_that_were_cut_are_told_for_every_candidate() -> None:
    lefts = left_out({"s": Exploration("s"), "t": Exploration("t")}, {}, pools=True)
    assert [left.told for left in lefts.values()] == [
        ("pools ended before each candidate would have shown a trigger",)
    ] * 2


def test_a_twin_run_that_was_to_tell_about_a_secret_is_missed() -> None:
    left = left_out({"s": Exploration("s")}, {}, {}, {"s": cut(spec(variant="twin"))}, {}, 0)["s"]
    assert left.unresolved
    assert "secret was read" in shortfall(replace(left, budget="5 runs"), 6, [])[0]


def test_the_minimum_plan_is_every_conversation_in_the_neutral_context() -> None:
    left = Left(budget="5 runs", minimum=2)
    one = Episode(spec(), Trace())
    elsewhere = Episode(replace(spec("other"), context=Context(history="payroll")), Trace())
    assert "1 of 2 conversations" in shortfall(left, 6, [one, elsewhere])[0]
    assert shortfall(left, 6, [one, Episode(spec("other"), Trace())]) == ()


def test_an_effect_that_was_seen_and_not_confirmed_is_reviewed_and_never_dropped() -> None:
    seen = Episode(spec(), Trace(), violations=(LEAK,))
    found = Exploration("s", episodes=[seen, replace(seen, violations=())])
    (finding,) = unconfirmed(Left(budget="5 runs", exploring=True), found)
    assert (finding.severity, finding.code) == (Severity.REVIEW, "leaks.secret-sent")
    assert "in 1 of 2 runs" in finding.message
    found.triggers.append(replace(trigger(("s",)), violation=LEAK))
    assert unconfirmed(Left(exploring=True), found) == ()


def test_effects_of_others_and_notes_are_not_told_as_unconfirmed() -> None:
    others = (replace(LEAK, actors=("t",)), replace(LEAK, severity=Severity.NOTE))
    found = Exploration("s", episodes=[Episode(spec(), Trace(), violations=others)])
    assert unconfirmed(Left(exploring=True), found) == ()
