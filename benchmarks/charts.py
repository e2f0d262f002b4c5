"""Draw line charts as SVG, for the pictures of the documentation; the figures come from a benchmark's JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, log10

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 170, 40, 44
FONT = 'font-family="sans-serif" font-size="12"'
COLOURS = ("#0969da", "#cf222e", "#1a7f37", "#8250df", "#9a6700")


def draw_chart(title: str, x_title: str, y_title: str, lines: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Return a chart whose vertical axis begins at 0. Each line has a name and its points (x, y)."""
    points = [point for line in lines.values() for point in line]
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    top = round_up(max(y for _, y in points))

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - low) / (high - low or 1)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {FONT}>',
        f'<title>{escape(title)}</title><rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="20" font-size="14" font-weight="bold">{escape(title)}</text>',
    ]
    for step in range(5):
        value = top * step / 4
        _, y = place(low, value)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#d0d7de"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for x in sorted({x for x, _ in points}):
        across, _ = place(x, 0)
        parts.append(f'<text x="{across:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{x:g}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_title)}</text>')
    parts.append(f'<text x="{LEFT}" y="{TOP - 6}" fill="#57606a">{escape(y_title)}</text>')
    taken: list[float] = []
    for colour, (name, line) in zip(COLOURS, lines.items(), strict=False):
        places = [place(x, y) for x, y in line]
        route = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{route}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in places]
        label = places[-1][1] + 4
        while any(abs(label - other) < 14 for other in taken):
            label += 1
        taken.append(label)
        parts.append(f'<text x="{WIDTH - RIGHT + 8}" y="{label:.1f}" fill="{colour}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def round_up(value: float) -> float:
    """Return the next of 1, 2, 4, 6, 8 and 10, times a power of ten, that is not below a value."""
    unit = 10.0 ** ceil(log10(value) - 1) if value > 0 else 1.0
    return next(unit * step for step in (1, 2, 4, 6, 8, 10) if unit * step >= value * 0.999999)
