"""Merge handover files outside of git into the state, and write runs to them.

Another client's changes are merged key by key. The merge base is the content that git and the file last had in common,
which the mark of the `Copy` holds. If both sides changed a value, the side with the later `updated_at` wins, and the
other value is stored in `conflicts/`. Content that the branch had in an earlier revision is not a change. A file cannot
change a run that has ended.

Content of files is redacted before it is compared, so secrets in a client's file are not changes either.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.core.errors import (
    BatonError,
    Busy,
    FieldHint,
    InvalidDocument,
    LimitExceeded,
    NotAllowed,
    NotFound,
    StepConflict,
    StoreError,
    WriteFailed,
)
from baton_git.core.layout import MAX_RECORD_BYTES, path_of
from baton_git.core.merge import Prefer, apply, decide
from baton_git.core.output import one_line
from baton_git.core.records.base import alike, parse
from baton_git.core.redaction import Redaction, redact
from baton_git.core.redaction.changes import refuse_secret
from baton_git.core.state import Key, State
from baton_git.core.times import parse_time_or_none
from baton_git.git.files.atomic_files import show_path, write_all
from baton_git.namespace.results import describe_write
from baton_git.namespace.revision import ProposedState, Revision, WriteResult
from baton_git.namespace.workspace import Workspace
from baton_git.systems.kairos import codec
from baton_git.systems.kairos.handovers import (
    find_last_closed,
    find_live_run,
    find_run,
    list_closed_runs,
    make_ended_error,
)
from baton_git.systems.kairos.record import Handover
from baton_git.systems.kairos.work_tree_copy import Copy, StoredContent, read_copy

MAX_REVISIONS = 2_000
"""Maximum number of earlier revisions that are compared with a changed file."""
MAX_ATTEMPTS = 5
"""Maximum number of attempts to write a file while other clients change it."""


class MergedCopy(NamedTuple):
    """The result of merging a file.

    Attributes:
        id: the `SESSION_ID` of the run.
        written: the result of the write, without changes if git already had the content.
        contested: the fields that both sides changed differently.
    """

    id: str
    written: WriteResult
    contested: tuple[str, ...] = ()


def merge_copy(ws: Workspace, now: datetime, copy: Copy) -> MergedCopy | None:
    """Merge the file's changes into the state; return None if the file is missing or empty.

    Raises:
        InvalidDocument, LimitExceeded: the file is invalid (with the lines), has a key or an id that contains a secret,
            or is too large; nothing is written.
        StepConflict: the run has ended, and the file was changed later; nothing is written.
    """
    text = copy.read()
    if text is None:
        return None
    run, redactions = _redact_run(parse_handover(text, show_path(copy.path)))
    stored = copy.read_mark()
    unchanged = stored is not None and stored.matches(text)
    contested: list[str] = []

    def change(tip: Revision) -> State | ProposedState:
        contested.clear()
        if _is_known(ws, tip, run, unchanged=unchanged):
            return tip.state
        _check_not_ended(tip.state, run.id, copy)
        state, fields = merge_run(tip.state, _find_base(stored, tip.state, run.id), run)
        contested.extend(fields)
        return ProposedState(state, redactions=redactions, keeps_paths=True)

    written = ws.update("handover-import", now, change)
    if not unchanged:
        copy.write_mark(StoredContent.of(text, codec.dumps(run.as_data())))
    return MergedCopy(run.id, written, tuple(contested))


def write_copy(ws: Workspace, now: datetime, copy: Copy, id_: str, *, over_others: bool = True) -> str | None:
    """Write the newest state of a live run to the file, unless the file already has it.

    If the file has content that git lacks, that content is merged first, and the write is tried again.

    Args:
        over_others: whether to replace another run in the file. Without it, the file keeps the other run.

    Returns:
        The id of the other run that was replaced or kept, or None if there was no other run.

    Raises:
        InvalidDocument, LimitExceeded, StepConflict: as in `merge_copy`.
        Busy: the file keeps changing.
        WriteFailed: the file cannot be written; it is unchanged.
    """
    for _ in range(MAX_ATTEMPTS):
        run = find_live_run(ws.branch.read().state, id_)
        current = _read_stored_run(copy)
        other_id = current.id if current is not None and current.id != id_ else None
        if run is None or (other_id is not None and not over_others):
            return other_id
        if current is not None and alike(_drop_order(current.as_data()), _drop_order(run.as_data())):
            return None
        try:
            if copy.write(codec.dumps(run.as_data())):
                return other_id
        except WriteFailed as error:
            raise WriteFailed(
                str(error), hint="the run is stored in git; the file was not changed", **error.data
            ) from error
        merge_copy(ws, now, copy)
    raise Busy(f"{show_path(copy.path)} keeps changing", hint="the run is stored in git; try again later")


def remove_copy(copy: Copy, id_: str) -> bool:
    """Remove the file if it has this ended run and git has its content; return whether it was removed."""
    text = copy.read()
    return text is not None and _parse_id(text) == id_ and copy.remove_file()


def export_kairos(
    ws: Workspace, path: Path, session: str | None = None, at: str | None = None, *, force: bool = False
) -> str:
    """Write a run as KAIROS' handover file, and return its `SESSION_ID`.

    Args:
        force: whether to replace a file that is not a handover file of this run.

    Raises:
        NotFound, InvalidArgument: as in `find_run`.
        NotAllowed: without `force`, the file has other content.
        WriteFailed: the file cannot be written; nothing is changed.
    """
    run = find_run(ws, session, at).handover
    text = codec.dumps(run.as_data())
    if not force and not _may_replace(path, run.id, text):
        raise NotAllowed(
            f"{show_path(path)} exists and is not a handover file of {run.id}",
            hint=FieldHint("choose another name, or replace the file with {force}"),
            path=show_path(path), session=run.id,
        )  # fmt: skip
    write_all({path: text})
    return run.id


def _may_replace(path: Path, id_: str, text: bytes) -> bool:
    """Return whether the file is missing or empty, has exactly `text`, or has any content of the same run."""
    try:
        current = read_copy(path)
    except LimitExceeded:
        return False
    return current is None or current == text or _parse_id(current) == id_


def import_kairos(ws: Workspace, now: datetime, copy: Copy) -> MergedCopy:
    """Merge a handover file that must exist into the state.

    Raises:
        NotFound: the file is missing or empty.
        InvalidDocument, LimitExceeded, StepConflict: as in `merge_copy`.
    """
    merged = merge_copy(ws, now, copy)
    if merged is None:
        raise NotFound("handover in", show_path(copy.path), hint="the file is missing or empty; nothing was changed")
    return merged


def parse_handover(text: bytes, where: str) -> Handover:
    """Parse the run in a handover file.

    Raises:
        InvalidDocument: the text is invalid, with the lines of the faults.
        LimitExceeded: the text is larger than a record may be.
    """
    if len(text) > MAX_RECORD_BYTES:
        hint = "store long texts in a file of their own, and put its name here"
        raise LimitExceeded(where or "the handover", len(text), MAX_RECORD_BYTES, "bytes", hint=hint)
    return parse(Handover, codec.loads(text, where=where), where=where)


def merge_run(state: State, base: Handover | None, theirs: Handover) -> tuple[State, list[str]]:
    """Merge another client's content of a run into the state; return the new state and the fields in conflict."""
    ours = _isolate_run(state, theirs.id)
    before, after = (State() if run is None else State().put(run) for run in (base, theirs))
    decisions = decide(before, ours, after, prefer=_choose_side(find_live_run(state, theirs.id), theirs))
    return apply(state, decisions), [value.field for decision in decisions for value in decision.contested]


