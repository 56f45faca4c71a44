"""Certificate chains and raw signatures, checked without network against what the trust policy pins."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID, NameOID

_LONGEST_CHAIN = 8
_UNDERSTOOD = frozenset(
    {
        ExtensionOID.BASIC_CONSTRAINTS,
        ExtensionOID.KEY_USAGE,
        ExtensionOID.EXTENDED_KEY_USAGE,
        ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
    }
)
"""Critical extensions beyond these restrict a certificate in ways that are not checked here: refused."""
_SIGNING = frozenset({ExtendedKeyUsageOID.CODE_SIGNING, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE})
_LEAST_RSA_BITS = 2048


class ChainError(ValueError):
    """A certificate chain or key that does not hold; the message says why."""


def signature_holds(key: PublicKeyTypes, signature: bytes, data: bytes) -> bool:
    """Whether `signature` over `data` was made with the private half of `key`.

    The hash is the one that Sigstore pairs with the kind of key. Other kinds of keys never hold.
    """
    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, data, ec.ECDSA(_hash_for(key.curve)))
        elif isinstance(key, ed25519.Ed25519PublicKey):
            key.verify(signature, data)
        elif isinstance(key, rsa.RSAPublicKey) and key.key_size >= _LEAST_RSA_BITS:
            return _rsa_holds(key, signature, data)
        else:
            return False
    except InvalidSignature:
        return False
    return True


def _hash_for(curve: ec.EllipticCurve) -> hashes.HashAlgorithm:
    if curve.key_size <= 256:
        return hashes.SHA256()
    return hashes.SHA384() if curve.key_size <= 384 else hashes.SHA512()


def _rsa_holds(key: rsa.RSAPublicKey, signature: bytes, data: bytes) -> bool:
    pss = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.AUTO)
    for scheme in (padding.PKCS1v15(), pss):
        try:
            key.verify(signature, data, scheme, hashes.SHA256())
        except InvalidSignature:
            continue
        return True
    return False


def load_chain(chain: Sequence[bytes]) -> tuple[x509.Certificate, ...]:
    """The certificates of a bundle, in its order. Raises `ChainError` for one that is none."""
    try:
        return tuple(x509.load_der_x509_certificate(one) for one in chain)
    except ValueError as error:
        raise ChainError("a certificate of the bundle cannot be read") from error


def key_of(certificate: x509.Certificate) -> PublicKeyTypes:
    """The key of a certificate. Raises `ChainError` for a kind of key that is not supported."""
    try:
        return certificate.public_key()
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ChainError("the signing certificate has a kind of key that is not supported") from error


def check_chain(
    chain: Sequence[x509.Certificate], anchor: x509.Certificate, *, at: datetime.datetime
) -> None:
    """Check that the first certificate of `chain` leads to the pinned `anchor` at that time.

    The anchor is the signing certificate itself, or an authority. Raises `ChainError` saying what fails.
    """
    leaf = chain[0]
    _check_time(leaf, at)
    if leaf == anchor:
        return
    _check_signs(leaf)
    present = leaf
    for depth in range(_LONGEST_CHAIN):
        if _issued(present, anchor):
            _check_authority(anchor, depth)
            _check_time(anchor, at)
            return
        issuer = next((one for one in chain[1:] if one != present and _issued(present, one)), None)
        if issuer is None:
            break
        _check_authority(issuer, depth)
        _check_time(issuer, at)
        present = issuer
    raise ChainError(f"the certificate of {name_of(leaf)} does not lead to the pinned {name_of(anchor)}")


def _issued(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    if certificate.issuer != issuer.subject:
        return False
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _check_time(certificate: x509.Certificate, at: datetime.datetime) -> None:
    if at < certificate.not_valid_before_utc:
        raise ChainError(
            f"the certificate of {name_of(certificate)} is valid only from "
            f"{certificate.not_valid_before_utc:%Y-%m-%d} on"
        )
    if at > certificate.not_valid_after_utc:
        raise ChainError(
            f"the certificate of {name_of(certificate)} expired on "
            f"{certificate.not_valid_after_utc:%Y-%m-%d}, and nothing that can be checked offline says "
            "when it signed"
        )


def _extensions(certificate: x509.Certificate) -> x509.Extensions:
    try:
        extensions = certificate.extensions
    except (ValueError, x509.DuplicateExtension) as error:
        raise ChainError(
            f"the certificate of {name_of(certificate)} has extensions that cannot be read"
        ) from error
    for one in extensions:
        if one.critical and one.oid not in _UNDERSTOOD:
            raise ChainError(
                f"the certificate of {name_of(certificate)} has a critical extension that is not checked "
                f"here ({one.oid.dotted_string})"
            )
    return extensions


def _check_authority(certificate: x509.Certificate, below: int) -> None:
    """An authority may issue certificates, with at most as many authorities below it as it allows."""
    extensions = _extensions(certificate)
    try:
        basic = extensions.get_extension_for_class(x509.BasicConstraints).value
    except x509.ExtensionNotFound:
        raise ChainError(f"{name_of(certificate)} is no certificate authority") from None
    if not basic.ca or (basic.path_length is not None and basic.path_length < below):
        raise ChainError(f"{name_of(certificate)} may not issue this certificate")
    try:
        usage = extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        return
    if not usage.key_cert_sign:
        raise ChainError(f"{name_of(certificate)} may not issue certificates")


def _check_signs(certificate: x509.Certificate) -> None:
    """A signing certificate may sign data."""
    extensions = _extensions(certificate)
    try:
        usage = extensions.get_extension_for_class(x509.KeyUsage).value
        if not usage.digital_signature:
            raise ChainError(f"the certificate of {name_of(certificate)} is not for signatures")
    except x509.ExtensionNotFound:
        pass
    try:
        purposes = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        if not _SIGNING & set(purposes):
            raise ChainError(f"the certificate of {name_of(certificate)} is not for signing code")
    except x509.ExtensionNotFound:
        pass


def names_of(certificate: x509.Certificate) -> frozenset[str]:
    """Common names and alternative names (mail, DNS, URI) of a certificate."""
    found = {str(one.value) for one in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)}
    try:
        other = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        for kind in (x509.RFC822Name, x509.DNSName, x509.UniformResourceIdentifier):
            found |= set(other.get_values_for_type(kind))
    except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension):
        pass
    return frozenset(found)


def name_of(certificate: x509.Certificate) -> str:
    """How to speak of a certificate: common name, else an alternative name, else its serial number."""
    common = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    if common:
        return str(common[0].value)[:120]
    return min(names_of(certificate), default=f"serial number {certificate.serial_number:x}")[:120]
