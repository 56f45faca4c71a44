"""What people decided, as rules with a scope: suppressed findings, and answers to yes/no questions."""

from __future__ import annotations

import datetime
import fnmatch
from dataclasses import dataclass

from conjunct.model import Finding


@dataclass(frozen=True, slots=True)
class Suppression:
    """One finding of one package version that somebody answers for, until a date."""

    digest: str
    finding: str
    """Code of the finding, or a glob of codes."""
    reason: str
    owner: str
    expires: datetime.date

    def covers(self, finding: Finding, digest: str) -> bool:
        """Whether it is about this finding of this package, expired or not."""
        return self.digest == digest and fnmatch.fnmatchcase(finding.code, self.finding)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question about one skill, until a date.

    It holds for exactly that question: a version that would do the same somewhere else asks again.
    """

    skill: str
    finding: str
    """Code of the finding that asked."""
    question: str
    """Word for word, as the report has it."""
    answer: bool
    """Yes: the finding is a note. No: it rejects."""
    reason: str
    owner: str
    expires: datetime.date
    digest: str = ""
    """Only this version of the package; empty for every version that asks the same."""

    def covers(self, finding: Finding, digest: str) -> bool:
        """Whether it answers this finding of this package, expired or not."""
        return (
            _plain(self.skill) == _plain(finding.skill)
            and self.finding == finding.code
            and finding.question is not None
            and _plain(self.question) == _plain(finding.question)
            and self.digest in ("", digest)
        )


def _plain(text: str) -> str:
    """Text as reports have it: bytes that are no text are escaped, and white space is no difference."""
    return " ".join(text.encode("utf-8", "backslashreplace").decode().split())


@dataclass(frozen=True, slots=True)
class Decided:
    """What a person decided about one package, for the ledger."""

    told: str
    owner: str
    reason: str


def answer_rule(answer: Answer) -> str:
    """The answer as a table of `conjunct.toml`."""
    lines = [
        "[[answer]]",
        f"skill = {_quoted(answer.skill)}",
        *([f"digest = {_quoted(answer.digest)}"] if answer.digest else []),
        f"finding = {_quoted(answer.finding)}",
        f"question = {_quoted(answer.question)}",
        f"answer = {_quoted('yes' if answer.answer else 'no')}",
        f"reason = {_quoted(answer.reason)}",
        f"owner = {_quoted(answer.owner)}",
        f"expires = {answer.expires.isoformat()}",
    ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A TOML basic string: questions quote packages, which may hold anything."""
    escaped = {"\\": "\\\\", '"': '\\"'}
    shown = "".join(
        escaped.get(c, c) if c.isprintable() else f"\\U{ord(c):08x}"
        for c in text.encode("utf-8", "backslashreplace").decode()
    )
    return f'"{shown}"'
