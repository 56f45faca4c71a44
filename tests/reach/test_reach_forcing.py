"""A forced copy reaches the line, keeps every line in place, stays a program; hostile text is bounded."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.reach.forcing import Edit, Forcing, NotForced, compatible, forced_files, joined, normalised
from conjunct.reach.forcing_javascript import JavaScriptSources
from conjunct.reach.forcing_python import PythonSources
from conjunct.reach.forcing_shell import ShellSources

RAN = {("a.py", 1)}


def forced(text: str, line: int, *, ran: set[tuple[str, int]] = RAN, stuck: tuple[int, ...] = ()) -> str:
    found = PythonSources({"a.py": text}).force(("a.py", line), ran, stuck=[("a.py", s) for s in stuck])
    assert isinstance(found, Forcing), found
    return forced_files({"a.py": text}, found.edits).get("a.py", text)


def runs(text: str) -> str:
    """What a program prints."""
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=20, check=False
    )
    return done.stdout


GUARDS = {
    "if": "import os\nif os.getpid() == -1:\n    print('hit')\n",
    "else": "import os\nif os.getpid():\n    print('no')\nelse:\n    print('hit')\n",
    "elif": "import os\nif os.getpid():\n    print('no')\nelif 0:\n    print('hit')\n",
    "one line": "import os\nif os.getpid() == -1: print('hit')\n",
    "several lines": "import os\nif (os.getpid() ==\n        -1):\n    print('hit')\n",
    "while": "import os\nwhile os.getpid() == -1:\n    print('hit')\n",
    "and": "import os\nos.getpid() == -1 and print('hit')\n",
    "or": "import os\nos.getpid() or print('hit')\n",
    "conditional": "import os\nx = print('hit') if os.getpid() == -1 else 0\n",
    "comprehension": "import os\nx = [print('hit') for c in 'a' if c == 'b']\n",
    "match": "import os\nmatch os.getpid():\n    case 0: pass\n    case -1:\n        print('hit')\n",
    "match over lines": "import os\nmatch os.getpid():\n    case [0,\n          1]:\n        print('hit')\n",
    "except": "import os\ntry:\n    os.getpid()\nexcept ValueError as e:\n    print('hit')\n",
    "except with arguments": "import json\ntry:\n    x = 1\nexcept json.JSONDecodeError:\n    print('hit')\n",
    "return before": "import os\ndef f():\n    if os.getpid():\n        return 1\n    print('hit')\nf()\n",
    "raise before": "def f(x):\n    if x:\n        raise OSError(\n            x)\n    print('hit')\nf(1)\n",
    "exit before": "import sys\nsys.exit(\n  0)\nprint('hit')\n",
    "assert before": "import os\nassert os.getpid() == -1\nprint('hit')\n",
    "continue before": "import os\nfor x in 'ab':\n    if x:\n        continue\n    print('hit')\n",
    "never called": "import os\ndef f():\n    print('hit')\nif os.getpid() == -1:\n    f()\n",
    "nested function": (
        "import os\ndef f():\n  def g():\n    print('hit')\n  if os.getpid() == -1:\n    g()\nf()\n"
    ),
    "method": (
        "import os\nclass A:\n    def __init__(self):\n        if os.getpid() == -1:\n            self.b()\n"
        "    def b(self):\n        print('hit')\nA()\n"
    ),
    "walrus": "import os\nif (n := os.getpid()) == -1:\n    print('hit', n)\n",
    "main": "import os\ndef m():\n    if 0:\n        print('hit')\nif __name__ == '__main__':\n    m()\n",
}


@pytest.mark.parametrize("text", GUARDS.values(), ids=GUARDS)
def test_every_kind_of_guard_is_decided_and_lines_stay_where_they_are(text: str) -> None:
    line = next(number for number, row in enumerate(text.split("\n"), 1) if "hit" in row)
    assert "hit" not in runs(text)
    copy = forced(text, line)
    assert "hit" in runs(copy)
    assert copy.count("\n") == text.count("\n")
    assert "hit" in copy.split("\n")[line - 1]


def test_a_line_that_needs_nothing_is_not_changed() -> None:
    text = "import os\nprint('hit')\nif os.getpid() == -1:\n    pass\n"
    assert forced(text, 2) == text


def test_what_ran_is_not_decided_again() -> None:
    text = "import os\nif os.getpid():\n    x = 1\n    if not x:\n        print('hit')\n"
    assert forced(text, 5, ran={("a.py", 1), ("a.py", 2), ("a.py", 3), ("a.py", 4)}).split("\n")[1] == (
        "if os.getpid():"
    )


def test_a_function_that_nothing_calls_is_not_forced() -> None:
    found = PythonSources({"a.py": "import os\ndef f():\n    print('hit')\n"}).force(("a.py", 3), RAN)
    assert isinstance(found, NotForced)
    assert "calls" in found.reason


def test_the_way_leads_through_calls_in_other_files() -> None:
    texts = {
        "a.py": "import b\nif b.today() == 'never':\n    b.send()\n",
        "b.py": "def today():\n    return 1\ndef send():\n    if 0:\n        print('hit')\n",
    }
    found = PythonSources(texts).force(("b.py", 5), {("a.py", 1), ("a.py", 2), ("b.py", 1)})
    assert isinstance(found, Forcing)
    assert {edit.file for edit in found.edits} == {"a.py", "b.py"}
    assert found.tests[0] == "0"


def test_a_statement_that_ended_a_forced_run_is_left_out_of_the_next() -> None:
    text = (
        "import os\ndef f():\n    data = open('/nonesuch').read()\n    if data:\n        print('hit')\nf()\n"
    )
    sources = PythonSources({"a.py": text})
    ran = {("a.py", 1), ("a.py", 6), ("a.py", 3)}
    assert sources.stopped(("a.py", 5), ran) == ("a.py", 3)
    assert "hit" in runs(forced(text, 5, stuck=(3,)))


def test_a_loop_over_nothing_gets_one_element_only_where_it_ended_a_run() -> None:
    text = "import os\nfor a, b in []:\n    print('hit')\n"
    assert forced(text, 3) == text
    assert "hit" in runs(forced(text, 3, stuck=(2,)))


def test_contradicting_branches_are_not_joined_in_one_copy() -> None:
    text = "import os\nif os.getpid():\n    print('a')\nelse:\n    print('b')\n"
    sources = PythonSources({"a.py": text})
    ways = [sources.force(("a.py", line), RAN) for line in (3, 5)]
    taken, left = joined([way for way in ways if isinstance(way, Forcing)])
    assert [one.place[1] for one in taken] == [3]
    assert [one.place[1] for one in left] == [5]


def test_edits_that_overlap_contradict_and_insertions_at_a_start_do_not() -> None:
    assert not compatible([Edit("a", 0, 5, "x"), Edit("a", 3, 4, "y")])
    assert not compatible([Edit("a", 2, 2, "x"), Edit("a", 2, 2, "y")])
    assert compatible([Edit("a", 2, 2, "x"), Edit("a", 2, 4, "y"), Edit("b", 2, 4, "z")])


# ---- shell

SHELL = {
    "if": "true\nif [ 1 = 2 ]; then\n  echo hit\nfi\n",
    "else": "true\nif true; then\n  echo no\nelse\n  echo hit\nfi\n",
    "elif": "true\nif true; then\n  echo no\nelif [ 1 = 2 ] &&\n    true; then\n  echo hit\nfi\n",
    "and": "true\n[ 1 = 2 ] && echo hit\n",
    "or": "true\ntrue || echo hit\n",
    "case": "true\ncase $(uname) in\n  Nix|\\\n  Nox) echo hit ;;\n  *) echo no ;;\nesac\n",
    "while": "true\nwhile [ 1 = 2 ]; do\n  echo hit\ndone\n",
    "until": "true\nuntil true; do\n  echo hit\ndone\n",
    "exit": "set -eu\nfalse\necho $UNSET\nexit 0\necho hit\n",
    "function": 'f() {\n  [ -n "$1" ] || return 1\n  echo hit\n}\nif [ 1 = 2 ]; then f; fi\n',
    "substitution": "X=$(if [ 1 = 2 ]; then\n echo hit; fi)\necho $X\n",
}


@pytest.mark.parametrize("text", SHELL.values(), ids=SHELL)
def test_shell_guards_are_decided_and_lines_stay(text: str) -> None:
    def output(script: str) -> str:
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=20, check=False)
        return done.stdout

    line = next(number for number, row in enumerate(text.split("\n"), 1) if "hit" in row)
    assert "hit" not in output(text)
    found = ShellSources({"a.sh": text}).force(("a.sh", line), ())
    assert isinstance(found, Forcing), found
    copy = forced_files({"a.sh": text}, found.edits)["a.sh"]
    assert "hit" in output(copy)
    assert copy.count("\n") == text.count("\n")
    assert found.marker in copy.split("\n")[line - 1] or "&&" in text or "||" in text


# ---- JavaScript

JAVASCRIPT = {
    "if": "const a = 1\nif (a === 2) {\n  console.log('hit')\n}\n",
    "else": "const a = 1\nif (a === 1) console.log('no')\nelse console.log('hit')\n",
    "else if": "const a = 1\nif (a) { console.log('no') } else if (a\n === 3) {\n console.log('hit') }\n",
    "and": "const a = 1\na === 2 && console.log('hit')\n",
    "or": "const a = 1\na || console.log('hit')\n",
    "conditional": "const a = 1\nconst b = a === 2 ? console.log('hit') : 0\n",
    "while": "let a = 1\nwhile (a === 2) {\n  console.log('hit')\n}\n",
    "switch": "const a = 1\nswitch (a) {\n  case 1: break;\n  case 2:\n   console.log('hit')\n}\n",
    "default": "const a = 1\nswitch (a) {\n  case 1: break;\n  default:\n   console.log('hit')\n}\n",
    "catch": "try {\n  JSON.parse('1')\n} catch (e) {\n  console.log('hit')\n}\n",
    "return before": "function f(x) {\n  if (x) return (\n   x)\n  console.log('hit')\n}\nf(1)\n",
    "exit before": "const a = 1\nprocess.exit(0)\nconsole.log('hit')\n",
    "never called": "const f = async () => {\n  console.log('hit')\n}\nif (process.pid === -1) f()\n",
    "method": "class A { constructor() { if (0) this.b() }\n b() {\n  console.log('hit') } }\nnew A()\n",
    "callback": "[1].forEach((x) => {\n  if (x === 2) {\n    console.log('hit')\n  }\n})\n",
    "module": "import os from 'os'\nif (os.hostname() === 'zz9') {\n  console.log('hit')\n}\n",
}


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("text", JAVASCRIPT.values(), ids=JAVASCRIPT)
def test_javascript_guards_are_decided_and_lines_stay(text: str) -> None:
    file = "a.mjs" if text.startswith("import") else "a.js"

    def output(script: str) -> str:
        kind = ["--input-type=module"] if file == "a.mjs" else []
        command = ["node", *kind, "-e", script]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout

    line = next(number for number, row in enumerate(text.split("\n"), 1) if "hit" in row)
    found = JavaScriptSources({file: text}).force((file, line), ())
    assert isinstance(found, Forcing), found
    copy = forced_files({file: text}, found.edits)[file]
    assert "hit" in output(copy)
    assert copy.count("\n") == text.count("\n")
    assert found.marker in copy.split("\n")[line - 1]


@settings(max_examples=80, deadline=None)
@given(st.text(alphabet="if(){};=>a&|?:\n`'\"return ", max_size=60), st.integers(1, 5))
def test_no_javascript_text_breaks_the_rewriter(text: str, line: int) -> None:
    found = JavaScriptSources({"a.js": text}).force(("a.js", line), ())
    if isinstance(found, Forcing):
        assert forced_files({"a.js": text}, found.edits)["a.js"].count("\n") == text.count("\n")


# ---- hostile text

_BLOCK = st.sampled_from(
    ["if {x}:", "while {x}:", "for {x} in y:", "try:", "with z:", "def {x}():", "class {x}:", "match {x}:"]
)


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Nested blocks with a call at the end, and things that leave before it."""
    lines, indent = ["import os"], 0
    closing: list[str] = []
    for _ in range(draw(st.integers(0, 5))):
        head = draw(_BLOCK).format(x=draw(st.sampled_from(["a", "b", "é"])))
        pad = " " * indent
        if draw(st.booleans()):
            leave = draw(st.sampled_from(["if q: raise E", "assert (q,\n" + pad + "  1)", "f = 1"]))
            lines.append(pad + leave)
        lines.append(pad + head)
        indent += 1
        if head == "try:":
            closing.append(f"{pad}except (E,\n{pad}  F): g()")
        elif head.startswith("match"):
            lines.append(" " * indent + "case [1,\n     2]:")
            indent += 1
    lines.append(" " * indent + draw(st.sampled_from(["u() and send()", "send() if u else 0", "send()"])))
    return "\n".join([*lines, *reversed(closing)]) + "\n"


