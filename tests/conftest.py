"""Shared test set-up: the tests' own modules are importable by folder."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are named by their argument: archives made on import differ by the second they were made in."""
    return argname if isinstance(val, (bytes, bytearray)) else None
