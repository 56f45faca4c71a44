"""The parts of the system tree that are not `/usr`: a minimal, neutral `/etc`, `/var`, `/opt` and `/srv`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from conjunct.world.layers import LayerEntry
from conjunct.world.spec import Layout

USER_ID = 1000
SYSTEM_FOLDERS = ("etc", "opt", "srv", "mnt", "media", "var", "sys")
CRONTABS = "var/spool/cron/crontabs"
WRITABLE_FOLDERS = ("tmp", "run", "var/tmp", CRONTABS, "dev/shm")
HOST_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""Names beside `/usr` that are links into it on merged systems."""
NAME_SERVER = "192.168.1.1"

_COPIED = (
    "ld.so.cache",
    "ld.so.conf",
    "protocols",
    "services",
    "mime.types",
    "magic",
    "bash.bashrc",
    "profile",
    "inputrc",
    "shells",
    "debian_version",
    "issue",
    "python3",
    "python3.11",
    "python3.12",
    "python3.13",
    "fonts",
    "terminfo",
    "perl",
)
_MAXIMUM_FILE = 1 << 20


def system_entries(layout: Layout, *, certificates: bytes = b"") -> Iterator[LayerEntry]:
    """Everything below `/` except `/usr`, `/home` and what is writable; the same on every host of one
    release.
    """
    user, host = layout.user, layout.host
    texts = {
        "passwd": "root:x:0:0:root:/root:/bin/bash\n"
        "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
        f"{user}:x:{USER_ID}:{USER_ID}:{user.title()},,,:{layout.home}:/bin/bash\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
        "group": f"root:x:0:\ndaemon:x:1:\n{user}:x:{USER_ID}:\nnogroup:x:65534:\n",
        "hosts": f"127.0.0.1\tlocalhost\n127.0.1.1\t{host}\n::1\tlocalhost ip6-localhost ip6-loopback\n",
        "hostname": f"{host}\n",
        "resolv.conf": f"nameserver {NAME_SERVER}\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"
        "protocols: files\nservices: files\n",
        "host.conf": "multi on\n",
        "timezone": "Etc/UTC\n",
        "locale.conf": "LANG=C.UTF-8\n",
    }
    for name, text in texts.items():
        yield LayerEntry(f"etc/{name}", text.encode())
    for name, target in (
        ("os-release", "../usr/lib/os-release"),
        ("localtime", "/usr/share/zoneinfo/Etc/UTC"),
    ):
        yield LayerEntry(f"etc/{name}", target.encode(), 0o777, link=True)
    if certificates:
        yield LayerEntry("etc/ssl/certs/ca-certificates.crt", certificates)
        yield LayerEntry("etc/ssl/cert.pem", b"certs/ca-certificates.crt", 0o777, link=True)
    # One processor; without these files programs count it in /proc/stat, which shows the real clock.
    for name in ("online", "possible", "present"):
        yield LayerEntry(f"sys/devices/system/cpu/{name}", b"0\n", 0o444)
    yield from _links("alternatives")
    for name in _COPIED:
        yield from _copied(Path("/etc") / name)
    for folder in (
        "opt",
        "srv",
        "mnt",
        "media",
        "var/tmp",
        CRONTABS,
        "var/log",
        "var/cache",
        "var/lib",
        "var/spool/cron",
    ):
        yield LayerEntry(folder, folder=True)


def _links(name: str) -> Iterator[LayerEntry]:
    folder = Path("/etc") / name
    if folder.is_dir():
        for place in sorted(folder.iterdir()):
            if place.is_symlink():
                yield LayerEntry(f"etc/{name}/{place.name}", os.fsencode(place.readlink()), 0o777, link=True)


def _copied(place: Path) -> Iterator[LayerEntry]:
    if place.is_symlink():
        yield LayerEntry(str(place.relative_to("/")), os.fsencode(place.readlink()), 0o777, link=True)
    elif place.is_dir():
        for inner in sorted(place.iterdir()):
            yield from _copied(inner)
    elif place.is_file() and os.access(place, os.R_OK) and place.stat().st_size <= _MAXIMUM_FILE:
        yield LayerEntry(str(place.relative_to("/")), place.read_bytes())
