"""Only the new parts of a change are searched for secrets, and values that JSON cannot hold are refused."""

from __future__ import annotations

import pytest
from memory_folder import MemoryFolder
from strategies import item

from baton_git.core import layout
from baton_git.core.errors import InvalidDocument
from baton_git.core.records.base import Archived
from baton_git.core.records.work_items import FollowUp
from baton_git.core.redaction.changes import redact_edits
from baton_git.core.state import Key, State
from baton_git.systems.session_baton.document import parse_document

SECRET = "ghp_" + "a1B2" * 9
AT = "2026-11-21T08:14:19Z"


def stored(state: State) -> State:
    """Return the state as it is read back from its files."""
    files = {path: text for path, text in layout.encode(state.edits).items() if text is not None}
    return layout.state_of(MemoryFolder(files))


def test_new_secrets_are_redacted_and_stored_ones_are_kept() -> None:
    before = stored(State().put(item(item=f"old {SECRET}")))
    old = before.records(FollowUp)[0]
    edits, found = redact_edits(before, before.put(old.replace(reason=f"new {SECRET}")))
    (edited,) = edits.values()
    assert isinstance(edited, FollowUp)
    assert (edited.item, edited.reason) == (f"old {SECRET}", "new [redacted: github token]")
    assert [(key.id, one.path) for key, one in found] == [(old.id, "reason")]


def test_archiving_keeps_the_text_of_a_record() -> None:
    before = stored(State().put(item(item=f"old {SECRET}")))
    old = before.records(FollowUp)[0]
    edits, found = redact_edits(before, before.archive(old, at=AT, reason="done", session=None))
    assert found == []
    archived = edits[Key(FollowUp.kind, old.id, archived=True)]
    assert isinstance(archived, Archived)
    assert archived.record["item"] == f"old {SECRET}"


def test_a_document_that_json_cannot_hold_is_refused_also_when_a_program_made_it() -> None:
    for value, message in ((float("nan"), "not a number that JSON can hold"), ("\ud800", "half of a surrogate pair")):
        with pytest.raises(InvalidDocument, match=message):
            parse_document({"session_id": "s", "unknown": [value]})
