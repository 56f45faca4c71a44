"""Recognising pre-compiled tool manifests: lists of tools without the packages that would run."""

from __future__ import annotations

import json
import os
from pathlib import Path

from conjunct.errors import IntakeError, StaticManifestError
from conjunct.skills.notes import printable
from conjunct.skills.package import read_regular

_READ_LIMIT = 8 << 20
_NAMES = ("tools.json", "manifest.json", "openapi.json", "openapi.yaml", "ai-plugin.json", "functions.json")
_SCHEMA_KEYS = frozenset({"inputSchema", "input_schema", "parameters", "function", "outputSchema"})


def refuse_static_manifests(path: Path) -> None:
    """Raise `StaticManifestError` where `path` is such a manifest, or a folder that holds nothing else.

    Returns where it is something else. Raises `IntakeError` for a list of MCP servers.
    """
    candidates = [path] if path.is_file() else [path / name for name in _NAMES]
    for candidate in candidates:
        data = read_regular(os.fsencode(candidate), _READ_LIMIT)
        if data is None:
            continue
        kind = _kind(data, candidate.name)
        if kind == "MCP servers":
            raise IntakeError(
                f"{printable(str(candidate))} configures MCP servers, which are not read yet; "
                "pass skill packages"
            )
        if kind:
            raise StaticManifestError(
                f"{printable(str(candidate))} is {kind}: it describes tools but brings no package to run, "
                "so no behaviour can be compared with and without it; pass the packages (folders with "
                "SKILL.md, or archives of them) that it was compiled from"
            )


def _kind(data: bytes, name: str) -> str | None:
    if name.endswith((".yaml", ".yml")):
        return "an API description" if data.lstrip().startswith((b"openapi:", b"swagger:")) else None
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        if "mcpServers" in value:
            return "MCP servers"
        if "openapi" in value or "swagger" in value:
            return "an API description"
        tools = next((value[key] for key in ("tools", "functions", "skills") if key in value), None)
        if isinstance(tools, dict):
            tools = list(tools.values())
    else:
        tools = value
    if isinstance(tools, list) and tools and all(_describes_tool(tool) for tool in tools):
        return f"a pre-compiled manifest of {len(tools)} tools"
    return None


def _describes_tool(tool: object) -> bool:
    if not isinstance(tool, dict):
        return False
    return ("name" in tool and "description" in tool) or bool(_SCHEMA_KEYS & tool.keys())
