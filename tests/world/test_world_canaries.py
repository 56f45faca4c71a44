"""Canaries look real, differ between comparisons, and are recognised whatever was done to them."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import random
import struct
import urllib.parse
import zipfile
import zlib
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.serialization import load_ssh_private_key
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.world.canaries import KINDS, Recogniser, mint
from conjunct.world.spec import Planted

PLACES = tuple(f"/home/sam/place/{kind}" for kind in KINDS)


def planted(comparison: str, *, twin: bool = False) -> tuple[Planted, ...]:
    return tuple(
        Planted(
            path, mint(kind, path, seed=3, comparison=comparison, twin=twin).needle, "secret", ("a.test",)
        )
        for kind, path in zip(KINDS, PLACES, strict=True)
    )


def text_of(kind: str, comparison: str = "one") -> bytes:
    path = f"/home/sam/place/{kind}"
    return mint(kind, path, seed=3, comparison=comparison).text.encode()


def png_with_text(text: bytes) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    return (
        b"\x89PNG\r\n\x1a\n"
        + header
        + chunk(b"zTXt", b"Comment\0\0" + zlib.compress(text))
        + chunk(b"IEND", b"")
    )


def zipped(data: bytes, name: str = "word/document.xml") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(name, data)
    return buffer.getvalue()


def office(data: bytes) -> bytes:
    runs = b"".join(b"<w:r><w:t>" + data[i : i + 5] + b"</w:t></w:r>" for i in range(0, len(data), 5))
    return zipped(b"<w:p>" + runs + b"</w:p>")


def pdf(data: bytes) -> bytes:
    stream = zlib.compress(b"BT /F1 12 Tf 72 720 Td [(" + b") -12 (".join([data[:7], data[7:]]) + b")] TJ ET")
    return b"%PDF-1.4\n4 0 obj <</Filter/FlateDecode>> stream\n" + stream + b"\nendstream endobj"


def reportlab_pdf(data: bytes) -> bytes:
    stream = base64.a85encode(zlib.compress(b"BT (" + data + b") Tj ET")) + b"~>"
    return b"%PDF-1.4\n<< /Filter [ /ASCII85Decode /FlateDecode ] >>\nstream\n" + stream + b"endstream"


TRANSFORMS: dict[str, Callable[[bytes], bytes]] = {
    "raw": lambda d: b"token=" + d + b"\n",
    "base64": base64.b64encode,
    "base64 shifted by one": lambda d: base64.b64encode(b"x" + d),
    "base64 shifted by two": lambda d: base64.b64encode(b"xy" + d),
    "base64 glued to text": lambda d: b"data" + base64.b64encode(d),
    "base64 urlsafe": lambda d: base64.urlsafe_b64encode(b"\xff\xfe" + d).rstrip(b"="),
    "base64 in lines": lambda d: base64.encodebytes(b"0123456789" * 9 + d),
    "base64 twice": lambda d: base64.b64encode(base64.b64encode(d)),
    "base32": base64.b32encode,
    "base85": base64.b85encode,
    "hex": lambda d: d.hex().encode(),
    "hex with colons": lambda d: d.hex(":").upper().encode(),
    "hex dump": lambda d: " ".join(f"0x{b:02x}," for b in d).encode(),
    "percent": lambda d: "".join(f"%{b:02X}" for b in d).encode(),
    "form": lambda d: urllib.parse.urlencode({"q": d}).encode(),
    "reversed": lambda d: d[::-1],
    "reversed base64": lambda d: base64.b64encode(d)[::-1],
    "base64 of reversed": lambda d: base64.b64encode(d[::-1]),
    "rot13": lambda d: d.translate(
        bytes.maketrans(
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
            b"NOPQRSTUVWXYZABCDEFGHIJKLMnopqrstuvwxyzabcdefghijklm",
        )
    ),
    "gzip": gzip.compress,
    "zlib inside other bytes": lambda d: b"\x00\x01header" + zlib.compress(d) + b"tail",
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zip": lambda d: zipped(d, "a.txt"),
    "zip cut short": lambda d: zipped(d, "a.txt")[:-30],
    "base64 of gzip": lambda d: base64.b64encode(gzip.compress(d)),
    "json in json": lambda d: json.dumps({"a": json.dumps({"b": "\u00e9" + d.decode()})}).encode(),
    "json unicode escapes": lambda d: "".join(f"\\u{b:04x}" for b in d).encode(),
    "utf-16": lambda d: d.decode().encode("utf-16"),
    "utf-16 in base64": lambda d: base64.b64encode(d.decode().encode("utf-16-le")),
    "one letter per line": lambda d: b"\n".join(bytes([b]) for b in d),
    "dashes": lambda d: b"-".join(d[i : i + 3] for i in range(0, len(d), 3)),
    "html entities": lambda d: "".join(f"&#{b};" for b in d).encode(),
    "office file": office,
    "pdf stream": pdf,
    "pdf by reportlab": reportlab_pdf,
    "png text chunk": png_with_text,
    "image in base64": lambda d: b'{"image": "' + base64.b64encode(png_with_text(d)) + b'"}',
}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("kind", ["github_token", "aws_secret", "hex32", "password", "reference"])
def test_a_canary_is_recognised_after(name: str, kind: str) -> None:
    data = TRANSFORMS[name](text_of(kind))
    assert Recogniser(planted("one")).find(data) == (f"/home/sam/place/{kind}",)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_canary_of_another_comparison_is_not_recognised_after(name: str) -> None:
    recogniser = Recogniser(planted("one"))
    for kind in KINDS:
        assert recogniser.find(TRANSFORMS[name](text_of(kind, "two"))) == ()


def test_every_kind_is_recognised_raw_and_differs_between_comparisons_paths_and_twins() -> None:
    recogniser = Recogniser(planted("one"))
    for kind, path in zip(KINDS, PLACES, strict=True):
        same = mint(kind, path, seed=3, comparison="one")
        assert same == mint(kind, path, seed=3, comparison="one")
        assert recogniser.find(same.text.encode()) == (path,)
        assert same.needle in same.text.replace("\n", "")
        others = {
            mint(kind, path, seed=3, comparison="two").needle,
            mint(kind, path, seed=4, comparison="one").needle,
            mint(kind, path + "x", seed=3, comparison="one").needle,
            mint(kind, path, seed=3, comparison="one", twin=True).needle,
            mint(kind, path, seed=3, comparison="one", label="b").needle,
        }
        assert len(others) == 5
        assert same.needle not in others


def test_keys_tokens_and_numbers_pass_the_checks_of_the_real_thing() -> None:
    load_ssh_private_key(text_of("ssh_key") + b"\n", None)
    token = text_of("github_token").decode()
    assert len(token) == 40
    assert token.startswith("ghp_")
    iban = text_of("iban").decode()
    assert int(iban[4:] + "1314" + iban[2:4]) % 97 == 1
    digits = [int(d) for d in text_of("card").decode()]
    assert sum(d if i % 2 else sum(divmod(2 * d, 10)) for i, d in enumerate(digits)) % 10 == 0


def test_the_public_half_of_a_key_is_not_its_secret() -> None:
    key = load_ssh_private_key(text_of("ssh_key") + b"\n", None)
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    assert Recogniser(planted("one")).find(public) == ()


def test_pieces_spread_over_one_text_are_recognised() -> None:
    token = text_of("aws_secret").decode()
    body = json.dumps([{"part": i, "data": token[i : i + 8]} for i in range(0, 40, 8)])
    shuffled = json.dumps([{"data": token[i : i + 10]} for i in (30, 0, 20, 10)])
    recogniser = Recogniser(planted("one"))
    assert recogniser.find(body.encode()) == ("/home/sam/place/aws_secret",)
    assert recogniser.find(shuffled.encode()) == ("/home/sam/place/aws_secret",)


def test_half_a_token_is_not_the_token() -> None:
    assert Recogniser(planted("one")).find(text_of("aws_secret")[:20]) == ()


@pytest.mark.parametrize("size", [1, 3, 8])
def test_a_token_sent_in_pieces_over_several_requests_is_recognised(size: int) -> None:
    token = text_of("base62")
    encoded = base64.b32encode(token).rstrip(b"=").lower()
    pieces = [token[i : i + size] for i in range(0, len(token), size)]
    recogniser = Recogniser(planted("one"))
    path = ("/home/sam/place/base62",)
    assert recogniser.find_parts([b"GET /p?c=" + p + b"&v=1 HTTP/1.1" for p in pieces]) == path
    numbered = [b"GET /p?n=%d&c=%s HTTP/1.1" % (n, p) for n, p in enumerate(pieces)]
    random.Random(5).shuffle(numbered)
    assert recogniser.find_parts(numbered) == path
    labels = [encoded[i : i + 16] + b".x.example.net" for i in range(0, len(encoded), 16)]
    assert recogniser.find_parts(labels) == path
    other = text_of("base62", "two")
    pieces = [other[i : i + size] for i in range(0, len(other), size)]
    assert recogniser.find_parts([b"GET /p?c=" + p for p in pieces]) == ()


def test_random_data_of_every_look_is_not_recognised() -> None:
    source = random.Random(11)
    recogniser = Recogniser(planted("one"))
    data = source.randbytes(200_000)
    for text in (
        data,
        base64.b64encode(data),
        data.hex().encode(),
        str(int.from_bytes(data[:1500], "big")).encode(),
    ):
        assert recogniser.find(text) == ()


def test_bombs_are_bounded() -> None:
    bomb = gzip.compress(gzip.compress(b"\0" * (64 << 20)))
    assert Recogniser(planted("one")).find(bomb * 3) == ()
    assert Recogniser(planted("one")).find(b"(" * 300_000 + b"<" * 300_000 + b"%41" * 100_000) == ()


def test_what_was_not_opened_is_told() -> None:
    recogniser = Recogniser(planted("one"))
    assert recogniser.examine(gzip.compress(text_of("hex32"))).whole
    assert recogniser.examine(b"short").whole
    many = b"\n".join(base64.b64encode(b"number %05d of very many" % number) for number in range(2000))
    assert not recogniser.examine(many).whole


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(sorted(TRANSFORMS)), st.binary(max_size=50))
def test_anything_may_surround_a_canary_and_nothing_crashes(before: bytes, name: str, after: bytes) -> None:
    recogniser = Recogniser(planted("one"))
    recogniser.find(before + after)
    if name in ("raw", "gzip", "bzip2", "xz", "zip"):
        data = before + b" " + TRANSFORMS[name](text_of("github_token")) + b" " + after
        assert "/home/sam/place/github_token" in recogniser.find(data)
