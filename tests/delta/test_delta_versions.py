"""Two versions in the same contexts: what came, went or moved is told with place, turn and Δ; not noise."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from conjunct.delta.versions import (
    Effect,
    EffectChange,
    Pair,
    context_words,
    differs_again,
    effect_changes,
    effects_of,
)
from conjunct.model import (
    Action,
    ActionKind,
    ActorLink,
    Context,
    Episode,
    EpisodeSpec,
    Layer,
    ResourceClass,
    Severity,
    Trace,
    Violation,
)

PLAIN = Context()
PAYROLL = Context(history="payroll")


def did(
    kind: ActionKind = ActionKind.SEND,
    resource: str = "a.example:443",
    resource_class: ResourceClass = ResourceClass.NETWORK,
    *,
    turn: int = 1,
    skill: str = "s",
    file: str | None = "s/run.py",
    **more: object,
) -> Action:
    actor = (ActorLink("user", "user"), ActorLink("skill", skill, file, 7 if file else None))
    return Action(kind, resource, resource_class, actor, turn, 0, **more)  # type: ignore[arg-type]


def episode(*actions: Action, context: Context = PLAIN, violations: Iterable[Violation] = ()) -> Episode:
    return Episode(EpisodeSpec("use", "s", context), Trace(actions=actions), tuple(violations))


def pair(old: Iterable[Action], new: Iterable[Action], context: Context = PLAIN) -> Pair:
    one, other = episode(*old, context=context), episode(*new, context=context)
    return Pair(one.spec, one, other)


def changes(*pairs: Pair) -> tuple[EffectChange, ...]:
    return effect_changes(pairs, "s", old_name="s", new_name="s")


def test_what_both_versions_do_at_the_same_time_is_no_change() -> None:
    assert changes(pair([did()], [did()]), pair([], [], PAYROLL)) == ()


def test_a_new_effect_is_told_with_place_turn_context_and_delta() -> None:
    (one,) = changes(
        pair([], [did(turn=4)], Context(history="payroll", clock="evening")),
        pair([], [did(turn=3)], PAYROLL),
        pair([], []),
        pair([], [], Context(clock="evening")),
    )
    assert (one.mark, one.turn, one.file, one.line) == ("+", 3, "run.py", 7)
    assert (one.when, one.old_contexts, one.new_contexts, one.compared) == ("history payroll", 0, 2, 4)
    assert one.delta == 0.5 and one.only_in == "new"


def test_an_effect_that_is_gone_has_a_negative_delta() -> None:
    (one,) = changes(pair([did()], []))
    assert (one.mark, one.delta, one.only_in, one.when) == ("-", -1.0, "old", "neutral")


def test_an_effect_elsewhere_or_later_is_a_change_of_its_own_kind() -> None:
    (elsewhere,) = changes(pair([did()], [did()]), pair([], [did()], PAYROLL))
    assert (elsewhere.mark, elsewhere.when, elsewhere.turn_before) == ("~", "history payroll", None)
    (later,) = changes(pair([did(turn=1)], [did(turn=3)]))
    assert (later.mark, later.turn, later.turn_before, later.delta) == ("~", 3, 1, 0.0)


def test_the_same_destination_with_a_secret_is_another_effect() -> None:
    found = changes(pair([did()], [did(canaries=("~/.netrc",))]))
    assert [(one.mark, one.effect.carries) for one in found] == [("+", ("~/.netrc",)), ("-", ())]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (did(resource="/tmp/x1", resource_class=ResourceClass.TEMPORARY), "/tmp/y2"),
        (did(ActionKind.SIGNAL, "pid 31", ResourceClass.PROCESS), "pid 77"),
    ],
)
def test_what_differs_between_any_two_runs_is_no_change(old: Action, new: str) -> None:
    other = did(old.kind, new, old.resource_class)
    assert changes(pair([old], [other])) == ()


def test_reads_that_every_program_makes_and_deeds_of_others_are_no_effects() -> None:
    system = did(ActionKind.READ, "/etc/ld.so.cache", ResourceClass.SYSTEM)
    other = did(skill="t")
    assert effects_of(episode(system, other), "s", folder="s", called="s") == {}
    secret = did(ActionKind.READ, "~/.netrc", ResourceClass.SECRET)
    assert list(effects_of(episode(secret), "s", folder="s", called="s")) == [Effect("read", "~/.netrc")]


def test_a_version_under_another_name_writes_into_the_same_folder() -> None:
    old, new = (
        did(ActionKind.WRITE, f"/home/sam/.claude/skills/{name}/state", ResourceClass.OWN_STATE)
        for name in ("before", "after")
    )
    assert effect_changes([pair([old], [new])], "s", old_name="before", new_name="after") == ()


def test_a_violation_is_an_effect_and_gives_its_place_to_the_action_behind_it() -> None:
    leak = Violation(
        "leaks.secret-sent",
        Layer.LEAKS,
        Severity.REJECT,
        "sends",
        "a.example:443",
        1,
        ("s",),
        "run.py",
        9,
        (0,),
    )
    new = episode(did(file=None), violations=(leak,))
    found = changes(Pair(new.spec, episode(), new))
    assert [(one.effect.kind, one.file, one.line) for one in found] == [
        ("violates", "run.py", 9),
        ("send", "run.py", 9),
    ]


def test_fresh_runs_confirm_a_difference_only_where_all_of_them_show_it() -> None:
    (new,) = changes(pair([], [did()]))
    again, not_again, both = pair([], [did()]), pair([], []), pair([did()], [did()])
    assert differs_again(new, [again, again], "s", old="s", new="s")
    for fresh in ([again, not_again], [again, both], []):
        assert not differs_again(new, fresh, "s", old="s", new="s")
    (later,) = changes(pair([did(turn=1)], [did(turn=3)]))
    assert differs_again(later, [pair([did(turn=1)], [did(turn=2)])], "s", old="s", new="s")
    assert not differs_again(later, [both], "s", old="s", new="s")


def test_contexts_read_as_words() -> None:
    used = Context(history="payroll", co_skills=("a", "b"), used_before=("a",), environment=(("CI", "1"),))
    assert context_words(used) == "history payroll and neighbour b and earlier use of a and variable CI"
    assert context_words(Context(horizon=8)) == "neutral"
