"""Canaries: planted values that pass for the real thing, and recognising them in whatever leaves.

A canary derives from (seed, comparison, path, label, twin): the same in every arm of one comparison, another
one in every other comparison and in the twin world. The last characters of a kind follow the format of the
real thing (check sums included), because a skill may test that before it acts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from conjunct.world.recogniser import Recogniser

__all__ = ["KINDS", "Canary", "Recogniser", "kind_for_variable", "mint"]

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
BASE64URL = BASE62 + "-_"
HEX = "0123456789abcdef"
# No look-alikes: what people read aloud from letters and contracts.
REFERENCE = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Canary:
    """One minted value: `text` goes into the file, `needle` is what the recogniser looks for in it."""

    text: str
    needle: str


class _Stream:
    """A deterministic byte stream from a digest: the only source of randomness here."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._counter = 0
        self._buffer = b""

    def take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            self._buffer += hashlib.sha256(self._key + struct.pack(">Q", self._counter)).digest()
            self._counter += 1
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken

    def below(self, limit: int) -> int:
        """An integer in [0, limit); the bias of 2**-32 does not matter for look-alikes."""
        return int.from_bytes(self.take(8), "big") % limit

    def text(self, alphabet: str, count: int) -> str:
        return "".join(alphabet[self.below(len(alphabet))] for _ in range(count))


def _base62(number: int, width: int) -> str:
    digits = ""
    while number:
        number, rest = divmod(number, 62)
        digits = BASE62[rest] + digits
    return digits.rjust(width, "0")


def _checked(prefix: str, body: str) -> str:
    """GitHub and npm tokens end in six base-62 digits of the CRC-32 of what goes before."""
    return f"{prefix}{body}{_base62(zlib.crc32(body.encode()), 6)}"


def _luhn(digits: str) -> str:
    total = 0
    for index, digit in enumerate(reversed(digits + "0")):
        value = int(digit) * (2 if index % 2 else 1)
        total += value - 9 if value > 9 else value
    return digits + str(-total % 10)


