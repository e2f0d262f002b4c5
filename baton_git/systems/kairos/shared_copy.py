"""Keep the copy of a protocol run in the work tree, which other KAIROS clients read and write, up to date.

A verb first imports what other clients changed in the copy, and then writes its own change to it. If no run is named,
the run in the copy is used.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from baton_git.core.errors import (
    BatonError,
    Busy,
    InvalidDocument,
    LimitExceeded,
    StepConflict,
    StoreError,
    WriteFailed,
)
from baton_git.core.output import one_line
from baton_git.namespace.results import describe_write
from baton_git.namespace.workspace import Workspace
from baton_git.systems.kairos.handover_files import MergedCopy, merge_copy, remove_copy, write_copy
from baton_git.systems.kairos.record import Handover
from baton_git.systems.kairos.work_tree_copy import Copy

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
