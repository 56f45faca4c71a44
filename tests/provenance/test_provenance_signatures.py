"""Signatures: verified offline against pinned keys and certificates, and told plainly where they are not."""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.errors import PolicyError
from conjunct.model import Severity, Skill
from conjunct.provenance.bundle import BundleError, read_bundle, read_statement
from conjunct.provenance.signatures import State, check_signature, signature_findings, with_signatures
from conjunct.provenance.trust import Trust, load_trust
from conjunct.skills import read_registry

TODAY = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
PREDICATE = "https://model_signing/signature/v1.0"


# ---- making keys, certificates and signatures


@dataclass(frozen=True)
class Issued:
    """A key with its certificate."""

    key: Any
    certificate: x509.Certificate

    def der(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.DER)

    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)


def issue(
    name: str,
    by: Issued | None = None,
    *,
    ca: bool = False,
    days: int = 30,
    path_length: int | None = None,
    purpose: x509.ObjectIdentifier | None = None,
    critical: bool = False,
    issuer: str = "",
) -> Issued:
    """A certificate for a fresh key, issued by `by` or by itself."""
    key = ec.generate_private_key(ec.SECP384R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.certificate.subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(TODAY - datetime.timedelta(days=10))
        .not_valid_after(TODAY + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=path_length), critical=True)
        .add_extension(x509.KeyUsage(not ca, False, False, False, False, ca, ca, False, False), critical=True)
    )
    if purpose is not None:
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    if critical:
        unknown = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\x00")
        builder = builder.add_extension(unknown, critical=True)
    if issuer:
        text = issuer.encode()
        oid = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.8")
        value = x509.UnrecognizedExtension(oid, bytes([12, len(text)]) + text)
        builder = builder.add_extension(value, critical=False)
    return Issued(key, builder.sign(by.key if by else key, hashes.SHA384()))


def sign(key: Any, data: bytes) -> bytes:
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return key.sign(data)
    if isinstance(key, rsa.RSAPrivateKey):
        pss = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.MAX_LENGTH)
        return key.sign(data, pss, hashes.SHA256())
    size = key.curve.key_size
    algorithm = hashes.SHA256() if size <= 256 else hashes.SHA384() if size <= 384 else hashes.SHA512()
    return bytes(key.sign(data, ec.ECDSA(algorithm)))


def pem_of(key: Any) -> bytes:
    return bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )


def statement_of(folder: Path, **changes: Any) -> dict[str, Any]:
    resources = [
        {
            "name": path.relative_to(folder).as_posix(),
            "algorithm": "sha256",
            "digest": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in {"skill.oms.sig", ".gitignore"}
    ]
    root = hashlib.sha256(b"".join(bytes.fromhex(one["digest"]) for one in resources)).hexdigest()
    predicate = {
        "serialization": {
            "method": "files",
            "hash_type": "sha256",
            "allow_symlinks": False,
            "ignore_paths": [".git", ".gitignore"],
        },
        "resources": resources,
    }
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": folder.name, "digest": {"sha256": root}}],
        "predicateType": PREDICATE,
        "predicate": predicate,
        **changes,
    }


def envelope_of(statement: dict[str, Any] | bytes, *keys: Any) -> dict[str, Any]:
    payload = statement if isinstance(statement, bytes) else json.dumps(statement).encode()
    kind = b"application/vnd.in-toto+json"
    data = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    return {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": kind.decode(),
        "signatures": [{"sig": base64.b64encode(sign(key, data)).decode(), "keyid": ""} for key in keys],
    }


def bundle_of(envelope: dict[str, Any], *chain: Issued, **material: Any) -> dict[str, Any]:
    certificates = [{"rawBytes": base64.b64encode(one.der()).decode()} for one in chain]
    if chain:
        material = {"x509CertificateChain": {"certificates": certificates}, **material}
    return {
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {"tlogEntries": [], **material},
        "dsseEnvelope": envelope,
    }


