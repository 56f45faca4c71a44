"""The part of `docs/benchmarks.md` on batches that were executed for real."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conjunct.bench.results import Part
from conjunct.bench.tables import interval, markdown_table


def executed_tables(executed: Mapping[str, Part]) -> str:
    """Gates on the same runs, then triggers, twins, contexts and cost of each part."""
    if not executed:
        return "Not recorded."
    gates, kinds, costs = [], [], []
    for name, part in executed.items():
        for gate, told in part["gates"].items():
            strong = "**" if gate == "conjunct" else ""
            gates.append(
                f"| {name} | {strong}{gate}{strong} | {part['batches']} | {interval(told['recall'])} "
                f"| {told['benign']['hits']} of {told['benign']['of']} | {told['episodes']:,} |"
            )
        exact, twins = part["exact"], part["twins_flagged"]
        kinds.append(
            f"| {name} | {exact['hits']} of {exact['of']} | {twins['hits']} of {twins['of']} "
            f"| {_counts(part['by_order'])} | {_counts(part['by_turn'])} "
            f"| {part['incomplete']['hits']} of {part['incomplete']['of']} |"
        )
        contexts, batches = part["contexts"], part["batches"]
        costs.append(
            f"| {name} | {contexts['settled']:,} | {contexts['run']:,} | {contexts['assumed']:,} "
            f"| {contexts['audits']}, {contexts['audit_mismatches']} differed "
            f"| {part['seconds'] / batches:,.0f} | {part['processor_seconds'] / batches:,.0f} |"
        )
    wrong = [f"- {line}" for part in executed.values() for line in part["disagreements"]]
    return "\n\n".join(
        [
            markdown_table("| batches of | gate | batches | recall | benign flagged | episodes |", gates),
            markdown_table(
                "| batches of | triggers exact | twins flagged | by order | by turn | incomplete |",
                kinds,
            ),
            markdown_table(
                "| batches of | contexts settled | run | assumed | audits | s a batch | CPU s a batch |",
                costs,
            ),
            "Told otherwise than planted:\n\n" + "\n".join(wrong) if wrong else "All told as planted.",
        ]
    )


def _counts(groups: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {told['hits']} of {told['of']}" for name, told in groups.items())


def executed_commands(executed: Mapping[str, Part]) -> list[str]:
    """The commands that make these results again."""
    lines = []
    for name, part in executed.items():
        given = part["parameters"]
        lines.append(
            f"conjunct bench execute --mix {name.partition(',')[0]} --skills {given['skills']} "
            f"--adversaries {given['adversaries']} --batches {part['batches']} --seed {part['seeds'][0]}"
        )
    return lines
