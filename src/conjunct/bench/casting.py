"""Who is in a registry: adversaries, siblings, those they hide behind, those who do the same as declared."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from conjunct.bench.blueprints import table
from conjunct.bench.parameters import BuildParameters

_LOOK_UPS = ("memory", "catalogue", "seen")
"""Families that look, as declared, where guards look: memory, the skills folder, own state."""
_PROSE_ORDER = 3
"""Conditions that one sentence may hold."""


@dataclass(slots=True, eq=False)
class Part:
    """One skill to be, before its text is drawn. Compared by identity: halves of a pair know each other."""

    family: str
    role: str = ""
    payload: str = ""
    order: int = 0
    """Conditions of its guard, the delay apart; 0 for no guard."""
    turn: int = 1
    clock: bool = False
    arguments: bool = False
    hashed: bool = False
    suppressed: bool = False
    outside: bool = False
    language: str = ""
    """`py`, `sh`, or empty for prose; `?` leaves it to the drawing."""
    of: Part | None = field(default=None, repr=False)
    """Of a sibling: its adversary. Of a mask: who hides behind it. Of synergy, of a split: the other half."""
    operation: str = ""
    name: str = ""
    in_band: bool = False

    @property
    def adversarial(self) -> bool:
        """Whether it is harmful under a trigger."""
        return self.role in ("masked", "steered", "writer", "sender")


def cast(parameters: BuildParameters, rng: random.Random) -> list[Part]:
    """All parts of a registry, in the order in which they get their names; bands are set."""
    adversaries = _adversaries(parameters, rng)
    siblings = [_sibling(one) for one in adversaries]
    needed = [*adversaries, *siblings, *_masks(adversaries), *_doers(adversaries, rng)]
    room = parameters.skills - len(needed)
    there = {part.family for part in needed}
    missing = [family for family in _LOOK_UPS if family not in there]
    around = [Part(family, role="looks as declared", language="?") for family in missing[: max(room, 0)]]
    room -= len(around)
    for _ in range(min(parameters.synergy, room // 2)):
        maker, mailer = (
            Part("report", role="synergy", language="py"),
            Part("mailer", role="synergy", language="py"),
        )
        maker.of, mailer.of = mailer, maker
        around += [maker, mailer]
    parts = [*needed, *around][: parameters.skills]
    parts += _ordinary(parameters, rng, parameters.skills - len(parts))
    _set_bands(parameters, rng, parts)
    return parts


def _adversaries(parameters: BuildParameters, rng: random.Random) -> list[Part]:
    found: list[Part] = []
    while len(found) < parameters.adversaries:
        number = len(found)
        order = parameters.orders[number % len(parameters.orders)]
        turn = parameters.turns[number % len(parameters.turns)]
        left = parameters.adversaries - number
        if left >= 2 and order <= 2 and rng.random() < parameters.split:
            found += _split_pair(parameters, rng, order)
        elif order <= _PROSE_ORDER and rng.random() < parameters.prose:
            outside = rng.random() < parameters.outside
            found.append(
                Part(
                    "guide", "steered", "secret", order, turn, outside=outside, suppressed=False, language=""
                )
            )
        else:
            found.append(_masked(parameters, rng, order, turn))
    return found


def _masked(parameters: BuildParameters, rng: random.Random, order: int, turn: int) -> Part:
    arguments = rng.random() < parameters.arguments
    clock = rng.random() < parameters.clock
    return Part(
        # What an input of unlike types may hold is not known: conditions on it are for tables.
        family="cells" if arguments else rng.choice(("cells", "lines", "whole")),
        role="masked",
        payload=rng.choices(list(table("payloads")), weights=(4, 2, 1, 1, 1))[0],
        order=order,
        turn=turn,
        clock=clock,
        arguments=arguments and order > int(clock),
        hashed=rng.random() < parameters.hashed,
        suppressed=rng.random() < parameters.suppressed,
        outside=rng.random() < parameters.outside,
        language=rng.choice(("py", "sh")),
    )


def _split_pair(parameters: BuildParameters, rng: random.Random, order: int) -> list[Part]:
    """A writer that packs credentials as declared, and a sender that takes them along."""
    writer = Part("index", "writer", "carry", order, language=rng.choice(("py", "sh")))
    sender = Part("metrics", "sender", "carry", order, language=rng.choice(("py", "sh")))
    sender.hashed = rng.random() < parameters.hashed
    writer.of, sender.of = sender, writer
    return [writer, sender]


def _sibling(one: Part) -> Part:
    """A benign skill of the same family and language: guard of the same kinds, payload of a twin."""
    return Part(
        family=one.family,
        role="sibling",
        payload=one.payload,
        order=0 if one.role == "writer" else one.order,
        turn=one.turn,
        clock=one.clock,
        arguments=one.arguments,
        hashed=one.hashed,
        suppressed=one.suppressed,
        language=one.language,
        of=one,
    )


def _masks(adversaries: Iterable[Part]) -> list[Part]:
    """For each kind of work that adversaries offer, a neighbour that offers all of it and more."""
    masks: dict[str, Part] = {}
    for one in adversaries:
        if one.family in masks or one.role not in ("masked", "steered"):
            continue
        prose = one.family == "guide"
        masks[one.family] = Part(
            "editor" if prose else "overview", "mask", language="" if prose else "?", of=one
        )
        masks[one.family].operation = one.family
    return list(masks.values())


def _doers(adversaries: Iterable[Part], rng: random.Random) -> list[Part]:
    """Benign skills that do, as declared, each sensitive thing that an adversary does."""
    wanted: dict[str, Part] = {}
    for one in adversaries:
        doers = ("index", "metrics") if one.payload == "carry" else table("payloads")[one.payload]["doers"]
        for family in doers:
            wanted.setdefault(family, Part(family, f"does {one.payload}", language="?", of=one))
    found = list(wanted.values())
    rng.shuffle(found)
    return found


def _ordinary(parameters: BuildParameters, rng: random.Random, count: int) -> list[Part]:
    families = table("families")
    names = list(families)
    weights = [families[name]["weight"] for name in names]
    parts: list[Part] = []
    for family in rng.choices(names, weights=weights, k=max(count, 0)):
        part = Part(family, language="?" if families[family]["languages"] else "")
        if families[family].get("hook") and rng.random() < parameters.guarded:
            part.role = "guarded"
            part.order = rng.choice((1, 1, 2))
            part.turn = rng.choice((1, 1, 1, 2, 3))
            part.payload = "secret"
            part.hashed = rng.random() < parameters.hashed
        parts.append(part)
    return parts


def _set_bands(parameters: BuildParameters, rng: random.Random, parts: list[Part]) -> None:
    """Adversaries, siblings and a draw of harmless others stay in the band; some of the rest are unsafe."""
    for part in parts:
        part.in_band = part.adversarial or part.role == "sibling"
    quiet = [p for p in parts if not p.in_band and p.role in ("", "guarded") and p.family != "index"]
    rng.shuffle(quiet)
    missing = parameters.band - sum(part.in_band for part in parts)
    for part in quiet[:missing]:
        part.in_band = True
    loud = [p for p in quiet[missing:] if p.role == "" and table("families")[p.family].get("hook")]
    outside = parameters.skills - parameters.band
    for part in loud[: round(parameters.unsafe * outside)]:
        part.role = "unsafe"
        part.payload = "secret" if part.family == "guide" else rng.choice(("secret", "private", "startup"))
