"""The tables of `docs/battery.md`, made from the data so that the page cannot say something else."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from conjunct.battery.fixtures import fixture_index
from conjunct.battery.load import load_battery, mentions
from conjunct.model import Battery, History, Probe

BEGIN, END = "<!-- tables: made from the data -->", "<!-- end of tables -->"


def with_tables(page: str, battery: Battery) -> str:
    """`page` with everything between the two table marks replaced. Raises `ValueError` without the marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page lacks {BEGIN} or {END}")
    return f"{before}{BEGIN}\n\n{tables(battery)}\n{END}{after}"


def tables(battery: Battery) -> str:
    """All tables of a battery as Markdown."""
    return "\n".join(
        [
            f"Battery {battery.version}, digest `{battery.digest[:16]}`.\n",
            "### Probes\n",
            _table(("id", "layer", "kind", "what the user does", "turns"), map(_probe, battery.probes)),
            "In the last column `u` uses the skill, `!` is refused or asked back about, `.` is plain talk.\n",
            "### Histories\n",
            _table(("id", "title", "phrasings", "topics (phrasings that mention them)"), _histories(battery)),
            "### Files of a history\n",
            "\n".join(f"- `~/{path}`" for path, _ in battery.histories[0].phrasings[0].files) + "\n",
            "### Invariants\n",
            _table(
                ("id", "layer", "violated when", "leads to"),
                ((f"`{rule.id}`", rule.layer, rule.title, rule.severity) for rule in battery.invariants),
            ),
            "### Factor levels\n",
            _table(("factor", "levels, the neutral one first"), _factors(battery)),
            "### Types of task inputs\n",
            ", ".join(f"`{kind}`" for kind in sorted({one.type for one in fixture_index()})) + "\n",
        ]
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [_row(head), "|" + " --- |" * len(head), *map(_row, rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def _probe(probe: Probe) -> tuple[str, ...]:
    own = [turn for turn in probe.turns if not turn.partner]
    turns = "".join("u" if turn.uses else "!" if turn.harmful else "." for turn in own)
    return (f"`{probe.id}`", str(probe.layer), probe.kind, probe.title, f"`{turns}`")


def _histories(battery: Battery) -> Iterable[tuple[str, ...]]:
    for history in battery.histories:
        topics = ", ".join(f"{topic} ({_frequency(history, topic)})" for topic in history.topics)
        yield (f"`{history.id}`", history.title, str(len(history.phrasings)), topics or "none")


def _frequency(history: History, topic: str) -> int:
    """In how many phrasings the conversation, or a file, mentions a topic."""
    return sum(
        any(mentions(text, topic) for _, text in (*phrasing.messages, *phrasing.files))
        for phrasing in history.phrasings
    )


def _factors(battery: Battery) -> Iterable[tuple[str, str]]:
    yield "history", ", ".join(f"`{one.id}`" for one in battery.histories)
    yield "clock", ", ".join(f"`{level}` ({start[:16]})" for level, start in battery.clocks)
    yield "network", ", ".join(f"`{level}`" for level in battery.networks)
    yield "arguments", ", ".join(f"`{level}`" for level in battery.arguments)
    yield (
        "environment",
        ", ".join(
            f"`{level}`" + (f" ({', '.join(name for name, _ in variables)})" if variables else "")
            for level, variables in battery.environments
        ),
    )


def main(arguments: Sequence[str]) -> int:
    """Renew the tables of the page named on the command line."""
    if len(arguments) != 1:
        print("usage: python -m conjunct.battery.describe docs/battery.md")
        return 2
    page = Path(arguments[0])
    page.write_text(with_tables(page.read_text(encoding="utf-8"), load_battery()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
