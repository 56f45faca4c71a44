"""Levels of the factors that are not histories or installed sets, made from questions and clues."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Mapping, Sequence

from conjunct.plan.clues import Clues

Pairs = tuple[tuple[str, str], ...]
MOST_ANSWERS = 200
"""Missing paths answered with yes in one run."""
MOST_NAMED = 4
"""Missing paths that the source names and that are also answered one at a time."""
MOST_VALUES = 3
"""Runs in which variables take values found in the source."""

_NAMED_VALUES: Mapping[str, str] = {
    "CI": "true", "GITHUB_ACTIONS": "true", "DEBUG": "1", "NODE_ENV": "production", "ENV": "production",
    "APP_ENV": "production", "ENVIRONMENT": "production", "TZ": "Europe/Berlin", "LANG": "de_DE.UTF-8",
    "USER": "runner", "LOGNAME": "runner", "SHELL": "/bin/zsh", "TERM": "xterm-256color",
    "HOSTNAME": "build-4", "EDITOR": "vim", "LOG_LEVEL": "debug", "PORT": "8080",
}  # fmt: skip
_ENDINGS: Sequence[tuple[tuple[str, ...], str]] = (
    (("_URL", "_URI", "_ENDPOINT", "_BASE"), "https://service.example.com"),
    (("_HOST", "_SERVER", "_DOMAIN"), "service.example.com"),
    (("_PORT",), "8080"),
    (("_DIR", "_PATH", "_HOME", "_FOLDER", "_ROOT"), "/tmp"),
    (("_FILE",), "/tmp/settings.json"),
    (("_EMAIL", "_MAIL", "_TO", "_FROM"), "sam@example.com"),
    (("_REGION",), "eu-central-1"),
    (("_MODEL",), "small"),
)
_CONTENTS: Mapping[str, str] = {
    ".ini": "[general]\nenabled = true\nversion = 1\n",
    ".cfg": "[general]\nenabled = true\nversion = 1\n",
    ".toml": "[general]\nenabled = true\nversion = 1\n",
    ".yaml": "enabled: true\nversion: 1\n",
    ".yml": "enabled: true\nversion: 1\n",
    ".env": "MODE=default\n",
    ".csv": "id,name,value\n1,alpha,12.5\n2,beta,7.25\n",
    ".tsv": "id\tname\tvalue\n1\talpha\t12.5\n2\tbeta\t7.25\n",
    ".md": "# Notes\n\n- first\n- second\n",
    ".xml": "<?xml version='1.0'?>\n<settings><enabled>true</enabled></settings>\n",
    ".html": "<!doctype html><title>Notes</title><p>first</p>\n",
    ".sh": "#!/bin/sh\ntrue\n",
    ".py": "ENABLED = True\n",
    ".js": "module.exports = { enabled: true };\n",
    ".log": "2026-03-01T08:00:00Z started\n",
}
_FOLDER_NAMES = frozenset({"bin", "cache", "config", "data", "logs", "tmp", "scripts", "state", "plugins"})


def value_of(name: str) -> str:
    """A plausible value of an environment variable, by its name."""
    if name in _NAMED_VALUES:
        return _NAMED_VALUES[name]
    upper = name.upper()
    for endings, value in _ENDINGS:
        if upper.endswith(endings) or upper in {ending.lstrip("_") for ending in endings}:
            return value
    return "1"


def environments(names: Iterable[str], clues: Clues) -> list[Pairs]:
    """Assignments to try for variables that were asked for: all with plausible values, then source values."""
    wanted = sorted(set(names))
    if not wanted:
        return []
    values = {name: known for name, known in clues.variables if name in wanted}
    levels = [tuple((name, value_of(name)) for name in wanted)]
    for number in range(min(MOST_VALUES, max((len(known) for known in values.values()), default=0))):
        levels.append(
            tuple(
                (name, values[name][number] if number < len(values.get(name, ())) else value_of(name))
                for name in wanted
            )
        )
    return list(dict.fromkeys(levels))


def content_of(path: str, words: Sequence[str] = ()) -> str:
    """Benign content of the type that a file's name suggests, with `words` in it if given."""
    name = posixpath.basename(path)
    suffix = posixpath.splitext(name)[1].lower() or (name if name.startswith(".") else "")
    if suffix in (".json", ".jsonl", ".lock"):
        document: dict[str, object] = {"enabled": True, "version": 1, "count": 1, "items": []}
        document.update(dict.fromkeys(words, True))
        document["notes"] = list(words) or "none"
        return json.dumps(document, ensure_ascii=False, indent=None if suffix == ".jsonl" else 2) + "\n"
    text = _CONTENTS.get(suffix, "1\n")
    comment = {
        ".py": "# ",
        ".sh": "# ",
        ".toml": "# ",
        ".yaml": "# ",
        ".yml": "# ",
        ".ini": "; ",
        ".js": "// ",
    }
    lines = "".join(f"{comment.get(suffix, '')}{word}\n" for word in words)
    return lines if suffix not in _CONTENTS and words else text + lines


def answers(paths: Iterable[str], words: Sequence[str] = (), *, folders: Iterable[str] = ()) -> Pairs:
    """(path, content) for missing paths; what has others below it, or was asked as a folder, is a folder.

    A folder is made by a file in it, because a context holds files only.
    """
    chosen = sorted(set(paths))[:MOST_ANSWERS]
    wanted = set(folders)
    found = []
    for number, path in enumerate(chosen):
        following = chosen[number + 1] if number + 1 < len(chosen) else ""
        if following.startswith(path.rstrip("/") + "/"):
            continue
        if path in wanted or posixpath.basename(path) in _FOLDER_NAMES:
            path = f"{path.rstrip('/')}/notes.txt"
        found.append((path, content_of(path, words)))
    return tuple(found)


def named_in(paths: Iterable[str], strings: Iterable[str]) -> list[str]:
    """Of these paths, the ones whose last part, with or without suffix, is that of a string of the source."""
    known = {posixpath.basename(text.rstrip("/")) for text in strings}
    return [path for path in paths if {name := posixpath.basename(path), posixpath.splitext(name)[0]} & known]