ROOT = issue("Example Root", ca=True)
MIDDLE = issue("Example Issuing", ROOT, ca=True, path_length=0)
LEAF = issue("Example Signing", MIDDLE)
STRANGER = issue("Stranger")
OTHER_ROOT = issue("Other Root", ca=True)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "scripts").mkdir(parents=True)
    (folder / "scripts-old").mkdir()
    (folder / "SKILL.md").write_text("---\nname: notes\ndescription: Notes.\n---\n# Notes\n")
    (folder / "scripts" / "run.py").write_text("print(1)\n")
    (folder / "scripts-old" / "run.py").write_text("print(0)\n")
    return folder


@pytest.fixture
def skill(package: Path, tmp_path: Path) -> Callable[[dict[str, Any] | None], Skill]:
    """The package with a signature file, as it is read."""

    def made(bundle: dict[str, Any] | None, name: str = "skill.oms.sig") -> Skill:
        if bundle is not None:
            (package / name).write_text(json.dumps(bundle))
        return read_registry(package, staging=tmp_path / "staging").skills[0]

    return made


def trust(tmp_path: Path, text: str, **files: bytes) -> Trust:
    for name, data in files.items():
        (tmp_path / f"{name}.pem").write_bytes(data)
    path = tmp_path / "conjunct-trust.toml"
    path.write_text(text)
    return load_trust(path)


def pinned(tmp_path: Path, anchor: Issued = ROOT, extra: str = "") -> Trust:
    return trust(
        tmp_path, f'[[signer]]\nname = "Example"\ncertificate = "root.pem"\n{extra}', root=anchor.pem()
    )


def signed(package: Path, key: Any = None, chain: tuple[Issued, ...] = (LEAF, MIDDLE, ROOT), **changes: Any):  # type: ignore[no-untyped-def]
    return bundle_of(envelope_of(statement_of(package, **changes), key or LEAF.key), *chain)


# ---- what verifies


def test_a_chain_to_the_pinned_root_verifies(package: Path, skill: Any, tmp_path: Path) -> None:
    found = check_signature(skill(signed(package)), pinned(tmp_path), now=TODAY)
    assert (found.state, found.signer, found.claimed) == (State.VERIFIED, "Example", "Example Signing")
    (finding,) = signature_findings(skill(None), pinned(tmp_path), now=TODAY)
    assert (finding.code, finding.severity) == ("provenance.signed", Severity.NOTE)


@pytest.mark.parametrize("anchor", [MIDDLE, LEAF], ids=["intermediate", "signing certificate"])
def test_any_certificate_of_the_chain_can_be_pinned(
    package: Path, skill: Any, tmp_path: Path, anchor: Issued
) -> None:
    found = check_signature(skill(signed(package)), pinned(tmp_path, anchor), now=TODAY)
    assert found.state is State.VERIFIED


def test_the_root_need_not_come_with_the_bundle(package: Path, skill: Any, tmp_path: Path) -> None:
    bundle = signed(package, chain=(LEAF, MIDDLE))
    assert check_signature(skill(bundle), pinned(tmp_path), now=TODAY).state is State.VERIFIED


@pytest.mark.parametrize(
    "key",
    [
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP521R1()),
        ed25519.Ed25519PrivateKey.generate(),
        rsa.generate_private_key(65537, 2048),
    ],
    ids=["P-256", "P-521", "Ed25519", "RSA"],
)
def test_a_pinned_key_verifies_a_bundle_and_a_bare_envelope(
    package: Path, skill: Any, tmp_path: Path, key: Any
) -> None:
    policy = trust(tmp_path, '[[signer]]\nname = "Kim"\nkey = "kim.pem"\n', kim=pem_of(key))
    envelope = envelope_of(statement_of(package), key)
    bundle = bundle_of(envelope, publicKey={"hint": "x"})
    assert check_signature(skill(bundle), policy, now=TODAY).signer == "Kim"
    assert check_signature(skill(envelope), policy, now=TODAY).signer == "Kim"


