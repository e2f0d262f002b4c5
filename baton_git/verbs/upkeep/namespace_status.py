"""The verb `status`: counts per kind, who is at work, and what needs attention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, Self, cast

from pydantic import ConfigDict, Field, PrivateAttr

from baton_git.core.errors import BatonError
from baton_git.core.isolation import show_line
from baton_git.core.kinds import BY_FOLDER, KINDS, LIVE, SINGLETONS, KindInfo, name_kind
from baton_git.core.output import count_noun, flat
from baton_git.core.records.base import Record
from baton_git.core.records.lineage import Session
from baton_git.core.session_line import describe_session
from baton_git.core.state import State, Unreadable
from baton_git.core.styles import join
from baton_git.core.times import describe_age, iso
from baton_git.core.verb import NONE, READS, NoInput, Tool, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.remote_selection import UnsentCommits, WaitingCount, count_waiting_commits, find_unsent_commits
from baton_git.namespace.results import CHECKED_OUT, AtNamespace, UnreadableFile, full_position
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.records.ready import count_needs
from baton_git.verbs.sessions.gone_sessions import find_gone_sessions
from baton_git.verbs.upkeep.quarantine import list_quarantined


class NamespaceStatus(NamedTuple):
    """Counts per kind, who is at work, and what needs attention."""

    revision: Revision
    counts: dict[str, dict[str, int]]
    sessions: tuple[Session, ...]
    damaged: tuple[Unreadable, ...]
    checked_out_at: str | None
    waiting: tuple[WaitingCount, ...] = ()
    unsent: tuple[UnsentCommits, ...] = ()
    gone: tuple[Session, ...] = ()
    quarantined: int | None = 0
    needs: Mapping[str, int] = NONE

    @property
    def pending(self) -> dict[str, int]:
        """By remote, the number of commits that it lacks."""
        return {unsent.remote: unsent.commits for unsent in self.unsent}


def read_status(ws: Workspace, now: datetime) -> NamespaceStatus:
    """Read the status of a namespace."""
    revision = ws.branch.read()
    state = revision.state
    counts = {
        f"{info.kind.removesuffix('s')}s": _count_records(state, info)
        for info in KINDS.values()
        if info.counted is not None
    }
    begun = state.select(Session, lambda session: session.status == "active")
    gone_ids = find_gone_sessions(ws) if begun else {}
    active = tuple(session for session in begun if session.id not in gone_ids)
    gone = tuple(session for session in begun if session.id in gone_ids)
    work_tree = ws.branch.store.find_checkout(ws.branch.ref)
    damaged = tuple(state.unreadable((*SINGLETONS, *KINDS)))
    waiting = tuple(count_waiting_commits(ws))
    try:
        quarantined: int | None = len(list_quarantined(ws))
    except BatonError:
        quarantined = None
    return NamespaceStatus(
        revision,
        counts,
        active,
        damaged,
        str(work_tree) if work_tree else None,
        waiting,
        tuple(find_unsent_commits(ws)),
        gone,
        quarantined,
        count_needs(ws, now, revision),
    )


def _count_records(state: State, info: KindInfo) -> dict[str, int]:
    """Count the live records of a kind, grouped as its `counted` says. A field that counts is in the outlines."""
    ids = state.ids(info.kind)
    if info.counted == LIVE:
        return {LIVE: len(ids)} if ids else {}
    if info.counted == BY_FOLDER:
        return dict(Counter(sorted(id_.partition("/")[0] for id_ in ids)))
    outlines = sorted(state.outlines(cast("type[Record]", info.model)), key=lambda outline: (outline.date, outline.id))
    return dict(Counter(str(getattr(outline, info.counted or "")) for outline in outlines))


class StatusResult(AtNamespace):
    """Counts per kind (`open_loops`, …) by status, priority or agent, the active sessions, and what needs attention."""

    model_config = ConfigDict(extra="allow")

    repository: str = Field(description="The path of the git repository.")
    updated_at: str | None = Field(description="The time of the last change.", examples=["2026-06-17T12:30:00Z"])
    active_sessions: list[dict[str, Any]] = Field(
        description="The sessions that have not ended, without those in `gone_sessions`."
    )
    gone_sessions: list[dict[str, Any]] = Field(
        description="The sessions that have not ended, but whose process no longer runs."
    )
    damaged: list[UnreadableFile] = Field(description="The files that cannot be read.")
    checked_out_at: str | None = Field(description="A work tree that has the branch checked out.")
    waiting: dict[str, int] = Field(description="By remote, the number of commits that wait for a review.")
    pending: dict[str, int] = Field(description="By remote, the number of commits that the remote does not have yet.")
    unsent: list[dict[str, Any]] = Field(
        description="For each of these remotes, since when its oldest commit waits, and why the last attempt to send "
        "them failed.",
        examples=[[{"remote": "origin", "commits": 4, "since": "2026-06-17T12:30:00Z", "error": "no route to host"}]],
    )
    quarantined: int | None = Field(
        description="Number of rows in the import quarantine (see `import quarantine`); null if it is unreadable."
    )
    needs: dict[str, int] = Field(
        description="Number of items that need attention, by the `need` that `ready` gives them.",
        examples=[{"failed": 1}],
    )
    problems: list[str] = Field(description="The invalid settings of this machine.")

    _status: NamespaceStatus = PrivateAttr()
    _ref: str = PrivateAttr("")

    @property
    def status(self) -> NamespaceStatus:
        """The records behind the plain data."""
        return self._status

    @property
    def ref(self) -> str:
        """The name of the branch."""
        return self._ref

    @classmethod
    def of(cls, ws: Workspace, status: NamespaceStatus) -> Self:
        """Return the status of the namespace of `ws` as a result."""
        revision = status.revision
        result = cls(
            **full_position(revision),
            repository=str(ws.branch.store.repository.common_dir),
            updated_at=iso(revision.time) if revision.time else None,
            **status.counts,
            active_sessions=[session.as_data() for session in status.sessions],
            gone_sessions=[session.as_data() for session in status.gone],
            damaged=[{"path": file.path, "why": file.why} for file in status.damaged],
            checked_out_at=status.checked_out_at,
            waiting={remote.remote: remote.commits for remote in status.waiting},
            pending=status.pending,
            unsent=[unsent.as_data() for unsent in status.unsent],
            quarantined=status.quarantined,
            needs=dict(status.needs),
            problems=list(ws.problems),
        )
        result._status, result._ref = status, ws.branch.ref
        return result

    def show(self, reader: Reader) -> ResultView:
        return ResultView(join(_status_lines(reader, self), "\n"))


@verb(
    "status",
    "GET /v1/status",
    effect=READS,
    tag="state",
    tool=Tool("Counts, and who is at work."),
    examples=("baton status", "baton status --json"),
)
def status(ws: Workspace, now: datetime, verb_input: NoInput) -> StatusResult:
    """Show counts per kind, who is at work, and anything that needs attention."""
    return StatusResult.of(ws, read_status(ws, now))


# --- what people read

_ALWAYS_COUNTED = ("open_loops", "follow_ups", "patterns", "active_decisions")
"""The kinds that the status shows even if there is no record; others only if there is one."""


def _status_lines(reader: Reader, result: StatusResult) -> list[str]:
    status = result.status
    revision = status.revision
    when = describe_age(iso(revision.time), reader.now) if revision.time and revision.number else "nothing recorded yet"
    ref = result.ref
    lines: list[str] = [reader.wrap("", f"{revision.namespace}  revision {revision.number}, {when}  ({ref})")]
    lines += [reader.wrap(f"  {name:<18}", text) for name, text in _status_rows(reader, status)]
    lines += [reader.wrap("  cannot be read: ", f"{file.path}: {file.why}") for file in status.damaged]
    if status.checked_out_at:
        lines.append(reader.wrap("  ", CHECKED_OUT.format(status.checked_out_at)))
    return lines


def _name_counted(info: KindInfo, value: str) -> str:
    """Return what is counted: a folder's name as it is, the name of a kind, or a status in words."""
    return value if info.counted == BY_FOLDER else name_kind(value)


