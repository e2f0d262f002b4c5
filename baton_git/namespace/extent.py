"""The extent of a change, and the changes that are so wide that a caller must confirm them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from baton_git.core.diff import RecordChange
from baton_git.core.errors import FieldHint, Unconfirmed
from baton_git.core.kinds import KINDS
from baton_git.core.output import count_noun
from baton_git.core.records.lineage import Session
from baton_git.core.state import SHAPE, State
from baton_git.core.verb import Option

WIDE = 10
"""A change of more records than this, or of all records, must be confirmed."""

YES: Any = Field(
    False, description=f"Confirm the change: required if it changes more than {WIDE} records or all of them."
)
"""The field `yes` of the input of a verb that may change many records."""
YES_OPTION = Option(names=("--yes", "-y"))
"""The option of that field on the command line."""


def check_extent(changes: Sequence[RecordChange], state: State) -> None:
    """Check that changes to `state` need no confirmation.

    Raises:
        Unconfirmed: they concern many records.
    """
    if is_wide(changes, state):
        raise make_unconfirmed(describe_extent(changes))


def make_unconfirmed(effect: str) -> Unconfirmed:
    """Return the error for a change that its caller did not confirm; `effect` says what it would do."""
    hint = FieldHint("{dry_run} shows what would change; to confirm it, set {yes}")
    return Unconfirmed(effect, hint=hint)


def is_wide(changes: Sequence[RecordChange], state: State) -> bool:
    """Return whether changes concern more than `WIDE` records, or all records of a namespace with several."""
    changed = _leave_out_sessions(changes)
    record_count = sum(len(state.ids(kind)) for kind in KINDS if kind != Session.kind)
    return len(changed) > WIDE or 1 < sum(change.action != "added" for change in changed) >= record_count


def describe_extent(changes: Sequence[RecordChange], files: Sequence[str] = ()) -> str:
    """Return the number of records that would change, by action: `3 records would change: 2 removed, 1 changed`.

    Sessions count only if nothing else would change.
    """
    counted, noun = _leave_out_sessions(changes), "record"
    if not counted and not files:
        counted, noun = [change for change in changes if change.kind == Session.kind], "session"
    numbers = {noun: len(counted), "other file": len(files)}
    counts = [count_noun(number, name) for name, number in numbers.items() if number]
    actions = Counter(change.action for change in counted)
    how = ", ".join(f"{count} {action}" for action, count in actions.most_common())
    return f"{' and '.join(counts) or 'nothing'} would change{': ' if how else ''}{how}"


def _leave_out_sessions(changes: Sequence[RecordChange]) -> list[RecordChange]:
    return [change for change in changes if change.kind not in (SHAPE.kind, Session.kind)]