@pytest.mark.parametrize("name", ["model.sig", "notes.sigstore.json", "notes.sigstore", "Notes.OMS.sig"])
def test_signature_files_go_by_several_names(package: Path, skill: Any, tmp_path: Path, name: str) -> None:
    assert check_signature(skill(signed(package), name), pinned(tmp_path), now=TODAY).state is State.VERIFIED


def test_what_the_signer_left_out_is_named(package: Path, skill: Any, tmp_path: Path) -> None:
    bundle = signed(package)
    (package / ".gitignore").write_text("*.pyc\n")
    found = check_signature(skill(bundle), pinned(tmp_path), now=TODAY)
    assert (found.state, found.outside) == (State.VERIFIED, (".gitignore",))
    (finding,) = signature_findings(skill(None), pinned(tmp_path), now=TODAY)
    assert ".gitignore" in finding.message


# ---- what is not what was signed


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda p: (p / "scripts" / "run.py").write_text("print(2)\n"), "scripts/run.py changed"),
        (lambda p: (p / "scripts" / "more.py").write_text("print(2)\n"), "scripts/more.py was added"),
        (lambda p: (p / "scripts" / "run.py").unlink(), "scripts/run.py was signed and is missing"),
        (lambda p: (p / ".github.md").write_text("x"), ".github.md was added"),
        (lambda p: (p / "link").symlink_to("SKILL.md"), "link was added"),
        (
            lambda p: (
                (p / "scripts" / "run.py").unlink(),
                (p / "scripts" / "run.py").symlink_to("../SKILL.md"),
            ),
            "is a link, which the signer ruled out",
        ),
    ],
)
def test_a_change_after_signing_is_a_review_whoever_signed(
    package: Path, skill: Any, tmp_path: Path, change: Any, told: str
) -> None:
    bundle = signed(package)
    change(package)
    for policy in (pinned(tmp_path), Trust()):
        found = check_signature(skill(bundle), policy, now=TODAY)
        assert found.state is State.INVALID
        assert told in found.reason
        (finding,) = signature_findings(skill(None), policy, now=TODAY)
        assert (finding.code, finding.severity) == ("provenance.signature-invalid", Severity.REVIEW)
        assert finding.question


def test_the_list_under_a_signature_cannot_be_swapped(package: Path, skill: Any, tmp_path: Path) -> None:
    bundle = signed(package)
    (package / "scripts" / "run.py").write_text("print(2)\n")
    payload = json.dumps(statement_of(package)).encode()
    bundle["dsseEnvelope"]["payload"] = base64.b64encode(payload).decode()
    found = check_signature(skill(bundle), pinned(tmp_path), now=TODAY)
    assert (found.state, found.reason) == (
        State.INVALID,
        "the signature does not fit the enclosed certificate",
    )


def test_the_subject_must_be_the_list(package: Path, skill: Any, tmp_path: Path) -> None:
    bundle = signed(package, subject=[{"name": "notes", "digest": {"sha256": "0" * 64}}])
    assert check_signature(skill(bundle), pinned(tmp_path), now=TODAY).state is State.INVALID


# ---- who signed


def test_without_a_policy_nothing_is_verified_and_nothing_blocks(package: Path, skill: Any) -> None:
    (finding,) = signature_findings(skill(signed(package)), Trust(), now=TODAY)
    assert (finding.code, finding.severity) == ("provenance.signature-unverified", Severity.NOTE)
    assert "Example Signing" in finding.message


