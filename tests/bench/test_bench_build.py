"""Built registries: the same bytes for the same parameters, twins that differ in the payload only."""

from __future__ import annotations

import ast
import difflib
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conjunct.agent import documented_calls
from conjunct.battery import load_battery
from conjunct.bench.blueprints import table
from conjunct.bench.build import Built, build_registry, labels_path, make_registry, twins_path
from conjunct.bench.levels import CLOCKS, levels_of, topics
from conjunct.bench.parameters import BuildParameters, parameters_of
from conjunct.bench.truth import ADVERSARIAL, UNSAFE, read_truth
from conjunct.directives import compile_skill
from conjunct.errors import UsageError
from conjunct.model import NEUTRAL
from conjunct.skills import read_registry

BATTERY = load_battery()


def built(**given: object) -> Built:
    return make_registry(parameters_of(**given), battery=BATTERY)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def harder() -> Built:
    return built(mix="harder", skills=60, adversaries=20, seed=3)


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode & 0o777)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_same_parameters_give_the_same_bytes(tmp_path: Path) -> None:
    parameters = parameters_of(skills=20, seed=5)
    for name in ("one", "two"):
        build_registry(parameters, tmp_path / name)
    assert tree(tmp_path / "one") == tree(tmp_path / "two")
    assert tree(twins_path(tmp_path / "one")) == tree(twins_path(tmp_path / "two"))
    assert labels_path(tmp_path / "one").read_bytes() == labels_path(tmp_path / "two").read_bytes()


def test_another_seed_gives_other_packages() -> None:
    assert built(skills=20, seed=5).packages != built(skills=20, seed=6).packages


def test_the_truth_is_never_written_into_the_registry(tmp_path: Path) -> None:
    folder = tmp_path / "registry"
    build_registry(parameters_of(skills=12), folder)
    assert all(name.endswith(("SKILL.md", ".py", ".sh", "background.md")) for name in tree(folder))
    for inside in (folder / "labels.json", folder / "deep" / "labels.json", folder):
        with pytest.raises(UsageError, match="must not lie inside"):
            build_registry(parameters_of(skills=12), folder, labels=inside, force=True)


def test_nothing_of_the_label_shows_in_the_text(harder: Built) -> None:
    for files in harder.packages.values():
        text = b"\n".join(files.values()).decode().lower()
        assert not re.search(r"adversar|benign|payload|malicious|sibling|twin|trigger", text)


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine")
    with pytest.raises(UsageError, match="--force"):
        build_registry(parameters_of(skills=12), tmp_path)
    assert (tmp_path / "kept").read_text() == "mine"


def test_the_truth_can_be_read_back(tmp_path: Path) -> None:
    made = build_registry(parameters_of("harder", skills=30, seed=1), tmp_path / "registry")
    again = read_truth(labels_path(tmp_path / "registry"))
    assert again.skills == made.truth.skills
    assert again.in_band == made.truth.in_band
    assert parameters_of(**dict(again.parameters)).told() == dict(again.parameters)


def test_a_twin_differs_from_its_adversary_in_the_payload_alone(harder: Built) -> None:
    words = {
        text.strip() for one in table("payloads").values() for form in one.values() for text in lines_of(form)
    }
    assert set(harder.twins) == set(harder.truth.adversaries)
    for name, twin in harder.twins.items():
        adversary = harder.packages[name]
        assert set(twin) == set(adversary)
        different = [path for path in twin if twin[path] != adversary[path]]
        assert len(different) == 1, name
        old, new = (files[different[0]].decode().splitlines() for files in (adversary, twin))
        matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
        changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
        assert changed
        if different[0] != "SKILL.md" and harder.truth.skills[name].payload != "carry":
            first, last = changed[0], changed[-1]
            for line in old[first[1] : last[2]] + new[first[3] : last[4]]:
                assert any(fits(line.strip(), form) for form in words), (name, line)


def lines_of(form: object) -> list[str]:
    if isinstance(form, dict):
        return [line for text in form.values() for line in lines_of(text)]
    return str(form).splitlines() if isinstance(form, str) else []


def fits(line: str, form: str) -> bool:
    return (
        re.fullmatch(r".+?".join(map(re.escape, re.split(r"@[A-Z_]+@", form))), line) is not None
        or line in form
    )


def test_what_an_adversary_does_some_benign_skill_does_as_declared(harder: Built) -> None:
    there = {one.family for one in harder.truth.skills.values() if not one.harmful}
    for name in harder.truth.adversaries:
        payload = harder.truth.skills[name].payload
        doers = {"index", "metrics"} if payload == "carry" else set(table("payloads")[payload]["doers"])
        assert doers <= there, name
    assert {"memory", "catalogue", "seen"} <= there


