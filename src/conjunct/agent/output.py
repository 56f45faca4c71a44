"""What the agent takes from the output of a command: facts for later arguments, and instructions."""

from __future__ import annotations

import json
import re
from functools import lru_cache

from conjunct.directives import compile_text
from conjunct.model import Directive

OUTPUT_LIMIT = 64_000
"""Bytes of one command's output that are read."""
_HEAD, _TAIL = 12 << 10, 4 << 10
_FACT_LIMIT = 200


def facts_in(output: bytes) -> dict[str, str]:
    """Scalars in JSON output by key without separators (`run_id` is `runid`); the first of a name counts."""
    text = output[:OUTPUT_LIMIT].decode("utf-8", "replace").strip()
    if not text.startswith(("{", "[")):
        return {}
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    facts: dict[str, str] = {}
    stack: list[object] = [document]
    while stack and len(facts) < _FACT_LIMIT:
        value = stack.pop(0)
        if isinstance(value, list):
            stack.extend(value[:20])
        elif isinstance(value, dict):
            for key, inner in list(value.items())[:100]:
                if isinstance(inner, dict | list):
                    stack.append(inner)
                elif isinstance(inner, str | int | float) and 0 < len(str(inner)) <= 200:
                    facts.setdefault(re.sub(r"[^a-z0-9]", "", str(key).lower()), str(inner))
        if len(stack) > 5000:
            break
    return facts


@lru_cache(maxsize=256)
def instructions_in(output: bytes, file: str) -> tuple[Directive, ...]:
    """Directives in the text a command printed: of a long one, in its first 12 and its last 4 KiB."""
    if len(output) > _HEAD + _TAIL:
        output = output[:_HEAD] + b"\n\n" + output[-_TAIL:]
    text = output.decode("utf-8", "replace")
    return compile_text(text, file=file, derived=True).directives if text.strip() else ()
