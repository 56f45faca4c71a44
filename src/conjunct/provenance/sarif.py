"""Alerts of static scanners, read from SARIF 2.1.0. Untrusted input: bounded, and never more than text."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from conjunct.errors import UsageError

_MOST_BYTES = 128 << 20
_MOST_ALERTS = 100_000
_LONGEST = 400
_NO_ALERT = frozenset({"pass", "notApplicable", "informational"})


@dataclass(frozen=True, slots=True)
class Alert:
    """One result of a scanner."""

    tool: str
    rule: str
    level: str
    """`error`, `warning`, `note` or `none`, as the scanner says; never decides anything here."""
    message: str
    file: str
    """Path as the scanner gives it, without scheme; absolute or relative to what it scanned; may be empty."""
    line: int | None = None
    """First line (1-based); `None` where the whole file is meant."""
    end_line: int | None = None

    def place(self) -> str:
        """`file:line`, as far as the alert has them."""
        return f"{self.file}:{self.line}" if self.line else self.file or "no place"


def read_sarif(path: Path) -> tuple[Alert, ...]:
    """The alerts of a SARIF 2.1.0 file; results that passed or that their scanner suppresses are left out.

    Raises:
        UsageError: the file cannot be read or is no SARIF log; says what is wrong and where.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror}); check the path of --import-sarif"
        ) from error
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{path}: is larger than {_MOST_BYTES >> 20} MiB; split it by run")
    return parse_sarif(data, str(path))


def parse_sarif(data: bytes, name: str = "SARIF") -> tuple[Alert, ...]:
    """The alerts in the bytes of a SARIF log. Raises `UsageError` for anything that is none."""
    try:
        log = json.loads(data.decode(json.detect_encoding(data)))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name}: is no JSON: {error}; pass a SARIF 2.1.0 log") from error
    runs = log.get("runs") if isinstance(log, dict) else None
    if not isinstance(log, dict) or not isinstance(runs, list):
        raise UsageError(f"{name}: has no list of runs; pass a SARIF 2.1.0 log")
    version = log.get("version")
    if not isinstance(version, str) or not version.startswith("2."):
        raise UsageError(f"{name}: is SARIF {version!r:.40}; version 2.1.0 is read")
    alerts: list[Alert] = []
    for number, run in enumerate(runs):
        if not isinstance(run, dict) or not isinstance(run.get("results", []), list | type(None)):
            raise UsageError(f"{name}: run {number} is no object with a list of results")
        for alert in _alerts(run):
            if len(alerts) >= _MOST_ALERTS:
                raise UsageError(f"{name}: holds more than {_MOST_ALERTS:,} alerts; split it by run")
            alerts.append(alert)
    return tuple(dict.fromkeys(alerts))


def _alerts(run: dict[str, Any]) -> Iterator[Alert]:
    driver = _object(_object(run.get("tool")).get("driver"))
    rules = _list(driver.get("rules"))
    tool = _text(driver.get("name")) or "scanner"
    for result in _list(run.get("results")):
        if not isinstance(result, dict) or _text(result.get("kind")) in _NO_ALERT or _suppressed(result):
            continue
        rule = _rule(result, rules)
        level = _text(result.get("level")) or _text(_object(rule.get("defaultConfiguration")).get("level"))
        located = [one for one in _list(result.get("locations")) if isinstance(one, dict)] or [{}]
        physical = _object(located[0].get("physicalLocation"))
        region = _object(physical.get("region"))
        line = _line(region.get("startLine"))
        end = _line(region.get("endLine"))
        yield Alert(
            tool=tool,
            rule=_text(result.get("ruleId")) or _text(rule.get("id")),
            level=level or "warning",
            message=_message(result, rule),
            file=_file(_object(physical.get("artifactLocation")), run),
            line=line,
            end_line=max(end, line) if end and line else line,
        )


def _suppressed(result: dict[str, Any]) -> bool:
    """Whether the scanner's own users have dealt with it; an open or rejected suppression is none."""
    listed = [one for one in _list(result.get("suppressions")) if isinstance(one, dict)]
    return bool(listed) and all(one.get("status", "accepted") == "accepted" for one in listed)


def _rule(result: dict[str, Any], rules: list[Any]) -> dict[str, Any]:
    index = result.get("ruleIndex", _object(result.get("rule")).get("index"))
    if isinstance(index, int) and 0 <= index < len(rules):
        return _object(rules[index])
    wanted = result.get("ruleId") or _object(result.get("rule")).get("id")
    return next((rule for rule in rules if isinstance(rule, dict) and rule.get("id") == wanted), {})


def _message(result: dict[str, Any], rule: dict[str, Any]) -> str:
    message = _object(result.get("message"))
    stored = _object(_object(rule.get("messageStrings")).get(_text(message.get("id"))))
    short = _object(rule.get("shortDescription"))
    texts = (message.get("text"), stored.get("text"), message.get("markdown"), short.get("text"))
    return next((text for text in map(_text, texts) if text), "")


def _file(artifact: dict[str, Any], run: dict[str, Any]) -> str:
    """The path of a location, joined with the base it is relative to; bases may name other bases."""
    artifacts = _list(run.get("artifacts"))
    index = artifact.get("index")
    if "uri" not in artifact and isinstance(index, int) and 0 <= index < len(artifacts):
        artifact = _object(_object(artifacts[index]).get("location"))
    bases = _object(run.get("originalUriBaseIds"))
    path, base = _path(artifact.get("uri")), artifact.get("uriBaseId")
    for _ in range(8):
        if path.startswith("/") or not isinstance(base, str):
            break
        holder = _object(bases.get(base))
        path = posixpath.join(_path(holder.get("uri")), path)
        base = holder.get("uriBaseId")
    return posixpath.normpath(path) if path else ""


def _path(uri: object) -> str:
    text = uri if isinstance(uri, str) else ""
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    if parts.scheme not in {"", "file"} and len(parts.scheme) > 1:
        return ""
    path = unquote(parts.path if len(parts.scheme) != 1 else text.partition(":")[2])
    return path.replace("\\", "/")[:4096].replace("\0", "")


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return " ".join(value.split())[:_LONGEST] if isinstance(value, str) else ""


def _line(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 31 else None
