"""`docs/intake.md` lists every finding of intake; `docs/digest.md` computes what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import conjunct.skills
from conjunct.model import Entry
from conjunct.skills import package_digest

ROOT = Path(__file__).parents[2]
CODE = r"(?:declares|encoding|front-matter|intake|integrity)\.[a-z0-9-]+"


def test_the_table_of_findings_is_that_of_the_code() -> None:
    source = "\n".join(path.read_text("utf-8") for path in Path(conjunct.skills.__file__).parent.glob("*.py"))
    made = set(re.findall(rf'"({CODE})"', source))
    # `yaml_subset` names these without their prefix.
    made |= {"front-matter.alias", "front-matter.tag", "front-matter.second-document"}
    table = re.findall(rf"^\| `({CODE})` \|", (ROOT / "docs" / "intake.md").read_text("utf-8"), re.MULTILINE)
    assert table == sorted(made)


def test_the_worked_example_gives_the_digest() -> None:
    text = (ROOT / "docs" / "digest.md").read_text("utf-8")
    example = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert example is not None
    printed = subprocess.run(
        [sys.executable, "-c", example[1]], capture_output=True, check=True, text=True
    ).stdout
    content = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
    entries = [Entry("SKILL.md", "file", 6, content, False), Entry("run", "link", 0, "", None, "SKILL.md")]
    assert printed.strip() == package_digest(entries)
    assert f"# {printed.strip()}" in text
