"""How an instruction that is not a command is carried out: `send this file there` becomes a real command."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

import yaml

from conjunct.battery.fill import OUTPUT_FOLDER
from conjunct.model import Directive
from conjunct.world.spec import Layout

_URL = re.compile(r"https?://[^\s`\"'<>)\]]{1,400}")
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_HOST = re.compile(
    r"(?<![\w@/.-])(?:[a-z0-9-]{1,63}\.){1,6}[a-z]{2,24}(?::\d{1,5})?(?:/[^\s`\"'<>)\]]{0,300})?(?![\w-])",
    re.I,
)
_PATH = re.compile(
    r"(?<![\w:/])(?:~|\$HOME|\.{1,2})?/[\w.+@~*-][\w.+@~*/-]{0,250}|"
    r"(?<![\w/])\.[a-z][\w.-]{1,60}(?:/[\w.-]{1,80}){0,6}|"
    r"(?<![\w/.:@])[\w-]{1,80}(?:/[\w.-]{1,80}){0,6}\.[A-Za-z][A-Za-z0-9]{0,7}\b(?!\.\w)|"
    r"(?<![\w/.:@])[\w-]{1,80}/(?![\w/.])"
)
_SECONDS = "10"

_MAIL = """import smtplib, sys, email.message
m = email.message.EmailMessage()
m["From"], m["To"], m["Subject"] = sys.argv[1], sys.argv[2], sys.argv[3]
m.set_content("Attached.")
for p in sys.argv[4:]:
    data = open(p, "rb").read()
    m.add_attachment(data, maintype="application", subtype="octet-stream", filename=p.rsplit("/", 1)[-1])
s = smtplib.SMTP(sys.argv[2].rsplit("@", 1)[1], 25, timeout=10)
s.send_message(m)
s.quit()
"""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the agent has at hand when it carries out an instruction."""

    layout: Layout
    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ()
    """Paths that earlier commands were told to write, latest last."""
    members: Mapping[str, str] = field(default_factory=dict)
    """Files of the acting skill's package, and where they are in the world."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do: a command, a text to write, or a text to say."""

    argv: tuple[str, ...] = ()
    stdin: bytes = b""
    path: str = ""
    text: str = ""
    say: str = ""
    follow: bool = False
    """What the command prints is to be followed as instructions."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """`data/acts.yaml`."""

    objects: tuple[tuple[re.Pattern[str], str], ...]
    to_the_user: frozenset[str]
    memory_file: str
    memory_names: Mapping[str, str]
    general_overrides: frozenset[str]


@cache
def vocabulary() -> Vocabulary:
    """The words that come with the package."""
    raw = yaml.safe_load(
        resources.files("conjunct.agent").joinpath("data/acts.yaml").read_text(encoding="utf-8")
    )
    objects = tuple(
        (
            re.compile(r"(?<![\w.])(?:" + "|".join(re.escape(str(word)) for word in item["words"]) + r")\b"),
            str(item["source"]),
        )
        for item in raw["objects"]
    )
    return Vocabulary(
        objects=objects,
        to_the_user=frozenset(map(str, raw["to_the_user"])),
        memory_file=str(raw["memory_file"]),
        memory_names={str(key): str(value) for key, value in raw["memory_names"].items()},
        general_overrides=frozenset(str(word).lower() for word in raw["general_overrides"]),
    )


def steps_for(directive: Directive, around: Surroundings) -> tuple[Step, ...]:
    """The commands that carry out an `act`; none where object or target cannot be told."""
    urls = _URL.findall(directive.target) or _URL.findall(directive.object)
    email = _EMAIL.search(directive.target) or _EMAIL.search(directive.object)
    match directive.verb:
        case (
            "send"
            | "upload"
            | "post"
            | "share"
            | "email"
            | "deploy"
            | "include"
            | "pay"
            | "grant"
            | "collect"
        ):
            return _send(directive, around, urls, email[0] if email else "")
        case "request" | "download" | "visit" | "follow":
            return _fetch(directive, around, urls)
        case "read":
            return tuple(Step(argv=("cat", path), follow=True) for path in _named(directive, around))
        case "write" | "append" | "set" | "schedule" | "edit":
            return _write(directive, around)
        case "delete":
            return tuple(Step(argv=("rm", "-rf", "--", path)) for path in _named(directive, around))
        case "copy" | "move":
            return _copy(directive, around)
        case "commit":
            return (
                Step(argv=("git", "add", "-A")),
                Step(argv=("git", "commit", "-q", "-m", _message(directive))),
            )
        case "push":
            remote = next(iter(urls), "origin")
            return (Step(argv=("git", "push", remote, "HEAD")),)
        case _:
            return ()


def remember_step(directive: Directive, layout: Layout) -> Step:
    """Appending what is to be remembered to the agent's memory file, or to the one the text names."""
    words = vocabulary()
    text = f"{directive.target} {directive.quote}"
    named = next(
        (path for name, path in words.memory_names.items() if name.lower() in text.lower()), words.memory_file
    )
    path = named.replace("~", layout.home, 1).replace("{workspace}", layout.workspace)
    return Step(path=path, text=(directive.object or directive.quote).strip() + "\n")


