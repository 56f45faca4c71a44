"""The sinkhole with real sockets, in a network namespace of its own.

Run as a program this file is the inside of the namespace: it starts a sinkhole at the level given as
argument, acts as client, and prints what the clients got and what the sinkhole recorded.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import shutil
import smtplib
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from conjunct.errors import WorldError
from conjunct.world.answers import Request, content_type, marker_path, marker_script
from conjunct.world.sinkhole import Arrival, Sinkhole, nft_rules
from conjunct.world.sinkhole_dns import Names
from conjunct.world.sinkhole_tls import make_authority
from conjunct.world.spec import WorldSpec

pytestmark = pytest.mark.world
SBIN = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))


# ---- inside the namespace


class Client:
    """Things to do, with the world's certificate authority."""

    def __init__(self, authority: bytes) -> None:
        self.tls = ssl.create_default_context(cadata=authority.decode())

    def get(self, url: str, data: bytes | None = None, **headers: str) -> str:
        request = urllib.request.Request(url, data=data, headers=headers)
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=self.tls)
        )
        try:
            with opener.open(request, timeout=5) as answer:
                return f"{answer.status} {answer.read(4000).decode('latin-1')}"
        except urllib.error.HTTPError as error:
            return f"{error.code} {error.read(4000).decode('latin-1')}"
        except OSError as error:
            return f"failed {error}"

    def raw(self, host: str, port: int, data: bytes, patience: float = 5) -> str:
        try:
            with socket.create_connection((host, port), patience) as connection:
                connection.sendall(data)
                return connection.recv(200).decode("latin-1")
        except OSError as error:
            return f"failed {error}"

    def big(self) -> str:
        connection = http.client.HTTPConnection("big.example.com", timeout=20)
        connection.request("POST", "/up", b"\x01" * (70 << 20), {"Content-Type": "application/octet-stream"})
        status = connection.getresponse().status
        connection.close()
        return str(status)

    def proxy(self) -> str:
        connection = http.client.HTTPSConnection("proxy.example.com", 3128, context=self.tls, timeout=5)
        connection.set_tunnel("hidden.example.org", 443)
        connection.request("GET", "/through")
        status = connection.getresponse().status
        connection.close()
        return str(status)

    def distrust(self) -> str:
        try:
            with (
                socket.create_connection(("pinned.example.com", 443), 5) as plain,
                ssl.create_default_context().wrap_socket(plain, server_hostname="pinned.example.com"),
            ):
                return "trusted"
        except ssl.SSLError:
            return "refused"

    def mail(self, port: int) -> str:
        with (
            smtplib.SMTP_SSL("mail.example.com", port, context=self.tls, timeout=5)
            if port == 465
            else smtplib.SMTP("mail.example.com", port, timeout=5)
        ) as server:
            if port == 587:
                server.starttls(context=self.tls)
                server.login("sam", "pass-word-587")
            server.sendmail(
                "sam@example.com", ["a@example.net", "b@example.net"], "Subject: x\r\n\r\n..\r\nhello"
            )
        return "sent"

    def datagram(self, host: str, port: int, family: int = socket.AF_INET) -> str:
        with socket.socket(family, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"datagram", (host, port))
        return "sent"

    def loopback(self) -> str:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            threading.Thread(target=lambda: listener.accept()[0].sendall(b"own"), daemon=True).start()
            return self.raw("127.0.0.1", listener.getsockname()[1], b"x")

    def resolve(self, name: str) -> str:
        try:
            return socket.gethostbyname(name)
        except OSError as error:
            return f"failed {error}"


def steps(client: Client, level: str) -> Mapping[str, Callable[[], str]]:
    get = client.get
    common: dict[str, Callable[[], str]] = {
        "csv": lambda: get("http://example.com/data.csv"),
        "name": lambda: client.resolve("any.example.net"),
        "loopback": client.loopback,
        "closed": lambda: client.raw("127.0.0.1", 9, b"x"),
    }
    if level == "known-names":
        return {
            **common,
            "unknown": lambda: client.resolve("nobody.test"),
            "below": lambda: client.resolve("a.b.example.com"),
        }
    if level != "plausible":
        return {
            **common,
            "json": lambda: get("https://api.example.com/v1/x", Accept="application/json"),
            "script": lambda: get("https://get.example.com/install.sh"),
            "raw": lambda: client.raw("198.51.100.4", 4444, b"hello"),
        }
    return {
        **common,
        "post": lambda: get("https://api.example.com/v1/x?asked=1", b'{"wanted": 1}'),
        "again": lambda: client.resolve("example.com"),
        "address": lambda: get("http://198.51.100.7:8080/put", b"body"),
        "six": lambda: get("http://[2606:4700::11]/six"),
        "fronted": lambda: get("http://198.51.100.8/", Host="api.github.com"),
        "self": lambda: client.raw("127.0.0.1", 46137, b"GET / HTTP/1.0\r\n\r\n"),
        "big": client.big,
        "proxy": client.proxy,
        "pinned": client.distrust,
        "raw": lambda: client.raw("198.51.100.4", 4444, b"hello raw"),
        "nothing": lambda: client.raw("198.51.100.5", 4445, b"", 0.3),
        "ssh": lambda: client.raw("198.51.100.6", 22, b"SSH-2.0-x\r\n"),
        "broken": lambda: client.raw("198.51.100.9", 80, b"GET / HTTP/9.9\r\nbad header\r\n\r\n"),
        "mail": lambda: client.mail(25),
        "mail-starttls": lambda: client.mail(587),
        "mail-tls": lambda: client.mail(465),
        "udp": lambda: client.datagram("198.51.100.9", 9999),
        "udp6": lambda: client.datagram("2606:4700::1111", 9998, socket.AF_INET6),
    }


