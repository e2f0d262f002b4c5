"""Show commits as lines: who made them, and what they changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from baton_git.core.change_lines import format_changes
from baton_git.core.kinds import ALL_KINDS
from baton_git.core.output import CYAN, YELLOW, Styled, one_line, style, terminal_line
from baton_git.core.text_layout import fit
from baton_git.core.times import format_minute, to_local
from baton_git.core.view import Reader
from baton_git.verbs.revisions.history import Shown

LONGEST = 1000
"""Maximum number of characters of a title or a reason in a commit's subject."""


def describe_author(reader: Reader, author: str, agent: str | None) -> str:
    """Return who made a commit: the person, and the agent in parentheses; cut, to leave room for what was changed."""
    name = one_line(author.partition(" <")[0], 24)
    return fit(f"{name} ({one_line(agent, 16)})" if agent else name, 48 if reader.width is None else reader.width // 4)


def expand_subject(reader: Reader, shown: Shown) -> str:
    """Return the subject of a commit, with the full text of titles and reasons that the subject abbreviates, and the
    short names of sessions."""
    subject = reader.sessions.shorten_in(shown.entry.subject, (change.id for change in shown.changes))
    for change in shown.changes:
        info = ALL_KINDS.get(change.kind)
        title = one_line(str(change.after(info.about) or ""), LONGEST) if info is not None and info.about else ""
        for text, limit in ((title, 50), (one_line(change.reason, LONGEST), 60)):
            if len(text) > limit:
                subject = subject.replace(one_line(text, limit), text, 1)
    return terminal_line(subject)


def format_heading(reader: Reader, shown: Shown) -> Styled:
    """Return what a commit is called: its revision, time, person and agent, and subject."""
    entry = shown.entry
    revision = style(f"{'' if entry.revision is None else entry.revision:>4}", YELLOW)
    who = describe_author(reader, entry.author, entry.agent) if entry.parents and entry.op != "merge" else ""
    when = format_minute(to_local(entry.time)) if entry.parents else " " * len("2026-06-17 12:30")
    return Styled("  ").join([revision, when, *([style(who, CYAN)] if who else ()), expand_subject(reader, shown)])


def describe_rejection(id_: str) -> str:
    """Return what a commit of a review says about a record whose change was rejected."""
    return f"{id_}: a remote's change was rejected in a review"


def format_content(reader: Reader, shown: Shown, rejected: Sequence[str]) -> Iterator[Styled | str]:
    """Yield the lines below the heading of a commit."""
    if shown.unreadable:
        yield terminal_line(f"      cannot be read: {one_line(shown.unreadable, 300)}")
    yield from format_changes(reader, shown.changes)
    yield from (terminal_line(f"      {describe_rejection(id_)}") for id_ in rejected)