@pytest.mark.parametrize(
    ("chain", "told"),
    [
        (lambda: (issue("Example Signing", OTHER_ROOT), OTHER_ROOT), "does not lead to"),
        (lambda: (issue("Leaf", LEAF), LEAF, MIDDLE), "no certificate authority|may not issue"),
        (lambda: (issue("Leaf", issue("Deep", MIDDLE, ca=True)), MIDDLE), "does not lead to"),
        (lambda: (issue("Web", MIDDLE, purpose=ExtendedKeyUsageOID.SERVER_AUTH), MIDDLE), "signing code"),
        (lambda: (issue("Odd", MIDDLE, critical=True), MIDDLE), "critical extension"),
        (lambda: (issue("Old", MIDDLE, days=-5), MIDDLE), "expired on 2026-05-27"),
        (lambda: (issue("Authority", MIDDLE, ca=True), MIDDLE), "not for signatures"),
    ],
    ids=["stranger", "leaf as authority", "gap", "purpose", "critical", "expired", "authority signs"],
)
def test_chains_that_do_not_hold(package: Path, skill: Any, tmp_path: Path, chain: Any, told: str) -> None:
    made = chain()
    found = check_signature(skill(signed(package, key=made[0].key, chain=made)), pinned(tmp_path), now=TODAY)
    assert found.state is State.UNVERIFIED
    assert re.search(told, found.reason), found.reason


def test_an_authority_with_too_many_below_it_does_not_count(
    package: Path, skill: Any, tmp_path: Path
) -> None:
    deep = issue("Deep", MIDDLE, ca=True)
    leaf = issue("Leaf", deep)
    bundle = signed(package, key=leaf.key, chain=(leaf, deep, MIDDLE))
    found = check_signature(skill(bundle), pinned(tmp_path), now=TODAY)
    assert (found.state, found.reason) == (State.UNVERIFIED, "Example Issuing may not issue this certificate")


def test_a_valid_purpose_is_accepted(package: Path, skill: Any, tmp_path: Path) -> None:
    leaf = issue("Code", MIDDLE, purpose=ExtendedKeyUsageOID.CODE_SIGNING)
    bundle = signed(package, key=leaf.key, chain=(leaf, MIDDLE))
    assert check_signature(skill(bundle), pinned(tmp_path), now=TODAY).state is State.VERIFIED


def test_another_authority_of_the_same_name_does_not_count(package: Path, skill: Any, tmp_path: Path) -> None:
    false = issue("Example Root", ca=True)
    leaf = issue("Example Signing", false)
    bundle = signed(package, key=leaf.key, chain=(leaf, false))
    assert check_signature(skill(bundle), pinned(tmp_path), now=TODAY).state is State.UNVERIFIED


def test_the_subject_can_be_narrowed(package: Path, skill: Any, tmp_path: Path) -> None:
    made = skill(signed(package))
    right = pinned(tmp_path, extra='subject = "Example Signing"\n')
    assert check_signature(made, right, now=TODAY).state is State.VERIFIED
    wrong = pinned(tmp_path, extra='subject = "Example Release"\n')
    assert "not that of Example Release" in check_signature(made, wrong, now=TODAY).reason


def test_a_signer_counts_for_its_skills_only(package: Path, skill: Any, tmp_path: Path) -> None:
    made = skill(signed(package))
    assert check_signature(made, pinned(tmp_path, extra='skills = ["no*"]\n'), now=TODAY).signer == "Example"
    found = check_signature(made, pinned(tmp_path, extra='skills = ["tables"]\n'), now=TODAY)
    assert (found.state, found.reason) == (
        State.UNVERIFIED,
        "no signer in the trust policy speaks for this skill",
    )


def test_a_key_that_is_not_the_pinned_one(package: Path, skill: Any, tmp_path: Path) -> None:
    other = ec.generate_private_key(ec.SECP256R1())
    policy = trust(tmp_path, '[[signer]]\nname = "Kim"\nkey = "kim.pem"\n', kim=pem_of(other))
    assert "key of Kim" in check_signature(skill(signed(package)), policy, now=TODAY).reason


# ---- keyless

LOG = ec.generate_private_key(ec.SECP256R1())
KEYLESS = """[[signer]]
name = "Kim"
certificate = "authority.pem"
log = "log.pem"
subject = "kim@example.org"
issuer = "https://login.example.org"
"""