def test_what_an_adversary_declares_is_part_of_what_a_neighbour_declares(harder: Built) -> None:
    described = {
        name: files["SKILL.md"].decode().split("\n---")[0] for name, files in harder.packages.items()
    }
    for name in harder.truth.adversaries:
        one = harder.truth.skills[name]
        operations = table("operations").get(one.family)
        if operations is None:
            continue
        own = [o["noun"] for o in operations["operations"].values() if o["noun"] in described[name].lower()]
        masks = [
            other
            for other, truth in harder.truth.skills.items()
            if not truth.harmful
            and all(noun in described[other] for noun in own)
            and other != name
            and sum(o["noun"] in described[other] for o in operations["operations"].values()) > len(own)
        ]
        assert own and masks, name


def test_the_reference_batch_has_the_numbers_of_the_reference() -> None:
    made = built(skills=1200, seed=1)
    truth = made.truth
    assert len(made.packages) == 1200
    assert len(truth.in_band) == 47
    assert len(truth.adversaries) == 6
    assert set(truth.adversaries) < set(truth.in_band)
    assert sorted((truth.skills[n].trigger.turn or 1) for n in truth.adversaries) == [1, 1, 1, 1, 3, 3]  # type: ignore[union-attr]
    for name in truth.adversaries:
        trigger = truth.skills[name].trigger
        assert trigger is not None and trigger.history and len(trigger.co_skills) == 1
    for name, one in truth.skills.items():
        inside = all(abs(delta) < truth.band for delta in one.single_probe_deltas)
        assert inside == one.in_band, name
    assert len(truth.probes) == len(BATTERY.probes)
    languages = {one.language for one in truth.skills.values()}
    assert languages == {"python", "shell", "prose"}


def test_triggers_and_partners_are_real(harder: Built) -> None:
    families = {history.id for history in BATTERY.histories} - {NEUTRAL}
    for name in harder.truth.adversaries:
        trigger = harder.truth.skills[name].trigger
        assert trigger is not None
        assert trigger.order >= 1
        assert trigger.history is None or trigger.history in families
        for other in (*trigger.co_skills, *trigger.suppressors):
            assert other in harder.packages and other != name
            if not trigger.split:
                assert not harder.truth.skills[other].harmful
        assert not set(trigger.co_skills) & set(trigger.suppressors)


def test_the_other_half_of_a_split_trigger_leaves_what_the_sender_takes() -> None:
    made = built(mix="harder", skills=30, adversaries=6, split=1.0, orders=(1, 2), seed=4)
    writers = [name for name, one in made.truth.skills.items() if one.role == "writer"]
    assert writers
    for writer in writers:
        one = made.truth.skills[writer]
        texts = [b"\n".join(made.packages[name].values()).decode() for name in (writer, one.partner)]
        left = re.search(r"(\.[\w./-]+/(?:index|entries|parts|terms)\.json)", texts[0])
        assert left and left[1] in texts[1]
        sender = made.truth.skills[one.partner]
        assert one.trigger and sender.trigger
        assert (one.trigger.co_skills, sender.trigger.co_skills) == ((one.partner,), (writer,))
        assert one.trigger.history == sender.trigger.history


def test_a_digest_hides_what_a_guard_compares_with() -> None:
    made = built(
        mix="harder",
        skills=30,
        adversaries=8,
        hashed=1.0,
        prose=0.0,
        split=0.0,
        orders=(2, 3),
        clock=0.0,
        arguments=0.0,
        suppressed=0.0,
        seed=2,
    )
    for name in made.truth.adversaries:
        trigger = made.truth.skills[name].trigger
        text = b"\n".join(made.packages[name].values()).decode()
        assert trigger is not None and trigger.hashed
        assert not any(partner in text for partner in trigger.co_skills)


def test_words_of_guards_are_the_benchmarks_own_and_stand_in_one_family() -> None:
    levels = levels_of(BATTERY, spoken="")
    own = {word for group in topics()["histories"].values() for word in group}
    assert {one.word for one in levels.histories} < own
    assert len({one.family for one in levels.histories}) > 9
    assert levels.unmet and not {one.word for one in levels.unmet} & {one.word for one in levels.histories}
    assert set(levels.clocks) == set(CLOCKS)


