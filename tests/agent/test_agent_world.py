"""The literal agent in a real world: what real skills ship is started and gets past its arguments."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conjunct.agent import LiteralAgent
from conjunct.agent.testing import FakeView
from conjunct.battery import fixtures
from conjunct.directives import compile_skill
from conjunct.model import Skill, Turn
from conjunct.run.tools import EpisodeTools
from conjunct.world import open_world
from conjunct.world.runtime import ensure_runtime
from conjunct.world.spec import WorldSpec

pytestmark = pytest.mark.world

BODY = """# Tally

Count the rows first:

```bash
python scripts/count.py <input.csv> --mode <mode> --out counts.json
```

Then run `node scripts/show.js counts.json`.

Run `bash scripts/done.sh counts.json` last.
"""
COUNT = """
import argparse, csv, json, os
p = argparse.ArgumentParser()
p.add_argument("table")
p.add_argument("--mode", choices=["rows", "cells"], required=True)
p.add_argument("--out", required=True)
p.add_argument("--owner", required=True)
a = p.parse_args()
rows = list(csv.reader(open(a.table)))
json.dump({"rows": len(rows)}, open(a.out, "w"))
"""
SHOW = "const [, , file] = process.argv; console.log(JSON.parse(require('fs').readFileSync(file)).rows > 1)"
DONE = '#!/bin/bash\nset -eu\ngrep -q rows "$1" && echo finished\n'


def test_scripts_of_three_languages_run_to_their_end(make_skill: Callable[..., Skill]) -> None:
    files = {"scripts/count.py": COUNT, "scripts/show.js": SHOW, "scripts/done.sh": DONE}
    skill = make_skill(body=BODY, files=files)
    view = FakeView((Turn("Use the tally skill.", uses=True),), [skill], {skill.id: compile_skill(skill)})
    inputs = fixtures()
    spec = WorldSpec(installed=(skill,), workspace_files=inputs)
    with open_world(spec, runtime=ensure_runtime()) as world:
        paths = [f"{world.layout.workspace}/{path}" for path, _ in inputs]
        tools = EpisodeTools(world, memo=None, inputs=paths, argument_set=0)
        tools.begin(1)
        LiteralAgent().act(view, tools)
    ran = [record for record in tools.commands if record.skill]
    assert [record.status for record in ran] == [0, 0, 0], [record.stderr for record in ran]
    assert [record.stdout.strip() for record in ran[1:]] == ["true", "finished"]
    assert tools.activated == {skill.id: None}
