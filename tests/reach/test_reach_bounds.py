"""Hostile input is normal input: no crash, bounded time, bounded size, whatever the bytes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conjunct.model import Compilation, Declaration, Directive, DirectiveKind, Skill
from conjunct.reach import python
from conjunct.reach.commands import list_command
from conjunct.reach.downloads import Downloads
from conjunct.reach.found import MOST_ACTIONS, Place, Sightings
from conjunct.reach.javascript import read_javascript
from conjunct.reach.package import read_pending
from conjunct.reach.prose import read_directives
from conjunct.reach.python import read_python
from conjunct.reach.resources import classify_host, classify_path, is_registry
from conjunct.reach.shell import read_shell

from .conftest import Reach, shown

SKILL = Skill("s", "s", "s", Path("/nowhere"), "", Declaration("s", "d"), "", 1, ())
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def sightings() -> Sightings:
    return Sightings(SKILL)


def python_like() -> st.SearchStrategy[str]:
    """Programs put together from pieces that the reader has something to say about."""
    piece = st.sampled_from(
        ["import os", "import os as o", "x = y", "y = x + x", "x = [x, x]", "exec(x)", "o.remove(x)",
         "def f(a):", "    f(a)", "f(f)", "if len(x) > 3:", "    open(x, 'w')", "getattr(os, x)(y)",
         "class C:", "    z = f",
         "match x:", "    case 'a': f(x)", "x = f'{x}{y}'", "lambda: f(x)", "[f(i) for i in x]",
         "x['a'] = y"]
    )  # fmt: skip
    return st.lists(piece, max_size=25).map("\n".join)


@QUICK
@given(st.one_of(python_like(), st.text(max_size=300)))
def test_any_python_is_read_without_a_crash(text: str) -> None:
    seen = sightings()
    read_python({"a.py": text, "b.py": "from a import *\nimport a\na.f(a.x)"}, seen)
    read_pending(seen)


@QUICK
@given(st.one_of(st.text(max_size=300), st.text(alphabet="$(){}|;&<>\"'`\\ ab\n=-", max_size=300)))
def test_any_shell_and_javascript_is_read_without_a_crash(text: str) -> None:
    seen = sightings()
    read_shell(text, Place("a.sh", 1, "shell"), seen)
    read_javascript(text, Place("a.js", 1, "javascript"), seen)
    read_pending(seen)


@QUICK
@given(st.lists(st.text(max_size=30), max_size=8))
def test_any_command_line_is_listed_without_a_crash(words: list[str]) -> None:
    for program in ("", "sudo", "pip", "npx", "curl", "git", "uv", "rm", "scp"):
        list_command([program, *words], Place("a", 1, "shell"), sightings(), Downloads())


@QUICK
@given(st.text(max_size=200))
def test_any_path_host_and_address_is_classed(text: str) -> None:
    classify_path(text)
    classify_host(text)
    is_registry(text)


@QUICK
@given(
    st.text(max_size=120),
    st.text(max_size=120),
    st.sampled_from(["send", "read", "write", "delete", "follow"]),
)
def test_any_directive_is_read_without_a_crash(first: str, second: str, verb: str) -> None:
    act = Directive(DirectiveKind.ACT, "SKILL.md", 1, first, verb=verb, object=first, target=second)
    run = Directive(DirectiveKind.RUN, "SKILL.md", 1, first, command=second, language="shell")
    read_directives(Compilation((act, run), 2, 2), sightings())


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("a.py", "(" * 5000 + ")" * 5000),
        ("a.py", "x = " + "[" * 150 + "]" * 150),
        ("a.py", "x = " + "+".join(["1"] * 4000)),
        ("a.py", "a = 'b' * 10 ** 9\nopen(a * 10 ** 9)"),
        ("a.py", "x = [[[i for i in r] for j in r] for k in r]\nr = list('x' * 500)\n" + "open(x)\n" * 50),
        ("a.py", "".join(f"def f{i}(a): f{i + 1}(a + a)\n" for i in range(300)) + "f0('x')\n"),
        ("a.sh", "$(" * 3000 + ")" * 3000),
        ("a.sh", "if true; then\n" * 500 + "fi\n" * 500),
        ("a.sh", "|" * 200_000),
        ("a.sh", ")" * 200_000),
        ("a.sh", "<a>" * 60_000),
        ("a.sh", "\0" * 200_000),
        ("a.ts", "'" * 200_000),
        ("a.sh", "echo '" + "A" * 200_000 + "' | base64 -d | sh\n"),
        ("a.js", "(" * 5000),
        ("a.js", "a+" * 20_000 + "b"),
        ("a.js", "`${" * 2000 + "}`" * 2000),
        ("a.ipynb", "[" * 100_000),
        ("package.json", '{"scripts":' * 20_000),
        (".mcp.json", "[" * 50_000 + "]" * 50_000),
        ("Makefile", "\t" + "$(shell " * 20_000),
        ("a.ps1", "iwr " * 100_000),
    ],
)
def test_deep_and_large_input_is_bounded_in_time(reach: Reach, path: str, content: str) -> None:
    before = time.process_time()
    reach({path: content})
    assert time.process_time() - before < 60.0


def test_a_package_of_many_actions_is_cut_with_a_finding(reach: Reach) -> None:
    found = reach({"a.sh": "#!/bin/sh\n" + "".join(f"rm /etc/f{i}\n" for i in range(MOST_ACTIONS))})
    assert len(found.actions) <= MOST_ACTIONS
    assert [finding.code for finding in found.findings] == ["claims.reach-truncated"]


def test_code_that_quotes_itself_ends(reach: Reach) -> None:
    found = reach({"a.sh": '#!/bin/sh\nX="eval \\"$X\\""\neval "$X"\n'})
    assert found is not None


def test_time_is_linear_in_the_size_of_a_package(reach: Reach) -> None:
    part = "import os\ndef f(a, b):\n    if a in b:\n        os.remove(os.path.join(a, b))\nf('x', 'y')\n"

    def seconds(parts: int) -> float:
        before = time.process_time()
        reach({f"m{index}.py": part * 40 for index in range(parts)})
        return time.process_time() - before

    seconds(2)
    small, large = seconds(10), seconds(80)
    assert large < 8 * max(small, 0.02) * 3


def test_broken_encodings_are_read(reach: Reach) -> None:
    assert ("delete", "/etc/x") in shown(reach({"a.sh": b"#!/bin/sh\n# \xff\xfe\nrm /etc/x\n"}))
    assert ("delete", "/etc/x") in shown(reach({"a.py": b"\xef\xbb\xbfimport os\r\nos.remove('/etc/x')\r\n"}))


def test_files_of_a_large_package_are_read_in_parts_and_none_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = {
        "a.py": "from b import erase\nerase('/home/me/one')\n",
        "b.py": "import os\ndef erase(path):\n    os.remove(path)\n",
    }
    together, apart = sightings(), sightings()
    read_python(files, together)
    monkeypatch.setattr(python, "MOST_TOGETHER", 10)
    read_python(files, apart)
    assert [action.resource for action in together.actions.values()] == ["/home/me/one"]
    assert [(action.file, action.resource) for action in apart.actions.values()] == [("b.py", "*")]


def test_of_many_early_returns_the_innermost_guards_are_kept() -> None:
    seen = sightings()
    tests = "".join(f"    if a == {number}:\n        return\n" for number in range(300))
    read_python({"a.py": f"import os\ndef f(a):\n{tests}    os.remove('/x')\n"}, seen)
    (action,) = seen.actions.values()
    assert [guard.text for guard in action.guards] == [f"not (a == {number})" for number in range(292, 300)]
