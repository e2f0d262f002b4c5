"""The verb `wrap`: end a session and save the state of the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Self

from pydantic import Field, PrivateAttr

from baton_git.core.errors import InvalidArgument
from baton_git.core.output import shell_line
from baton_git.core.records.lineage import Session
from baton_git.core.sessions import find_session
from baton_git.core.state import HEAD, State
from baton_git.core.times import iso
from baton_git.core.verb import REPLACES, Input, Option, Tool, verb
from baton_git.namespace.last_seen import find_last_seen
from baton_git.namespace.results import WrittenResult
from baton_git.namespace.revision import Revision, WriteResult
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_hooks import run_end_hooks
from baton_git.verbs.sessions.auto_sync import SyncNews, sync_at_end
from baton_git.verbs.sessions.gone_sessions import mark_gone
from baton_git.verbs.sessions.session_start import add_session
from baton_git.verbs.sharing.open_conflicts import list_open_conflicts


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
        context: replaces the context that the session started with. If somebody else has changed it since, or if the
            session did not begin with a boot and so has not read it, both texts are kept, theirs first; with
            `expected_revision` or without a session, only the new text.
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
            state = _put_context(ws, now, tip, context, replace_all=expected_revision is not None)
        return _mark_ended(ws, now, state, summary)

    return ws.update("wrap", now, change, expected_revision=expected_revision)


def describe_kept_context(written: WriteResult) -> list[str]:
    """Return a line that says whose context a wrap kept before its own, and why; no line if it kept none."""
    before, head = written.before.state.head, written.revision.state.head
    kept = before.context.rstrip()
    if not kept or before.context == head.context or not head.context.startswith(f"{kept}\n\n"):
        return []
    session = head.session_id or ""
    whose = f"the context of session {before.session_id}" if before.session_id else "the earlier context"
    has_begun = find_session(written.before.state, session) is not None
    why = "it was written after this session began" if has_begun else "this session did not begin with baton boot"
    return [
        f"{whose} was kept before the new text, because {why}",
        f"to replace both texts: {shell_line(['baton', 'wrap', '--session', session, '--context'])} TEXT",
    ]


def end_gone_sessions(ws: Workspace, now: datetime, last_seen: Mapping[str, str]) -> None:
    """End sessions whose process is gone; those already ended, or without a record, are left unchanged.

    Args:
        last_seen: when each session was last seen (ISO 8601), by session.
    """
    if last_seen:
        ws.update("wrap", now, lambda tip: mark_gone(tip.state, now, last_seen))


def _put_context(ws: Workspace, now: datetime, tip: Revision, context: str, *, replace_all: bool) -> State:
    head = tip.state.head
    # without a session, it is unknown which context the writer has seen
    is_checked = ws.actor.session is not None and not replace_all
    keeps = is_checked and head.context not in (_find_context_at_start(ws, tip), context, "")
    text = f"{head.context.rstrip()}\n\n{context}" if keeps else context
    session = {"session_id": ws.session, "updated_at": iso(now)} if ws.actor.session else {"updated_at": iso(now)}
    return tip.state.put(head.replace(context=text, **session), HEAD)


def _find_context_at_start(ws: Workspace, tip: Revision) -> str | None:
    """Return the context that the session saw when it started or last wrote; None if it did neither."""
    if find_session(tip.state, ws.session) is None:
        return None
    seen = find_last_seen(ws.branch, tip.commit, ws.session) if tip.commit else None
    for commit in (*reversed(seen.own), seen.base) if seen is not None else ():
        if commit is not None and ws.branch.load_entry(commit).op in ("boot", "wrap", "write"):
            return ws.branch.revision_at(commit).state.head.context
    return None


def _mark_ended(ws: Workspace, now: datetime, state: State, summary: str | None) -> State:
    if ws.actor.session is None:
        return state
    state = add_session(ws, now, state, None)
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
    news: list[str] = Field(description="A context that was kept, and the results of a checkpoint and of the push.")
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


@verb(
    "wrap",
    "POST /v1/wrap",
    effect=REPLACES,
    session="ends",
    tag="sessions",
    options={"sync": Option(hidden=True)},
    tool=Tool(
        "End a session: save the state of the work.",
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

    The context replaces the one that the session started with. If another session has changed it since, or if this
    session did not begin with a boot, both texts are kept, and the output says so. A second wrap replaces both.

    Raises:
        Stale: `expected_revision` is no longer the newest.
        InvalidArgument: the context is blank.
    """
    written = end_session(
        ws, now, context=verb_input.context, summary=verb_input.summary, expected_revision=verb_input.expected_revision
    )
    hooks = run_end_hooks(ws, now, summary=verb_input.summary, context=verb_input.context)
    synced = sync_at_end(ws, now) if verb_input.sync else SyncNews()
    conflicts = [conflict.id for conflict in list_open_conflicts(ws)]
    optional = {"checkpoint": hooks.checkpoint, "conflicts": conflicts}
    given = {name: value for name, value in optional.items() if value}
    result = WrapResult.of(
        written, session=ws.actor.session, news=[*describe_kept_context(written), *hooks.news, *synced.lines], **given
    )
    return result.naming(synced.conflicts)
