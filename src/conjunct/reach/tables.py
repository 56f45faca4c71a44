"""The data files of this room, read once each."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml where PyYAML was built with it: ten times as fast."""


@cache
def table(name: str) -> Any:
    """`data/NAME.yaml` as read. Treat it as read-only."""
    text = resources.files("conjunct.reach").joinpath(f"data/{name}.yaml").read_text(encoding="utf-8")
    return yaml.load(text, Loader=_LOADER)
