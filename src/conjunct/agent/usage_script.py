"""Arguments of shell and JavaScript programs: getopts, `$1`, commander, yargs, `parseArgs`."""

from __future__ import annotations

import re
from dataclasses import replace

from conjunct.agent.usage import SOURCE_LIMIT, Parameter, Usage, describe, read_usage_text, usage_lines

_LINE_LIMIT = 2000

_GETOPTS = re.compile(r"\bgetopts\s+[\"']?:?([A-Za-z:]{1,60})")
_CASE_FLAG = re.compile(r"^\s*((?:-{1,2}[A-Za-z][\w-]*)(?:\s*\|\s*-{1,2}[A-Za-z][\w-]*)*)\s*\)(.*)$")
_POSITION = re.compile(r"\$\{?([1-9])(?![0-9])")
_NAMED_POSITION = re.compile(r"\b([A-Za-z_]\w*)=[\"']?\$\{?([1-9])(?![0-9])(:?[-?=])?")
_READ = re.compile(r"\bread\s+(?:-[a-z]+\s+)*-?r?p\s+[\"']([^\"']{0,200})")


def read_shell(source: str) -> Usage:
    """What arguments a shell script takes: its usage line; options of `getopts` or `case`; `$1`, `$2`."""
    lines = [line[:_LINE_LIMIT] for line in source[:SOURCE_LIMIT].splitlines()]
    prompts = tuple(found[1] for line in lines for found in _READ.finditer(line))[:40]
    text = "\n".join(line for line in lines if not line.startswith("#!"))
    for line in usage_lines(text):
        usage = read_usage_text(line)
        if usage.parameters:
            return replace(usage, source="usage", prompts=prompts)
    options: dict[tuple[str, ...], Parameter] = {}
    names: dict[int, tuple[str, bool]] = {}
    functions = 0
    for number, line in enumerate(lines):
        if line.lstrip().startswith("#"):
            continue
        if re.match(r"^\s*(?:function\s+\w+|[\w-]+\s*\(\))", line):
            functions += 1
        elif line.startswith("}"):
            functions = 0
        for found in _GETOPTS.finditer(line):
            for letter, colon in re.findall(r"([A-Za-z])(:?)", found[1]):
                options.setdefault(
                    ("-" + letter,), describe(letter, ("-" + letter,), takes_value=bool(colon))
                )
        case = _CASE_FLAG.match(line)
        if case is not None:
            flags = tuple(flag.strip() for flag in case[1].split("|"))
            following = " ".join([case[2], *lines[number + 1 : number + 3]])
            takes = "$2" in following or "shift 2" in following
            options.setdefault(flags, describe(max(flags, key=len).lstrip("-"), flags, takes_value=takes))
            continue
        if functions:
            continue
        for found in _NAMED_POSITION.finditer(line):
            names.setdefault(int(found[2]), (found[1], found[3] not in (":-", "-", ":=", "=")))
        for found in _POSITION.finditer(line):
            names.setdefault(int(found[1]), (f"argument {found[1]}", ":-" not in line))
    if options and any("--" in flag for flags in options for flag in flags):
        names = {}
    positionals = [
        describe(names.get(position, ("argument", True))[0], required=names.get(position, ("", True))[1])
        for position in range(1, max(names, default=0) + 1)
    ]
    found_any = bool(options or names)
    return Usage((*options.values(), *positionals), source="getopts" if found_any else "", prompts=prompts)


_OPTION = re.compile(
    r"\.(requiredOption|option)\(\s*[\"'`]([^\"'`\n]{1,120})[\"'`](?:\s*,\s*[\"'`]([^\"'`\n]{0,200}))?"
)
_ARGUMENT = re.compile(
    r"\.argument\(\s*[\"'`]([<\[][^\"'`\n]{1,80}[>\]])[\"'`](?:\s*,\s*[\"'`]([^\"'`\n]{0,200}))?"
)
_COMMAND = re.compile(r"\.command\(\s*[\"'`]([\w:-]{1,40})((?:\s+[<\[][^\"'`\n]{0,60})?)[\"'`]")
_ARGV = re.compile(r"process\.argv\[(\d)\]")
_NAMED_ARGV = re.compile(r"\b(\w+)\s*=\s*[^=\n]{0,40}process\.argv\[(\d)\]")
_DESTRUCTURED = re.compile(r"\[([\w\s,=\"'.]{1,200})\]\s*=\s*(process\.argv(?:\.slice\(2\))?|args\b|argv\b)")
_ARGS_INDEX = re.compile(r"\b(\w+)\s*=\s*(?:args|argv)\[(\d)\]")
_PARSE_ARGS = re.compile(
    r"^\s*[\"']?([\w-]{1,40})[\"']?\s*:\s*\{[^{}\n]{0,120}\btype\s*:\s*[\"'](string|boolean)[\"'][^{}\n]{0,120}\}"
)
_FLAG_COMPARED = re.compile(r"(?:===?\s*|includes\(|indexOf\(|case\s+)[\"'](--?[A-Za-z][\w-]*)[\"']")
_QUESTION = re.compile(r"\.question\(\s*[\"'`]([^\"'`\n]{0,200})")


