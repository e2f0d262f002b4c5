"""Run the verbs of protocol runs, and update the copy of a run in the work tree that KAIROS clients read and write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from baton_git.core.errors import (
    BatonError,
    Busy,
    EndedError,
    InvalidDocument,
    LimitExceeded,
    StepConflict,
    StoreError,
    WriteFailed,
)
from baton_git.core.output import one_line
from baton_git.interfaces.context.invocation import Call
from baton_git.namespace.workspace import Workspace
from baton_git.systems.kairos.handover_files import MergedCopy, merge_copy, remove_copy, write_copy
from baton_git.systems.kairos.handover_verbs import (
    ClearedHandover,
    ClearHandover,
    HandoverRun,
    ResumedHandover,
    ResumeHandover,
    ShowHandover,
    StepHandover,
    SteppedHandover,
    clear_handover,
    resume_handover,
    show_handover,
    step_handover,
)
from baton_git.systems.kairos.record import Handover
from baton_git.systems.kairos.work_tree_copy import Copy

COPY_ERRORS = (InvalidDocument, LimitExceeded, StepConflict, Busy, StoreError)
"""Errors of a copy that do not prevent its run from being shown."""


class HandoverRunner:
    """Runs the verbs of protocol runs, and keeps the copy in the work tree up to date.

    Changes that other clients made to the copy are imported first. If no run is named, the run in the copy is used.

    Args:
        file: the copy; by default the one configured for the repository, if any.
    """

    def __init__(self, call: Call, ws: Workspace, file: Path | None = None) -> None:
        self.ws, self.now = ws, call.now
        path = file if file is not None else call.settings.handover_file
        common_dir = ws.branch.store.repository.common_dir
        self.copy = None if path is None else Copy.at(path, common_dir, ws.branch.namespace)

    def say(self, text: str) -> None:
        """Print a message about the copy; the base class prints nothing."""

    def say_imported(self, copy: Copy, imported: MergedCopy) -> None:
        """Print what was imported from the copy; the base class prints nothing."""

    def step(self, verb_input: StepHandover) -> SteppedHandover:
        """Record a step of a run, and write the copy.

        Raises:
            WriteFailed: the step is in git, but the copy could not be written, or another client changed it so that it
                cannot be imported.
        """
        result = step_handover(self.ws, self.now, self._import_copy(verb_input))
        if self.copy is None:
            return result
        id_ = result.SESSION_ID
        try:
            other = write_copy(self.ws, self.now, self.copy, id_)
        except BatonError as error:
            retry = "change nothing" if verb_input.stay else "be a conflict"
            hint = (
                f"to write the copy later: baton handover resume --session {one_line(id_, 100)}; a retry would {retry}"
            )
            raise WriteFailed(
                f"the step of {id_} is in git, but {error}", hint=hint, session=id_, commit=result.commit
            ) from error
        if other is not None:
            self.say(f"{self.copy.path} contained run {other}, which is still in git; now it contains {id_}")
        return result

    def resume(self, verb_input: ResumeHandover) -> ResumedHandover:
        """Return the state of a run, and update its copy."""
        in_copy, problem = self._try_import_copy(verb_input)
        result = resume_handover(self.ws, self.now, in_copy if verb_input.uri is None else verb_input)
        if self.copy is not None and problem is None:
            problem = self._refresh(self.copy, result.SESSION_ID)
        return result.model_copy(update={"file_problem": problem})

    def show(self, verb_input: ShowHandover) -> HandoverRun:
        """Return a run, after importing changes of other clients from its copy."""
        named, problem = self._try_import_copy(verb_input)
        return show_handover(self.ws, self.now, named).model_copy(update={"file_problem": problem})

    def clear(self, verb_input: ClearHandover) -> ClearedHandover:
        """Archive a run, and delete its copy."""
        named = self._import_copy(verb_input)
        try:
            result = clear_handover(self.ws, self.now, named)
        except EndedError as error:
            if self.copy is not None:
                remove_copy(self.copy, error.data["session"])
            raise
        removed = self.copy is not None and remove_copy(self.copy, result.SESSION_ID)
        return result.model_copy(update={"file_removed": removed})

    def _import_copy(self, verb_input: Any) -> Any:
        """Import changes of other clients from the copy; return the input, with the copy's run if it names none."""
        if self.copy is None:
            return verb_input
        imported = merge_copy(self.ws, self.now, self.copy)
        if imported is None:
            return verb_input
        if imported.written.changes:
            self.say_imported(self.copy, imported)
        is_live = imported.id in self.ws.branch.read().state.ids(Handover.kind)
        return (
            verb_input.model_copy(update={"session": imported.id})
            if is_live and verb_input.session is None
            else verb_input
        )

    def _try_import_copy(self, verb_input: Any) -> tuple[Any, str | None]:
        """Do the same as `_import_copy`; if that fails, return the input and the problem instead of raising."""
        try:
            return self._import_copy(verb_input), None
        except COPY_ERRORS as error:
            self.say(f"the copy was not imported, so this is the state in git: {error}")
            return verb_input, str(error)

    def _refresh(self, copy: Copy, id_: str) -> str | None:
        """Update the copy of a run, unless it is a copy of another run; return the problem if it was not updated."""
        try:
            other = write_copy(self.ws, self.now, copy, id_, over_others=False)
        except COPY_ERRORS as error:
            self.say(f"the copy was not updated: {error}")
            return str(error)
        if other is None:
            return None
        problem = f"{copy.path} contains run {other}, so it was not updated"
        self.say(problem)
        return problem


RUNS: Mapping[str, Callable[[Call, Workspace, Any], Any]] = {
    "handover step": lambda call, ws, verb_input: HandoverRunner(call, ws).step(verb_input),
    "handover resume": lambda call, ws, verb_input: HandoverRunner(call, ws).resume(verb_input),
    "handover clear": lambda call, ws, verb_input: HandoverRunner(call, ws).clear(verb_input),
}
"""The verbs that run together with the copy that is configured for the repository."""
