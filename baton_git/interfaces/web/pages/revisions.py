"""Resolve revisions typed on a page, and read a history as far as it is intact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from baton_git.core.errors import InvalidArgument, NotFound, StoreError
from baton_git.core.names import Oid
from baton_git.namespace.workspace import Workspace

T = TypeVar("T")


def resolve_revision(ws: Workspace, text: str) -> Oid:
    """Return the commit of a revision number, `~N`, a commit id, or a date.

    Raises:
        Ambiguous: two machines used the same number before their histories were merged.
        InvalidArgument: the text is none of these, or names a point before the first revision.
        NotFound: there is no such revision.
    """
    try:
        return ws.branch.resolve(text)
    except NotFound as error:
        if error.data.get("what") == "revision" and (text.startswith("~") or "-" in text):
            raise InvalidArgument(f"{text} is before the first revision of this namespace") from None
        raise


def take_readable(entries: Iterable[T], number: int) -> tuple[list[T], str]:
    """Return the first `number` entries that can be read, and the error that stopped the reading, or an empty text."""
    readable: list[T] = []
    reading: Iterator[T] = islice(iter(entries), number)
    while True:
        try:
            readable.append(next(reading))
        except StopIteration:
            return readable, ""
        except StoreError as error:
            return readable, str(error)
