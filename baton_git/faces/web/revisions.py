"""Which commit a person means who types a revision on a page: never one of several."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from baton_git.diary import LogEntry, revision_of
from baton_git.errors import Ambiguous, InvalidArgument, NotFound, StoreError
from baton_git.names import Oid
from baton_git.operations.workspace import Workspace

T = TypeVar("T")

_NUMBER = re.compile(r"r?([0-9]{1,9})")


def meant(ws: Workspace, text: str) -> Oid:
    """The commit of a number, `~N`, a commit id, or a date.

    Raises:
        Ambiguous: two machines gave the same number before they met.
        InvalidArgument: it is none of these, or before the beginning.
        NotFound: there is no such revision.
    """
    number = _NUMBER.fullmatch(text)
    if number is not None:
        found = [one for one in ws.branch.history() if _number(ws, one) == int(number[1])]
        if len(found) > 1:
            raise Ambiguous("revision", text, [f"{one.commit[:10]} ({one.subject[:60]})" for one in found])
        if found:
            return found[0].commit
    try:
        return ws.branch.resolve(text)
    except NotFound as error:
        if error.data.get("what") == "revision" and (text.startswith("~") or "-" in text):
            raise InvalidArgument(f"{text} is before the beginning of this namespace") from None
        raise


def _number(ws: Workspace, entry: LogEntry) -> int:
    store = ws.branch.store
    return revision_of(store, store.commit(entry.commit)) if entry.revision is None else entry.revision


def upto(entries: Iterable[T], number: int) -> tuple[list[T], str]:
    """The first entries, as far as they can be read, and why not further."""
    found: list[T] = []
    reading: Iterator[T] = islice(iter(entries), number)
    while True:
        try:
            found.append(next(reading))
        except StopIteration:
            return found, ""
        except StoreError as error:
            return found, str(error)
