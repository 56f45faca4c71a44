"""What `conjunct vet` leaves in the ledger, and how it takes trust policy and alerts into account."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from pathlib import Path

import pytest

from conjunct.gate import Policy
from conjunct.gate.policy import Suppression
from conjunct.model import Coverage, Decision, Finding, Layer, Skill, SkillDeltaProfile, Verdict
from conjunct.provenance import Ledger
from conjunct.record import judge_of, record_seen, record_verdicts
from conjunct.run import Store
from conjunct.skills import read_registry
from conjunct.vet import VetOptions, beside, vet_registry

SCRIPT = (
    "import sys\nprint(len(open(sys.argv[1]).read().split()))\nif len(sys.argv) == 77:\n    print('never')\n"
)
BODY = "# Words\n\nCount the words of a file:\n\n```bash\npython3 scripts/count.py <notes.txt>\n```\n"


def make(folder: Path) -> Path:
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        f"---\nname: {folder.name}\ndescription: Counts the words of a text file.\n---\n{BODY}"
    )
    (folder / "scripts" / "count.py").write_text(SCRIPT)
    return folder


def verdict_on(skill: Skill) -> Verdict:
    profile = SkillDeltaProfile(skill.id, (), ())
    return Verdict(skill, Decision.ADMIT, "full", (), skill.findings, (), profile, Coverage())


def test_skill_decision_and_verdict_are_entered_in_that_order(tmp_path: Path) -> None:
    skill = read_registry(make(tmp_path / "words"), staging=tmp_path / "staging").skills[0]
    signed = Finding(skill.id, Layer.CLAIMS, "provenance.signed", "is signed by Example")
    skill = replace(skill, findings=(*skill.findings, signed))
    until = datetime.date(2027, 1, 31)
    mine = Suppression(skill.digest, "claims.install", "known", "kim", until)
    other = Suppression("f" * 64, "claims.install", "known", "lee", until)
    store, by = Store(tmp_path / "s.sqlite"), judge_of("literal 1")
    for _ in range(2):
        record_seen(store.path, (skill,), tmp_path, by=by)
        record_verdicts(
            store,
            [verdict_on(skill)],
            Policy(suppressions=(mine, other)),
            key_of=lambda judged: f"around {judged.name}",
            by=by,
            battery="1",
        )
    with Ledger(store.path) as ledger:
        entries = list(ledger.entries())
        assert ledger.verify().holds
    assert [entry.event for entry in entries] == ["seen", "decision", "verdict", "verdict"]
    seen, decision, verdict, _ = entries
    assert seen.fact("signature") == "is signed by Example"
    assert (decision.fact("by"), decision.fact("reason")) == ("kim", "known")
    assert (verdict.fact("verdict"), verdict.fact("surroundings")) == ("admit", "around words")
    assert "literal 1" in verdict.fact("by")


def test_policies_are_taken_from_the_registry_and_never_from_a_package(tmp_path: Path) -> None:
    skill = make(tmp_path / "skills" / "words")
    for folder in (skill, skill.parent):
        (folder / "conjunct.toml").write_text("")
    registry = skill.parent
    assert beside(VetOptions(path=registry), None, "conjunct.toml") == registry / "conjunct.toml"
    assert beside(VetOptions(path=skill, registry=registry), None, "conjunct.toml") is not None
    assert beside(VetOptions(path=skill), None, "conjunct.toml") is None
    assert beside(VetOptions(path=registry), None, "absent.toml") is None
    given = tmp_path / "mine.toml"
    assert beside(VetOptions(path=skill), given, "conjunct.toml") == given
    assert beside(VetOptions(path=tmp_path / "words.zip"), None, "conjunct.toml") is None


@pytest.mark.world
@pytest.mark.slow
def test_a_vetting_answers_alerts_and_fills_the_ledger(tmp_path: Path) -> None:
    registry = make(tmp_path / "skills" / "words").parent
    (registry / "conjunct.toml").write_text("[policy]\nmost_episodes = 12\n")
    (registry / "conjunct-trust.toml").write_text(
        '[[signer]]\nname = "Example"\nkey = "key.pem"\nrequired = true\n'
    )
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    public = ed25519.Ed25519PrivateKey.generate().public_key()
    (registry / "key.pem").write_bytes(
        public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    results = [
        {
            "ruleId": "R1",
            "message": {"text": "opens a file"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": f"words/{file}"},
                        "region": {"startLine": line},
                    }
                }
            ],
        }
        for file, line in (
            ("SKILL.md", 10),
            ("scripts/count.py", 2),
            ("scripts/count.py", 4),
            ("scripts/absent.py", 1),
        )
    ]
    log = tmp_path / "x.sarif"
    log.write_text(json.dumps({"version": "2.1.0", "runs": [{"results": results}]}))
    store = tmp_path / "s.sqlite"
    report = vet_registry(VetOptions(path=registry, store=store, import_sarif=log, workers=1))
    assert report.alerts is not None
    answers = {one.alert.place(): str(one.answer) for one in report.alerts}
    assert answers["words/scripts/count.py:4"] == "not reached"
    assert answers["words/scripts/absent.py:1"] == "not reached"
    assert answers["words/SKILL.md:10"] == "contradicted"
    assert answers["words/scripts/count.py:2"] == "contradicted"
    (verdict,) = report.verdicts
    codes = {finding.code for finding in verdict.findings}
    assert {"provenance.unsigned", "scanner.contradicted", "scanner.not-reached"} <= codes
    assert verdict.decision is Decision.REVIEW
    with Ledger(store) as ledger:
        assert [entry.event for entry in ledger.entries("words")] == ["seen", "verdict"]
        assert ledger.verdict_on(verdict.skill.digest) is not None
