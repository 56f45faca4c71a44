"""`conjunct bench`: parse, call, print. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import click


@click.group()
def bench() -> None:
    """Measure this tool, and others beside it, on packages whose truth is known."""
