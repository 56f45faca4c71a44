"""`conjunct answer`: the answer to a skill's open question becomes a rule in the admission policy."""

from __future__ import annotations

import datetime
import tempfile
from dataclasses import dataclass
from pathlib import Path

from conjunct.errors import PolicyError, StoreError, UsageError
from conjunct.gate import Answer, answer_rule
from conjunct.gate.policy import POLICY_FILE, read_policy
from conjunct.gate.stored import unpack_vetting
from conjunct.run import Store
from conjunct.run.store import DEFAULT_STORE
from conjunct.vet import VetOptions, beside

VALID_DAYS = 365
"""Days that an answer holds where no date is given."""


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """An answer, and where it goes."""

    skill: str
    answer: bool
    owner: str
    """Who answers for it."""
    reason: str
    expires: datetime.date | None = None
    every_version: bool = False
    """Whether it holds for other versions that ask the same, too."""
    policy: Path | None = None
    """By default `conjunct.toml` of the registry that was vetted last."""
    store: Path | None = None


def answer_question(options: AnswerOptions, *, today: datetime.date) -> tuple[Answer, Path]:
    """Append the answer to the policy file, which is made where there is none; the rule and the file.

    Raises:
        StoreError: there is no store, or no verdict on that skill in it.
        UsageError: the skill has no open question, owner or reason is empty, or the date is past.
        PolicyError: the policy file is not valid, or cannot be written; nothing is changed then.
    """
    for name, value in (("--owner", options.owner), ("--reason", options.reason)):
        if not value.strip():
            raise UsageError(f"{name} is empty: an answer needs somebody who gives it, and why")
    expires = options.expires or today + datetime.timedelta(days=VALID_DAYS)
    if expires < today:
        raise UsageError(f"--expires is {expires}, which is past")
    path = options.store or DEFAULT_STORE
    if not path.exists():
        raise StoreError(f"{path}: there is no run store here; run `conjunct vet` first or pass --store")
    store = Store(path)
    entry = store.latest_report(options.skill)
    vetted = store.vetting()
    store.close()
    if entry is None:
        raise StoreError(f"{path}: holds no verdict on {options.skill!r}; run `conjunct vet` on it first")
    rule = Answer(
        skill=str(entry["id"]),
        finding=_asking(entry),
        question=str(entry["question"]),
        answer=options.answer,
        reason=options.reason.strip(),
        owner=options.owner.strip(),
        expires=expires,
        digest="" if options.every_version else str(entry["digest"]),
    )
    target = options.policy or _policy_of(vetted)
    _append(target, answer_rule(rule))
    return rule, target


def _asking(entry: dict[str, object]) -> str:
    """Code of the finding behind the open question."""
    question, findings = entry["question"], entry["findings"]
    if not question or not isinstance(findings, list):
        raise UsageError(
            f"{entry['id']}: its verdict is {entry['verdict']} and asks nothing; "
            f"`conjunct explain {entry['id']}` tells what it rests on"
        )
    return next(str(one["code"]) for one in findings if one["question"] == question)


def _policy_of(vetted: bytes | None) -> Path:
    if vetted is None:
        raise UsageError("the store does not say which registry was vetted; name the policy with --policy")
    known = unpack_vetting(vetted)
    folder = Path(known.registry or known.path)
    there = beside(VetOptions(path=folder), None, POLICY_FILE)
    if there is not None:
        return there
    if not folder.is_dir() or any(item.name.lower() == "skill.md" for item in folder.iterdir()):
        raise UsageError(f"{folder} is no folder of skills, where a policy is kept; name one with --policy")
    return folder / POLICY_FILE


def _append(path: Path, rule: str) -> None:
    """Add a rule at the end, whole or not at all, and only if the policy is valid with it."""
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        text += ("" if not text or text.endswith("\n") else "\n") + ("\n" if text else "") + rule
        read_policy(text, path)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as stream:
            stream.write(text)
        made = Path(stream.name)
        made.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
        made.replace(path)
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(
            f"{path}: the answer cannot be added ({error}); name another with --policy"
        ) from error
