"""The trust policy: whose signatures count, for which skills. A TOML file with pinned keys and certificates.

[[signer]]
name = "Example Tools"
key = "keys/example.pem"            # or: certificate = "keys/root.pem"
                                        # keyless: certificate, log, subject and issuer
skills = ["example-*"]              # default: every skill
required = true                     # these skills must be signed by somebody listed for them
"""

from __future__ import annotations

import fnmatch
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conjunct.errors import PolicyError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
    from cryptography.x509 import Certificate

TRUST_FILE = "conjunct-trust.toml"
_MOST_BYTES = 1 << 20
_TEXTS = ("name", "key", "certificate", "subject", "log", "issuer")
_KEYS = frozenset({*_TEXTS, "skills", "required"})


@dataclass(frozen=True, slots=True)
class Signer:
    """Somebody whose signature counts."""

    name: str
    key: PublicKeyTypes | None = None
    """The public key itself is pinned."""
    certificate: Certificate | None = None
    """The signing certificate, or the authority that its chain must lead to."""
    subject: str = ""
    """With an authority: the common name or alternative name that the signing certificate must have."""
    log: PublicKeyTypes | None = None
    """With an authority: the key of the transparency log that dates its short-lived certificates."""
    issuer: str = ""
    """With a log: who must have vouched for the subject."""
    skills: tuple[str, ...] = ("*",)
    """Globs over skill names."""
    required: bool = False
    """Skills with these names must carry a signature that verifies."""

    def speaks_for(self, skill: str) -> bool:
        """Whether this signer counts for a skill of that name."""
        return any(fnmatch.fnmatchcase(skill, glob) for glob in self.skills)


@dataclass(frozen=True, slots=True)
class Trust:
    """Every signer that counts; empty where nothing is configured."""

    signers: tuple[Signer, ...] = ()

    def for_skill(self, skill: str) -> tuple[Signer, ...]:
        """The signers that count for a skill of that name."""
        return tuple(signer for signer in self.signers if signer.speaks_for(skill))

    def requires(self, skill: str) -> bool:
        """Whether a skill of that name must be signed."""
        return any(signer.required for signer in self.for_skill(skill))


def load_trust(path: Path | None) -> Trust:
    """Read a trust policy; `None` trusts nobody. Key files are named relative to it.

    Raises:
        PolicyError: not TOML, an unknown key, or a key or certificate that cannot be read; says which.
    """
    if path is None:
        return Trust()
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PolicyError(f"{path}: cannot be read ({error.strerror}); check the path of --trust") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PolicyError(f"{path}: is not valid TOML: {error}") from error
    unknown = set(data) - {"signer"}
    if unknown:
        raise PolicyError(f"{path}: unknown table {sorted(unknown)[0]!r}; write signers as [[signer]] tables")
    signers = data.get("signer", [])
    if not isinstance(signers, list):
        raise PolicyError(f"{path}: write signers as [[signer]] tables")
    return Trust(tuple(_signer(path, number, one) for number, one in enumerate(signers, 1)))


def _signer(path: Path, number: int, table: dict[str, Any]) -> Signer:
    where = f"{path}: signer {number}"
    if not isinstance(table, dict):
        raise PolicyError(f"{where}: write it as a [[signer]] table")
    unknown = set(table) - _KEYS
    if unknown:
        raise PolicyError(f"{where}: has no key {sorted(unknown)[0]!r}; known are {', '.join(sorted(_KEYS))}")
    for key in _TEXTS:
        if key in table and (not isinstance(table[key], str) or not table[key].strip()):
            raise PolicyError(f"{where}: {key} is {table[key]!r}, but must be a text that is not empty")
    if "name" not in table or ("key" in table) == ("certificate" in table):
        raise PolicyError(f"{where}: needs a name, and exactly one of key and certificate")
    for key in ("subject", "log", "issuer"):
        if "key" in table and key in table:
            raise PolicyError(f"{where}: {key} goes with certificate; a pinned key has none")
    if "log" in table and not ("subject" in table and "issuer" in table):
        # The authorities of keyless signing certify anybody who can log in somewhere.
        raise PolicyError(f"{where}: with log, subject and issuer say whose signatures count; name both")
    if "issuer" in table and "log" not in table:
        raise PolicyError(f"{where}: issuer goes with log")
    skills = table.get("skills", ["*"])
    if not isinstance(skills, list) or not skills or not all(isinstance(glob, str) for glob in skills):
        raise PolicyError(f"{where}: skills is {skills!r}, but must be a list of names or globs")
    required = table.get("required", False)
    if not isinstance(required, bool):
        raise PolicyError(f"{where}: required is {required!r}, but must be true or false")
    return Signer(
        name=table["name"],
        key=_key(path, where, table["key"]) if "key" in table else None,
        certificate=_certificate(path, where, table["certificate"]) if "certificate" in table else None,
        subject=table.get("subject", ""),
        log=_key(path, where, table["log"]) if "log" in table else None,
        issuer=table.get("issuer", ""),
        skills=tuple(skills),
        required=required,
    )


def _bytes(path: Path, where: str, name: str) -> bytes:
    try:
        with (path.parent / name).open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise PolicyError(f"{where}: {name} cannot be read ({error.strerror})") from error
    if len(data) > _MOST_BYTES:
        raise PolicyError(f"{where}: {name} is larger than a megabyte, which no key is")
    return data


def _key(path: Path, where: str, name: str) -> PublicKeyTypes:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_der_public_key, load_pem_public_key

    data = _bytes(path, where, name)
    try:
        return load_pem_public_key(data) if b"-----BEGIN" in data else load_der_public_key(data)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise PolicyError(f"{where}: {name} is no public key in PEM or DER form ({error})") from error


def _certificate(path: Path, where: str, name: str) -> Certificate:
    from cryptography.x509 import load_der_x509_certificate, load_pem_x509_certificate

    data = _bytes(path, where, name)
    try:
        if b"-----BEGIN" in data:
            return load_pem_x509_certificate(data)
        return load_der_x509_certificate(data)
    except ValueError as error:
        raise PolicyError(f"{where}: {name} is no certificate in PEM or DER form ({error})") from error
