"""Lists that continue on another page, and histories that are read as far as they are intact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple, TypeVar
from urllib.parse import quote, urlencode

from baton_git.core.errors import InvalidArgument, NotFound, StoreError
from baton_git.core.names import Oid
from baton_git.interfaces.web.notices import NOTICE_FIELDS
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.namespace.workspace import Workspace

# --- lists that continue on another page


class Paging(NamedTuple):
    """The shown page of a list; links to its neighbours keep the other query parameters, except those of a
    notice."""

    number: int
    first: int
    newer: str | None
    older: str | None

    @classmethod
    def of(cls, request: PageRequest, size: int, total: int | None = None, *, more: bool = False) -> Paging:
        """Return the requested page, or the last one if `total` shows that the list has fewer pages.

        Args:
            total: the number of entries, if it is known; otherwise `more` says whether more follow.
        """
        number = request.read_number("page")
        if total is not None:
            number = min(number, max(1, -(-total // size)))
            more = number * size < total
        newer = _page_address(request, number - 1) if number > 1 else None
        return cls(number, (number - 1) * size, newer, _page_address(request, number + 1) if more else None)

    @classmethod
    def by_cursor(cls, request: PageRequest, after: str | None) -> Paging:
        """Return the page of a list that continues after an entry; `newer` is then its first page.

        Args:
            after: the last entry of the page; None if no more follow.
        """
        newer = _make_address(request, "after", "") if request.query.get("after") else None
        return cls(0, 0, newer, _make_address(request, "after", after) if after is not None else None)


def _page_address(request: PageRequest, number: int) -> str:
    return _make_address(request, "page", str(number) if number > 1 else "")


def _make_address(request: PageRequest, name: str, value: str) -> str:
    """Return the address of the same page with another value of one parameter; without it, if the value is empty."""
    parameters = {key: text for key, text in request.query.items() if key not in (name, *NOTICE_FIELDS)} | {name: value}
    filled = {key: text for key, text in parameters.items() if text}
    return "?" + urlencode(filled, quote_via=quote, safe="", errors="surrogatepass")


# --- resolve revisions typed on a page, and read a history as far as it is intact


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
