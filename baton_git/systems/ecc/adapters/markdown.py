"""Parse the Markdown that agents write for each other: sections, lists, and placeholders of templates."""

from __future__ import annotations

import re
from collections.abc import Iterator

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_BOLD = re.compile(r"\*\*([^*]+)\*\*[ \t]*:?")
_FENCE = re.compile(r"[ \t]*(```|~~~)")
_SUMMARY = re.compile(r"<!--[ \t]*ECC:SUMMARY:(?:START|END)[ \t]*-->")
_NOISE = re.compile(r"<!--.*-->|\*\*\[Compaction occurred\b.*")
_RULE = re.compile(r"-{3,}|\*{3,}|_{3,}")
_BULLET = re.compile(r"[-*+](?:[ \t]+(.*))?")
_BOX = re.compile(r"\[([ xX])\](?:[ \t]+(.*))?")

_PLACEHOLDERS = {
    "", "-", "*", "pending", "none yet", "tbd", "[relevant files]", "[session context goes here]", "[ ]", "...", "…",
}  # fmt: skip
"""Texts, in lower case, that templates contain where content is missing."""


def is_placeholder(text: str) -> bool:
    """Return whether a text is blank, or a placeholder of a template."""
    return text.strip().strip("`").rstrip(".:").lower() in _PLACEHOLDERS or text.strip() in _PLACEHOLDERS


def parse_sections(text: str, *, bold: bool = False) -> dict[str, list[str]]:
    """Return the lines below each heading, including those of its sub-headings, by heading in lower case.

    Blank lines do not end a section, and headings inside a fenced block are text. If a heading occurs twice, the lines
    of both are joined. The markers of ECC's Stop hook end every open section.

    Args:
        bold: whether `**X**` alone on a line is a heading too, of the deepest level.
    """
    parts: dict[str, list[str]] = {}
    opened: list[tuple[int, list[str]]] = []
    for line, is_code in _mark_code_lines(text):
        heading = None if is_code else _parse_heading(line, bold=bold)
        if heading is not None:
            opened = [section for section in opened if section[0] < heading[0]]
        elif not is_code and _SUMMARY.fullmatch(line.strip()):
            opened = []
        if is_code or not _NOISE.fullmatch(line.strip()):
            for _, lines in opened:
                lines.append(line)
        if heading is not None:
            opened.append((heading[0], parts.setdefault(heading[1].lower(), [])))
    return parts


def _mark_code_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it belongs to a fenced block (including the fence)."""
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        yield line, bool(fence or mark)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1] == fence:
            fence = ""


def _parse_heading(line: str, *, bold: bool) -> tuple[int, str] | None:
    """Return the level and text of a heading; None for any other line."""
    match = _HEADING.fullmatch(line)
    if match:
        return len(match[1]), match[2].rstrip(" \t#")
    strong = _BOLD.fullmatch(line.strip()) if bold else None
    return (7, strong[1].strip().rstrip(":")) if strong else None


def parse_bullets(lines: list[str]) -> list[str]:
    """Return the items of a list, without placeholders; an indented line continues the item above it."""
    items: list[str] = []
    for line in lines:
        match = _BULLET.fullmatch(line.strip())
        if match:
            items.append((match[1] or "").strip())
        elif items and line[:1].isspace() and line.strip():
            items[-1] = f"{items[-1]} {line.strip()}".strip()
    return [item for item in items if not is_placeholder(item)]


def parse_tasks(lines: list[str], *, done: bool) -> list[str]:
    """Return the tasks that are done (`- [x]`), or those that are not (`- [ ]`)."""
    boxes = (_BOX.fullmatch(item) for item in parse_bullets(lines))
    items = [(box[2] or "").strip() for box in boxes if box and (box[1] != " ") == done]
    return [item for item in items if not is_placeholder(item)]


def join_prose(lines: list[str]) -> str:
    """Join the lines of a section; empty if all of them are placeholders."""
    kept = [line.rstrip() for line in lines]
    while kept and (not kept[-1] or _RULE.fullmatch(kept[-1])):
        kept.pop()
    if all(is_placeholder(line) for line in kept):
        return ""
    return "\n".join(kept).strip("\n")


def parse_fenced(lines: list[str]) -> list[str]:
    """Return the lines of the first fenced block of a section, or of the whole section if it has none, as they are.

    If all of them are placeholders, there are none.
    """
    marks = [(number, mark[1]) for number, line in enumerate(lines) if (mark := _FENCE.match(line))]
    if marks:
        first, fence = marks[0]
        lines = lines[first + 1 : next((number for number, mark in marks[1:] if mark == fence), None)]
    return [] if all(map(is_placeholder, lines)) else lines
