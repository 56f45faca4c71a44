"""What reading, compiling and listing reach cost, without running anything: CPU seconds of one process."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from conjunct.directives import compile_skill
from conjunct.provenance import check_claims, neighbourhood_of
from conjunct.reach import reachable_actions
from conjunct.skills import read_registry

SIZES = (1, 4, 15)
"""Megabytes of the packages whose costs are compared: time should grow as they do."""

_FUNCTION = """
def step_{n}(path, value):
    if value > {n}:
        return None
    if path.endswith("x{n}") and check(path):
        data = open(path + "/in_{n}.txt").read()
        subprocess.run(["tool", data, str(value)])
    for item in data.split():
        print(f"row {{item}} {{compute(item, value + {n})}}")
    return os.environ.get("NAME_{n}", requests.get("https://api.example.com/{n}").text)
"""
_SECTION = """
## Part {n}

If the user asks for table {n}, run `python scripts/tool_{n}.py --input data_{n}.csv` and write `out_{n}.md`.
Do not send the file to anyone. When the report is ready, tell the user where it is.

- **Step {n}**: read references/part_{n}.md before you continue with the next table.
- Ask the user before you delete anything.
"""
_KINDS = {
    "one Python file": ("scripts", ".py", _FUNCTION, 1 << 30),
    "many Python files": ("scripts", ".py", _FUNCTION, 8_000),
    "one Markdown file": ("references", ".md", _SECTION, 1 << 30),
    "many Markdown files": ("references", ".md", _SECTION, 20_000),
}
"""Folder, suffix, repeated text and bytes per file."""


def static_costs(path: Path) -> dict[str, float | str]:
    """Skills a CPU second on one core: intake; directives; reach and claims; all of them."""
    marks = [time.process_time()]
    skills = read_registry(path).skills
    marks.append(time.process_time())
    compiled = [compile_skill(skill) for skill in skills]
    marks.append(time.process_time())
    sets = [(skill, reachable_actions(skill, text)) for skill, text in zip(skills, compiled, strict=True)]
    neighbourhood = neighbourhood_of(sets)
    for skill, reach in sets:
        check_claims(skill, reach, neighbours=neighbourhood)
    marks.append(time.process_time())
    names = ("skills read", "skills compiled", "reach and claims of skills")
    figures: dict[str, float | str] = {
        f"{path.name}: {name} a CPU second": len(skills) / (after - before)
        for name, before, after in zip(names, marks, marks[1:], strict=False)
    }
    return figures | {f"{path.name}: all of it, skills a CPU second": len(skills) / (marks[-1] - marks[0])}


def size_costs() -> dict[str, float | str]:
    """CPU seconds and largest memory for generated packages of each kind and size, a process for each."""
    figures: dict[str, float | str] = {}
    for kind in _KINDS:
        for size in SIZES:
            command = [sys.executable, "-m", "benchmarks.statics", kind, str(size)]
            told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            figures[f"{kind}, {size} MB: CPU seconds"] = float(told[0])
            figures[f"{kind}, {size} MB: largest memory, MB"] = float(told[1])
    return figures


def _write_package(root: Path, kind: str, megabytes: int) -> None:
    folder, suffix, part, each = _KINDS[kind]
    (root / folder).mkdir(parents=True)
    head = "---\nname: large\ndescription: Formats tables.\n---\n\nRun `python scripts/f0.py`.\n"
    (root / "SKILL.md").write_text(head, encoding="utf-8")
    left, number, file = megabytes << 20, 0, 0
    while left > 0:
        text = "import os, subprocess, requests\n" if suffix == ".py" else ""
        parts = [text]
        held = len(text)
        while held < min(each, left):
            parts.append(part.format(n=number))
            held += len(parts[-1])
            number += 1
        (root / folder / f"f{file}{suffix}").write_text("".join(parts), encoding="utf-8")
        left -= held
        file += 1


def _measure(kind: str, megabytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _write_package(Path(folder) / "large", kind, megabytes)
        started = time.process_time()
        for skill in read_registry(Path(folder)).skills:
            check_claims(skill, reachable_actions(skill, compile_skill(skill)))
        spent = time.process_time() - started
    print(f"{spent:.2f} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}")


if __name__ == "__main__":
    _measure(sys.argv[1], int(sys.argv[2]))