def _status_rows(reader: Reader, status: NamespaceStatus) -> Iterator[tuple[str, str]]:
    """Yield the lines of the status, each with its name."""
    kinds = {f"{info.kind.removesuffix('s')}s": info for info in KINDS.values()}
    for name, counts in status.counts.items():
        info = kinds[name]
        text = ", ".join(f"{count} {_name_counted(info, value)}" for value, count in sorted(counts.items()))
        if text or name in _ALWAYS_COUNTED:
            yield info.name(2), text or "none"
    yield from (("at work", text) for text in _format_sessions(reader, status.sessions) or ["nobody"])
    yield from (("gone", f"{text}; its process is gone") for text in _format_sessions(reader, status.gone))
    for remote in status.waiting:
        waits = f"{count_noun(remote.commits, 'commit')} from {remote.remote}"
        yield "waiting", f"{waits} (reasons: baton sync; commits: baton review)"
    for unsent in status.unsent:
        yield "pending", f"{flat(unsent.describe(reader.now))} (baton sync)"
    if status.quarantined:
        rows = count_noun(status.quarantined, "invalid imported row")
        yield "quarantined", f"{rows} (baton import quarantine)"
    elif status.quarantined is None:
        yield "quarantined", "unknown: the quarantine cannot be read (baton doctor)"
    if status.needs:
        needs = (f"{count} {need.replace('_', '-')}" for need, count in status.needs.items())
        yield "needs attention", f"{', '.join(needs)} (baton ready)"


def _format_sessions(reader: Reader, sessions: Sequence[Session]) -> list[str]:
    """Return sessions, newest first."""
    newest = sorted(sessions, key=lambda session: session.started, reverse=True)[:5]
    goals = reader.find_goals({session.id for session in newest})
    more = [f"and {len(sessions) - 5} more"] if len(sessions) > 5 else []
    return [
        *(show_line(session.id, partial(describe_session, reader, session, goals, taken=20)) for session in newest),
        *more,
    ]
