"""The verb `wrap`: end a session and save the state of the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final, Self

from pydantic import Field, PrivateAttr

from baton_git.core.brief import short_session
from baton_git.core.errors import BatonError, InvalidArgument
from baton_git.core.output import count_noun, flat, shell_line
from baton_git.core.records.lineage import Session
from baton_git.core.sessions import (
    WorkContext,
    find_session,
    list_contexts,
    record_session,
    replace_contexts,
    set_context,
)
from baton_git.core.state import HEAD, State
from baton_git.core.times import EARLIEST, iso, parse_time_or_none
from baton_git.core.verb import REPLACES, FileInput, Input, Option, Tool, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.folding import fold, may_be_due, was_undone
from baton_git.namespace.last_seen import find_last_seen
from baton_git.namespace.results import WrittenResult
from baton_git.namespace.revision import Revision, WriteResult
from baton_git.namespace.workspace import Workspace
from baton_git.systems import run_end_hooks
from baton_git.verbs.sessions.gone_sessions import mark_gone
from baton_git.verbs.sessions.session_start import add_session, find_parent
from baton_git.verbs.sharing.auto_sync import SyncNews, send_in_background, sync_at_end
from baton_git.verbs.sharing.open_conflicts import describe_unnamed, list_open_conflicts

FOLD_TASK: Final = "fold"
"""The name of the background task."""


def fold_in_background(ws: Workspace) -> bool:
    """Let a background process fold the archive if that may be due; return whether it goes on after this process.

    Raises:
        Corrupt: the newest revision cannot be read.
    """
    tree = ws.branch.read().tree if ws.folds_archive and ws.branch.tip() is not None else None
    return tree is not None and may_be_due(ws.branch.store.folder(tree)) and ws.background.request(FOLD_TASK)


def fold_automatically(ws: Workspace, now: datetime) -> None:
    """Fold the archive if that is due, unless a person took back a fold not long ago; let the fold be sent.

    Raises:
        BatonError: under the same conditions as `fold`.
    """
    if ws.folds_archive and not was_undone(ws) and fold(ws, now) is not None:
        send_in_background(ws)


def end_session(
    ws: Workspace,
    now: datetime,
    *,
    context: str | None = None,
    summary: str | None = None,
    expected_revision: int | None = None,
) -> WriteResult:
    """End the acting session, and store the state of the work and a summary of what was done.

    Args:
        context: the session's own context. It replaces the contexts that the session had read, but not those of
            sessions that worked at the same time; with `expected_revision`, it replaces all of them. Without a session,
            it is that of the session that ended last in this work tree; without such a session, it belongs to nobody,
            is stored in the head, and replaces all others.
        summary: what the session did, in a sentence.
        expected_revision: fail unless this is still the newest revision.

    Raises:
        Stale: `expected_revision` is no longer the newest.
        InvalidArgument: the context is blank.
    """
    if context is not None and not context.strip():
        raise InvalidArgument("the context is empty", hint="say where the work stands, or leave it out")

    def change(tip: Revision) -> State:
        state = tip.state
        if context is not None:
            state = _put_context(ws, now, tip, context, replaces_all=expected_revision is not None)
        return _mark_ended(ws, now, state, summary)

    return ws.update("wrap", now, change, expected_revision=expected_revision)


def describe_corrected(ws: Workspace, written: WriteResult, context: str | None) -> list[str]:
    """Return a line that says which session's context a wrap without a session has set; no line if it is nobody's."""
    ended = ws.actor.ended if ws.actor.session is None and context is not None else None
    if ended is None or not written.changes or find_session(written.before.state, ended) is None:
        return []
    return [f"the context is that of session {short_session(ended)}, which had ended here before"]


def describe_other_contexts(written: WriteResult, session: str | None) -> list[str]:
    """Return a line that says whose contexts stay current beside that of the session, and why; no line if none do."""
    contexts = list_contexts(written.revision.state)
    others = [context for context in contexts if context.session != session and (context.text or "").strip()]
    if session is None or len(others) == len(contexts) or not others:
        return []
    names = [f"session {short_session(context.session)}" for context in others if context.session][:3]
    more = len(others) - len(names)
    whose = ", ".join([*names, *([count_noun(more, "other context")] if more else [])])
    has_begun = find_session(written.before.state, session) is not None
    why = "it was not there when this session began" if has_begun else "this session did not begin with baton boot"
    return [
        f"the next brief also tells the context of {whose}, because {why}",
        f"to replace every other context: {shell_line(['baton', 'wrap', '--session', session, '--context'])} TEXT",
    ]


def end_gone_sessions(ws: Workspace, now: datetime, last_seen: Mapping[str, str]) -> None:
    """End sessions whose process is gone; those already ended, or without a record, are left unchanged.

    Args:
        last_seen: when each session was last seen (ISO 8601), by session.
    """
    if last_seen:
        ws.update("wrap", now, lambda tip: mark_gone(tip.state, now, last_seen))


def _put_context(ws: Workspace, now: datetime, tip: Revision, context: str, *, replaces_all: bool) -> State:
    """Return the state with the context of the acting session, or of the one that ended last, or of nobody."""
    state, contexts = tip.state, list_contexts(tip.state)
    writer = ws.actor.session or ws.actor.ended
    session = find_session(state, writer) if writer is not None else None
    if ws.actor.session is not None:
        state = add_session(ws, now, state, find_parent(state, ws.session, None, []))
        session = state.get(Session, ws.session)
    if session is None:
        writer_fields = {"session_id": ws.session} if state.head.session_id else {}
        head = state.head.replace(context=context, updated_at=iso(now), **writer_fields)
        return replace_contexts(state, contexts).put(head, HEAD)
    read = contexts if replaces_all else _list_read(ws, tip, session.id)
    known = session if replaces_all else _find_known(ws, tip, session)
    state = set_context(state, session, context, now, read, known)
    state = record_session(state, state.get(Session, session.id), now, ws.policy)
    if state.entry(HEAD) is None or state.head.context.strip():
        return state  # if it is somebody else's context, the session and the time of the head belong to it
    fields = {"session_id": session.id, "parent_session": session.parent}  # a document's reader takes both for one fact
    return state.put(state.head.replace(**fields, updated_at=iso(now)), HEAD)


def _list_read(ws: Workspace, tip: Revision, session_id: str) -> list[WorkContext]:
    """Return the contexts that a session read when it last started or wrote, and that are still the same.

    A context that was set while the session was at work is not among them, even if another boot of the session told it.
    """
    session = find_session(tip.state, session_id)
    last = _find_last_read(ws, tip, session_id) if session is not None else None
    if session is None or last is None:
        return []
    read = [context.identity for context in list_contexts(last.state)]
    current = [context for context in list_contexts(tip.state) if context.identity in read]
    if session.ended is not None or last.time is None:
        return current
    began, told = parse_time_or_none(session.started) or EARLIEST, last.time
    return [context for context in current if not began < context.time <= told]


def _find_known(ws: Workspace, tip: Revision, session: Session) -> Session | None:
    """Return the session's record as of the last commit in which the session read or set its context."""
    if session.context_at is None or tip.commit is None:
        return None
    seen = find_last_seen(ws.branch, tip.commit, session.id)
    for commit in (*reversed(seen.own), seen.base) if seen is not None else ():
        if commit is None:
            continue
        known, entry = find_session(ws.branch.past_revision_at(commit).state, session.id), ws.branch.load_entry(commit)
        if entry.op in _READS_ALL:
            return known
        before = find_session(ws.branch.past_revision_at(entry.parents[0]).state, session.id)
        if known is not None and (before is None or before.context_at != known.context_at):
            return known  # an undo, for example
    return None


