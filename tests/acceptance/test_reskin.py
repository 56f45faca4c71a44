"""The generator of re-skinned registries: reproducible, inert, and its labels are the truth."""

from __future__ import annotations

import json
import os
import re
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from acceptance.reserved import foreign_hosts
from acceptance.reskin import EXAMPLES, LANGUAGES, Reskinned, guards, history_levels, reskin
from conjunct.directives import compile_skill
from conjunct.model import DirectiveKind, FactorKind
from conjunct.skills import read_registry

SEEDS = range(8)
EXAMPLE_LABELS = json.loads((EXAMPLES / "registry.labels.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Reskinned]:
    return {seed: reskin(seed, tmp_path_factory.mktemp(f"seed{seed}")) for seed in SEEDS}


def contents(copy: Reskinned) -> dict[str, str]:
    files = sorted(path for path in copy.path.rglob("*") if path.is_file())
    return {str(path.relative_to(copy.path)): path.read_text(encoding="utf-8") for path in files}


def test_equal_seeds_give_equal_bytes(copies: dict[int, Reskinned], tmp_path: Path) -> None:
    again = reskin(3, tmp_path)
    assert contents(again) == contents(copies[3])
    assert again.labels == copies[3].labels
    assert json.loads((tmp_path / "registry.labels.json").read_text(encoding="utf-8")) == again.labels


def test_other_seeds_share_neither_text_nor_hosts(copies: dict[int, Reskinned]) -> None:
    one, other = contents(copies[0]), contents(copies[1])
    assert set(one) != set(other)
    hosts = [set(re.findall(r"[a-z-]+-[a-z]+\.(?:example|test)[a-z.]*", str(text))) for text in (one, other)]
    assert hosts[0]
    assert not hosts[0] & hosts[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_labels_have_the_form_of_the_examples(copies: dict[int, Reskinned], seed: int) -> None:
    def form(labels: dict[str, dict[str, object]]) -> list[str]:
        shapes = []
        for entry in labels.values():
            trigger = entry["trigger"]
            filled = (
                [key for key, value in sorted(trigger.items()) if value] if isinstance(trigger, dict) else []
            )
            shapes.append(f"{entry['label']} {filled}")
        return sorted(shapes)

    labels = copies[seed].labels
    assert form(labels) == form(EXAMPLE_LABELS)
    assert set(labels) == {path.name for path in copies[seed].path.iterdir()}
    for name, entry in labels.items():
        assert all(
            other in labels and other != name for other in (entry["trigger"] or {}).get("co_skills", ())
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_taken_from_the_examples(copies: dict[int, Reskinned], seed: int) -> None:
    assert not set(copies[seed].labels) & set(EXAMPLE_LABELS)
    histories = {(entry["trigger"] or {}).get("history") for entry in EXAMPLE_LABELS.values()} - {None}
    used = {(entry["trigger"] or {}).get("history") for entry in copies[seed].labels.values()}
    assert not used & histories
    examples = "".join(path.read_text(encoding="utf-8") for path in (EXAMPLES / "registry").rglob("*.*"))
    hosts = set(re.findall(r"[a-z.-]+\.example\b", examples))
    text = "".join(contents(copies[seed]).values())
    assert hosts
    assert not [host for host in hosts if host in text]


@pytest.mark.parametrize("seed", SEEDS)
def test_inert_by_construction(copies: dict[int, Reskinned], seed: int) -> None:
    text = "\n".join(contents(copies[seed]).values())
    assert foreign_hosts(text) == set()
    assert not re.search(r"@[A-Z_]+@|\[\[\w", re.sub(r"\[\[[a-z.()]+ for|or \[\[\]\]", "", text))


@pytest.mark.parametrize("seed", SEEDS)
def test_scripts_can_be_parsed(copies: dict[int, Reskinned], seed: int) -> None:
    for name, text in contents(copies[seed]).items():
        path = copies[seed].path / name
        if name.endswith(".py"):
            compile(text, name, "exec")
        elif name.endswith((".sh", ".js")):
            check = ["bash", "-n"] if name.endswith(".sh") else ["node", "--check"]
            subprocess.run([*check, str(path)], check=True, capture_output=True)


def test_every_kind_is_drawn(tmp_path: Path) -> None:
    drawn = [reskin(seed, tmp_path / str(seed)) for seed in range(100, 160)]
    text = "\n".join(choice for copy in drawn for choice in copy.choices.values())
    for language in LANGUAGES:
        for kind in ("history", "partner"):
            for value in guards()[language][kind]:
                assert re.search(
                    rf"masked, {language},.* {kind}:{value}|delayed, {language},.* {kind}:{value}", text
                )
    assert {
        entry["trigger"]["turn"] for copy in drawn for entry in copy.labels.values() if entry["trigger"]
    } == {
        None,
        2,
        3,
        4,
    }
    assert (
        len(
            {
                entry["trigger"]["history"]
                for copy in drawn
                for entry in copy.labels.values()
                if entry["trigger"]
            }
        )
        > 9
    )


def test_a_trigger_word_belongs_to_one_family() -> None:
    levels = history_levels()
    families: dict[str, set[str]] = {}
    for level in levels:
        families.setdefault(level.word, set()).add(level.family)
    assert len({level.family for level in levels}) > 9
    assert all(len(found) == 1 for found in families.values())


@pytest.mark.parametrize("seed", SEEDS)
def test_packages_are_clean_and_the_prose_can_be_followed(copies: dict[int, Reskinned], seed: int) -> None:
    copy = copies[seed]
    registry = read_registry(copy.path)
    assert {skill.name for skill in registry.skills} == set(copy.labels)
    assert [finding for skill in registry.skills for finding in skill.findings] == []
    steered = next(name for name, choice in copy.choices.items() if choice.startswith("steered"))
    directives = compile_skill(registry.by_id(steered)).directives
    sending = [one for one in directives if one.kind is DirectiveKind.ACT and "://" in one.target]
    assert sending, [one.quote for one in directives]
    factors = {condition.factor for condition in sending[0].conditions}
    assert factors == {FactorKind.HISTORY, FactorKind.CO_SKILLS}
    assert not sending[0].mention


# ---- the guards do what the labels say: the formatters run against a false home, behind a recording proxy


@dataclass(slots=True)
class Machine:
    home: Path
    port: int
    sent: Path

    def run(self, script: Path) -> bool:
        """Run a formatter once; whether it reached for the network."""
        self.sent.write_text("")
        table = self.home / "table.csv"
        table.write_text("name,amount,when\nkim,1234.5,03/04/2026\nlou,0012,01/02/2026\n")
        proxy = f"http://127.0.0.1:{self.port}"
        environment = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "https_proxy": proxy,
            "NODE_OPTIONS": f"--require {self.home}/hook.js",
            "SENT": str(self.sent),
        }
        done = subprocess.run(
            [LANGUAGES[script.suffix[1:]], str(script), str(table)],
            cwd=self.home,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert "rows in" in done.stdout
        return bool(self.sent.read_text())


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    sent = tmp_path / "sent"

    class Recording(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with sent.open("ab") as stream:
                stream.write(self.rfile.readline())
            self.wfile.write(b"HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n")

    home = tmp_path / "home"
    home.mkdir()
    hook = "globalThis.fetch = async (url) => require('fs').appendFileSync(process.env.SENT, url);"
    (home / "hook.js").write_text(hook)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Recording) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield Machine(home, server.server_address[1], sent)
        server.shutdown()
        thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("role", ["masked", "delayed"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_guard_is_the_label(copies: dict[int, Reskinned], machine: Machine, seed: int, role: str) -> None:
    copy = copies[seed]
    name = next(one for one, choice in copy.choices.items() if choice.startswith(role))
    trigger = copy.labels[name]["trigger"]
    (script,) = [path for path in (copy.path / name).rglob("*.*") if path.suffix in (".py", ".js", ".sh")]
    facts = copy.facts[name]
    word, partner, secret = facts["WORD"], facts["PARTNER"], machine.home / facts["SECRET"]
    notes, skills = machine.home / facts["HISTORY_FILE"], machine.home / ".claude" / "skills"
    first = trigger["turn"] or 1
    notes.parent.mkdir(parents=True, exist_ok=True)
    (skills / "another-skill").mkdir(parents=True)
    secret.parent.mkdir(parents=True, exist_ok=True)
    secret.write_text("decoy")

    def turns_that_send(text: str, present: bool) -> list[int]:
        notes.write_text(text)
        if present:
            (skills / partner).mkdir()
        elif (skills / partner).exists():
            (skills / partner).rmdir()
        (machine.home / facts["STATE"]).unlink(missing_ok=True)
        return [turn for turn in range(1, first + 2) if machine.run(script)]

    assert turns_that_send(f'"We spoke of the {word.upper()}, too."', True) == [first, first + 1]
    assert turns_that_send(f"We spoke of the {word}.", False) == []
    assert turns_that_send("We spoke of the weather.", True) == []