def _choose_side(ours: Handover | None, theirs: Handover) -> Prefer:
    """Return the side that wins conflicts: the one with the later `updated_at`, or ours if the times are equal or not
    valid. The file's side wins if git has no live run."""
    if ours is None:
        return "theirs"
    our_time, their_time = (parse_time_or_none((run.updated_at or "").strip()) for run in (ours, theirs))
    return "theirs" if our_time is not None and their_time is not None and their_time > our_time else "ours"


def _isolate_run(state: State, id_: str) -> State:
    """Return a state that has only the live run with this id, or nothing."""
    run = find_live_run(state, id_)
    return State() if run is None else State(edits={Key(Handover.kind, id_): run})


def _find_base(stored: StoredContent | None, state: State, id_: str) -> Handover | None:
    """Return the merge base, which is the run in the mark. None if there is no mark, the mark has another run, or git
    has no live run with this id."""
    base = None if stored is None or find_live_run(state, id_) is None else _parse_run(stored.text)
    return base if base is not None and base.id == id_ else None


def _check_not_ended(state: State, id_: str, copy: Copy) -> None:
    """Raise StepConflict if all runs with this id have ended, since an archived run is not changed."""
    closed = None if find_live_run(state, id_) is not None else find_last_closed(state, id_)
    if closed is not None:
        error = make_ended_error(id_, closed)
        raise StepConflict(
            f"{error}; {show_path(copy.path)} was changed later, and is not imported", current=None,
            hint="give the file a new SESSION_ID to begin a new run, or remove the file", **error.data,
        )  # fmt: skip


