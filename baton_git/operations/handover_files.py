"""Handover files outside of git: take over what another client wrote there, put there what git has.

What another client changed is merged like a document: from what git and the file had in common (the mark of the
`Copy`), key by key; a value that both changed stays as it is on the side whose `updated_at` is later, and the other
one goes to `conflicts/`. An older copy of ours is no change.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.branch import Version, Written
from baton_git.codecs import kairos
from baton_git.errors import Busy, InvalidDocument, LimitExceeded, NotFound, WriteFailed
from baton_git.exchange.kairos import Copy
from baton_git.foreign import shown, write_all
from baton_git.layout import MAX_RECORD_BYTES, path_of
from baton_git.merge import Prefer, apply, decide
from baton_git.operations.handovers import closed_runs, last_closed, live, show
from baton_git.operations.workspace import Workspace
from baton_git.records.base import alike, parse
from baton_git.records.handover import Handover
from baton_git.state import Entry, Key, State
from baton_git.times import when

LOOKED_BACK = 2_000
"""How many versions are compared with a file that is not as we wrote it last."""
TRIES = 5


class TakenIn(NamedTuple):
    """What a file brought: the run, the version that has it, and the fields of it that are contested now."""

    id: str
    written: Written
    contested: tuple[str, ...] = ()


def take_in(ws: Workspace, now: datetime, copy: Copy) -> TakenIn | None:
    """Takes over what the file has and git has not; None where there is no file.

    Raises:
        InvalidDocument, LimitExceeded: the file is broken, with its lines, or too large; nothing is written, here or
            there.
    """
    text = copy.read()
    if text is None:
        return None
    run = read_text(text, shown(copy.path))
    known = copy.known()
    contested: list[str] = []

    def change(tip: Version) -> State:
        contested.clear()
        if _is_known(ws, tip, run, unchanged=text == known):
            return tip.state
        state, fields = merged(tip.state, _base(known, tip.state, run.id), run)
        contested.extend(fields)
        return state

    written = ws.update("handover-import", now, change)
    if text != known:
        copy.remember(text)
    return TakenIn(run.id, written, tuple(contested))


def put_out(ws: Workspace, now: datetime, copy: Copy, id_: str) -> None:
    """Writes the newest state of a live run into the file; first takes over what came there in between.

    Raises:
        Busy: the file keeps changing.
        WriteFailed: the disk said no; the file is as it was.
    """
    for _ in range(TRIES):
        run = live(ws.branch.read().state, id_)
        try:
            if run is None or copy.write(kairos.dumps(run.given())):
                return
        except WriteFailed as error:
            raise WriteFailed(str(error), hint="what is in git stands; the file is as it was", **error.data) from error
        take_in(ws, now, copy)
    raise Busy(f"{shown(copy.path)} keeps changing", hint="what is in git is safe; try again")


def withdraw(copy: Copy, id_: str) -> bool:
    """Removes the file of a run that has ended, if it is as git has it; whether it did."""
    text = copy.read()
    return text is not None and _id_in(text) == id_ and copy.take_away()


def export_kairos(ws: Workspace, path: Path, session: str | None = None, at: str | None = None) -> str:
    """Writes a run as KAIROS' handover file, whatever was there; gives its `SESSION_ID`.

    Raises:
        NotFound, InvalidArgument: as in `show`.
        WriteFailed: the disk said no; nothing was changed.
    """
    run = show(ws, session, at).handover
    write_all({path: kairos.dumps(run.given())})
    return run.id


def import_kairos(ws: Workspace, now: datetime, copy: Copy) -> TakenIn:
    """Takes over a handover file that must be there.

    Raises:
        NotFound: nothing is there, or it is empty.
        InvalidDocument: as in `take_in`.
    """
    taken = take_in(ws, now, copy)
    if taken is None:
        raise NotFound("handover in", shown(copy.path), hint="the file is missing or empty; nothing was changed")
    return taken


def read_text(text: bytes, where: str) -> Handover:
    """The run that a file says.

    Raises:
        InvalidDocument: it is broken, with its lines.
        LimitExceeded: it is larger than a record may be.
    """
    if len(text) > MAX_RECORD_BYTES:
        hint = "keep the long text in a file and name it"
        raise LimitExceeded(where or "the handover", len(text), MAX_RECORD_BYTES, "bytes", hint=hint)
    return parse(Handover, kairos.loads(text, where=where), where=where)


def merged(state: State, base: Handover | None, theirs: Handover) -> tuple[State, list[str]]:
    """The state with what became of a run elsewhere, and the fields that are contested now."""
    ours = _alone(state, theirs.id)
    before, after = (State() if one is None else State().put(one) for one in (base, theirs))
    decisions = decide(before, ours, after, prefer=_later(live(state, theirs.id), theirs))
    return apply(state, decisions), [value.field for one in decisions for value in one.contested]


def _later(ours: Handover | None, theirs: Handover) -> Prefer:
    """Whose contested values stand: those of the side that was updated later; of git where nobody can tell."""
    if ours is None:
        return "theirs"
    mine, other = (when(one.updated_at) for one in (ours, theirs))
    return "theirs" if mine is not None and other is not None and other > mine else "ours"


def _alone(state: State, id_: str) -> State:
    """The live run of an id and those that have ended, and nothing else."""
    edits: dict[Key, Entry | None] = {**closed_runs(state, id_)}
    run = live(state, id_)
    return State(edits=edits if run is None else {**edits, Key(Handover.kind, id_): run})


def _base(known: bytes | None, state: State, id_: str) -> Handover | None:
    """What git and the file had in common. Where nobody knows, or where that was another run: of a run that has ended
    its end, so that the file does not bring it back. Nothing, where git has lost the run."""
    is_live = live(state, id_) is not None
    closed = None if is_live else last_closed(state, id_)
    if not is_live and closed is None:
        return None
    try:
        base = read_text(known, "") if known else None
    except (InvalidDocument, LimitExceeded):
        base = None
    if base is not None and base.id == id_:
        return base
    return None if closed is None else parse(Handover, closed.record)


def _id_in(text: bytes) -> str | None:
    try:
        return read_text(text, "").id
    except (InvalidDocument, LimitExceeded):
        return None


def _is_known(ws: Workspace, tip: Version, run: Handover, *, unchanged: bool) -> bool:
    """Whether the branch has, or had, exactly this state of the run."""
    closed = closed_runs(tip.state, run.id)
    now = live(tip.state, run.id)
    if unchanged and (now is not None or closed):
        return True
    data = run.given()
    if now is not None and alike(now.given(), data):
        return True
    if any(alike(_orderless(one.record), _orderless(data)) for one in closed.values()):
        return True
    return (now is not None or bool(closed)) and _was(ws, tip, run)


def _orderless(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != "order"}


def _was(ws: Workspace, tip: Version, run: Handover) -> bool:
    """Whether an earlier version has exactly this state of the run."""
    assert tip.commit is not None
    folder, _, name = path_of(Key(Handover.kind, run.id)).rpartition("/")
    seen = set()
    for entry in islice(ws.branch.history(tip.commit), LOOKED_BACK):
        item = ws.branch.store.folder(entry.tree).folder(folder).entries().get(name)
        if item is None or item.is_folder or item.oid in seen:
            continue
        seen.add(item.oid)
        try:
            if alike(read_text(ws.branch.store.read(item.oid), "").given(), run.given()):
                return True
        except (InvalidDocument, LimitExceeded):
            continue
    return False