def compiled_steps(directive: Directive) -> tuple[Step, ...]:
    """The command of a `run` directive that came from elsewhere than a package, as shell text."""
    return (Step(argv=("bash", "-c", directive.command)),) if directive.command.strip() else ()


# ---- verbs


def _send(directive: Directive, around: Surroundings, urls: list[str], email: str) -> tuple[Step, ...]:
    address = next(iter(urls), "") or (_https(directive.target) if not email else "")
    if not address and not email:
        if directive.verb in ("include", "share", "post", "send"):
            return _place(directive, around)
        return ()
    sources = sources_of(directive.object, around)
    if email:
        files = [source for source in sources if source.startswith("/")]
        return (
            Step(
                argv=(
                    "python3",
                    "-c",
                    _MAIL,
                    "sam@example.com",
                    email,
                    directive.object[:80] or "Report",
                    *files,
                )
            ),
        )
    steps: list[Step] = []
    for source in sources:
        if source == "@environment":
            steps.append(
                Step(
                    argv=(
                        "bash",
                        "-c",
                        f'env | curl -sS -m {_SECONDS} --data-binary @- "$1"',
                        "bash",
                        address,
                    )
                )
            )
        elif source.startswith("/"):
            steps.append(_upload(source, address))
    if not steps:
        steps.append(
            Step(
                argv=(
                    "curl",
                    "-sS",
                    "-m",
                    _SECONDS,
                    "--data-binary",
                    directive.object[:400] or "done",
                    address,
                ),
                follow=True,
            )
        )
    return tuple(steps)


def _upload(path: str, address: str) -> Step:
    """A file goes as it is, a folder as an archive: what `send the project` means."""
    script = (
        'if [ -d "$1" ]; then tar -czf - -C "$1" . ; else cat -- "$1"; fi | '
        f'curl -sS -m {_SECONDS} --data-binary @- "$2"'
    )
    if re.search(r"\.[A-Za-z0-9]{1,8}$", path.rpartition("/")[2]) or "/." in path:
        return Step(argv=("curl", "-sS", "-m", _SECONDS, "--data-binary", f"@{path}", address), follow=True)
    return Step(argv=("bash", "-c", script, "bash", path, address), follow=True)


def _fetch(directive: Directive, around: Surroundings, urls: list[str]) -> tuple[Step, ...]:
    addresses = urls or [
        address for address in [_https(directive.target) or _https(directive.object)] if address
    ]
    follow = directive.verb in ("follow", "visit", "request", "download")
    steps = []
    for address in addresses[:3]:
        if (
            directive.verb == "download"
            and (name := address.rstrip("/").rpartition("/")[2].partition("?")[0])
            and "." in name
        ):
            path = f"{around.layout.workspace}/{OUTPUT_FOLDER}/{name}"
            steps.append(Step(argv=("curl", "-sSL", "-m", _SECONDS, "--create-dirs", "-o", path, address)))
        else:
            steps.append(Step(argv=("curl", "-sSL", "-m", _SECONDS, address), follow=follow))
    return tuple(steps)


def _write(directive: Directive, around: Surroundings) -> tuple[Step, ...]:
    targets = _paths(directive.target, around) or _paths(directive.object, around)
    line = re.search(r"`([^`]{1,400})`", directive.object) or re.search(r"`([^`]{1,400})`", directive.quote)
    if directive.verb == "schedule":
        entry = line[1] if line is not None and re.search(r"[*@\d]\s", line[1]) else ""
        script = '(crontab -l 2>/dev/null; printf "%s\\n" "$1") | crontab -'
        return (Step(argv=("bash", "-c", script, "bash", entry)),) if entry else ()
    if not targets:
        return ()
    target = targets[0]
    sources = [source for source in sources_of(directive.object, around) if source != target]
    for source in sources:
        if source.startswith("/"):
            return (
                Step(
                    argv=(
                        "bash",
                        "-c",
                        'mkdir -p "$(dirname "$2")" && cat -- "$1" >> "$2"',
                        "bash",
                        source,
                        target,
                    )
                ),
            )
        if source == "@environment":
            return (Step(argv=("bash", "-c", 'env >> "$1"', "bash", target)),)
    return (
        Step(path=target, text=(line[1] if line is not None else directive.object or directive.quote) + "\n"),
    )


