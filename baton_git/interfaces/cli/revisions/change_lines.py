"""Format changes of records as lines for a terminal: `OL-7k3f9q  status: open → verified`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from baton_git.core.diff import FieldChange, RecordChange
from baton_git.core.kinds import ALL_KINDS, NUMBERED
from baton_git.core.output import BLUE, BOLD, GREEN, RED, YELLOW, Styled, one_line, style, terminal_line
from baton_git.core.session_names import SessionNames
from baton_git.core.state import SHAPE
from baton_git.interfaces.cli.rendering.widths import fit, terminal_width, wrap_styled
from baton_git.verbs.revisions.history import Shown

if TYPE_CHECKING:
    from baton_git.namespace.commit_log import LogEntry
    from baton_git.verbs.records.details import RecordEvent
    from baton_git.verbs.revisions.log import CommitResult

COLOURS = {"added": GREEN, "restored": GREEN, "changed": YELLOW, "archived": BLUE, "removed": RED}
LINES = Styled("\n")
INDENT = " " * 8
ANY_SESSION = SessionNames()
"""The names of sessions of an unknown namespace."""
LONGEST = 1000
"""Maximum number of characters of a title or a reason in a commit's subject."""


def format_changes(changes: Sequence[RecordChange], sessions: SessionNames = ANY_SESSION) -> Iterator[Styled]:
    """Yield a line for each changed field, `OL-7k3f9q  status: open → verified`, or for a whole record, such as an
    added one.

    On a terminal, long lines are wrapped.
    """
    width = terminal_width()
    yield from (wrap_styled(line, width, INDENT) for line in _list_lines(changes, sessions))


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


def describe_author(entry: LogEntry | RecordEvent | CommitResult) -> str:
    """Return who made a commit: the person, and the agent in parentheses; cut, to leave room for what was changed."""
    name = one_line(entry.author.partition(" <")[0], 24)
    width = terminal_width()
    return fit(f"{name} ({one_line(entry.agent, 16)})" if entry.agent else name, 48 if width is None else width // 4)


def expand_subject(shown: Shown, sessions: SessionNames) -> str:
    """Return the subject of a commit, with the full text of titles and reasons that the subject abbreviates, and the
    short names of sessions."""
    subject = sessions.shorten_in(shown.entry.subject, (change.id for change in shown.changes))
    for change in shown.changes:
        info = ALL_KINDS.get(change.kind)
        title = one_line(str(change.after(info.about) or ""), LONGEST) if info is not None and info.about else ""
        for text, limit in ((title, 50), (one_line(change.reason, LONGEST), 60)):
            if len(text) > limit:
                subject = subject.replace(one_line(text, limit), text, 1)
    return terminal_line(subject)
