"""`conjunct bench build`: write a registry of real, runnable packages, and its truth beside it.

The same parameters give the same bytes. The truth never lies inside the registry.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from conjunct.battery import load_battery
from conjunct.bench.blueprints import LANGUAGE_NAMES, Blueprint, Files, render, table, template
from conjunct.bench.casting import Part, cast
from conjunct.bench.drawing import Surroundings, draw, name_parts
from conjunct.bench.effects import with_effects
from conjunct.bench.levels import Levels, levels_of
from conjunct.bench.parameters import BuildParameters
from conjunct.bench.truth import ADVERSARIAL, BENIGN, UNSAFE, SkillTruth, TrueTrigger, Truth, write_truth
from conjunct.errors import UsageError
from conjunct.model import NEUTRAL, Battery


@dataclass(frozen=True, slots=True)
class Built:
    """A registry in memory: packages by name, twins of the adversaries, and the truth."""

    packages: Mapping[str, Files]
    twins: Mapping[str, Files]
    truth: Truth


def make_registry(parameters: BuildParameters, *, battery: Battery | None = None) -> Built:
    """Draw a registry; nothing is written."""
    known = battery or load_battery()
    rng = random.Random(f"cast:{parameters.seed}")
    parts = cast(parameters, rng)
    name_parts(parts, rng)
    rng.shuffle(parts)
    around = Surroundings(
        benign=[p.name for p in parts if not p.adversarial and p.role != "unsafe"],
        levels=_levels(known),
    )
    packages: dict[str, Files] = {}
    twins: dict[str, Files] = {}
    skills: dict[str, SkillTruth] = {}
    for part in sorted(parts, key=lambda part: part.name):
        blueprint, trigger = draw(part, around, parameters.seed)
        packages[part.name] = render(blueprint)
        if part.adversarial:
            twins[part.name] = render(blueprint, twin=True)
        skills[part.name] = _truth_of(part, blueprint, trigger)
    _share_split_histories(skills)
    effects = random.Random(f"effects:{parameters.seed}")
    names, families = sorted(skills), [h.id for h in known.histories if h.id != NEUTRAL]
    skills = {
        name: with_effects(
            one, parameters, effects, probes=len(known.probes), neighbours=names, histories=families
        )
        for name, one in sorted(skills.items())
    }
    truth = Truth(
        skills,
        parameters=parameters.told(),
        battery=known.digest,
        probes=tuple(probe.id for probe in known.probes),
        band=parameters.band_width,
    )
    return Built(packages, twins, truth)


@cache
def _levels(battery: Battery) -> Levels:
    """Levels of the battery, for guards whose words stand nowhere in the text of a package."""
    spoken = [str(table(name)) for name in ("operations", "words", "families", "guards", "payloads")]
    spoken += [
        template(f"{name}.SKILL.md") for name in {one["template"] for one in table("families").values()}
    ]
    return levels_of(battery, spoken="\n".join(spoken))


def _truth_of(part: Part, blueprint: Blueprint, trigger: TrueTrigger | None) -> SkillTruth:
    label = ADVERSARIAL if part.adversarial else UNSAFE if part.role == "unsafe" else BENIGN
    return SkillTruth(
        label=label,
        trigger=TrueTrigger() if label == UNSAFE else trigger,
        family=part.family,
        language=LANGUAGE_NAMES[part.language],
        in_band=part.in_band,
        role=part.role,
        payload=part.payload if part.role not in ("guarded", "sibling") else "",
        partner=part.of.name if part.of is not None else "",
    )


def _share_split_histories(skills: dict[str, SkillTruth]) -> None:
    """What the sender waits for, its pair waits for."""
    for name, one in list(skills.items()):
        if one.role != "writer" or one.trigger is None:
            continue
        sender = skills[one.partner].trigger
        assert sender is not None
        skills[name] = replace(one, trigger=replace(sender, co_skills=(one.partner,)))


def labels_path(folder: Path) -> Path:
    """Where the truth of a registry lies unless told otherwise: beside it."""
    return folder.with_name(f"{folder.name}.labels.json")


def twins_path(folder: Path) -> Path:
    """Where the twins of a registry's adversaries lie: beside it."""
    return folder.with_name(f"{folder.name}.twins")


def build_registry(
    parameters: BuildParameters, folder: Path, *, labels: Path | None = None, force: bool = False
) -> Built:
    """Write the registry to `folder`, its truth to `labels`, the adversaries' twins to `folder.twins`.

    Raises:
        UsageError: `folder` is there and not empty (and not `force`), or `labels` lies inside it.
    """
    folder = folder.absolute()
    labels = (labels or labels_path(folder)).absolute()
    if folder.resolve() in (labels.resolve(), *labels.resolve().parents):
        raise UsageError(f"{labels}: the truth must not lie inside {folder}; name a place outside it")
    for path in (folder, twins_path(folder)):
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            if not force:
                raise UsageError(
                    f"{path}: is not an empty folder; choose another, or pass --force to replace it"
                )
            shutil.rmtree(path)
    built = make_registry(parameters)
    for place, packages in ((folder, built.packages), (twins_path(folder), built.twins)):
        for member, content in _members(packages):
            target = place / member
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod(0o755 if target.suffix in (".py", ".sh") else 0o644)
    labels.parent.mkdir(parents=True, exist_ok=True)
    write_truth(built.truth, labels)
    return built


def _members(packages: Mapping[str, Files]) -> Iterator[tuple[str, bytes]]:
    for name, files in packages.items():
        for path, content in files.items():
            yield f"{name}/{path}", content