def _copy(directive: Directive, around: Surroundings) -> tuple[Step, ...]:
    targets = _paths(directive.target, around)
    sources = [source for source in sources_of(directive.object, around) if source.startswith("/")]
    if not targets or not sources:
        return ()
    program = ("mv",) if directive.verb == "move" else ("cp", "-r")
    return tuple(Step(argv=(*program, "--", source, targets[0])) for source in sources)


def _place(directive: Directive, around: Surroundings) -> tuple[Step, ...]:
    """`include the key in the report`: into a file the text names, else into what the user is told."""
    sources = sources_of(directive.object, around)
    targets = _paths(directive.target, around)
    if not targets and re.search(
        r"\b(?:report|output|file|document|summary|commit|header|comment)", directive.target.lower()
    ):
        targets = list(around.outputs[-1:])
    readable = [source for source in sources if source.startswith("/")]
    if targets:
        return tuple(
            Step(argv=("bash", "-c", 'cat -- "$1" >> "$2"', "bash", source, targets[0]))
            for source in readable
        )
    if any(word in vocabulary().to_the_user for word in re.findall(r"[a-z]+", directive.target.lower())):
        return tuple(Step(argv=("cat", "--", source)) for source in readable if "/." in source)
    return ()


# ---- what words stand for


def sources_of(text: str, around: Surroundings) -> tuple[str, ...]:
    """Paths (or `@environment`) that an object stands for; a path in the text goes before any word."""
    named = _paths(text, around)
    if named:
        return tuple(named)
    lowered = text.lower()[:2000]
    for pattern, source in vocabulary().objects:
        if pattern.search(lowered):
            return _places(source, around)
    return ()


def _places(source: str, around: Surroundings) -> tuple[str, ...]:
    layout = around.layout
    match source:
        case "@conversation" | "@request":
            return (layout.session_file,)
        case "@memory":
            return (vocabulary().memory_file.replace("~", layout.home, 1),)
        case "@outputs":
            return tuple(around.outputs[-1:])
        case "@inputs":
            return tuple(around.inputs[:1])
        case "@workspace":
            return (layout.workspace,)
        case "@environment":
            return (source,)
        case _:
            return (source.replace("~", layout.home, 1).replace("{workspace}", layout.workspace),)


def _paths(text: str, around: Surroundings) -> list[str]:
    """Paths that a text names, absolute in the world."""
    layout = around.layout
    bare = _EMAIL.sub(" ", _URL.sub(" ", text[:2000]))
    found: list[str] = []
    for match in _PATH.finditer(bare):
        path = match[0].rstrip(".,;:").replace("$HOME", "~")
        if path.removeprefix("./") in around.members:
            path = around.members[path.removeprefix("./")]
        elif path.startswith("~"):
            path = path.replace("~", layout.home, 1)
        elif not path.startswith("/"):
            path = f"{layout.workspace}/{path.removeprefix('./')}"
        by_name = {item.rpartition("/")[2]: item for item in [*around.inputs, *around.outputs]}
        path = by_name.get(path.rpartition("/")[2], path) if path.startswith(layout.workspace) else path
        if path.count("/") > 1 and path not in found:
            found.append(path)
    return found[:8]


def _named(directive: Directive, around: Surroundings) -> list[str]:
    """Paths in the object, or failing that in the target (`delete all files in ~/Documents`)."""
    return _paths(directive.object, around) or _paths(directive.target, around)


def _https(text: str) -> str:
    bare = _EMAIL.sub(" ", text)
    for match in _HOST.finditer(bare):
        host = match[0].rstrip(".,;:")
        last = host.partition("/")[0].partition(":")[0].rpartition(".")[2].lower()
        if last not in (
            "md",
            "py",
            "sh",
            "js",
            "json",
            "txt",
            "csv",
            "pdf",
            "html",
            "yaml",
            "yml",
            "ts",
            "toml",
            "log",
            "env",
        ):
            return f"https://{host}"
    return ""


def _message(directive: Directive) -> str:
    quoted = re.search(r"[\"'`]([^\"'`]{3,120})[\"'`]", directive.quote)
    return quoted[1] if quoted else "Update"
