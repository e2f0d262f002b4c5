"""`/n/…/session?id=…`: one session: its brief, its changes, and its digest."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from starlette.responses import Response

from baton_git.agents.sessions.handoff_index import read_handoff
from baton_git.core.errors import NotFound
from baton_git.core.records.handoff import Handoff
from baton_git.core.session_names import complete_session
from baton_git.core.sessions import find_session
from baton_git.core.state import State
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.pages.revisions import take_readable
from baton_git.interfaces.web.pages.timeline import drop_bookkeeping
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.handoff_context import list_goals
from baton_git.verbs.revisions.history import Filter, Shown, read_log
from baton_git.verbs.sessions.session_start import compose_brief

MOST_COMMITS = 500
"""Maximum number of commits of a session that are read. If a session has this number or more, its first commit may
not be among them, and the brief is not rebuilt."""


def show_session(request: PageRequest) -> Response:
    id_ = request.query.get("id", "")
    with request.work() as ws:
        state = ws.branch.read().state
        id_ = complete_session(state, id_)
        commits, gap = take_readable(read_log(ws, Filter(None, id_, None), MOST_COMMITS), MOST_COMMITS)
        session, digests = find_session(state, id_), _find_digests(state, id_)
        if session is None and not commits and not digests:
            raise NotFound("session", id_)
        return request.render(
            "session.html", ws, id=id_, session=session, digests=digests, gap=gap,
            goal=list_goals(state, {id_}).get(id_, ""),
            has_todos=session is not None and (session.status == "active" or bool(session.todos)),
            commits=[drop_bookkeeping(commit) for commit in commits], brief=_rebuild_brief(ws, commits),
        )  # fmt: skip


def _find_digests(state: State, session: str) -> list[Handoff]:
    """Return at most 5 digests of a session, live or archived; sessions of several agents can have the same id."""
    ids = {*state.ids(Handoff.kind), *state.ids(Handoff.kind, archived=True)}
    own = islice((id_ for id_ in sorted(ids) if id_.partition("/")[2] == session), 5)
    return [digest for id_ in own if (digest := read_handoff(state, id_)) is not None]


def _rebuild_brief(ws: Workspace, commits: Sequence[Shown]) -> str:
    """Return the brief of the revision that started a session; empty if that revision is not known."""
    if not commits or commits[-1].entry.op != "boot" or len(commits) == MOST_COMMITS:
        return ""
    start = commits[-1].entry
    return compose_brief(ws, start.time, at=start.commit).text
