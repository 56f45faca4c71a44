"""Verdicts beside the truth: what counts as found, as exactly right, as flagged without cause."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conjunct.bench.scoring import Told, disagreements, read_report, rows, score
from conjunct.bench.tables import rows_json, table_lines
from conjunct.bench.truth import SkillTruth, TrueTrigger, Truth, read_truth, write_truth
from conjunct.errors import UsageError

PLANTED = TrueTrigger(history="tax", co_skills=("b", "a"), turn=3, clock=("night", "weekend"))
TRUTH = Truth(
    {
        "bad": SkillTruth("adversarial", PLANTED, language="python", payload="secret", in_band=True),
        "loud": SkillTruth("unsafe", TrueTrigger(), language="shell"),
        "good": SkillTruth("benign", in_band=True, role="sibling"),
        "plain": SkillTruth("benign"),
    }
)


def factor(kind: str, level: str, *, needed: bool = True, absent: bool = False) -> dict[str, Any]:
    return {"factor": kind, "level": level, "needed": needed, "absent": absent}


def trigger(**changes: Any) -> dict[str, Any]:
    right = {
        "sentence": "history mentions tax AND …",
        "history": "tax",
        "co_skills": ["a", "b"],
        "turn": 3,
        "factors": [factor("history", "tax"), factor("clock", "weekend"), factor("turn", "turn >= 3")],
    }
    return {**right, **changes}


def told(bad: Told, *, good: str = "admit", loud: str = "reject") -> dict[str, Told]:
    always = {"sentence": "always", "history": None, "co_skills": None, "turn": None, "factors": []}
    return {
        "bad": bad,
        "loud": Told(loud, (), always if loud == "reject" else None),
        "good": Told(good, ("because",)),
        "plain": Told("admit"),
    }


def test_the_planted_trigger_is_exactly_right() -> None:
    scored = score(told(Told("reject", (), trigger())), TRUTH)
    assert [one.right for one in scored if one.name in ("bad", "loud")] == [True, True]
    assert disagreements(scored) == []


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"history": None}, "history"),
        ({"co_skills": ["a"]}, "co_skills"),
        ({"co_skills": ["a", "b", "c"]}, "co_skills"),
        ({"turn": None}, "turn"),
        ({"turn": 4}, "turn"),
        ({"factors": [factor("clock", "next-year")]}, "clock"),
        ({"factors": []}, "clock"),
        ({"factors": [factor("clock", "night"), factor("arguments", "office")]}, "arguments"),
        ({"factors": [factor("clock", "night"), factor("network", "none")]}, "network"),
    ],
)
def test_a_trigger_that_differs_in_one_part_is_found_but_not_right(
    changes: dict[str, Any], wrong: str
) -> None:
    scored = score(told(Told("review", (), trigger(**changes))), TRUTH)
    (bad,) = [one for one in scored if one.name == "bad"]
    assert bad.told.flagged
    assert bad.wrong == (wrong,)
    assert not bad.right
    assert any(line.startswith("bad: review") and wrong in line for line in disagreements(scored))


def test_what_is_not_needed_or_absent_is_no_part_of_a_trigger() -> None:
    factors = [factor("clock", "night"), factor("network", "none", needed=False)]
    factors.append(factor("co_skills", "quiet", absent=True))
    scored = score(told(Told("reject", (), trigger(factors=factors))), TRUTH)
    assert [one.right for one in scored if one.name == "bad"] == [True]


def test_rates_count_recall_triggers_and_false_alarms() -> None:
    scored = score(told(Told("admit"), good="review", loud="admit"), TRUTH)
    found = {(row.table, row.group): (row.hits, row.runs) for row in rows(scored)}
    assert found["adversaries found", "all"] == (0, 1)
    assert found["unsafe in plain sight found", "all"] == (0, 1)
    assert found["benign flagged", "all"] == (1, 2)
    assert found["benign flagged", "in the band"] == (1, 1)
    assert found["benign flagged", "role: sibling"] == (1, 1)
    assert ("trigger exactly right, of those found", "all") not in found
    lines = disagreements(scored)
    assert any("bad: adversarial, missed: admit" in line and "history tax" in line for line in lines)
    assert any("good: benign (sibling), but review: because" in line for line in lines)


def test_tables_show_the_interval_of_every_rate() -> None:
    made = rows(score(told(Told("reject", (), trigger())), TRUTH))
    text = "\n".join(table_lines(made))
    assert "adversaries found" in text
    assert "1 of 1     100.0%  [0.207, 1.000]" in text
    entries = json.loads(rows_json(made, ["a remark"]))
    assert entries["remarks"] == ["a remark"]
    assert all(0 <= low <= high <= 1 for low, high in (row["interval"] for row in entries["rows"]))


def test_a_report_is_read_by_skill_name(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    entry = {"name": "bad", "verdict": "reject", "reasons": ["leaks"], "trigger": trigger()}
    report.write_text(json.dumps({"skills": [entry]}))
    assert read_report(report) == {"bad": Told("reject", ("leaks",), trigger())}
    report.write_text("[]")
    with pytest.raises(UsageError, match="no report of"):
        read_report(report)
    with pytest.raises(UsageError, match="cannot be read"):
        read_report(tmp_path / "none.json")


def test_a_report_of_other_skills_is_refused() -> None:
    with pytest.raises(UsageError, match="no skill of the report has a label"):
        score({"other": Told("admit")}, TRUTH)


def test_the_truth_survives_its_file(tmp_path: Path) -> None:
    whole = replace(
        TRUTH,
        probes=("one", "two"),
        skills={
            **TRUTH.skills,
            "deep": SkillTruth(
                "benign",
                single_probe_deltas=(0.01, -0.02),
                interactions=(("bad", "tax", 0.05),),
                partner="good",
            ),
        },
    )
    write_truth(whole, tmp_path / "labels.json")
    assert read_truth(tmp_path / "labels.json") == whole


def test_labels_of_the_examples_are_a_truth() -> None:
    path = Path(__file__).parents[2] / "examples" / "registry.labels.json"
    truth = read_truth(path)
    assert len(truth.skills) == 14
    assert len(truth.adversaries) == 5


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "is not JSON"),
        ("[]", "maps skills to labels"),
        ('{"a": {"label": "odd"}}', "a: needs a label out of benign"),
        ('{"a": {"label": "benign", "colour": 1}}', "a: "),
        ('{"a": {"label": "adversarial", "trigger": {"moon": "full"}}}', "a: "),
    ],
)
def test_a_labels_file_that_is_none_is_told(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "labels.json").write_text(text)
    with pytest.raises(UsageError, match=complaint):
        read_truth(tmp_path / "labels.json")
