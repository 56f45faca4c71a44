"""Alerts of scanners: read from SARIF, matched to skills, answered with what ran."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.errors import UsageError
from conjunct.model import (
    ActionKind,
    Guard,
    Layer,
    ReachableAction,
    ReachSet,
    ResourceClass,
    Severity,
    Skill,
    Violation,
)
from conjunct.provenance.alerts import (
    Answer,
    alert_findings,
    alerts_by_skill,
    answer_alerts,
    left_open,
    summary,
)
from conjunct.provenance.sarif import Alert, parse_sarif, read_sarif
from conjunct.skills import read_registry


def log(*results: dict[str, Any], **run: Any) -> bytes:
    tool = {"driver": {"name": "lint", "rules": run.pop("rules", [])}}
    return json.dumps(
        {"version": "2.1.0", "runs": [{"tool": tool, "results": list(results), **run}]}
    ).encode()


def result(uri: str = "a.py", line: int | None = 3, **more: Any) -> dict[str, Any]:
    region = {"region": {"startLine": line}} if line else {}
    physical = {"artifactLocation": {"uri": uri}, **region}
    return {
        "ruleId": "R1",
        "message": {"text": "sends data"},
        "locations": [{"physicalLocation": physical}],
        **more,
    }


def alert(file: str = "a.py", line: int | None = 3, end: int | None = None) -> Alert:
    return Alert("lint", "R1", "error", "sends data", file, line, end or line)


# ---- reading


def test_a_result_is_an_alert() -> None:
    (one,) = parse_sarif(log(result(level="error")))
    assert one == alert()
    assert one.place() == "a.py:3"


@pytest.mark.parametrize(
    "more",
    [
        {"kind": "pass"},
        {"kind": "notApplicable"},
        {"suppressions": [{"kind": "inSource"}]},
        {"suppressions": [{"kind": "external", "status": "accepted"}]},
    ],
)
def test_what_is_no_alert_is_left_out(more: dict[str, Any]) -> None:
    assert parse_sarif(log(result(**more))) == ()


@pytest.mark.parametrize(
    "more",
    [
        {"kind": "fail"},
        {"kind": "review"},
        {"suppressions": []},
        {"suppressions": [{"kind": "external", "status": "underReview"}]},
        {"suppressions": [{"kind": "inSource"}, {"kind": "external", "status": "rejected"}]},
    ],
)
def test_what_is_an_alert_is_kept(more: dict[str, Any]) -> None:
    assert len(parse_sarif(log(result(**more)))) == 1


def test_rule_level_and_message_come_from_the_rule_where_the_result_has_none() -> None:
    rules = [
        {"id": "R0"},
        {
            "id": "R7",
            "defaultConfiguration": {"level": "note"},
            "messageStrings": {"default": {"text": "from the rule"}},
        },
    ]
    bare = {"ruleIndex": 1, "message": {"id": "default"}, "locations": []}
    (one,) = parse_sarif(log(bare, rules=rules))
    assert (one.rule, one.level, one.message, one.file, one.line) == ("R7", "note", "from the rule", "", None)
    (by_id,) = parse_sarif(log(result(ruleId="R7"), rules=rules))
    assert by_id.level == "note"


@pytest.mark.parametrize(
    ("uri", "file"),
    [
        ("skills/my%20notes/a.py", "skills/my notes/a.py"),
        ("./skills/../skills/a.py", "skills/a.py"),
        ("file:///srv/skills/a.py", "/srv/skills/a.py"),
        ("C:\\\\skills\\\\a.py", "/skills/a.py"),
        ("skills\\\\a.py", "skills/a.py"),
        ("https://example.com/a.py", ""),
        ("http://[bad/a.py", ""),
        ("", ""),
    ],
)
def test_addresses_become_paths(uri: str, file: str) -> None:
    (one,) = parse_sarif(log(result(uri=uri.replace("\\\\", "\\"))))
    assert one.file == file


def test_a_path_is_joined_with_the_base_it_is_relative_to() -> None:
    located = {"uri": "a.py", "uriBaseId": "SKILL"}
    bases = {"SKILL": {"uri": "notes/", "uriBaseId": "ROOT"}, "ROOT": {"uri": "file:///srv/skills/"}}
    one = {**result(), "locations": [{"physicalLocation": {"artifactLocation": located}}]}
    assert parse_sarif(log(one, originalUriBaseIds=bases))[0].file == "/srv/skills/notes/a.py"
    assert parse_sarif(log(one))[0].file == "a.py"
    loop = {"SKILL": {"uri": "x/", "uriBaseId": "SKILL"}}
    assert parse_sarif(log(one, originalUriBaseIds=loop))[0].file.endswith("a.py")
    indexed = {**result(), "locations": [{"physicalLocation": {"artifactLocation": {"index": 0}}}]}
    assert parse_sarif(log(indexed, artifacts=[{"location": {"uri": "b.py"}}]))[0].file == "b.py"


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf" + log(result()), log(result()).decode().encode("utf-16")])
def test_encodings_that_scanners_write_are_read(data: bytes) -> None:
    assert len(parse_sarif(data)) == 1


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "no JSON"),
        (b"[]", "list of runs"),
        (b'{"version": "2.1.0"}', "list of runs"),
        (b'{"version": "1.0.0", "runs": []}', "SARIF '1.0.0'"),
        (b'{"version": "2.1.0", "runs": [3]}', "run 0"),
        (b'{"version": "2.1.0", "runs": [{"results": {}}]}', "run 0"),
        (b"[" * 100_000, "no JSON"),
    ],
)
def test_what_is_no_log_is_told(tmp_path: Path, data: bytes, told: str) -> None:
    path = tmp_path / "x.sarif"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=told) as error:
        read_sarif(path)
    assert str(path) in str(error.value)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--import-sarif"):
        read_sarif(tmp_path / "absent.sarif")


KEYS = [
    *("locations", "physicalLocation", "artifactLocation", "uri", "uriBaseId", "region", "startLine"),
    *("endLine", "message", "text", "ruleId", "ruleIndex", "rule", "index", "suppressions", "kind"),
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=16,
)


@settings(max_examples=150, deadline=None)
@given(json_values, json_values, json_values)
def test_any_run_gives_alerts_or_a_usage_error(results: object, tool: object, bases: object) -> None:
    run = {"results": results, "tool": tool, "originalUriBaseIds": bases, "artifacts": bases}
    data = json.dumps({"version": "2.1.0", "runs": [run]}).encode()
    try:
        alerts = parse_sarif(data)
    except UsageError:
        return
    for one in alerts:
        assert one.line is None or one.line >= 1
        assert one.end_line is None or (one.line is not None and one.end_line >= one.line)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=100))
def test_any_bytes_give_a_usage_error(data: bytes) -> None:
    with pytest.raises(UsageError):
        parse_sarif(data)


# ---- matching


@pytest.fixture
def skills(tmp_path: Path) -> tuple[Skill, ...]:
    for name in ("notes", "notes-plus"):
        folder = tmp_path / "skills" / name / "scripts"
        folder.mkdir(parents=True)
        (folder / "run.py").write_text("print(1)\n")
        (folder.parent / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Notes.\n---\n# Notes\n")
    (tmp_path / "skills" / "notes" / "only.py").write_text("print(2)\n")
    return read_registry(tmp_path / "skills", staging=tmp_path / "staging").skills


@pytest.mark.parametrize(
    ("file", "skill", "path"),
    [
        ("notes/scripts/run.py", "notes", "scripts/run.py"),
        ("skills/notes-plus/scripts/run.py", "notes-plus", "scripts/run.py"),
        ("/elsewhere/checkout/skills/notes/SKILL.md", "notes", "SKILL.md"),
        ("repo/skills/notes/SKILL.md", "notes", "SKILL.md"),
        ("only.py", "notes", "only.py"),
        ("HERE/skills/notes/only.py", "notes", "only.py"),
    ],
)
def test_an_alert_is_on_one_file_of_one_skill(
    skills: tuple[Skill, ...], tmp_path: Path, file: str, skill: str, path: str
) -> None:
    one = alert(file.replace("HERE", str(tmp_path)))
    placed, rest = alerts_by_skill([one], skills)
    assert placed == {skill: {one: path}}
    assert rest == ()


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("scripts/run.py", "several skills"),
        ("otes/scripts/run.py", "no file"),
        ("/elsewhere/only.py", "no file"),
        ("other/notes/more.py", "no file"),
        ("../only.py", "no file"),
        ("", "no file"),
    ],
)
def test_an_alert_on_no_file_or_several_stays_open(skills: tuple[Skill, ...], file: str, told: str) -> None:
    placed, (one,) = alerts_by_skill([alert(file)], skills)
    assert placed == {}
    assert one.answer is Answer.NOT_REACHED
    assert told in one.reason


def test_alerts_on_skills_that_were_not_vetted_stay_open(skills: tuple[Skill, ...]) -> None:
    placed, _ = alerts_by_skill([alert("only.py"), alert("notes-plus/SKILL.md")], skills)
    (one,) = left_open(placed, {"notes-plus"})
    assert (one.skill, one.answer) == ("notes", Answer.NOT_REACHED)


# ---- answering


def reach(*actions: ReachableAction) -> ReachSet:
    return ReachSet("notes", actions, ())


def action(
    line: int = 3,
    kind: ActionKind = ActionKind.SEND,
    resource: str = "https://in.example.net/c",
    file: str = "a.py",
    guard: str = "",
) -> ReachableAction:
    guards = (Guard(guard, line - 1),) if guard else ()
    return ReachableAction(
        "notes", kind, resource, ResourceClass.NETWORK, file, line, "python", guards=guards
    )


def violation(
    resource: str = "in.example.net:443",
    file: str | None = "a.py",
    line: int | None = None,
    actors: tuple[str, ...] = ("notes",),
    effect: str = "sends ~/.aws/credentials to in.example.net:443",
) -> Violation:
    return Violation(
        "leaks.secret-sent", Layer.LEAKS, Severity.REJECT, effect, resource, 3, actors, file, line
    )


def answer(one: Alert, set_: ReachSet, ran: set[tuple[str, int]], *happened: Violation) -> Answer:
    ((given),) = answer_alerts([one], set_, ran, happened)
    assert given.reason
    return given.answer


def test_a_violation_at_the_place_confirms() -> None:
    assert answer(alert(), reach(), set(), violation(line=3)) is Answer.CONFIRMED
    assert answer(alert(line=1, end=9), reach(), set(), violation(line=3)) is Answer.CONFIRMED
    assert answer(alert(line=None), reach(), set(), violation()) is Answer.CONFIRMED


def test_a_violation_elsewhere_or_of_another_skill_does_not_confirm() -> None:
    assert answer(alert(), reach(), set(), violation(line=4)) is Answer.NOT_REACHED
    assert answer(alert(), reach(), set(), violation(file="b.py", line=3)) is Answer.NOT_REACHED
    other = violation(line=3, actors=("tables",))
    assert answer(alert(), reach(), {("a.py", 3)}, other) is Answer.CONTRADICTED


def test_a_violation_without_a_line_confirms_the_line_that_reaches_its_resource() -> None:
    assert answer(alert(), reach(action()), {("a.py", 3)}, violation()) is Answer.CONFIRMED
    elsewhere = action(resource="https://api.example.com/v1")
    assert answer(alert(), reach(elsewhere), {("a.py", 3)}, violation()) is Answer.NOT_REACHED


def test_the_read_that_fed_a_leak_is_confirmed_too() -> None:
    read = action(7, ActionKind.READ, "~/.aws/credentials")
    assert answer(alert(line=7), reach(read), {("a.py", 7)}, violation()) is Answer.CONFIRMED
    other = action(7, ActionKind.READ, "~/.netrc")
    assert answer(alert(line=7), reach(other), {("a.py", 7)}, violation()) is Answer.NOT_REACHED


def test_a_line_whose_resource_is_not_known_is_confirmed_by_kind_if_it_ran() -> None:
    unknown = action(resource="*")
    assert answer(alert(), reach(unknown), {("a.py", 3)}, violation()) is Answer.CONFIRMED
    assert answer(alert(), reach(unknown), {("a.py", 9)}, violation()) is Answer.NOT_REACHED
    write = action(kind=ActionKind.WRITE, resource="*")
    assert answer(alert(), reach(write), {("a.py", 3)}, violation()) is Answer.NOT_REACHED


def test_a_line_that_ran_without_violation_contradicts() -> None:
    assert answer(alert(), reach(action()), {("a.py", 3)}) is Answer.CONTRADICTED
    assert answer(alert(), reach(), {("a.py", 3)}) is Answer.CONTRADICTED


def test_a_line_that_did_not_run_does_not_contradict() -> None:
    shut = action(guard="day == 13")
    (given,) = answer_alerts([alert()], reach(shut), {("a.py", 2), ("b.py", 3)}, ())
    assert given.answer is Answer.NOT_REACHED
    assert "day == 13" in given.reason


def test_a_line_that_ran_only_in_a_forced_copy_is_answered_as_such() -> None:
    shut = reach(action(guard="day == 13"))
    (harmless,) = answer_alerts([alert()], shut, (), (), forced={("a.py", 3): ""})
    assert harmless.answer is Answer.CONTRADICTED
    assert harmless.reason.startswith("forced: ")
    (leaks,) = answer_alerts([alert()], shut, (), (), forced={("a.py", 3): "sends ~/.netrc to x.test:80"})
    assert leaks.answer is Answer.CONFIRMED
    assert leaks.reason.startswith("forced: ")
    (elsewhere,) = answer_alerts([alert()], shut, (), (), forced={("a.py", 9): "", ("b.py", 3): "sends"})
    assert elsewhere.answer is Answer.NOT_REACHED


def test_one_line_that_ran_does_not_answer_for_a_region() -> None:
    set_ = reach(action(3), action(8, guard="day == 13"))
    ran = {("a.py", line) for line in range(1, 8)}
    assert answer(alert(line=1, end=9), set_, ran) is Answer.NOT_REACHED
    assert answer(alert(line=1, end=9), set_, ran | {("a.py", 8)}) is Answer.CONTRADICTED
    assert answer(alert(line=None), set_, ran) is Answer.NOT_REACHED


def test_nothing_is_contradicted_while_a_violation_of_that_file_has_no_line() -> None:
    (given,) = answer_alerts([alert(line=9)], reach(), {("a.py", 9)}, [violation()])
    assert given.answer is Answer.NOT_REACHED
    assert "not known" in given.reason
    assert answer(alert(line=9), reach(), {("a.py", 9)}, violation(file="b.py")) is Answer.CONTRADICTED


def test_the_file_of_the_package_counts_not_that_of_the_scanner() -> None:
    one = alert("skills/notes/a.py")
    (given,) = answer_alerts([one], reach(action()), {("a.py", 3)}, [], file_of={one: "a.py"})
    assert (given.answer, given.file) == (Answer.CONTRADICTED, "a.py")


# ---- telling


def test_the_sentence() -> None:
    contradicted = answer_alerts(
        [alert(line=n) for n in range(1, 10)], reach(), {("a.py", n) for n in range(20)}, ()
    )
    confirmed = answer_alerts(
        [alert(line=30), alert(line=31)], reach(), (), [violation(line=30), violation(line=31)]
    )
    still_open = answer_alerts([alert(line=40)], reach(), (), ())
    told = summary([*contradicted, *confirmed, *still_open])
    assert told == "12 alerts: 9 contradicted, 2 confirmed, 1 open"
    assert summary(still_open) == "1 alert: 0 contradicted, 0 confirmed, 1 open"


def test_answers_block_only_where_the_admission_policy_says_so() -> None:
    from conjunct.gate import Policy

    answered = answer_alerts([alert()], reach(), set(), [violation(line=3)])
    (finding,) = alert_findings(answered)
    assert (finding.code, finding.severity, finding.line) == ("scanner.confirmed", Severity.NOTE, 3)
    assert Policy().severity(finding.code, finding.severity) is Severity.NOTE
    assert Policy(review=("scanner.confirmed",)).severity(finding.code, finding.severity) is Severity.REVIEW
