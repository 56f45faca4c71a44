"""The delta profile as a picture: one bar for each cell, single probes left of compositions."""

from __future__ import annotations

from collections.abc import Sequence

from conjunct.model import SkillDeltaProfile

WIDTH, HEIGHT, MOST_BARS = 640, 96, 160


def profile_picture(profile: SkillDeltaProfile) -> str:
    """An inline SVG of numbers only; cells beyond 160 on a side are binned by their largest value."""
    single, compositional = _binned(profile.single_probe_deltas), _binned(profile.compositional_deltas)
    total = len(single) + len(compositional)
    if not total:
        return ""
    gap = 24
    step = (WIDTH - gap) / total
    parts = [
        f'<svg class="profile" viewBox="0 0 {WIDTH} {HEIGHT + 18}" role="img" '
        f'aria-label="delta profile: {len(profile.single_probe_deltas)} single-probe and '
        f'{len(profile.compositional_deltas)} compositional cells">',
        f'<line x1="0" y1="{HEIGHT / 2}" x2="{WIDTH}" y2="{HEIGHT / 2}" class="axis"/>',
    ]
    for index, delta in enumerate((*single, *compositional)):
        left = index * step + (gap if index >= len(single) else 0)
        height = max(abs(delta) * (HEIGHT / 2 - 4), 1.0)
        top = HEIGHT / 2 - height if delta >= 0 else HEIGHT / 2
        kind = "single" if index < len(single) else "compositional"
        mark = " moved" if delta else ""
        parts.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(step - 0.6, 0.6):.1f}" height="{height:.1f}" '
            f'class="{kind}{mark}"/>'
        )
    middle = len(single) * step + gap / 2
    parts.append(f'<text x="0" y="{HEIGHT + 14}">single probes</text>')
    parts.append(
        f'<text x="{min(middle + gap / 2, WIDTH - 150):.0f}" y="{HEIGHT + 14}">in composition</text></svg>'
    )
    return "".join(parts)


def _binned(deltas: Sequence[float]) -> list[float]:
    if len(deltas) <= MOST_BARS:
        return list(deltas)
    size = -(-len(deltas) // MOST_BARS)
    return [max(deltas[start : start + size], key=abs) for start in range(0, len(deltas), size)]