@settings(max_examples=150, deadline=None)
@given(programs())
def test_a_forced_copy_of_any_program_parses_and_has_as_many_lines(text: str) -> None:
    ast.parse(text)
    line = next(number for number, row in enumerate(text.split("\n"), 1) if "send()" in row)
    found = PythonSources({"a.py": text}).force(("a.py", line), RAN)
    if isinstance(found, Forcing):
        copy = forced_files({"a.py": text}, found.edits).get("a.py", text)
        ast.parse(copy)
        assert copy.count("\n") == text.count("\n")
        assert "send()" in copy.split("\n")[line - 1]
    else:
        assert "def " in text or "class " in text


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="if then fi&|;(){}$\"'\n\\ex[]=case in esac)", max_size=80), st.integers(1, 6))
def test_no_shell_text_breaks_the_rewriter(text: str, line: int) -> None:
    found = ShellSources({"a.sh": text}).force(("a.sh", line), ())
    if isinstance(found, Forcing):
        assert forced_files({"a.sh": text}, found.edits)["a.sh"].count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000 + ")" * 5000,
        "x = " + "+".join(["1"] * 20_000) + "\n",
        "".join(f"{' ' * depth}if a:\n" for depth in range(90)) + " " * 90 + "f()\n",
        "import os\n" + "f(g(h()))\n" * 4000,
        "def f(): f()\n" * 5000,
    ],
    ids=["parentheses", "sum", "deep", "long", "many functions"],
)
def test_hostile_python_is_bounded(text: str) -> None:
    started = time.process_time()
    sources = PythonSources({"a.py": text})
    for line in (1, 2, 91):
        sources.force(("a.py", line), RAN)
    assert time.process_time() - started < 10


def test_bytes_that_are_no_text_are_not_rewritten() -> None:
    assert normalised(b"\xff\xfe") is None
    assert normalised(b"a\0b") is None
    assert normalised(b"\xef\xbb\xbfa\r\nb\rc") == "a\nb\nc"
