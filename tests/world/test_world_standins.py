"""Stand-ins record what they were asked, answer like the real thing, and hide nothing that exists."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from conjunct.world import standins
from conjunct.world.spec import WorldSpec
from conjunct.world.standins import Records, collect, configuration, extra_program, world_files


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An installed set of stand-ins whose fixed paths lie below `tmp_path`."""
    (tmp_path / "python").mkdir()
    standins.install(tmp_path)
    for name in ("python/_stand_ins.py", "stand-ins/.stand-in"):
        file = tmp_path / name
        text = file.read_text("utf-8").replace('"/run/stand-ins"', repr(str(tmp_path / "records")))
        file.write_text(text.replace('"/etc/stand-ins.json"', repr(str(tmp_path / "configuration"))), "utf-8")
    return tmp_path


def call(place: Path, argv: Sequence[str], data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    argv = [str(place / "stand-ins" / argv[0]), *argv[1:]]
    return subprocess.run(argv, input=data, capture_output=True, cwd=place, check=False, timeout=20)


def python(place: Path, code: str, *, modules: Sequence[str] = (), coverage: str = "") -> str:
    content = configuration(modules=modules, coverage=coverage)
    if content is not None:
        (place / "configuration").write_bytes(content)
    environment = {**os.environ, "PYTHONPATH": str(place / "python")}
    environment.pop("COVERAGE_PROCESS_START", None)
    script = place / "main.py"
    script.write_text(code, "utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, cwd=place, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_program_answers_as_when_not_logged_in_and_records_the_call(place: Path) -> None:
    done = call(place, ["gh", "pr", "create", "--title", "x"], b"body")
    assert done.returncode == 4
    assert b"gh auth login" in done.stderr
    (one,) = collect(place / "records").calls
    assert (one.kind, one.name, one.stand_in, one.status) == ("program", "gh", "gh", 4)
    assert one.argv == ("gh", "pr", "create", "--title", "x")
    assert one.stdin == b"body"
    assert ("PATH", os.environ["PATH"]) in one.environment
    assert one.cwd == str(place)


def test_every_program_says_a_version_and_records(place: Path) -> None:
    names = standins.program_names()
    assert {"gh", "aws", "docker", "kubectl", "terraform", "npx", "uv", "open", "sudo"} <= set(names)
    for name in ("gh", "ffmpeg", "cargo", "brew"):
        assert call(place, [name, "--version"]).stdout
    assert len(collect(place / "records").calls) == 4


def test_sudo_runs_what_it_was_given(place: Path) -> None:
    assert call(place, ["sudo", "-u", "root", "echo", "hello"]).stdout == b"hello\n"
    assert call(place, ["sudo", "no-such-program-here"]).returncode == 127


def test_uv_runs_scripts_and_a_converter_leaves_a_file(place: Path) -> None:
    (place / "a.py").write_text("print('ran')")
    assert call(place, ["uv", "run", "--with", "requests", "a.py"]).stdout == b"ran\n"
    assert call(place, ["ffmpeg", "-i", "in.wav", "out.mp3"]).returncode == 0
    assert (place / "out.mp3").exists()
    call(place, ["ffmpeg", "-i", "in.wav", "a.py"])
    assert (place / "a.py").read_text() == "print('ran')"


def test_a_program_does_not_wait_for_input_that_never_ends(place: Path) -> None:
    reader, writer = os.pipe()
    try:
        argv = [str(place / "stand-ins" / "docker"), "ps"]
        done = subprocess.run(argv, stdin=reader, capture_output=True, check=False, timeout=5)
    finally:
        os.close(reader)
        os.close(writer)
    assert done.returncode == 1


def test_one_more_program_is_recorded_under_its_own_name(place: Path) -> None:
    script = place / "frobnicate"
    text = extra_program("frobnicate").decode().replace("/usr/local/games", str(place / "stand-ins"))
    script.write_text(text)
    script.chmod(0o755)
    subprocess.run([str(script), "--all"], check=True, stdin=subprocess.DEVNULL)
    (one,) = collect(place / "records").calls
    assert one.argv == ("frobnicate", "--all")
    with pytest.raises(ValueError, match="no name"):
        extra_program("../x")


def test_a_missing_module_is_stood_in_for_and_its_use_recorded(place: Path) -> None:
    code = """
import nowhere.deep as deep
from nowhere import Client, NowhereError
class Model(deep.nn.Module):
    def __init__(self):
        super().__init__()
try:
    with Client(token="tok") as client:
        for row in client.rows().all():
            pass
        Model()
except NowhereError:
    pass
@deep.task
def job():
    return 5
print(job(), f"{client.name:>3}", int(client.x), len(client.y))
"""
    assert python(place, code, modules=["nowhere"]) == "5 value 1 0\n"
    calls = collect(place / "records").calls
    assert {one.stand_in for one in calls} == {"nowhere"}
    assert {one.what for one in calls} >= {"import", "get Client", "call Client"}
    assert any("tok" in one.arguments for one in calls)


def test_a_module_that_exists_or_was_not_named_is_not_touched(place: Path) -> None:
    (place / "beside.py").write_text("WHO = 'the package itself'")
    code = """
import beside, json
print(beside.WHO, json.dumps([1]))
try:
    import unnamed
except ImportError as error:
    print(type(error).__name__)
"""
    expected = "the package itself [1]\nModuleNotFoundError\n"
    assert python(place, code, modules=["beside", "json", "nowhere"]) == expected
    assert collect(place / "records") == Records()


def test_without_configuration_nothing_is_changed(place: Path) -> None:
    code = "import sys; print(sys.gettrace(), [f for f in sys.meta_path if 'stand' in repr(f).lower()])"
    assert python(place, code) == "None []\n"
    assert configuration() is None
    assert world_files(WorldSpec()) == ()
    ((path, content),) = world_files(WorldSpec(coverage=True))
    assert path == "etc/stand-ins.json"
    assert json.loads(content)["coverage"] == "/home/sam/.claude/skills/"


def test_lines_are_recorded_for_the_skills_only_even_of_a_program_that_is_killed(place: Path) -> None:
    skill = place / "skills" / "one"
    skill.mkdir(parents=True)
    (skill / "tool.py").write_text(
        "import os\ndef never():\n    return 1\ndef used():\n    return 2\nused()\nos.kill(os.getpid(), 9)\n"
    )
    (place / "other.py").write_text("x = 1\n")
    code = f"""
import subprocess, sys, other
sys.path.insert(0, {str(skill)!r})
subprocess.run([sys.executable, {str(skill / "tool.py")!r}])
"""
    python(place, code, coverage=str(place / "skills"))
    records = collect(place / "records")
    assert records.complete
    ((file, lines),) = records.lines
    assert file == str(skill / "tool.py")
    assert lines == (1, 2, 4, 5, 6, 7)


def test_collecting_empties_the_folder_and_survives_what_a_hostile_program_leaves(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "program.1.0")
    (tmp_path / "program.2.0").symlink_to("/etc/passwd")
    (tmp_path / "program.3.0").write_text("[" * 100_000 + "\n{}\nnot json\n" + '{"kind": "program"}\n')
    (tmp_path / "lines.1.0").write_bytes(b"\xff/x\t3\nnonsense\n/y\t99999999999\n")
    (tmp_path / "folder").mkdir()
    records = collect(tmp_path)
    assert records.calls == ()
    assert not records.complete
    assert [lines for _, lines in records.lines] == [(3,)]
    assert collect(tmp_path / "absent") == Records()
    (tmp_path / "program.2.0").unlink(missing_ok=True)
    assert not (tmp_path / "program.3.0").exists()
