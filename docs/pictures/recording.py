"""Record a real shell in tmux as an animated SVG: pure CSS, without scripts, fonts or links.

Readers who prefer reduced motion see the last frame only.
"""

from __future__ import annotations

import html
import io
import time
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.segment import Segment
from rich.terminal_theme import SVG_EXPORT_THEME as THEME
from rich.text import Text
from terminal import WIDTH, Terminal

ROWS = 24
COLUMN, ROW, MARGIN = 7.2, 17, 14
"""Pixels of one character, one line, and the space around."""

STYLE = (
    "text{{font:12px/1 ui-monospace,Menlo,Consolas,monospace;white-space:pre}}"
    ".f{{visibility:hidden;animation:{seconds:.2f}s step-end infinite}}{frames}"
    "@media (prefers-reduced-motion:reduce){{.f{{animation:none!important}}.l{{visibility:visible}}}}"
)

Runs = tuple[tuple[int, str, str], ...]
"""The texts of one line: column, text and attributes of SVG."""


class Recording:
    """A recording of a terminal: the lines of its screen, and for how many seconds each screen is shown."""

    def __init__(self, shell: Terminal) -> None:
        self.shell = shell
        self.frames: list[tuple[tuple[Runs, ...], float]] = []

    def type(self, text: str) -> None:
        """Type a line word by word, wait for the next prompt, and leave time to read."""
        before = len(self.shell.screen().splitlines())
        for word in text.split(" "):
            self.shell.tmux("send-keys", "-l", word if text.startswith(word) else f" {word}")
            time.sleep(0.1)
            self.capture(0.22)
        self.shell.tmux("send-keys", "Enter")
        self.shell.wait_for("$", after=text)
        self.capture(1.2 + 0.25 * min(len(self.shell.screen().splitlines()) - before, 14))

    def capture(self, seconds: float) -> None:
        """Add the screen as it is now."""
        screen = self.shell.screen().replace(self.shell.environment["HOME"], "/home/ada")
        self.frames.append((tuple(map(draw_line, screen.splitlines()[-ROWS:])), seconds))

    def save(self, file: Path, title: str) -> None:
        """Write the SVG, whose last frame stays for three more seconds."""
        self.frames[-1] = (self.frames[-1][0], self.frames[-1][1] + 3)
        file.write_text(draw_frames(self.frames, title) + "\n", encoding="utf-8")
        print(f"{file.name}: {file.stat().st_size} bytes")


def draw_line(line: str) -> Runs:
    """Return the texts of a line with escape sequences."""
    console = Console(width=WIDTH, file=io.StringIO(), color_system="truecolor", force_terminal=True)
    runs, column = [], 0
    for segment in console.render(Text.from_ansi(line, no_wrap=True)):
        text = segment.text.rstrip("\n")
        if text.strip():
            runs.append((column, text, draw_style(segment)))
        column += len(text)
    return tuple(runs)


def draw_style(segment: Segment) -> str:
    style = segment.style
    color = style.color.get_truecolor(THEME) if style and style.color else THEME.foreground_color
    weight = ' font-weight="bold"' if style and style.bold else ""
    faint = ' opacity=".65"' if style and style.dim else ""
    return f'fill="{color.hex}"{weight}{faint}'


def draw_frames(frames: list[tuple[tuple[Runs, ...], float]], title: str) -> str:
    """Return an SVG in which each line of the screen is shown for the frames that have it."""
    times = [0.0]
    for _, seconds in frames:
        times.append(times[-1] + seconds)
    shown = find_spans([screen for screen, _ in frames])
    spans = {span: f"k{number}" for number, span in enumerate(dict.fromkeys(span for _, _, span in shown))}
    parts = [seconds / times[-1] for seconds in times]
    keys = "".join(draw_keys(name, parts[start], parts[end]) for (start, end), name in spans.items())
    style = STYLE.format(seconds=times[-1], frames=keys)
    lines = [
        f'<g class="f {spans[span]}{" l" if span[1] == len(frames) else ""}">{draw_runs(row, runs)}</g>'
        for row, runs, span in shown
    ]
    width, height = WIDTH * COLUMN + 2 * MARGIN, ROWS * ROW + 2 * MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img">'
        f"<title>{html.escape(title)}</title>"
        f'<style>{style}</style><rect width="100%" height="100%" rx="8" fill="{THEME.background_color.hex}"/>\n'
        + "\n".join(lines)
        + "</svg>"
    )


def find_spans(screens: list[tuple[Runs, ...]]) -> list[tuple[int, Runs, tuple[int, int]]]:
    """Return the lines with their row, and the first frame that has them and the one after the last."""
    spans: list[tuple[int, Runs, tuple[int, int]]] = []
    open_: dict[int, tuple[Runs, int]] = {}
    for number, screen in enumerate([*screens, ()]):
        for row in range(ROWS):
            runs = screen[row] if row < len(screen) else ()
            before, since = open_.get(row, ((), number))
            if runs != before:
                if before:
                    spans.append((row, before, (since, number)))
                open_[row] = (runs, number)
    return spans


def draw_keys(name: str, start: float, end: float) -> str:
    """Return the CSS that shows elements of the class `name` from `start` to `end`, as fractions of the whole time."""
    begin = f"{start:.2%}{{visibility:visible}}"
    stop = f"{end:.2%}{{visibility:hidden}}" if end < 1 else ""
    hidden = "0%{visibility:hidden}" if start else ""
    return f".{name}{{animation-name:{name}}}@keyframes {name}{{{hidden}{begin}{stop}}}"


def draw_runs(row: int, runs: Runs) -> str:
    y = MARGIN + ROW * row + 12
    return "".join(
        f'<text x="{MARGIN + column * COLUMN:.1f}" y="{y}" textLength="{len(text) * COLUMN:.1f}" {style}>'
        f"{html.escape(text)}</text>"
        for column, text, style in runs
    )


def clear(shell: Terminal) -> None:
    """Empty the screen."""
    shell.tmux("send-keys", "clear", "Enter")
    time.sleep(0.5)
    shell.tmux("clear-history")


def record(shell: Terminal, file: Path, title: str, commands: Iterable[str]) -> None:
    """Record commands in an SVG."""
    clear(shell)
    recording = Recording(shell)
    for command in commands:
        recording.type(command)
    recording.save(file, title)
