"""Entries of a transparency log, checked offline with the log's pinned key: they date a keyless signature.

The log's promise (signed entry timestamp) is verified, and that the entry is about this envelope. The log is
not asked, and its Merkle proofs are not walked: the pinned key answers for it.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import hashlib
import json
from collections.abc import Sequence
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from conjunct.provenance.bundle import Bundle
from conjunct.provenance.chain import ChainError, signature_holds

_ISSUER = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.8")
_ISSUER_OLD = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
_UTF8 = 0x0C


def signing_time(bundle: Bundle, leaf: x509.Certificate, log: PublicKeyTypes) -> datetime.datetime:
    """When a pinned log promised to hold this envelope, signed with this certificate.

    Raises `ChainError` where no entry of the bundle is such a promise, saying why.
    """
    reasons = []
    identity = hashlib.sha256(log.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
    for entry in bundle.log_entries:
        try:
            return _promised(entry, identity, bundle, leaf, log)
        except (KeyError, TypeError, ValueError, binascii.Error, RecursionError) as error:
            told = str(error) if isinstance(error, ChainError) else "an entry of the log cannot be read"
            reasons.append(told)
    raise ChainError(reasons[0] if reasons else "the bundle brings no entry of a transparency log")


def _promised(
    entry: dict[str, Any], identity: bytes, bundle: Bundle, leaf: x509.Certificate, log: PublicKeyTypes
) -> datetime.datetime:
    if base64.b64decode(entry["logId"]["keyId"], validate=True) != identity:
        raise ChainError("the entry is of another log than the pinned one")
    seconds = int(entry["integratedTime"])
    body = entry["canonicalizedBody"]
    promise = {
        "body": body,
        "integratedTime": seconds,
        "logID": identity.hex(),
        "logIndex": int(entry["logIndex"]),
    }
    data = json.dumps(promise, sort_keys=True, separators=(",", ":")).encode()
    stamp = base64.b64decode(entry["inclusionPromise"]["signedEntryTimestamp"], validate=True)
    if not signature_holds(log, stamp, data):
        raise ChainError("the log's promise does not fit its key")
    _check_about(json.loads(base64.b64decode(body, validate=True)), bundle, leaf)
    if not 0 < seconds < 1 << 33:
        raise ChainError("the log's entry has no time")
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)


def _check_about(body: dict[str, Any], bundle: Bundle, leaf: x509.Certificate) -> None:
    """The entry is about this payload, signed so, with this certificate."""
    if body["kind"] != "dsse" or body["apiVersion"] != "0.0.1":
        raise ChainError(f"the log's entry is of a kind that is not checked here ({body['kind']!r:.40})")
    spec = body["spec"]
    payload = spec["payloadHash"]
    if payload["algorithm"] != "sha256" or payload["value"] != hashlib.sha256(bundle.payload).hexdigest():
        raise ChainError("the log's entry is about another statement")
    signatures = {base64.b64encode(one).decode() for one in bundle.signatures}
    for one in spec["signatures"]:
        verifier = x509.load_pem_x509_certificate(base64.b64decode(one["verifier"], validate=True))
        if one["signature"] in signatures and verifier == leaf:
            return
    raise ChainError("the log's entry is about another signature")


def issuers_of(leaf: x509.Certificate) -> Sequence[str]:
    """Who vouched for the identity of a keyless certificate, as its extensions say."""
    found = []
    for identifier in (_ISSUER, _ISSUER_OLD):
        try:
            value = leaf.extensions.get_extension_for_oid(identifier).value
        except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension):
            continue
        data = value.value if isinstance(value, x509.UnrecognizedExtension) else b""
        # The newer extension wraps its text as a UTF8String; its length takes one byte below 128 characters.
        if identifier == _ISSUER and len(data) > 2 and data[0] == _UTF8 and data[1] == len(data) - 2:
            data = data[2:]
        elif identifier == _ISSUER:
            continue
        found.append(data.decode("utf-8", "replace"))
    return found
