"""Pictures of recorded results, as small SVG files. Needs matplotlib: `pip install 'conjunct[bench]'`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conjunct.bench.results import Part
from conjunct.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OURS, SECOND, THIRD, OTHER, INK, FAINT = "#0b6e5f", "#d9822b", "#6b5b95", "#8a8f98", "#24292f", "#d8dce1"
_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.edgecolor": "#9aa1a9",
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 9.0,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e8eaed",
    "grid.linewidth": 0.8,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.minor.size": 0.0,
    "ytick.minor.size": 0.0,
    "legend.frameon": False,
    "svg.fonttype": "none",
    # Equal results give equal bytes.
    "svg.hashsalt": "conjunct",
}
Results = Mapping[str, Part]
PURPOSES = ("cost", "roc", "orders", "power", "calibration", "registry")


def draw_all(gates: Results, power: Results, folder: Path) -> list[str]:
    """Draw every picture whose results are there into `folder`; the names of those drawn, in order.

    Raises `UsageError` where matplotlib is not installed.
    """
    pictures: dict[str, Callable[[], Figure | None]] = {
        "cost": lambda: cost(gates),
        "roc": lambda: roc(gates),
        "orders": lambda: orders(gates),
        "power": lambda: power_curves(power),
        "calibration": lambda: calibration(power),
        "registry": lambda: registry(gates),
    }
    drawn = []
    with _style() as pyplot:
        folder.mkdir(parents=True, exist_ok=True)
        for name in PURPOSES:
            figure = pictures[name]()
            if figure is not None:
                figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
                pyplot.close(figure)
                drawn.append(name)
    return drawn


@contextmanager
def _style() -> Iterator[Any]:
    try:
        import matplotlib
        from matplotlib import pyplot
    except ImportError as error:
        raise UsageError(
            "pictures need matplotlib: pip install 'conjunct[bench]', or pass --no-plots"
        ) from error
    matplotlib.use("svg")
    with matplotlib.rc_context(_STYLE):
        yield pyplot


def _axes(width: float = 6.6, height: float = 3.7, columns: int = 1) -> tuple[Figure, Sequence[Axes]]:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, columns, figsize=(width, height), layout="constrained", squeeze=False)
    return figure, list(axes[0])


def _counts(axes: Axes, axis: str = "x") -> None:
    """Episodes in words people read: 10k, 1M."""
    from matplotlib.ticker import FuncFormatter

    def told(value: float, _: object) -> str:
        for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
            if value >= size:
                return f"{value / size:g}{unit}"
        return f"{value:g}"

    (axes.xaxis if axis == "x" else axes.yaxis).set_major_formatter(FuncFormatter(told))


def cost(gates: Results) -> Figure | None:
    """Recall against episodes: pools as curves, the other gates as points where they end."""
    shown = [
        ("reference, byte-exact", OURS, "pools, reference mix"),
        ("harder, byte-exact", SECOND, "pools, harder mix"),
        ("reference, judges", THIRD, "pools, reference mix, 40 noisy judges"),
        ("harder, judges", OTHER, "pools, harder mix, 40 noisy judges"),
    ]
    lines = [(gates[name], colour, label) for name, colour, label in shown if name in gates]
    if not lines:
        return None
    figure, (axes,) = _axes(height=4.0)
    for part, colour, label in lines:
        _found(axes, part, colour, label)
    other = gates.get("other gates: reference, byte-exact", {}).get("gates", {})
    for name, gate in other.items():
        level = gate["recall"]["rate"]
        pairs = name.startswith("all pairs")
        axes.plot(
            gate["episodes_per_batch"], level, "D" if pairs else "o", color=INK, ms=5, mfc="white", zorder=3
        )
        short = name.replace("published S, ", "S × ").replace(" repeats", "").replace(" repeat", "")
        short = short.replace(", Benjamini–Hochberg", ", BH")
        axes.annotate(
            short,
            (gate["episodes_per_batch"], level),
            (0, -14 if level > 0.1 else 7),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            color=INK,
        )
    axes.set_xscale("log")
    axes.set_xlim(6e2, 6e7)
    axes.set_ylim(-0.03, 1.05)
    _counts(axes)
    axes.set_xlabel("episodes in one batch of 1,200 skills")
    axes.set_ylabel("planted triggers found")
    axes.set_title("What a find costs; marks: other gates, reference mix, byte-exact")
    axes.legend(loc="lower right", fontsize=8.5, bbox_to_anchor=(1.0, 0.06))
    return figure


def _found(axes: Axes, part: Part, colour: str, label: str) -> None:
    """Recall as it grew; by budget where single finds were not recorded."""
    last = part["curve"][-1]["episodes"]
    if "found_at" in part:
        planted = part["curve"][-1]["of"]
        episodes = [min(at, last) for at in part["found_at"]]
        steps = [(number + 1) / planted for number in range(len(episodes))]
        axes.step(
            [*episodes, last],
            [*steps, steps[-1] if steps else 0.0],
            where="post",
            color=colour,
            lw=2,
            label=label,
        )
    else:
        points = part["curve"]
        axes.plot(
            [p["episodes"] for p in points],
            [p["rate"] for p in points],
            "o-",
            color=colour,
            lw=2,
            ms=4,
            label=label,
        )


def roc(gates: Results) -> Figure | None:
    """Within the band: benign skills flagged against adversaries flagged, by the ranking of each gate."""
    titles = {
        "other gates: reference, byte-exact": "byte-exact evidence",
        "other gates: reference, judges": "40 noisy judges",
    }
    shown = {name: title for name, title in titles.items() if "roc" in _first_gate(gates.get(name))}
    if not shown:
        return None
    figure, panels = _axes(width=3.4 * len(shown) + 1.6, height=3.5, columns=len(shown))
    for axes, (name, title) in zip(panels, shown.items(), strict=True):
        part = gates[name]
        colours = {"aggregate": FAINT, "all pairs": INK}
        shades = iter(("#f3c68f", "#e9a24f", "#d9822b", "#a85b12"))
        for gate, told in part["gates"].items():
            colour = next((c for start, c in colours.items() if gate.startswith(start)), None) or next(shades)
            x, y = zip(*told["roc"], strict=True)
            label = gate.replace(", Benjamini–Hochberg", "")
            axes.plot(x, y, color=colour, lw=1.6, label=label, drawstyle="steps-post")
            if told["recall"]["rate"] is not None:
                benign = told["benign_per_batch"] / 41
                axes.plot(benign, told["recall"]["rate"], "o", color=colour, ms=5, mec="white", zorder=4)
        ours = gates.get(name.removeprefix("other gates: "))
        if ours:
            axes.plot(
                ours["benign_per_batch"] / 41,
                ours["curve"][-1]["rate"],
                "*",
                color=OURS,
                ms=15,
                mec="white",
                label="pools",
                zorder=5,
                clip_on=False,
            )
        axes.set(
            xlim=(-0.02, 1.02), ylim=(-0.02, 1.03), xlabel="of 41 benign skills, share flagged", title=title
        )
    panels[0].set_ylabel("of 6 adversaries, share flagged")
    panels[-1].legend(loc="center left", fontsize=8, bbox_to_anchor=(1.01, 0.5))
    return figure


def _first_gate(part: Part | None) -> Mapping[str, Any]:
    return next(iter(part["gates"].values()), {}) if part else {}


def orders(gates: Results) -> Figure | None:
    """Recall by order and by delay, with 95 % intervals, at the largest budget of each part."""
    names = ("reference, byte-exact", "harder, byte-exact", "harder, judges", "order 3, byte-exact")
    rows: list[tuple[str, str, Mapping[str, Any]]] = []
    for name in names:
        for kind in ("by_order", "by_delay"):
            rows += [(name, label, told) for label, told in gates.get(name, {}).get(kind, {}).items()]
    if not rows:
        return None
    figure, (axes,) = _axes(height=0.75 + 0.2 * len(rows) + 0.28 * len({row[0] for row in rows}))
    colours = dict(zip(names, (OURS, SECOND, THIRD, INK), strict=True))
    y, places, labels, before = 0.0, [], [], rows[0][0]
    for name, label, told in rows:
        y -= 1.0 if name == before else 1.7
        before = name
        low, high = told["wilson"]
        axes.plot([low, high], [y, y], color=colours[name], lw=3, alpha=0.35, solid_capstyle="round")
        axes.plot(told["rate"], y, "o", color=colours[name], ms=5, clip_on=False, zorder=4)
        axes.text(1.02, y, f"{told['hits']} of {told['of']}", va="center", fontsize=8, color=INK)
        places.append(y)
        labels.append(label)
    for name in dict.fromkeys(row[0] for row in rows):
        mine = [place for place, row in zip(places, rows, strict=True) if row[0] == name]
        axes.text(
            0.005, max(mine) + 0.62, name, fontsize=8.5, fontweight="bold", color=colours[name], va="center"
        )
    axes.set_yticks(places, labels, fontsize=8.5)
    axes.set(xlim=(0.0, 1.0), ylim=(min(places) - 0.8, max(places) + 1.2), xlabel="planted triggers found")
    axes.set_title("Recall by kind of trigger, with 95 % Wilson intervals")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    return figure


def power_curves(power: Results) -> Figure | None:
    """Smallest rate found with 90 % power against budget, by order and, for order 2, by depth."""
    wanted = [name for name in ("order 1", "order 2", "order 3") if name in power]
    if not wanted:
        return None
    figure, (left, right) = _axes(width=7.6, height=3.7, columns=2)
    meaning = {
        "order 1": "a co-skill",
        "order 2": "co-skill and history",
        "order 3": "two co-skills and history",
    }
    for name, colour in zip(wanted, (SECOND, OURS, THIRD), strict=False):
        _rates(left, power[name]["curves"]["all depths"], colour, f"{name}: {meaning[name]}")
    curves = power.get("order 2", power[wanted[0]])["curves"]
    for name, colour in zip(
        ("from turn 1", "from turn 3", "from turn 6"), (OURS, SECOND, THIRD), strict=True
    ):
        if name in curves:
            _rates(right, curves[name], colour, name)
    for axes in (left, right):
        axes.axhline(0.08, color=INK, lw=0.9, ls=(0, (4, 3)))
        axes.set(xscale="log", yscale="log", xlabel="episodes", ylim=(0.027, 1.15))
        axes.set_yticks([0.1, 0.2, 0.5, 1.0], ["0.1", "0.2", "0.5", "1"])
        axes.minorticks_off()
        axes.set_xticks([5_000, 10_000, 20_000, 40_000, 60_000])
        _counts(axes)
        axes.legend(loc="lower left", fontsize=8)
    left.set_ylabel("smallest firing rate found with 90 % power")
    left.set_title("By order")
    right.set_title("Order 2, by depth")
    right.text(
        62_000, 0.083, "margin: smaller effects are no findings", fontsize=7.5, ha="right", va="bottom"
    )
    return figure


def _rates(axes: Axes, points: Sequence[Mapping[str, Any]], colour: str, label: str) -> None:
    seen = [point for point in points if point["smallest"] is not None]
    axes.plot(
        [p["episodes"] for p in seen],
        [p["smallest"] for p in seen],
        "o-",
        color=colour,
        ms=4,
        lw=1.8,
        label=label,
    )
    axes.fill_between(
        [p["episodes"] for p in seen],
        [p["interval"][0] for p in seen],
        [p["interval"][1] for p in seen],
        color=colour,
        alpha=0.15,
        lw=0,
    )


def calibration(power: Results) -> Figure | None:
    """How often triggers of exactly the stated rate stay unseen, against the 5 % that are promised."""
    part = power.get("calibration")
    if part is None:
        return None
    figure, (axes,) = _axes(width=5.0, height=3.2)
    points = part["points"]
    for number, point in enumerate(points):
        for key, colour, shift in (("unseen", OURS, -0.1), ("missed", SECOND, 0.1)):
            low, high = point[key]["exact"]
            axes.plot(
                [number + shift] * 2, [low, high], color=colour, lw=3, alpha=0.35, solid_capstyle="round"
            )
            label = (
                {"unseen": "in no pool that fired", "missed": "not confirmed"}[key] if number == 0 else None
            )
            axes.plot(number + shift, point[key]["rate"], "o", color=colour, ms=6, label=label)
    axes.axhline(part["promised"], color=INK, lw=0.9, ls=(0, (4, 3)))
    axes.text(
        len(points) - 0.55, part["promised"], "promised", fontsize=8, va="bottom", ha="right", color=INK
    )
    ticks = [f"{p['episodes'] / 1000:g}k episodes\nstated {p['stated']:.2f}" for p in points]
    axes.set_xticks(range(len(points)), ticks)
    axes.set(xlim=(-0.5, len(points) - 0.5), ylabel="triggers of the stated rate missed")
    axes.set_ylim(bottom=0.0)
    axes.grid(axis="x", visible=False)
    axes.set_title("Is the stated smallest rate true?")
    axes.legend(fontsize=8, loc="upper left")
    return figure


def registry(gates: Results) -> Figure | None:
    """Episodes for 95 % recall against registry size, beside all pairs."""
    sizes = {
        part["skills"]: part
        for name, part in gates.items()
        if name.startswith("reference, byte-exact") and "used" not in name and part["kind"] == "pools"
    }
    points = []
    for skills, part in sorted(sizes.items()):
        needed = -(-95 * part["curve"][-1]["of"] // 100)
        if len(part.get("found_at", ())) >= needed:
            points.append((skills, part["found_at"][needed - 1]))
    if len(points) < 2:
        return None
    figure, (axes,) = _axes(width=5.4, height=3.6)
    x, y = zip(*points, strict=True)
    axes.plot(x, y, "o-", color=OURS, lw=2, ms=5, label="pools, 95 % of triggers found")
    pairs = [47 * (skills - 1) * 12 * 30 for skills in x]
    axes.plot(
        x, pairs, "D--", color=INK, lw=1.2, ms=4, mfc="white", label="all pairs × 12 histories × 30 repeats"
    )
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="skills in the registry",
        ylabel="episodes for 47 skills in the band",
    )
    axes.set_xticks(x, [f"{skills:,}" for skills in x])
    axes.minorticks_off()
    _counts(axes, "y")
    axes.set_title("Cost against registry size")
    axes.legend(fontsize=8, loc="center left")
    return figure
