"""Whether a package is what somebody trusted signed. Offline: only what the trust policy pins counts."""

from __future__ import annotations

import datetime
import fnmatch
import hashlib
import hmac
import os
import posixpath
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from conjunct.model import Entry, Finding, Layer, Registry, Severity, Skill
from conjunct.provenance.bundle import (
    Bundle,
    BundleError,
    SignedFile,
    Statement,
    read_bundle,
    read_statement,
)
from conjunct.provenance.trust import Signer, Trust

NAMES = ("skill.oms.sig", "model.sig", "*.oms.sig", "*.sigstore.json", "*.sigstore")
"""Globs of signature files, in the root of a package, in the order in which they are tried."""
_MOST_BYTES = 8 << 20
_ALGORITHMS = frozenset({"sha256", "sha384", "sha512", "blake2b"})
_SHOWN = 4


class State(StrEnum):
    """What can be said about the signature of a package."""

    UNSIGNED = "unsigned"
    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    """There is a signature, and what is here cannot tell whether somebody trusted made it."""
    INVALID = "invalid"
    """There is a signature, and the package is not what was signed, or the signature does not hold."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The answer for one package."""

    state: State
    signer: str = ""
    """Name of the trusted signer; set only where verified."""
    claimed: str = ""
    """Who the enclosed certificate says has signed."""
    file: str = ""
    reason: str = ""
    """Why it is not verified."""
    outside: tuple[str, ...] = ()
    """Files of the package that the signer left out of what was signed."""


def check_signature(skill: Skill, trust: Trust, *, now: datetime.datetime | None = None) -> Signature:
    """Verify the signature of a package, if it has one, against the trust policy. Never raises for a package.

    `now` is when certificates have to be valid, by default the present time.
    """
    entry = _signature_file(skill)
    if entry is None:
        return Signature(State.UNSIGNED, reason="the package holds no signature")
    try:
        bundle = read_bundle(_content(skill, entry))
        statement = read_statement(bundle.payload)
    except BundleError as error:
        return Signature(State.UNVERIFIED, file=entry.path, reason=str(error))
    claimed = _claimed(bundle)
    differs = _differences(skill, entry, statement)
    if differs:
        more = f" and {len(differs) - _SHOWN} more" if len(differs) > _SHOWN else ""
        told = "; ".join(differs[:_SHOWN]) + more
        return Signature(State.INVALID, claimed=claimed, file=entry.path, reason=told)
    state, signer, reason = _who(
        bundle, trust.for_skill(skill.name), now or datetime.datetime.now(datetime.UTC)
    )
    outside = tuple(one.path for one in skill.entries if one is not entry and _ignored(one.path, statement))
    return Signature(state, signer, claimed, entry.path, reason, outside)


def signature_findings(
    skill: Skill, trust: Trust, *, now: datetime.datetime | None = None
) -> tuple[Finding, ...]:
    """What the signature of a package gives rise to: nothing for an unsigned one that need not be signed."""
    signature = check_signature(skill, trust, now=now)
    required = trust.requires(skill.name)
    by = f" by {signature.claimed}" if signature.claimed else ""
    if signature.state is State.UNSIGNED:
        if not required:
            return ()
        told = "is not signed, although the trust policy asks for a signature"
        return (_finding(skill, "provenance.unsigned", told, Severity.REVIEW, None),)
    if signature.state is State.INVALID:
        told = f"is not what was signed{by}: {signature.reason}"
        return (_finding(skill, "provenance.signature-invalid", told, Severity.REVIEW, signature.file),)
    if signature.state is State.UNVERIFIED:
        told = f"carries a signature{by} that is not verified: {signature.reason}"
        severity = Severity.REVIEW if required else Severity.NOTE
        return (_finding(skill, "provenance.signature-unverified", told, severity, signature.file),)
    told = f"is signed by {signature.signer}"
    if signature.outside:
        told += f"; outside of the signature: {', '.join(signature.outside[:_SHOWN])}"
    return (_finding(skill, "provenance.signed", told, Severity.NOTE, signature.file),)


def with_signatures(registry: Registry, trust: Trust) -> Registry:
    """The registry with what the signature of each skill gives rise to among its findings."""
    skills = tuple(
        replace(skill, findings=(*skill.findings, *signature_findings(skill, trust)))
        for skill in registry.skills
    )
    return replace(registry, skills=skills)


def _finding(skill: Skill, code: str, told: str, severity: Severity, file: str | None) -> Finding:
    question = None
    if severity is Severity.REVIEW:
        question = f"Do you know from its publisher that this is the {skill.name} that was published?"
    return Finding(skill.id, Layer.CLAIMS, code, told, severity, file, question=question)


# ---- who signed