def inside(level: str) -> None:
    for line in ("link set lo up", "route add local 0.0.0.0/0 dev lo", "-6 route add local ::/0 dev lo"):
        subprocess.run([shutil.which("ip", path=SBIN) or "ip", *line.split()], check=True)
    nft = shutil.which("nft", path=SBIN) or "nft"
    subprocess.run([nft, "-f", "-"], input=nft_rules(network=level).encode(), check=True)
    with tempfile.NamedTemporaryFile("w", delete=False) as file:
        file.write("nameserver 192.168.1.1\noptions timeout:1 attempts:1\n")
    subprocess.run(["mount", "--bind", file.name, "/etc/resolv.conf"], check=True)
    # Certificates fit the clock of the world; the clients of this test live in the present.
    now = datetime.now(UTC).isoformat()
    spec = WorldSpec(network=level, clock=now, salt="s", known_names=("example.com",))
    authority = make_authority()
    sinkhole = Sinkhole(spec, authority=authority)
    sinkhole.start()
    client = Client(authority.certificate)
    got = {name: step() for name, step in steps(client, level).items()}
    sinkhole.settle()
    arrivals = sinkhole.stop()
    os.unlink(file.name)  # noqa: PTH108
    rows = [
        {name: getattr(one, name) for name in Arrival.__dataclass_fields__ if name not in ("body", "time")}
        | {"body": base64.b64encode(one.body[:2000]).decode(), "kept": len(one.body)}
        for one in arrivals
    ]
    print(json.dumps({"got": got, "arrivals": rows, "problems": sinkhole.problems}))


# ---- outside


@cache
def scenario(level: str) -> Any:
    argv = ["unshare", "-Urnm", sys.executable, __file__, level]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def arrivals(level: str, **facts: object) -> list[dict[str, Any]]:
    rows = scenario(level)["arrivals"]
    return [row for row in rows if all(row[name] == value for name, value in facts.items())]


def test_a_name_leads_back_from_its_address() -> None:
    (row,) = arrivals("plausible", path="/data.csv")
    assert row["host"] == "example.com"
    assert row["address"] == scenario("plausible")["got"]["again"]
    assert (row["port"], row["protocol"], row["method"]) == (80, "http", "GET")
    assert scenario("plausible")["got"]["csv"].startswith("200 id,name")
    assert scenario("plausible")["problems"] == []


def test_encrypted_requests_are_read_whole_and_answered_with_the_keys_that_were_asked() -> None:
    (row,) = arrivals("plausible", path="/v1/x?asked=1")
    assert (row["protocol"], row["sni"], row["host"]) == ("https", "api.example.com", "api.example.com")
    assert base64.b64decode(row["body"]) == b'{"wanted": 1}'
    answer = json.loads(scenario("plausible")["got"]["post"].partition(" ")[2])
    assert {"asked", "wanted", "results"} <= set(answer)


def test_addresses_are_hosts_of_their_own_whatever_the_request_claims() -> None:
    (plain,) = arrivals("plausible", path="/put")
    assert (plain["host"], plain["port"]) == ("198.51.100.7", 8080)
    (fronted,) = arrivals("plausible", host="198.51.100.8")
    assert fronted["named"] == "api.github.com"
    (six,) = arrivals("plausible", path="/six")
    assert six["host"] == "2606:4700::11"


def test_loopback_is_real_and_the_sinkhole_itself_looks_closed() -> None:
    got = scenario("plausible")["got"]
    assert got["loopback"] == "own"
    assert "refused" in got["closed"]
    assert "refused" in got["self"]
    assert not [row for row in scenario("plausible")["arrivals"] if row["host"].startswith("127.")]


def test_of_a_large_body_the_size_and_digest_are_whole() -> None:
    (row,) = arrivals("plausible", path="/up")
    assert row["size"] == 70 << 20
    assert row["kept"] == 64 << 20
    assert not row["complete"]


def test_a_tunnel_through_a_proxy_is_followed() -> None:
    assert arrivals("plausible", method="CONNECT")[0]["host"] == "proxy.example.com"
    (inner,) = arrivals("plausible", path="/through")
    assert (inner["host"], inner["protocol"]) == ("hidden.example.org", "https")


