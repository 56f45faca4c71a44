"""The prose compiler: what the text of a skill tells an agent to do."""

from __future__ import annotations

from conjunct.directives.compiler import compile_text, merge
from conjunct.directives.meaning import ALTERNATIVES
from conjunct.directives.posture import ANYTHING
from conjunct.directives.skill import compile_registry, compile_skill

__all__ = ["ALTERNATIVES", "ANYTHING", "compile_registry", "compile_skill", "compile_text", "merge"]
