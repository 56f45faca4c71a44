"""From a probe template to the turns of one conversation."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from conjunct.errors import UsageError
from conjunct.model import MINIMUM_HORIZON, Authority, Probe, Skill, Turn

OUTPUT_FOLDER = "results"
"""Folder in the workspace that `{output}` stands for."""

MAXIMUM_HORIZON = 64

_SLOT = re.compile(r"\{(skill|task|input|output|partner)\}")
_PARTNER = re.compile(r"\{(partner)\}")


def fill_probe(
    probe: Probe,
    *,
    skill: Skill,
    task: str,
    inputs: Sequence[str],
    partner: Skill | None = None,
    partner_task: str = "",
    first_use: int = 1,
    horizon: int = 6,
    partner_after: bool = False,
) -> tuple[Turn, ...]:
    """The turns of one conversation, exactly `horizon` of them; the same arguments give the same turns.

    The template is repeated or cut to the horizon. Small talk goes in front where `first_use` is later than
    the template's own first use, which is never moved forward. With a partner, every turn that
    asks for the skill gets a turn that asks for the partner before it (`partner_after`: after it) and plain
    talk is left out, so that the pair acts as often as the horizon allows; with the partner before, the first
    use is turn 2 at the earliest. In an invariant probe the partner is asked for in place of plain talk, and
    `first_use` means nothing. Raises `UsageError` for a horizon or first use that cannot work.
    """
    if not MINIMUM_HORIZON <= horizon <= MAXIMUM_HORIZON:
        raise UsageError(f"horizon {horizon}; expected {MINIMUM_HORIZON} to {MAXIMUM_HORIZON}")
    if not 1 <= first_use <= horizon:
        raise UsageError(f"first use at turn {first_use}; expected 1 to the horizon, {horizon}")
    own = [turn for turn in probe.turns if not turn.partner]
    uses = any(turn.uses for turn in own)
    if partner is not None:
        asking = [turn for turn in probe.turns if turn.partner]
        own = _with_partner(own, asking, partner_after) if uses else _beside_partner(own, asking)
    turns = _moved(own, probe.fillers, first_use, horizon) if uses else _cycled(own, horizon)
    words = {"skill": skill.name, "task": task, "output": OUTPUT_FOLDER}
    partner_words = {
        "partner": partner.name if partner else "",
        "task": partner_task,
        "output": OUTPUT_FOLDER,
    }
    filled = []
    uses_so_far = partners_so_far = 0
    for turn in turns:
        chosen = partners_so_far if turn.partner else uses_so_far
        source = inputs[chosen % len(inputs)] if inputs else "what I gave you"
        slots = partner_words if turn.partner else words
        filled.append(replace(turn, text=_put(turn.text, {**slots, "input": source})))
        partners_so_far += turn.partner
        uses_so_far += "{input}" in turn.text and not turn.partner
    return tuple(filled)


def fill_authority(probe: Probe, *, inputs: Sequence[str]) -> Authority:
    """The probe's authority with `{input}` standing for every input and `{output}` for the results folder."""

    def expanded(patterns: Sequence[str]) -> tuple[str, ...]:
        found: list[str] = []
        for pattern in patterns:
            if "{input}" in pattern:
                found += [pattern.replace("{input}", _literal(path)) for path in inputs]
            else:
                found.append(pattern.replace("{output}", OUTPUT_FOLDER))
        return tuple(found)

    given = probe.authority
    return replace(given, inputs=expanded(given.inputs), changes=expanded(given.changes))


def _literal(path: str) -> str:
    """A path as a glob that matches itself only."""
    return re.sub(r"([*?[])", r"[\1]", posixpath.normpath(path))


def _put(text: str, words: Mapping[str, str]) -> str:
    """Slots replaced in one pass: braces in a skill's own words are no slots."""
    return _SLOT.sub(lambda match: words.get(match.group(1), match.group()), text)


def _cycled(turns: Sequence[Turn], length: int) -> list[Turn]:
    return [turns[n % len(turns)] for n in range(length)]


def _with_partner(own: Sequence[Turn], asking: Sequence[Turn], after: bool) -> list[Turn]:
    woven: list[Turn] = []
    pairs = 0
    for turn in own:
        if turn.uses:
            partner = asking[pairs % len(asking)]
            woven += [turn, partner] if after else [partner, turn]
            pairs += 1
        elif turn.harmful:
            woven.append(turn)
    return woven


def _beside_partner(own: Sequence[Turn], asking: Sequence[Turn]) -> list[Turn]:
    woven: list[Turn] = []
    pairs = 0
    for turn in own:
        if turn.harmful:
            woven.append(turn)
        else:
            woven.append(asking[pairs % len(asking)])
            pairs += 1
    return woven


def _moved(own: Sequence[Turn], fillers: Sequence[str], first_use: int, horizon: int) -> list[Turn]:
    """Turns with as much small talk in front as the first use needs to come at `first_use` or later."""
    natural = next(number for number, turn in enumerate(own) if turn.uses)
    front = [Turn(fillers[n % len(fillers)], uses=False) for n in range(max(0, first_use - 1 - natural))]
    return [*front, *_cycled(own, horizon)][:horizon]
