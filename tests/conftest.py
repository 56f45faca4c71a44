"""Shared test set-up: the tests' own modules are importable by folder."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
