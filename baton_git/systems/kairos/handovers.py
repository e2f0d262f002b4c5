"""Start, continue, resume, show and end KAIROS' protocol runs."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from baton_git.core.errors import Corrupt, EndedError, InvalidArgument, NotFound, StepConflict
from baton_git.core.names import MAX_COMPONENT, derive_id
from baton_git.core.output import one_line
from baton_git.core.records.base import Archived, parse
from baton_git.core.records.conflict import Conflict
from baton_git.core.sessions import complete_name
from baton_git.core.state import Key, State, Unreadable, same_fields
from baton_git.core.times import iso
from baton_git.namespace.revision import Revision, WriteResult
from baton_git.namespace.workspace import Workspace, fresh_id
from baton_git.systems.kairos.record import (
    STALE_AFTER,
    Age,
    Handover,
    StepRequest,
    compute_age,
    make_step_conflict,
    normalize_run,
    prepare_for_archive,
    take_step,
)

Outcome = Literal["completed", "abandoned"]

_SUFFIX = re.compile(r"(?:\.(?:\d+|[0-9a-f]{6,64}))*")
"""Matches the suffix that the archive or a merge appends to an id that is already in use."""


class Run(NamedTuple):
    """A run at a revision.

    Attributes:
        closed: when and how the run ended; None while it is live.
        contested: its unresolved conflicts.
    """

    handover: Handover
    revision: Revision
    closed: Archived | None = None
    contested: tuple[Conflict, ...] = ()


class Resumed(NamedTuple):
    """A run and its age."""

    run: Run
    age: Age


class Stepped(NamedTuple):
    """A run after a step, or before its end, and the write that recorded the change."""

    handover: Handover
    written: WriteResult


def record_step(ws: Workspace, now: datetime, session: str | None, request: StepRequest) -> Stepped:
    """Record the next step of a run, begin a run, or change the partial state of a run at its current step.

    Args:
        session: the `SESSION_ID` of the run; None means the only live run or, if none is live, a new run with a new
            id.

    Raises:
        StepConflict: the run is not where `request` assumes, is already at the requested step, has ended, or was
            changed concurrently.
        InvalidArgument, NotFound: as in `resolve_run` and `take_step`.
    """
    start = ws.branch.read()
    is_new = not session and _starts_new_run(start.state, request)
    id_ = fresh_id("run") if is_new else _choose_run(start, session)
    expected = find_live_run(start.state, id_)

    def change(tip: Revision) -> State:
        run = _check_unchanged(expected, tip.state, id_)
        if run is None and not request.stays and (closed := find_last_closed(tip.state, id_)) is not None:
            raise _make_ended_conflict(id_, closed)
        return tip.state.put(take_step(run, id_, request, now))

    written = ws.update("handover-step", now, change)
    return Stepped(written.revision.state.get(Handover, id_), written)


def resume_run(
    ws: Workspace,
    now: datetime,
    session: str | None = None,
    uri: str | None = None,
    stale_after: timedelta = STALE_AFTER,
) -> Resumed:
    """Return a live run and its age, without changing it.

    Args:
        session: its `SESSION_ID`; None means the run at `uri`, or the only live run.

    Raises:
        EndedError: the run was completed or abandoned.
        NotFound: no such run is live or archived.
        InvalidArgument: several runs are at `uri`, or several are live.
    """
    revision = ws.branch.read()
    id_ = _complete_run(revision.state, session) if session is not None else resolve_run(revision, uri)
    return Resumed(_make_run(revision, id_), compute_age(_get_live_run(revision.state, id_), now, stale_after))


def find_run(ws: Workspace, session: str | None = None, at: str | None = None) -> Run:
    """Return a run at a revision; for an ended run, its last state.

    Raises:
        NotFound: there is no such run.
        InvalidArgument: several runs are live, and `session` is None.
    """
    revision = ws.branch.read(at)
    id_ = _choose_run(revision, session)
    if find_live_run(revision.state, id_) is None and (closed := find_last_closed(revision.state, id_)) is not None:
        return Run(normalize_run(closed.record), revision, closed, _list_conflicts(revision.state, id_))
    return _make_run(revision, id_)


def end_run(ws: Workspace, now: datetime, session: str | None, outcome: Outcome) -> Stepped:
    """End a live run: archive it with `outcome` as the reason.

    Raises:
        EndedError: the run had already ended.
        StepConflict: the run was changed concurrently.
        NotFound, InvalidArgument: as in `resume_run`.
    """
    start = ws.branch.read()
    id_ = _choose_run(start, session)
    expected = _get_live_run(start.state, id_)

    def change(tip: Revision) -> State:
        run = _check_unchanged(expected, tip.state, id_)
        assert run is not None
        return tip.state.archive(prepare_for_archive(run), at=iso(now), reason=outcome, session=ws.actor.session)

    return Stepped(expected, ws.update("handover-clear", now, change))


# --- finding runs


def _starts_new_run(state: State, request: StepRequest) -> bool:
    """Return whether a step that names no run begins a new run: no run is live, and the step does not assume one."""
    return not state.ids(Handover.kind) and not request.stays and request.came_from is None


def _choose_run(revision: Revision, session: str | None) -> str:
    """Return the id of the run that `session` names; without a name, of the only live run. Raises as `resolve_run`."""
    return _complete_run(revision.state, session) if session else resolve_run(revision)


def _complete_run(state: State, text: str) -> str:
    """Return the id of the run with this short name, which messages show if the run is named like a session with a
    UUID; any other text unchanged.

    Raises:
        Ambiguous: several runs have UUIDs that begin with `text`.
    """
    return complete_name(
        "handover", lambda: {*state.ids(Handover.kind), *state.ids(Handover.kind, archived=True)}, text
    )


def resolve_run(revision: Revision, uri: str | None = None) -> str:
    """Return the id of the live run at `uri`; if `uri` is None, of the only live run.

    Raises:
        EndedError: the last run at `uri` has ended.
        NotFound: no run matches.
        InvalidArgument: several runs match.
        Corrupt: no run at `uri` was found, but an archived run cannot be read.
    """
    state = revision.state
    if uri is None:
        ids = sorted(state.ids(Handover.kind))
        fault = "several runs are live"
    else:
        ids = [run.id for run in state.records(Handover) if run.step.chain_uri == uri]
        fault = f"several runs are at {one_line(uri, 100)}"
    if len(ids) > 1:
        shown = ", ".join(one_line(id_, 60) for id_ in ids[:6]) + (", …" if len(ids) > 6 else "")
        raise InvalidArgument(f"{fault}: {shown}", hint="name the run", candidates=ids)
    if ids:
        return ids[0]
    if uri is None:
        hint = "a step with challenge and uri begins a run"
        raise NotFound("live handover in namespace", str(revision.namespace), hint=hint)
    _raise_ended_at(state, uri)
    raise NotFound("handover at", uri, hint=_list_live_ids(state))


def find_live_run(state: State, id_: str) -> Handover | None:
    """Return the live run with this id, or None.

    Raises:
        Corrupt: the run's file cannot be read.
    """
    entry = state.entry(Key(Handover.kind, id_))
    if isinstance(entry, Unreadable):
        raise _make_unreadable_error(entry)
    return entry if isinstance(entry, Handover) else None


def find_last_closed(state: State, id_: str) -> Archived | None:
    """Return the run with this id that ended last, or None. Raises Corrupt as `list_closed_runs`."""
    return max(list_closed_runs(state, id_), key=lambda run: run.at, default=None)


def list_closed_runs(state: State, id_: str) -> list[Archived]:
    """Return the archived runs with this id. The archive names them `<id>`, `<id>.2`, …; the numbers may have gaps.

    Raises:
        Corrupt: the file of an archived run cannot be read, so the answer would be incomplete.
    """
    entries = []
    for name in sorted(state.ids(Handover.kind, archived=True)):
        if not _may_be_archived_as(name, id_):
            continue
        entry = state.entry(Key(Handover.kind, name, archived=True))
        if isinstance(entry, Unreadable):
            raise _make_unreadable_error(entry)
        if isinstance(entry, Archived) and entry.record["id"] == id_:
            entries.append(entry)
    return entries


def _may_be_archived_as(name: str, id_: str) -> bool:
    """Return whether the archive may have given this name to a run with this id: the name is the id with a suffix, or a
    shortened id with a digest if the id is long."""
    stem = id_ if name.startswith(id_) else derive_id(id_, "z" * MAX_COMPONENT).rstrip("z.")
    return name.startswith(stem) and _SUFFIX.fullmatch(name, len(stem)) is not None


def _make_run(revision: Revision, id_: str) -> Run:
    return Run(_get_live_run(revision.state, id_), revision, None, _list_conflicts(revision.state, id_))


def _get_live_run(state: State, id_: str) -> Handover:
    run = find_live_run(state, id_)
    if run is not None:
        return run
    closed = find_last_closed(state, id_)
    if closed is not None:
        raise make_ended_error(id_, closed)
    raise NotFound("handover", id_, hint=f"no run with this id is live or archived; {_list_live_ids(state)}")


def _list_live_ids(state: State) -> str:
    ids = sorted(state.ids(Handover.kind))
    return f"live: {', '.join(one_line(id_, 60) for id_ in ids[:6])}" if ids else "no handover is live"


def _list_conflicts(state: State, id_: str) -> tuple[Conflict, ...]:
    of_record = state.select(
        Conflict, lambda conflict: (conflict.record_kind, conflict.record_id) == (Handover.kind, id_),
        lambda conflict: conflict.field,
    )  # fmt: skip
    return tuple(of_record)


# --- ended and changed runs


def make_ended_error(id_: str, closed: Archived) -> EndedError:
    """Return the error for a run that has ended, with the time and the outcome of its end."""
    return EndedError(
        f"handover {one_line(id_, 100)} was {_describe_end(closed)}",
        hint=f"its last state: baton handover show --session {one_line(id_, 100)}; a new run needs a new SESSION_ID",
        session=id_, outcome=closed.reason, at=closed.at, by=closed.session,
    )  # fmt: skip


def _make_ended_conflict(id_: str, closed: Archived) -> StepConflict:
    error = make_ended_error(id_, closed)
    return StepConflict(str(error), current=None, hint=error.hint, **error.data)


def _describe_end(closed: Archived) -> str:
    """Return how a run ended: `completed on 2026-11-21T08:00:00Z by session s1`."""
    verb = closed.reason if closed.reason in ("completed", "abandoned") else f"closed ({one_line(closed.reason, 60)})"
    by = f" by session {one_line(closed.session, 60)}" if closed.session else ""
    return f"{verb} on {one_line(closed.at, 40)}{by}"


def _raise_ended_at(state: State, uri: str) -> None:
    """Check the archive for a run at `uri`; return if there is none.

    Raises:
        EndedError: the last step of an ended run is at `uri`.
        Corrupt: no such run was found, but an archived run cannot be read.
    """
    entries = [
        state.entry(Key(Handover.kind, name, archived=True)) for name in sorted(state.ids(Handover.kind, archived=True))
    ]
    closed = [entry for entry in entries if isinstance(entry, Archived)]
    ended_here = [entry for entry in closed if parse(Handover, entry.record).step.chain_uri == uri]
    if ended_here:
        last = max(ended_here, key=lambda entry: entry.at)
        raise make_ended_error(str(last.record["id"]), last)
    for entry in entries:
        if isinstance(entry, Unreadable):
            raise _make_unreadable_error(entry)


def _make_unreadable_error(entry: Unreadable) -> Corrupt:
    return Corrupt(entry.path, entry.why, hint="the file is not changed; `baton rollback` restores an earlier version")


def _check_unchanged(expected: Handover | None, state: State, id_: str) -> Handover | None:
    """Return the run of the state if it equals `expected`; None if neither exists.

    Raises:
        StepConflict: the run was changed, begun or ended concurrently.
    """
    run = find_live_run(state, id_)
    if same_fields(expected, run):
        return run
    if run is not None:
        raise make_step_conflict(run, "another client was faster")
    closed = find_last_closed(state, id_)
    if closed is not None:
        raise _make_ended_conflict(id_, closed)
    raise StepConflict(f"handover {id_} is gone: another client was faster", current=None)