def _redact_run(run: Handover) -> tuple[Handover, tuple[tuple[Key, Redaction], ...]]:
    """Return the run as git will store it, and the redacted secrets.

    Raises:
        InvalidDocument: a key contains a secret; keys cannot be redacted.
    """
    refuse_secret(codec.SESSION, run.id)
    for name in run.state:
        refuse_secret("key of the partial state", name)
    data, redactions = redact(run.as_data())
    key = Key(Handover.kind, run.id)
    return (parse(Handover, data) if redactions else run), tuple((key, redaction) for redaction in redactions)


def _read_stored_run(copy: Copy) -> Handover | None:
    """Return the run in the file if git has the whole content of the file, else None."""
    text, stored = copy.read(), copy.read_mark()
    return _parse_run(stored.text) if text is not None and stored is not None and stored.matches(text) else None


def _parse_run(text: bytes) -> Handover | None:
    """Return the run in a text, or None if the text is not valid."""
    try:
        return parse_handover(text, "")
    except (InvalidDocument, LimitExceeded):
        return None


def _parse_id(text: bytes) -> str | None:
    run = _parse_run(text)
    return None if run is None else run.id


def _is_known(ws: Workspace, tip: Revision, run: Handover, *, unchanged: bool) -> bool:
    """Return whether git has the content of the file already.

    This is the case if the run is live or archived, and either the file is unchanged since it was last stored or the
    branch has, or had in an earlier revision, exactly this state of the run.
    """
    current, data = find_live_run(tip.state, run.id), run.as_data()
    if current is not None:
        return unchanged or alike(current.as_data(), data) or _was_stored(ws, tip, run)
    closed = list_closed_runs(tip.state, run.id)
    if not closed:
        return False
    same = any(alike(_drop_order(run.record), _drop_order(data)) for run in closed)
    return unchanged or same or _was_stored(ws, tip, run)


def _drop_order(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != "order"}


def _was_stored(ws: Workspace, tip: Revision, run: Handover) -> bool:
    """Return whether one of the last `MAX_REVISIONS` revisions has exactly this state of the run."""
    assert tip.commit is not None
    folder, _, name = path_of(Key(Handover.kind, run.id)).rpartition("/")
    seen = set()
    for entry in islice(ws.branch.history(tip.commit), MAX_REVISIONS):
        item = ws.branch.store.folder(entry.tree).folder(folder).entries().get(name)
        if item is None or item.is_folder or item.oid in seen:
            continue
        seen.add(item.oid)
        before = _parse_run(ws.branch.store.read(item.oid))
        if before is not None and alike(before.as_data(), run.as_data()):
            return True
    return False


