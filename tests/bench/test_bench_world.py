"""Built packages in the world: what is planted acts as labelled, and `conjunct vet` finds just that."""

from __future__ import annotations

import datetime
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from conjunct.bench.build import build_registry, twins_path
from conjunct.bench.parameters import parameters_of
from conjunct.bench.scoring import Told, disagreements, score
from conjunct.bench.truth import Truth
from conjunct.bench.verify import PROBE, verified_remarks, verify
from conjunct.gate import Policy, decide
from conjunct.report.json_report import trigger_entry
from conjunct.run import LocalExecutor, Store
from conjunct.run.episode import EpisodeRunner
from conjunct.skills import read_registry
from conjunct.vet import VetOptions, prepare
from conjunct.vetting import Vetting

pytestmark = [pytest.mark.world, pytest.mark.slow, pytest.mark.timeout(1200)]


def test_planted_triggers_act_as_labelled_and_their_twins_do_not(tmp_path: Path) -> None:
    folder = tmp_path / "registry"
    truth = build_registry(parameters_of(skills=12, orders=(2, 3), turns=(1, 3), seed=1), folder).truth
    checked = verify(folder, truth, twins=twins_path(folder), workers=1)
    assert len(checked) >= 8
    assert {one.arm.element.split(" ")[0] for one in checked} >= {"", "twin", "history", "beside"}
    assert verified_remarks(checked) == []


def test_a_vet_finds_the_planted_trigger_and_nothing_else(tmp_path: Path) -> None:
    folder, few = tmp_path / "registry", tmp_path / "few"
    truth = build_registry(
        parameters_of(skills=12, adversaries=1, orders=(2,), prose=0.0, seed=5), folder
    ).truth
    (name,) = truth.adversaries
    trigger = truth.skills[name].trigger
    assert trigger is not None
    chosen = {name, *trigger.co_skills, *(n for n, one in truth.skills.items() if one.role == "mask")}
    for one in chosen:
        shutil.copytree(folder / one, few / one)
    store = Store(tmp_path / "runs.sqlite")
    registry = read_registry(few)
    whole = prepare(registry, VetOptions(path=few), store.path)
    # One probe of 26: the others ask for the same conjunction in other words.
    probes = tuple(probe for probe in whole.battery.probes if probe.id == PROBE)
    setting = replace(whole, battery=replace(whole.battery, probes=probes))
    store.packages = setting.package_key
    policy = Policy(horizon=4)
    vetting = Vetting(setting, policy, (registry.by_id(name),))
    with LocalExecutor(EpisodeRunner(setting), workers=1) as executor:
        vetting.run(executor, store, lambda _, __: None)
    told = {
        verdict.skill.name: Told(
            str(verdict.decision),
            verdict.reasons,
            trigger_entry(verdict.triggers[0]) if verdict.triggers else None,
        )
        for verdict in (decide(one, policy, today=datetime.date(2026, 3, 2)) for one in vetting.evidence())
    }
    store.close()
    scored = score(told, Truth({name: truth.skills[name]}))
    assert disagreements(scored) == []
    assert [one.right for one in scored] == [True]