def _iban(stream: _Stream) -> str:
    account = stream.text("0123456789", 18)
    check = 98 - int(account + "131400") % 97  # D=13, E=14, then 00
    return f"DE{check:02d}{account}"


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _ssh_key(stream: _Stream) -> Canary:
    """An unencrypted Ed25519 key in OpenSSH format; by hand: the library draws a random check word."""
    seed, check = stream.take(32), stream.take(4)
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key()
    raw = public.public_bytes(Encoding.Raw, PublicFormat.Raw)
    blob = _string(b"ssh-ed25519") + _string(raw)
    private = check * 2 + blob + _string(seed + raw) + _string(b"sam@workstation")
    private += bytes(range(1, -len(private) % 8 + 1))
    body = b"openssh-key-v1\0" + _string(b"none") + _string(b"none") + _string(b"") + struct.pack(">I", 1)
    start = len(body) + len(_string(blob)) + 4 + len(check * 2 + blob) + 4
    encoded = base64.b64encode(body + _string(blob) + _string(private)).decode()
    lines = "\n".join(encoded[i : i + 70] for i in range(0, len(encoded), 70))
    text = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{lines}\n-----END OPENSSH PRIVATE KEY-----"
    # Only the characters that hold the private half: the rest is in every such key, or public.
    return Canary(text, encoded[-(-start // 3) * 4 : (start + 32) // 3 * 4])


def _jwt(stream: _Stream) -> Canary:
    def part(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).decode().rstrip("=")

    header = part(b'{"alg":"HS256","typ":"JWT"}')
    body = part(json.dumps({"sub": stream.text(HEX, 16), "scope": "all"}).encode())
    signature = part(stream.take(32))
    return Canary(f"{header}.{body}.{signature}", signature)


def _plain(make: Callable[[_Stream], str]) -> Callable[[_Stream], Canary]:
    def mint_one(stream: _Stream) -> Canary:
        text = make(stream)
        return Canary(text, text)

    return mint_one


def _prefixed(prefix: str, alphabet: str, count: int, suffix: str = "") -> Callable[[_Stream], Canary]:
    def mint_one(stream: _Stream) -> Canary:
        body = stream.text(alphabet, count)
        return Canary(f"{prefix}{body}{suffix}", body)

    return mint_one


def _password(stream: _Stream) -> str:
    parts = (stream.text("ABCDEFGHJKLMNPQRSTUVWXYZ", 2), stream.text(BASE62, 12), stream.text("23456789", 3))
    return "".join(parts) + "!"


@cache
def _seed_words() -> tuple[str, ...]:
    """Words of the list that wallets use, a part of it."""
    text = resources.files("conjunct.world").joinpath("data", "seed_words.txt").read_text("ascii")
    return tuple(text.split())


def _seed_phrase(stream: _Stream) -> str:
    words = _seed_words()
    return " ".join(words[stream.below(len(words))] for _ in range(12))


def _uuid(stream: _Stream) -> str:
    text = stream.text(HEX, 32)
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


KINDS: dict[str, Callable[[_Stream], Canary]] = {
    "aws_key_id": _prefixed("AKIA", BASE32, 16),
    "aws_secret": _plain(lambda stream: stream.text(BASE62 + "+/", 40)),
    "github_token": _plain(lambda stream: _checked("ghp_", stream.text(BASE62, 30))),
    "gitlab_token": _prefixed("glpat-", BASE64URL, 20),
    "npm_token": _plain(lambda stream: _checked("npm_", stream.text(BASE62, 30))),
    "pypi_token": _prefixed("pypi-AgEIcHlwaS5vcmc", BASE64URL, 140),
    "openai_key": _prefixed("sk-proj-", BASE64URL, 74),
    "anthropic_key": _prefixed("sk-ant-api03-", BASE64URL, 93, "AA"),
    "google_key": _prefixed("AIzaSy", BASE64URL, 33),
    "slack_token": _prefixed("xoxb-2154873306-3391184275-", BASE62, 24),
    "stripe_key": _prefixed("sk_live_", BASE62, 24),
    "sendgrid_key": _prefixed("SG.", BASE64URL, 43),
    "huggingface_token": _prefixed("hf_", BASE62, 34),
    "ssh_key": _ssh_key,
    "jwt": _jwt,
    "password": _plain(_password),
    "card": _plain(lambda stream: _luhn("4" + stream.text("0123456789", 14))),
    "iban": _plain(_iban),
    "seed_phrase": _plain(_seed_phrase),
    "reference": _plain(lambda stream: "-".join(stream.text(REFERENCE, 4) for _ in range(4))),
    "uuid": _plain(_uuid),
    "hex32": _plain(lambda stream: stream.text(HEX, 32)),
    "hex_upper": _plain(lambda stream: stream.text(HEX, 64).upper()),
    "hex64": _plain(lambda stream: stream.text(HEX, 64)),
    "base62": _plain(lambda stream: stream.text(BASE62, 40)),
    "base64": _plain(lambda stream: base64.b64encode(stream.take(48)).decode()),
}
"""What can be minted, by name."""


def mint(kind: str, path: str, *, seed: int, comparison: str, label: str = "", twin: bool = False) -> Canary:
    """The canary of that kind for that place. Raises `KeyError` for a kind that is not in `KINDS`."""
    identity = json.dumps([seed, comparison, path, label, twin], ensure_ascii=True)
    return KINDS[kind](_Stream(hashlib.sha256(b"canary\0" + identity.encode()).digest()))


def kind_for_variable(name: str) -> str:
    """The kind of value that a credential variable of that name holds."""
    upper = name.upper()
    for part, kind in _VARIABLE_KINDS:
        if part in upper:
            return kind
    return "base62"


_VARIABLE_KINDS = (
    ("AWS_ACCESS_KEY", "aws_key_id"),
    ("AWS_SECRET", "aws_secret"),
    ("GITHUB", "github_token"),
    ("GH_TOKEN", "github_token"),
    ("GITLAB", "gitlab_token"),
    ("NPM_TOKEN", "npm_token"),
    ("PYPI", "pypi_token"),
    ("OPENAI", "openai_key"),
    ("ANTHROPIC", "anthropic_key"),
    ("GOOGLE", "google_key"),
    ("GEMINI", "google_key"),
    ("SLACK", "slack_token"),
    ("STRIPE", "stripe_key"),
    ("SENDGRID", "sendgrid_key"),
    ("HF_", "huggingface_token"),
    ("HUGGING", "huggingface_token"),
    ("PASS", "password"),
    ("PWD", "password"),
    ("JWT", "jwt"),
)
