"""Which commit a person means who types a revision on a page: never one of several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from baton_git.core.errors import InvalidArgument, NotFound, StoreError
from baton_git.core.names import Oid
from baton_git.namespace.workspace import Workspace

T = TypeVar("T")


def meant(ws: Workspace, text: str) -> Oid:
    """The commit of a number, `~N`, a commit id, or a date.

    Raises:
        Ambiguous: two machines gave the same number before they met.
        InvalidArgument: it is none of these, or before the beginning.
        NotFound: there is no such revision.
    """
    try:
        return ws.branch.resolve(text)
    except NotFound as error:
        if error.data.get("what") == "revision" and (text.startswith("~") or "-" in text):
            raise InvalidArgument(f"{text} is before the beginning of this namespace") from None
        raise


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
