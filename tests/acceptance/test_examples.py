"""The examples, their twins, their ungated controls and re-skinned copies get the verdicts of the labels."""

from __future__ import annotations

import json

import jsonschema
import pytest

from acceptance.reskin import reskin
from acceptance.vetting import DATA, EXAMPLES, FLAGGED, Vetted, conjunct, disagreements, labels_of, skills_in
from conjunct.report.json_report import report_schema

pytestmark = [pytest.mark.world, pytest.mark.slow, pytest.mark.timeout(3600)]
LABELS = labels_of(EXAMPLES)
ADVERSARIES = sorted(name for name, entry in LABELS.items() if entry["label"] == "adversarial")
BENIGN = sorted(set(LABELS) - set(ADVERSARIES))


def test_the_labels_cover_the_registry() -> None:
    assert set(LABELS) == set(skills_in(EXAMPLES))
    assert (len(ADVERSARIES), len(BENIGN)) == (5, 9)
    for folder in ("twins", "ungated"):
        assert set(skills_in(DATA / folder)) == set(ADVERSARIES)


@pytest.mark.parametrize("name", ADVERSARIES)
def test_every_adversary_is_flagged_with_its_trigger(examples: Vetted, name: str) -> None:
    entry = examples.skill(name)
    assert entry["verdict"] in FLAGGED
    assert entry["trigger"] is not None, entry["reasons"]
    assert {key: entry["trigger"][key] for key in ("history", "co_skills", "turn")} == LABELS[name]["trigger"]
    assert entry["trigger"]["reproduced"]
    assert name in entry["trigger"]["actors"]


@pytest.mark.parametrize("name", BENIGN)
def test_every_benign_skill_is_admitted(examples: Vetted, name: str) -> None:
    entry = examples.skill(name)
    assert entry["verdict"] == "admit", entry["reasons"]
    assert entry["trigger"] is None


def test_the_run_as_a_whole(examples: Vetted) -> None:
    assert disagreements(examples.report, LABELS) == []
    assert examples.status == 1
    assert examples.report["registry_size"] == 14
    assert examples.report["coverage"]["audits"] >= 20
    assert examples.report["coverage"]["audit_mismatches"] == 0
    jsonschema.validate(examples.report, report_schema())


@pytest.mark.parametrize("name", ADVERSARIES)
def test_a_benign_twin_in_the_place_of_its_adversary_is_admitted(twins: Vetted, name: str) -> None:
    entry = twins.skill(name)
    assert entry["verdict"] == "admit", entry["reasons"]
    assert entry["trigger"] is None


def test_benign_skills_beside_the_twins_are_admitted(twins: Vetted) -> None:
    truth = {name: {"label": "benign", "trigger": None} for name in LABELS}
    assert disagreements(twins.report, truth) == []
    assert twins.status == 0


@pytest.mark.parametrize("name", ADVERSARIES)
def test_an_ungated_control_is_flagged_in_every_context(ungated: Vetted, name: str) -> None:
    entry = ungated.skill(name)
    assert entry["verdict"] in FLAGGED
    assert entry["trigger"]["sentence"] == "always"
    assert not any(factor["needed"] for factor in entry["trigger"]["factors"])


def test_a_reskinned_copy_gets_the_same_verdicts_and_triggers(
    reskinned: Vetted, reskin_seed: int, record_property: pytest.RecordProperty
) -> None:
    record_property("CONJUNCT_SEED", reskin_seed)
    print(f"re-skinned examples: CONJUNCT_SEED={reskin_seed}")
    found = disagreements(reskinned.report, labels_of(reskinned.registry))
    copy = reskin(reskin_seed, reskinned.store.parent / "again")
    told = [f"{name}: {choice}" for name, choice in copy.choices.items()]
    assert not found, "\n".join([f"repeat with CONJUNCT_SEED={reskin_seed}", *found, "", *told])


@pytest.mark.parametrize("name", ["plain-style", "date-normalise", "usage-metrics"])
def test_replay_shows_the_effect_and_its_absence(examples: Vetted, name: str) -> None:
    done = conjunct("replay", name, "--store", examples.store, "--runs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert sum(line.startswith("2 of 2 runs  when:") for line in lines) == 1
    removed = [line for line in lines if "without: " in line]
    needed = [factor for factor in examples.skill(name)["trigger"]["factors"] if factor["needed"]]
    assert len(removed) == sum(factor["factor"] != "turn" for factor in needed)
    assert removed
    assert all(line.startswith("0 of 2 runs") for line in removed)


def test_replay_of_an_admitted_skill_says_that_there_is_nothing_to_replay(examples: Vetted) -> None:
    done = conjunct("replay", "json-tidy", "--store", examples.store)
    assert done.returncode == 4
    assert "holds no trigger of 'json-tidy'" in done.stderr


@pytest.mark.parametrize("name", ["date-normalise", "json-tidy"])
def test_explain_tells_verdict_and_coverage(examples: Vetted, name: str) -> None:
    done = conjunct("explain", name, "--store", examples.store)
    assert done.returncode == 0, done.stderr
    entry = examples.skill(name)
    assert entry["verdict"].upper() in done.stdout
    for sentence in entry["coverage"]["in_words"]:
        assert sentence in done.stdout
    if entry["trigger"]:
        assert entry["trigger"]["sentence"] in done.stdout


def test_the_printed_schema_is_the_one_of_the_report() -> None:
    assert json.loads(conjunct("schema").stdout) == report_schema()