def keyless(
    package: Path, *, log: Any = LOG, at: float | None = None, leaf: Issued | None = None, **body: Any
):  # type: ignore[no-untyped-def]
    """A bundle with a certificate that was valid for a day, and the log's promise."""
    leaf = leaf or issue("kim@example.org", MIDDLE, days=-9, issuer="https://login.example.org")
    envelope = envelope_of(statement_of(package), leaf.key)
    signature = {"signature": envelope["signatures"][0]["sig"], "verifier": encoded(leaf.pem())}
    payload = hashlib.sha256(base64.b64decode(envelope["payload"])).hexdigest()
    spec = {"payloadHash": {"algorithm": "sha256", "value": payload}, "signatures": [signature]}
    content = {"apiVersion": "0.0.1", "kind": "dsse", "spec": {**spec, **body.pop("spec", {})}, **body}
    identity = hashlib.sha256(
        LOG.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    ).digest()
    promise = {
        "body": encoded(json.dumps(content).encode()),
        "integratedTime": int(at or (TODAY - datetime.timedelta(days=9, hours=12)).timestamp()),
        "logID": identity.hex(),
        "logIndex": 7,
    }
    stamp = sign(log, json.dumps(promise, sort_keys=True, separators=(",", ":")).encode())
    entry = {
        "logIndex": "7",
        "logId": {"keyId": encoded(identity)},
        "integratedTime": str(promise["integratedTime"]),
        "canonicalizedBody": promise["body"],
        "inclusionPromise": {"signedEntryTimestamp": encoded(stamp)},
    }
    return bundle_of(envelope, certificate={"rawBytes": encoded(leaf.der())}, tlogEntries=[entry])


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def log_trust(tmp_path: Path, text: str = KEYLESS) -> Trust:
    return trust(tmp_path, text, authority=MIDDLE.pem(), log=pem_of(LOG))


def test_a_keyless_signature_is_told_to_need_the_key_of_its_log(
    package: Path, skill: Any, tmp_path: Path
) -> None:
    found = check_signature(skill(keyless(package)), pinned(tmp_path), now=TODAY)
    assert found.state is State.UNVERIFIED
    assert "transparency log" in found.reason