# --- the copy of a protocol run in the work tree, which other clients read and write
# A verb first imports what other clients changed in the copy, and then writes its own change to it. If no run is named,
# the run in the copy is used.


COPY_ERRORS = (InvalidDocument, LimitExceeded, StepConflict, Busy, StoreError)
"""Errors of a copy that do not prevent its run from being shown."""


class SharedCopy:
    """The copy of a run for other clients, if this machine has one (git config baton.handoverFile).

    Raises:
        InvalidArgument: the path is relative, but there is no work tree.
    """

    def __init__(self, ws: Workspace, now: datetime) -> None:
        self._ws, self._now = ws, now
        path = ws.machine.find_handover_file() if ws.machine is not None else None
        common_dir = ws.branch.store.repository.common_dir
        self._copy = None if path is None else Copy.at(path, common_dir, ws.branch.namespace)

    def import_changes(self, verb_input: Any) -> Any:
        """Import what other clients changed; return the input, with the copy's run if it names none."""
        if self._copy is None:
            return verb_input
        imported = merge_copy(self._ws, self._now, self._copy)
        if imported is None:
            return verb_input
        if imported.written.changes:
            self._ws.tell(f"imported from {self._copy.path}:")
            for line in describe_import(self._ws, imported):
                self._ws.tell(line)
        is_live = imported.id in self._ws.branch.read().state.ids(Handover.kind)
        is_meant = is_live and verb_input.session is None
        return verb_input.model_copy(update={"session": imported.id}) if is_meant else verb_input

    def try_import_changes(self, verb_input: Any) -> tuple[Any, str | None]:
        """Do the same as `import_changes`; if that fails, return the input and the problem instead of raising."""
        try:
            return self.import_changes(verb_input), None
        except COPY_ERRORS as error:
            self._ws.tell(f"the copy was not imported, so this is the state in git: {error}")
            return verb_input, str(error)

    def write_step(self, id_: str, commit: str | None, *, stays: bool) -> None:
        """Write a run to the copy after its step.

        Raises:
            WriteFailed: the copy cannot be written, or another client changed it so that it cannot be imported.
        """
        if self._copy is None:
            return
        try:
            other = write_copy(self._ws, self._now, self._copy, id_)
        except BatonError as error:
            retry = "change nothing" if stays else "be a conflict"
            hint = (
                f"to write the copy later: baton handover resume --session {one_line(id_, 100)}; a retry would {retry}"
            )
            raise WriteFailed(
                f"the step of {id_} is in git, but {error}", hint=hint, session=id_, commit=commit
            ) from error
        if other is not None:
            self._ws.tell(f"{self._copy.path} contained run {other}, which is still in git; now it contains {id_}")

    def refresh(self, id_: str) -> str | None:
        """Update the copy of a run, unless it is a copy of another run; return the problem if it was not updated."""
        if self._copy is None:
            return None
        try:
            other = write_copy(self._ws, self._now, self._copy, id_, over_others=False)
        except COPY_ERRORS as error:
            self._ws.tell(f"the copy was not updated: {error}")
            return str(error)
        if other is None:
            return None
        problem = f"{self._copy.path} contains run {other}, so it was not updated"
        self._ws.tell(problem)
        return problem

    def remove(self, id_: str) -> bool:
        """Delete the copy of an ended run; return whether it was deleted."""
        return self._copy is not None and remove_copy(self._copy, id_)


def describe_import(ws: Workspace, imported: MergedCopy) -> list[str]:
    """Return lines about what was imported from a file: the change, and the fields in conflict."""
    conflicts = (f"conflict: {field} of {imported.id}; see baton conflicts" for field in imported.contested)
    return [*describe_write(imported.written, ws.branch.store.repository.common_dir), *conflicts]
