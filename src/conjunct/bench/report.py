"""`docs/benchmarks.md` from recorded results: tables, pictures, commands, seeds, versions, machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path

from conjunct.bench.executed_page import executed_commands, executed_tables
from conjunct.bench.plots import PURPOSES, Results, draw_all
from conjunct.bench.results import Part, read_results
from conjunct.bench.tables import interval, markdown_table
from conjunct.errors import UsageError

CAPTIONS = {
    "cost": "Recall against episodes",
    "roc": "Benign skills flagged against adversaries flagged",
    "orders": "Recall by order and delay",
    "power": "Smallest rate found with 90 % power, against budget",
    "calibration": "Missed share of triggers of the stated rate",
    "registry": "Episodes for 95 % recall, against registry size",
}
TARGETS = (
    ("reference, byte-exact", 20_000, 0.95),
    ("reference, byte-exact", 60_000, 0.999),
    ("harder, byte-exact", 32_000, 0.90),
    ("harder, byte-exact", 51_000, 0.95),
    ("harder, judges", 107_000, 0.90),
    ("harder, judges", 184_000, 0.95),
    ("one new skill acts", 8_300, 0.90),
    ("one new skill is the partner", 8_300, 0.90),
    ("one new skill is the partner", 12_800, 0.95),
)
"""(part, episodes, recall) promised; those of one new skill are promised for both roles as one."""
_OTHERS = "other gates: "
_REPORT = "conjunct bench report"


def write_report(results: Path, page: Path, *, plots: bool = True) -> list[str]:
    """Write the page, and its pictures into the folder `img` beside it; the names of the pictures drawn.

    Without `plots` pictures that are there stay. Raises `UsageError` where nothing was recorded.
    """
    gates, power = read_results(results / "gates.json"), read_results(results / "power.json")
    executed = read_results(results / "executed.json")
    if not gates and not power:
        raise UsageError(
            f"{results}: holds no results; run `conjunct bench gates` and `conjunct bench power` first"
        )
    folder = page.parent / "img"
    drawn = (
        draw_all(gates, power, folder) if plots else [n for n in PURPOSES if (folder / f"{n}.svg").exists()]
    )
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(page_text(gates, power, drawn, executed), encoding="utf-8")
    return drawn


def page_text(gates: Results, power: Results, drawn: list[str], executed: Results) -> str:
    """The page; what was not recorded is left out with a line that says so."""
    text = resources.files("conjunct.bench").joinpath("data", "benchmarks.md").read_text(encoding="utf-8")
    tables: Mapping[str, Callable[[], str]] = {
        "gates": lambda: gates_table(gates),
        "pools": lambda: pools_table(gates),
        "kinds": lambda: kinds_table(gates),
        "purposes": lambda: purposes_table(gates),
        "targets": lambda: targets_table(gates),
        "power_table": lambda: power_table(power),
        "calibration_table": lambda: calibration_table(power),
        "registry_table": lambda: registry_table(gates),
        "executed": lambda: executed_tables(executed),
        "commands": lambda: "\n".join([*commands(gates, power), *executed_commands(executed), _REPORT]),
        "machine": lambda: machine([*gates.values(), *power.values(), *executed.values()]),
    }
    for name, make in tables.items():
        text = text.replace(f"{{{{{name}}}}}", make())
    for name in PURPOSES:
        picture = f"![{CAPTIONS[name]}](img/{name}.svg)" if name in drawn else ""
        text = text.replace(f"{{{{{name}}}}}", picture)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text


def _seconds(part: Part) -> str:
    """Processor seconds of one batch; a dash where they were not recorded."""
    seconds = part["processor_seconds"]
    return "–" if seconds is None else f"{seconds / part['batches']:.2f}"


def _pools(gates: Results) -> dict[str, Part]:
    """Parts of pools on the reference registry."""
    return {name: part for name, part in gates.items() if part["kind"] == "pools" and part["skills"] == 1200}


def gates_table(gates: Results) -> str:
    """Every gate on every kind of batch: recall, benign reviewed, cost."""
    rows = []
    for name in sorted(gates):
        if not name.startswith(_OTHERS) or gates[name]["skills"] != 1200:
            continue
        kind = name.removeprefix(_OTHERS)
        for gate, told in gates[name]["gates"].items():
            rows.append(
                f"| {kind} | {gate} | {gates[name]['batches']} | {interval(told['recall'])} "
                f"| {told['benign_per_batch']:.2f} | {told['episodes_per_batch']:,} "
                f"| {told['processor_seconds'] / gates[name]['batches']:.2f} |"
            )
        if kind in gates:
            part = gates[kind]
            rows.append(
                f"| {kind} | **pools** | {part['batches']} | **{interval(part['curve'][-1])}** "
                f"| **{part['benign_per_batch']:.2f}** | **{part['episodes_per_batch']:,}** "
                f"| {_seconds(part)} |"
            )
    head = "| batches of | gate | batches | recall | review, of 41 | episodes a batch | CPU s a batch |"
    return markdown_table(head, rows)


def pools_table(gates: Results) -> str:
    """Recall at each budget, exactness, blame, false alarms."""
    rows = []
    for name, part in _pools(gates).items():
        curve = "; ".join(f"{p['episodes'] / 1000:g}k → {interval(p)}" for p in part["curve"])
        exact, blamed = part["exact"], part["blamed"]
        triples = f"{part['triples_per_batch']:,}" if part.get("triples_per_batch") else "–"
        rows.append(
            f"| {name} | {part['batches']} | {part['curve'][-1]['of']} | {curve} "
            f"| {exact['hits']} of {exact['of']} | {blamed['hits']} of {blamed['of']} "
            f"| {part['benign_reviewed']} | {triples} |"
        )
    head = (
        "| part | searches | planted | episodes → recall | exact | blamed | benign reviewed, all | triples |"
    )
    return markdown_table(head, rows)


def kinds_table(gates: Results) -> str:
    """Recall by order and by delay."""
    rows = []
    for name, part in _pools(gates).items():
        found = [
            ", ".join(f"{kind}: {told['hits']} of {told['of']}" for kind, told in part[key].items())
            for key in ("by_order", "by_delay")
        ]
        rows.append(f"| {name} | {found[0]} | {found[1]} |")
    return markdown_table("| part | by order (co-skills and history) | by delay |", rows)


def purposes_table(gates: Results) -> str:
    """Where episodes went."""
    purposes = sorted({purpose for part in _pools(gates).values() for purpose in part["spent_on"]})
    rows = [
        f"| {name} | " + " | ".join(f"{part['spent_on'].get(purpose, 0):,}" for purpose in purposes) + " |"
        for name, part in _pools(gates).items()
    ]
    return markdown_table(f"| part | {' | '.join(purposes)} |", rows)


def targets_table(gates: Results) -> str:
    """The promised numbers beside the measured ones."""
    rows = []
    for name, episodes, target in TARGETS:
        points = [p for p in gates.get(name, {}).get("curve", ()) if p["episodes"] <= episodes]
        if not points:
            continue
        low, high = points[-1]["wilson"]
        reached = points[-1]["rate"]
        state = "met" if reached >= target else f"{target - reached:.3f} short"
        if low < target <= high:
            state += ", open"
        rows.append(f"| {name} | {episodes / 1000:g}k | {target:g} | {interval(points[-1])} | {state} |")
    rows += _other_targets(gates)
    return markdown_table("| part | episodes | target | measured | |", rows)


def _other_targets(gates: Results) -> list[str]:
    """Benign reviewed, exactness and cost against all pairs, for the reference batch."""
    part = gates.get("reference, byte-exact")
    pairs = gates.get(f"{_OTHERS}reference, byte-exact", {}).get("gates", {})
    if part is None:
        return []
    exact, benign = part["exact"], part["benign_per_batch"]
    rows = [
        f"| benign reviewed, of 41 | | ≤ 1 | {benign:.2f} | {'met' if benign <= 1 else 'missed'} |",
        f"| trigger exactly right | | 0.95 | {interval(exact)} "
        f"| {'met' if (exact['rate'] or 0) >= 0.95 else 'missed'} |",
    ]
    for gate, told in pairs.items():
        if gate.startswith("all pairs"):
            times = told["episodes_per_batch"] / max(part["episodes_per_batch"], 1)
            rows.append(
                f"| times fewer episodes than all pairs | | 100 | {times:.0f} "
                f"| {'met' if times >= 100 else 'missed'} |"
            )
    return rows


def power_table(power: Results) -> str:
    """Smallest rates found with 90 % power."""
    rows = []
    for name, part in power.items():
        if part["kind"] != "power":
            continue
        for depth, points in part["curves"].items():
            told = "; ".join(
                f"{p['episodes'] / 1000:g}k → "
                + (
                    f"{p['smallest']:.2f} ({p['interval'][0]:.2f}–{p['interval'][1]:.2f})"
                    if p["smallest"]
                    else "none"
                )
                for p in points
            )
            rows.append(f"| {name} | {depth} | {part['skills']:,} | {points[-1]['of']} | {told} |")
    return markdown_table(
        "| order | depth | skills | planted | episodes → smallest rate (90 % interval) |", rows
    )


def calibration_table(power: Results) -> str:
    """Stated rates and what was missed."""
    part = power.get("calibration", {})
    points = part.get("points", ())
    rows = [
        f"| {part['skills']:,} | {p['episodes'] / 1000:g}k | {p['stated']:.3f} | {p['unseen']['of']} "
        f"| {interval(p['unseen'])} | {interval(p['missed'])} |"
        for p in points
    ]
    return markdown_table(
        "| skills | budget | stated rate | planted | in no pool that fired | not confirmed |", rows
    )


def registry_table(gates: Results) -> str:
    """Recall and cost by size of the registry."""
    rows = []
    named = [
        n for n, p in gates.items() if n.split(", ")[:2] == ["reference", "byte-exact"] and "used" not in n
    ]
    for name in sorted(named, key=lambda n: int(gates[n]["skills"])):
        part = gates[name]
        planted = part["curve"][-1]["of"]
        needed = -(-95 * planted // 100)
        found = part.get("found_at", ())
        cost = f"{found[needed - 1]:,}" if len(found) >= needed else "–"
        pairs = 47 * (part["skills"] - 1) * 12 * 30
        rows.append(
            f"| {part['skills']:,} | {part['batches']} | {part['curve'][-1]['episodes']:,} "
            f"| {interval(part['curve'][-1])} | {cost} | {pairs:,} "
            f"| {_seconds(part)} |"
        )
    head = "| skills | batches | budget | recall | episodes for 95 % | all pairs × 30 | CPU s a batch |"
    return markdown_table(head, rows)


def commands(gates: Results, power: Results) -> list[str]:
    """The commands that make these results again."""
    lines = []
    for name, part in gates.items():
        size = "" if part["skills"] == 1200 else f" --skills {part['skills']}"
        base = name if part["skills"] == 1200 else name.removesuffix(f", {part['skills']} skills")
        lines.append(
            f'conjunct bench gates --part "{base}" --batches {part["asked"]} --seed {part["seeds"][0]}{size}'
        )
    for name, part in power.items():
        lines.append(
            f'conjunct bench power --part "{name}" --batches {part["seeds"][1] - part["seeds"][0]} '
            f"--seed {part['seeds'][0]}" + ("" if part["skills"] == 1200 else f" --skills {part['skills']}")
        )
    return lines


def machine(parts: Sequence[Part]) -> str:
    """Versions and machines of all parts."""
    told = dict.fromkeys(
        f"{part['machine']}; " + ", ".join(f"{name} {number}" for name, number in part["versions"].items())
        for part in parts
    )
    return "Measured with: " + " / ".join(told) + "."