def test_a_pinned_log_dates_a_keyless_signature(package: Path, skill: Any, tmp_path: Path) -> None:
    found = check_signature(skill(keyless(package)), log_trust(tmp_path), now=TODAY)
    assert (found.state, found.signer, found.reason) == (State.VERIFIED, "Kim", "")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"log": ec.generate_private_key(ec.SECP256R1())}, "promise does not fit"),
        ({"at": (TODAY - datetime.timedelta(days=2)).timestamp()}, "expired on"),
        ({"at": (TODAY - datetime.timedelta(days=20)).timestamp()}, "valid only from"),
        ({"kind": "hashedrekord"}, "not checked here"),
        ({"apiVersion": "0.0.2"}, "not checked here"),
        ({"spec": {"payloadHash": {"algorithm": "sha256", "value": "0" * 64}}}, "another statement"),
        ({"spec": {"payloadHash": {"algorithm": "md5", "value": "0" * 32}}}, "another statement"),
        ({"spec": {"signatures": []}}, "another signature"),
        ({"spec": {"signatures": 7}}, "cannot be read"),
        ({"spec": {"signatures": [{"signature": "x", "verifier": "%"}]}}, "cannot be read"),
        (
            {"leaf": issue("eve@example.org", MIDDLE, days=-9, issuer="https://login.example.org")},
            "not that of",
        ),
        (
            {"leaf": issue("kim@example.org", MIDDLE, days=-9, issuer="https://other.example.org")},
            "did not vouch",
        ),
        ({"leaf": issue("kim@example.org", MIDDLE, days=-9)}, "did not vouch"),
        ({"leaf": issue("kim@example.org", OTHER_ROOT, days=-9)}, "does not lead to"),
    ],
)
def test_promises_that_do_not_hold(
    package: Path, skill: Any, tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    found = check_signature(skill(keyless(package, **change)), log_trust(tmp_path), now=TODAY)
    assert found.state is State.UNVERIFIED
    assert told in found.reason


def test_the_entry_of_another_signature_dates_nothing(package: Path, skill: Any, tmp_path: Path) -> None:
    bundle = keyless(package)
    bundle["verificationMaterial"]["tlogEntries"] = keyless(package)["verificationMaterial"]["tlogEntries"]
    found = check_signature(skill(bundle), log_trust(tmp_path), now=TODAY)
    assert "another signature" in found.reason


@pytest.mark.parametrize("field", ["logIndex", "integratedTime", "canonicalizedBody", "logId"])
def test_an_entry_that_was_changed_dates_nothing(
    package: Path, skill: Any, tmp_path: Path, field: str
) -> None:
    for value in ("8", None, [], {"keyId": "AAAA"}):
        bundle = keyless(package)
        bundle["verificationMaterial"]["tlogEntries"][0][field] = value
        found = check_signature(skill(bundle), log_trust(tmp_path), now=TODAY)
        assert found.state is State.UNVERIFIED


def test_what_must_be_signed_is_a_review_where_it_is_not(package: Path, skill: Any, tmp_path: Path) -> None:
    policy = pinned(tmp_path, extra="required = true\n")
    (finding,) = signature_findings(skill(None), policy, now=TODAY)
    assert (finding.code, finding.severity) == ("provenance.unsigned", Severity.REVIEW)
    assert signature_findings(skill(None), pinned(tmp_path), now=TODAY) == ()
    policy = pinned(tmp_path, extra="required = true\n")
    stranger = signed(package, key=STRANGER.key, chain=(STRANGER,))
    (finding,) = signature_findings(skill(stranger), policy, now=TODAY)
    assert (finding.code, finding.severity) == ("provenance.signature-unverified", Severity.REVIEW)


def test_a_registry_carries_the_findings(package: Path, skill: Any, tmp_path: Path) -> None:
    skill(signed(package))
    registry = read_registry(package, staging=tmp_path / "staging")
    policy = pinned(tmp_path, STRANGER)
    codes = [finding.code for finding in with_signatures(registry, policy).skills[0].findings]
    assert codes == ["provenance.signature-unverified"]


# ---- what cannot be read


def broken(**changes: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda bundle: {**bundle, **changes}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda b: [b], "no JSON object"),
        (broken(mediaType="application/json"), "neither"),
        (broken(mediaType=7), "neither"),
        (broken(dsseEnvelope=None, messageSignature={}), "names no files"),
        (broken(verificationMaterial=None), "verificationMaterial"),
        (lambda b: {**b, "dsseEnvelope": {**b["dsseEnvelope"], "signatures": []}}, "at least one"),
        (lambda b: {**b, "dsseEnvelope": {**b["dsseEnvelope"], "payloadType": "text"}}, "in-toto"),
        (lambda b: {**b, "dsseEnvelope": {**b["dsseEnvelope"], "payload": "%"}}, "base64"),
    ],
)
def test_a_file_that_is_no_bundle_is_told(
    package: Path, skill: Any, tmp_path: Path, change: Any, told: str
) -> None:
    found = check_signature(skill(change(signed(package))), pinned(tmp_path), now=TODAY)
    assert found.state is State.UNVERIFIED
    assert told in found.reason


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"_type": "https://example.com/other"}, "no in-toto statement"),
        ({"predicateType": "https://slsa.dev/provenance/v1"}, "something else"),
        ({"subject": []}, "one subject"),
        ({"predicate": []}, "no predicate"),
        ({"predicate": {"resources": []}}, "lists no files"),
        ({"predicate": {"serialization": {"method": "shards"}, "resources": [1]}}, "shards"),
        ({"predicate": {"resources": [{"name": "a", "algorithm": "sha256", "digest": "x"}]}}, "no digest"),
        (
            {"predicate": {"resources": [{"name": "a", "algorithm": "sha256", "digest": "a" * 64}] * 2}},
            "listed twice",
        ),
    ],
)
def test_a_statement_about_something_else_is_told(
    package: Path, skill: Any, tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    found = check_signature(skill(signed(package, **change)), pinned(tmp_path), now=TODAY)
    assert found.state is State.UNVERIFIED
    assert told in found.reason


def test_a_statement_that_two_readers_would_read_differently_is_refused(package: Path) -> None:
    text = json.dumps(statement_of(package))
    twice = text[:-1] + ', "predicateType": "' + PREDICATE + '"}'
    with pytest.raises(BundleError, match="repeated"):
        read_statement(twice.encode())


def test_an_unknown_hash_does_not_pass(package: Path, skill: Any, tmp_path: Path) -> None:
    statement = statement_of(package)
    statement["predicate"]["resources"][0]["algorithm"] = "crc32"
    bundle = bundle_of(envelope_of(statement, LEAF.key), LEAF, MIDDLE)
    found = check_signature(skill(bundle), pinned(tmp_path), now=TODAY)
    assert (found.state, "crc32" in found.reason) == (State.INVALID, True)


def test_other_hashes_are_computed(package: Path, skill: Any, tmp_path: Path) -> None:
    statement = statement_of(package)
    for one in statement["predicate"]["resources"]:
        one["algorithm"] = "blake2b"
        one["digest"] = hashlib.blake2b((package / one["name"]).read_bytes()).hexdigest()
    bundle = bundle_of(envelope_of(statement, LEAF.key), LEAF, MIDDLE)
    assert check_signature(skill(bundle), pinned(tmp_path), now=TODAY).state is State.VERIFIED
    assert replace(check_signature(skill(None), Trust(), now=TODAY), reason="").claimed == "Example Signing"


# ---- the trust policy


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("signer = 1", "tables"),
        ("[[signers]]\n", "unknown table"),
        ('[[signer]]\nname = "x"\n', "exactly one of key and certificate"),
        ('[[signer]]\nname = "x"\nkey = "k.pem"\ncertificate = "k.pem"\n', "exactly one"),
        ('[[signer]]\nkey = "k.pem"\n', "needs a name"),
        ('[[signer]]\nname = ""\nkey = "k.pem"\n', "not empty"),
        ('[[signer]]\nname = "x"\nkey = "k.pem"\nskill = "a"\n', "no key 'skill'"),
        ('[[signer]]\nname = "x"\nkey = "k.pem"\nskills = "a"\n', "list of names"),
        ('[[signer]]\nname = "x"\nkey = "k.pem"\nrequired = 1\n', "true or false"),
        ('[[signer]]\nname = "x"\nkey = "k.pem"\nsubject = "a"\n', "subject goes with certificate"),
        ('[[signer]]\nname = "x"\nkey = "k.pem"\nlog = "k.pem"\n', "log goes with certificate"),
        ('[[signer]]\nname = "x"\ncertificate = "k.pem"\nlog = "k.pem"\n', "subject and issuer"),
        ('[[signer]]\nname = "x"\ncertificate = "k.pem"\nissuer = "i"\n', "issuer goes with log"),
        ('[[signer]]\nname = "x"\nkey = "absent.pem"\n', "cannot be read"),
        ('[[signer]]\nname = "x"\nkey = "k.pem"\n', "no public key"),
        ('[[signer]]\nname = "x"\ncertificate = "k.pem"\n', "no certificate"),
        ("[[signer", "not valid TOML"),
    ],
)
def test_what_is_wrong_with_a_trust_policy_is_said(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        trust(tmp_path, text, k=b"no key")


def test_no_policy_trusts_nobody(tmp_path: Path) -> None:
    assert load_trust(None) == Trust()
    with pytest.raises(PolicyError, match="--trust"):
        load_trust(tmp_path / "absent.toml")


# ---- any bytes


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=120) | st.text(alphabet='{}[]":, \\amediTypdsEnvlo1', max_size=120).map(str.encode))
def test_any_bytes_are_a_bundle_or_a_bundle_error(data: bytes) -> None:
    for read in (read_bundle, read_statement):
        try:
            read(data)
        except BundleError as error:
            assert str(error)
