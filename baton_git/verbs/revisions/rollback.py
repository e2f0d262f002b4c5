"""Plan and apply rollbacks: restore an older revision, or revert a session or one change; always by a new commit."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Literal, NamedTuple

from baton_git.core import diff, layout
from baton_git.core.errors import Ambiguous, InvalidArgument, NeedsHuman, NotAllowed, NotFound, Stale
from baton_git.core.kinds import KINDS
from baton_git.core.layout import path_of
from baton_git.core.merge import same
from baton_git.core.names import Oid
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import Pattern, Rule
from baton_git.core.sessions import complete_session, is_named, restore_contexts, without_context
from baton_git.core.state import Entry, Key, State, Unreadable
from baton_git.git.store import Edit
from baton_git.namespace.commit_log import RESTORES, UNDOES, LogEntry, confirmation_trailers, find_undone
from baton_git.namespace.extent import check_extent
from baton_git.namespace.folding import find_reversed
from baton_git.namespace.reverting import revert
from baton_git.namespace.revision import ProposedState, Revision, WriteResult
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.records.details import COMPANIONS
from baton_git.verbs.revisions.history import (
    ENDING,
    REDO,
    UNDO,
    files_at,
    find_redoable,
    find_undoable,
    full_id,
    is_undo,
    make_commit_argument,
    name_commit,
    refuse_others,
)

How = Literal["terminal", "page"]
"""Where a person confirmed a change."""


class RollbackPlan(NamedTuple):
    """A planned rollback: the verb of its commit, and the function that computes the next state."""

    op: str
    change: Callable[[Revision], ProposedState]


class RollbackPreview(NamedTuple):
    """The effect that a plan would have now. Nothing is written.

    Attributes:
        written: the result of applying it; its `revision` is the current one.
        rules: the patterns that would become rules again, which only a person may do.
    """

    written: WriteResult
    rules: tuple[str, ...]

    @property
    def tip(self) -> Revision:
        """The current revision."""
        return self.written.before

    @property
    def changes(self) -> tuple[diff.RecordChange, ...]:
        """The records that would change."""
        return self.written.changes

    @property
    def files(self) -> tuple[str, ...]:
        """The other files that would change."""
        return self.written.files


def preview(ws: Workspace, plan: RollbackPlan) -> RollbackPreview:
    """Return the effect that a plan would have now, without applying it."""
    rules: list[str] = []

    def change(tip: Revision) -> ProposedState:
        proposal = _keep_immutable(tip, plan.change(tip))
        rules.extend(_find_graduated(tip, proposal))
        return proposal._replace(keeps_paths=True)

    return RollbackPreview(ws.preview(change), tuple(rules))


def apply_plan(
    ws: Workspace, now: datetime, plan: RollbackPlan, person: str | None = None, *, how: How = "terminal",
    tip: Oid | None = None, may_be_wide: bool,
) -> WriteResult:  # fmt: skip
    """Apply a plan as a new revision.

    Args:
        person: the person who confirmed it; None if nobody did.
        how: where the person confirmed it.
        tip: the tip for which the preview was shown; None to accept any tip.
        may_be_wide: whether the caller confirmed a change of many records.

    Raises:
        Unconfirmed: many records would change, and `may_be_wide` is false.
        NeedsHuman: a pattern would become a rule again, and no person confirmed that.
        Stale: the tip is not `tip` any more.
    """
    shown = ws.branch.revision_at(tip).number if tip is not None else 0

    def change(now_tip: Revision) -> ProposedState:
        if tip is not None and now_tip.commit != tip:
            raise Stale(str(ws.branch.namespace), shown, now_tip.number, hint="look at the new preview")
        proposal = _keep_immutable(now_tip, plan.change(now_tip))  # what stays does not count
        if not may_be_wide:
            check_extent(list(diff.diff(now_tip.state, proposal.state)), now_tip.state)
        return _confirm_rules(now_tip, proposal, person, how)._replace(keeps_paths=True)

    return ws.update(plan.op, now, change)


def plan_rollback(ws: Workspace, revision: str) -> RollbackPlan:
    """Plan to restore all records as at `revision`; of the records of sessions, only the contexts."""
    old = ws.branch.read(revision)
    name = _name(ws, old)

    def change(tip: Revision) -> ProposedState:
        return _restore_all(ws, tip, old, f"roll back to {name}")._replace(trailers=_name_source(old))

    return RollbackPlan("rollback", change)


def _name_source(old: Revision) -> tuple[tuple[str, str], ...]:
    """Return the trailer that names the commit whose values are restored, so that they keep their provenance."""
    return ((RESTORES, old.commit),) if old.commit is not None else ()


def _restore_all(
    ws: Workspace, tip: Revision, old: Revision, note: str, *, broken: Container[Key] = ()
) -> ProposedState:
    """Return the state of an older revision as the next one. Of session records, only the contexts are rolled back,
    except for those in `broken`."""
    store = ws.branch.store
    if tip.tree is None or old.tree is None:
        raise NotFound("namespace", str(ws.branch.namespace), hint="baton init creates it")
    paths = _list_restorable(layout.differing_paths(store.folder(tip.tree), store.folder(old.tree)), broken)
    there = files_at(ws, old.tree, paths)
    keys = {key for key in tip.state.differing(old.state) if key.kind != Session.kind or key in broken}
    entries = _list_entries(old, keys)
    state = restore_contexts(State(tip.state.source, {**tip.state.edits, **entries}), tip.state, old.state)
    return ProposedState(state, files={path: there.get(path) for path in paths}, note=note)


def plan_record_rollback(ws: Workspace, id_: str, revision: str | None = None) -> RollbackPlan:
    """Plan to restore one record as at `revision`, or as before its last change."""
    key = _key_of(ws, full_id(ws, id_))
    old = ws.branch.read(revision) if revision is not None else _before_last_change(ws, key)
    return RollbackPlan("rollback-record", lambda tip: _restore_record(ws, tip, old, key))


def _key_of(ws: Workspace, id_: str) -> Key:
    """Return the key of the record with this id: live, archived, or only in the history."""
    state = ws.branch.read().state
    kinds = [kind for kind in KINDS if id_ in state.ids(kind)]
    if not kinds:
        kinds = [kind for kind in KINDS if id_ in state.ids(kind, archived=True)] or _kinds_in_history(ws, id_)
    kinds = [kind for kind in kinds if COMPANIONS.get(kind) not in kinds]
    if len(kinds) > 1:
        raise InvalidArgument(f"{id_} is the id of {' and '.join(kinds)}", hint="roll back the whole revision instead")
    if not kinds:
        raise NotFound("record", id_, hint="to list the changes of all records: baton log")
    return Key(kinds[0], id_)


def _kinds_in_history(ws: Workspace, id_: str) -> list[str]:
    for entry in ws.branch.history():
        kinds = [kind for kind in KINDS if files_at(ws, entry.tree, [path_of(Key(kind, id_))])]
        if kinds:
            return kinds
    return []


def _before_last_change(ws: Workspace, key: Key) -> Revision:
    paths = [path_of(key), path_of(Key(key.kind, key.id, archived=True))]
    for entry in ws.branch.history(first_parent=True):
        if not entry.parents:
            break
        parent = ws.branch.past_revision_at(entry.parents[0])
        assert parent.tree is not None
        if files_at(ws, entry.tree, paths) != files_at(ws, parent.tree, paths):
            return parent
    raise NotFound("earlier version of", key.id)


def _restore_record(ws: Workspace, tip: Revision, old: Revision, key: Key) -> ProposedState:
    both = [key, key._replace(archived=True)]
    if key.kind == Pattern.kind:
        both.append(Key(Rule.kind, key.id))  # a pattern is restored together with its rule
    entries = {key: old.state.entry(key) for key in both}
    if any(isinstance(entry, Unreadable) for entry in entries.values()):
        message = f"{key.display_name} cannot be read at {_name(ws, old)} either"
        raise NotAllowed(message, hint="choose an older revision")
    assert tip.tree is not None
    assert old.tree is not None
    paths = [path_of(key) for key in both]
    now, then = files_at(ws, tip.tree, paths), files_at(ws, old.tree, paths)
    files: dict[str, Edit] = {path: then.get(path) for path in paths if now.get(path) != then.get(path)}
    edits = {key: entry for key, entry in entries.items() if not isinstance(entry, Unreadable)}
    state = State(tip.state.source, {**tip.state.edits, **edits})
    note = f"{key.id} as at {_name(ws, old)}"
    return ProposedState(state, files=files, note=note, trailers=_name_source(old))


def _complete_in_history(text: str, entries: Sequence[LogEntry]) -> str:
    """Return the id of the session of commits with this short name, although no record has it; any other text
    unchanged. Raises Ambiguous if several sessions have UUIDs that begin with `text`."""
    near = sorted({entry.session for entry in entries if entry.session is not None and is_named(entry.session, text)})
    if text in near or not near:
        return text
    if len(near) > 1:
        raise Ambiguous("session", text, near)
    return near[0]


def plan_session_rollback(ws: Workspace, session: str) -> RollbackPlan:
    """Plan to revert all changes of one session."""
    entries = list(ws.branch.history())
    session = _complete_in_history(complete_session(ws.branch.read().state, session), entries)
    undone = find_undone(entries)
    own = [entry for entry in entries if entry.session == session and entry.parents]
    merged_commits = {
        info.oid
        for commit in own
        for side in commit.parents[1:]
        for info in ws.branch.store.only_in(side, commit.parents[0])
    }
    mainline = [commit for commit in own if commit.commit not in merged_commits]  # the others go with their merge
    commits = [commit for commit in mainline if commit.commit not in undone and not _only_undoes(commit, own)]
    if not commits:
        raise NotFound("commit of session", session, hint="to list the commits with their sessions: baton log")
    trailers = tuple((UNDOES, commit.commit) for commit in commits)

    def change(tip: Revision) -> ProposedState:
        return ProposedState(
            revert(ws.branch, tip.state, commits), note=f"without session {session}", trailers=trailers
        )

    return RollbackPlan("rollback-session", change)


def _name(ws: Workspace, revision: Revision) -> str:
    """Return a readable name of an older revision: `revision 7`, or the id of its commit."""
    return f"revision {revision.number}" if revision.commit is None else ws.branch.name_commit(revision.commit)


def _only_undoes(entry: LogEntry, others: Sequence[LogEntry]) -> bool:
    """Return whether a commit only undoes commits in `others`.

    Such a commit and the commits that it undoes change nothing together, so none of them is reverted.
    """
    undoes = entry.undone_commits()
    return bool(undoes) and all(any(other.commit.startswith(undone) for other in others) for undone in undoes)


def plan_undo(ws: Workspace, revision: str | None = None, *, own_only: bool = True) -> tuple[RollbackPlan, LogEntry]:
    """Plan to undo one commit; return the plan and the commit.

    Args:
        revision: the revision to undo; None for the newest operation that still has an effect.
        own_only: refuse that operation if it is not the caller's own (see `refuse_others`).

    Raises:
        NotFound: the namespace or the revision does not exist.
        NotAllowed: the commit is the first one or is undone already, no operation is left, or the newest one is
            somebody else's.
    """
    if revision is None:
        steps = ((_plan_revert(ws, entry), entry) for entry in find_undoable(ws))
        plan, newest = next(step for step in steps if _changes_anything(ws, step[0]))
        if own_only:
            refuse_others(ws, newest)
        return plan, newest
    entry = ws.branch.load_shown_entry(ws.branch.resolve(revision))
    if ws.branch.store.is_cut(entry.commit):
        why = f"{name_commit(entry)} cannot be undone: the revisions before it are not here"
        raise NotAllowed(why, hint=ws.branch.find_completion())
    if not entry.parents:
        hint = f"to delete the namespace: baton namespace delete {ws.branch.namespace}"
        raise NotAllowed("the first commit of a namespace cannot be undone", hint=hint)
    if entry.commit in find_undone(_list_later(ws, entry)):
        hint = "undo the revision that undid it: baton log --ops"
        raise NotAllowed(f"{name_commit(entry)} is undone already", hint=hint)
    return _plan_revert(ws, entry), entry


def plan_redo(ws: Workspace) -> tuple[RollbackPlan, LogEntry]:
    """Plan to undo the newest undo; return the plan and the commit that will be reapplied.

    Raises:
        NotAllowed: nothing was undone, or a newer operation follows the undo.
    """
    entry = find_redoable(ws)
    return _plan_revert(ws, entry), _find_undone_by(ws, entry)


def _find_undone_by(ws: Workspace, undo: LogEntry) -> LogEntry:
    return ws.branch.load_shown_entry(ws.branch.resolve(undo.undone_commits()[0]))


def _list_later(ws: Workspace, entry: LogEntry) -> Iterator[LogEntry]:
    """Yield the commits that come before `entry` in the log, that is, the later ones."""
    return takewhile(lambda later: later.commit != entry.commit, ws.branch.history())


def _plan_revert(ws: Workspace, entry: LogEntry) -> RollbackPlan:
    verb, target = (REDO, _find_undone_by(ws, entry)) if is_undo(entry) else (UNDO, entry)
    note = f"{verb} {make_commit_argument(target)}"

    def change(tip: Revision) -> ProposedState:
        before, after = (ws.branch.past_revision_at(commit) for commit in (entry.parents[0], entry.commit))
        if tip.commit == entry.commit:
            proposal = _restore_all(ws, tip, before, note, broken=_list_broken(before, after))
        else:
            proposal = ProposedState(revert(ws.branch, tip.state, [entry]), note=note)
            if all(len(later.parents) == 1 for later in _list_later(ws, entry)):
                proposal = _restore_bytes(ws, tip, proposal, before, after)
        proposal = proposal._replace(
            reform=find_reversed(*(ws.branch.store.folder(side.tree) for side in (before, after)))
        )
        if entry.op in ENDING:
            proposal = proposal._replace(state=_restore_sessions(proposal.state, before.state, after.state))
        return proposal._replace(trailers=((UNDOES, entry.commit),))

    return RollbackPlan(verb, change)


def _read_end(session: object) -> dict[str, object]:
    """Return the fields of a session that a wrap sets; empty for anything but a readable session."""
    if not isinstance(session, Session):
        return {}
    return {"status": session.status, "ended": session.ended, "summary": session.summary}


def _restore_sessions(state: State, before: State, after: State) -> State:
    """Return the state with the sessions that a commit ended or reopened as they were before it.

    A session that has ended again since, or has another summary, is left as it is. A session that the wrap itself
    recorded is removed.
    """
    for key in before.differing(after):
        now, then, was = (side.entry(key) for side in (state, before, after))
        if key.kind != Session.kind or key.archived:
            continue
        if then is None and _is_as_recorded(now, was):
            state = state.remove(key)
        elif was is None and now is None and isinstance(then, Session):
            state = state.put(then)
        elif isinstance(now, Session) and isinstance(then, Session) and _read_end(now) == _read_end(was):
            state = state.put(now.replace(**_read_end(then)))
    return state


def _is_as_recorded(now: object, recorded: object) -> bool:
    """Return whether a session is as the wrap recorded it, apart from its context, which is restored on its own."""
    if not isinstance(now, Session) or not isinstance(recorded, Session):
        return False
    return same(without_context(now), without_context(recorded))


def _restore_bytes(
    ws: Workspace, tip: Revision, proposal: ProposedState, before: Revision, after: Revision
) -> ProposedState:
    """Return the proposal with the stored bytes of `before` for all files that are unchanged since `after`.

    Args:
        before, after: the revisions before and after the commit to revert. No merge follows this commit.
    """
    trees = [tree for tree in (tip.tree, before.tree, after.tree) if tree is not None]
    root_before, root_after = (ws.branch.store.folder(tree) for tree in trees[1:])
    paths = _list_restorable(layout.differing_paths(root_before, root_after), _list_broken(before, after))
    files_now, files_before, files_after = (files_at(ws, tree, paths) for tree in trees)
    changed = {_record_of(path) for path in paths if files_now.get(path) != files_after.get(path)}
    files = {path: files_before.get(path) for path in paths if _record_of(path) not in changed}
    keys = [key for path in files if (key := layout.key_at(path)) is not None]
    entries = _list_entries(before, keys)
    state = State(proposal.state.source, {**proposal.state.edits, **entries})
    return proposal._replace(state=state, files=files)


def _list_entries(old: Revision, keys: Iterable[Key]) -> dict[Key, Entry | None]:
    """Return the entries of an older revision, without those whose content the repository has lost."""
    entries = {key: old.state.entry(key) for key in keys}
    return {key: entry for key, entry in entries.items() if not isinstance(entry, Unreadable) or entry.raw is not None}


def _list_broken(before: Revision, after: Revision) -> frozenset[Key]:
    """Return the sessions whose records a commit broke or repaired: they have no fields that could be kept."""
    keys = (key for key in before.state.differing(after.state) if key.kind == Session.kind)
    sides = ((key, before.state.entry(key), after.state.entry(key)) for key in keys)
    return frozenset(key for key, *entries in sides if any(isinstance(entry, Unreadable) for entry in entries))


def _list_restorable(paths: Iterable[str], broken: Container[Key] = ()) -> list[str]:
    """Return the paths without the layout and those of session records, which are not rolled back unless `broken`."""
    keys = {path: layout.key_at(path) for path in paths if path != layout.FORMAT_FILE}
    return [path for path, key in keys.items() if key is None or key.kind != Session.kind or key in broken]


def _record_of(path: str) -> Key | str:
    """Return the live key of the record that a file belongs to, or the path of a file that is not a record.

    For the file of a rule, this is the key of its pattern.
    """
    key = layout.key_at(path)
    return path if key is None else Key(Pattern.kind if key.kind == Rule.kind else key.kind, key.id)


def _changes_anything(ws: Workspace, plan: RollbackPlan) -> bool:
    tip = ws.branch.read()
    proposal = _keep_immutable(tip, plan.change(tip))
    return proposal.reform is not None or bool(proposal.files) or bool(diff.diff(tip.state, proposal.state))


def _confirm_rules(tip: Revision, proposal: ProposedState, person: str | None, how: How) -> ProposedState:
    """Return the proposal with immutable fields kept, and with the confirmation of patterns that become rules again.

    Raises:
        NeedsHuman: a pattern would become a rule again, and `person` is None.
    """
    proposal = _keep_immutable(tip, proposal)
    graduated = _find_graduated(tip, proposal)
    if not graduated:
        return proposal
    if person is None:
        raise NeedsHuman(
            f"this makes pattern {' and '.join(graduated)} a rule again, which only a person may do",
            hint="run it in a terminal, or graduate the pattern again: baton pattern graduate",
        )
    names = (str(Key(Pattern.kind, id_)) for id_ in graduated)
    return proposal._replace(trailers=(*proposal.trailers, *confirmation_trailers(how, person, *names)))


def _keep_immutable(tip: Revision, proposal: ProposedState) -> ProposedState:
    """Return the proposal with the immutable fields of the tip."""
    state, kept = diff.restore_fixed(tip.state, proposal.state)
    files = {path: edit for path, edit in proposal.files.items() if layout.key_at(path) not in kept}
    return proposal._replace(state=state, files=files)


def _find_graduated(tip: Revision, proposal: ProposedState) -> list[str]:
    """Return the ids of the patterns that the proposal graduates."""
    return [key.id for key in proposal.state.edits if _graduates(tip.state, proposal.state, key)]


def _graduates(before: State, after: State, key: Key) -> bool:
    now, then = before.entry(key), after.entry(key)
    return isinstance(then, Pattern) and then.status == "graduated" and getattr(now, "status", "") != "graduated"