def test_a_word_that_stands_in_a_package_is_no_guards_word() -> None:
    word = levels_of(BATTERY, spoken="").histories[0].word
    assert word not in {one.word for one in levels_of(BATTERY, spoken=f"We bake {word} bread.").histories}


def test_a_blind_spot_is_labelled_as_one() -> None:
    made = built(
        mix="harder", skills=30, adversaries=8, outside=1.0, orders=(2,), split=0.0, clock=0.0, arguments=0.0
    )
    triggers = [made.truth.skills[name].trigger for name in made.truth.adversaries]
    assert triggers and not any(trigger.reachable for trigger in triggers if trigger)


def test_scripts_are_programs(harder: Built, tmp_path: Path) -> None:
    shells = []
    for name, files in (*harder.packages.items(), *harder.twins.items()):
        for path, content in files.items():
            assert not re.search(r"@[A-Z_]+@|\[\[", content.decode()), (name, path)
            if path.endswith(".py"):
                ast.parse(content)
                (tmp_path / f"{name}-{len(list(tmp_path.iterdir()))}.py").write_bytes(content)
            elif path.endswith(".sh"):
                (tmp_path / f"{len(shells)}.sh").write_bytes(content)
                shells.append(tmp_path / f"{len(shells)}.sh")
    ruff = Path(sys.executable).with_name("ruff")
    undefined = [str(ruff), "check", "--isolated", "--no-cache", "--select", "F821,F811,E9", str(tmp_path)]
    done = subprocess.run(undefined, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    checks = [subprocess.run(["bash", "-n", shell], capture_output=True, text=True) for shell in shells]
    assert [check.stderr for check in checks if check.returncode] == []


def test_packages_are_read_without_a_finding_and_document_few_commands(tmp_path: Path) -> None:
    build_registry(parameters_of("harder", skills=60, seed=8), tmp_path / "registry")
    registry = read_registry(tmp_path / "registry", staging=tmp_path / "staging")
    assert len(registry.skills) == 60
    assert [finding for skill in registry.skills for finding in skill.findings] == []
    calls = [len(documented_calls(skill, compile_skill(skill))) for skill in registry.skills]
    assert statistics.median(calls) <= 3
    assert max(calls) <= 6


PARAMETERS = st.builds(
    dict,
    mix=st.sampled_from(["reference", "harder"]),
    skills=st.integers(12, 60),
    seed=st.integers(0, 2**32),
    orders=st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple),
    turns=st.lists(st.integers(1, 6), min_size=1, max_size=6).map(tuple),
    **{
        name: st.sampled_from([0.0, 0.5, 1.0])
        for name in ("clock", "arguments", "split", "hashed", "suppressed", "prose", "unsafe", "guarded")
    },
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(asked=PARAMETERS)
def test_any_parameters_give_a_registry_that_keeps_its_promises(asked: dict[str, object]) -> None:
    parameters = parameters_of(**asked)  # type: ignore[arg-type]
    made = make_registry(parameters, battery=BATTERY)
    truth = made.truth
    assert len(made.packages) == parameters.skills
    assert len(truth.adversaries) == parameters.adversaries
    assert len(truth.in_band) <= parameters.band
    assert set(truth.adversaries) <= set(truth.in_band)
    for name in truth.adversaries:
        one = truth.skills[name]
        assert one.trigger is not None and one.label == ADVERSARIAL
        wanted = parameters.orders
        assert one.trigger.order in wanted or one.trigger.split, (one.trigger, wanted)
        assert (one.trigger.turn or 1) in parameters.turns or one.trigger.split
    for one in truth.skills.values():
        assert one.label != UNSAFE or not one.in_band


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"skills": 3}, "skills is 3, but must be at least 12"),
        ({"skills": 12, "adversaries": 9}, "adversaries is 9"),
        ({"skills": 100, "band": 3}, "band is 3"),
        ({"skills": 20, "orders": (5,)}, "orders"),
        ({"skills": 20, "turns": (0,)}, "turns"),
        ({"skills": 20, "hashed": 1.5}, "hashed is 1.5, but must be a share from 0 to 1"),
        ({"mix": "soft"}, "unknown mix 'soft'"),
        ({"colour": "red"}, "unknown parameter 'colour'"),
    ],
)
def test_what_cannot_be_built_is_told(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError, match=re.escape(told)):
        parameters_of(**wrong)  # type: ignore[arg-type]


def test_parameters_are_told_as_json_holds_them() -> None:
    parameters = BuildParameters(skills=20, band=12, adversaries=2)
    assert json.loads(json.dumps(parameters.told())) == parameters.told()
