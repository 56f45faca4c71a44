"""Path patterns of the data files as regular expressions."""

from __future__ import annotations

import re
from functools import lru_cache


@lru_cache(maxsize=256)
def any_of(globs: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern that matches a lower-case path if one of `globs` does."""
    return re.compile("|".join(f"(?:{_glob(item.lower())})" for item in globs))


def _glob(pattern: str) -> str:
    """A regular expression for one path pattern.

    A path with an unknown start (`*/.ssh/id_rsa`) is taken for the dangerous reading: it matches `~/`
    patterns, except those that match everything below home.
    """
    if pattern.startswith("~/") and pattern not in ("~/**", "~/.*", "~/.*/**"):
        prefix, rest = r"(?:~|\*+)/", pattern[2:]
    elif pattern.startswith(("~", "/")) or ":" in pattern:
        prefix, rest = "", pattern
    else:
        prefix, rest = r"(?:.*/)?", pattern
    body = re.escape(rest).replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    return prefix + body + r"\Z"