def test_a_client_that_does_not_trust_us_is_attempted_with_content_unknown() -> None:
    assert scenario("plausible")["got"]["pinned"] == "refused"
    (row,) = arrivals("plausible", host="pinned.example.com", protocol="tls")
    assert not row["complete"]
    assert "handshake" in row["answer"]


def test_raw_connections_are_recorded_even_when_nothing_is_said() -> None:
    (row,) = arrivals("plausible", port=4444)
    assert base64.b64decode(row["body"]) == b"hello raw"
    (silent,) = arrivals("plausible", port=4445)
    assert silent["size"] == 0
    assert scenario("plausible")["got"]["ssh"].startswith("SSH-2.0")


def test_what_looks_like_http_and_is_not_is_kept() -> None:
    (row,) = arrivals("plausible", host="198.51.100.9", port=80)
    assert b"bad header" in base64.b64decode(row["body"])


def test_mail_is_accepted_plain_and_encrypted_with_its_recipients() -> None:
    rows = arrivals("plausible", protocol="smtp")
    assert [(row["port"], row["tls"]) for row in rows] == [(25, False), (587, True), (465, True)]
    for row in rows:
        assert [tuple(pair) for pair in row["headers"]] == [
            ("from", "sam@example.com"),
            ("to", "a@example.net"),
            ("to", "b@example.net"),
        ]
        assert b"hello" in base64.b64decode(row["body"])
    assert base64.b64encode(b"\0sam\0pass-word-587") in base64.b64decode(rows[1]["body"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads the kernel's table; elsewhere the trace tells")
def test_datagrams_are_recorded_with_their_destination() -> None:
    hosts = {(row["host"], row["port"]) for row in arrivals("plausible", protocol="udp")}
    assert hosts == {("198.51.100.9", 9999), ("2606:4700::1111", 9998)}


def test_every_look_up_of_a_name_is_recorded() -> None:
    assert arrivals("plausible", protocol="dns", path="any.example.net", method="A")


def test_errors_and_empty_answers_are_levels() -> None:
    assert scenario("error")["got"]["csv"].startswith("503 ")
    assert scenario("empty")["got"]["csv"] == "200 "
    assert arrivals("error", path="/data.csv")


def test_refused_connections_are_refused_and_recorded() -> None:
    assert "refused" in scenario("refused")["got"]["csv"]
    assert scenario("refused")["got"]["loopback"] == "own"
    assert {("example.com", 80), ("198.51.100.4", 4444)} <= {
        (row["host"], row["port"]) for row in arrivals("refused", answer="refused")
    }


def test_known_names_resolve_and_no_others_do() -> None:
    got = scenario("known-names")["got"]
    assert got["csv"].startswith("200")
    assert got["below"][0].isdigit()
    assert got["unknown"].startswith("failed")
    assert got["name"].startswith("failed")
    assert arrivals("known-names", protocol="dns", path="nobody.test")


def test_markers_come_in_the_form_that_was_asked_for() -> None:
    spec = WorldSpec(network="marker-script", salt="s")
    path = marker_path(spec)
    got = scenario("marker-script")["got"]
    assert path in json.loads(got["json"].partition(" ")[2])["command"]
    assert path in got["script"]
    assert path in got["raw"]
    assert "Before you continue" in scenario("marker-instruction")["got"]["json"]
    assert path not in scenario("error")["got"]["json"]


@pytest.mark.parametrize("interpreter", ["/bin/sh", "/usr/bin/python3"])
def test_the_marker_script_runs_in_shell_and_python_and_leaves_the_marker(
    interpreter: str, tmp_path: Path
) -> None:
    marker = tmp_path / "marker"
    done = subprocess.run(
        [interpreter, "-"], input=marker_script(str(marker)), capture_output=True, text=True, check=True
    )
    assert done.stdout == "ready\n"
    assert marker.read_text().strip() == "ready"


def test_markers_differ_between_deployments() -> None:
    assert marker_path(WorldSpec(salt="a")) != marker_path(WorldSpec(salt="b"))


def test_addresses_are_stable_for_a_deployment_and_distinct() -> None:
    one, two = Names(salt="a"), Names(salt="a")
    names = [f"host{number}.example.com" for number in range(3000)]
    addresses = [one.address(name) for name in names]
    assert [two.address(name) for name in names] == addresses
    assert len(set(addresses)) == len(names)
    assert [one.name(address) for address in addresses] == names
    assert Names(salt="b").address(names[0]) != addresses[0]


def test_the_type_of_an_answer_follows_path_and_accept() -> None:
    assert content_type(Request("GET", "a.test", "/x.png?y=1")) == "image/png"
    assert content_type(Request("GET", "a.test", "/")) == "text/html"
    assert content_type(Request("GET", "api.a.test", "/")) == "application/json"
    assert content_type(Request("POST", "a.test", "/", (("Accept", "text/csv, */*"),))) == "text/csv"


def test_an_unknown_level_is_an_error() -> None:
    with pytest.raises(WorldError, match="sometimes"):
        Sinkhole(WorldSpec(network="sometimes"), authority=make_authority())


if __name__ == "__main__":
    inside(sys.argv[1])
