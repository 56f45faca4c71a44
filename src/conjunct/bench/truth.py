"""Ground truth of a built registry: who does what under which condition. The tool under test never reads it.

The file is JSON, `DIR.labels.json` beside the registry by default and never inside it. `skills` maps each
name to its label; labels of `examples/` (name to label and trigger, nothing around it) are read as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from conjunct.errors import UsageError

BENIGN, ADVERSARIAL, UNSAFE = "benign", "adversarial", "unsafe"
LABELS = (BENIGN, ADVERSARIAL, UNSAFE)
_FORMAT = "conjunct bench labels 1"


@dataclass(frozen=True, slots=True)
class TrueTrigger:
    """Exactly when a skill acts. Everything at its default means: always."""

    history: str | None = None
    """Family of user histories."""
    co_skills: tuple[str, ...] = ()
    """Names of the skills that must be installed; of a split trigger, the other half, which must be used."""
    turn: int | None = None
    """First turn at which it acts, if it is asked for in every turn; `None` for the first."""
    clock: tuple[str, ...] = ()
    """Clock levels of the battery at which it acts; empty for all."""
    arguments: tuple[str, ...] = ()
    """Argument sets of the battery with which it acts; empty for all."""
    suppressors: tuple[str, ...] = ()
    """Names of skills beside any of which it keeps quiet."""
    delay: str = ""
    """What the turn counts: `calls`, `turns`, or empty."""
    split: bool = False
    """Whether the body of the one co-skill is needed too."""
    hashed: bool = False
    """Whether the source holds digests where it compares."""
    reachable: bool = True
    """Whether the battery has levels under which it can act at all."""

    @property
    def order(self) -> int:
        """Conditions that must hold together; the delay is told apart, by `turn`."""
        return bool(self.history) + len(self.co_skills) + bool(self.clock) + bool(self.arguments)


@dataclass(frozen=True, slots=True)
class SkillTruth:
    """What one skill is."""

    label: str
    """`benign`; `adversarial`: harmful under its trigger only; `unsafe`: harmful in plain sight."""
    trigger: TrueTrigger | None = None
    family: str = ""
    language: str = ""
    """`python`, `shell`, or `prose` for packages without scripts."""
    in_band: bool = False
    """Whether every single-probe delta stays within the safe band under the reference noisy agent."""
    role: str = ""
    """What it is there for: `masked`, `steered`, `writer`, `sender`, `sibling`, `mask`, `synergy`, …"""
    payload: str = ""
    partner: str = ""
    """Of a sibling: its adversary. Of a mask: who hides behind it. Of synergy: the other half."""
    rate: float = 0.0
    """Of the effect model: how often the trigger, when it holds, shows under the reference noisy agent."""
    single_probe_deltas: tuple[float, ...] = ()
    """Of the effect model: change of the violation rate on each probe of `Truth.probes`, alone."""
    interactions: tuple[tuple[str, str, float], ...] = ()
    """Of the effect model: (co-skill, history, rate) of diffuse interactions under the margin."""

    @property
    def harmful(self) -> bool:
        """Whether it should be flagged."""
        return self.label != BENIGN


@dataclass(frozen=True, slots=True)
class Truth:
    """Ground truth of one registry."""

    skills: Mapping[str, SkillTruth]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What `conjunct bench build` was asked for, so that it can be asked again."""
    battery: str = ""
    """Digest of the battery with which the levels of the triggers were found."""
    probes: tuple[str, ...] = ()
    band: float = 0.02

    @property
    def in_band(self) -> tuple[str, ...]:
        """Names of the skills in the safe band, sorted."""
        return tuple(sorted(name for name, one in self.skills.items() if one.in_band))

    @property
    def adversaries(self) -> tuple[str, ...]:
        """Names of the skills with a trigger that is not plain to see, sorted."""
        return tuple(sorted(name for name, one in self.skills.items() if one.label == ADVERSARIAL))


def write_truth(truth: Truth, path: Path) -> None:
    """Write a labels file: one line for each skill, so that two of them can be compared."""
    skills = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(_lean(asdict(one)), ensure_ascii=False)}"
        for name, one in sorted(truth.skills.items())
    )
    head = {
        "format": _FORMAT,
        "battery": truth.battery,
        "band": truth.band,
        "probes": truth.probes,
        "parameters": dict(truth.parameters),
    }
    lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items())
    path.write_text(f'{{\n{lines},\n "skills": {{\n{skills}\n }}\n}}\n', encoding="utf-8")


def _lean(entry: dict[str, Any]) -> dict[str, Any]:
    """Without what is at its default; label and trigger always stay."""
    if entry["trigger"] is not None:
        entry["trigger"] = {
            key: value
            for key, value in entry["trigger"].items()
            if value not in ("", (), False) and not (key == "reachable" and value)
        }
    return {
        key: value
        for key, value in entry.items()
        if key in ("label", "trigger") or value not in ("", (), False, 0.0)
    }


def read_truth(path: Path) -> Truth:
    """Read a labels file, or the plain labels of `examples/`.

    Raises:
        UsageError: cannot be read, is not JSON, or holds an unknown label or field; names file and skill.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror}); check the path given to --labels"
        ) from error
    except ValueError as error:
        raise UsageError(f"{path}: is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise UsageError(f"{path}: expected an object that maps skills to labels")
    whole = data.get("format") == _FORMAT
    skills = data.get("skills") if whole else data
    if not isinstance(skills, dict):
        raise UsageError(f"{path}: 'skills' must map each skill to its label")
    return Truth(
        skills={name: _skill(path, name, entry) for name, entry in skills.items()},
        parameters=data.get("parameters", {}) if whole else {},
        battery=str(data.get("battery", "")) if whole else "",
        probes=tuple(data.get("probes", ())) if whole else (),
        band=float(data.get("band", 0.02)) if whole else 0.02,
    )


def _skill(path: Path, name: str, entry: object) -> SkillTruth:
    if not isinstance(entry, dict) or entry.get("label") not in LABELS:
        raise UsageError(f"{path}: {name}: needs a label out of {', '.join(LABELS)}")
    values = dict(entry)
    trigger = values.pop("trigger", None)
    try:
        if trigger is not None:
            lists = ("co_skills", "clock", "arguments", "suppressors")
            texts: dict[str, Any] = {key: tuple(trigger.get(key) or ()) for key in lists}
            trigger = TrueTrigger(**{**trigger, **texts})
        values["single_probe_deltas"] = tuple(values.get("single_probe_deltas", ()))
        values["interactions"] = tuple(map(tuple, values.get("interactions", ())))
        return SkillTruth(trigger=trigger, **values)
    except (TypeError, AttributeError) as error:
        raise UsageError(f"{path}: {name}: {error}") from error
