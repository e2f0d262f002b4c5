"""Draw the screen of a terminal as a web page."""

from __future__ import annotations

import html
import re

PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0 }}
pre {{ margin: 0; padding: 18px 22px; width: max-content; background: #16181d; color: #d8dade;
  font: 13px/1.35 "DejaVu Sans Mono" }}
</style><pre>{}</pre>"""

SUBSTITUTES = str.maketrans("⎿⏵", "└▸")
"""Replacements of characters that the font lacks."""


def draw_screen(screen: str) -> str:
    """Return a page that shows the screen of a terminal.

    Args:
        screen: lines with escape sequences for colours.
    """
    drawn, style = [], {}
    screen = screen.strip("\n").translate(SUBSTITUTES)
    for part in re.split(r"(\x1b\[[\d;]*m)", screen):
        if part.startswith("\x1b["):
            style = change_style(style, [int(code or 0) for code in part[2:-1].split(";")])
        elif part:
            css = ";".join(f"{name}:{value}" for name, value in style.items())
            drawn.append(f'<span style="{css}">{html.escape(part)}</span>')
    return PAGE.format("".join(drawn))


def change_style(style: dict[str, str], codes: list[int]) -> dict[str, str]:
    """Return the style after an escape sequence. Codes other than colours, bold and faint are ignored."""
    match codes:
        case [0, *_]:
            return {}
        case [38 | 48 as ground, 5, number]:
            return {**style, "color" if ground == 38 else "background": find_colour(number)}
        case [38 | 48 as ground, 2, red, green, blue]:
            return {**style, "color" if ground == 38 else "background": f"rgb({red},{green},{blue})"}
        case [39]:
            return {name: value for name, value in style.items() if name != "color"}
        case [49]:
            return {name: value for name, value in style.items() if name != "background"}
    return {**style, **{1: {"font-weight": "bold"}, 2: {"opacity": "0.6"}}.get(codes[0], {})}


def find_colour(number: int) -> str:
    """Return the CSS colour of a number in a terminal's palette of 256."""
    if number >= 232:
        return f"rgb({','.join([str(8 + 10 * (number - 232))] * 3)})"
    if number < 16:
        return "#d0d0d0"
    levels = (0, 95, 135, 175, 215, 255)
    rest = number - 16
    return f"rgb({levels[rest // 36]},{levels[rest // 6 % 6]},{levels[rest % 6]})"
