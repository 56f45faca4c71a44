"""Signature files as values: Sigstore bundle or DSSE envelope, in-toto statement, list of signed files."""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass
from typing import Any

BUNDLE_TYPES = re.compile(r"application/vnd\.dev\.sigstore\.bundle(?:\.v0\.3\+json|\+json;version=0\.[123])")
IN_TOTO = "application/vnd.in-toto+json"
_STATEMENTS = frozenset({"https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1"})
_PREDICATE = "https://model_signing/signature/"
_MOST_CERTIFICATES = 8
_MOST_SIGNATURES = 16
_MOST_RESOURCES = 100_000


class BundleError(ValueError):
    """A signature that cannot be read as one; the message says why."""


@dataclass(frozen=True, slots=True)
class SignedFile:
    """One member of a signed list."""

    name: str
    algorithm: str
    digest: str


@dataclass(frozen=True, slots=True)
class Statement:
    """What was signed: a name, and the list of files."""

    subject: str
    subject_digest: str
    files: tuple[SignedFile, ...]
    ignored: tuple[str, ...]
    """Paths that the signer left out."""
    links_allowed: bool


@dataclass(frozen=True, slots=True)
class Bundle:
    """An envelope and what came with it to verify it."""

    payload: bytes
    payload_type: str
    signatures: tuple[bytes, ...]
    certificates: tuple[bytes, ...]
    """DER, the signing one first; empty where only a key is hinted at."""
    log_entries: tuple[dict[str, Any], ...] = ()
    """Entries of a transparency log, as they came."""

    @property
    def keyless(self) -> bool:
        """Whether it rests on one short-lived certificate and an entry of a transparency log."""
        return len(self.certificates) == 1 and bool(self.log_entries)

    def signed_bytes(self) -> bytes:
        """The DSSE pre-authentication encoding: what the signature is over."""
        kind = self.payload_type.encode()
        return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(self.payload), self.payload)


def read_bundle(data: bytes) -> Bundle:
    """A Sigstore bundle (v0.1 to v0.3) with a DSSE envelope, or a bare envelope.

    Raises:
        BundleError: it is neither, or carries a signature over bytes instead of a statement.
    """
    value = _object(data, "the signature file")
    if "payload" in value and "signatures" in value:
        return _bundle(value, {})
    media = value.get("mediaType")
    if not isinstance(media, str) or not BUNDLE_TYPES.fullmatch(media):
        raise BundleError(f"it is neither a Sigstore bundle nor a DSSE envelope (mediaType {media!r:.80})")
    envelope, material = value.get("dsseEnvelope"), value.get("verificationMaterial")
    if not isinstance(envelope, dict):
        raise BundleError("the bundle holds no DSSE envelope; a signature over bytes names no files")
    if not isinstance(material, dict):
        raise BundleError("the bundle holds no verificationMaterial")
    return _bundle(envelope, material)


def _bundle(envelope: dict[str, Any], material: dict[str, Any]) -> Bundle:
    signatures, kind = envelope.get("signatures"), envelope.get("payloadType")
    if not isinstance(signatures, list) or not 0 < len(signatures) <= _MOST_SIGNATURES:
        raise BundleError("the envelope must hold at least one signature")
    if kind != IN_TOTO:
        raise BundleError(f"the payload is {kind!r:.80}, not an in-toto statement")
    return Bundle(
        payload=_base64(envelope.get("payload"), "payload"),
        payload_type=IN_TOTO,
        signatures=tuple(
            _base64(one.get("sig") if isinstance(one, dict) else None, "signature") for one in signatures
        ),
        certificates=_certificates(material),
        log_entries=_log_entries(material.get("tlogEntries")),
    )


def _certificates(material: dict[str, Any]) -> tuple[bytes, ...]:
    chain = material.get("x509CertificateChain")
    single = material.get("certificate")
    listed = chain.get("certificates") if isinstance(chain, dict) else [single] if single else []
    if not isinstance(listed, list) or len(listed) > _MOST_CERTIFICATES:
        raise BundleError(f"the certificate chain must be a list of at most {_MOST_CERTIFICATES}")
    return tuple(
        _base64(one.get("rawBytes") if isinstance(one, dict) else None, "certificate") for one in listed
    )


def _log_entries(listed: object) -> tuple[dict[str, Any], ...]:
    entries = listed if isinstance(listed, list) else []
    return tuple(one for one in entries[:_MOST_SIGNATURES] if isinstance(one, dict))


def read_statement(payload: bytes) -> Statement:
    """The in-toto statement with the file list of OpenSSF model signing.

    Raises:
        BundleError: another kind of statement, a file listed twice, or a list made in a way not known here.
    """
    value = _object(payload, "the signed statement")
    kind, predicate_type = value.get("_type"), value.get("predicateType")
    if kind not in _STATEMENTS:
        raise BundleError(f"the signed payload is no in-toto statement (_type {kind!r:.80})")
    if not isinstance(predicate_type, str) or not predicate_type.startswith(_PREDICATE):
        raise BundleError(f"the statement is about something else (predicateType {predicate_type!r:.80})")
    subjects, predicate = value.get("subject"), value.get("predicate")
    if not isinstance(subjects, list) or len(subjects) != 1 or not isinstance(subjects[0], dict):
        raise BundleError("the statement must have one subject")
    if not isinstance(predicate, dict):
        raise BundleError("the statement has no predicate")
    how = predicate.get("serialization")
    how = how if isinstance(how, dict) else {}
    if how.get("method", "files") != "files":
        raise BundleError(f"files were hashed by {how['method']!r:.40}, which is not known here")
    digest = subjects[0].get("digest")
    ignored = how.get("ignore_paths", [])
    if not isinstance(ignored, list) or not all(isinstance(path, str) for path in ignored):
        raise BundleError("ignore_paths must be a list of paths")
    return Statement(
        subject=_text(subjects[0].get("name")),
        subject_digest=_text(digest.get("sha256")) if isinstance(digest, dict) else "",
        files=_files(predicate.get("resources")),
        ignored=tuple(ignored),
        links_allowed=how.get("allow_symlinks") is True,
    )


def _files(resources: object) -> tuple[SignedFile, ...]:
    if not isinstance(resources, list) or not resources or len(resources) > _MOST_RESOURCES:
        raise BundleError("the statement lists no files")
    files: dict[str, SignedFile] = {}
    for one in resources:
        if not isinstance(one, dict):
            raise BundleError("a resource must be an object")
        file = SignedFile(_text(one.get("name")), _text(one.get("algorithm")), _text(one.get("digest")))
        if not file.name or not re.fullmatch(r"[0-9a-f]{32,128}", file.digest):
            raise BundleError(f"the resource {file.name!r:.80} has no name or no digest")
        if file.name in files:
            raise BundleError(f"{file.name!r:.80} is listed twice")
        files[file.name] = file
    return tuple(files.values())


def _object(data: bytes, what: str) -> dict[str, Any]:
    """A JSON object without repeated keys: two readers must not see two different statements."""
    try:
        value = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_without_repeats)
    except BundleError:
        raise
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{what} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise BundleError(f"{what} is no JSON object")
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise BundleError("a key is repeated; readers would not agree on its value")
    return value


def _base64(value: object, what: str) -> bytes:
    try:
        return base64.b64decode(_text(value), validate=True)
    except (binascii.Error, ValueError) as error:
        raise BundleError(f"a {what} is no base64") from error


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
