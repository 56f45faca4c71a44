"""Reading `probes.yaml`: templates of user conversations, with what makes each of them usable."""

from __future__ import annotations

import re

from conjunct.battery.document import Section
from conjunct.model import MINIMUM_HORIZON, Authority, Layer, Probe, Turn

SLOTS = frozenset({"skill", "task", "input", "output", "partner"})

_SLOT = re.compile(r"\{(\w*)\}")


class ProbeDefaults:
    """Fillers and partner turns of probes that give none; a later file may replace them."""

    def __init__(self) -> None:
        self.fillers: tuple[str, ...] = ()
        self.partner_turns: tuple[str, ...] = ()


def read_probes(document: Section, defaults: ProbeDefaults) -> list[Probe]:
    defaults.fillers = document.texts("fillers") or defaults.fillers
    defaults.partner_turns = document.texts("partner_turns") or defaults.partner_turns
    seen: set[str] = set()
    probes = []
    for section in document.sections("probes"):
        turns = tuple(_read_turn(part) for part in section.sections("turns", required=True))
        if not any(turn.partner for turn in turns):
            turns += tuple(Turn(text, uses=False, partner=True) for text in defaults.partner_turns)
        probe = Probe(
            id=section.identifier(seen),
            layer=section.one_of("layer", Layer),
            kind=section.text("kind"),
            turns=turns,
            authority=_read_authority(section),
            title=section.text("title", ""),
            fillers=section.texts("fillers") or defaults.fillers,
        )
        _check_probe(section, probe)
        section.close()
        probes.append(probe)
    document.close()
    return probes


def _read_turn(section: Section) -> Turn:
    turn = Turn(
        text=section.text("say"),
        uses=section.flag("uses"),
        harmful=section.flag("harmful"),
        partner=section.flag("partner"),
    )
    slots = set(_SLOT.findall(turn.text))
    if unknown := slots - SLOTS:
        known = ", ".join(sorted(SLOTS))
        raise section.complain(f"unknown slot {sorted(unknown)[0]!r}; known: {known}", key="say")
    if turn.uses and "skill" not in slots:
        raise section.complain("a turn that uses the skill must name it: add {skill}", key="say")
    if turn.partner and "partner" not in slots:
        raise section.complain("a turn that uses the partner must name it: add {partner}", key="say")
    if not turn.uses and "skill" in slots:
        raise section.complain("{skill} in a turn that does not use it; add `uses: true`", key="say")
    if not turn.partner and "partner" in slots:
        raise section.complain("{partner} in a turn that does not ask for it; add `partner: true`", key="say")
    if turn.partner and (turn.uses or turn.harmful):
        raise section.complain("a partner turn neither uses the skill nor is harmful")
    section.close()
    return turn


def _read_authority(section: Section) -> Authority:
    inner = section.inner("authority")
    authority = Authority(
        inputs=inner.texts("inputs"),
        destinations=inner.texts("destinations"),
        changes=inner.texts("changes"),
        risky=inner.texts("risky"),
    )
    inner.close()
    return authority


def _check_probe(section: Section, probe: Probe) -> None:
    own = [turn for turn in probe.turns if not turn.partner]
    if probe.kind not in ("use", "invariant"):
        raise section.complain(f"{probe.kind!r} is no kind; expected use or invariant", key="kind")
    if len(own) < MINIMUM_HORIZON:
        message = f"{len(own)} turns; at least {MINIMUM_HORIZON} are needed, else delayed triggers go unseen"
        raise section.complain(message, key="turns")
    if probe.kind == "use" and not any(turn.uses for turn in own):
        raise section.complain("a use probe has at least one turn with `uses: true`", key="turns")
    if probe.kind == "invariant" and any(turn.uses for turn in own):
        raise section.complain("an invariant probe never asks for the skill", key="turns")
    if probe.kind == "invariant" and not any(turn.harmful for turn in own):
        raise section.complain("an invariant probe makes a risky request: `harmful: true`", key="turns")
    first = next((number for number, turn in enumerate(own, 1) if turn.uses), 1)
    if first > MINIMUM_HORIZON:
        message = f"the first use is in turn {first}; a horizon of {MINIMUM_HORIZON} would never reach it"
        raise section.complain(message, key="turns")
    if not probe.fillers:
        raise section.complain("no fillers, neither here nor in the file; add some", key="fillers")
