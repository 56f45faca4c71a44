"""Every call that a skill documents, with file and line, so that coverage can say which were never made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from conjunct.agent.commandline import lex, simple_commands, split_lines, without_prompt
from conjunct.agent.documented import Documented, documented_functions
from conjunct.agent.package import Package
from conjunct.agent.program import identify, installs
from conjunct.model import Compilation, Condition, Directive, DirectiveKind, Skill

_CALL_LIMIT = 400
_NOT_INSTRUCTIONS = (
    "changelog",
    "license",
    "licence",
    "notice",
    "contributing",
    "contributors",
    "requirements",
)
_PROSE = (".md", ".markdown", ".txt", ".rst")
_INTERPRETERS = {"python": "python3", "shell": "bash", "javascript": "node"}


@dataclass(frozen=True, slots=True)
class Call:
    """One documented call."""

    skill: str
    file: str
    line: int
    text: str
    """As documented: placeholders kept."""
    language: str
    """`shell`, `python` or `javascript`: how `text` is run."""
    source: str
    """`directive` (a command in the text), `prose` (a script named without one), `module` (documented
    functions of a module), or `hook`."""
    member: str = ""
    """Member of the package that is started; empty for other programs."""
    missing: str = ""
    """A script that the text names and the package does not have."""
    folder: str = ""
    alternative: str = ""
    conditions: tuple[Condition, ...] = ()
    mention: bool = False
    confidence: float = 1.0
    functions: tuple[str, ...] = ()
    """For `module`: the functions to call, by name or as the text writes the call."""
    stdin: str = ""
    """For `hook`: the event, as JSON text."""
    quote: str = ""

    @property
    def place(self) -> str:
        """`file:line`."""
        return f"{self.file}:{self.line}"


LEAST_CONFIDENCE = 0.5
"""Directives under this confidence are not obeyed, nor counted as documented."""


def documented_calls(skill: Skill, compilation: Compilation, *, mentions: bool = False) -> tuple[Call, ...]:
    """All calls that the text of a skill asks for, in its order, at most 400; hooks last.

    Equal commands are listed once, at their first place. `mentions` adds what is only mentioned (quoted,
    negated, under a heading like example) or compiled with low confidence.
    """
    package = Package.of(skill)
    calls = [call for directive in compilation.directives for call in _of_directive(package, directive)]
    started = {call.member for call in calls if call.member}
    calls.extend(_named_scripts(package, started))
    calls.sort(key=lambda call: (call.file != skill.manifest, call.file, call.line))
    calls.extend(_hooks(package))
    if not mentions:
        calls = [call for call in calls if not call.mention and call.confidence >= LEAST_CONFIDENCE]
    first: dict[tuple[str, str], Call] = {}
    for call in sorted(calls, key=lambda item: item.mention):
        first.setdefault((call.text, call.alternative), call)
    kept = set(map(id, first.values()))
    return tuple(call for call in calls if id(call) in kept)[:_CALL_LIMIT]


def is_installer(call: Call) -> bool:
    """Whether a call installs something from a package registry."""
    return call.language == "shell" and installs(call.text)


def _of_directive(package: Package, directive: Directive) -> Iterator[Call]:
    if directive.kind is not DirectiveKind.RUN or not directive.command.strip():
        return
    language = directive.language or "shell"
    command = without_prompt(directive.command) if language == "shell" else directive.command
    for offset, text in split_lines(command) if language == "shell" else [(0, command)]:
        member, missing = _started(package, text) if language == "shell" else ("", "")
        yield Call(
            skill=package.skill.id,
            file=directive.file,
            line=directive.line + offset,
            text=text,
            language=language,
            source="directive",
            member=member,
            missing=missing,
            folder=directive.folder,
            alternative=directive.alternative,
            conditions=directive.conditions,
            mention=directive.mention,
            confidence=directive.confidence,
            quote=directive.quote,
        )


def _started(package: Package, text: str) -> tuple[str, str]:
    """(member that a command starts, script that it wants to start and the package does not have)."""
    missing = ""
    for command in simple_commands(lex(re.sub(r"[<>{}](?=\w)|(?<=\w)[>}]", "", text))):
        program = identify(command, package)
        if program is not None and program.member:
            return program.member, ""
        missing = missing or (program.missing if program is not None else "")
    return "", missing


def _named_scripts(package: Package, started: set[str]) -> Iterator[Call]:
    """Scripts that prose names and no command starts."""
    scripts = [path for path in sorted(package.files) if path not in started and package.language(path)]
    wanted = {path: path.rpartition("/")[2] for path in scripts}
    if not wanted:
        return
    texts = [package.skill.manifest, *sorted(path for path in package.files if _is_instruction(path))]
    seen: set[str] = set()
    documented = {text: package.source(text) for text in dict.fromkeys(texts)}
    whole = "\n".join(documented.values())
    for text, content in documented.items():
        for number, line in enumerate(content.splitlines(), start=1):
            for path, name in wanted.items():
                if path in seen or name not in line or name == "__init__.py":
                    continue
                if not re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", line[:4000]):
                    continue
                seen.add(path)
                yield from _call_of_script(package, path, text, number, whole)
    for one in documented_functions(package, documented, frozenset(started | seen)):
        yield _call_of_function(package, one)


def _call_of_function(package: Package, one: Documented) -> Call:
    """The call of a member whose functions the text documents; without functions it is started."""
    language = package.language(one.member)
    shown = ", ".join(one.functions)
    text = f"call {one.member}: {shown}" if shown else f"{_INTERPRETERS[language]} {one.member}"
    return Call(
        skill=package.skill.id,
        file=one.file,
        line=one.line,
        text=text,
        language="module" if shown else "shell",
        source="module" if shown else "prose",
        member=one.member,
        functions=one.functions,
    )


def _is_instruction(path: str) -> bool:
    """Whether a text may tell an agent what to do; change logs and the like tell people what was done."""
    name = path.rpartition("/")[2].lower()
    return name.endswith(_PROSE) and not name.startswith(_NOT_INSTRUCTIONS) and "/tests/" not in f"/{path}"


def _call_of_script(package: Package, path: str, file: str, line: int, prose: str) -> Iterator[Call]:
    language = package.language(path)
    usage = package.usage(path)
    interpreter = _INTERPRETERS[language]
    common = {"skill": package.skill.id, "file": file, "line": line, "member": path}
    if language != "python" or usage.entry or not package.source(path).strip():
        yield Call(**common, text=f"{interpreter} {path}", language="shell", source="prose")  # type: ignore[arg-type]
        return
    named = tuple(
        name for name in _functions(package.source(path)) if re.search(rf"\b{re.escape(name)}\b", prose)
    )
    if named:
        yield Call(
            skill=package.skill.id,
            file=file,
            line=line,
            text=f"call {path}: {', '.join(named)}",
            language="module",
            source="module",
            member=path,
            functions=named[:8],
        )


def _functions(source: str) -> Iterator[str]:
    for found in re.finditer(r"(?m)^(?:async\s+)?def\s+([a-zA-Z]\w{1,80})\s*\(", source):
        if not found[1].startswith("test"):
            yield found[1]


_HOOK_FILES = (
    "hooks/hooks.json",
    "hooks.json",
    ".claude/settings.json",
    "settings.json",
    ".claude-plugin/plugin.json",
)


def _hooks(package: Package) -> Iterator[Call]:
    """Commands that the agent platform starts on events, each with an event on standard input."""
    for file in _HOOK_FILES:
        if file not in package.files:
            continue
        source = package.source(file)
        try:
            document = json.loads(source)
        except (ValueError, RecursionError):
            continue
        for event, command in _hook_commands(document):
            at = source.find(json.dumps(command)[1:-1])
            yield Call(
                skill=package.skill.id,
                file=file,
                line=source.count("\n", 0, max(at, 0)) + 1,
                text=command,
                language="shell",
                source="hook",
                member=_started(package, command)[0],
                stdin=event_json(event),
            )


def _hook_commands(document: object) -> Iterator[tuple[str, str]]:
    hooks = document.get("hooks") if isinstance(document, dict) else None
    if not isinstance(hooks, dict):
        return
    for event, groups in list(hooks.items())[:20]:
        for group in (groups if isinstance(groups, list) else [groups])[:20]:
            inner = group.get("hooks", [group]) if isinstance(group, dict) else []
            for hook in (inner if isinstance(inner, list) else [])[:20]:
                if isinstance(hook, dict) and isinstance(hook.get("command"), str):
                    yield str(event), hook["command"]


def event_json(event: str) -> str:
    """An event as agent platforms hand it to a hook."""
    tool = {"command": "ls -la"} if "Tool" in event else {}
    return json.dumps(
        {
            "session_id": "4f9d2c1e",
            "hook_event_name": event,
            "cwd": ".",
            "tool_name": "Bash" if tool else "",
            "tool_input": tool,
            "tool_response": {"stdout": "README.md\n", "stderr": ""} if event == "PostToolUse" else {},
            "prompt": "What is in this folder?" if event == "UserPromptSubmit" else "",
        },
        sort_keys=True,
    )
