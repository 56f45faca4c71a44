"""Every command that README and docs show is run as shown; `make` targets are looked up."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from acceptance.vetting import EXAMPLES, copy_of_store, once, vet

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
TINY = ("meeting-notes", "json-tidy")
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SUBSTITUTED = re.compile(r"(?<![\w./-])(?:~/\.claude/skills|skills)(?![\w-])(?=/|\s|$)")
# A vet may well find something, and says so; everything else has to end well.
MAY_FIND = re.compile(r"(?:\.venv/bin/)?conjunct vet\b")


def commands(document: Path) -> list[str]:
    """The lines after `$ ` in the console blocks, continued lines joined."""
    blocks = _BLOCK.findall(document.read_text(encoding="utf-8"))
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [" ".join(line[2:].split()) for line in lines if line.startswith("$ ")]


SHOWN = {document: commands(document) for document in DOCUMENTS}


def runnable(document: Path) -> list[str]:
    return [command for command in SHOWN[document] if not command.startswith("make ")]


def test_there_is_something_to_check() -> None:
    assert sum(len(found) for found in SHOWN.values()) > 4
    assert any(command.startswith("make ") for command in SHOWN[ROOT / "README.md"])


@pytest.mark.parametrize(
    ("document", "command"),
    [(document, command) for document, found in SHOWN.items() for command in found if command[:5] == "make "],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_make_target_exists(document: Path, command: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    named = [word for word in shlex.split(command)[1:] if "=" not in word]
    assert named, f"{document.name}: {command}"
    assert set(named) <= targets


def commit(folder: Path, *more: list[str]) -> None:
    """Make `folder` a git repository with everything in it committed."""
    identity = ["-c", "user.name=kim", "-c", "user.email=kim@example.org"]
    steps = [["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "registry"], *more]
    for words in steps:
        subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository root, rebuilt of links and a copy of the examples: what commands write stays there.

    Its store knows the runs of the examples already, so that each page does not make them all again.
    """
    folder = tmp_path_factory.mktemp("root")
    shutil.copytree(ROOT / "examples", folder / "examples")
    commit(folder)
    for entry in ROOT.iterdir():
        if entry.name not in (".conjunct", ".git", "examples"):
            (folder / entry.name).symlink_to(entry)
    known = once(tmp_path_factory, "examples", lambda at: vet(EXAMPLES, at / "runs.sqlite"))
    (folder / ".conjunct").mkdir()
    copy_of_store(known.store, folder / ".conjunct" / "runs.sqlite")
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small registry in a git repository that knows `origin/main`; one skill changed since."""
    folder = tmp_path_factory.mktemp("tiny")
    for name in TINY:
        shutil.copytree(ROOT / "examples" / "registry" / name, folder / "skills" / name)
    commit(folder, ["update-ref", "refs/remotes/origin/main", "HEAD"])
    with (folder / "skills" / TINY[0] / "SKILL.md").open("a", encoding="utf-8") as stream:
        stream.write("\nKeep the minutes short.\n")
    return folder / "skills"


@pytest.mark.world
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "document", [one for one in DOCUMENTS if runnable(one)], ids=lambda document: document.name
)
def test_commands_do_what_the_page_says(document: Path, place: Path, tiny: Path) -> None:
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": os.environ.get("HOME", "/"),
        "LANG": "C.UTF-8",
    }
    for command in runnable(document):
        text = _SUBSTITUTED.sub(str(tiny), command)
        done = subprocess.run(
            ["bash", "-c", text],
            cwd=place,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        told = f"{document.name}: $ {command}\nstatus {done.returncode}\n{done.stdout}{done.stderr}"
        assert done.returncode in ((0, 1) if MAY_FIND.match(command) else (0,)), told
        assert "Traceback" not in done.stderr, told


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("conjunct vet ~/.claude/skills", "conjunct vet TINY"),
        (
            "conjunct vet --registry skills --changed origin/main",
            "conjunct vet --registry TINY --changed origin/main",
        ),
        ("conjunct vet skills/one", "conjunct vet TINY/one"),
        ("conjunct vet examples/registry", "conjunct vet examples/registry"),
        ("conjunct vet my-skills", "conjunct vet my-skills"),
        ("conjunct explain skills-lister", "conjunct explain skills-lister"),
    ],
)
def test_only_the_readers_own_skills_are_substituted(command: str, expected: str) -> None:
    assert _SUBSTITUTED.sub("TINY", command) == expected
