"""What a package makes run by itself: hooks, install scripts, start-up files and the like."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator

from conjunct.model import ActionKind, Entry, ResourceClass, Skill
from conjunct.reach.found import Place, Sightings
from conjunct.reach.package import read_bytes

_LIFECYCLE = (
    "preinstall",
    "install",
    "postinstall",
    "prepare",
    "prepublish",
    "preuninstall",
    "postuninstall",
)
_BY_NAME = {
    "conftest.py": "pytest runs it on collection",
    "sitecustomize.py": "Python runs it on every start",
    "usercustomize.py": "Python runs it on every start",
    ".envrc": "direnv runs it on entering the folder",
    "setup.py": "pip runs it on install",
    "noxfile.py": "nox runs it",
}
_ON_START = (
    "initializeCommand",
    "onCreateCommand",
    "updateContentCommand",
    "postCreateCommand",
    "postStartCommand",
    "postAttachCommand",
)
"""What a development container runs when somebody opens the folder."""

_LARGEST = 256 * 1024
_MOST_VALUES = 5000


def read_autorun(skill: Skill, seen: Sightings) -> None:
    """Record files that run without being asked for, and the commands that manifests start."""
    for entry in skill.entries:
        if entry.kind != "file":
            continue
        name = posixpath.basename(entry.path)
        place = Place(entry.path, 1, "autorun")
        if name in _BY_NAME:
            seen.add(place, ActionKind.EXEC, name, ResourceClass.OWN_PACKAGE)
        elif name.endswith(".pth"):
            _path_file(skill, entry, seen)
        elif name == "package.json":
            _package_json(skill, entry, seen)
        elif name in (
            "hooks.json",
            "settings.json",
            "settings.local.json",
            ".mcp.json",
            "mcp.json",
            "plugin.json",
            "devcontainer.json",
            ".devcontainer.json",
        ):
            _commands_in_json(skill, entry, seen)
        elif name in ("Makefile", "makefile", "GNUmakefile"):
            _makefile(skill, entry, seen)
        elif name in (".pre-commit-config.yaml", "lefthook.yml") or entry.path.startswith(".husky/"):
            seen.add(place, ActionKind.EXEC, name, ResourceClass.OWN_PACKAGE, 0.7)
        elif entry.path.endswith(".vscode/tasks.json"):
            _commands_in_json(skill, entry, seen)
    _front_matter_hooks(skill, seen)


def _path_file(skill: Skill, entry: Entry, seen: Sightings) -> None:
    """A `.pth` file: lines that begin with `import` are executed on every start of Python."""
    text = read_bytes(skill, entry.path, _LARGEST).decode("utf-8", "replace")
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(("import ", "import\t")):
            place = Place(entry.path, number, "autorun")
            seen.add(place, ActionKind.EXEC, line[:200], ResourceClass.PROCESS)
            seen.snippet("python", line, place)


def _package_json(skill: Skill, entry: Entry, seen: Sightings) -> None:
    document = _json(skill, entry)
    scripts = document.get("scripts") if isinstance(document, dict) else None
    if not isinstance(scripts, dict):
        return
    text = read_bytes(skill, entry.path, _LARGEST).decode("utf-8", "replace")
    for name, command in list(scripts.items())[:100]:
        if name in _LIFECYCLE and isinstance(command, str):
            place = Place(entry.path, _line_of(text, f'"{name}"'), "autorun")
            seen.add(place, ActionKind.EXEC, command, ResourceClass.PROCESS)
            seen.snippet("shell", command, place)


def _commands_in_json(skill: Skill, entry: Entry, seen: Sightings) -> None:
    """`command` (with `args`) anywhere in hooks, MCP and plugin manifests."""
    text = read_bytes(skill, entry.path, _LARGEST).decode("utf-8", "replace")
    for command, arguments in _commands(_json(skill, entry)):
        place = Place(entry.path, _line_of(text, json.dumps(command)), "autorun")
        line = " ".join([command, *arguments])
        seen.add(place, ActionKind.EXEC, line, ResourceClass.PROCESS)
        seen.snippet("shell", line, place)


def _makefile(skill: Skill, entry: Entry, seen: Sightings) -> None:
    """Recipes are read as shell; only `$(shell …)` runs on its own."""
    text = read_bytes(skill, entry.path, _LARGEST).decode("utf-8", "replace")
    for number, line in enumerate(text.splitlines(), start=1):
        place = Place(entry.path, number, "autorun", confidence=0.7)
        if line.startswith("\t") and len(line) < 2000:
            seen.snippet("shell", line.lstrip("\t@-").replace("$$", "$"), place)
        for found in re.finditer(r"\$\(shell ([^)]{1,500})\)", line[:4000]):
            seen.add(place, ActionKind.EXEC, found.group(1), ResourceClass.PROCESS)
            seen.snippet("shell", found.group(1), place)


def _front_matter_hooks(skill: Skill, seen: Sightings) -> None:
    """`hooks:` in the front matter of `SKILL.md`: commands that the agent runs around its tool calls."""
    lines = dict(skill.declaration.line_of)
    for key, value in skill.declaration.metadata:
        if key.lower().startswith("hooks.") and key.lower().rstrip("0123456789.[]").endswith("command"):
            place = Place(skill.manifest, lines.get("hooks", 1), "autorun")
            seen.add(place, ActionKind.EXEC, value, ResourceClass.PROCESS)
            seen.snippet("shell", value, place)


def _json(skill: Skill, entry: Entry) -> object:
    try:
        document: object = json.loads(read_bytes(skill, entry.path, _LARGEST))
    except (ValueError, RecursionError):
        return None
    return document


def _commands(document: object) -> Iterator[tuple[str, list[str]]]:
    stack, looked = [document], 0
    while stack and looked < _MOST_VALUES:
        looked += 1
        item = stack.pop()
        if isinstance(item, dict):
            yield from ((item[key], []) for key in _ON_START if isinstance(item.get(key), str))
            command = item.get("command")
            if isinstance(command, str):
                arguments = item.get("args")
                words = [str(word) for word in arguments[:40]] if isinstance(arguments, list) else []
                yield command, words
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def _line_of(text: str, needle: str) -> int:
    at = text.find(needle)
    return text.count("\n", 0, at) + 1 if at >= 0 else 1
