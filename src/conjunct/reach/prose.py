"""Directives compiled from prose to reachable actions."""

from __future__ import annotations

import re

from conjunct.model import ActionKind, Compilation, Directive, DirectiveKind, Guard, ResourceClass
from conjunct.reach import resources
from conjunct.reach.commands import URL
from conjunct.reach.downloads import Downloads
from conjunct.reach.foreign_fetch import read_foreign_fetch
from conjunct.reach.found import PACKAGE, UNKNOWN, Place, Sightings
from conjunct.reach.set_up_notes import is_set_up_note
from conjunct.reach.shell import read_shell

_KIND_OF = {
    **dict.fromkeys(("send", "upload", "post", "share", "email", "push", "deploy", "pay"), ActionKind.SEND),
    **dict.fromkeys(("request", "download", "visit", "ask"), ActionKind.CONNECT),
    **dict.fromkeys(("read", "collect", "include", "commit"), ActionKind.READ),
    **dict.fromkeys(
        ("write", "append", "edit", "schedule", "set", "grant", "disable", "copy", "move"), ActionKind.WRITE
    ),
    "delete": ActionKind.DELETE,
    "install": ActionKind.INSTALL,
    "follow": ActionKind.REMOTE_CODE,
}
"""Canonical verbs of the directive compiler to kinds of action."""

_PATH = re.compile(
    r"(?<![\w/])(?:~|\$HOME|\.{1,2})?/[\w.@%+~*-]+/[\w.@%+~/*-]*|(?<!\w)~/[\w.@%+~*-]+|/etc/\w+|"
    r"(?<![\w/])\.[a-z][\w.-]*(?:/[\w.*-]+)*|\b[\w-]+(?:/[\w.-]+)*\.(?:md|json|env|pem|key|ya?ml|toml|txt|sh|csv|log)\b"
)
_HOST = re.compile(
    r"\b(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|ai|app|co|sh|xyz|test|invalid|example|site|me|info|ru|cn)\b",
    re.I,
)
_MAIL = re.compile(r"\b[\w.+-]+@((?:[\w-]+\.)+[a-z]{2,})\b", re.I)
_SECRET_WORDS = re.compile(
    r"\b(?:credentials?|api[ _-]?keys?|passwords?|private keys?|secret keys?|secrets|ssh keys?|seed phrases?|"
    r"access tokens?|auth(?:entication|orization)? tokens?|environment variables|env vars|"
    r"\.env|cookies|wallets?|keychain)\b",
    re.I,
)
_INSTRUCTIONS = re.compile(
    r"\.(?:md|txt|ya?ml|json)(?:$|\?)|instruct|prompt|directive|command|/tasks?\b", re.I
)
"""Addresses under which an agent finds orders, rather than a page for its user."""

_POINTS = re.compile(
    r"\W{0,6}(?:route|refer|point|redirect|direct)\s+to\b.{0,80}\b(?:docs|documentation|guide|manual|page|pages|site|reference)\b",
    re.IGNORECASE,
)
"""Points the reader to a page; nothing is sent."""

_SET_UP = 0.5
"""Confidence of what a set-up note for people leads to: told, not asked about."""

_STEPS = {
    DirectiveKind.OVERRIDE: ActionKind.OVERRIDE,
    DirectiveKind.CONCEAL: ActionKind.CONCEAL,
    DirectiveKind.DELEGATE: ActionKind.DELEGATE,
    DirectiveKind.REMEMBER: ActionKind.REMEMBER,
}


def read_directives(compilation: Compilation, seen: Sightings) -> None:
    """What the agent is told to do. A mention stays a mention; a condition is a guard."""
    downloads: dict[str, Downloads] = {}
    for directive in compilation.directives:
        place = Place(
            directive.file,
            directive.line,
            "prose",
            tuple(
                Guard(item.quote or item.value, directive.line, (item.value,))
                for item in directive.conditions
            ),
            directive.mention,
            min(directive.confidence, _SET_UP) if is_set_up_note(directive) else directive.confidence,
        )
        for condition in directive.conditions:
            seen.constant(condition.value)
            if condition.value.isdigit() and len(condition.value) < 5:
                seen.count(int(condition.value))
        if directive.kind is DirectiveKind.RUN:
            key = f"{directive.file}:{directive.mention}"
            _run(directive, place, seen, downloads.setdefault(key, Downloads()))
        elif directive.kind is DirectiveKind.ACT:
            _act(directive, place, seen)
        else:
            what = ": ".join(filter(None, (directive.target, directive.object or directive.quote)))
            seen.add(place, _STEPS[directive.kind], what, ResourceClass.CONVERSATION)
    for sentence in compilation.uncompiled:
        if sentence.sensitive:
            seen.opaque(Place(sentence.file, sentence.line, "prose"), "uncompiled:prose", 0.3)