def _who(bundle: Bundle, signers: tuple[Signer, ...], now: datetime.datetime) -> tuple[State, str, str]:
    """(state, trusted signer, reason) of an envelope whose files are as listed."""
    from cryptography.x509 import Certificate

    from conjunct.provenance.chain import (
        ChainError,
        check_chain,
        key_of,
        load_chain,
        names_of,
        signature_holds,
    )
    from conjunct.provenance.log_entry import issuers_of, signing_time

    data = bundle.signed_bytes()
    chain: tuple[Certificate, ...] = ()
    if bundle.certificates:
        try:
            chain = load_chain(bundle.certificates)
            key = key_of(chain[0])
        except ChainError as error:
            return State.UNVERIFIED, "", str(error)
        if not any(signature_holds(key, one, data) for one in bundle.signatures):
            return State.INVALID, "", "the signature does not fit the enclosed certificate"
    reasons: list[str] = []
    for signer in signers:
        if signer.key is not None:
            if any(signature_holds(signer.key, one, data) for one in bundle.signatures):
                return State.VERIFIED, signer.name, ""
            reasons.append(f"it was not made with the key of {signer.name}")
        elif signer.certificate is not None and chain:
            try:
                at = now if signer.log is None else signing_time(bundle, chain[0], signer.log)
                check_chain(chain, signer.certificate, at=at)
            except ChainError as error:
                reasons.append(str(error))
                continue
            if signer.subject and signer.subject not in names_of(chain[0]):
                reasons.append(f"the certificate is not that of {signer.subject}")
            elif signer.issuer and signer.issuer not in issuers_of(chain[0]):
                reasons.append(f"{signer.issuer} did not vouch for {signer.subject}")
            else:
                return State.VERIFIED, signer.name, ""
    if bundle.keyless and not any(signer.log for signer in signers):
        reasons.append(
            "it rests on a certificate of minutes, which only the key of a transparency log can date; pin one"
        )
    if not reasons:
        known = (
            "no certificate comes with it"
            if signers
            else "no signer in the trust policy speaks for this skill"
        )
        reasons.append(known)
    return State.UNVERIFIED, "", "; ".join(dict.fromkeys(reasons))


def _claimed(bundle: Bundle) -> str:
    from conjunct.provenance.chain import ChainError, load_chain, name_of

    try:
        return name_of(load_chain(bundle.certificates[:1])[0]) if bundle.certificates else ""
    except ChainError:
        return ""


# ---- what was signed


def _signature_file(skill: Skill) -> Entry | None:
    members = [entry for entry in skill.entries if "/" not in entry.path and entry.kind == "file"]
    for glob in NAMES:
        for entry in members:
            if fnmatch.fnmatchcase(entry.path.lower(), glob):
                return entry
    return None


def _content(skill: Skill, entry: Entry) -> bytes:
    if entry.size > _MOST_BYTES:
        raise BundleError(f"the signature file is larger than {_MOST_BYTES >> 20} MiB")
    try:
        return (skill.root / entry.path).read_bytes()
    except OSError as error:
        raise BundleError(f"the signature file cannot be read ({error.strerror})") from error


def _differences(skill: Skill, signature: Entry, statement: Statement) -> list[str]:
    """How the package differs from the signed list, in order of paths."""
    signed = {file.name: file for file in statement.files}
    present = {
        entry.path: entry
        for entry in skill.entries
        if entry is not signature and not _ignored(entry.path, statement)
    }
    found = []
    for path in sorted(signed.keys() | present.keys()):
        if path not in present:
            found.append(f"{path} was signed and is missing")
        elif path not in signed:
            found.append(f"{path} was added after signing")
        else:
            problem = _differs(skill, present, path, signed[path], statement)
            if problem:
                found.append(problem)
    if not found and not _subject_fits(statement):
        found.append("the list of files is not the one whose digest the statement names")
    return found


def _differs(
    skill: Skill, present: dict[str, Entry], path: str, signed: SignedFile, statement: Statement
) -> str | None:
    entry = present[path]
    if entry.kind == "link":
        if not statement.links_allowed:
            return f"{path} is a link, which the signer ruled out"
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), entry.target or ""))
        entry = present.get(target, entry)
    if signed.algorithm not in _ALGORITHMS:
        return f"{path} was hashed with {signed.algorithm or 'nothing'}, which is not known here"
    own = entry.sha256 if signed.algorithm == "sha256" else _digest(skill.root, entry, signed.algorithm)
    if not own or not hmac.compare_digest(own, signed.digest):
        return f"{path} changed after signing"
    return None


def _digest(root: Path, entry: Entry, algorithm: str) -> str:
    if entry.kind != "file" or not entry.sha256:
        return ""
    try:
        with (root / entry.path).open("rb") as stream:
            return hashlib.file_digest(stream, algorithm).hexdigest()
    except OSError:
        return ""


def _subject_fits(statement: Statement) -> bool:
    """The subject's digest, where it is SHA-256, covers the digests of all files, ordered by path parts."""
    if not statement.subject_digest or any(file.algorithm != "sha256" for file in statement.files):
        return True
    digest = hashlib.sha256()
    for file in sorted(statement.files, key=lambda file: file.name.split("/")):
        digest.update(bytes.fromhex(file.digest))
    return hmac.compare_digest(digest.hexdigest(), statement.subject_digest)


def _ignored(path: str, statement: Statement) -> bool:
    for one in statement.ignored:
        plain = os.path.normpath(one.replace("\\", "/")).strip("/")
        if plain not in {"", "."} and (path == plain or path.startswith(plain + "/")):
            return True
    return False
