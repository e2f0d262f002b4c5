"""Operations as lines for a terminal: revision, time, verb, how many records, who, and what was done."""

from __future__ import annotations

from baton_git.core.output import CYAN, YELLOW, Styled, one_line, style
from baton_git.core.state import SHAPE
from baton_git.interfaces.cli.revisions.change_lines import COLOURS
from baton_git.verbs.revisions.history import Shown
from baton_git.verbs.revisions.operations import is_undo

WIDTHS = {"verb": 18, "count": 11}
"""Columns that are longer only where a value is."""


def operation_line(shown: Shown) -> Styled:
    """Return `  12  2026-11-22 22:40  loop add  1 record  s1 (claude)  OL-7k3f9q added`, and whether it was undone."""
    entry = shown.entry
    number = style(f"{'?' if entry.revision is None else entry.revision:>4}", YELLOW)
    when = entry.time.astimezone().strftime("%Y-%m-%d %H:%M")
    verb = one_line(entry.op.removesuffix("-merge").replace("-", " ") or "by hand", 40)
    count = len([change for change in shown.changes if change.kind not in (SHAPE.kind, "session")])
    records = f"{count} record{'' if count == 1 else 's'}"
    name = entry.session or entry.author.partition(" <")[0]
    who = f"{name} ({entry.agent})" if entry.agent else name
    undone = style("redone" if is_undo(entry) else "undone", COLOURS["removed"])
    parts = [
        number, when, verb.ljust(WIDTHS["verb"]), records.ljust(WIDTHS["count"]), style(one_line(who, 60), CYAN),
        *([undone] if shown.is_undone else []), one_line(entry.subject, 200),
    ]  # fmt: skip
    return Styled("  ").join(parts)
