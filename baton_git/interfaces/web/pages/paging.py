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


def _page_address(request: PageRequest, number: int) -> str:
    other_parameters = {
        name: value for name, value in request.query.items() if name not in ("page", *NOTICE_FIELDS) and value
    }
    parameters = {**other_parameters, **({"page": str(number)} if number > 1 else {})}
    return "?" + urlencode(parameters, quote_via=quote, safe="", errors="surrogatepass")
