"""Show changes of records as lines: `OL-7k3f9q  status: open → verified`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from baton_git.core.diff import FieldChange, RecordChange
from baton_git.core.kinds import NUMBERED
from baton_git.core.output import BLUE, BOLD, GREEN, RED, YELLOW, Styled, one_line, style, terminal_line
from baton_git.core.sessions import SessionNames
from baton_git.core.state import SHAPE
from baton_git.core.text_layout import wrap_styled
from baton_git.core.view import Reader

COLOURS = {"added": GREEN, "restored": GREEN, "changed": YELLOW, "archived": BLUE, "removed": RED}
LINES = Styled("\n")
INDENT = " " * 8


def format_changes(reader: Reader, changes: Sequence[RecordChange]) -> Iterator[Styled]:
    """Yield a line for each changed field, `OL-7k3f9q  status: open → verified`, or for a whole record, such as an
    added one.

    Long lines are wrapped.
    """
    yield from (wrap_styled(line, reader.width, INDENT) for line in _list_lines(changes, reader.sessions))


def _list_lines(changes: Sequence[RecordChange], sessions: SessionNames) -> Iterator[Styled]:
    for change in changes:
        if change.kind == SHAPE.kind:
            continue
        kind = f"{change.kind.removeprefix('archived_')} " if change.kind not in NUMBERED and change.id else ""
        name = f"      {kind}" + style(one_line(sessions.shorten(change.id), 80) or "baton", BOLD) + "  "
        about = f"  {one_line(change.title, 70)}" if change.title else ""
        if change.action != "changed":
            reason = f" ({one_line(change.reason, 60)})" if change.reason else ""
            yield name + style(f"{change.action}{reason}", COLOURS[change.action]) + about
        for field in change.fields if change.action in ("changed", "archived") else ():
            yield name + format_field_change(field)


def format_field_change(change: FieldChange) -> Styled:
    """Return the change of a field: `status: open → verified`; for lists, the added and removed items."""
    before, after = change.before, change.after
    name = Styled(f"{terminal_line(change.field)}: ")
    if before and after and isinstance(before[0], list | tuple) and isinstance(after[0], list | tuple):
        removed = [style(f"- {_value((item,))}", RED) for item in _subtract(before[0], after[0])]
        added = [style(f"+ {_value((item,))}", GREEN) for item in _subtract(after[0], before[0])]
        return name + (Styled("  ").join([*removed, *added]) or "in another order")
    return name + style(_value(before), RED) + " → " + style(_value(after), GREEN)


def _subtract(items: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Return `items` without `others`; each of `others` removes one equal item."""
    left = list(items)
    for item in others:
        if item in left:
            left.remove(item)
    return left


def _value(side: tuple[Any, ...]) -> str:
    if not side:
        return "(not set)"
    return one_line(side[0] if isinstance(side[0], str) else json.dumps(side[0], ensure_ascii=False), 120) or "''"
