"""An answer goes into the policy as a rule that holds for its question, and never breaks the file."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conjunct.answering import AnswerOptions, answer_question
from conjunct.errors import PolicyError, StoreError, UsageError
from conjunct.gate import Evidence, decide, load_policy
from conjunct.gate.stored import StoredVetting, pack_vetting, plan_of
from conjunct.model import Coverage, Decision, Finding, Layer, Severity, SkillDeltaProfile
from conjunct.report.json_report import skill_entry
from conjunct.run import Store
from report.verdicts import skill

TODAY = datetime.date(2026, 6, 1)
QUESTION = 'May it send to "mirror.example.com"?\udcff'
ASKING = Finding(
    "currency", Layer.CLAIMS, "claims.undeclared-send", "sends", Severity.REVIEW, question=QUESTION
)


def evidence(*findings: Finding) -> Evidence:
    return Evidence(
        skill=skill(),
        triggers=(),
        findings=findings,
        profile=SkillDeltaProfile("currency", (), ()),
        coverage=Coverage(factors=("history",)),
        commands_run=1,
    )


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    folder = tmp_path / "registry"
    folder.mkdir()
    return folder


@pytest.fixture
def store(tmp_path: Path, registry: Path) -> Path:
    path = tmp_path / "runs.sqlite"
    kept = Store(path)
    for number, findings in enumerate([(ASKING,), ()]):
        one = replace(skill(), id="currency" if not number else "plain")
        verdict = replace(decide(evidence(*findings), load_policy(None), today=TODAY), skill=one)
        kept.record_verdict(one.id, one.digest, str(number), skill_entry(verdict))
    vetting = StoredVetting(
        path=str(registry), registry="", battery="", trust="", title="registry", seed=0, fingerprint="f",
        baseline=(), battery_version="1", agent="literal", plan=plan_of(load_policy(None)), budget="",
        candidates=(), neighbours=(),
    )  # fmt: skip
    kept.record_vetting(vetting.path, vetting.registry, pack_vetting(vetting))
    kept.close()
    return path


def give(store: Path, **more: Any) -> Path:
    given = {"skill": "currency", "answer": True, "owner": "kim", "reason": "ours", "store": store, **more}
    return answer_question(AnswerOptions(**given), today=TODAY)[1]


@pytest.mark.parametrize(("said", "decision"), [(True, Decision.ADMIT), (False, Decision.REJECT)])
def test_the_rule_decides_the_next_time(store: Path, registry: Path, said: bool, decision: Decision) -> None:
    path = give(store, answer=said)
    assert path == registry / "conjunct.toml"
    assert decide(evidence(ASKING), load_policy(path), today=TODAY).decision is decision
    elsewhere = replace(ASKING, question="May it send to other.example.com?")
    assert decide(evidence(elsewhere), load_policy(path), today=TODAY).decision is Decision.REVIEW
    later = TODAY + datetime.timedelta(days=400)
    assert decide(evidence(ASKING), load_policy(path), today=later).decision is Decision.REVIEW


def test_it_holds_for_one_version_unless_told_otherwise(store: Path) -> None:
    path = give(store)
    other = replace(evidence(ASKING), skill=replace(skill(), digest="cd" * 32))
    assert decide(other, load_policy(path), today=TODAY).decision is Decision.REVIEW
    give(store, every_version=True)
    assert decide(other, load_policy(path), today=TODAY).decision is Decision.ADMIT


def test_what_stands_in_the_file_stays(store: Path, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text("# ours\n[policy]\nhorizon = 8")
    assert give(store, policy=path) == path
    assert path.read_text().startswith("# ours\n[policy]\nhorizon = 8\n\n[[answer]]\n")
    assert load_policy(path).horizon == 8
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".own")] == []


def test_a_file_that_is_not_valid_is_left_as_it_is(store: Path, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text("[policy]\nhorizn = 8\n")
    with pytest.raises(PolicyError, match="horizn"):
        give(store, policy=path)
    assert path.read_text() == "[policy]\nhorizn = 8\n"
    with pytest.raises(PolicyError, match="cannot be added"):
        give(store, policy=tmp_path / "absent" / "own.toml")


def test_there_must_be_a_question_and_somebody_who_answers(store: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="asks nothing"):
        give(store, skill="plain")
    with pytest.raises(StoreError, match="holds no verdict on 'none'"):
        give(store, skill="none")
    with pytest.raises(StoreError, match="no run store"):
        give(tmp_path / "absent.sqlite")
    with pytest.raises(UsageError, match="--owner is empty"):
        give(store, owner=" ")
    with pytest.raises(UsageError, match="which is past"):
        give(store, expires=datetime.date(2026, 5, 31))
