"""What people call a session: what it was asked, who ran it, and when; its short name comes last."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from baton_git.core.output import Styled, one_line, terminal_line
from baton_git.core.records.lineage import Session
from baton_git.core.styles import join
from baton_git.core.text_layout import count_columns, fit
from baton_git.core.times import describe_age
from baton_git.core.view import Reader

NARROWEST = 20
"""Minimum width of what a session was asked, in columns, even if the rest of its line is then cut."""


def describe_whose(session: Session, *, with_machine: bool = True) -> str:
    """Return who ran a session: `Ada (claude on desk)`; empty if that is unknown."""
    where = f"on {session.machine}" if session.machine and with_machine else ""
    by = " ".join(filter(None, (session.agent, where)))
    return one_line(f"{session.person} ({by})" if session.person and by else session.person or by, 80)


def describe_work(session: Session, goals: Mapping[str, str]) -> str:
    """Return what a session was asked first, its own summary, or the first line of its context; empty if unknown."""
    context = next(filter(None, map(str.strip, (session.context or "").splitlines())), "")
    return one_line(goals.get(session.id) or session.summary or context, 160)


def describe_when(session: Session, now: datetime) -> str:
    """Return when a session ended, or when it started if it is still at work."""
    if session.ended:
        return f"ended {describe_age(session.ended, now)}"
    return f"started {describe_age(session.started, now)}"


def describe_session(reader: Reader, session: Session, goals: Mapping[str, str], *, taken: int = 0) -> Styled:
    """Return a session on one line: its work, who ran it, when it ended or started, and its short name.

    On a terminal, the machine is left out and the work is cut, if the line would not fit in its width minus `taken`
    columns.
    """
    when = describe_when(session, reader.now)
    name = one_line(reader.sessions.shorten(session.id), 60)
    work, width = terminal_line(describe_work(session, goals)), reader.width
    room = width - taken if width is not None else None
    short = fit(describe_whose(session, with_machine=False), max((room or 0) // 3, NARROWEST))
    for whose in (describe_whose(session), short):
        rest = terminal_line(" · ".join(filter(None, (whose, when, name))))
        left = None if room is None else room - count_columns(rest) - len(" · ")
        if left is None or count_columns(work) <= left:
            break
    else:
        work = fit(work, max(left or 0, NARROWEST))
    return join(filter(None, (work, rest)), " · ")