def _run(directive: Directive, place: Place, seen: Sightings, downloads: Downloads) -> None:
    if directive.language in ("python", "javascript"):
        seen.snippet(directive.language, directive.command, place)
        return
    command = re.sub(r"\{(?:baseDir|skillDir|skill_dir|SKILL_DIR)\}", PACKAGE, directive.command)
    command = re.sub(r"<(?:[a-z][\w .-]{0,40})>", UNKNOWN, command)
    if re.search(r"\b(?:iex|iwr|irm|powershell|Invoke-)", command, re.I):
        read_foreign_fetch(command, place, seen)
    read_shell(command, place, seen, downloads)


def _act(directive: Directive, place: Place, seen: Sightings) -> None:
    kind = _KIND_OF.get(directive.verb.lower(), ActionKind.EXEC)
    if kind is ActionKind.EXEC:
        return
    if kind is ActionKind.REMOTE_CODE:
        for url in (*_things(directive.object).hosts, *_things(directive.target).hosts):
            seen.network(place, kind if _INSTRUCTIONS.search(url) else ActionKind.CONNECT, url)
        return
    objects = _things(directive.object)
    targets = _things(directive.target)
    if kind is ActionKind.SEND and not directive.object.strip() and _POINTS.match(directive.quote):
        kind = ActionKind.CONNECT
    if kind is ActionKind.SEND:
        for host in targets.hosts or objects.hosts or ((UNKNOWN,) if _leaves(directive) else ()):
            seen.network(place, kind, host)
        for path in (*objects.paths, *objects.secrets):
            seen.path(place, ActionKind.READ, path)
    elif kind is ActionKind.CONNECT:
        for host in objects.hosts or targets.hosts:
            seen.network(place, kind, host)
        for path in (*objects.paths, *objects.secrets):
            seen.path(place, ActionKind.READ, path)
    elif kind is ActionKind.WRITE:
        for path in targets.paths or objects.paths:
            seen.path(place, kind, path)
        if directive.verb.lower() == "schedule" or re.search(
            r"\bcron(?:tab)?\b|launchd|systemd timer", directive.quote, re.I
        ):
            seen.path(place, kind, "schedule:prose")
    else:
        for path in (*objects.paths, *objects.secrets):
            seen.path(place, kind, path)


class _Things:
    """Paths, hosts and kinds of secrets that a phrase names."""

    def __init__(self, text: str) -> None:
        text = text[:2000]
        self.hosts = tuple(
            dict.fromkeys(
                [found.group(0) for found in URL.finditer(text)]
                + [found.group(1) for found in _MAIL.finditer(text)]
                + [found.group(0) for found in _HOST.finditer(text)]
            )
        )
        self.hosts = tuple(host for host in self.hosts if not resources.is_inert_host(host))
        rest = URL.sub(" ", text)
        self.paths = tuple(dict.fromkeys(found.group(0).rstrip(".,;:") for found in _PATH.finditer(rest)))
        self.secrets = tuple(
            dict.fromkeys(
                "env:*" if "env" in found.group(0).lower() else f"keychain:{found.group(0).lower()}"
                for found in _SECRET_WORDS.finditer(rest)
            )
        )


def _things(text: str) -> _Things:
    return _Things(text)


def _leaves(directive: Directive) -> bool:
    """Whether a send without a named host leaves the machine for certain: it names somewhere outside."""
    return bool(
        re.search(
            r"\b(?:server|endpoint|webhook|url|channel|email|address|api|cloud)\b", directive.target, re.I
        )
    )