_READS_ALL = ("boot", "wrap", "write")


def _find_last_read(ws: Workspace, tip: Revision, session: str) -> Revision | None:
    """Return the newest revision at which the session read all contexts: its last boot, wrap or document."""
    seen = find_last_seen(ws.branch, tip.commit, session) if tip.commit else None
    for commit in (*reversed(seen.own), seen.base) if seen is not None else ():
        if commit is not None and ws.branch.load_entry(commit).op in _READS_ALL:
            return ws.branch.past_revision_at(commit)
    return None


def _mark_ended(ws: Workspace, now: datetime, state: State, summary: str | None) -> State:
    if ws.actor.session is None:
        return state
    state = add_session(ws, now, state, find_parent(state, ws.session, None, []))
    session = state.get(Session, ws.session)
    fields = {"summary": summary} if summary else {}
    return state.put(session.replace(status="ended", ended=iso(now), **fields))


class SessionEnd(Input):
    """The state of the work at the end of a session."""

    context: str | None = Field(
        None,
        description="The state of the work, for the next session.",
        examples=["Deployed X; cache expires at 9"],
    )
    summary: str | None = Field(
        None, description="What this session did, in one sentence.", examples=["fixed the deploy script"]
    )
    expected_revision: int | None = Field(
        None, ge=0, le=1_000_000_000, description="Refuse unless this is still the newest revision.", examples=[12]
    )
    sync: bool = Field(True, description="Whether to push to the remote that this namespace is synced with.")


