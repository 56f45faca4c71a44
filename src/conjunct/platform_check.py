"""conjunct needs Linux; elsewhere it says so in one line."""

from __future__ import annotations

import sys

from conjunct.errors import WorldError


def require_linux(platform: str = sys.platform) -> None:
    """Raise `WorldError` anywhere but on Linux, with the container command that works."""
    if not platform.startswith("linux"):
        raise WorldError(
            f"conjunct runs skills in Linux namespaces and this is {platform}; use a container: "
            f'docker run --rm --privileged -v "$PWD":/skills -w /skills debian:bookworm '
            f"bash -c 'apt-get update && apt-get install -y make git && make demo'"
        )
