"""Author of a new record: a person who vouches for it, or a model."""

from __future__ import annotations

from typing import NamedTuple

from baton_git.core.errors import NeedsHuman
from baton_git.core.records.base import Record
from baton_git.core.state import Key, key_of
from baton_git.namespace.caller import Vouched
from baton_git.namespace.commit_log import confirmation_trailers
from baton_git.namespace.guard import HOW
from baton_git.namespace.workspace import Workspace


class Authorship(NamedTuple):
    """How a new record and its commit name the author."""

    tier: str
    trailers: tuple[tuple[str, str], ...] = ()


def authorship_of(ws: Workspace, model: type[Record], id_: str) -> Authorship:
    """Return the author of a new record: a person, if one vouches for it; otherwise a model."""
    person = ws.confirmed
    if not isinstance(person, Vouched):
        return Authorship("llm_derived")
    return Authorship("human_confirmed", confirmation_trailers(person.how, person.by, str(Key(model.kind, id_))))


def refuse_without_person(ws: Workspace, hint: str = "") -> Vouched:
    """Return the person who vouches for the call.

    Raises:
        NeedsHuman: nobody does.
    """
    if isinstance(ws.confirmed, Vouched):
        return ws.confirmed
    raise NeedsHuman("only a person can confirm a record", hint=hint or HOW)


def confirm_change(ws: Workspace, *records: Record) -> tuple[tuple[str, str], ...]:
    """Return the commit trailers with which a person vouches for a change of records; empty if nobody does."""
    person = ws.confirmed
    if not isinstance(person, Vouched):
        return ()
    return confirmation_trailers(person.how, person.by, *(str(key_of(record)) for record in records))
