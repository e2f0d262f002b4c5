"""Lists that continue on another page."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, urlencode

from baton_git.interfaces.web.notices import NOTICE_FIELDS
from baton_git.interfaces.web.page_controller import PageRequest


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