def read_javascript(source: str) -> Usage:
    """What arguments a JavaScript or TypeScript program takes."""
    text = "\n".join(line[:_LINE_LIMIT] for line in source[:SOURCE_LIMIT].splitlines())
    prompts = tuple(found[1] for found in _QUESTION.finditer(text))[:40]
    stdin = ""
    if re.search(
        r"process\.stdin\.(?:on|read|setEncoding)|readFileSync\(0|for await \(.{0,40}process\.stdin", text
    ):
        stdin = "json" if "JSON.parse" in text else "text"
    usage = _commander(text) or _usage_line(text) or _javascript_argv(text)
    return replace(usage, prompts=prompts, reads_stdin=stdin)


def _usage_line(text: str) -> Usage | None:
    for line in usage_lines(text):
        usage = read_usage_text(line)
        if usage.parameters:
            return replace(usage, source="usage")
    return None


def _commander(text: str) -> Usage | None:
    events = sorted(
        [(found.start(), "option", found) for found in _OPTION.finditer(text)]
        + [(found.start(), "argument", found) for found in _ARGUMENT.finditer(text)]
        + [(found.start(), "command", found) for found in _COMMAND.finditer(text)],
        key=lambda event: event[0],
    )
    root: list[Parameter] = []
    current = root
    subcommands: dict[str, list[Parameter]] = {}
    for position, what, found in events[:400]:
        if what == "command":
            current = subcommands.setdefault(found[1], [])
            current.extend(_commander_argument(item, "") for item in found[2].split())
        elif what == "argument":
            current.append(_commander_argument(found[1], found[2] or ""))
        else:
            current.append(_javascript_option(found, text[position : position + 300]))
    if not root and not subcommands:
        return None
    return Usage(
        parameters=tuple(root),
        subcommands=tuple(
            (name, Usage(tuple(items), source="commander")) for name, items in subcommands.items()
        ),
        subcommand_required=bool(subcommands),
        source="commander",
    )


def _javascript_option(found: re.Match[str], context: str) -> Parameter:
    spec = found[2]
    flags = tuple(re.findall(r"(?:^|[\s,])(-{1,2}[A-Za-z][\w-]*)", spec))
    if not flags:  # yargs: the bare name, facts in an object
        facts = context.split(")")[0]
        return describe(
            spec.strip(),
            ("--" + spec.strip(),),
            required=bool(re.search(r"demandOption\s*:\s*true", facts)),
            takes_value="boolean" not in facts,
        )
    value = re.search(r"[<\[]([^>\]]{1,60})[>\]]", spec)
    return describe(
        max(flags, key=len).lstrip("-"),
        flags,
        required=found[1] == "requiredOption",
        takes_value=value is not None,
        hint=f"{value[1] if value else ''} {found[3] or ''}",
    )


def _commander_argument(spec: str, hint: str) -> Parameter:
    return describe(spec.strip("<>[].…"), required=spec.startswith("<"), hint=hint)


def _javascript_argv(text: str) -> Usage:
    names: dict[int, str] = {}
    for found in _NAMED_ARGV.finditer(text):
        names.setdefault(int(found[2]) - 1, found[1])
    for found in _ARGV.finditer(text):
        names.setdefault(int(found[1]) - 1, f"argument {int(found[1]) - 1}")
    uses_argv = "process.argv" in text
    if uses_argv:
        for found in _ARGS_INDEX.finditer(text):
            names.setdefault(int(found[2]) + 1, found[1])
        for found in _DESTRUCTURED.finditer(text):
            skip = 2 if found[2] == "process.argv" else 0
            for position, name in enumerate(found[1].split(",")[skip:], start=1):
                if "=" not in name and "..." not in name and name.strip():
                    names.setdefault(position, name.strip())
    names = {position: name for position, name in names.items() if 0 < position < 12}
    options: dict[str, Parameter] = {}
    if "parseArgs" in text:
        for line in text.splitlines():
            option = _PARSE_ARGS.match(line)
            if option is not None:
                flag = "--" + option[1]
                options.setdefault(flag, describe(option[1], (flag,), takes_value=option[2] == "string"))
    if uses_argv:
        for found in _FLAG_COMPARED.finditer(text):
            after = text[found.end() : found.end() + 120]
            takes = bool(re.search(r"\+\s*1\]|\+\+i\]|i\s*\+=\s*1|shift\(\)", after))
            options.setdefault(found[1], describe(found[1].lstrip("-"), (found[1],), takes_value=takes))
    positionals = [
        describe(names.get(n, "argument"), required=True) for n in range(1, max(names, default=0) + 1)
    ]
    if (
        options
        and not _NAMED_ARGV.search(text)
        and all(name.startswith("argument") for name in names.values())
    ):
        positionals = []
    return Usage((*options.values(), *positionals), source="argv" if options or positionals else "")
