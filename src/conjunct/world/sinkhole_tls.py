"""The certificate authority of a deployment, and server certificates for whatever name is asked for."""

from __future__ import annotations

import ipaddress
import os
import ssl
import tempfile
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# Valid at every level of the clock that a battery may have.
_FIRST, _LAST = datetime(2005, 1, 1, tzinfo=UTC), datetime(2045, 1, 1, tzinfo=UTC)
_MAXIMUM_CONTEXTS = 512


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority: its certificate goes into every trust store of the world."""

    certificate: bytes
    """PEM."""
    key: bytes
    """PEM, unencrypted: it is worth nothing outside a world."""


class ServerSocket(ssl.SSLSocket):
    """An encrypted connection that remembers the name its client asked for (SNI)."""

    asked: str = ""


def make_authority(name: str = "Certum Global Root CA R4") -> Authority:
    """A new authority with that common name."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.COUNTRY_NAME, "US"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, name.split(" Root")[0]),
            x509.NameAttribute(NameOID.COMMON_NAME, name),
        ]
    )
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_FIRST)
        .not_valid_after(_LAST)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Authority(certificate.public_bytes(Encoding.PEM), _key_pem(key))


def load_authority(folder: Path) -> Authority:
    """The authority stored in `folder` as `ca.pem` and `ca.key`. Raises `OSError`."""
    return Authority((folder / "ca.pem").read_bytes(), (folder / "ca.key").read_bytes())


class Certificates:
    """Server contexts by name, minted when first asked for. Thread-safe."""

    def __init__(self, authority: Authority, *, now: datetime) -> None:
        """`now`: the world's clock.

        Certificates look as if they had been renewed some weeks before. They hold at the real time, too: a
        program that the world's clock does not reach must not stumble over a date.
        """
        self._authority = x509.load_pem_x509_certificate(authority.certificate)
        key = load_pem_private_key(authority.key, None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError(
                "the authority's key is not an elliptic-curve key; delete the runtime and build it again"
            )
        self._authority_key = key
        real = datetime.now(UTC)
        self._first = min(now, real) - timedelta(days=24)
        self._last = max(now, real) + timedelta(days=66)
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._lock = threading.Lock()

    @cached_property
    def _key(self) -> ec.EllipticCurvePrivateKey:
        """Made when the first certificate is: most episodes need none."""
        return ec.generate_private_key(ec.SECP256R1())

    def server_context(self, name: str) -> ssl.SSLContext:
        """A context that answers as `name` (host or address) and switches to whatever the client asks for."""
        with self._lock:
            context = self._contexts.get(name)
            if context is None:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                self._load(context, name)
                context.set_alpn_protocols(["http/1.1"])
                context.sni_callback = self._switch
                context.sslsocket_class = ServerSocket
                if len(self._contexts) < _MAXIMUM_CONTEXTS:
                    self._contexts[name] = context
            return context

    def _switch(
        self, connection: ssl.SSLObject | ssl.SSLSocket, asked: str | None, present: ssl.SSLContext
    ) -> None:
        if asked:
            connection.context = self.server_context(asked)
            if isinstance(connection, ServerSocket):
                connection.asked = asked

    def _load(self, context: ssl.SSLContext, name: str) -> None:
        # The standard library takes certificates from files only.
        descriptor, path = tempfile.mkstemp(prefix="leaf")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(_key_pem(self._key) + self._mint(name))
            context.load_cert_chain(path)
        finally:
            Path(path).unlink()

    def _mint(self, name: str) -> bytes:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64] or "localhost")])
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._authority_key.public_key())
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._authority.subject)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._first)
            .not_valid_after(self._last)
            .add_extension(x509.SubjectAlternativeName(_alternatives(name)), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(identifier, critical=False)
            .sign(self._authority_key, hashes.SHA256())
        )
        return certificate.public_bytes(Encoding.PEM)


def _alternatives(name: str) -> list[x509.GeneralName]:
    try:
        return [x509.IPAddress(ipaddress.ip_address(name))]
    except ValueError:
        pass
    try:
        return [x509.DNSName(name)]
    except ValueError:
        # Not ASCII, hence no name that a client could have checked.
        return [x509.DNSName("localhost")]


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
