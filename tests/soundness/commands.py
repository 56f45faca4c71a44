"""One command of a generated skill in a few worlds, without agent and plan: cheap enough for many guards.

Each context's world runs the command once for every turn, for real; then twice more with the memo. Wherever
what the real run asked does not tell two contexts apart, their answers must be equal, and the memo's answers
must be those of the real runs.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from conjunct.battery import all_wordings, load_battery
from conjunct.model import NEUTRAL, Context, Skill, Trace
from conjunct.plan.carriers import CarrierTable, Question, questions
from conjunct.run.memo import Memo
from conjunct.run.store import Store
from conjunct.run.tools import EpisodeTools
from conjunct.skills import read_registry
from conjunct.world.runtime import Runtime, ensure_runtime
from conjunct.world.spec import DRAWS, Command, Limits, WorldSpec
from conjunct.world.world import open_world
from soundness.enumeration import HISTORIES, SETS, TURNS, Outcome, shown, tells
from soundness.guards import SKILL
from soundness.recipes import Recipe, write_registry

Answers = tuple[str, ...]
"""What the command printed in each turn: whether its guard held."""
_ENDED = ("exit", "memo")
CONTEXTS = 3
ROUNDS = 2
"""Episodes of each context with the memo: the first learns, the second must give the same."""


@cache
def _runtime() -> Runtime:
    return ensure_runtime()


@cache
def _files(history: str) -> tuple[tuple[str, str], ...]:
    return all_wordings(next(one for one in load_battery().histories if one.id == history)).files


def examine_command(recipe: Recipe, folder: Path, *, most: int = CONTEXTS) -> Outcome:
    """Run the guard of a recipe in `most` contexts drawn by its seed, the neutral one among them."""
    outcome = Outcome(recipe)
    registry = read_registry(write_registry(recipe, folder / "registry", tell=True))
    skills = {skill.id: skill for skill in registry.skills}
    draw = random.Random(f"commands:{recipe.seed}")
    neutral, *others = [Context(horizon=TURNS, history=h, co_skills=s) for h in HISTORIES for s in SETS]
    contexts = [neutral, *draw.sample(others, most - 1)]
    table = _table(tuple(skills))
    store = Store(folder / "memo.sqlite")
    real: dict[Context, tuple[EpisodeTools, frozenset[Question]]] = {}
    for context in contexts:
        tools = episode(context, skills, memo=None)
        outcome.contexts += 1
        if tools.undetermined:
            outcome.void += 1
            continue
        trace = Trace(touches=tuple(tools.touches), commands=tuple(tools.commands))
        real[context] = (tools, questions(trace, table, own=frozenset({SKILL})))
        outcome.firing += any("held" in answer for answer in _answers(tools))
        outcome.unsure += tuple(reason for command in tools.commands for reason in command.assumed)
    outcome.scope = len(real)
    for context, (tools, asked) in real.items():
        for other, (truth, _) in real.items():
            if other != context and tells(context, asked, other, table.ids_by_folder):
                _compare(outcome, f"{shown(context)} settles {shown(other)}", tools, truth)
    for _ in range(ROUNDS):
        for context, (truth, _) in real.items():
            memo = Memo(store, _spec(context, skills), (skills[SKILL].digest,), "soundness")
            tools = episode(context, skills, memo=memo)
            outcome.memo_hits += memo.hits
            if not tools.undetermined:
                _compare(outcome, f"memo in {shown(context)}", tools, truth)
    store.close()
    return outcome


def _compare(outcome: Outcome, statement: str, tools: EpisodeTools, truth: EpisodeTools) -> None:
    """Equal answers in every turn, unless chance had a part in one and the record says so."""
    outcome.compared += 1
    said, expected = _answers(tools), _answers(truth)
    # What met a limit of time on a busy machine answered nothing, nor does what came after it.
    cut = [index for one in (tools, truth) for index, c in enumerate(one.commands) if c.ended not in _ENDED]
    pairs = list(zip(said, expected, strict=True))[: min(cut, default=None)]
    different = [turn for turn, pair in enumerate(pairs) if pair[0] != pair[1]]
    told = [DRAWS in one.commands[turn].assumed for one in (tools, truth) for turn in different]
    if all(told):
        outcome.assumed += bool(different)
    else:
        outcome.wrong.append(f"{statement}: {said}, but for real {expected}")


def _answers(tools: EpisodeTools) -> Answers:
    return tuple(command.stdout if command.status == 0 else "failed" for command in tools.commands)


def _spec(context: Context, skills: dict[str, Skill]) -> WorldSpec:
    installed = tuple(skills[name] for name in sorted({SKILL, *context.co_skills}))
    return WorldSpec(
        comparison=SKILL,
        installed=installed,
        apart=(SKILL,),
        home_files=_files(context.history),
        limits=replace(Limits(), command_seconds=20.0),
    )


def episode(context: Context, skills: dict[str, Skill], *, memo: Memo | None) -> EpisodeTools:
    """Run the command once in every turn of a world of its own."""
    spec = _spec(context, skills)
    script = f"{spec.layout.skills}/{SKILL}/scripts/run.sh"
    with open_world(spec, runtime=_runtime()) as world:
        tools = EpisodeTools(world, memo=memo, inputs=(), argument_set=0)
        for turn in range(1, context.horizon + 1):
            tools.begin(turn)
            tools.run(
                Command(("sh", script), spec.layout.workspace, turn, 0, skill=SKILL, file="SKILL.md", line=8)
            )
            world.end_turn(turn, "Once more, please.", "Done.")
        tools.end(world.finish())
    return tools


def _table(skills: Sequence[str]) -> CarrierTable:
    layout = WorldSpec().layout
    return CarrierTable(
        home=layout.home,
        skills_folder=layout.skills,
        history_paths=frozenset(f"{layout.home}/{path}" for path, _ in _files(NEUTRAL)),
        ids_by_folder={name: name for name in skills},
    )
