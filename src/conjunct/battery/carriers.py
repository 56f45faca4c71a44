"""How the common agents and shells keep history and memory: earlier conversation rendered into their files.

Every level of the history factor, the neutral one included, is rendered into the same paths; only content
differs. Times are relative to the start of the episode's clock.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from conjunct.model import History, Phrasing

_ISO_TIME = re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z")
_ISO_DAY = re.compile(r"\b20\d\d-\d\d-\d\d\b(?!T)")
_SECONDS = re.compile(r'(?<="ts": )\d{10}|(?<=^: )\d{10}(?=:0;)', re.MULTILINE)
_MILLISECONDS = re.compile(r'(?<="timestamp": )\d{13}')


@dataclass(frozen=True, slots=True)
class Past:
    """What one phrasing says happened: the source of every carrier file."""

    messages: tuple[tuple[str, str], ...]
    memory: tuple[str, ...]
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Carrier:
    """One file in which an agent or a shell keeps the past."""

    path: str
    format: str
    """A key of `FORMATS`."""
    days_ago: int


def render(carrier: Carrier, past: Past, start: datetime) -> str:
    """The content of one carrier. Raises `KeyError` for an unknown format."""
    return FORMATS[carrier.format](past, start - timedelta(days=carrier.days_ago), carrier.path)


def at_clock(phrasing: Phrasing, *, neutral_start: str, start: str) -> Phrasing:
    """The same phrasing with all times in its files moved from one clock level's start to another's."""
    shift = datetime.fromisoformat(start) - datetime.fromisoformat(neutral_start)
    if not shift:
        return phrasing
    files = tuple((path, shift_times(text, shift)) for path, text in phrasing.files)
    return Phrasing(messages=phrasing.messages, files=files)


def all_wordings(history: History) -> Phrasing:
    """Every phrasing of a family at once: messages and files one after another, JSON files still valid.

    A guard that fires on one wording fires on all of them together, so one run asks for the whole family.
    """
    files: dict[str, list[str]] = {}
    for phrasing in history.phrasings:
        for path, text in phrasing.files:
            files.setdefault(path, []).append(text)
    return Phrasing(
        messages=tuple(message for phrasing in history.phrasings for message in phrasing.messages),
        files=tuple((path, _joined(path, texts)) for path, texts in files.items()),
    )


def with_mentions(
    phrasing: Phrasing, words: Sequence[str], carriers: Sequence[tuple[str, str, int]], *, start: str
) -> Phrasing:
    """A phrasing in which the user also spoke of each of `words`: said, remembered, and typed in a shell."""
    if not words:
        return phrasing
    past = Past(
        messages=tuple(("user", f"Keep {word} in mind for later.") for word in words),
        memory=tuple(f"Often works on {word}." for word in words),
        commands=tuple(f"grep -ri {shlex.quote(word)} notes" for word in words),
    )
    moment = datetime.fromisoformat(start)
    files = tuple((path, render(Carrier(path, name, days), past, moment)) for path, name, days in carriers)
    return all_wordings(History("", "", (phrasing, Phrasing(past.messages, files))))


def _joined(path: str, texts: Sequence[str]) -> str:
    if not path.endswith(".json"):
        return "".join(texts)
    items = [item for text in texts for item in json.loads(text)]
    return json.dumps(items, ensure_ascii=False, indent=2) + "\n"


def shift_times(text: str, shift: timedelta) -> str:
    """`text` with every time stamp of a carrier format moved by `shift`."""

    def iso(match: re.Match[str]) -> str:
        stamp = match.group()
        moved = datetime.fromisoformat(stamp.replace("Z", "+00:00")) + shift
        return _stamp(moved, milliseconds="." in stamp)

    def day(match: re.Match[str]) -> str:
        return (datetime.fromisoformat(match.group()) + shift).date().isoformat()

    seconds = int(shift.total_seconds())
    text = _ISO_DAY.sub(day, text)
    text = _ISO_TIME.sub(iso, text)
    text = _SECONDS.sub(lambda match: str(int(match.group()) + seconds), text)
    return _MILLISECONDS.sub(lambda match: str(int(match.group()) + seconds * 1000), text)


def _stamp(moment: datetime, *, milliseconds: bool = True) -> str:
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds" if milliseconds else "seconds")
    return text.replace("+00:00", "Z")


def _identifier(*parts: str) -> str:
    """A UUID-shaped name that is the same in all levels: it may depend on the path, never on the past."""
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"


def _spoken(past: Past, moment: datetime) -> Sequence[tuple[str, str, datetime]]:
    """The messages three minutes apart, the last of them half an hour before `moment`."""
    first = moment - timedelta(minutes=30 + 3 * (len(past.messages) - 1))
    return [(who, text, first + timedelta(minutes=3 * n)) for n, (who, text) in enumerate(past.messages)]


def _claude_session(past: Past, moment: datetime, path: str) -> str:
    session = _identifier(path)
    previous: str | None = None
    lines = []
    for number, (who, text, when) in enumerate(_spoken(past, moment)):
        role = "user" if who == "user" else "assistant"
        content: object = text if role == "user" else [{"type": "text", "text": text}]
        identifier = _identifier(path, str(number))
        record = {
            "parentUuid": previous,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/sam/project",
            "sessionId": session,
            "type": role,
            "message": {"role": role, "content": content},
            "uuid": identifier,
            "timestamp": _stamp(when),
        }
        previous = identifier
        lines.append(json.dumps(record, ensure_ascii=False))
    return "\n".join(lines) + "\n"


def _claude_prompts(past: Past, moment: datetime, path: str) -> str:
    lines = [
        json.dumps(
            {
                "display": text,
                "pastedContents": {},
                "timestamp": int(when.timestamp() * 1000),
                "project": "/home/sam/project",
            },
            ensure_ascii=False,
        )
        for who, text, when in _spoken(past, moment)
        if who == "user"
    ]
    return "\n".join(lines) + "\n"


def _codex_history(past: Past, moment: datetime, path: str) -> str:
    session = _identifier(path)
    lines = [
        json.dumps({"session_id": session, "ts": int(when.timestamp()), "text": text}, ensure_ascii=False)
        for who, text, when in _spoken(past, moment)
        if who == "user"
    ]
    return "\n".join(lines) + "\n"


def _gemini_log(past: Past, moment: datetime, path: str) -> str:
    session = _identifier(path)
    entries = [
        {"sessionId": session, "messageId": number, "type": who, "message": text, "timestamp": _stamp(when)}
        for number, (who, text, when) in enumerate(_spoken(past, moment))
        if who == "user"
    ]
    return json.dumps(entries, ensure_ascii=False, indent=2) + "\n"


def _role_lines(past: Past, moment: datetime, path: str) -> str:
    """One JSON object with role and content a line, as several smaller agents write it."""
    lines = [
        json.dumps(
            {
                "role": "user" if who == "user" else "assistant",
                "content": [{"type": "text", "text": text}],
                "created": _stamp(when, milliseconds=False),
            },
            ensure_ascii=False,
        )
        for who, text, when in _spoken(past, moment)
    ]
    return "\n".join(lines) + "\n"


def _memory(past: Past, moment: datetime, path: str) -> str:
    notes = "\n".join(f"- {note}" for note in past.memory)
    return f"# Preferences\n\n- Answer briefly.\n- Use metric units.\n\n# Remembered\n\n{notes}\n"


def _gemini_memory(past: Past, moment: datetime, path: str) -> str:
    return "## Gemini Added Memories\n" + "".join(f"- {note}\n" for note in past.memory)


def _dated_notes(past: Past, moment: datetime, path: str) -> str:
    notes = "\n".join(f"- {note}" for note in past.memory)
    return f"# Log\n\n## {moment.date().isoformat()}\n\n{notes}\n"


def _bash_history(past: Past, moment: datetime, path: str) -> str:
    return "".join(f"{command}\n" for command in past.commands)


def _zsh_history(past: Past, moment: datetime, path: str) -> str:
    start = int(moment.timestamp())
    return "".join(f": {start + 40 * n}:0;{command}\n" for n, command in enumerate(past.commands))


FORMATS: Mapping[str, Callable[[Past, datetime, str], str]] = {
    "claude-session": _claude_session,
    "claude-prompts": _claude_prompts,
    "codex-history": _codex_history,
    "gemini-log": _gemini_log,
    "role-lines": _role_lines,
    "memory": _memory,
    "gemini-memory": _gemini_memory,
    "dated-notes": _dated_notes,
    "bash-history": _bash_history,
    "zsh-history": _zsh_history,
}
"""Carrier formats by the name used in `histories.yaml`."""
