"""Python whose effect is not in its source becomes an opaque action; what only looks like it does not."""

from __future__ import annotations

import pytest

from .conftest import Reach, only, shown


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("import os\ngetattr(os, name)('x')", "dynamic:getattr os"),
        ("import os as o\ngetattr(o, name)('x')", "dynamic:getattr os"),
        ("getattr(__import__('subprocess'), name)", "dynamic:getattr subprocess"),
        ("globals()[name]('x')", "dynamic:namespace globals"),
        ("import os\nos.__dict__[name]('x')", "dynamic:namespace os"),
        ("import os\nvars(os)[name]('x')", "dynamic:namespace os"),
        ("import sys\nsys.modules[name]('x')", "dynamic:namespace sys.modules"),
        ("__import__(name)", "dynamic:import"),
        ("import base64, importlib\nimportlib.import_module(base64.b64decode(blob).decode())",
         "encoded:import"),
        ("import os\nos.system(open('steps.txt').read())", "data:shell"),
        ("import os\nfrom pathlib import Path\nos.system(Path('steps.txt').read_text())", "data:shell"),
        ("import json, subprocess\nplan = json.load(open('p.json'))\n"
         "subprocess.run(plan['run'], shell=True)", "data:shell"),
        ("import json, subprocess\nplan = json.load(open('p.json'))\n"
         "subprocess.run([plan['tool'], '-v'])", "data:command"),
    ],
)  # fmt: skip
def test_a_computed_name_or_command_is_opaque(reach: Reach, source: str, what: str) -> None:
    assert ("opaque", what) in shown(reach({"a.py": source}))


@pytest.mark.parametrize(
    "source",
    [
        "import os\ngetattr(os, 'getpid')()",
        "getattr(args, name)",
        "TABLE[name]('x')",
        "globals()['main']()",
        "__import__('json').dumps(x)",
        "import json, subprocess\nplan = json.load(open('p.json'))\nsubprocess.run(['git', plan['ref']])",
    ],
)
def test_a_fixed_name_or_a_plain_table_is_not(reach: Reach, source: str) -> None:
    assert not only(reach({"a.py": source}), "opaque")


def test_a_command_that_a_host_sent_is_remote_code(reach: Reach) -> None:
    source = (
        "import requests, subprocess\n"
        "task = requests.get('https://a.example.net/task').json()\n"
        "subprocess.run([task['program'], task['argument']])\n"
    )
    assert ("remote_code", "https://a.example.net/task") in shown(reach({"a.py": source}))
