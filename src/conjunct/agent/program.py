"""Which program a simple command starts, and which member of the package that is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from conjunct.agent.commandline import Word, is_redirect
from conjunct.agent.package import Package

_PYTHON = re.compile(r"^(?:.*/)?(?:python[\d.]*|pypy3?|py)$")
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "source", "."})
_NODE = frozenset({"node", "deno", "bun", "tsx", "ts-node", "nodejs"})
_WRAPPERS = frozenset(
    {"sudo", "time", "env", "nohup", "exec", "command", "xargs", "poetry", "pipenv", "rye", "pdm", "hatch"}
)
_VALUE_OPTIONS = {
    "uv": frozenset(
        {"--with", "--python", "-p", "--extra", "--group", "--directory", "--project", "--env-file"}
    ),
    "python": frozenset({"-W", "-X"}),
    "npx": frozenset({"-p", "--package"}),
}
INSTALLERS = (
    ("pip", "install"), ("pip3", "install"), ("uv", "add"), ("uv", "pip"), ("uv", "sync"), ("npm", "install"),
    ("npm", "i"), ("npm", "ci"), ("yarn", "add"), ("pnpm", "add"), ("pnpm", "install"), ("brew", "install"),
    ("apt", "install"), ("apt-get", "install"), ("apt-get", "update"), ("conda", "install"),
    ("pipx", "install"),
    ("cargo", "install"), ("go", "install"), ("gem", "install"), ("playwright", "install"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Program:
    """What one simple command starts."""

    words: tuple[Word, ...]
    """The words of the command without redirects, assignments included."""
    name: str
    """The program as typed (`python3`, `git`, `./run.sh`)."""
    script_at: int | None = None
    """Index in `words` of the word that names a member of the package."""
    member: str | None = None
    """That member's path."""
    arguments_at: int = 0
    """Index in `words` of the first argument."""
    module: bool = False
    """Started as `python -m`."""
    missing: str = ""
    """A script that the text names and the package does not have."""


def identify(command: list[Word], package: Package) -> Program | None:
    """The program of a simple command; `None` where there is none (only assignments or redirects)."""
    words = _without_redirects(command)
    at = 0
    while at < len(words) and re.match(r"^[A-Za-z_]\w*=", words[at].value):
        at += 1
    while at < len(words) and words[at].value in _WRAPPERS:
        at = _skip_options(words, at + 1, frozenset())
        if at < len(words) and words[at].value == "run":
            at += 1
        while at < len(words) and re.match(r"^[A-Za-z_]\w*=", words[at].value):
            at += 1
    if at >= len(words):
        return None
    name = words[at].value
    if name == "uv" and at + 1 < len(words) and words[at + 1].value == "run":
        at = _skip_options(words, at + 2, _VALUE_OPTIONS["uv"])
        if at >= len(words):
            return Program(words, name, arguments_at=len(words))
        if not _PYTHON.match(words[at].value):
            return _script(words, name, at, package)
    if _PYTHON.match(words[at].value):
        return _python(words, name, at, package)
    if words[at].value in _SHELLS or words[at].value in _NODE:
        option = words[at + 1].value if at + 1 < len(words) else ""
        if option in ("-c", "-e", "-p", "--eval", "-lc"):
            return Program(words, name, arguments_at=len(words))
        start = _skip_options(words, at + 1, frozenset())
        if start < len(words) and words[start].value == "run":
            start = _skip_options(words, start + 1, frozenset())
        return _script(words, name, start, package)
    if name in ("npx", "bunx") or (name in ("npm", "pnpm", "yarn") and at + 1 < len(words)):
        start = _skip_options(words, at + 1, _VALUE_OPTIONS["npx"])
        if start < len(words) and words[start].value in _NODE:
            return _script(words, name, start + 1, package)
        return Program(words, name, arguments_at=min(start + 1, len(words)))
    if "/" in name or package.language(name):
        return _script(words, name, at, package)
    return Program(words, name, arguments_at=at + 1)


def _python(words: tuple[Word, ...], name: str, at: int, package: Package) -> Program:
    start = at + 1
    while start < len(words) and words[start].value.startswith("-"):
        option = words[start].value
        if option == "-m" and start + 1 < len(words):
            return _module(words, name, start + 1, package)
        if option in ("-c", "-"):
            return Program(words, name, arguments_at=len(words))
        start += 2 if option in _VALUE_OPTIONS["python"] else 1
    return _script(words, name, start, package)


def _module(words: tuple[Word, ...], name: str, at: int, package: Package) -> Program:
    parts = words[at].value.split(".")
    for start in range(len(parts)):
        base = "/".join(parts[start:])
        for member in (f"{base}.py", f"{base}/__main__.py"):
            if member in package.files:
                return Program(words, name, at, member, at + 1, module=True)
    return Program(words, name, arguments_at=at + 1)


def _script(words: tuple[Word, ...], name: str, at: int, package: Package) -> Program:
    if at >= len(words):
        return Program(words, name, arguments_at=len(words))
    text = words[at].value
    member = package.resolve(text)
    if member is not None and (package.language(member) or at > 0):
        return Program(words, name, at, member, at + 1)
    folder = package.resolve_folder(text)
    if folder is not None and f"{folder}/__main__.py".lstrip("/") in package.files:
        return Program(words, name, at, f"{folder}/__main__.py".lstrip("/"), at + 1)
    return Program(
        words, name, arguments_at=at + 1, missing="" if text.startswith(("/usr/", "/bin/")) else text
    )


def _without_redirects(command: list[Word]) -> tuple[Word, ...]:
    kept: list[Word] = []
    skip = False
    for word in command:
        if skip:
            skip = False
        elif is_redirect(word):
            skip = True
            if kept and kept[-1].end == word.start and kept[-1].value in ("1", "2"):
                kept.pop()
        elif not word.operator:
            kept.append(word)
    return tuple(kept)


def _skip_options(words: tuple[Word, ...], at: int, with_value: frozenset[str]) -> int:
    while at < len(words) and words[at].value.startswith("-"):
        at += 2 if words[at].value in with_value else 1
    return at


def installs(text: str) -> bool:
    """Whether a command installs packages from a registry."""
    found = re.findall(r"[\w./-]+", text[:300])
    names = [word.rpartition("/")[2] for word in found]
    if len(names) > 3 and _PYTHON.match(names[0]) and names[1] == "-m":
        names = names[2:]
    return any(tuple(names[at : at + 2]) in INSTALLERS for at in (0, 1))
