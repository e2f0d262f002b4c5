"""The copy of a run in the work tree, which KAIROS' own clients read and write, kept up to date around each verb."""

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
from baton_git.systems.kairos.handover_files import TakenIn, put_out, take_in, withdraw
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

IN_THE_WAY = (InvalidDocument, LimitExceeded, StepConflict, Busy, StoreError)
"""Errors of a copy that do not keep its run from being shown."""


class RunBesideCopy:
    """Runs the verbs of protocol runs, and keeps the copy in the work tree up to date.

    What other clients wrote there is taken over first. Where no run is named, the one in the copy is meant.

    Args:
        file: the copy; else the one that is set up for the repository, if any.
    """

    def __init__(self, call: Call, ws: Workspace, file: Path | None = None) -> None:
        self.ws, self.now = ws, call.now
        path = file if file is not None else call.settings.handover_file
        common_dir = ws.branch.store.repository.common_dir
        self.copy = None if path is None else Copy.at(path, common_dir, ws.branch.namespace)

    def say(self, text: str) -> None:
        """Tell the caller what was done with the copy; nothing where nobody reads it."""

    def tell_taken(self, copy: Copy, taken: TakenIn) -> None:
        """Tell the caller what was taken over from the copy."""

    def step(self, asked: StepHandover) -> SteppedHandover:
        """Go on with a run, and write the copy.

        Raises:
            WriteFailed: the copy could not be written, or another client made something of it that cannot be taken
                over; the step is in git.
        """
        result = step_handover(self.ws, self.now, self._take_in(asked))
        if self.copy is None:
            return result
        id_ = result.SESSION_ID
        try:
            other = put_out(self.ws, self.now, self.copy, id_)
        except BatonError as error:
            retry = "changes nothing" if asked.stay else "gets exit status 3"
            hint = f"a retry {retry}; to write the copy later: baton handover resume --session {one_line(id_, 100)}"
            raise WriteFailed(
                f"the step of {id_} is in git, but {error}", hint=hint, session=id_, commit=result.commit
            ) from error
        if other is not None:
            self.say(f"{self.copy.path} held run {other}, which stays in git; it holds {id_} now")
        return result

    def resume(self, asked: ResumeHandover) -> ResumedHandover:
        """Show where a run stands, and bring a copy of it up to date."""
        in_copy, problem = self._look_in(asked)
        result = resume_handover(self.ws, self.now, in_copy if asked.uri is None else asked)
        if self.copy is not None and problem is None:
            problem = self._refresh(self.copy, result.SESSION_ID)
        return result.model_copy(update={"file_problem": problem})

    def show(self, asked: ShowHandover) -> HandoverRun:
        """Show a run, with what other clients made of it."""
        named, problem = self._look_in(asked)
        return show_handover(self.ws, self.now, named).model_copy(update={"file_problem": problem})

    def clear(self, asked: ClearHandover) -> ClearedHandover:
        """Archive a run, and remove its copy."""
        named = self._take_in(asked)
        try:
            result = clear_handover(self.ws, self.now, named)
        except EndedError as error:
            if self.copy is not None:
                withdraw(self.copy, error.data["session"])
            raise
        removed = self.copy is not None and withdraw(self.copy, result.SESSION_ID)
        return result.model_copy(update={"file_removed": removed})

    def _take_in(self, asked: Any) -> Any:
        """Take over what other clients wrote; return the input with the run in the copy, where it names none."""
        if self.copy is None:
            return asked
        taken = take_in(self.ws, self.now, self.copy)
        if taken is None:
            return asked
        if taken.written.changes:
            self.tell_taken(self.copy, taken)
        is_live = taken.id in self.ws.branch.read().state.ids(Handover.kind)
        return asked.model_copy(update={"session": taken.id}) if is_live and asked.session is None else asked

    def _look_in(self, asked: Any) -> tuple[Any, str | None]:
        """Do as `_take_in`; a copy that cannot be taken over is left as it is, and the problem returned."""
        try:
            return self._take_in(asked), None
        except IN_THE_WAY as error:
            self.say(f"the copy is left as it is, and this is what git has: {error}")
            return asked, str(error)

    def _refresh(self, copy: Copy, id_: str) -> str | None:
        """Bring the copy of a run up to date, unless it is one of another run; return what was in the way."""
        try:
            other = put_out(self.ws, self.now, copy, id_, over_others=False)
        except IN_THE_WAY as error:
            self.say(f"the copy is not up to date: {error}")
            return str(error)
        if other is None:
            return None
        problem = f"{copy.path} holds run {other}: it is left as it is"
        self.say(problem)
        return problem


RUNS: Mapping[str, Callable[[Call, Workspace, Any], Any]] = {
    "handover step": lambda call, ws, asked: RunBesideCopy(call, ws).step(asked),
    "handover resume": lambda call, ws, asked: RunBesideCopy(call, ws).resume(asked),
    "handover clear": lambda call, ws, asked: RunBesideCopy(call, ws).clear(asked),
}
"""By verb, how it runs together with the copy that is set up for the repository."""