class WrapResult(WrittenResult):
    """Result of ending a session."""

    session: str | None = Field(description="The session that ended; null if none was active.")
    news: list[str] = Field(
        description="Whose contexts are told, too, and the results of a checkpoint and of the push."
    )
    checkpoint: str | None = Field(None, description="The checkpoint required by PAIF's settings.")
    conflicts: list[str] = Field([], description="The ids of the open conflicts, if any.", examples=[["C-1f2e3d4c"]])

    _named_conflicts: Sequence[str] = PrivateAttr(())

    @property
    def named_conflicts(self) -> Sequence[str]:
        """The ids of the conflicts that `news` names."""
        return self._named_conflicts

    def naming(self, conflicts: Sequence[str]) -> Self:
        """Keep the ids of the conflicts that `news` names, and return this result."""
        self._named_conflicts = conflicts
        return self

    def show(self, reader: Reader) -> ResultView:
        notes = [*self.told, *(flat(line) for text in self.news for line in text.splitlines())]
        if self.session is None:
            notes.append("no session was ended, because none is active here (baton boot, --session or BATON_SESSION)")
        notes += describe_unnamed(self.conflicts, self.named_conflicts)
        return ResultView(notes=notes, status="conflict" if self.conflicts else "ok")


@verb(
    "wrap",
    "POST /v1/wrap",
    effect=REPLACES,
    session="ends",
    tag="sessions",
    options={"sync": Option(flags={"no-sync": "Do not push to the remote."}, values={"no-sync": False})},
    file=FileInput(lambda text, file: {"context": text}, "Read the context from a file; - reads standard input."),
    tool=Tool(
        "End a session: save its state.",
        hidden=("sync", "expected_revision"),
        required=("context",),
        fields={"context": "State of the work and the next step"},
    ),
    examples=(
        'baton wrap --context "Deployed X; waiting for the cache to expire" --summary "fixed the deploy script"',
    ),
)
def wrap(ws: Workspace, now: datetime, verb_input: SessionEnd) -> WrapResult:
    """End a session: save the state of the work, and push to the remote that this namespace is synced with.

    The context belongs to this session. It replaces those that the session started with. The brief also tells the
    contexts of sessions that worked at the same time; if there are any, the output says so. A second wrap replaces
    them, too.

    Raises:
        Stale: `expected_revision` is no longer the newest.
        InvalidArgument: the context is blank.
    """
    written = end_session(
        ws, now, context=verb_input.context, summary=verb_input.summary, expected_revision=verb_input.expected_revision
    )
    hooks = run_end_hooks(ws, now, summary=verb_input.summary, context=verb_input.context)
    with suppress(BatonError):  # a broken archive does not prevent the end of a session, and is reported elsewhere
        fold_in_background(ws)
    synced = sync_at_end(ws, now) if verb_input.sync else SyncNews()
    conflicts = [conflict.id for conflict in list_open_conflicts(ws).outlines]
    optional = {"checkpoint": hooks.checkpoint, "conflicts": conflicts}
    given = {name: value for name, value in optional.items() if value}
    result = WrapResult.of(
        written,
        session=ws.actor.session,
        **given,
        news=[
            *describe_corrected(ws, written, verb_input.context),
            *describe_other_contexts(written, ws.actor.session or ws.actor.ended),
            *hooks.news,
            *synced.lines,
        ],
    )
    return result.naming(synced.conflicts)
